/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unrelated.c - shares for processors that each have their own cost: check, choose the method,
 * report. Also the method for increasing costs (threshold), a bisection on the makespan T. Must not
 * contain: real shares, the methods for any costs. Costs O(p) memory for p processors; the
 * bisection costs about 100 p calls of the cost. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "unrelated.h"

/* ---------------------------------------------------------------------------------- threshold */

/* The bracket of the makespan T. By time T, processor i takes the most items that it can end.
 * Surplus items, which all end exactly at T, are removed at the end. If the budget ends first, the
 * plan is for the upper end of the bracket. */
typedef struct bracket {
	const part_procs *ps;
	uint64_t items;
	uint64_t *lo, *hi; /* most items by t_lo (sum < items) and by t_hi (sum >= items) */
	uint64_t *mid;
	long double t_lo, t_hi;
} bracket;

static bool bracket_ended(const bracket *b)
{
	return b->ps->budget && b->ps->budget->why != HETPART_OK;
}

/* Set mid[] to the most items that each processor can end by t. Return their sum, at most items.
 * Among neighbours with the same cost and the same bracket, only the first is searched. */
static uint64_t bracket_fill(bracket *b, long double t)
{
	const part_procs *const ps = b->ps;
	uint64_t sum = 0;
	for (size_t i = 0; i < ps->n; i++) {
		const hetpart_cost *const cost = ps->costs ? ps->costs[i] : ps->cost;
		const uint64_t steps = cost->kind == COST_CALLBACK ? BUDGET_STRIDE / 16 : 1024;
		if (i > 0 && ps->costs && cost == ps->costs[i - 1] && b->lo[i] == b->lo[i - 1] &&
		    b->hi[i] == b->hi[i - 1])
			b->mid[i] = b->mid[i - 1];
		else if (ps->budget && part_spend(ps->budget, steps))
			break;
		else
			b->mid[i] = part_most(ps, i, b->lo[i], b->hi[i], t);
		sum = add_capped(sum, b->mid[i], b->items);
	}
	return sum;
}

/* Make mid[], which bracket_fill() has set for t, one end of the bracket, unless the budget has
 * ended. enough: the upper end. */
static void bracket_narrow(bracket *b, long double t, bool enough)
{
	if (bracket_ended(b))
		return;
	uint64_t **const side = enough ? &b->hi : &b->lo, *const was = *side;
	*side = b->mid;
	b->mid = was;
	*(enough ? &b->t_hi : &b->t_lo) = t;
}

/* Return the middle of a and b: by exponent while the exponents differ, then by value. So a
 * bisection over the whole range of a long double takes about 80 steps. */
static long double middle_time(long double a, long double b)
{
	int ea = LDBL_MIN_EXP - LDBL_MANT_DIG, eb;
	if (a > 0)
		frexpl(a, &ea);
	frexpl(b, &eb);
	return eb - ea > 1 ? ldexpl(1, (ea + eb) / 2 - 1) : a + (b - a) / 2;
}

/* Set the shares to lo[], and add the missing items up to hi[]: each of these ends at t_hi. */
static void bracket_give_out(const bracket *b, uint64_t *share)
{
	uint64_t left = b->items;
	for (size_t i = 0; i < b->ps->n; i++)
		left -= share[i] = b->lo[i];
	for (size_t i = 0; i < b->ps->n && left; i++) {
		const uint64_t more = min_u64(b->hi[i] - b->lo[i], left);
		share[i] += more;
		left -= more;
	}
}

/* Narrow the bracket by a time that may be outside it. */
static void bracket_try(bracket *b, long double t)
{
	if (t > b->t_lo && t < b->t_hi)
		bracket_narrow(b, t, bracket_fill(b, t) >= b->items);
}

/* Set the ends of the bracket to the minimums and to the items that are possible in finite time.
 * Then narrow it by two times between which the makespan usually is: some processor takes items/p
 * or more, and all may take items/p. Set *done and share[] if all items can end by the time that 0
 * items need. */
static hetpart_status bracket_open(bracket *b, uint64_t *share, bool *done, hetpart_err *err)
{
	const part_procs *const ps = b->ps;
	const uint64_t mean = divide_up(b->items, ps->n);
	long double least = 0, most = 0;
	uint64_t sum = 0;
	for (size_t i = 0; i < ps->n; i++) {
		b->hi[i] = part_cap(ps, i, b->items);
		b->lo[i] = part_min(ps, i);
		const long double t = part_time(ps, i, b->lo[i]);
		most = fmaxl(most, t);
		if (b->lo[i] == 0) /* a minimum must not raise the lower end */
			least = fmaxl(least, t);
	}
	if (most > LDBL_MAX)
		return part_no_plan(err);
	for (size_t i = 0; i < ps->n; i++) {
		b->mid[i] = b->hi[i];
		if (part_time(ps, i, b->hi[i]) > LDBL_MAX)
			b->mid[i] = part_most(ps, i, b->lo[i], b->hi[i], LDBL_MAX);
		sum = add_capped(sum, b->mid[i], b->items);
	}
	if (sum < b->items)
		return part_no_plan(err);
	bracket_narrow(b, LDBL_MAX, true);
	*done = bracket_fill(b, least) >= b->items && !bracket_ended(b);
	bracket_narrow(b, least, *done);
	if (*done) {
		bracket_give_out(b, share); /* lo[] has the minimums */
		return HETPART_OK;
	}
	least = LDBL_MAX, most = 0;
	for (size_t i = 0; i < ps->n; i++) {
		const long double t = part_time(ps, i, mean);
		least = fminl(least, t);
		most = fmaxl(most, t);
	}
	bracket_try(b, most);
	bracket_try(b, least / 2);
	return HETPART_OK;
}

/* Halve the bracket until its ends are neighbours, or until few items are between them. It is then
 * less work to add items one by one. */
static hetpart_status bracket_bisect(bracket *b, uint64_t *share, hetpart_err *err)
{
	bool done = false;
	long double t;
	const hetpart_status rc = bracket_open(b, share, &done, err);
	if (rc != HETPART_OK || done)
		return rc;
	while ((t = middle_time(b->t_lo, b->t_hi)) > b->t_lo && t < b->t_hi && !bracket_ended(b)) {
		uint64_t gap = 0; /* items between lo and hi */
		for (size_t i = 0; i < b->ps->n; i++)
			gap = add_capped(gap, b->hi[i] - b->lo[i], UINT64_MAX);
		if (gap <= 4 * (uint64_t)b->ps->n) {
			for (size_t i = 0; i < b->ps->n; i++)
				share[i] = b->lo[i];
			return part_round_keep(b->ps, b->items, share, err);
		}
		bracket_narrow(b, t, bracket_fill(b, t) >= b->items);
	}
	bracket_give_out(b, share);
	return HETPART_OK;
}

hetpart_status part_threshold(const part_procs *ps, uint64_t items, uint64_t *share, double *lower,
			      hetpart_err *err)
{
	bracket b = { .ps = ps, .items = items };
	hetpart_status rc;
	if (part_array(b.lo, ps->n) && part_array(b.hi, ps->n) && part_array(b.mid, ps->n))
		rc = bracket_bisect(&b, share, err);
	else
		rc = part_no_memory(err, ps->n, "processors");
	if (lower)
		*lower = (double)(b.t_lo * (ps->costs ? 1 : ps->unit));
	free(b.lo);
	free(b.hi);
	free(b.mid);
	return rc;
}

/* Find the best shares in multiples of a quantum for increasing costs: the best plan of whole
 * blocks, and the rest where it ends first. A plan that ends before any processor could end one
 * block more has the same blocks. A later plan is not better: by then a processor can end the rest,
 * too. */
static hetpart_status threshold_blocks(const part_procs *ps, uint64_t items, uint64_t quantum,
				       uint64_t *share, double *lower, hetpart_err *err)
{
	const uint64_t count = items / quantum, rest = items % quantum;
	part_procs blocks = *ps;
	long double soonest = INFINITY;
	size_t taker = ps->n;
	blocks.block = quantum;
	hetpart_status rc = part_check_mins(&blocks, count, err);
	if (rc == HETPART_OK)
		rc = part_threshold(&blocks, count, share, lower, err);
	if (rc != HETPART_OK)
		return rc;
	for (size_t i = 0; i < ps->n; i++)
		share[i] *= quantum;
	if (rest == 0)
		return HETPART_OK;
	for (size_t i = 0; i < ps->n; i++) {
		long double t = INFINITY;
		if (part_cap(ps, i, UINT64_MAX) - share[i] >= rest)
			t = part_time(ps, i, share[i] + rest);
		if (t < soonest) {
			soonest = t;
			taker = i;
		}
	}
	if (taker == ps->n)
		return part_no_plan(err);
	share[taker] += rest;
	return HETPART_OK;
}

/* ----------------------------------------------------------------------- the choice of a method */

static bool all_increasing(const part_procs *ps)
{
	if (!ps->costs)
		return ps->cost->increasing;
	for (size_t i = 0; i < ps->n; i++)
		if (!ps->costs[i]->increasing)
			return false;
	return true;
}

static hetpart_status search_increasing(const part_procs *ps, uint64_t quantum, hetpart_plan *plan,
					hetpart_err *err)
{
	double lower = 0;
	hetpart_status rc;
	plan->method = quantum > 1 ? "threshold, quantised" : "threshold";
	if (quantum > 1)
		rc = threshold_blocks(ps, plan->items, quantum, plan->share, &lower, err);
	else
		rc = part_threshold(ps, plan->items, plan->share, &lower, err);
	if (!ps->budget || ps->budget->why == HETPART_OK)
		return rc;
	plan->stopped = ps->budget->why;
	plan->best = false;
	plan->lower = lower;
	return rc;
}

#define BLOCK_STEPS 1e7 /* steps of the dynamic programme, which take about 20 ms */

/* Find a plan by BITSET or DP. Their times are doubles and belong to speeds that are scaled to at
 * most 1, so the time of a slow processor may be infinite although it fits a double at its own
 * speed. If no plan ends in finite time, search again without scaling: times that are too short for
 * a double do not matter then. */
static hetpart_status search_table(const part_procs *ps, const hetpart_opts *opts,
				   hetpart_method method, part_budget *budget, hetpart_plan *plan,
				   hetpart_err *err)
{
	const bool sets = method == HETPART_METHOD_BITSET;
	hetpart_status rc = sets ? part_bitset(ps, opts, budget, plan, err)
				 : part_dp(ps, opts, budget, plan, err);
	if (rc != HETPART_ERANGE || ps->costs || ps->unit >= 1 || ps->bad->seen)
		return rc;
	part_procs unscaled = *ps;
	unscaled.unit = 1;
	return sets ? part_bitset(&unscaled, opts, budget, plan, err)
		    : part_dp(&unscaled, opts, budget, plan, err);
}

/* Find a plan for any costs. If the budget ends before a plan is found, use a quick method: the
 * threshold, or a dynamic programme of large blocks. This needs no limit, because it is fast. */
static hetpart_status search_any_costs(const part_procs *ps, const hetpart_opts *opts,
				       hetpart_method method, hetpart_plan *plan, hetpart_err *err)
{
	const bool increasing = all_increasing(ps);
	part_budget budget;
	hetpart_status rc = part_budget_open(&budget, opts->time_limit_s, opts->max_mem_bytes,
					     opts->stop, opts->stop_ctx, err);
	if (rc != HETPART_OK)
		return rc;
	plan->method = method == HETPART_METHOD_BITSET ? "bitset"
		       : opts->quantum > 1             ? "dynamic programme, quantised"
						       : "dynamic programme";
	rc = search_table(ps, opts, method, &budget, plan, err);
	if (rc == HETPART_ENOMEM && increasing)
		budget.why = rc;
	plan->stopped = budget.why;
	if (rc == HETPART_OK || budget.why == HETPART_OK)
		return rc;
	if (increasing)
		return search_increasing(ps, opts->quantum, plan, err);
	if (opts->quantum > 1)
		return part_budget_fail(&budget, err);
	const double most = sqrt(BLOCK_STEPS / (double)ps->n);
	hetpart_opts blocks = HETPART_OPTS_INIT;
	part_budget none = { .end_s = INFINITY };
	blocks.quantum = divide_up(plan->items, most > 1 ? (uint64_t)most : 1);
	plan->method = "dynamic programme, blocks";
	plan->best = false;
	rc = search_table(ps, &blocks, HETPART_METHOD_DP, &none, plan, err);
	return rc == HETPART_ERANGE ? part_budget_fail(&budget, err) : rc;
}

hetpart_status part_search(const part_procs *ps, const hetpart_opts *opts, hetpart_plan *plan,
			   hetpart_err *err)
{
	const bool increasing = all_increasing(ps);
	hetpart_method m = opts->method;
	if (m == HETPART_METHOD_EXACT && increasing)
		m = HETPART_METHOD_THRESHOLD;
	else if (m == HETPART_METHOD_EXACT)
		m = opts->quantum > 1 ? HETPART_METHOD_DP : HETPART_METHOD_BITSET;
	plan->best = opts->quantum <= 1;
	if (opts->quantum > 1 && m == HETPART_METHOD_BITSET)
		return part_invalid(err, "the method does not support a quantum");
	if (m == HETPART_METHOD_BITSET || m == HETPART_METHOD_DP)
		return search_any_costs(ps, opts, m, plan, err);
	if (m != HETPART_METHOD_THRESHOLD)
		return part_invalid(err, "the method needs one cost and speeds");
	if (!increasing)
		return part_invalid(err, "the method needs increasing costs");
	part_procs within = *ps;
	part_budget budget;
	const hetpart_status rc =
		part_budget_open(&budget, opts->time_limit_s, 0, opts->stop, opts->stop_ctx, err);
	within.budget = &budget;
	return rc == HETPART_OK ? search_increasing(&within, opts->quantum, plan, err) : rc;
}

/* ------------------------------------------------------------------------------ public calls */

hetpart_status hetpart_share_unrelated_create(hetpart_plan **out, uint64_t items,
					      const hetpart_cost *const *costs, size_t nprocs,
					      const hetpart_opts *opts, hetpart_err *err)
{
	part_bad_cost bad = { 0 };
	part_procs ps = { .n = nprocs, .costs = costs, .bad = &bad };
	hetpart_opts full;
	hetpart_status rc;
	if (out)
		*out = NULL;
	if (!out || !costs)
		return part_is_null(err, out ? "costs" : "out");
	if ((rc = part_check_items(items, nprocs, err)) != HETPART_OK ||
	    (rc = part_opts_read(&full, opts, err)) != HETPART_OK)
		return rc;
	for (size_t i = 0; i < nprocs; i++)
		if (!costs[i])
			return part_invalid(err, "the cost of processor %zu is NULL", i);
	ps.caps = full.capacities;
	ps.mins = full.minimums;
	if ((rc = part_check_caps(&ps, items, err)) != HETPART_OK ||
	    (rc = part_check_mins(&ps, items, err)) != HETPART_OK)
		return rc;
	hetpart_plan *const plan = part_plan_new(nprocs, items, "none");
	if (!plan)
		return part_no_memory(err, nprocs, "processors");
	rc = part_search(&ps, &full, plan, err);
	if (rc == HETPART_OK || bad.seen)
		rc = part_plan_times(plan, &ps, err);
	return part_plan_return(out, plan, rc);
}

uint64_t hetpart_share_unrelated_mem_bytes(uint64_t items, size_t nprocs, const hetpart_opts *opts)
{
	uint64_t bytes = 0;
	hetpart_opts full;
	if (part_opts_read(&full, opts, NULL) != HETPART_OK || items > HETPART_ITEMS_MAX)
		return UINT64_MAX;
	if (full.quantum > 1 || full.method == HETPART_METHOD_DP)
		bytes = part_dp_bytes(items, nprocs, full.quantum);
	else if (full.method != HETPART_METHOD_THRESHOLD)
		bytes = part_bitset_bytes(items, nprocs);
	return part_mul_add(nprocs, 64, bytes);
}
