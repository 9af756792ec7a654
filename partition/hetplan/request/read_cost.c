/* SPDX-License-Identifier: GPL-3.0-or-later */
/* read_cost.c - costs, processors and chains from a request.
 * May not touch: how they are planned; ranges of numbers are the library's to check.
 * Costs one library object for each cost. */
#include <math.h>
#include <string.h>

#include "request.h"

/* One cost being read. */
struct reading {
	struct hp_job *job;
	const json_t *obj;
	const struct hp_at *at;
	double scale;
	hetpart_err err;
};

static bool number(struct reading *r, const char *key, double *out)
{
	const struct hp_at at = { r->at, key, 0 };
	const json_t *v = hp_need(r->job, r->obj, r->at, key);

	return v && hp_real(r->job, v, &at, out);
}

static bool made(struct reading *r, hetpart_status rc, hetpart_cost *cost, hetpart_cost **out)
{
	if (!hp_lib(r->job, r->at, rc, &r->err) || !hp_own_cost(r->job, cost))
		return false;
	*out = cost;
	return true;
}

static bool affine(struct reading *r, hetpart_cost **out)
{
	double startup, per_item;
	hetpart_cost *c = NULL;
	hetpart_status rc;

	if (!number(r, "startup", &startup) || !number(r, "per_item", &per_item))
		return false;
	rc = hetpart_cost_affine(&c, startup, per_item, r->scale, &r->err);
	return made(r, rc, c, out);
}

static bool linear(struct reading *r, hetpart_cost **out)
{
	hetpart_cost *c = NULL;
	hetpart_status rc = hetpart_cost_linear(&c, r->scale, &r->err);

	return made(r, rc, c, out);
}

static bool nlogn(struct reading *r, hetpart_cost **out)
{
	hetpart_cost *c = NULL;
	hetpart_status rc = hetpart_cost_nlogn(&c, r->scale, &r->err);

	return made(r, rc, c, out);
}

static bool nlog2n1(struct reading *r, hetpart_cost **out)
{
	hetpart_cost *c = NULL;
	hetpart_status rc = hetpart_cost_nlog2n1(&c, r->scale, &r->err);

	return made(r, rc, c, out);
}

static bool power(struct reading *r, hetpart_cost **out)
{
	double exponent;
	hetpart_cost *c = NULL;
	hetpart_status rc;

	if (!number(r, "exponent", &exponent))
		return false;
	rc = hetpart_cost_power(&c, exponent, r->scale, &r->err);
	return made(r, rc, c, out);
}

static bool piecewise(struct reading *r, hetpart_cost **out)
{
	hetpart_point *p;
	hetpart_cost *c = NULL;
	hetpart_status rc;
	size_t n;

	if (!hp_points(r->job, r->obj, r->at, "points", &p, &n))
		return false;
	rc = hetpart_cost_piecewise(&c, p, n, r->scale, &r->err);
	return made(r, rc, c, out);
}

static bool table(struct reading *r, hetpart_cost **out)
{
	const struct hp_at at = { r->at, "values", 0 };
	const json_t *v = hp_need(r->job, r->obj, r->at, "values");
	double *t;
	hetpart_cost *c = NULL;
	hetpart_status rc;
	size_t n = 0;

	if (!v || !hp_array(r->job, v, &at, r->job->limits->values, &n) ||
	    !(t = hp_alloc(r->job, n, sizeof *t)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct hp_at here = { &at, NULL, i };
		const json_t *x = json_array_get(v, i);
		t[i] = INFINITY; /* null: not this number of items */
		if (!json_is_null(x) && !hp_real(r->job, x, &here, &t[i]))
			return false;
	}
	rc = hetpart_cost_table(&c, t, n, r->scale, &r->err);
	return made(r, rc, c, out);
}

static const struct {
	const char *name;
	bool (*read)(struct reading *r, hetpart_cost **out);
	const char *keys[5];
} types[] = {
	{ "affine", affine, { "type", "scale", "startup", "per_item", NULL } },
	{ "linear", linear, { "type", "scale", NULL } },
	{ "nlogn", nlogn, { "type", "scale", NULL } },
	{ "nlog2n1", nlog2n1, { "type", "scale", NULL } },
	{ "power", power, { "type", "scale", "exponent", NULL } },
	{ "piecewise", piecewise, { "type", "scale", "points", NULL } },
	{ "table", table, { "type", "scale", "values", NULL } },
};

static size_t find_type(const char *name)
{
	size_t i = 0;

	while (i < HP_LEN(types) && strcmp(name, types[i].name) != 0)
		i++;
	return i;
}

static bool read_scale(struct reading *r)
{
	return !json_object_get(r->obj, "scale") || number(r, "scale", &r->scale);
}

const hetpart_cost *hp_cost(struct hp_job *job, const json_t *v, const struct hp_at *at)
{
	struct reading r = { .job = job, .obj = v, .at = at, .scale = 1 };
	const struct hp_at type_at = { at, "type", 0 };
	const json_t *type;
	hetpart_cost *cost;
	size_t i;

	if (!json_is_object(v)) {
		hp_tell(job, at, "want a cost: an object with a 'type'");
		return NULL;
	}
	if (!(type = hp_need(job, v, at, "type")))
		return NULL;
	i = json_is_string(type) ? find_type(json_string_value(type)) : HP_LEN(types);
	if (i == HP_LEN(types)) {
		hp_tell(job, &type_at,
			"want one of: affine, linear, nlogn, nlog2n1, power, piecewise, table");
		return NULL;
	}
	if (!hp_keys(job, v, at, types[i].keys) || !read_scale(&r) || !types[i].read(&r, &cost))
		return NULL;
	return cost;
}
