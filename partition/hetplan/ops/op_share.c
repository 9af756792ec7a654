/* SPDX-License-Identifier: GPL-3.0-or-later */
/* op_share.c - the operations without communication: share, share-unrelated, share-weights, round,
 * emulate, model. */
#include <math.h>
#include <string.h>

#include "ops.h"

static bool read_share_cost(hp_job *job, const hetpart_cost **cost)
{
	const hp_at at = hp_top(job->in, "cost");
	return (*cost = hp_cost(job, &at)) != NULL;
}

static bool read_speeds(hp_job *job, const double **speeds, size_t *n)
{
	*n = 0;
	return hp_reals(job, "speeds", job->limits->procs, speeds, n);
}

/* Read the options of shares: capacities and minimums of n shares, quantum, and limits of
 * planning. */
static bool share_opts(hp_job *job, size_t n, hetpart_opts *opts)
{
	return hp_bounds(job, "capacity", n, HETPART_ITEMS_MAX, &opts->capacities) &&
	       hp_bounds(job, "minimum", n, 0, &opts->minimums) &&
	       hp_quantum(job, &opts->quantum) &&
	       hp_plan_limits(job, &opts->time_limit_s, &opts->max_mem_bytes);
}

static const char *const share_methods[] = {
	[HETPART_METHOD_EXACT] = "exact",
	[HETPART_METHOD_TAYLOR] = "taylor",
	[HETPART_METHOD_ASYMPTOTIC] = "asymptotic",
	[HETPART_METHOD_PROPORTIONAL] = "proportional",
	NULL,
};

static bool op_share(hp_job *job)
{
	hetpart_opts opts = HETPART_OPTS_INIT;
	const hetpart_cost *cost;
	const double *speeds;
	hetpart_plan *plan = NULL;
	uint64_t items;
	size_t n, method = HETPART_METHOD_EXACT;
	if (!hp_items(job, &items) || !read_speeds(job, &speeds, &n) ||
	    !read_share_cost(job, &cost) || !hp_choice(job, "method", share_methods, &method) ||
	    !share_opts(job, n, &opts))
		return false;
	opts.method = (hetpart_method)method;
	return hp_put_planned(
		job, hetpart_share_create(&plan, items, speeds, n, cost, &opts, &job->err), &plan);
}

static const char *const unrelated_methods[] = { "auto", "threshold", "bitset", "dp", NULL };

static bool op_share_unrelated(hp_job *job)
{
	static const hetpart_method methods[] = { HETPART_METHOD_EXACT, HETPART_METHOD_THRESHOLD,
						  HETPART_METHOD_BITSET, HETPART_METHOD_DP };
	hetpart_opts opts = HETPART_OPTS_INIT;
	const hetpart_cost **costs;
	hetpart_plan *plan = NULL;
	uint64_t items;
	size_t n = 0, method = 0;
	if (!hp_items(job, &items) || !hp_costs(job, "costs", false, &costs, &n) ||
	    !hp_choice(job, "method", unrelated_methods, &method) || !share_opts(job, n, &opts))
		return false;
	opts.method = methods[method];
	return hp_put_planned(
		job, hetpart_share_unrelated_create(&plan, items, costs, n, &opts, &job->err),
		&plan);
}

static bool op_share_weights(hp_job *job)
{
	const double *weights, *speeds;
	hetpart_plan *plan = NULL;
	size_t items = 0, n;
	return hp_reals(job, "weights", job->limits->values, &weights, &items) &&
	       read_speeds(job, &speeds, &n) &&
	       hp_put_planned(job,
			      hetpart_share_weights(&plan, weights, items, speeds, n, &job->err),
			      &plan);
}

/* Round real shares by their costs or, with the rule "scatter", by hetpart_scatter_round(). */
static bool op_round(hp_job *job)
{
	static const char *const names[] = { "scatter", NULL };
	const hetpart_cost *cost;
	const double *real, *speeds;
	hetpart_plan *plan = NULL;
	uint64_t items, *shares;
	size_t n = 0, rule = SIZE_MAX;
	if (!hp_items(job, &items) || !hp_reals(job, "shares", job->limits->procs, &real, &n) ||
	    !hp_choice(job, "rule", names, &rule))
		return false;
	if (rule == SIZE_MAX) {
		size_t nspeeds = n;
		return hp_reals(job, "speeds", job->limits->procs, &speeds, &nspeeds) &&
		       read_share_cost(job, &cost) &&
		       hp_put_planned(
			       job,
			       hetpart_share_round(&plan, items, real, speeds, n, cost, &job->err),
			       &plan);
	}
	if (json_object_get(job->in, "speeds") || json_object_get(job->in, "cost"))
		return hp_fail(job, NULL, "'rule' cannot be combined with 'speeds' or 'cost'");
	return (shares = hp_alloc(job, n, sizeof *shares)) &&
	       hp_lib(job, NULL, hetpart_scatter_round(shares, items, real, n, &job->err)) &&
	       hp_put_wholes(job, "shares", shares, n) &&
	       hp_put(job, "method", json_string("scatter"));
}

static bool op_emulate(hp_job *job)
{
	const hp_at given = hp_top(job->in, "processes"), most = hp_top(job->in, "best_upto");
	hetpart_limits limits = HETPART_LIMITS_INIT;
	hetpart_plan *plan = NULL;
	const double *ratings;
	uint64_t m;
	size_t n = 0;
	if (!hp_reals(job, "ratings", job->limits->procs, &ratings, &n))
		return false;
	if (!given.v && !most.v)
		job->missing = given.key;
	if (!given.v == !most.v)
		return hp_fail(job, NULL, "give either 'processes' or 'best_upto'");
	if (!(given.v ? hp_whole(job, &given, 0, job->limits->items, &m)
		      : hp_whole(job, &most, 1, job->limits->best_upto, &m)) ||
	    !hp_time_limit(job, &limits.time_limit_s))
		return false;
	const hetpart_status rc =
		most.v ? hetpart_emulate_best_within(&plan, ratings, n, m, &limits, &job->err)
		       : hetpart_emulate_create(&plan, ratings, n, m, &job->err);
	return hp_planned(job, rc, &plan) && hp_put_plan(job, "counts", plan) &&
	       hp_put(job, "processes", json_integer((json_int_t)hetpart_plan_items(plan))) &&
	       hp_put(job, "efficiency", hp_json_real(hetpart_emulate_efficiency(plan, ratings)));
}

/* Fit a model to the observations of the request. */
static bool learn_model(hp_job *job, hetpart_model **m)
{
	const hp_at at = hp_top(job->in, "observations");
	hetpart_point *p;
	size_t n;
	*m = NULL;
	return hp_lib(job, NULL, hetpart_model_create(m, &job->err)) && hp_own(job, HP_MODEL, *m) &&
	       hp_points(job, &at, &p, &n) &&
	       hp_lib(job, NULL, hetpart_model_add(*m, p, n, &job->err));
}

/* Add the points of the fitted cost. */
static bool put_points(hp_job *job, const hetpart_model *model)
{
	size_t n = hetpart_model_points(model, NULL, 0);
	hetpart_point *const p = hp_alloc(job, n, sizeof *p);
	json_t *const list = json_array();
	bool ok = hp_put(job, "points", list) && p;
	if (ok)
		n = hetpart_model_points(model, p, n);
	for (size_t i = 0; ok && i < n; i++)
		ok = hp_append(
			job, list,
			json_pack("[o,o]", hp_json_real(p[i].items), hp_json_real(p[i].time_s)));
	return ok;
}

static bool op_model(hp_job *job)
{
	hetpart_model *m;
	hetpart_plan *plan = NULL;
	const double *speeds;
	uint64_t items;
	size_t n;
	return hp_items(job, &items) && read_speeds(job, &speeds, &n) && learn_model(job, &m) &&
	       hp_planned(job, hetpart_model_plan(&plan, m, items, speeds, n, NULL, &job->err),
			  &plan) &&
	       put_points(job, m) && hp_put_plan(job, "shares", plan);
}

/* Read n numbers and check that each is above 0, because times are divided by them. */
static bool read_divisors(hp_job *job, const char *key, size_t n, const double **out)
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
	const double *speeds;
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
	const double *weights, *speeds;
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
	const double *ratings;
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
	return learn_model(job, &m) && hp_lib(job, NULL, hetpart_model_cost(&f, m, &job->err)) &&
	       hp_own(job, HP_COST, f) && put_points(job, m) &&
	       ends_cost_speed(job, f, share, n, time);
}

/* clang-format off */
const hp_op hp_ops_share[] = {
	{ "share", "share", op_share, ends_share,
	  { "op", "id", "names", "items", "speeds", "cost", "method", "capacity",
	    "minimum", "quantum", HP_LIMIT_KEYS, NULL },
	  share_methods },
	{ "share-unrelated", "share", op_share_unrelated, ends_unrelated,
	  { "op", "id", "names", "items", "costs", "method", "capacity", "minimum",
	    "quantum", HP_LIMIT_KEYS, NULL },
	  unrelated_methods },
	{ "share-weights", "share", op_share_weights, ends_weights,
	  { "op", "id", "names", "weights", "speeds", NULL }, NULL },
	{ "round", "share", op_round, ends_round,
	  { "op", "id", "names", "items", "shares", "rule", "speeds", "cost", NULL }, NULL },
	{ "emulate", "emulate", op_emulate, ends_emulate,
	  { "op", "id", "names", "ratings", "processes", "best_upto", "time_limit_s",
	    NULL }, NULL },
	{ "model", "model", op_model, ends_model,
	  { "op", "id", "names", "observations", "speeds", "items", NULL }, NULL },
	{ .name = NULL }
};
/* clang-format on */
