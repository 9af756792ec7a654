/* SPDX-License-Identifier: GPL-3.0-or-later */
/* job.c - a job: the objects that it owns, and the reason of its failure. */
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
