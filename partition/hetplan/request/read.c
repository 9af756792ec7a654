/* SPDX-License-Identifier: GPL-3.0-or-later */
/* read.c - strict reading of a request: every value has a type and a range, every key is
 * known, and the message names the place.
 * May not touch: the library. Costs a pass over what is read. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

static const char *type_name(const json_t *v)
{
	static const char *const names[] = { "an object",  "an array", "a text", "a whole number",
					     "a fraction", "true",     "false",  "null" };

	return names[json_typeof(v)];
}

static const json_t *get(const json_t *obj, const char *key)
{
	return json_object_get(obj, key);
}

const json_t *hp_need(struct hp_job *job, const json_t *obj, const struct hp_at *up,
		      const char *key)
{
	const json_t *v = get(obj, key);

	if (!v)
		hp_tell(job, up, "'%s' is missing", key);
	if (!v && obj == job->in)
		job->missing = key;
	return v;
}

static bool among(const char *key, const char *const *known)
{
	for (; *known; known++)
		if (strcmp(key, *known) == 0)
			return true;
	return false;
}

static void join(char *buf, size_t size, const char *const *words)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; words[i] && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", words[i]);
}

bool hp_keys(struct hp_job *job, const json_t *obj, const struct hp_at *at,
	     const char *const *known)
{
	json_t *o = (json_t *)obj; /* the iterator wants it so, and changes nothing */
	char list[HP_TEXT_BYTES / 2];

	if (!json_is_object(obj))
		return hp_fail(job, at, "want an object, not %s", type_name(obj));
	for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
		const char *key = json_object_iter_key(it);
		if (among(key, known))
			continue;
		join(list, sizeof list, known);
		return hp_fail(job, at, "unknown key '%.64s', want: %s", key, list);
	}
	return true;
}

bool hp_whole(struct hp_job *job, const json_t *v, const struct hp_at *at, uint64_t min,
	      uint64_t max, uint64_t *out)
{
	json_int_t x;

	if (!json_is_integer(v))
		return hp_fail(job, at, "want a whole number, not %s", type_name(v));
	x = json_integer_value(v);
	if (x < 0 || (uint64_t)x < min || (uint64_t)x > max)
		return hp_fail(job, at,
			       "'%" JSON_INTEGER_FORMAT "' is not in %" PRIu64 "..%" PRIu64, x, min,
			       max);
	*out = (uint64_t)x;
	return true;
}

bool hp_real(struct hp_job *job, const json_t *v, const struct hp_at *at, double *out)
{
	if (!json_is_number(v))
		return hp_fail(job, at, "want a number, not %s", type_name(v));
	*out = json_number_value(v);
	return true;
}

bool hp_array(struct hp_job *job, const json_t *v, const struct hp_at *at, size_t max, size_t *n)
{
	if (!json_is_array(v))
		return hp_fail(job, at, "want an array, not %s", type_name(v));
	if (*n && json_array_size(v) != *n)
		return hp_fail(job, at, "%zu entries, want %zu", json_array_size(v), *n);
	if (json_array_size(v) > max)
		return hp_fail(job, at, "%zu entries, more than %zu", json_array_size(v), max);
	*n = json_array_size(v);
	return true;
}

bool hp_items(struct hp_job *job, uint64_t *items)
{
	const struct hp_at at = { NULL, "items", 0 };
	const json_t *v = hp_need(job, job->in, NULL, "items");

	return v && hp_whole(job, v, &at, 0, job->limits->items, items);
}

void *hp_list(struct hp_job *job, const json_t *obj, const struct hp_at *up,
	      const struct hp_list *list, size_t *n)
{
	const struct hp_at at = { up, list->key, 0 };
	const json_t *v = hp_need(job, obj, up, list->key);
	char *out;

	if (!v || !hp_array(job, v, &at, list->most, n) || !(out = hp_alloc(job, *n, list->size)))
		return NULL;
	for (size_t i = 0; i < *n; i++) {
		const struct hp_at here = { &at, NULL, i };
		if (!list->read(job, json_array_get(v, i), &here, list->ctx, out + i * list->size))
			return NULL;
	}
	return out;
}

static bool real(struct hp_job *job, const json_t *v, const struct hp_at *at, const void *ctx,
		 void *out)
{
	(void)ctx;
	return hp_real(job, v, at, out);
}

bool hp_reals(struct hp_job *job, const char *key, size_t max, double **out, size_t *n)
{
	const struct hp_list list = { key, max, sizeof **out, real, NULL };

	return (*out = hp_list(job, job->in, NULL, &list, n)) != NULL;
}

static bool whole(struct hp_job *job, const json_t *v, const struct hp_at *at, const void *max,
		  void *out)
{
	return hp_whole(job, v, at, 0, *(const uint64_t *)max, out);
}

bool hp_wholes(struct hp_job *job, const char *key, uint64_t max, uint64_t **out, size_t *n)
{
	const struct hp_list list = { key, job->limits->procs, sizeof **out, whole, &max };

	return (*out = hp_list(job, job->in, NULL, &list, n)) != NULL;
}

bool hp_bounds(struct hp_job *job, const char *key, size_t n, uint64_t none, const uint64_t **out)
{
	const struct hp_at at = { NULL, key, 0 };
	const json_t *v = json_object_get(job->in, key);
	uint64_t *bounds;

	if (!v)
		return true;
	if (!hp_array(job, v, &at, n, &n) || !(bounds = hp_alloc(job, n, sizeof *bounds)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct hp_at here = { &at, NULL, i };
		const json_t *x = json_array_get(v, i);
		bounds[i] = none;
		if (!json_is_null(x) && !hp_whole(job, x, &here, 0, HETPART_ITEMS_MAX, &bounds[i]))
			return false;
	}
	*out = bounds;
	return true;
}

bool hp_quantum(struct hp_job *job, uint64_t *out)
{
	const struct hp_at at = { NULL, "quantum", 0 };
	const json_t *v = get(job->in, at.key);

	return !v || hp_whole(job, v, &at, 1, HETPART_ITEMS_MAX, out);
}

static bool point(struct hp_job *job, const json_t *v, const struct hp_at *at, const void *ctx,
		  void *out)
{
	const struct hp_at x = { at, NULL, 0 }, y = { at, NULL, 1 };
	hetpart_point *p = out;
	size_t two = 2;

	(void)ctx;
	return hp_array(job, v, at, two, &two) &&
	       hp_real(job, json_array_get(v, 0), &x, &p->items) &&
	       hp_real(job, json_array_get(v, 1), &y, &p->time_s);
}

bool hp_points(struct hp_job *job, const json_t *obj, const struct hp_at *up, const char *key,
	       hetpart_point **out, size_t *n)
{
	const struct hp_list list = { key, job->limits->values, sizeof **out, point, NULL };

	*n = 0;
	return (*out = hp_list(job, obj, up, &list, n)) != NULL;
}

bool hp_choice(struct hp_job *job, const char *key, const char *const *names, size_t *out)
{
	const struct hp_at at = { NULL, key, 0 };
	const json_t *v = get(job->in, key);
	char list[HP_TEXT_BYTES / 2];

	if (!v)
		return true;
	if (!json_is_string(v))
		return hp_fail(job, &at, "want a text, not %s", type_name(v));
	for (size_t i = 0; names[i]; i++) {
		if (strcmp(json_string_value(v), names[i]) != 0)
			continue;
		*out = i;
		return true;
	}
	join(list, sizeof list, names);
	return hp_fail(job, &at, "unknown '%.64s', want one of: %s", json_string_value(v), list);
}

bool hp_time_limit(struct hp_job *job, double *time_limit_s)
{
	const struct hp_at at = { NULL, "time_limit_s", 0 };
	const json_t *time = json_object_get(job->in, at.key);
	double most_s = job->limits->time_limit_s;

	*time_limit_s = HETPART_TIME_DEFAULT_S;
	if (time && !hp_real(job, time, &at, time_limit_s))
		return false;
	if (!(*time_limit_s > 0))
		return hp_fail(job, &at, "want seconds, more than 0");
	if (most_s > 0 && *time_limit_s > most_s)
		*time_limit_s = most_s;
	return true;
}

bool hp_plan_limits(struct hp_job *job, double *time_limit_s, uint64_t *max_mem_bytes)
{
	const struct hp_at mem_at = { NULL, "max_mem_bytes", 0 };
	const json_t *mem = json_object_get(job->in, mem_at.key);
	uint64_t most_bytes = job->limits->max_mem_bytes;

	*max_mem_bytes = most_bytes;
	if (!hp_time_limit(job, time_limit_s))
		return false;
	if (mem && !hp_whole(job, mem, &mem_at, 1, INT64_MAX, max_mem_bytes))
		return false;
	if (most_bytes > 0 && *max_mem_bytes > most_bytes)
		*max_mem_bytes = most_bytes;
	return true;
}
