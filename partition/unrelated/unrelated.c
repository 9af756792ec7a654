/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unrelated.c - shares for processors with a cost each: check, choose the method, report.
 * May not touch: the arithmetic of any method. Costs O(p) beside the method. */
#include <inttypes.h>
#include <math.h>

#include "unrelated.h"

static bool all_increasing(const part_procs *ps)
{
	if (!ps->costs)
		return ps->cost->increasing;
	for (size_t i = 0; i < ps->n; i++)
		if (!ps->costs[i]->increasing)
			return false;
	return true;
}

static hetpart_status by_threshold(const part_procs *ps, uint64_t quantum, hetpart_plan *plan,
				   hetpart_err *err)
{
	double lower = 0;
	hetpart_status rc;

	plan->method = quantum > 1 ? "threshold, quantised" : "threshold";
	if (quantum > 1)
		rc = part_threshold_blocks(ps, plan->items, quantum, plan->share, &lower, err);
	else
		rc = part_threshold(ps, plan->items, plan->share, &lower, err);
	if (!ps->budget || ps->budget->why == HETPART_OK)
		return rc;
	plan->stopped = ps->budget->why;
	plan->best = false;
	plan->lower = lower;
	return rc;
}

static hetpart_status by_threshold_within(part_procs within, const hetpart_opts *opts,
					  hetpart_plan *plan, hetpart_err *err)
{
	part_budget budget;
	hetpart_status rc =
		part_budget_open(&budget, opts->time_limit_s, 0, opts->stop, opts->stop_ctx, err);

	within.budget = &budget;
	return rc == HETPART_OK ? by_threshold(&within, opts->quantum, plan, err) : rc;
}

#define BLOCK_STEPS 1e7 /* of the dynamic programme: some 20 ms */

/* Blocks so large that their programme takes next to no time: it has no limit any more, so that
 * there is a plan in the end. */
static hetpart_status by_blocks(const part_procs *ps, hetpart_plan *plan, hetpart_err *err)
{
	double most = sqrt(BLOCK_STEPS / (double)ps->n);
	hetpart_opts opts = HETPART_OPTS_INIT;
	part_budget none = { .end_s = INFINITY };

	opts.quantum = divide_up(plan->items, most > 1 ? (uint64_t)most : 1);
	plan->method = "dynamic programme, blocks";
	plan->best = false;
	return part_dp(ps, &opts, &none, plan, err);
}

/* What ended a method before it had a plan: one that is quick takes its place. */
static hetpart_status in_its_place(const part_procs *ps, const hetpart_opts *opts,
				   const part_budget *budget, hetpart_plan *plan,
				   hetpart_err *err)
{
	hetpart_status rc;

	if (all_increasing(ps))
		return by_threshold(ps, opts->quantum, plan, err);
	rc = opts->quantum > 1 ? HETPART_ERANGE : by_blocks(ps, plan, err);
	return rc == HETPART_ERANGE ? part_budget_fail(budget, err) : rc;
}

static hetpart_status by_any_costs(const part_procs *ps, const hetpart_opts *opts,
				   hetpart_method method, hetpart_plan *plan, hetpart_err *err)
{
	part_budget budget;
	hetpart_status rc = part_budget_open(&budget, opts->time_limit_s, opts->max_mem_bytes,
					     opts->stop, opts->stop_ctx, err);

	if (rc != HETPART_OK)
		return rc;
	if (method == HETPART_METHOD_BITSET) {
		plan->method = "bitset";
		rc = part_bitset(ps, opts, &budget, plan, err);
	} else {
		plan->method =
			opts->quantum > 1 ? "dynamic programme, quantised" : "dynamic programme";
		rc = part_dp(ps, opts, &budget, plan, err);
	}
	if (rc == HETPART_ENOMEM && all_increasing(ps))
		budget.why = rc;
	plan->stopped = budget.why;
	if (rc != HETPART_OK && budget.why != HETPART_OK)
		return in_its_place(ps, opts, &budget, plan, err);
	return rc;
}

hetpart_status part_search(const part_procs *ps, const hetpart_opts *opts, hetpart_plan *plan,
			   hetpart_err *err)
{
	hetpart_method m = opts->method;
	bool increasing = all_increasing(ps);

	if (m == HETPART_METHOD_EXACT && increasing)
		m = HETPART_METHOD_THRESHOLD;
	else if (m == HETPART_METHOD_EXACT)
		m = opts->quantum > 1 ? HETPART_METHOD_DP : HETPART_METHOD_BITSET;
	plan->best = opts->quantum <= 1;
	if (opts->quantum > 1 && m == HETPART_METHOD_BITSET)
		return part_fail(err, HETPART_EINVAL, "the method knows no quantum");
	switch (m) {
	case HETPART_METHOD_THRESHOLD:
		if (!increasing)
			return part_fail(err, HETPART_EINVAL, "the method needs increasing costs");
		return by_threshold_within(*ps, opts, plan, err);
	case HETPART_METHOD_BITSET:
	case HETPART_METHOD_DP:
		return by_any_costs(ps, opts, m, plan, err);
	default:
		return part_fail(err, HETPART_EINVAL, "the method needs one cost and speeds");
	}
}

static hetpart_status check_costs(const hetpart_cost *const *costs, size_t n, hetpart_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (!costs[i])
			return part_fail(err, HETPART_EINVAL, "the cost of processor %zu is NULL",
					 i);
	return HETPART_OK;
}

hetpart_status hetpart_share_unrelated_create(hetpart_plan **out, uint64_t items,
					      const hetpart_cost *const *costs, size_t nprocs,
					      const hetpart_opts *opts, hetpart_err *err)
{
	part_bad_cost bad = { 0 };
	part_procs ps = { .n = nprocs, .costs = costs, .bad = &bad };
	hetpart_opts full;
	hetpart_plan *plan;
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || !costs)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "costs" : "out");
	if ((rc = part_check_items(items, nprocs, err)) != HETPART_OK ||
	    (rc = part_opts_read(&full, opts, err)) != HETPART_OK ||
	    (rc = check_costs(costs, nprocs, err)) != HETPART_OK)
		return rc;
	ps.caps = full.capacities;
	ps.mins = full.minimums;
	if ((rc = part_check_caps(&ps, items, err)) != HETPART_OK ||
	    (rc = part_check_mins(&ps, items, err)) != HETPART_OK)
		return rc;
	plan = part_plan_new(nprocs, items, "none");
	if (!plan)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", nprocs);
	rc = part_search(&ps, &full, plan, err);
	if (rc == HETPART_OK || bad.seen)
		rc = part_plan_times(plan, &ps, err);
	if (rc == HETPART_OK)
		*out = plan;
	else
		hetpart_plan_free(plan);
	return rc;
}

uint64_t hetpart_share_unrelated_mem_bytes(uint64_t items, size_t nprocs, const hetpart_opts *opts)
{
	uint64_t small = (uint64_t)nprocs > UINT64_MAX / 64 ? UINT64_MAX : 64 * (uint64_t)nprocs;
	uint64_t bytes = 0;
	hetpart_opts full;

	if (part_opts_read(&full, opts, NULL) != HETPART_OK || items > HETPART_ITEMS_MAX)
		return UINT64_MAX;
	if (full.quantum > 1 || full.method == HETPART_METHOD_DP)
		bytes = part_dp_bytes(items, nprocs, full.quantum);
	else if (full.method != HETPART_METHOD_THRESHOLD)
		bytes = part_bitset_bytes(items, nprocs);
	return bytes > UINT64_MAX - small ? UINT64_MAX : bytes + small;
}
