/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run.c - from a request to its answer: finds the operation, checks the keys, runs it.
 * May not touch: streams. Costs what the operation costs. */
#include <string.h>

#include "ops.h"

static const struct hp_op *const groups[] = { hp_ops_share, hp_ops_scatter, hp_ops_chain };

const struct hp_op *hp_op_find(const char *name)
{
	for (size_t g = 0; g < HP_LEN(groups); g++)
		for (const struct hp_op *op = groups[g]; op->name; op++)
			if (strcmp(op->name, name) == 0)
				return op;
	return NULL;
}

bool hp_verb_known(const char *verb)
{
	const struct hp_op *op = hp_op_find(verb);

	return op && strcmp(op->verb, verb) == 0;
}

static void list_ops(char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t g = 0; g < HP_LEN(groups); g++)
		for (const struct hp_op *op = groups[g]; op->name && used < size; op++)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
						 op->name);
}

static const struct hp_op *choose(struct hp_job *job)
{
	const struct hp_at at = { NULL, "op", 0 };
	const json_t *v = hp_need(job, job->in, NULL, "op");
	const struct hp_op *op;
	char list[HP_TEXT_BYTES / 2];

	if (!v)
		return NULL;
	if (!json_is_string(v)) {
		hp_tell(job, &at, "want a text");
		return NULL;
	}
	op = hp_op_find(json_string_value(v));
	list_ops(list, sizeof list);
	if (!op)
		hp_tell(job, &at, "unknown '%.64s', want one of: %s", json_string_value(v), list);
	return op;
}

/* Names are one text for each processor, for the charts; all operations know them. */
static bool check_names(struct hp_job *job)
{
	const struct hp_at at = { NULL, "names", 0 };
	const json_t *v = json_object_get(job->in, "names");
	size_t n = 0;

	if (!v)
		return true;
	if (!hp_array(job, v, &at, job->limits->procs, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct hp_at here = { &at, NULL, i };
		if (!json_is_string(json_array_get(v, i)))
			return hp_fail(job, &here, "want a text");
	}
	return true;
}

/* The processors an answer or its request is about. */
static size_t processors(const struct hp_job *job)
{
	static const char *const keys[] = { "shares", "counts" };

	for (size_t i = 0; i < HP_LEN(keys); i++)
		if (json_object_get(job->out, keys[i]))
			return json_array_size(json_object_get(job->out, keys[i]));
	return json_array_size(json_object_get(job->in, "w"));
}

bool hp_enough_names(struct hp_job *job)
{
	const struct hp_at at = { NULL, "names", 0 };
	const json_t *v = json_object_get(job->in, "names");

	return !v || json_array_size(v) == processors(job) ||
	       hp_fail(job, &at, "%zu name%s for %zu processor%s", json_array_size(v),
		       json_array_size(v) == 1 ? "" : "s", processors(job),
		       processors(job) == 1 ? "" : "s");
}

const struct hp_op *hp_request_op(struct hp_job *job)
{
	const struct hp_op *op = choose(job);

	return op && hp_keys(job, job->in, NULL, op->keys) && check_names(job) ? op : NULL;
}

bool hp_run(struct hp_job *job)
{
	const struct hp_op *op = hp_request_op(job);

	return op && hp_put(job, "op", json_string(op->name)) && op->run(job) &&
	       hp_enough_names(job);
}
