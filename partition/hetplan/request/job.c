/* SPDX-License-Identifier: GPL-3.0-or-later */
/* job.c - a job and what belongs to it: memory, costs, plans, the reason of its failure.
 * May not touch: what a request means. Costs one small node for each thing owned. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

const struct hp_limits hp_limits = {
	.line_bytes = (size_t)64 << 20,
	.values = (size_t)8 << 20,
	.depth = 16,
	.procs = 1000000,
	.loads = 1000000,
	.items = HETPART_ITEMS_MAX,
	.best_upto = HETPART_EMULATE_MAX,
	.installments = 0,
	.max_mem_bytes = 0,
	.time_limit_s = 0,
};

enum owned_kind { OWNED_MEMORY, OWNED_COST, OWNED_PLAN, OWNED_MODEL, OWNED_SCHEDULE };

struct hp_owned {
	struct hp_owned *next;
	enum owned_kind kind;
	union {
		void *memory;
		hetpart_cost *cost;
		hetpart_plan *plan;
		hetpart_model *model;
		hetpart_schedule *schedule;
	} u;
};

bool hp_job_init(struct hp_job *job, const struct hp_limits *limits, json_t *in)
{
	*job = (struct hp_job){ .limits = limits, .in = in, .out = json_object() };
	return job->out || hp_fail(job, NULL, "out of memory");
}

static void give_back(struct hp_owned *o)
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

void hp_job_free(struct hp_job *job)
{
	while (job->owned) {
		struct hp_owned *o = job->owned;
		job->owned = o->next;
		give_back(o);
		free(o);
	}
	json_decref(job->in);
	json_decref(job->out);
	job->in = job->out = NULL;
}

static bool own(struct hp_job *job, struct hp_owned what)
{
	struct hp_owned *o = malloc(sizeof *o);

	if (!o) {
		give_back(&what);
		return hp_fail(job, NULL, "out of memory");
	}
	*o = what;
	o->next = job->owned;
	job->owned = o;
	return true;
}

void *hp_alloc(struct hp_job *job, size_t n, size_t size)
{
	if (!own(job, (struct hp_owned){ .kind = OWNED_MEMORY, .u.memory = NULL }))
		return NULL;
	job->owned->u.memory = calloc(n ? n : 1, size);
	if (!job->owned->u.memory)
		hp_tell(job, NULL, "out of memory: %zu entries of %zu bytes", n, size);
	return job->owned->u.memory;
}

bool hp_own_cost(struct hp_job *job, hetpart_cost *cost)
{
	return own(job, (struct hp_owned){ .kind = OWNED_COST, .u.cost = cost });
}

bool hp_own_plan(struct hp_job *job, hetpart_plan *plan)
{
	return own(job, (struct hp_owned){ .kind = OWNED_PLAN, .u.plan = plan });
}

bool hp_own_model(struct hp_job *job, hetpart_model *model)
{
	return own(job, (struct hp_owned){ .kind = OWNED_MODEL, .u.model = model });
}

bool hp_own_schedule(struct hp_job *job, hetpart_schedule *schedule)
{
	return own(job, (struct hp_owned){ .kind = OWNED_SCHEDULE, .u.schedule = schedule });
}

/* The path of at, outermost first, behind what is in buf. */
static void add_path(char *buf, size_t size, const struct hp_at *at)
{
	size_t used;

	if (at->up)
		add_path(buf, size, at->up);
	used = strlen(buf);
	if (at->key)
		snprintf(buf + used, size - used, "%s%s", used ? "." : "", at->key);
	else
		snprintf(buf + used, size - used, "[%zu]", at->index);
}

void hp_tell(struct hp_job *job, const struct hp_at *at, const char *fmt, ...)
{
	char raw[HP_TEXT_BYTES], path[HP_TEXT_BYTES / 2] = "";
	size_t used = 0;
	va_list ap;

	if (at) {
		add_path(path, sizeof path, at);
		used = (size_t)snprintf(raw, sizeof raw, "'%s': ", path);
	}
	va_start(ap, fmt);
	vsnprintf(raw + used, sizeof raw - used, fmt, ap);
	va_end(ap);
	hp_clean(job->text, sizeof job->text, raw, strlen(raw));
}

bool hp_lib(struct hp_job *job, const struct hp_at *at, hetpart_status status,
	    const hetpart_err *err)
{
	return status == HETPART_OK || hp_fail(job, at, "%s", err->text);
}
