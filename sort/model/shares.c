/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sorter's one way to the planner library: from speeds and costs to shares. Touches no rank:
 * one plans, the others take its word. */
#include "shares.h"

#include <stdlib.h>

status shares_status(hetpart_status st, const hetpart_err *he, err *e)
{
	if (st == HETPART_OK)
		return ST_OK;
	const status mine = st == HETPART_ENOMEM      ? ST_RESOURCE
			    : st == HETPART_EINTERNAL ? ST_INTERNAL
						      : ST_REFUSED;
	return err_set(e, mine, "cannot plan the shares: %s", he->text);
}

static void equal_shares(uint64_t n, size_t p, uint64_t *share)
{
	for (size_t i = 0; i < p; i++)
		share[i] = n / p + (i < n % p);
}

/* The formulas of n ln n; everything else has an exact method. */
static hetpart_method method_of(plan_kind kind, bool nlogn)
{
	if (nlogn && kind == PLAN_TAYLOR)
		return HETPART_METHOD_TAYLOR;
	if (nlogn && kind == PLAN_ASYMPTOTIC)
		return HETPART_METHOD_ASYMPTOTIC;
	return HETPART_METHOD_EXACT;
}

status shares_by_speed(plan_kind kind, bool sorting, uint64_t n, const double *speed, size_t p,
		       uint64_t *share, err *e)
{
	const bool nlogn = sorting && kind != PLAN_LINEAR;
	hetpart_opts opts = HETPART_OPTS_INIT;
	hetpart_cost *cost = NULL;
	hetpart_plan *plan = NULL;
	hetpart_err he = { HETPART_OK, "" };
	if (kind == PLAN_EQUAL) {
		equal_shares(n, p, share);
		return ST_OK;
	}
	opts.method = method_of(kind, nlogn);
	hetpart_status st =
		nlogn ? hetpart_cost_nlogn(&cost, 1, &he) : hetpart_cost_linear(&cost, 1, &he);
	if (st == HETPART_OK)
		st = hetpart_share_create(&plan, n, speed, p, cost, &opts, &he);
	if (st == HETPART_ENOSOL) {
		opts.method = HETPART_METHOD_EXACT;
		st = hetpart_share_create(&plan, n, speed, p, cost, &opts, &he);
	}
	for (size_t i = 0; st == HETPART_OK && i < p; i++)
		share[i] = hetpart_plan_share(plan, i);
	hetpart_plan_free(plan);
	hetpart_cost_free(cost);
	return shares_status(st, &he, e);
}

status shares_divide(uint64_t n, const double *speed, size_t p, bool by_nlogn, uint64_t *share,
		     err *e)
{
	return shares_by_speed(by_nlogn ? PLAN_NLOGN : PLAN_LINEAR, by_nlogn, n, speed, p, share,
			       e);
}

status shares_by_costs_within(uint64_t n, hetpart_cost_fn *fn, void *ctx, size_t ctx_bytes,
			      size_t p, const uint64_t *most, uint64_t *share, err *e)
{
	hetpart_opts opts = HETPART_OPTS_INIT;
	hetpart_cost **cost = calloc(p, sizeof *cost);
	hetpart_plan *plan = NULL;
	hetpart_err he = { cost ? HETPART_OK : HETPART_ENOMEM, "out of memory" };
	hetpart_status st = he.status;
	opts.capacities = most;
	for (size_t i = 0; st == HETPART_OK && i < p; i++)
		st = hetpart_cost_callback(&cost[i], fn, (char *)ctx + i * ctx_bytes, true, 1, &he);
	if (st == HETPART_OK)
		st = hetpart_share_unrelated_create(&plan, n, (const hetpart_cost *const *)cost, p,
						    &opts, &he);
	for (size_t i = 0; st == HETPART_OK && i < p; i++)
		share[i] = hetpart_plan_share(plan, i);
	hetpart_plan_free(plan);
	for (size_t i = 0; cost && i < p; i++)
		hetpart_cost_free(cost[i]);
	free(cost);
	return shares_status(st, &he, e);
}

status shares_by_costs(uint64_t n, hetpart_cost_fn *fn, void *ctx, size_t ctx_bytes, size_t p,
		       uint64_t *share, err *e)
{
	return shares_by_costs_within(n, fn, ctx, ctx_bytes, p, NULL, share, e);
}
