/* SPDX-License-Identifier: GPL-3.0-or-later */
/* read_request.c - parse a request and read its values. Types, ranges and keys are checked, and
 * messages name the value. A pass over the bytes before parsing checks depth and number of values,
 * so the parser never takes more memory than the limits allow. Costs, processors and chains become
 * objects of the library, which checks the ranges of their numbers. Must not contain: planning. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

/* ------------------------------------------------------------------------------- plain values */

hp_at hp_top(const json_t *obj, const char *key)
{
	return (hp_at){ .v = json_object_get(obj, key), .key = key };
}

hp_at hp_member(const hp_at *up, const char *key)
{
	return (hp_at){ .v = json_object_get(up->v, key), .up = up, .key = key };
}

hp_at hp_entry(const hp_at *up, size_t index)
{
	return (hp_at){ .v = json_array_get(up->v, index), .up = up, .index = index };
}

bool hp_present(hp_job *job, const hp_at *at)
{
	if (!at->v && !at->up)
		job->missing = at->key;
	return at->v || hp_fail(job, at->up, "'%s' is missing", at->key);
}

/* Return right. If it is false, fail: the value is missing or not of that type. */
static bool check_type(hp_job *job, const hp_at *at, bool right, const char *type)
{
	static const char *const names[] = { "an object",  "an array", "a string", "a whole number",
					     "a fraction", "true",     "false",    "null" };
	return right || (hp_present(job, at) &&
			 hp_fail(job, at, "must be %s, not %s", type, names[json_typeof(at->v)]));
}

bool hp_keys(hp_job *job, const json_t *obj, const hp_at *at, const char *const *known)
{
	json_t *const o = (json_t *)obj; /* the iterator takes no const, but changes nothing */
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

bool hp_whole(hp_job *job, const hp_at *at, uint64_t min, uint64_t max, uint64_t *out)
{
	if (!check_type(job, at, json_is_integer(at->v), "a whole number"))
		return false;
	const json_int_t x = json_integer_value(at->v);
	if (x < 0 || (uint64_t)x < min || (uint64_t)x > max)
		return hp_fail(job, at,
			       "'%" JSON_INTEGER_FORMAT "' is not in %" PRIu64 "..%" PRIu64, x, min,
			       max);
	*out = (uint64_t)x;
	return true;
}

bool hp_real(hp_job *job, const hp_at *at, double *out)
{
	*out = json_number_value(at->v);
	return check_type(job, at, json_is_number(at->v), "a number");
}

bool hp_text(hp_job *job, const hp_at *at, const char **out)
{
	*out = json_string_value(at->v);
	return check_type(job, at, json_is_string(at->v), "a string");
}

bool hp_array(hp_job *job, const hp_at *at, size_t max, size_t *n)
{
	if (!check_type(job, at, json_is_array(at->v), "an array"))
		return false;
	const size_t size = json_array_size(at->v);
	if (*n && size != *n)
		return hp_fail(job, at, "%zu entries, must be %zu", size, *n);
	if (size > max)
		return hp_fail(job, at, "%zu entries, more than %zu", size, max);
	*n = size;
	return true;
}

bool hp_optional(hp_job *job, const char *key, uint64_t min, uint64_t max, uint64_t *out)
{
	const hp_at at = hp_top(job->in, key);
	return !at.v || hp_whole(job, &at, min, max, out);
}

bool hp_choice(hp_job *job, const char *key, const char *const *names, size_t *out)
{
	const hp_at at = hp_top(job->in, key);
	const char *text;
	if (!at.v)
		return true;
	if (!hp_text(job, &at, &text))
		return false;
	for (size_t i = 0; names[i]; i++)
		if (strcmp(text, names[i]) == 0) {
			*out = i;
			return true;
		}
	char list[HP_TEXT_BYTES / 2];
	hp_join(list, sizeof list, names);
	return hp_fail(job, &at, "unknown '%.64s', must be one of: %s", text, list);
}

bool hp_quantum(hp_job *job, uint64_t *out)
{
	return hp_optional(job, "quantum", 1, HETPART_ITEMS_MAX, out);
}

bool hp_items(hp_job *job, uint64_t *items)
{
	const hp_at at = hp_top(job->in, "items");
	return hp_whole(job, &at, 0, job->limits->items, items);
}

bool hp_time_limit(hp_job *job, double *time_limit_s)
{
	const hp_at at = hp_top(job->in, "time_limit_s");
	const double most_s = job->limits->time_limit_s;
	*time_limit_s = HETPART_TIME_DEFAULT_S;
	if (at.v && !hp_real(job, &at, time_limit_s))
		return false;
	if (!(*time_limit_s > 0))
		return hp_fail(job, &at, "must be seconds, more than 0");
	if (most_s > 0)
		*time_limit_s = fmin(*time_limit_s, most_s);
	return true;
}

bool hp_plan_limits(hp_job *job, double *time_limit_s, uint64_t *max_mem_bytes)
{
	const uint64_t most_bytes = job->limits->max_mem_bytes;
	*max_mem_bytes = most_bytes;
	if (!hp_time_limit(job, time_limit_s) ||
	    !hp_optional(job, "max_mem_bytes", 1, INT64_MAX, max_mem_bytes))
		return false;
	if (most_bytes > 0 && *max_mem_bytes > most_bytes)
		*max_mem_bytes = most_bytes;
	return true;
}

/* ------------------------------------------------------------------------------------ parsing */

/* Check that a text does not exceed the limits of length, depth and values. */
static bool within_limits(hp_job *job, const char *text, size_t n)
{
	const hp_limits *const lim = job->limits;
	if (n > lim->line_bytes)
		return hp_fail(job, NULL, "longer than %zu bytes", lim->line_bytes);
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
		return hp_fail(job, NULL, "nested more than %zu deep", lim->depth);
	if (values > lim->values)
		return hp_fail(job, NULL, "more than %zu values", lim->values);
	return true;
}

/* Append an entry to a list. If it is {"repeat": N, "value": X}, append X N times. */
static bool append_entry(hp_job *job, json_t *to, const hp_at *entry)
{
	static const char *const known[] = { "repeat", "value", NULL };
	const hp_at times = hp_member(entry, "repeat"), repeated = hp_member(entry, "value");
	uint64_t n = 1;
	if (times.v && (!hp_keys(job, entry->v, entry, known) || !hp_present(job, &repeated) ||
			!hp_whole(job, &times, 1, job->limits->procs, &n)))
		return false;
	if (times.v && json_array_size(to) + n > job->limits->values)
		return hp_fail(job, entry, "more than %zu values", job->limits->values);
	for (; n; n--)
		if (json_array_append(to, (json_t *)(times.v ? repeated.v : entry->v)) != 0)
			return hp_no_memory(job);
	return true;
}

/* Expand the repetitions in all lists of the request. */
static bool expand_repeats(hp_job *job)
{
	const char *key;
	json_t *list;
	json_object_foreach(job->in, key, list)
	{
		size_t first = 0; /* the first entry with "repeat" */
		while (first < json_array_size(list) &&
		       !json_object_get(json_array_get(list, first), "repeat"))
			first++;
		if (first == json_array_size(list))
			continue;
		const hp_at at = { .v = list, .key = key };
		json_t *const all = json_array();
		bool ok = all || hp_no_memory(job);
		for (size_t i = 0; ok && i < json_array_size(list); i++) {
			const hp_at entry = hp_entry(&at, i);
			ok = append_entry(job, all, &entry);
		}
		if (!ok) {
			json_decref(all);
			return false;
		}
		if (json_object_set_new(job->in, key, all) != 0)
			return hp_no_memory(job);
	}
	return true;
}

bool hp_parse(hp_job *job, const char *text, size_t bytes, size_t line)
{
	job->line = line;
	if (!within_limits(job, text, bytes))
		return false;
	size_t i = 0;
	while (i < bytes && strchr(" \t\r\n", text[i]) && text[i])
		i++;
	if (i == bytes)
		return hp_fail(job, NULL, "empty, a request is missing");
	json_error_t e;
	errno = 0;
	job->in = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &e);
	if (!job->in && errno == ENOMEM) /* jansson has no message for this */
		return hp_no_memory(job);
	if (job->in && !json_is_object(job->in))
		return hp_fail(job, NULL, "a request must be an object, {...}");
	job->line = 0;
	if (!job->in)
		return hp_fail(job, NULL, "line %zu, column %d: %s",
			       line + (e.line > 0 ? (size_t)e.line - 1 : 0), e.column, e.text);
	return expand_repeats(job);
}

/* -------------------------------------------------------------------------------------- lists */

/* How to read a list of at most `most` entries into an array of objects of size bytes. read()
 * stores one entry at out; ctx is its context. */
typedef struct list_format {
	size_t most, size;
	bool (*read)(hp_job *job, const hp_at *at, const void *ctx, void *out);
	const void *ctx;
} list_format;

/* Return a list as a new array of *n objects, or NULL after hp_fail(). On entry, *n is the required
 * number of entries; 0: any. */
static void *read_list(hp_job *job, const hp_at *at, const list_format *list, size_t *n)
{
	char *out;
	if (!hp_array(job, at, list->most, n) || !(out = hp_alloc(job, *n, list->size)))
		return NULL;
	for (size_t i = 0; i < *n; i++) {
		const hp_at entry = hp_entry(at, i);
		if (!list->read(job, &entry, list->ctx, out + i * list->size))
			return NULL;
	}
	return out;
}

/* Read a number. If none is not NULL, null means *none. */
static bool read_real(hp_job *job, const hp_at *at, const void *none, void *out)
{
	if (!none || !json_is_null(at->v))
		return hp_real(job, at, out);
	*(double *)out = *(const double *)none;
	return true;
}

bool hp_reals(hp_job *job, const char *key, size_t max, const double **out, size_t *n)
{
	const list_format list = { max, sizeof **out, read_real, NULL };
	const hp_at at = hp_top(job->in, key);
	return (*out = read_list(job, &at, &list, n)) != NULL;
}

static bool read_whole(hp_job *job, const hp_at *at, const void *max, void *out)
{
	return hp_whole(job, at, 0, *(const uint64_t *)max, out);
}

bool hp_wholes(hp_job *job, const hp_at *at, uint64_t max, uint64_t **out, size_t *n)
{
	const list_format list = { job->limits->procs, sizeof **out, read_whole, &max };
	return (*out = read_list(job, at, &list, n)) != NULL;
}

static bool read_bound(hp_job *job, const hp_at *at, const void *none, void *out)
{
	*(uint64_t *)out = *(const uint64_t *)none;
	return json_is_null(at->v) || hp_whole(job, at, 0, HETPART_ITEMS_MAX, out);
}

bool hp_bounds(hp_job *job, const char *key, size_t n, uint64_t none, const uint64_t **out)
{
	const list_format list = { n, sizeof **out, read_bound, &none };
	const hp_at at = hp_top(job->in, key);
	return !at.v || (*out = read_list(job, &at, &list, &n)) != NULL;
}

static bool read_point(hp_job *job, const hp_at *at, const void *ctx, void *out)
{
	const hp_at x = hp_entry(at, 0), y = hp_entry(at, 1);
	hetpart_point *const p = out;
	size_t two = 2;
	(void)ctx;
	return hp_array(job, at, two, &two) && hp_real(job, &x, &p->items) &&
	       hp_real(job, &y, &p->time_s);
}

bool hp_points(hp_job *job, const hp_at *at, hetpart_point **out, size_t *n)
{
	const list_format list = { job->limits->values, sizeof **out, read_point, NULL };
	*n = 0;
	return (*out = read_list(job, at, &list, n)) != NULL;
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

/* The types of costs. All keys after "scale" are required. */
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

/* Make a cost of a type from the object at `at`, whose keys have been checked. */
static bool make_cost(hp_job *job, const hp_at *at, cost_type type, hetpart_cost **cost)
{
	static const double never = INFINITY; /* null in a table: impossible */
	const list_format table = { job->limits->values, sizeof never, read_real, &never };
	const char *const *const keys = cost_types[type].keys;
	const hp_at factor = hp_member(at, "scale"), first = hp_member(at, keys[2]);
	const hp_at second = hp_member(at, "per_item");
	double scale = 1, x, y, *times;
	hetpart_point *points;
	hetpart_err *const err = &job->err;
	size_t n = 0;
	hetpart_status rc = HETPART_OK;
	*cost = NULL;
	if (factor.v && !hp_real(job, &factor, &scale))
		return false;
	switch (type) {
	case COST_AFFINE:
		if (!hp_real(job, &first, &x) || !hp_real(job, &second, &y))
			return false;
		rc = hetpart_cost_affine(cost, x, y, scale, err);
		break;
	case COST_LINEAR:
		rc = hetpart_cost_linear(cost, scale, err);
		break;
	case COST_NLOGN:
		rc = hetpart_cost_nlogn(cost, scale, err);
		break;
	case COST_NLOG2N1:
		rc = hetpart_cost_nlog2n1(cost, scale, err);
		break;
	case COST_POWER:
		if (!hp_real(job, &first, &x))
			return false;
		rc = hetpart_cost_power(cost, x, scale, err);
		break;
	case COST_PIECEWISE:
		if (!hp_points(job, &first, &points, &n))
			return false;
		rc = hetpart_cost_piecewise(cost, points, n, scale, err);
		break;
	default:
		if (!(times = read_list(job, &first, &table, &n)))
			return false;
		rc = hetpart_cost_table(cost, times, n, scale, err);
	}
	return hp_lib(job, at, rc) && hp_own(job, HP_COST, *cost);
}

const hetpart_cost *hp_cost(hp_job *job, const hp_at *at)
{
	const hp_at name = hp_member(at, "type");
	hetpart_cost *cost;
	unsigned type = 0;
	if (!hp_present(job, at))
		return NULL;
	if (!json_is_object(at->v)) {
		hp_set_reason(job, at, "must be a cost: an object with a 'type'");
		return NULL;
	}
	if (!hp_present(job, &name))
		return NULL;
	const char *const text = json_is_string(name.v) ? json_string_value(name.v) : "";
	while (type < COST_TYPES && strcmp(text, cost_types[type].name) != 0)
		type++;
	if (type == COST_TYPES) {
		hp_set_reason(
			job, &name,
			"must be one of: affine, linear, nlogn, nlog2n1, power, piecewise, table");
		return NULL;
	}
	return hp_keys(job, at->v, at, cost_types[type].keys) &&
			       make_cost(job, at, (cost_type)type, &cost)
		       ? cost
		       : NULL;
}

static bool read_cost(hp_job *job, const hp_at *at, const void *optional, void *out)
{
	const hetpart_cost **const c = out;
	return (*(const bool *)optional && json_is_null(at->v)) || (*c = hp_cost(job, at));
}

bool hp_costs(hp_job *job, const char *key, bool optional, const hetpart_cost ***out, size_t *n)
{
	const list_format list = { job->limits->procs, sizeof **out, read_cost, &optional };
	const hp_at at = hp_top(job->in, key);
	return (*out = read_list(job, &at, &list, n)) != NULL;
}

/* ----------------------------------------------------------------------- processors and chains */

static bool read_proc(hp_job *job, const hp_at *at, const void *ctx, void *out)
{
	static const char *const keys[] = { "compute", "link", NULL };
	const hp_at compute = hp_member(at, "compute"), link = hp_member(at, "link");
	hetpart_scatter_proc *const p = out;
	(void)ctx;
	return check_type(job, at, json_is_object(at->v), "an object") &&
	       hp_keys(job, at->v, at, keys) && (p->compute = hp_cost(job, &compute)) &&
	       (!link.v || (p->link = hp_cost(job, &link)));
}

bool hp_procs(hp_job *job, hetpart_scatter_proc **out, size_t *n)
{
	const list_format list = { job->limits->procs, sizeof **out, read_proc, NULL };
	const hp_at at = hp_top(job->in, "processors");
	*n = 0;
	return (*out = read_list(job, &at, &list, n)) != NULL;
}

/* Read the optional "installments" of a chain. */
static bool chain_installments(hp_job *job, hetpart_chain *c)
{
	const hp_at at = hp_top(job->in, "installments");
	const uint64_t max = job->limits->installments ? job->limits->installments : UINT32_MAX;
	uint64_t *list;
	size_t *counts, n = c->nloads;
	if (!at.v)
		return true;
	if (!hp_wholes(job, &at, max, &list, &n) || !(counts = hp_alloc(job, n, sizeof *counts)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const hp_at entry = hp_entry(&at, i);
		if (list[i] == 0)
			return hp_fail(job, &entry, "'0' installments, must be at least 1");
		counts[i] = (size_t)list[i];
	}
	c->installments = counts;
	return true;
}

bool hp_chain(hp_job *job, hetpart_chain *c)
{
	*c = (hetpart_chain)HETPART_CHAIN_INIT;
	const hp_at w_load = hp_top(job->in, "w_load");
	size_t times = 0;
	if ((!w_load.v && !hp_reals(job, "w", job->limits->procs, &c->w, &c->nprocs)) ||
	    !hp_reals(job, "vcomm", job->limits->loads, &c->vcomm, &c->nloads))
		return false;
	if (w_load.v) {
		if (!hp_reals(job, w_load.key, job->limits->values, &c->w_load, &times))
			return false;
		c->nprocs = c->nloads ? times / c->nloads : 0;
		if (c->nprocs > job->limits->procs || times != c->nprocs * c->nloads)
			return hp_fail(job, &w_load,
				       "%zu entries for %zu loads, must be one for "
				       "each load and processor",
				       times, c->nloads);
	}
	size_t links = c->nprocs ? c->nprocs - 1 : 0;
	return hp_reals(job, "z", links, &c->z, &links) &&
	       (!json_object_get(job->in, "tau") ||
		hp_reals(job, "tau", c->nprocs, &c->tau, &c->nprocs)) &&
	       (!json_object_get(job->in, "latency") ||
		hp_reals(job, "latency", links, &c->latency, &links)) &&
	       hp_reals(job, "vcomp", c->nloads, &c->vcomp, &c->nloads) &&
	       (!json_object_get(job->in, "release") ||
		hp_reals(job, "release", c->nloads, &c->release, &c->nloads)) &&
	       (!json_object_get(job->in, "weight") ||
		hp_reals(job, "weight", c->nloads, &c->weight, &c->nloads)) &&
	       chain_installments(job, c);
}
