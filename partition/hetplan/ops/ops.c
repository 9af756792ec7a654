/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ops.c - find the operation of a request and perform it, or check a plan that is in a file with
 * its request. A plan is accepted if it keeps to its request and its times match the costs. Costs
 * what the operation costs; a check costs a pass over the shares, or the simulation of a farm or
 * chain. */
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

/* Find the operation of the request, and check keys and names. Return NULL after hp_fail(). */
static const hp_op *request_op(hp_job *job)
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

/* Check that the request has a name for each processor of the answer, if it has names. */
static bool enough_names(hp_job *job)
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
	const hp_op *const op = request_op(job);
	return op && hp_put(job, "op", json_string(op->name)) && op->perform(job) &&
	       enough_names(job);
}

/* ------------------------------------------------------------------------------ verification */

#define TOLERANCE 1e-9 /* relative: another machine may sum in another order */

/* The job of the request, and the answer in the file, whose shares are being checked. */
typedef struct verification {
	hp_job *job, *file;
	const char *key; /* of the shares */
	uint64_t *share;
	size_t n;
} verification;

/* Make the file's reason of a failure the job's. */
static bool passed_on(const verification *v, bool ok)
{
	return ok || hp_fail(v->job, NULL, "%s", v->file->text);
}

static json_t *member(const verification *v, const char *key)
{
	return json_object_get(v->file->in, key);
}

/* Copy a member to the answer, if it exists. */
static bool accept_member(const verification *v, const char *key)
{
	json_t *const x = member(v, key);
	return !x || hp_put(v->job, key, json_incref(x));
}

static bool accept_text(const verification *v, const char *key)
{
	const hp_at at = { NULL, key, 0 };
	return !member(v, key) || json_is_string(member(v, key))
		       ? accept_member(v, key)
		       : hp_fail(v->job, &at, "must be a string");
}

static bool accept_number(const verification *v, const char *key)
{
	const hp_at at = { NULL, key, 0 };
	const json_t *const x = member(v, key);
	return !x || json_is_number(x) || json_is_null(x)
		       ? accept_member(v, key)
		       : hp_fail(v->job, &at, "must be a number or null");
}

/* Copy a list of a number for each processor, null if it is infinite. */
static bool accept_numbers(const verification *v, const char *key)
{
	const hp_at at = { NULL, key, 0 };
	const json_t *const list = member(v, key);
	size_t n = v->n;
	if (!list)
		return true;
	if (!hp_array(v->job, list, &at, n, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const hp_at here = { &at, NULL, i };
		const json_t *const x = json_array_get(list, i);
		if (!json_is_number(x) && !json_is_null(x))
			return hp_fail(v->job, &here, "must be a number or null");
	}
	return accept_member(v, key);
}

static bool accept_order(const verification *v)
{
	const hp_at at = { NULL, "order", 0 };
	bool *const seen = hp_alloc(v->job, v->n, sizeof *seen);
	size_t n = v->n;
	uint64_t *order;
	if (!seen || !member(v, at.key))
		return seen != NULL;
	if (!passed_on(v, hp_wholes(v->file, at.key, n - 1, &order, &n)))
		return false;
	for (size_t j = 0; j < n; j++) {
		if (seen[order[j]])
			return hp_fail(v->job, &at, "lists '%" PRIu64 "' twice", order[j]);
		seen[order[j]] = true;
	}
	return accept_member(v, at.key);
}

/* Compare a time of the answer, null for infinite, with the time by the costs. */
static bool same_as_costs(const verification *v, const hp_at *at, const json_t *x, double by_costs)
{
	const double got = json_is_null(x)     ? INFINITY
			   : json_is_number(x) ? json_number_value(x)
					       : NAN;
	return got == by_costs || fabs(got - by_costs) <= TOLERANCE * fabs(by_costs) ||
	       hp_fail(v->job, at, "'%.12g', but the costs give '%.12g'", got, by_costs);
}

/* Find what the shares must sum to. */
static bool shares_total(const verification *v, uint64_t *out)
{
	const hp_at at = { NULL, "processes", 0 };
	const json_t *const weights = json_object_get(v->job->in, "weights");
	const json_t *const given = json_object_get(v->job->in, at.key);
	const uint64_t most = v->job->limits->items;
	*out = json_array_size(weights);
	if (weights)
		return true;
	if (strcmp(v->key, "counts") != 0)
		return hp_items(v->job, out);
	if (given)
		return hp_whole(v->job, given, &at, 0, most, out);
	return hp_need(v->job, v->file->in, NULL, at.key) &&
	       hp_whole(v->job, member(v, at.key), &at, 0, most, out);
}

static bool check_shares_total(const verification *v)
{
	const hp_at at = { NULL, v->key, 0 };
	uint64_t items;
	if (!shares_total(v, &items))
		return false;
	uint64_t left = items;
	for (size_t i = 0; i < v->n; i++) {
		if (v->share[i] > left)
			return hp_fail(v->job, &at, "they sum to more than %" PRIu64, items);
		left -= v->share[i];
	}
	return left == 0 || hp_fail(v->job, &at, "they sum to %" PRIu64 ", not to %" PRIu64,
				    items - left, items);
}

/* Check minimums and capacities. All shares but one must be multiples of the quantum. */
static bool check_bounds(const verification *v)
{
	const hp_at up = { NULL, v->key, 0 };
	const uint64_t *min = NULL, *cap = NULL;
	uint64_t quantum = 1;
	size_t odd = 0;
	if (!hp_bounds(v->job, "minimum", v->n, 0, &min) ||
	    !hp_bounds(v->job, "capacity", v->n, HETPART_ITEMS_MAX, &cap) ||
	    !hp_quantum(v->job, &quantum))
		return false;
	for (size_t j = 0; j < v->n; j++) {
		const hp_at at = { &up, NULL, j };
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

/* Check and add the makespan by the costs, and its gap to the lower bound of the answer. */
static bool put_makespan(const verification *v, double makespan)
{
	const hp_at at = { NULL, "makespan", 0 }, low_at = { NULL, "lower_bound", 0 };
	const json_t *const x = hp_need(v->job, v->file->in, NULL, at.key);
	const json_t *const low = member(v, low_at.key);
	const double bound = json_number_value(low);
	if (!x || !same_as_costs(v, &at, x, makespan) ||
	    !hp_put(v->job, at.key, hp_json_real(makespan)) || !accept_number(v, low_at.key))
		return false;
	if (!json_is_number(low))
		return true;
	if (bound > makespan * (1 + TOLERANCE))
		return hp_fail(v->job, &low_at, "above the makespan");
	return hp_put(v->job, "gap_percent",
		      hp_json_real(bound > 0 ? fmax(0, 100 * (makespan - bound) / bound) : 0));
}

static bool check_times(const verification *v, const double *time)
{
	const hp_at up = { NULL, "times", 0 };
	const json_t *const times = hp_need(v->job, v->file->in, NULL, up.key);
	double last = 0;
	size_t n = v->n;
	if (!times || !hp_array(v->job, times, &up, n, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const hp_at at = { &up, NULL, i };
		if (!same_as_costs(v, &at, json_array_get(times, i), time[i]))
			return false;
		last = fmax(last, time[i]);
	}
	return hp_put_reals(v->job, up.key, time, n) && put_makespan(v, last);
}

static bool verify_shares(verification *v, const hp_op *op)
{
	v->key = strcmp(op->verb, "emulate") == 0 ? "counts" : "shares";
	if (!passed_on(v, hp_wholes(v->file, v->key, HETPART_ITEMS_MAX, &v->share, &v->n)))
		return false;
	if (v->n == 0)
		return hp_fail(v->job, NULL, "no shares");
	const hp_at root_at = { NULL, "root", 0 };
	const json_t *const root = member(v, root_at.key);
	uint64_t index;
	double *const time = hp_alloc(v->job, v->n, sizeof *time);
	if (!time || !accept_member(v, v->key) || !accept_order(v) ||
	    (root && !hp_whole(v->job, root, &root_at, 0, v->n - 1, &index)))
		return false;
	return accept_member(v, root_at.key) && check_shares_total(v) && check_bounds(v) &&
	       op->ends(v->job, v->share, v->n, time) && accept_numbers(v, "real") &&
	       (isnan(time[0]) || check_times(v, time)) && accept_number(v, "real_makespan") &&
	       accept_numbers(v, "total_by_root") && accept_number(v, "processes") &&
	       accept_number(v, "efficiency");
}

/* Replay the fractions of a chain, or repeat the replay that the request asks for. */
static bool verify_chain(const verification *v)
{
	hp_job dates = { .in = NULL };
	bool ok = accept_member(v, "fractions") && hp_chain_dates(v->job, &dates);
	if (ok) {
		const json_t *const end = json_object_get(dates.out, "makespan");
		ok = put_makespan(v, json_is_number(end) ? json_number_value(end) : INFINITY);
	}
	if (ok && !member(v, "fractions"))
		ok = json_object_update(v->job->out, dates.out) == 0 ||
		     hp_fail(v->job, NULL, "out of memory");
	hp_job_free(&dates);
	return ok && accept_number(v, "planned_makespan");
}

/* clang-format off */
static const char *const plan_keys[] = {
	"id", "status", "op", "method", "shares", "counts", "real", "times", "makespan",
	"real_makespan", "lower_bound", "gap_percent", "stopped", "order", "root", "total_by_root",
	"points", "processes", "efficiency", "fractions", "planned_makespan", "comm_start",
	"comm_end", "comp_start", "comp_end", "request", NULL
};
/* clang-format on */

bool hp_verify(hp_job *job, hp_job *file)
{
	const char *const status = json_string_value(json_object_get(file->in, "status"));
	json_t *const request = json_object_get(file->in, "request");
	if (!json_is_object(request))
		return hp_fail(job, NULL, "no plan with its request, as '--json' writes it");
	if (!hp_keys(job, file->in, NULL, plan_keys))
		return false;
	if (!status || strcmp(status, "ok") != 0)
		return hp_fail(job, NULL, "'status': must be 'ok'");
	job->in = json_incref(request);
	verification v = { .job = job, .file = file };
	const hp_op *const op = request_op(job);
	return op && hp_put(job, "op", json_string(op->name)) && accept_text(&v, "method") &&
	       (op->ends ? verify_shares(&v, op) : verify_chain(&v)) &&
	       accept_text(&v, "stopped") && enough_names(job);
}
