/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ops.c - find the operation of a request and perform it, or verify a plan that a file contains
 * with its request. The plan must satisfy its request, and its times must match the costs. A
 * verification takes a pass over the shares, or simulates the farm or the chain. */
#include <inttypes.h>
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

/* Return the operation of the request, after checking keys and names; NULL after hp_fail(). */
static const hp_op *request_op(hp_job *job)
{
	const hp_at at = hp_top(job->in, "op"), names = hp_top(job->in, "names");
	const char *text;
	size_t n = 0;
	if (!hp_text(job, &at, &text))
		return NULL;
	const hp_op *const op = hp_op_find(text);
	if (!op) {
		char list[HP_TEXT_BYTES / 2];
		size_t used = 0;
		for (size_t g = 0; g < HP_LEN(groups); g++)
			for (const hp_op *o = groups[g]; o->name && used < sizeof list; o++)
				used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
							 used ? ", " : "", o->name);
		hp_set_reason(job, &at, "unknown '%.64s', must be one of: %s", text, list);
		return NULL;
	}
	if (!hp_keys(job, job->in, NULL, op->keys) ||
	    (names.v && !hp_array(job, &names, job->limits->procs, &n)))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const hp_at name = hp_entry(&names, i);
		if (!hp_text(job, &name, &text))
			return NULL;
	}
	return op;
}

/* Check that the request has a name for each processor of the answer, if it has names. */
static bool enough_names(hp_job *job)
{
	const hp_at names = hp_top(job->in, "names");
	const json_t *list = json_object_get(job->out, "shares");
	if (!list)
		list = json_object_get(job->out, "counts");
	if (!list) { /* a chain: the processors of its first installment */
		list = json_object_get(job->out, "fractions");
		if (!list)
			list = json_object_get(job->out, "comp_start");
		list = json_array_get(json_array_get(list, 0), 0);
	}
	const size_t n = json_array_size(names.v), procs = json_array_size(list);
	return !names.v || n == procs ||
	       hp_fail(job, &names, "%zu name%s for %zu processor%s", n, n == 1 ? "" : "s", procs,
		       procs == 1 ? "" : "s");
}

bool hp_perform(hp_job *job)
{
	const hp_op *const op = request_op(job);
	return op && hp_put(job, "op", json_string(op->name)) && op->perform(job) &&
	       enough_names(job);
}

/* ------------------------------------------------------------------------------ verification */

#define TOLERANCE 1e-9 /* relative, as another machine may sum in another order */

/* A verification: the job with the request, and the answer in the file with its n shares. */
typedef struct verification {
	hp_job *job;
	const json_t *file;
	hp_at shares;
	uint64_t *share;
	size_t n;
} verification;

/* Copy a member of the file to the answer of the job, if it exists. The following functions also
 * check its type. */
static bool accept_member(const verification *v, const char *key)
{
	json_t *const x = json_object_get(v->file, key);
	return !x || hp_put(v->job, key, json_incref(x));
}

static bool accept_text(const verification *v, const char *key)
{
	const hp_at at = hp_top(v->file, key);
	const char *text;
	return !at.v || (hp_text(v->job, &at, &text) && accept_member(v, key));
}

/* Check that a value is a number, or null, which means infinity. */
static bool check_number(const verification *v, const hp_at *at)
{
	return json_is_number(at->v) || json_is_null(at->v) ||
	       hp_fail(v->job, at, "must be a number or null");
}

static bool accept_number(const verification *v, const char *key)
{
	const hp_at at = hp_top(v->file, key);
	return !at.v || (check_number(v, &at) && accept_member(v, key));
}

/* Copy a list with a number for each processor, if it exists. */
static bool accept_numbers(const verification *v, const char *key)
{
	const hp_at at = hp_top(v->file, key);
	size_t n = v->n;
	if (!at.v)
		return true;
	if (!hp_array(v->job, &at, n, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const hp_at entry = hp_entry(&at, i);
		if (!check_number(v, &entry))
			return false;
	}
	return accept_member(v, key);
}

static bool accept_order(const verification *v)
{
	const hp_at at = hp_top(v->file, "order");
	bool *const seen = hp_alloc(v->job, v->n, sizeof *seen);
	size_t n = v->n;
	uint64_t *order;
	if (!seen || !at.v)
		return seen != NULL;
	if (!hp_wholes(v->job, &at, n - 1, &order, &n))
		return false;
	for (size_t j = 0; j < n; j++) {
		if (seen[order[j]])
			return hp_fail(v->job, &at, "lists '%" PRIu64 "' twice", order[j]);
		seen[order[j]] = true;
	}
	return accept_member(v, at.key);
}

/* Check that a time of the file (null: infinite) is equal to the time by the costs. */
static bool same_as_costs(const verification *v, const hp_at *at, double by_costs)
{
	const double got = json_is_null(at->v)     ? INFINITY
			   : json_is_number(at->v) ? json_number_value(at->v)
						   : NAN;
	return got == by_costs || fabs(got - by_costs) <= TOLERANCE * fabs(by_costs) ||
	       hp_fail(v->job, at, "'%.12g', but the costs give '%.12g'", got, by_costs);
}

/* Check that the sum of the shares is the number of items, processes or weights. */
static bool check_shares_total(const verification *v)
{
	const json_t *const weights = json_object_get(v->job->in, "weights");
	const hp_at given = hp_top(v->job->in, "processes"), best = hp_top(v->file, given.key);
	uint64_t items = json_array_size(weights);
	if (!weights &&
	    !(strcmp(v->shares.key, "counts") != 0 ? hp_items(v->job, &items)
						   : hp_whole(v->job, given.v ? &given : &best, 0,
							      v->job->limits->items, &items)))
		return false;
	uint64_t left = items;
	for (size_t i = 0; i < v->n; i++) {
		if (v->share[i] > left)
			return hp_fail(v->job, &v->shares, "they sum to more than %" PRIu64, items);
		left -= v->share[i];
	}
	return left == 0 || hp_fail(v->job, &v->shares, "they sum to %" PRIu64 ", not to %" PRIu64,
				    items - left, items);
}

/* Check minimums and capacities. All shares but one must be multiples of the quantum. */
static bool check_bounds(const verification *v)
{
	const uint64_t *min = NULL, *cap = NULL;
	uint64_t quantum = 1;
	size_t odd = 0;
	if (!hp_bounds(v->job, "minimum", v->n, 0, &min) ||
	    !hp_bounds(v->job, "capacity", v->n, HETPART_ITEMS_MAX, &cap) ||
	    !hp_quantum(v->job, &quantum))
		return false;
	for (size_t j = 0; j < v->n; j++) {
		const hp_at at = hp_entry(&v->shares, j);
		const size_t i = hp_served(v->job, j);
		if (min && v->share[j] < min[i])
			return hp_fail(v->job, &at, "below the minimum");
		if (cap && v->share[j] > cap[i])
			return hp_fail(v->job, &at, "above the capacity");
		odd += v->share[j] % quantum != 0;
		if (odd > 1)
			return hp_fail(v->job, &at, "must be a multiple of the quantum");
	}
	return true;
}

/* Check the makespan of the file against the makespan by the costs. Add the latter and its gap to
 * the lower bound. */
static bool put_makespan(const verification *v, double makespan)
{
	const hp_at at = hp_top(v->file, "makespan"), low = hp_top(v->file, "lower_bound");
	const double bound = json_number_value(low.v);
	if (!hp_present(v->job, &at) || !same_as_costs(v, &at, makespan) ||
	    !hp_put(v->job, at.key, hp_json_real(makespan)) || !accept_number(v, low.key))
		return false;
	if (!json_is_number(low.v))
		return true;
	if (bound > makespan * (1 + TOLERANCE))
		return hp_fail(v->job, &low, "above the makespan");
	return hp_put(v->job, "gap_percent",
		      hp_json_real(bound > 0 ? fmax(0, 100 * (makespan - bound) / bound) : 0));
}

static bool check_times(const verification *v, const double *time)
{
	const hp_at times = hp_top(v->file, "times");
	double last = 0;
	size_t n = v->n;
	if (!hp_array(v->job, &times, n, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const hp_at at = hp_entry(&times, i);
		if (!same_as_costs(v, &at, time[i]))
			return false;
		last = fmax(last, time[i]);
	}
	return hp_put_reals(v->job, times.key, time, n) && put_makespan(v, last);
}

static bool verify_shares(verification *v, const hp_op *op)
{
	const hp_at root = hp_top(v->file, "root");
	uint64_t index;
	double *time;
	v->shares = hp_top(v->file, strcmp(op->verb, "emulate") == 0 ? "counts" : "shares");
	if (!hp_wholes(v->job, &v->shares, HETPART_ITEMS_MAX, &v->share, &v->n))
		return false;
	if (v->n == 0)
		return hp_fail(v->job, NULL, "no shares");
	return (time = hp_alloc(v->job, v->n, sizeof *time)) && accept_member(v, v->shares.key) &&
	       accept_order(v) && (!root.v || hp_whole(v->job, &root, 0, v->n - 1, &index)) &&
	       accept_member(v, root.key) && check_shares_total(v) && check_bounds(v) &&
	       op->ends(v->job, v->share, v->n, time) && accept_numbers(v, "real") &&
	       (isnan(time[0]) || check_times(v, time)) && accept_number(v, "real_makespan") &&
	       accept_numbers(v, "total_by_root") && accept_number(v, "processes") &&
	       accept_number(v, "efficiency");
}

/* Add a member of another answer to the answer. */
static bool put_copy(const verification *v, const json_t *from, const char *key)
{
	return hp_put(v->job, key, json_incref(json_object_get(from, key)));
}

/* Verify a chain by a replay of the fractions of the file or, if it has none, of the request. */
static bool verify_chain(const verification *v)
{
	hp_job dates = { .in = NULL };
	bool ok = accept_member(v, "fractions") && hp_chain_dates(v->job, &dates);
	if (ok) {
		const json_t *const end = json_object_get(dates.out, "makespan");
		ok = put_makespan(v, json_is_number(end) ? json_number_value(end) : INFINITY) &&
		     put_copy(v, dates.out, "load_ends") && put_copy(v, dates.out, "flow");
	}
	if (ok && !json_object_get(v->file, "fractions"))
		ok = json_object_update(v->job->out, dates.out) == 0 || hp_no_memory(v->job);
	hp_job_free(&dates);
	return ok && accept_number(v, "planned_makespan") && accept_number(v, "planned_flow");
}

/* clang-format off */
static const char *const plan_keys[] = {
	"id", "status", "op", "method", "shares", "counts", "real", "times", "makespan",
	"real_makespan", "lower_bound", "gap_percent", "stopped", "order", "root", "total_by_root",
	"points", "processes", "efficiency", "fractions", "load_ends", "flow",
	"planned_makespan", "planned_flow", "comm_start", "comm_end", "comp_start", "comp_end",
	"request", NULL
};
/* clang-format on */

bool hp_verify(hp_job *job)
{
	json_t *const file = job->in, *const request = json_object_get(file, "request");
	const char *const status = json_string_value(json_object_get(file, "status"));
	verification v = { .job = job, .file = file };
	if (!json_is_object(request))
		return hp_fail(job, NULL, "not a plan with its request: write one with '--json'");
	if (!hp_keys(job, file, NULL, plan_keys))
		return false;
	if (!status || strcmp(status, "ok") != 0)
		return hp_fail(job, NULL, "'status': must be 'ok'");
	job->in = json_incref(request);
	const hp_op *const op = request_op(job);
	const bool ok = op && hp_put(job, "op", json_string(op->name)) &&
			accept_text(&v, "method") &&
			(op->ends ? verify_shares(&v, op) : verify_chain(&v)) &&
			accept_text(&v, "stopped") && enough_names(job);
	json_decref(file);
	return ok;
}
