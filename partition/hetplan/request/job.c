/* SPDX-License-Identifier: GPL-3.0-or-later */
/* job.c - a job: the objects that it owns, the reason of its failure, and its request, parsed from
 * bytes. A first pass over the bytes bounds depth and number of values, so the parser never takes
 * more memory than the limits allow. Costs two passes over the bytes. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

const hp_limits hp_program_limits = {
	.line_bytes = (size_t)64 << 20,
	.values = (size_t)8 << 20,
	.depth = 16,
	.procs = 1000000,
	.loads = 1000000,
	.items = HETPART_ITEMS_MAX,
	.best_upto = HETPART_EMULATE_MAX,
};

struct hp_owned {
	hp_owned *next;
	enum { OWNED_MEMORY, OWNED_COST, OWNED_PLAN, OWNED_MODEL, OWNED_SCHEDULE } kind;
	union {
		void *memory;
		hetpart_cost *cost;
		hetpart_plan *plan;
		hetpart_model *model;
		hetpart_schedule *schedule;
	} u;
};

/* ---------------------------------------------------------------------------------- ownership */

bool hp_job_init(hp_job *job, const hp_limits *limits, json_t *in)
{
	*job = (hp_job){ .limits = limits, .in = in, .out = json_object() };
	return job->out || hp_fail(job, NULL, "out of memory");
}

static void owned_free(const hp_owned *o)
{
	switch (o->kind) {
	case OWNED_MEMORY:
		free(o->u.memory);
		break;
	case OWNED_COST:
		hetpart_cost_free(o->u.cost);
		break;
	case OWNED_PLAN:
		hetpart_plan_free(o->u.plan);
		break;
	case OWNED_MODEL:
		hetpart_model_free(o->u.model);
		break;
	case OWNED_SCHEDULE:
		hetpart_schedule_free(o->u.schedule);
		break;
	}
}

void hp_job_free(hp_job *job)
{
	while (job->owned) {
		hp_owned *const o = job->owned;
		job->owned = o->next;
		owned_free(o);
		free(o);
	}
	json_decref(job->in);
	json_decref(job->out);
	job->in = job->out = NULL;
}

static bool owned_add(hp_job *job, hp_owned what)
{
	hp_owned *const o = malloc(sizeof *o);
	if (!o) {
		owned_free(&what);
		return hp_fail(job, NULL, "out of memory");
	}
	*o = what;
	o->next = job->owned;
	job->owned = o;
	return true;
}

void *hp_alloc(hp_job *job, size_t n, size_t size)
{
	if (!owned_add(job, (hp_owned){ .kind = OWNED_MEMORY }))
		return NULL;
	job->owned->u.memory = calloc(n ? n : 1, size);
	if (!job->owned->u.memory)
		hp_set_reason(job, NULL, "out of memory: %zu entries of %zu bytes", n, size);
	return job->owned->u.memory;
}

bool hp_own_cost(hp_job *job, hetpart_cost *cost)
{
	return owned_add(job, (hp_owned){ .kind = OWNED_COST, .u.cost = cost });
}

bool hp_own_plan(hp_job *job, hetpart_plan *plan)
{
	return owned_add(job, (hp_owned){ .kind = OWNED_PLAN, .u.plan = plan });
}

bool hp_own_model(hp_job *job, hetpart_model *model)
{
	return owned_add(job, (hp_owned){ .kind = OWNED_MODEL, .u.model = model });
}

bool hp_own_schedule(hp_job *job, hetpart_schedule *schedule)
{
	return owned_add(job, (hp_owned){ .kind = OWNED_SCHEDULE, .u.schedule = schedule });
}

/* ------------------------------------------------------------------------------------ failure */

/* Append the path of at, outermost key first. */
static void add_path(char *buf, size_t size, const hp_at *at)
{
	if (at->up)
		add_path(buf, size, at->up);
	const size_t used = strlen(buf);
	if (at->key)
		snprintf(buf + used, size - used, "%s%s", used ? "." : "", at->key);
	else
		snprintf(buf + used, size - used, "[%zu]", at->index);
}

void hp_set_reason(hp_job *job, const hp_at *at, const char *fmt, ...)
{
	char raw[HP_TEXT_BYTES], path[HP_TEXT_BYTES / 2] = "";
	size_t used = 0;
	if (at) {
		add_path(path, sizeof path, at);
		used = (size_t)snprintf(raw, sizeof raw, "'%s': ", path);
	}
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(raw + used, sizeof raw - used, fmt, ap);
	va_end(ap);
	hp_clean(job->text, sizeof job->text, raw, strlen(raw));
}

bool hp_lib(hp_job *job, const hp_at *at, hetpart_status status, const hetpart_err *err)
{
	return status == HETPART_OK || hp_fail(job, at, "%s", err->text);
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
