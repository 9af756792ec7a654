/* SPDX-License-Identifier: GPL-3.0-or-later */
/* read_request.c - parsing and strict reading of a request: every value has a type and a range,
 * every key is known, and messages name the place. A first pass over the bytes bounds depth and
 * number of values, so the parser never takes more memory than the limits allow. Costs, processors
 * and chains become objects of the library, which checks the ranges of their numbers. Plans
 * nothing. Costs two passes over the bytes, and one over the values. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

/* ------------------------------------------------------------------------------- plain values */

static const char *type_name(const json_t *v)
{
	static const char *const names[] = { "an object",  "an array", "a string", "a whole number",
					     "a fraction", "true",     "false",    "null" };
	return names[json_typeof(v)];
}

const json_t *hp_need(hp_job *job, const json_t *obj, const hp_at *up, const char *key)
{
	const json_t *const v = json_object_get(obj, key);
	if (!v)
		hp_set_reason(job, up, "'%s' is missing", key);
	if (!v && obj == job->in)
		job->missing = key;
	return v;
}

bool hp_keys(hp_job *job, const json_t *obj, const hp_at *at, const char *const *known)
{
	json_t *const o = (json_t *)obj; /* the iterator needs it so, and changes nothing */
	if (!json_is_object(obj))
		return hp_fail(job, at, "must be an object, not %s", type_name(obj));
	for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
		const char *const key = json_object_iter_key(it);
		size_t i = 0;
		while (known[i] && strcmp(key, known[i]) != 0)
			i++;
		if (known[i])
			continue;
		char list[HP_TEXT_BYTES / 2];
		hp_join(list, sizeof list, known);
		return hp_fail(job, at, "unknown key '%.64s', must be one of: %s", key, list);
	}
	return true;
}

bool hp_whole(hp_job *job, const json_t *v, const hp_at *at, uint64_t min, uint64_t max,
	      uint64_t *out)
{
	if (!json_is_integer(v))
		return hp_fail(job, at, "must be a whole number, not %s", type_name(v));
	const json_int_t x = json_integer_value(v);
	if (x < 0 || (uint64_t)x < min || (uint64_t)x > max)
		return hp_fail(job, at,
			       "'%" JSON_INTEGER_FORMAT "' is not in %" PRIu64 "..%" PRIu64, x, min,
			       max);
	*out = (uint64_t)x;
	return true;
}

bool hp_real(hp_job *job, const json_t *v, const hp_at *at, double *out)
{
	if (!json_is_number(v))
		return hp_fail(job, at, "must be a number, not %s", type_name(v));
	*out = json_number_value(v);
	return true;
}

bool hp_array(hp_job *job, const json_t *v, const hp_at *at, size_t max, size_t *n)
{
	if (!json_is_array(v))
		return hp_fail(job, at, "must be an array, not %s", type_name(v));
	const size_t size = json_array_size(v);
	if (*n && size != *n)
		return hp_fail(job, at, "%zu entries, must be %zu", size, *n);
	if (size > max)
		return hp_fail(job, at, "%zu entries, more than %zu", size, max);
	*n = size;
	return true;
}

bool hp_items(hp_job *job, uint64_t *items)
{
	const hp_at at = { NULL, "items", 0 };
	const json_t *const v = hp_need(job, job->in, NULL, at.key);
	return v && hp_whole(job, v, &at, 0, job->limits->items, items);
}

bool hp_quantum(hp_job *job, uint64_t *out)
{
	const hp_at at = { NULL, "quantum", 0 };
	const json_t *const v = json_object_get(job->in, at.key);
	return !v || hp_whole(job, v, &at, 1, HETPART_ITEMS_MAX, out);
}

bool hp_choice(hp_job *job, const char *key, const char *const *names, size_t *out)
{
	const hp_at at = { NULL, key, 0 };
	const json_t *const v = json_object_get(job->in, key);
	if (!v)
		return true;
	if (!json_is_string(v))
		return hp_fail(job, &at, "must be a string, not %s", type_name(v));
	for (size_t i = 0; names[i]; i++)
		if (strcmp(json_string_value(v), names[i]) == 0) {
			*out = i;
			return true;
		}
	char list[HP_TEXT_BYTES / 2];
	hp_join(list, sizeof list, names);
	return hp_fail(job, &at, "unknown '%.64s', must be one of: %s", json_string_value(v), list);
}

bool hp_time_limit(hp_job *job, double *time_limit_s)
{
	const hp_at at = { NULL, "time_limit_s", 0 };
	const json_t *const time = json_object_get(job->in, at.key);
	const double most_s = job->limits->time_limit_s;
	*time_limit_s = HETPART_TIME_DEFAULT_S;
	if (time && !hp_real(job, time, &at, time_limit_s))
		return false;
	if (!(*time_limit_s > 0))
		return hp_fail(job, &at, "must be seconds, more than 0");
	if (most_s > 0 && *time_limit_s > most_s)
		*time_limit_s = most_s;
	return true;
}

bool hp_plan_limits(hp_job *job, double *time_limit_s, uint64_t *max_mem_bytes)
{
	const hp_at at = { NULL, "max_mem_bytes", 0 };
	const json_t *const mem = json_object_get(job->in, at.key);
	const uint64_t most_bytes = job->limits->max_mem_bytes;
	*max_mem_bytes = most_bytes;
	if (!hp_time_limit(job, time_limit_s) ||
	    (mem && !hp_whole(job, mem, &at, 1, INT64_MAX, max_mem_bytes)))
		return false;
	if (most_bytes > 0 && *max_mem_bytes > most_bytes)
		*max_mem_bytes = most_bytes;
	return true;
}

/* ------------------------------------------------------------------------------------ parsing */

/* Check that a text does not exceed the limits of length, depth and values. */
static bool within_limits(hp_job *job, const char *text, size_t n, size_t line)
{
	const hp_limits *const lim = job->limits;
	if (n > lim->line_bytes)
		return hp_fail(job, NULL, "line %zu: longer than %zu bytes", line, lim->line_bytes);
	size_t depth = 0, deepest = 0, values = 1;
	for (size_t i = 0; i < n; i++) {
		switch (text[i]) {
		case '"': /* skip the string */
			for (i++; i < n && text[i] != '"'; i++)
				if (text[i] == '\\')
					i++;
			break;
		case '[':
		case '{':
			values++;
			if (++depth > deepest)
				deepest = depth;
			break;
		case ']':
		case '}':
			depth -= depth > 0;
			break;
		case ',':
			values++;
			break;
		default:
			break;
		}
	}
	if (deepest > lim->depth)
		return hp_fail(job, NULL, "line %zu: nested more than %zu deep", line, lim->depth);
	if (values > lim->values)
		return hp_fail(job, NULL, "line %zu: more than %zu values", line, lim->values);
	return true;
}

/* Append an entry of a list, or the value of an entry that is {"repeat": N, "value": X}, N times.
 */
static bool append_entry(hp_job *job, json_t *to, json_t *entry, const hp_at *at)
{
	static const char *const known[] = { "repeat", "value", NULL };
	const hp_at times_at = { at, "repeat", 0 };
	const json_t *const times = json_object_get(entry, "repeat");
	json_t *value = entry;
	uint64_t n = 1;
	if (times) {
		value = json_object_get(entry, "value");
		if (!hp_keys(job, entry, at, known) || !hp_need(job, entry, at, "value") ||
		    !hp_whole(job, times, &times_at, 1, job->limits->procs, &n))
			return false;
		if (json_array_size(to) + n > job->limits->values)
			return hp_fail(job, at, "more than %zu values", job->limits->values);
	}
	for (; n; n--)
		if (json_array_append(to, value) != 0)
			return hp_fail(job, NULL, "out of memory");
	return true;
}

/* Expand the repetitions in all lists of the request. */
static bool expand_repeats(hp_job *job)
{
	const char *key;
	json_t *list;
	json_object_foreach(job->in, key, list)
	{
		size_t first = 0; /* the first entry that repeats a value */
		while (first < json_array_size(list) &&
		       !json_object_get(json_array_get(list, first), "repeat"))
			first++;
		if (first == json_array_size(list))
			continue;
		const hp_at up = { NULL, key, 0 };
		json_t *const all = json_array();
		bool ok = all || hp_fail(job, NULL, "out of memory");
		for (size_t i = 0; ok && i < json_array_size(list); i++) {
			const hp_at at = { &up, NULL, i };
			ok = append_entry(job, all, json_array_get(list, i), &at);
		}
		if (!ok) {
			json_decref(all);
			return false;
		}
		if (json_object_set_new(job->in, key, all) != 0)
			return hp_fail(job, NULL, "out of memory");
	}
	return true;
}

bool hp_parse(hp_job *job, const char *text, size_t bytes, size_t line)
{
	if (!within_limits(job, text, bytes, line))
		return false;
	size_t i = 0;
	while (i < bytes && strchr(" \t\r\n", text[i]) && text[i])
		i++;
	if (i == bytes)
		return hp_fail(job, NULL, "line %zu: empty, a request is missing", line);
	json_error_t e;
	errno = 0;
	job->in = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &e);
	if (!job->in && errno == ENOMEM) /* jansson has no message for it */
		return hp_fail(job, NULL, "line %zu: out of memory", line);
	if (!job->in)
		return hp_fail(job, NULL, "line %zu, column %d: %s",
			       line + (e.line > 0 ? (size_t)e.line - 1 : 0), e.column, e.text);
	if (!json_is_object(job->in))
		return hp_fail(job, NULL, "line %zu: a request must be an object, {...}", line);
	return expand_repeats(job);
}

/* -------------------------------------------------------------------------------------- lists */

/* Read an entry of a list into the object at out. ctx is the context of the list. */
typedef bool entry_reader(hp_job *job, const json_t *v, const hp_at *at, const void *ctx,
			  void *out);

/* A list to read: its key, its largest number of entries, and how an entry becomes an object. */
typedef struct list_format {
	const char *key;
	size_t most, size;
	entry_reader *read;
	const void *ctx;
} list_format;

/* Read a required list of obj, which must have *n entries unless *n is 0. Return NULL after
 * hp_fail(). */
static void *read_list(hp_job *job, const json_t *obj, const hp_at *up, const list_format *list,
		       size_t *n)
{
	const hp_at at = { up, list->key, 0 };
	const json_t *const v = hp_need(job, obj, up, list->key);
	char *out;
	if (!v || !hp_array(job, v, &at, list->most, n) || !(out = hp_alloc(job, *n, list->size)))
		return NULL;
	for (size_t i = 0; i < *n; i++) {
		const hp_at here = { &at, NULL, i };
		if (!list->read(job, json_array_get(v, i), &here, list->ctx, out + i * list->size))
			return NULL;
	}
	return out;
}

static bool read_real(hp_job *job, const json_t *v, const hp_at *at, const void *ctx, void *out)
{
	(void)ctx;
	return hp_real(job, v, at, out);
}

bool hp_reals(hp_job *job, const char *key, size_t max, double **out, size_t *n)
{
	const list_format list = { key, max, sizeof **out, read_real, NULL };
	return (*out = read_list(job, job->in, NULL, &list, n)) != NULL;
}

static bool read_whole(hp_job *job, const json_t *v, const hp_at *at, const void *max, void *out)
{
	return hp_whole(job, v, at, 0, *(const uint64_t *)max, out);
}

bool hp_wholes(hp_job *job, const char *key, uint64_t max, uint64_t **out, size_t *n)
{
	const list_format list = { key, job->limits->procs, sizeof **out, read_whole, &max };
	return (*out = read_list(job, job->in, NULL, &list, n)) != NULL;
}

bool hp_bounds(hp_job *job, const char *key, size_t n, uint64_t none, const uint64_t **out)
{
	const hp_at at = { NULL, key, 0 };
	const json_t *const v = json_object_get(job->in, key);
	uint64_t *bounds;
	if (!v)
		return true;
	if (!hp_array(job, v, &at, n, &n) || !(bounds = hp_alloc(job, n, sizeof *bounds)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const hp_at here = { &at, NULL, i };
		const json_t *const x = json_array_get(v, i);
		bounds[i] = none;
		if (!json_is_null(x) && !hp_whole(job, x, &here, 0, HETPART_ITEMS_MAX, &bounds[i]))
			return false;
	}
	*out = bounds;
	return true;
}

static bool read_point(hp_job *job, const json_t *v, const hp_at *at, const void *ctx, void *out)
{
	const hp_at x = { at, NULL, 0 }, y = { at, NULL, 1 };
	hetpart_point *const p = out;
	size_t two = 2;
	(void)ctx;
	return hp_array(job, v, at, two, &two) &&
	       hp_real(job, json_array_get(v, 0), &x, &p->items) &&
	       hp_real(job, json_array_get(v, 1), &y, &p->time_s);
}

bool hp_points(hp_job *job, const json_t *obj, const hp_at *up, const char *key,
	       hetpart_point **out, size_t *n)
{
	const list_format list = { key, job->limits->values, sizeof **out, read_point, NULL };
	*n = 0;
	return (*out = read_list(job, obj, up, &list, n)) != NULL;
}

/* -------------------------------------------------------------------------------------- costs */

typedef enum cost_type {
	COST_AFFINE,
	COST_LINEAR,
	COST_NLOGN,
	COST_NLOG2N1,
	COST_POWER,
	COST_PIECEWISE,
	COST_TABLE,
	COST_TYPES
} cost_type;

static const struct {
	const char *name, *keys[5];
} cost_types[COST_TYPES] = {
	[COST_AFFINE] = { "affine", { "type", "scale", "startup", "per_item", NULL } },
	[COST_LINEAR] = { "linear", { "type", "scale", NULL } },
	[COST_NLOGN] = { "nlogn", { "type", "scale", NULL } },
	[COST_NLOG2N1] = { "nlog2n1", { "type", "scale", NULL } },
	[COST_POWER] = { "power", { "type", "scale", "exponent", NULL } },
	[COST_PIECEWISE] = { "piecewise", { "type", "scale", "points", NULL } },
	[COST_TABLE] = { "table", { "type", "scale", "values", NULL } },
};

/* Read a required number of an object. */
static bool read_member(hp_job *job, const json_t *obj, const hp_at *up, const char *key,
			double *out)
{
	const hp_at at = { up, key, 0 };
	const json_t *const v = hp_need(job, obj, up, key);
	return v && hp_real(job, v, &at, out);
}

/* Read the times of a table, in which null stands for a number of items that is impossible. */
static bool read_table(hp_job *job, const json_t *obj, const hp_at *up, double **out, size_t *n)
{
	const hp_at at = { up, "values", 0 };
	const json_t *const v = hp_need(job, obj, up, at.key);
	*n = 0;
	if (!v || !hp_array(job, v, &at, job->limits->values, n) ||
	    !(*out = hp_alloc(job, *n, sizeof **out)))
		return false;
	for (size_t i = 0; i < *n; i++) {
		const hp_at here = { &at, NULL, i };
		const json_t *const x = json_array_get(v, i);
		(*out)[i] = INFINITY;
		if (!json_is_null(x) && !hp_real(job, x, &here, &(*out)[i]))
			return false;
	}
	return true;
}

/* Make a cost of a type from the object v, whose keys are known. */
static bool make_cost(hp_job *job, const json_t *v, const hp_at *at, cost_type type,
		      hetpart_cost **cost)
{
	double scale = 1, x, y, *times;
	hetpart_point *points;
	size_t n;
	hetpart_status rc = HETPART_OK;
	hetpart_err err;
	*cost = NULL;
	if (json_object_get(v, "scale") && !read_member(job, v, at, "scale", &scale))
		return false;
	switch (type) {
	case COST_AFFINE:
		if (!read_member(job, v, at, "startup", &x) ||
		    !read_member(job, v, at, "per_item", &y))
			return false;
		rc = hetpart_cost_affine(cost, x, y, scale, &err);
		break;
	case COST_LINEAR:
		rc = hetpart_cost_linear(cost, scale, &err);
		break;
	case COST_NLOGN:
		rc = hetpart_cost_nlogn(cost, scale, &err);
		break;
	case COST_NLOG2N1:
		rc = hetpart_cost_nlog2n1(cost, scale, &err);
		break;
	case COST_POWER:
		if (!read_member(job, v, at, "exponent", &x))
			return false;
		rc = hetpart_cost_power(cost, x, scale, &err);
		break;
	case COST_PIECEWISE:
		if (!hp_points(job, v, at, "points", &points, &n))
			return false;
		rc = hetpart_cost_piecewise(cost, points, n, scale, &err);
		break;
	default:
		if (!read_table(job, v, at, &times, &n))
			return false;
		rc = hetpart_cost_table(cost, times, n, scale, &err);
	}
	return hp_lib(job, at, rc, &err) && hp_own_cost(job, *cost);
}

const hetpart_cost *hp_cost(hp_job *job, const json_t *v, const hp_at *at)
{
	const hp_at type_at = { at, "type", 0 };
	if (!json_is_object(v)) {
		hp_set_reason(job, at, "must be a cost: an object with a 'type'");
		return NULL;
	}
	const json_t *const name = hp_need(job, v, at, type_at.key);
	if (!name)
		return NULL;
	unsigned type = json_is_string(name) ? 0 : COST_TYPES;
	while (type < COST_TYPES && strcmp(json_string_value(name), cost_types[type].name) != 0)
		type++;
	if (type == COST_TYPES) {
		hp_set_reason(
			job, &type_at,
			"must be one of: affine, linear, nlogn, nlog2n1, power, piecewise, table");
		return NULL;
	}
	hetpart_cost *cost;
	if (!hp_keys(job, v, at, cost_types[type].keys) ||
	    !make_cost(job, v, at, (cost_type)type, &cost))
		return NULL;
	return cost;
}

static bool read_cost(hp_job *job, const json_t *v, const hp_at *at, const void *optional,
		      void *out)
{
	const hetpart_cost **const c = out;
	return (*(const bool *)optional && json_is_null(v)) || (*c = hp_cost(job, v, at));
}

bool hp_costs(hp_job *job, const char *key, bool optional, const hetpart_cost ***out, size_t *n)
{
	const list_format list = { key, job->limits->procs, sizeof **out, read_cost, &optional };
	return (*out = read_list(job, job->in, NULL, &list, n)) != NULL;
}

/* ----------------------------------------------------------------------- processors and chains */

static bool read_proc(hp_job *job, const json_t *v, const hp_at *at, const void *ctx, void *out)
{
	static const char *const keys[] = { "compute", "link", NULL };
	const hp_at compute_at = { at, "compute", 0 }, link_at = { at, "link", 0 };
	const json_t *compute, *const link = json_object_get(v, "link");
	hetpart_scatter_proc *const p = out;
	(void)ctx;
	return hp_keys(job, v, at, keys) && (compute = hp_need(job, v, at, "compute")) &&
	       (p->compute = hp_cost(job, compute, &compute_at)) &&
	       (!link || (p->link = hp_cost(job, link, &link_at)));
}

bool hp_procs(hp_job *job, hetpart_scatter_proc **out, size_t *n)
{
	const list_format list = { "processors", job->limits->procs, sizeof **out, read_proc,
				   NULL };
	*n = 0;
	return (*out = read_list(job, job->in, NULL, &list, n)) != NULL;
}

/* Read a list of exactly n numbers of a chain. */
static bool chain_reals(hp_job *job, const char *key, size_t n, const double **out)
{
	double *list = NULL;
	if (!hp_reals(job, key, n, &list, &n))
		return false;
	*out = list;
	return true;
}

static bool chain_installments(hp_job *job, hetpart_chain *c)
{
	const hp_at at = { NULL, "installments", 0 };
	const uint64_t max = job->limits->installments ? job->limits->installments : UINT32_MAX;
	uint64_t *list;
	size_t *counts, n = c->nloads;
	if (!hp_wholes(job, at.key, max, &list, &n) || !(counts = hp_alloc(job, n, sizeof *counts)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const hp_at here = { &at, NULL, i };
		if (list[i] == 0)
			return hp_fail(job, &here, "'0' installments, must be at least 1");
		counts[i] = (size_t)list[i];
	}
	c->installments = counts;
	return true;
}

bool hp_chain(hp_job *job, hetpart_chain *c)
{
	double *w, *vcomm;
	*c = (hetpart_chain)HETPART_CHAIN_INIT;
	if (!hp_reals(job, "w", job->limits->procs, &w, &c->nprocs) ||
	    !hp_reals(job, "vcomm", job->limits->loads, &vcomm, &c->nloads))
		return false;
	c->w = w;
	c->vcomm = vcomm;
	const size_t links = c->nprocs ? c->nprocs - 1 : 0;
	return chain_reals(job, "z", links, &c->z) &&
	       (!json_object_get(job->in, "tau") || chain_reals(job, "tau", c->nprocs, &c->tau)) &&
	       (!json_object_get(job->in, "latency") ||
		chain_reals(job, "latency", links, &c->latency)) &&
	       chain_reals(job, "vcomp", c->nloads, &c->vcomp) &&
	       (!json_object_get(job->in, "installments") || chain_installments(job, c));
}
