/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ops.c - find the operation of a request and perform it, and write the members of an answer.
 * Uses no streams. Costs what the operation costs, and one JSON value for each number. */
#include <math.h>
#include <string.h>

#include "ops.h"

/* -------------------------------------------------------------------------------- operations */

static const hp_op *const groups[] = { hp_ops_share, hp_ops_scatter, hp_ops_chain };

const hp_op *hp_op_find(const char *name)
{
	for (size_t g = 0; g < HP_LEN(groups); g++)
		for (const hp_op *op = groups[g]; op->name; op++)
			if (strcmp(op->name, name) == 0)
				return op;
	return NULL;
}

bool hp_verb_known(const char *verb)
{
	const hp_op *const op = hp_op_find(verb);
	return op && strcmp(op->verb, verb) == 0;
}

/* Find the operation that the request names. */
static const hp_op *named_op(hp_job *job)
{
	const hp_at at = { NULL, "op", 0 };
	const json_t *const v = hp_need(job, job->in, NULL, at.key);
	if (!v)
		return NULL;
	if (!json_is_string(v)) {
		hp_set_reason(job, &at, "must be a string");
		return NULL;
	}
	const hp_op *const found = hp_op_find(json_string_value(v));
	if (found)
		return found;
	char list[HP_TEXT_BYTES / 2];
	size_t used = 0;
	for (size_t g = 0; g < HP_LEN(groups); g++)
		for (const hp_op *op = groups[g]; op->name && used < sizeof list; op++)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
						 used ? ", " : "", op->name);
	hp_set_reason(job, &at, "unknown '%.64s', must be one of: %s", json_string_value(v), list);
	return NULL;
}

const hp_op *hp_request_op(hp_job *job)
{
	const hp_at at = { NULL, "names", 0 };
	const hp_op *const op = named_op(job);
	if (!op || !hp_keys(job, job->in, NULL, op->keys))
		return NULL;
	const json_t *const names = json_object_get(job->in, at.key);
	size_t n = 0;
	if (names && !hp_array(job, names, &at, job->limits->procs, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const hp_at here = { &at, NULL, i };
		if (!json_is_string(json_array_get(names, i))) {
			hp_set_reason(job, &here, "must be a string");
			return NULL;
		}
	}
	return op;
}

bool hp_enough_names(hp_job *job)
{
	const hp_at at = { NULL, "names", 0 };
	const json_t *const names = json_object_get(job->in, at.key);
	const json_t *list = json_object_get(job->out, "shares");
	if (!list)
		list = json_object_get(job->out, "counts");
	if (!list)
		list = json_object_get(job->in, "w");
	const size_t n = json_array_size(names), procs = json_array_size(list);
	return !names || n == procs ||
	       hp_fail(job, &at, "%zu name%s for %zu processor%s", n, n == 1 ? "" : "s", procs,
		       procs == 1 ? "" : "s");
}

bool hp_perform(hp_job *job)
{
	const hp_op *const op = hp_request_op(job);
	return op && hp_put(job, "op", json_string(op->name)) && op->perform(job) &&
	       hp_enough_names(job);
}

/* ------------------------------------------------------------------------------------ answers */

bool hp_put(hp_job *job, const char *key, json_t *value)
{
	return json_object_set_new(job->out, key, value) == 0 ||
	       hp_fail(job, NULL, "out of memory for '%s'", key);
}

json_t *hp_json_real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

double hp_at_index(const json_t *array, size_t i)
{
	const json_t *const v = json_array_get(array, i);
	return json_is_number(v) ? json_number_value(v) : NAN;
}

size_t hp_served(const hp_job *job, size_t j)
{
	const json_t *const order = json_object_get(job->out, "order");
	return order ? (size_t)json_integer_value(json_array_get(order, j)) : j;
}

bool hp_planned(hp_job *job, hetpart_status rc, hetpart_plan *plan, const hetpart_err *err)
{
	return hp_lib(job, NULL, rc, err) && hp_own_plan(job, plan);
}

bool hp_put_reals(hp_job *job, const char *key, const double *v, size_t n)
{
	json_t *const list = json_array();
	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(list, hp_json_real(v[i])) != 0) {
			json_decref(list);
			return hp_put(job, key, NULL);
		}
	return hp_put(job, key, list);
}

static bool put_wholes(hp_job *job, const char *key, const uint64_t *v, size_t n)
{
	json_t *const list = json_array();
	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(list, json_integer((json_int_t)v[i])) != 0) {
			json_decref(list);
			return hp_put(job, key, NULL);
		}
	return hp_put(job, key, list);
}

bool hp_put_indices(hp_job *job, const char *key, const size_t *v, size_t n)
{
	uint64_t *const wide = hp_alloc(job, n, sizeof *wide);
	if (!wide)
		return false;
	for (size_t i = 0; i < n; i++)
		wide[i] = v[i];
	return put_wholes(job, key, wide, n);
}

/* Add an array of what get() returns for each processor, if any of it is finite or `always`. */
static bool put_each(hp_job *job, const char *key, const hetpart_plan *plan,
		     double (*get)(const hetpart_plan *, size_t), bool always)
{
	const size_t n = hetpart_plan_nprocs(plan);
	double *const v = hp_alloc(job, n, sizeof *v);
	if (!v)
		return false;
	for (size_t i = 0; i < n; i++) {
		v[i] = get(plan, i);
		always = always || isfinite(v[i]);
	}
	return !always || hp_put_reals(job, key, v, n);
}

/* Add a number that only some methods have. */
static bool put_known(hp_job *job, const char *key, double x)
{
	return isnan(x) || hp_put(job, key, hp_json_real(x));
}

bool hp_put_stopped(hp_job *job, hetpart_status why)
{
	return why == HETPART_OK || hp_put(job, "stopped", json_string(hetpart_status_text(why)));
}

bool hp_put_plan(hp_job *job, const char *shares, const hetpart_plan *plan)
{
	return hp_put(job, "method", json_string(hetpart_plan_method(plan))) &&
	       put_wholes(job, shares, hetpart_plan_shares(plan), hetpart_plan_nprocs(plan)) &&
	       put_each(job, "real", plan, hetpart_plan_real_share, false) &&
	       put_each(job, "times", plan, hetpart_plan_time, true) &&
	       hp_put(job, "makespan", hp_json_real(hetpart_plan_makespan(plan))) &&
	       put_known(job, "real_makespan", hetpart_plan_real_makespan(plan)) &&
	       put_known(job, "lower_bound", hetpart_plan_lower_bound(plan)) &&
	       hp_put_stopped(job, hetpart_plan_stopped(plan));
}
