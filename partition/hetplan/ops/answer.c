/* SPDX-License-Identifier: GPL-3.0-or-later */
/* answer.c - write and read the members of an answer. Uses no streams. */
#include <math.h>

#include "ops.h"

bool hp_put(hp_job *job, const char *key, json_t *value)
{
	return json_object_set_new(job->out, key, value) == 0 ||
	       hp_fail(job, NULL, "out of memory for '%s'", key);
}

bool hp_append(hp_job *job, json_t *list, json_t *value)
{
	return json_array_append_new(list, value) == 0 || hp_no_memory(job);
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

bool hp_planned(hp_job *job, hetpart_status rc, hetpart_plan *const *plan)
{
	return hp_lib(job, NULL, rc) && hp_own(job, HP_PLAN, *plan);
}

bool hp_put_planned(hp_job *job, hetpart_status rc, hetpart_plan *const *plan)
{
	return hp_planned(job, rc, plan) && hp_put_plan(job, "shares", *plan);
}

bool hp_put_reals(hp_job *job, const char *key, const double *v, size_t n)
{
	json_t *const list = json_array();
	bool ok = hp_put(job, key, list);
	for (size_t i = 0; ok && i < n; i++)
		ok = hp_append(job, list, hp_json_real(v[i]));
	return ok;
}

bool hp_put_wholes(hp_job *job, const char *key, const uint64_t *v, size_t n)
{
	json_t *const list = json_array();
	bool ok = hp_put(job, key, list);
	for (size_t i = 0; ok && i < n; i++)
		ok = hp_append(job, list, json_integer((json_int_t)v[i]));
	return ok;
}

bool hp_put_indices(hp_job *job, const char *key, const size_t *v, size_t n)
{
	json_t *const list = json_array();
	bool ok = hp_put(job, key, list);
	for (size_t i = 0; ok && i < n; i++)
		ok = hp_append(job, list, json_integer((json_int_t)v[i]));
	return ok;
}

/* Add an array of the values of get() for all processors. Unless `always`, omit it if no value is
 * finite. */
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

/* Add a number unless it is NaN, because the method does not have it. */
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
	       hp_put_wholes(job, shares, hetpart_plan_shares(plan), hetpart_plan_nprocs(plan)) &&
	       put_each(job, "real", plan, hetpart_plan_real_share, false) &&
	       put_each(job, "times", plan, hetpart_plan_time, true) &&
	       hp_put(job, "makespan", hp_json_real(hetpart_plan_makespan(plan))) &&
	       put_known(job, "real_makespan", hetpart_plan_real_makespan(plan)) &&
	       put_known(job, "lower_bound", hetpart_plan_lower_bound(plan)) &&
	       hp_put_stopped(job, hetpart_plan_stopped(plan));
}

json_t *hp_with_request(const hp_job *job)
{
	json_t *const a = json_object(), *const id = json_object_get(job->in, "id");
	if (a && (!id || json_object_set(a, "id", id) == 0) &&
	    json_object_set_new(a, "status", json_string("ok")) == 0 &&
	    json_object_update(a, job->out) == 0 && json_object_set(a, "request", job->in) == 0)
		return a;
	json_decref(a);
	return NULL;
}
