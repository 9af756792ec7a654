/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share.c - shares without communication for processors of known speed: check, choose the method,
 * round, report. Must not contain: the arithmetic of real shares. Costs O(p) plus the method. */
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "share.h"
#include "unrelated/unrelated.h"

/* -------------------------------------------------------------------------- initial rounding */

/* Round real shares of equal time to whole shares near the optimum, as a start for
 * part_round_exact(), which is exact from any start. If p shares are rounded down, about p/2 items
 * are missing. So round the real shares of a slightly later time instead. With this delay, the
 * rounded shares sum to almost all items. This saves part_round_exact() most of its work if p is
 * large. Costs O(p) for each of two or three steps, or eight more if many speeds are equal. */

#define INITIAL_FEW    1000 /* processors: with fewer, part_round_exact() needs no better start */
#define INITIAL_SAMPLE 8192 /* processors whose shares show how the sum of all shares changes */

typedef struct initial_rounding {
	const part_procs *ps;
	uint64_t items;
	const double *real, *rate;
} initial_rounding;

/* Round down a real share of processor i, and bring it within the capacity and the minimum. */
static inline uint64_t whole_part(const part_procs *ps, size_t i, uint64_t items, double real)
{
	const uint64_t cap = ps->caps ? min_u64(ps->caps[i], items) : items;
	const uint64_t whole =
		real >= (double)(int64_t)cap ? cap : (uint64_t)(int64_t)max_double(real, 0);
	return ps->mins ? max_u64(whole, ps->mins[i]) : whole;
}

/* Estimate the sum of the whole shares for delay `by` from every step-th processor. With limits,
 * set *growth to the sum of the rates of shares that are not at a limit. */
static double initial_sum(const initial_rounding *s, double by, size_t step, double *growth)
{
	const part_procs *const ps = s->ps;
	const size_t seen = (ps->n - 1) / step + 1;
	const double all = (double)ps->n / (double)seen;
	double free_growth = 0;
	uint64_t sum = 0;
	if (ps->caps || ps->mins) {
		for (size_t i = 0; i < ps->n; i += step) {
			const double x = s->real[i] + by * s->rate[i];
			const uint64_t whole = whole_part(ps, i, s->items, x);
			sum += whole;
			const double over = x - (double)(int64_t)whole; /* below 0 at a minimum */
			free_growth += over >= 0 && over <= 1 ? s->rate[i] : 0;
		}
		*growth = free_growth * all;
	} else /* without limits, a share exceeds the items only if the sum does */
		for (size_t i = 0; i < ps->n; i += step)
			sum += (uint64_t)(int64_t)(s->real[i] + by * s->rate[i]);
	return (double)sum * all;
}

/* Return a delay at which the sum of the whole shares differs from goal by at most near items.
 * Search from `by` on, by Newton's method within a bracket. */
static double initial_search(const initial_rounding *s, double by, double goal, double near,
			     size_t step, double growth)
{
	double lo = 0, hi = INFINITY;
	for (int round = 0, bounded = 0; round < 50 && bounded < 8; round++) {
		const double lack = goal - initial_sum(s, by, step, &growth);
		if (fabs(lack) <= near)
			return by;
		if (lack > 0)
			lo = by;
		else
			hi = by;
		bounded += lo > 0 && hi < INFINITY;
		by += lack / growth;
		if (!(by > lo && by < hi))
			by = hi < INFINITY ? lo + (hi - lo) / 2 : 2 * lo;
	}
	return lo;
}

/* Return the delay at which the shares, rounded down to whole items, sum to nearly all items. The
 * first estimate assumes that each processor loses half an item by rounding. The number of items
 * that its shares leave unassigned corrects it. If shares have limits, this estimate is far off, so
 * it is first corrected with a sample of the processors. Then two or three sums over all processors
 * are enough. */
static double initial_delay(const initial_rounding *s)
{
	const size_t n = s->ps->n, step = n / INITIAL_SAMPLE;
	const double goal = (double)s->items;
	double sum = 0, growth = 0;
	for (size_t i = 0; i < n; i++) {
		sum += s->real[i];
		growth += s->rate[i];
	}
	if (!(growth > 0) || !isfinite(growth) || !isfinite(sum))
		return 0;
	double by = max_double(0, (goal - sum + (double)n / 2) / growth);
	if (step > 3 && (s->ps->caps || s->ps->mins)) {
		double unused;
		const double change = goal - initial_sum(s, by, 1, &growth);
		const double now = initial_sum(s, by, step, &unused);
		const double near =
			initial_search(s, by, now + change, fabs(change) / 256, step, growth);
		by = near > 0 ? near : by; /* 0: too few shares in the sample grow with the delay */
	}
	return initial_search(s, by, goal, 64 + (double)n / 1024, 1, growth);
}

static void round_initially(const part_procs *ps, uint64_t items, const double *real,
			    const double *rate, uint64_t *share)
{
	const initial_rounding s = { ps, items, real, rate };
	double by = 0;
	if (ps->n >= INITIAL_FEW && items < UINT64_C(1) << 53)
		by = initial_delay(&s);
	for (size_t i = 0; i < ps->n; i++)
		share[i] = whole_part(ps, i, items, real[i] + by * rate[i]);
}

/* ------------------------------------------------------------------------------- the methods */

typedef struct share_problem {
	hetpart_plan *plan;
	part_procs ps;
	uint64_t items;
	hetpart_opts opts;
	bool timed; /* the plan's times are set */
} share_problem;

static hetpart_status by_threshold(share_problem *pb, hetpart_err *err)
{
	hetpart_opts opts = pb->opts;
	for (size_t i = 0; i < pb->ps.n; i++)
		pb->plan->real[i] = NAN;
	opts.method = HETPART_METHOD_THRESHOLD;
	return part_search(&pb->ps, &opts, pb->plan, err);
}

/* Find the best whole shares: from real shares if the cost has an inverse, or else by threshold. */
static hetpart_status by_exact(share_problem *pb, hetpart_err *err)
{
	hetpart_plan *const plan = pb->plan;
	const hetpart_cost *const c = pb->ps.cost;
	double *const rate = plan->time; /* scratch: the plan has no times yet */
	long double t = 0;
	bool too_far;
	plan->best = true;
	if (!part_cost_invertible(c))
		return by_threshold(pb, err);
	plan->method = c->kind == COST_NLOGN       ? "exact, Lambert W"
		       : hetpart_cost_is_linear(c) ? "exact, D'Hondt"
		       : c->kind == COST_POWER     ? "exact, multiplicative"
						   : "exact, equal times";
	hetpart_status rc = part_equal_time(&pb->ps, pb->items, plan->real, rate, &t, err);
	if (rc == HETPART_ENOSOL) /* real shares exceed a double, but whole ones do not */
		return by_threshold(pb, err);
	if (rc != HETPART_OK)
		return rc;
	plan->real_makespan = (double)(t * c->scale * pb->ps.unit);
	round_initially(&pb->ps, pb->items, plan->real, rate, plan->share);
	rc = part_round_exact(&pb->ps, pb->items, plan->share, plan->time, &too_far, err);
	if (rc == HETPART_OK && too_far)
		return part_threshold(&pb->ps, pb->items, plan->share, NULL, err);
	pb->timed = true;
	return rc;
}

/* Store the costs of the real shares in the plan's times, and return the largest time. If shares
 * are proportional to speed, per_speed is the items per unit of speed, otherwise 0. A double stores
 * a very small share with few digits, or as 0. Its cost is extrapolated from DBL_MIN items. */
static double cost_of_real(share_problem *pb, long double per_speed)
{
	const part_procs *const ps = &pb->ps;
	const hetpart_cost *const c = ps->cost;
	const bool starts = c->kind == COST_AFFINE ? c->startup > 0 : part_cost_real(c, 0) > 0;
	const double power = c->kind == COST_POWER ? c->exponent : !starts;
	long double worst = 0;
	double nearly = 0; /* slightly below worst, for a quick comparison */
	for (size_t i = 0; i < ps->n; i++) {
		const double share = pb->plan->real[i], speed = ps->speeds[i];
		const bool little =
			share < DBL_MIN && per_speed > 0 && !(ps->caps && ps->caps[i] == 0);
		const long double f =
			little ? part_cost_real(c, DBL_MIN) *
					 powl(per_speed * (speed * ps->unit) / DBL_MIN, power)
			       : part_cost_real(c, share);
		pb->plan->time[i] = (double)f;
		if (pb->plan->time[i] < nearly * speed || !(f > worst * speed))
			continue;
		worst = f / speed;
		nearly = (double)worst * (1 - 4 * DBL_EPSILON);
	}
	return (double)worst;
}

#define MANY_MISSING 1000 /* adding more items than this one by one is slow */

/* Find the plan of smallest makespan in which every share is at least its floor: its real share
 * rounded down. On entry the plan's times are the costs of its real shares. If the floors sum to
 * far less than all items, start from shares that are estimated along the tangents of the costs. */
static hetpart_status round_near(share_problem *pb, hetpart_err *err)
{
	const size_t n = pb->ps.n;
	part_procs from_floors = pb->ps;
	uint64_t sum = 0, *share = pb->plan->share, *least = NULL;
	double *base = NULL, *const rate = pb->plan->time;
	bool too_far = true;
	hetpart_status rc = HETPART_OK;
	for (size_t i = 0; i < n; i++) {
		share[i] = whole_part(&pb->ps, i, pb->items, pb->plan->real[i]);
		sum = add_capped(sum, share[i], pb->items);
	}
	if (pb->items - sum >= MANY_MISSING && part_cost_invertible(pb->ps.cost)) {
		base = part_calloc(n, sizeof *base);
		least = part_calloc(n, sizeof *least);
	}
	if (base && least) {
		memcpy(least, share, n * sizeof *least);
		from_floors.mins = least;
		for (size_t i = 0; i < n; i++) { /* move real shares to time 0 by tangents */
			const double x = pb->plan->real[i], y = rate[i] / pb->ps.cost->scale;
			const double slope = part_unit_slope(pb->ps.cost, x, y), per = 1 / slope;
			const bool known = x > 0 && slope > 0;
			base[i] = known ? x - y * per : 0;
			rate[i] = known ? (double)(pb->ps.speeds[i] * pb->ps.unit) * per : 0;
		}
		round_initially(&from_floors, pb->items, base, rate, share);
		rc = part_round_exact(&from_floors, pb->items, share, pb->plan->time, &too_far,
				      err);
		if (rc == HETPART_OK && too_far)
			memcpy(share, least, n * sizeof *least);
	}
	free(base);
	free(least);
	pb->timed = !too_far;
	return too_far ? part_round_keep(&pb->ps, pb->items, share, err) : rc;
}

/* Find real shares by a formula, and round them. Their makespan is computed with the true cost. */
static hetpart_status by_formula(share_problem *pb, hetpart_err *err)
{
	hetpart_plan *const plan = pb->plan;
	long double per_speed = 0;
	hetpart_status rc;
	if (pb->opts.quantum > 1)
		return part_invalid(err, "the method does not support a quantum");
	if (pb->opts.method == HETPART_METHOD_TAYLOR) {
		plan->method = "Taylor, eq (5)";
		rc = part_taylor(&pb->ps, pb->items, plan->real, plan->time, err);
	} else if (pb->opts.method == HETPART_METHOD_ASYMPTOTIC) {
		plan->method = "asymptotic, Theorem 2";
		rc = part_asymptotic(&pb->ps, pb->items, plan->real, plan->time, err);
	} else {
		plan->method = "proportional";
		rc = part_proportional(&pb->ps, pb->items, plan->real, plan->time, &per_speed, err);
	}
	if (rc != HETPART_OK)
		return rc;
	const double worst = cost_of_real(pb, per_speed);
	if (pb->ps.cost->kind != COST_CALLBACK)
		plan->real_makespan = worst;
	return round_near(pb, err);
}

/* ------------------------------------------------------------------------------ public calls */

static hetpart_status check_method(const share_problem *pb, hetpart_err *err)
{
	const part_procs *const ps = &pb->ps;
	const hetpart_method m = pb->opts.method;
	const bool formula = m == HETPART_METHOD_TAYLOR || m == HETPART_METHOD_ASYMPTOTIC;
	double startup, per_item;
	if (hetpart_cost_is_affine(ps->cost, &startup, &per_item) && startup == 0 && per_item == 0)
		return part_invalid(err, "the cost is free: a startup or an item must take time");
	if (formula && ps->cost->kind != COST_NLOGN)
		return part_invalid(err, "the method is for the cost n ln n only");
	if ((formula || m == HETPART_METHOD_PROPORTIONAL) && ps->mins)
		return part_invalid(err, "the method does not support minimums");
	if (formula && ps->caps)
		return part_invalid(err, "the method does not support capacities");
	if (m == HETPART_METHOD_PROPORTIONAL && !ps->cost->increasing)
		return part_invalid(err, "the method needs an increasing cost");
	return HETPART_OK;
}

/* Check all arguments except pointers, which the public calls check, and create the plan. */
static hetpart_status share_prepare(share_problem *pb, const hetpart_opts *opts, hetpart_err *err)
{
	part_procs *const ps = &pb->ps;
	double most = 0;
	hetpart_status rc;
	if ((rc = part_check_items(pb->items, ps->n, err)) != HETPART_OK ||
	    (rc = part_opts_read(&pb->opts, opts, err)) != HETPART_OK ||
	    (rc = part_check_numbers(ps->speeds, ps->n, false, "speed of processor", err)) !=
		    HETPART_OK)
		return rc;
	ps->caps = pb->opts.capacities;
	ps->mins = pb->opts.minimums;
	for (size_t i = 0; i < ps->n; i++)
		most = max_double(most, ps->speeds[i]);
	frexp(most, &ps->shift);
	ps->unit = ldexpl(1, -ps->shift);
	if ((rc = check_method(pb, err)) != HETPART_OK ||
	    (rc = part_check_caps(ps, pb->items, err)) != HETPART_OK ||
	    (rc = part_check_mins(ps, pb->items, err)) != HETPART_OK)
		return rc;
	pb->plan = part_plan_new(ps->n, pb->items, "none");
	return pb->plan ? HETPART_OK : part_no_memory(err, ps->n, "processors");
}

/* Complete the plan and store it in *out, or free it after a failure. Compute the times if they are
 * not set or exceed a double. */
static hetpart_status share_finish(share_problem *pb, hetpart_status rc, hetpart_plan **out,
				   hetpart_err *err)
{
	if (rc == HETPART_OK || pb->ps.bad->seen) {
		rc = pb->timed ? part_plan_close(pb->plan, err) : HETPART_OK;
		if (rc == HETPART_OK && !(pb->timed && isfinite(pb->plan->makespan)))
			rc = part_plan_times(pb->plan, &pb->ps, err);
	}
	return part_plan_return(out, pb->plan, rc);
}

hetpart_status hetpart_share_create(hetpart_plan **out, uint64_t items, const double *speeds,
				    size_t nprocs, const hetpart_cost *cost,
				    const hetpart_opts *opts, hetpart_err *err)
{
	part_bad_cost bad = { 0 };
	share_problem pb = { .items = items };
	if (out)
		*out = NULL;
	if (!out || !speeds || !cost)
		return part_is_null(err, !out ? "out" : !speeds ? "speeds" : "cost");
	pb.ps = (part_procs){ .n = nprocs, .cost = cost, .speeds = speeds, .bad = &bad };
	hetpart_status rc = share_prepare(&pb, opts, err);
	if (rc != HETPART_OK)
		return rc;
	const hetpart_method m = pb.opts.method;
	if (items == 0)
		rc = HETPART_OK;
	else if (m == HETPART_METHOD_TAYLOR || m == HETPART_METHOD_ASYMPTOTIC ||
		 m == HETPART_METHOD_PROPORTIONAL)
		rc = by_formula(&pb, err);
	else if (m == HETPART_METHOD_EXACT && cost->increasing && pb.opts.quantum <= 1)
		rc = by_exact(&pb, err);
	else
		rc = part_search(&pb.ps, &pb.opts, pb.plan, err);
	return share_finish(&pb, rc, out, err);
}

hetpart_status hetpart_share_round(hetpart_plan **out, uint64_t items, const double *real,
				   const double *speeds, size_t nprocs, const hetpart_cost *cost,
				   hetpart_err *err)
{
	part_bad_cost bad = { 0 };
	share_problem pb = { .items = items };
	long double sum = 0;
	if (out)
		*out = NULL;
	if (!out || !real || !speeds || !cost)
		return part_is_null(err, !out     ? "out"
					 : !real  ? "real"
					 : speeds ? "cost"
						  : "speeds");
	if (!cost->increasing)
		return part_invalid(err, "rounding needs an increasing cost");
	pb.ps = (part_procs){ .n = nprocs, .cost = cost, .speeds = speeds, .bad = &bad };
	hetpart_status rc = part_check_numbers(real, nprocs, true, "share of processor", err);
	if (rc != HETPART_OK)
		return rc;
	for (size_t i = 0; i < nprocs; i++)
		sum += real[i];
	if (fabsl(sum - items) > 1 + 1e-9L * items)
		return part_invalid(err, "the shares sum to '%.17g', not to %" PRIu64, (double)sum,
				    items);
	if ((rc = share_prepare(&pb, NULL, err)) != HETPART_OK)
		return rc;
	memcpy(pb.plan->real, real, nprocs * sizeof *real);
	pb.plan->method = "rounded";
	cost_of_real(&pb, 0);
	return share_finish(&pb, round_near(&pb, err), out, err);
}
