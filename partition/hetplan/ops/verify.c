/* SPDX-License-Identifier: GPL-3.0-or-later */
/* verify.c - a plan and its request in one file, and back: an answer is taken over where it keeps
 * to its request, and its dates are what the costs say. May not touch: planners. Costs a pass over
 * the shares, for a farm or a chain its simulation. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops.h"

#define TOLERANCE 1e-9 /* relative: another machine may sum in another way */

json_t *hp_with_request(const struct hp_job *job)
{
	json_t *a = json_object(), *id = json_object_get(job->in, "id");

	if (a && (!id || json_object_set(a, "id", id) == 0) &&
	    json_object_set_new(a, "status", json_string("ok")) == 0 &&
	    json_object_update(a, job->out) == 0 && json_object_set(a, "request", job->in) == 0)
		return a;
	json_decref(a);
	return NULL;
}

/* What both are of: the job of the request, and the answer in the file. */
struct pair {
	struct hp_job *job, *file;
	const char *key; /* of the shares */
	uint64_t *share;
	size_t n;
};

/* The file's own reason becomes the job's. */
static bool passed_on(const struct pair *v, bool ok)
{
	return ok || hp_fail(v->job, NULL, "%s", v->file->text);
}

static json_t *member(const struct pair *v, const char *key)
{
	return json_object_get(v->file->in, key);
}

/* Take a member over as it is, if it is there. */
static bool take(const struct pair *v, const char *key)
{
	json_t *x = member(v, key);

	return !x || hp_put(v->job, key, json_incref(x));
}

static bool take_text(const struct pair *v, const char *key)
{
	const struct hp_at at = { NULL, key, 0 };

	return !member(v, key) || json_is_string(member(v, key))
		       ? take(v, key)
		       : hp_fail(v->job, &at, "want a text");
}

static bool take_number(const struct pair *v, const char *key)
{
	const struct hp_at at = { NULL, key, 0 };
	const json_t *x = member(v, key);

	return !x || json_is_number(x) || json_is_null(x)
		       ? take(v, key)
		       : hp_fail(v->job, &at, "want a number or null");
}

/* A number for each processor, null where it is infinite. */
static bool take_numbers(const struct pair *v, const char *key)
{
	const struct hp_at at = { NULL, key, 0 };
	const json_t *list = member(v, key);
	size_t n = v->n;

	if (!list)
		return true;
	if (!hp_array(v->job, list, &at, n, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct hp_at here = { &at, NULL, i };
		const json_t *x = json_array_get(list, i);
		if (!json_is_number(x) && !json_is_null(x))
			return hp_fail(v->job, &here, "want a number or null");
	}
	return take(v, key);
}

/* A date of the answer, null for infinite, against that of the costs. */
static bool same_date(const struct pair *v, const struct hp_at *at, const json_t *x, double want)
{
	double got = json_is_null(x) ? INFINITY : json_is_number(x) ? json_number_value(x) : NAN;

	return got == want || fabs(got - want) <= TOLERANCE * fabs(want) ||
	       hp_fail(v->job, at, "'%.12g', but by the costs it is '%.12g'", got, want);
}

/* A whole number of the answer below n. */
static bool take_index(const struct pair *v, const char *key)
{
	const struct hp_at at = { NULL, key, 0 };
	uint64_t x;

	return !member(v, key) ||
	       (v->n > 0 && hp_whole(v->job, member(v, key), &at, 0, v->n - 1, &x) && take(v, key));
}

static bool take_order(const struct pair *v)
{
	const struct hp_at at = { NULL, "order", 0 };
	bool *seen = hp_alloc(v->job, v->n, sizeof *seen);
	size_t n = v->n;
	uint64_t *order;

	if (!seen || !member(v, "order"))
		return seen != NULL;
	if (!passed_on(v, hp_wholes(v->file, "order", n - 1, &order, &n)))
		return false;
	for (size_t j = 0; j < n; j++) {
		if (seen[order[j]])
			return hp_fail(v->job, &at, "'%" PRIu64 "' is there twice", order[j]);
		seen[order[j]] = true;
	}
	return take(v, "order");
}

/* What the shares must sum to. */
static bool total(const struct pair *v, uint64_t *out)
{
	const struct hp_at at = { NULL, "processes", 0 };
	const json_t *weights = json_object_get(v->job->in, "weights");
	const json_t *given = json_object_get(v->job->in, "processes");
	uint64_t most = v->job->limits->items;

	*out = json_array_size(weights);
	if (weights)
		return true;
	if (strcmp(v->key, "counts") != 0)
		return hp_items(v->job, out);
	if (given)
		return hp_whole(v->job, given, &at, 0, most, out);
	return hp_need(v->job, v->file->in, NULL, "processes") &&
	       hp_whole(v->job, member(v, "processes"), &at, 0, most, out);
}

static bool check_sum(const struct pair *v)
{
	const struct hp_at at = { NULL, v->key, 0 };
	uint64_t left, items;

	if (!total(v, &items))
		return false;
	left = items;
	for (size_t i = 0; i < v->n; i++) {
		if (v->share[i] > left)
			return hp_fail(v->job, &at, "they sum to more than %" PRIu64, items);
		left -= v->share[i];
	}
	return left == 0 || hp_fail(v->job, &at, "they sum to %" PRIu64 ", not to %" PRIu64,
				    items - left, items);
}

/* Index of the processor of that share. */
static size_t proc_of(const struct pair *v, size_t j)
{
	const json_t *order = json_object_get(v->job->out, "order");

	return order ? (size_t)json_integer_value(json_array_get(order, j)) : j;
}

/* Minimums, capacities, multiples of a quantum but for one share. */
static bool check_bounds(const struct pair *v)
{
	const struct hp_at up = { NULL, v->key, 0 };
	const uint64_t *min = NULL, *cap = NULL;
	uint64_t quantum = 1;
	size_t odd = 0;

	if (!hp_bounds(v->job, "minimum", v->n, 0, &min) ||
	    !hp_bounds(v->job, "capacity", v->n, HETPART_ITEMS_MAX, &cap) ||
	    !hp_quantum(v->job, &quantum))
		return false;
	for (size_t j = 0; j < v->n; j++) {
		const struct hp_at at = { &up, NULL, j };
		size_t i = proc_of(v, j);
		if (min && v->share[j] < min[i])
			return hp_fail(v->job, &at, "below the minimum");
		if (cap && v->share[j] > cap[i])
			return hp_fail(v->job, &at, "above the capacity");
		odd += v->share[j] % quantum != 0;
		if (odd > 1)
			return hp_fail(v->job, &at, "no multiple of the quantum");
	}
	return true;
}

/* The makespan by the costs, beside that of the answer and what it says no plan can beat. */
static bool put_makespan(const struct pair *v, double makespan)
{
	const struct hp_at at = { NULL, "makespan", 0 }, low_at = { NULL, "lower_bound", 0 };
	const json_t *x = hp_need(v->job, v->file->in, NULL, "makespan");
	const json_t *low = member(v, "lower_bound");
	double bound = json_number_value(low);

	if (!x || !same_date(v, &at, x, makespan) ||
	    !hp_put(v->job, "makespan", hp_json_real(makespan)) || !take_number(v, "lower_bound"))
		return false;
	if (!json_is_number(low))
		return true;
	if (bound > makespan * (1 + TOLERANCE))
		return hp_fail(v->job, &low_at, "above the makespan");
	return hp_put(v->job, "gap_percent",
		      hp_json_real(bound > 0 ? fmax(0, 100 * (makespan - bound) / bound) : 0));
}

static bool check_dates(const struct pair *v, const double *time)
{
	const struct hp_at up = { NULL, "times", 0 };
	const json_t *times = hp_need(v->job, v->file->in, NULL, "times");
	double last = 0;
	size_t n = v->n;

	if (!times || !hp_array(v->job, times, &up, n, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct hp_at at = { &up, NULL, i };
		if (!same_date(v, &at, json_array_get(times, i), time[i]))
			return false;
		last = fmax(last, time[i]);
	}
	return hp_put_reals(v->job, "times", time, n) && put_makespan(v, last);
}

static bool verify_shares(struct pair *v, const struct hp_op *op)
{
	double *time;

	v->key = strcmp(op->verb, "emulate") == 0 ? "counts" : "shares";
	if (!passed_on(v, hp_wholes(v->file, v->key, HETPART_ITEMS_MAX, &v->share, &v->n)) ||
	    !(v->n > 0 || hp_fail(v->job, NULL, "no shares")) || !take(v, v->key) ||
	    !take_order(v) || !take_index(v, "root") || !check_sum(v) || !check_bounds(v) ||
	    !(time = hp_alloc(v->job, v->n, sizeof *time)) ||
	    !op->ends(v->job, v->share, v->n, time))
		return false;
	return take_numbers(v, "real") && (isnan(time[0]) || check_dates(v, time)) &&
	       take_number(v, "real_makespan") && take_numbers(v, "total_by_root") &&
	       take_number(v, "processes") && take_number(v, "efficiency");
}

/* The fractions are replayed; a replay is made again. */
static bool verify_chain(const struct pair *v)
{
	struct hp_job dates = { .in = NULL };
	bool ok = take(v, "fractions") && hp_chain_dates(v->job, &dates) &&
		  put_makespan(v, hp_at_key(dates.out, "makespan"));

	if (ok && !member(v, "fractions"))
		ok = json_object_update(v->job->out, dates.out) == 0 ||
		     hp_fail(v->job, NULL, "out of memory");
	hp_job_free(&dates);
	return ok && take_number(v, "planned_makespan");
}

static bool take_request(struct hp_job *job, struct hp_job *file)
{
	static const char *const known[] = { "id",
					     "status",
					     "op",
					     "method",
					     "shares",
					     "counts",
					     "real",
					     "times",
					     "makespan",
					     "real_makespan",
					     "lower_bound",
					     "gap_percent",
					     "stopped",
					     "order",
					     "root",
					     "total_by_root",
					     "points",
					     "processes",
					     "efficiency",
					     "fractions",
					     "planned_makespan",
					     "comm_start",
					     "comm_end",
					     "comp_start",
					     "comp_end",
					     "request",
					     NULL };
	const char *status = json_string_value(json_object_get(file->in, "status"));
	json_t *request = json_object_get(file->in, "request");

	if (!json_is_object(request))
		return hp_fail(job, NULL, "no plan with its request, as '--json' writes it");
	if (!hp_keys(job, file->in, NULL, known))
		return false;
	if (!status || strcmp(status, "ok") != 0)
		return hp_fail(job, NULL, "'status': want 'ok'");
	job->in = json_incref(request);
	return true;
}

bool hp_verify(struct hp_job *job, struct hp_job *file)
{
	struct pair v = { .job = job, .file = file };
	const struct hp_op *op;

	return take_request(job, file) && (op = hp_request_op(job)) &&
	       hp_put(job, "op", json_string(op->name)) && take_text(&v, "method") &&
	       (op->ends ? verify_shares(&v, op) : verify_chain(&v)) && take_text(&v, "stopped") &&
	       hp_enough_names(job);
}
