/* SPDX-License-Identifier: GPL-3.0-or-later */
/* op_share.c - operations without communication: share, share-unrelated, round, emulate,
 * model.
 * May not touch: how they are planned. Costs what the library's planner costs. */
#include <math.h>
#include <string.h>

#include "ops.h"

static bool own_plan(struct hp_job *job, hetpart_status rc, hetpart_plan *plan,
		     const hetpart_err *err)
{
	return hp_lib(job, NULL, rc, err) && hp_own_plan(job, plan);
}

static bool read_cost(struct hp_job *job, const hetpart_cost **cost)
{
	const struct hp_at at = { NULL, "cost", 0 };
	const json_t *v = hp_need(job, job->in, NULL, "cost");

	return v && (*cost = hp_cost(job, v, &at));
}

/* What the shares of n processors must keep, and what planning may take. */
static bool read_opts(struct hp_job *job, size_t n, hetpart_opts *opts)
{
	return hp_bounds(job, "capacity", n, HETPART_ITEMS_MAX, &opts->capacities) &&
	       hp_bounds(job, "minimum", n, 0, &opts->minimums) &&
	       hp_quantum(job, &opts->quantum) &&
	       hp_plan_limits(job, &opts->time_limit_s, &opts->max_mem_bytes);
}

static bool share(struct hp_job *job)
{
	static const char *const names[] = { "exact", "taylor", "asymptotic", "proportional",
					     NULL };
	static const hetpart_method methods[] = { HETPART_METHOD_EXACT, HETPART_METHOD_TAYLOR,
						  HETPART_METHOD_ASYMPTOTIC,
						  HETPART_METHOD_PROPORTIONAL };
	hetpart_opts opts = HETPART_OPTS_INIT;
	const hetpart_cost *cost;
	hetpart_plan *plan = NULL;
	hetpart_status rc;
	hetpart_err err;
	uint64_t items;
	double *speeds;
	size_t n = 0, method = 0;

	if (!hp_items(job, &items) || !hp_reals(job, "speeds", job->limits->procs, &speeds, &n) ||
	    !read_cost(job, &cost) || !hp_choice(job, "method", names, &method) ||
	    !read_opts(job, n, &opts))
		return false;
	opts.method = methods[method];
	rc = hetpart_share_create(&plan, items, speeds, n, cost, &opts, &err);
	return own_plan(job, rc, plan, &err) && hp_put_plan(job, "shares", plan);
}

static bool share_unrelated(struct hp_job *job)
{
	static const char *const names[] = { "auto", "threshold", "bitset", "dp", NULL };
	static const hetpart_method methods[] = { HETPART_METHOD_EXACT, HETPART_METHOD_THRESHOLD,
						  HETPART_METHOD_BITSET, HETPART_METHOD_DP };
	hetpart_opts opts = HETPART_OPTS_INIT;
	const hetpart_cost **costs;
	hetpart_plan *plan = NULL;
	hetpart_status rc;
	hetpart_err err;
	uint64_t items;
	size_t n = 0, method = 0;

	if (!hp_items(job, &items) || !hp_costs(job, "costs", false, &costs, &n) ||
	    !hp_choice(job, "method", names, &method) || !read_opts(job, n, &opts))
		return false;
	opts.method = methods[method];
	rc = hetpart_share_unrelated_create(&plan, items, costs, n, &opts, &err);
	return own_plan(job, rc, plan, &err) && hp_put_plan(job, "shares", plan);
}

static bool share_weights(struct hp_job *job)
{
	hetpart_plan *plan = NULL;
	hetpart_status rc;
	hetpart_err err;
	double *weights, *speeds;
	size_t items = 0, n = 0;

	if (!hp_reals(job, "weights", job->limits->values, &weights, &items) ||
	    !hp_reals(job, "speeds", job->limits->procs, &speeds, &n))
		return false;
	rc = hetpart_share_weights(&plan, weights, items, speeds, n, &err);
	return own_plan(job, rc, plan, &err) && hp_put_plan(job, "shares", plan);
}

static bool round_by_error(struct hp_job *job, uint64_t items, const double *real, size_t n)
{
	uint64_t *shares = hp_alloc(job, n, sizeof *shares);
	hetpart_err err;
	json_t *list = json_array();

	if (!hp_put(job, "shares", list) || !shares ||
	    !hp_put(job, "method", json_string("scatter")) ||
	    !hp_lib(job, NULL, hetpart_scatter_round(shares, items, real, n, &err), &err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(list, json_integer((json_int_t)shares[i])) != 0)
			return hp_fail(job, NULL, "out of memory");
	return true;
}

static bool round_by_time(struct hp_job *job, uint64_t items, const double *real, size_t n)
{
	const hetpart_cost *cost;
	hetpart_plan *plan = NULL;
	hetpart_status rc;
	hetpart_err err;
	double *speeds;

	if (!hp_reals(job, "speeds", job->limits->procs, &speeds, &n) || !read_cost(job, &cost))
		return false;
	rc = hetpart_share_round(&plan, items, real, speeds, n, cost, &err);
	return own_plan(job, rc, plan, &err) && hp_put_plan(job, "shares", plan);
}

static bool round_shares(struct hp_job *job)
{
	static const char *const names[] = { "scatter", NULL };
	uint64_t items;
	double *real;
	size_t n = 0, rule = SIZE_MAX;

	if (!hp_items(job, &items) || !hp_reals(job, "shares", job->limits->procs, &real, &n) ||
	    !hp_choice(job, "rule", names, &rule))
		return false;
	if (rule == SIZE_MAX)
		return round_by_time(job, items, real, n);
	if (json_object_get(job->in, "speeds") || json_object_get(job->in, "cost"))
		return hp_fail(job, NULL, "'rule' stands beside 'speeds' or 'cost': want one way");
	return round_by_error(job, items, real, n);
}

/* The number of processes: given, or the best up to one. */
static bool processes(struct hp_job *job, uint64_t *m, bool *best)
{
	const struct hp_at at = { NULL, "processes", 0 }, best_at = { NULL, "best_upto", 0 };
	const json_t *given = json_object_get(job->in, "processes");
	const json_t *most = json_object_get(job->in, "best_upto");

	*best = most != NULL;
	if (!given && !most)
		job->missing = "processes";
	if (!given == !most)
		return hp_fail(job, NULL, "want 'processes' or 'best_upto', one of them");
	return given ? hp_whole(job, given, &at, 0, job->limits->items, m)
		     : hp_whole(job, most, &best_at, 1, job->limits->best_upto, m);
}

static bool emulate(struct hp_job *job)
{
	hetpart_limits limits = HETPART_LIMITS_INIT;
	hetpart_plan *plan = NULL;
	hetpart_status rc;
	hetpart_err err;
	double *ratings;
	uint64_t m;
	size_t n = 0;
	bool best;

	if (!hp_reals(job, "ratings", job->limits->procs, &ratings, &n) ||
	    !processes(job, &m, &best) || !hp_time_limit(job, &limits.time_limit_s))
		return false;
	rc = best ? hetpart_emulate_best_within(&plan, ratings, n, m, &limits, &err)
		  : hetpart_emulate_create(&plan, ratings, n, m, &err);
	return own_plan(job, rc, plan, &err) && hp_put_plan(job, "counts", plan) &&
	       hp_put(job, "processes", json_integer((json_int_t)hetpart_plan_items(plan))) &&
	       hp_put(job, "efficiency", hp_json_real(hetpart_emulate_efficiency(plan, ratings)));
}

static bool observations(struct hp_job *job, hetpart_model *model)
{
	hetpart_point *p;
	hetpart_err err;
	size_t n;

	return hp_points(job, job->in, NULL, "observations", &p, &n) &&
	       hp_lib(job, NULL, hetpart_model_add(model, p, n, &err), &err);
}

static bool put_points(struct hp_job *job, const hetpart_model *model)
{
	size_t n = hetpart_model_points(model, NULL, 0);
	hetpart_point *p = hp_alloc(job, n, sizeof *p);
	json_t *list = json_array();

	if (!hp_put(job, "points", list) || !p)
		return false;
	n = hetpart_model_points(model, p, n);
	for (size_t i = 0; i < n; i++) {
		json_t *pair = json_array();
		if (json_array_append_new(list, pair) != 0 ||
		    json_array_append_new(pair, hp_json_real(p[i].items)) != 0 ||
		    json_array_append_new(pair, hp_json_real(p[i].time_s)) != 0)
			return hp_fail(job, NULL, "out of memory");
	}
	return true;
}

static bool model(struct hp_job *job)
{
	hetpart_model *m = NULL;
	hetpart_plan *plan = NULL;
	hetpart_status rc;
	hetpart_err err;
	double *speeds;
	uint64_t items;
	size_t n = 0;

	if (!hp_items(job, &items) || !hp_reals(job, "speeds", job->limits->procs, &speeds, &n) ||
	    !hp_lib(job, NULL, hetpart_model_create(&m, &err), &err) || !hp_own_model(job, m) ||
	    !observations(job, m))
		return false;
	rc = hetpart_model_plan(&plan, m, items, speeds, n, NULL, &err);
	return own_plan(job, rc, plan, &err) && put_points(job, m) &&
	       hp_put_plan(job, "shares", plan);
}

/* Speeds under a key, by which a time can be divided. */
static bool read_speeds(struct hp_job *job, const char *key, size_t n, double **out)
{
	if (!hp_reals(job, key, n, out, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((*out)[i] > 0))
			return hp_fail(job, NULL, "'%s[%zu]': want a number above 0", key, i);
	return true;
}

static bool divide_by_speed(struct hp_job *job, const hetpart_cost *f, const uint64_t *share,
			    size_t n, double *time)
{
	double *speeds;

	if (!read_speeds(job, "speeds", n, &speeds))
		return false;
	for (size_t i = 0; i < n; i++)
		time[i] = hetpart_cost_eval(f, share[i]) / speeds[i];
	return true;
}

static bool by_speed(struct hp_job *job, const uint64_t *share, size_t n, double *time)
{
	const hetpart_cost *f;

	return read_cost(job, &f) && divide_by_speed(job, f, share, n, time);
}

static bool of_round(struct hp_job *job, const uint64_t *share, size_t n, double *time)
{
	if (!json_object_get(job->in, "rule"))
		return by_speed(job, share, n, time);
	for (size_t i = 0; i < n; i++)
		time[i] = NAN;
	return true;
}

static bool by_cost(struct hp_job *job, const uint64_t *share, size_t n, double *time)
{
	const hetpart_cost **costs;

	if (!hp_costs(job, "costs", false, &costs, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		time[i] = hetpart_cost_eval(costs[i], share[i]);
	return true;
}

static bool by_weight(struct hp_job *job, const uint64_t *share, size_t n, double *time)
{
	double *weights, *speeds;
	size_t items = 0, at = 0;

	if (!hp_reals(job, "weights", job->limits->values, &weights, &items) ||
	    !read_speeds(job, "speeds", n, &speeds))
		return false;
	for (size_t i = 0; i < n; i++) {
		long double sum = 0;
		for (uint64_t k = 0; k < share[i] && at < items; k++)
			sum += weights[at++];
		time[i] = (double)(sum / speeds[i]);
	}
	return true;
}

static bool by_rating(struct hp_job *job, const uint64_t *share, size_t n, double *time)
{
	double *ratings;

	if (!read_speeds(job, "ratings", n, &ratings))
		return false;
	for (size_t i = 0; i < n; i++)
		time[i] = (double)share[i] / ratings[i];
	return true;
}

static bool by_model(struct hp_job *job, const uint64_t *share, size_t n, double *time)
{
	hetpart_model *m = NULL;
	hetpart_cost *f = NULL;
	hetpart_err err;

	return hp_lib(job, NULL, hetpart_model_create(&m, &err), &err) && hp_own_model(job, m) &&
	       observations(job, m) && hp_lib(job, NULL, hetpart_model_cost(&f, m, &err), &err) &&
	       hp_own_cost(job, f) && put_points(job, m) && divide_by_speed(job, f, share, n, time);
}

/* clang-format off */
const struct hp_op hp_ops_share[] = {
	{ "share", "share", share, by_speed,
	  { "op", "id", "names", "items", "speeds", "cost", "method", "capacity",
	    "minimum", "quantum", LIMITS, NULL },
	  { "exact", "taylor", "asymptotic", "proportional", NULL } },
	{ "share-unrelated", "share", share_unrelated, by_cost,
	  { "op", "id", "names", "items", "costs", "method", "capacity", "minimum",
	    "quantum", LIMITS, NULL },
	  { "auto", "threshold", "bitset", "dp", NULL } },
	{ "share-weights", "share", share_weights, by_weight,
	  { "op", "id", "names", "weights", "speeds", NULL }, { NULL } },
	{ "round", "share", round_shares, of_round,
	  { "op", "id", "names", "items", "shares", "rule", "speeds", "cost", NULL }, { NULL } },
	{ "emulate", "emulate", emulate, by_rating,
	  { "op", "id", "names", "ratings", "processes", "best_upto", "time_limit_s",
	    NULL }, { NULL } },
	{ "model", "model", model, by_model,
	  { "op", "id", "names", "observations", "speeds", "items", NULL }, { NULL } },
	{ NULL, NULL, NULL, NULL, { NULL }, { NULL } }
};
/* clang-format on */
