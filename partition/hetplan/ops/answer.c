/* SPDX-License-Identifier: GPL-3.0-or-later */
/* answer.c - the members of an answer.
 * May not touch: the request. Costs one JSON value for each number. */
#include <math.h>

#include "ops.h"

bool hp_put(struct hp_job *job, const char *key, json_t *value)
{
	return json_object_set_new(job->out, key, value) == 0 ||
	       hp_fail(job, NULL, "out of memory for '%s'", key);
}

json_t *hp_json_real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

double hp_at_key(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : INFINITY;
}

double hp_at_index(const json_t *array, size_t i)
{
	const json_t *v = json_array_get(array, i);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

bool hp_put_reals(struct hp_job *job, const char *key, const double *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(list, hp_json_real(v[i])) != 0) {
			json_decref(list);
			return hp_put(job, key, NULL);
		}
	return hp_put(job, key, list);
}

static bool put_wholes(struct hp_job *job, const char *key, const uint64_t *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(list, json_integer((json_int_t)v[i])) != 0) {
			json_decref(list);
			return hp_put(job, key, NULL);
		}
	return hp_put(job, key, list);
}

bool hp_put_indices(struct hp_job *job, const char *key, const size_t *v, size_t n)
{
	uint64_t *wide = hp_alloc(job, n, sizeof *wide);

	if (!wide)
		return false;
	for (size_t i = 0; i < n; i++)
		wide[i] = v[i];
	return put_wholes(job, key, wide, n);
}

/* An array of what get() says of each processor. */
static bool put_each(struct hp_job *job, const char *key, const hetpart_plan *plan,
		     double (*get)(const hetpart_plan *, size_t))
{
	size_t n = hetpart_plan_nprocs(plan);
	double *v = hp_alloc(job, n, sizeof *v);

	if (!v)
		return false;
	for (size_t i = 0; i < n; i++)
		v[i] = get(plan, i);
	return hp_put_reals(job, key, v, n);
}

static bool has_real(const hetpart_plan *plan)
{
	for (size_t i = 0; i < hetpart_plan_nprocs(plan); i++)
		if (isfinite(hetpart_plan_real_share(plan, i)))
			return true;
	return false;
}

/* A number that only some methods give. */
static bool put_known(struct hp_job *job, const char *key, double x)
{
	return isnan(x) || hp_put(job, key, hp_json_real(x));
}

bool hp_put_stopped(struct hp_job *job, hetpart_status why)
{
	return why == HETPART_OK || hp_put(job, "stopped", json_string(hetpart_status_text(why)));
}

bool hp_put_plan(struct hp_job *job, const char *shares, const hetpart_plan *plan)
{
	return hp_put(job, "method", json_string(hetpart_plan_method(plan))) &&
	       put_wholes(job, shares, hetpart_plan_shares(plan), hetpart_plan_nprocs(plan)) &&
	       (!has_real(plan) || put_each(job, "real", plan, hetpart_plan_real_share)) &&
	       put_each(job, "times", plan, hetpart_plan_time) &&
	       hp_put(job, "makespan", hp_json_real(hetpart_plan_makespan(plan))) &&
	       put_known(job, "real_makespan", hetpart_plan_real_makespan(plan)) &&
	       put_known(job, "lower_bound", hetpart_plan_lower_bound(plan)) &&
	       hp_put_stopped(job, hetpart_plan_stopped(plan));
}
