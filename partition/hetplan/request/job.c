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
	hp_object kind;
	void *object;
};

/* ---------------------------------------------------------------------------------- ownership */

bool hp_job_init(hp_job *job, const hp_limits *limits, json_t *in)
{
	*job = (hp_job){ .limits = limits, .in = in, .out = json_object() };
	return job->out || hp_no_memory(job);
}

static void object_free(hp_object kind, void *object)
{
	switch (kind) {
	case HP_MEMORY:
		free(object);
		break;
	case HP_COST:
		hetpart_cost_free(object);
		break;
	case HP_PLAN:
		hetpart_plan_free(object);
		break;
	case HP_MODEL:
		hetpart_model_free(object);
		break;
	case HP_SCHEDULE:
		hetpart_schedule_free(object);
		break;
	}
}

void hp_job_free(hp_job *job)
{
	while (job->owned) {
		hp_owned *const o = job->owned;
		job->owned = o->next;
		object_free(o->kind, o->object);
		free(o);
	}
	json_decref(job->in);
	json_decref(job->out);
	job->in = job->out = NULL;
}

bool hp_own(hp_job *job, hp_object kind, void *object)
{
	hp_owned *const o = malloc(sizeof *o);
	if (!o) {
		object_free(kind, object);
		return hp_no_memory(job);
	}
	*o = (hp_owned){ job->owned, kind, object };
	job->owned = o;
	return true;
}

void *hp_alloc(hp_job *job, size_t n, size_t size)
{
	void *const memory = calloc(n ? n : 1, size);
	if (!memory)
		hp_set_reason(job, NULL, "out of memory: %zu entries of %zu bytes", n, size);
	return memory && hp_own(job, HP_MEMORY, memory) ? memory : NULL;
}

/* ------------------------------------------------------------------------------------ failure */

/* Append the path of `at` to buf, the outermost key first. */
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
	if (job->source)
		used = (size_t)snprintf(raw, sizeof raw, "'%.192s': ", job->source);
	if (job->line)
		used += (size_t)snprintf(raw + used, sizeof raw - used, "line %zu: ", job->line);
	if (at) {
		add_path(path, sizeof path, at);
		used += (size_t)snprintf(raw + used, sizeof raw - used, "'%s': ", path);
	}
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(raw + used, sizeof raw - used, fmt, ap);
	va_end(ap);
	hp_clean(job->text, sizeof job->text, raw, strlen(raw));
}

bool hp_lib(hp_job *job, const hp_at *at, hetpart_status status)
{
	return status == HETPART_OK || hp_fail(job, at, "%s", job->err.text);
}
