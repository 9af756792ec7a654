/* SPDX-License-Identifier: GPL-3.0-or-later */
/* op_share.c - the operations without communication: share, share-unrelated, share-weights, round,
 * emulate, model. Costs what the library's planner costs. */
#include <math.h>
#include <string.h>

#include "ops.h"

static bool read_share_cost(hp_job *job, const hetpart_cost **cost)
{
	const hp_at at = { NULL, "cost", 0 };
	const json_t *const v = hp_need(job, job->in, NULL, at.key);
	return v && (*cost = hp_cost(job, v, &at));
}

static bool read_speeds(hp_job *job, double **speeds, size_t *n)
{
	*n = 0;
	return hp_reals(job, "speeds", job->limits->procs, speeds, n);
}

/* Read what the shares of n processors must keep, and what planning may take. */
static bool share_opts(hp_job *job, size_t n, hetpart_opts *opts)
{
	return hp_bounds(job, "capacity", n, HETPART_ITEMS_MAX, &opts->capacities) &&
	       hp_bounds(job, "minimum", n, 0, &opts->minimums) &&
	       hp_quantum(job, &opts->quantum) &&
	       hp_plan_limits(job, &opts->time_limit_s, &opts->max_mem_bytes);
}

static bool op_share(hp_job *job)
{
	static const char *const names[] = { "exact", "taylor", "asymptotic", "proportional",
					     NULL };
	static const hetpart_method methods[] = { HETPART_METHOD_EXACT, HETPART_METHOD_TAYLOR,
						  HETPART_METHOD_ASYMPTOTIC,
						  HETPART_METHOD_PROPORTIONAL };
	hetpart_opts opts = HETPART_OPTS_INIT;
	const hetpart_cost *cost;
	uint64_t items;
	double *speeds;
	size_t n, method = 0;
	if (!hp_items(job, &items) || !read_speeds(job, &speeds, &n) ||
	    !read_share_cost(job, &cost) || !hp_choice(job, "method", names, &method) ||
	    !share_opts(job, n, &opts))
		return false;
	opts.method = methods[method];
	hetpart_plan *plan = NULL;
	hetpart_err err;
	const hetpart_status rc = hetpart_share_create(&plan, items, speeds, n, cost, &opts, &err);
	return hp_planned(job, rc, plan, &err) && hp_put_plan(job, "shares", plan);
}

static bool op_share_unrelated(hp_job *job)
{
	static const char *const names[] = { "auto", "threshold", "bitset", "dp", NULL };
	static const hetpart_method methods[] = { HETPART_METHOD_EXACT, HETPART_METHOD_THRESHOLD,
						  HETPART_METHOD_BITSET, HETPART_METHOD_DP };
	hetpart_opts opts = HETPART_OPTS_INIT;
	const hetpart_cost **costs;
	uint64_t items;
	size_t n = 0, method = 0;
	if (!hp_items(job, &items) || !hp_costs(job, "costs", false, &costs, &n) ||
	    !hp_choice(job, "method", names, &method) || !share_opts(job, n, &opts))
		return false;
	opts.method = methods[method];
	hetpart_plan *plan = NULL;
	hetpart_err err;
	const hetpart_status rc =
		hetpart_share_unrelated_create(&plan, items, costs, n, &opts, &err);
	return hp_planned(job, rc, plan, &err) && hp_put_plan(job, "shares", plan);
}

static bool op_share_weights(hp_job *job)
{
	double *weights, *speeds;
	size_t items = 0, n;
	if (!hp_reals(job, "weights", job->limits->values, &weights, &items) ||
	    !read_speeds(job, &speeds, &n))
		return false;
	hetpart_plan *plan = NULL;
	hetpart_err err;
	const hetpart_status rc = hetpart_share_weights(&plan, weights, items, speeds, n, &err);
	return hp_planned(job, rc, plan, &err) && hp_put_plan(job, "shares", plan);
}

/* Round by the running error, as a scatter does, without costs. */
static bool round_by_error(hp_job *job, uint64_t items, const double *real, size_t n)
{
	uint64_t *const shares = hp_alloc(job, n, sizeof *shares);
	json_t *const list = json_array();
	hetpart_err err;
	if (!hp_put(job, "shares", list) || !shares ||
	    !hp_put(job, "method", json_string("scatter")) ||
	    !hp_lib(job, NULL, hetpart_scatter_round(shares, items, real, n, &err), &err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(list, json_integer((json_int_t)shares[i])) != 0)
			return hp_fail(job, NULL, "out of memory");
	return true;
}

static bool op_round(hp_job *job)
{
	static const char *const names[] = { "scatter", NULL };
	const hetpart_cost *cost;
	uint64_t items;
	double *real, *speeds;
	size_t n = 0, rule = SIZE_MAX;
	if (!hp_items(job, &items) || !hp_reals(job, "shares", job->limits->procs, &real, &n) ||
	    !hp_choice(job, "rule", names, &rule))
		return false;
	if (rule != SIZE_MAX)
		return json_object_get(job->in, "speeds") || json_object_get(job->in, "cost")
			       ? hp_fail(job, NULL,
					 "'rule' cannot be combined with 'speeds' or 'cost'")
			       : round_by_error(job, items, real, n);
	size_t nspeeds = n;
	if (!hp_reals(job, "speeds", job->limits->procs, &speeds, &nspeeds) ||
	    !read_share_cost(job, &cost))
		return false;
	hetpart_plan *plan = NULL;
	hetpart_err err;
	const hetpart_status rc = hetpart_share_round(&plan, items, real, speeds, n, cost, &err);
	return hp_planned(job, rc, plan, &err) && hp_put_plan(job, "shares", plan);
}

static bool op_emulate(hp_job *job)
{
	const hp_at at = { NULL, "processes", 0 }, best_at = { NULL, "best_upto", 0 };
	const json_t *const given = json_object_get(job->in, at.key);
	const json_t *const most = json_object_get(job->in, best_at.key);
	hetpart_limits limits = HETPART_LIMITS_INIT;
	double *ratings;
	uint64_t m;
	size_t n = 0;
	if (!hp_reals(job, "ratings", job->limits->procs, &ratings, &n))
		return false;
	if (!given && !most)
		job->missing = at.key;
	if (!given == !most)
		return hp_fail(job, NULL, "give either 'processes' or 'best_upto'");
	if (!(given ? hp_whole(job, given, &at, 0, job->limits->items, &m)
		    : hp_whole(job, most, &best_at, 1, job->limits->best_upto, &m)) ||
	    !hp_time_limit(job, &limits.time_limit_s))
		return false;
	hetpart_plan *plan = NULL;
	hetpart_err err;
	const hetpart_status rc =
		most ? hetpart_emulate_best_within(&plan, ratings, n, m, &limits, &err)
		     : hetpart_emulate_create(&plan, ratings, n, m, &err);
	return hp_planned(job, rc, plan, &err) && hp_put_plan(job, "counts", plan) &&
	       hp_put(job, "processes", json_integer((json_int_t)hetpart_plan_items(plan))) &&
	       hp_put(job, "efficiency", hp_json_real(hetpart_emulate_efficiency(plan, ratings)));
}

/* Learn a model from the observations of the request. */
static bool learn_model(hp_job *job, hetpart_model **m)
{
	hetpart_point *p;
	hetpart_err err;
	size_t n;
	*m = NULL;
	return hp_lib(job, NULL, hetpart_model_create(m, &err), &err) && hp_own_model(job, *m) &&
	       hp_points(job, job->in, NULL, "observations", &p, &n) &&
	       hp_lib(job, NULL, hetpart_model_add(*m, p, n, &err), &err);
}

/* Add the points of the fitted cost. */
static bool put_points(hp_job *job, const hetpart_model *model)
{
	size_t n = hetpart_model_points(model, NULL, 0);
	hetpart_point *const p = hp_alloc(job, n, sizeof *p);
	json_t *const list = json_array();
	if (!hp_put(job, "points", list) || !p)
		return false;
	n = hetpart_model_points(model, p, n);
	for (size_t i = 0; i < n; i++) {
		json_t *const pair = json_array();
		if (json_array_append_new(list, pair) != 0 ||
		    json_array_append_new(pair, hp_json_real(p[i].items)) != 0 ||
		    json_array_append_new(pair, hp_json_real(p[i].time_s)) != 0)
			return hp_fail(job, NULL, "out of memory");
	}
	return true;
}

static bool op_model(hp_job *job)
{
	hetpart_model *m;
	double *speeds;
	uint64_t items;
	size_t n;
	if (!hp_items(job, &items) || !read_speeds(job, &speeds, &n) || !learn_model(job, &m))
		return false;
	hetpart_plan *plan = NULL;
	hetpart_err err;
	const hetpart_status rc = hetpart_model_plan(&plan, m, items, speeds, n, NULL, &err);
	return hp_planned(job, rc, plan, &err) && put_points(job, m) &&
	       hp_put_plan(job, "shares", plan);
}

/* Read n numbers above 0, by which times can be divided. */
static bool read_divisors(hp_job *job, const char *key, size_t n, double **out)
{
	if (!hp_reals(job, key, n, out, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((*out)[i] > 0))
			return hp_fail(job, NULL, "'%s[%zu]': must be a number above 0", key, i);
	return true;
}

static bool ends_cost_speed(hp_job *job, const hetpart_cost *f, const uint64_t *share, size_t n,
			    double *time)
{
	double *speeds;
	if (!read_divisors(job, "speeds", n, &speeds))
		return false;
	for (size_t i = 0; i < n; i++)
		time[i] = hetpart_cost_eval(f, share[i]) / speeds[i];
	return true;
}

static bool ends_share(hp_job *job, const uint64_t *share, size_t n, double *time)
{
	const hetpart_cost *f;
	return read_share_cost(job, &f) && ends_cost_speed(job, f, share, n, time);
}

static bool ends_round(hp_job *job, const uint64_t *share, size_t n, double *time)
{
	if (!json_object_get(job->in, "rule"))
		return ends_share(job, share, n, time);
	for (size_t i = 0; i < n; i++)
		time[i] = NAN;
	return true;
}

static bool ends_unrelated(hp_job *job, const uint64_t *share, size_t n, double *time)
{
	const hetpart_cost **costs;
	if (!hp_costs(job, "costs", false, &costs, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		time[i] = hetpart_cost_eval(costs[i], share[i]);
	return true;
}

static bool ends_weights(hp_job *job, const uint64_t *share, size_t n, double *time)
{
	double *weights, *speeds;
	size_t items = 0, at = 0;
	if (!hp_reals(job, "weights", job->limits->values, &weights, &items) ||
	    !read_divisors(job, "speeds", n, &speeds))
		return false;
	for (size_t i = 0; i < n; i++) {
		long double sum = 0;
		for (uint64_t k = 0; k < share[i] && at < items; k++)
			sum += weights[at++];
		time[i] = (double)(sum / speeds[i]);
	}
	return true;
}

static bool ends_emulate(hp_job *job, const uint64_t *share, size_t n, double *time)
{
	double *ratings;
	if (!read_divisors(job, "ratings", n, &ratings))
		return false;
	for (size_t i = 0; i < n; i++)
		time[i] = (double)share[i] / ratings[i];
	return true;
}

static bool ends_model(hp_job *job, const uint64_t *share, size_t n, double *time)
{
	hetpart_model *m;
	hetpart_cost *f = NULL;
	hetpart_err err;
	return learn_model(job, &m) && hp_lib(job, NULL, hetpart_model_cost(&f, m, &err), &err) &&
	       hp_own_cost(job, f) && put_points(job, m) && ends_cost_speed(job, f, share, n, time);
}

/* clang-format off */
const hp_op hp_ops_share[] = {
	{ "share", "share", op_share, ends_share,
	  { "op", "id", "names", "items", "speeds", "cost", "method", "capacity",
	    "minimum", "quantum", HP_LIMIT_KEYS, NULL },
	  { "exact", "taylor", "asymptotic", "proportional", NULL } },
	{ "share-unrelated", "share", op_share_unrelated, ends_unrelated,
	  { "op", "id", "names", "items", "costs", "method", "capacity", "minimum",
	    "quantum", HP_LIMIT_KEYS, NULL },
	  { "auto", "threshold", "bitset", "dp", NULL } },
	{ "share-weights", "share", op_share_weights, ends_weights,
	  { "op", "id", "names", "weights", "speeds", NULL }, { NULL } },
	{ "round", "share", op_round, ends_round,
	  { "op", "id", "names", "items", "shares", "rule", "speeds", "cost", NULL }, { NULL } },
	{ "emulate", "emulate", op_emulate, ends_emulate,
	  { "op", "id", "names", "ratings", "processes", "best_upto", "time_limit_s",
	    NULL }, { NULL } },
	{ "model", "model", op_model, ends_model,
	  { "op", "id", "names", "observations", "speeds", "items", NULL }, { NULL } },
	{ NULL, NULL, NULL, NULL, { NULL }, { NULL } }
};
/* clang-format on */
