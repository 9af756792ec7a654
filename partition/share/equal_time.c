/* SPDX-License-Identifier: GPL-3.0-or-later */
/* equal_time.c - real shares with equal times. For a cost f, speeds k_i and N items, these are the
 * shares at the time T at which sum f^-1(T k_i) = N. Must not contain: whole numbers. Costs O(p)
 * for each Newton step: 1 or 2 steps for n ln n, 10 to 60 for piecewise costs. With capacities,
 * this is repeated for the processors that are not full yet. */
#include <float.h>
#include <stdlib.h>

#include "share.h"

#define TINY        1e-300 /* items: the least share */
#define NEAR_ENOUGH 1e-7   /* relative error of a share; the next Newton step reduces it to 1e-14 */

typedef struct equal_time {
	const hetpart_cost *cost;
	size_t n;             /* processors that are not full */
	size_t *proc;         /* their numbers; NULL: all processors, as there are no capacities */
	double *k, *x;        /* their speeds (the fastest near 1) and shares */
	double *rate;         /* the derivatives of the shares by the time */
	const double *speeds; /* of all processors, as given by the caller */
	long double unit;     /* k is speeds times unit */
	double target;        /* items to divide among them */
	long double t;        /* the time of these shares, for a cost of scale 1 */
} equal_time;

static double speed_of(const equal_time *et, size_t i)
{
	return et->speeds[et->proc ? et->proc[i] : i];
}

static double fastest_of(const equal_time *et)
{
	double most = 0;
	for (size_t i = 0; i < et->n; i++)
		most = max_double(most, et->k[i]);
	return most;
}

/* ----------------------------------------------------------------------------------- n to the a */

/* Return the weight of a processor, to which its share is proportional for f(n) = n^a. The weight
 * of the fastest processor is 1. A speed near 0 needs a long double: its root, or its share, may be
 * larger. */
static long double power_weight(const equal_time *et, size_t i, double most, double a)
{
	if (et->k[i] < DBL_MIN)
		return powl(speed_of(et, i) * et->unit / most, 1 / a);
	return a == 1 ? et->k[i] / most : pow(et->k[i] / most, 1 / a);
}

/* Solve f(n) = n^a by Theorem 1: the share is proportional to k^(1/a). Linear is a = 1. */
static void solve_power(equal_time *et, double a)
{
	const double most = fastest_of(et); /* not 1 if the fastest processors are full */
	long double sum = 0;
	for (size_t i = 0; i < et->n; i++) {
		const long double w = power_weight(et, i, most, a);
		et->x[i] = (double)w;
		sum += w;
	}
	const long double each = et->target / sum;
	for (size_t i = 0; i < et->n; i++) {
		const long double w = et->x[i] < DBL_MIN ? power_weight(et, i, most, a) : et->x[i];
		et->x[i] = (double)(w * each);
	}
	et->t = powl(each, a) / most;
}

/* ----------------------------------------------------------------- n ln n and n log2(n + 1) */

/* Return f(x) for one of these two costs, with natural logarithms, and store f'(x) in *slope. */
static double convex_cost(part_cost_kind kind, double x, double *slope)
{
	const double ln = kind == COST_NLOGN ? log(x) : log1p(x);
	*slope = ln + (kind == COST_NLOGN ? 1 : x / (x + 1));
	return x * ln;
}

/* Make one Newton step for the system f(n_i) = T k_i, sum n_i = N. Return the new T; the new shares
 * are x[i] + T rate[i]. Store in *off the largest relative error of the old shares at the old T. */
static double newton_step(equal_time *et, double *off)
{
	const part_cost_kind kind = et->cost->kind;
	const double t = (double)et->t;
	long double sum = 0, slope = 0;
	double worst = 0;
	for (size_t i = 0; i < et->n; i++) {
		double x = et->x[i], d, f = convex_cost(kind, x, &d), r = 1 / d;
		double e = fabs(f - t * et->k[i]) * r;
		if (e > worst * x)
			worst = e / x;
		et->x[i] = x - f * r;
		et->rate[i] = et->k[i] * r;
		sum += et->x[i];
		slope += et->rate[i];
	}
	*off = worst;
	return (double)fmaxl(0, (et->target - sum) / slope);
}

/* Refine the shares after T is found: T hardly depends on small shares, so these may be inexact. */
static void refine_small_shares(equal_time *et)
{
	for (size_t i = 0; i < et->n; i++) {
		const double y = (double)et->t * et->k[i];
		double moved = 1;
		if (et->cost->kind == COST_NLOG2N1 && et->x[i] < 1) {
			et->x[i] = part_unit_inverse(et->cost, y / M_LN2, NULL);
			continue;
		}
		for (int step = 0; step < 60 && moved > 1e-9 * et->x[i]; step++) {
			double d, f = convex_cost(et->cost->kind, et->x[i], &d);
			moved = fabs(f - y) / d;
			et->x[i] -= (f - y) / d;
		}
	}
}

/* Solve n ln n and n log2(n + 1). The shares start from estimates by classes of speed, so one step,
 * which squares the error, is often enough. The cost is convex, so from the second step on T only
 * rises, to the solution. For n ln n each n_i stays >= 1. */
static hetpart_status solve_convex(equal_time *et, hetpart_err *err)
{
	const bool log2 = et->cost->kind == COST_NLOG2N1;
	const double unit = log2 ? M_LN2 : 1, least = log2 ? TINY : 1;
	double was = 0, off = INFINITY;
	part_classes seed;
	const hetpart_status rc =
		part_classes_solve(&seed, et->cost, et->k, et->n, et->target, err);
	if (rc == HETPART_OK)
		part_classes_shares(&seed, et->k, et->n, least, et->x);
	double t = seed.t * unit;
	et->t = t;
	part_classes_free(&seed);
	if (rc != HETPART_OK)
		return rc;
	for (int step = 0; step < 100 && off > NEAR_ENOUGH; step++) {
		if (step > 1 && t <= was * (1 + 2 * DBL_EPSILON))
			break;
		was = t;
		et->t = t = newton_step(et, &off);
		for (size_t i = 0; i < et->n; i++)
			et->x[i] = max_double(least, et->x[i] + t * et->rate[i]);
	}
	if (off > NEAR_ENOUGH)
		refine_small_shares(et);
	et->t /= unit;
	for (size_t i = 0; log2 && i < et->n; i++)
		et->rate[i] *= unit;
	return HETPART_OK;
}

/* Solve n ln n if every share can be the mean; otherwise return false. It can if all speeds are
 * equal, or if the mean is at most one item, which costs 0. */
static bool solve_by_mean(equal_time *et)
{
	const double mean = et->target / (double)et->n, log_mean = mean > 1 ? log(mean) : 0;
	if (et->cost->kind != COST_NLOGN)
		return false;
	for (size_t i = 1; mean > 1 && i < et->n; i++)
		if (et->k[i] != et->k[0])
			return false;
	et->t = mean > 1 ? mean * log_mean / et->k[0] : 0;
	for (size_t i = 0; i < et->n; i++) {
		et->x[i] = mean;
		et->rate[i] = mean > 1 ? et->k[i] / (1 + log_mean) : 0;
	}
	return true;
}

/* ------------------------------------------------------------------------- any invertible cost */

/* Return the sum of the shares at time t, and its derivative in *slope. */
static double inverse_sum(const equal_time *et, double t, double *slope)
{
	long double sum = 0, ds = 0;
	for (size_t i = 0; i < et->n; i++) {
		double d;
		sum += part_unit_inverse(et->cost, t * et->k[i], &d);
		ds += d * et->k[i];
	}
	*slope = (double)ds;
	return (double)sum;
}

/* Interpolate between the shares at lo and hi, neighbouring times, so that the shares sum to the
 * target. This is needed if the cost jumps, because then no T has this sum. Then scale the shares.
 * A startup can leave no digits of T for the items, and some costs are 0 for more than all
 * items. */
static void interpolate_shares(equal_time *et, double lo, double hi)
{
	double d;
	const double a = inverse_sum(et, lo, &d), b = inverse_sum(et, hi, &d);
	const double part = b > a ? min_double(1, max_double(0, (et->target - a) / (b - a))) : 1;
	long double sum = 0;
	size_t best = 0;
	for (size_t i = 0; i < et->n; i++) {
		const double x = part_unit_inverse(et->cost, lo * et->k[i], NULL);
		const double y = part_unit_inverse(et->cost, hi * et->k[i], NULL);
		et->x[i] = x + part * (y - x);
		sum += et->x[i];
		if (et->k[i] > et->k[best])
			best = i;
	}
	et->t = part > 0.5 ? hi : lo;
	if (!(sum > 0))
		et->x[best] = et->target;
	else if (fabsl(sum - et->target) > 1e-14L * et->target)
		for (size_t i = 0; i < et->n; i++)
			et->x[i] = (double)(et->x[i] * (et->target / sum));
}

/* Solve any invertible cost by Newton's method for T within a bracket, which is halved in every
 * third step. If the inverse is piecewise linear, the last step is exact. */
static hetpart_status solve_bracketed(equal_time *et, hetpart_err *err)
{
	const double scale = et->cost->scale, mean = et->target / (double)et->n;
	double lo = 0, hi = part_cost_real(et->cost, et->target) / scale / fastest_of(et);
	double slope, speed = 0;
	if (!isfinite(hi))
		return part_fail(err, HETPART_ENOSOL,
				 "the time of all items is too large for a double");
	if (inverse_sum(et, 0, &slope) >= et->target)
		hi = 0;
	for (size_t i = 0; i < et->n; i++)
		speed += et->k[i];
	/* Start with the time that the mean share takes at the mean speed. */
	double t = part_cost_real(et->cost, mean) / scale * (double)et->n / speed;
	if (!(t > lo && t < hi))
		t = hi;
	for (int step = 1; step < 400 && hi - lo > DBL_EPSILON * hi; step++) {
		const double s = inverse_sum(et, t, &slope);
		if (s >= et->target)
			hi = t;
		else
			lo = t;
		if (fabs(s - et->target) <= 2 * DBL_EPSILON * et->target)
			break;
		t += slope > 0 ? (et->target - s) / slope : 0;
		if (step % 3 == 0 || !(t > lo && t < hi))
			t = lo + (hi - lo) / 2;
	}
	interpolate_shares(et, lo, hi);
	return HETPART_OK;
}

/* ------------------------------------------------------------------- the method, the capacities */

static hetpart_status solve_equal_time(equal_time *et, hetpart_err *err)
{
	const part_cost_kind kind = et->cost->kind;
	if (solve_by_mean(et))
		return HETPART_OK;
	if (kind == COST_NLOGN || kind == COST_NLOG2N1)
		return solve_convex(et, err);
	if (kind == COST_POWER) {
		solve_power(et, et->cost->exponent);
	} else if (kind == COST_AFFINE && et->cost->startup == 0) {
		solve_power(et, 1);
		et->t *= et->cost->per_item;
	} else {
		const hetpart_status rc = solve_bracketed(et, err);
		if (rc != HETPART_OK)
			return rc;
	}
	const double t = (double)et->t;
	for (size_t i = 0; i < et->n; i++) {
		const double x = et->x[i], k = et->k[i];
		et->rate[i] = x > 0 ? k / part_unit_slope(et->cost, x, t * k) : 0;
	}
	return HETPART_OK;
}

/* Copy the shares to real[]. A processor that reaches its capacity gets it as share and is removed
 * from et. Return how many were removed. For the others T only rises, so these stay full. */
static size_t store_shares(equal_time *et, const uint64_t *caps, double *real, double *rate)
{
	const size_t before = et->n;
	size_t kept = 0;
	for (size_t i = 0; i < before; i++) {
		const size_t pr = et->proc[i];
		const double cap = (double)caps[pr];
		const bool full = et->x[i] >= cap;
		real[pr] = full ? cap : et->x[i];
		rate[pr] = full ? 0 : et->rate[i];
		if (!full)
			et->proc[kept++] = pr;
	}
	et->n = kept;
	return before - kept;
}

/* Solve repeatedly, each time without the processors that are full, until no other becomes full. */
static hetpart_status solve_within_caps(equal_time *et, const part_procs *ps, uint64_t items,
					double *real, double *rate, hetpart_err *err)
{
	for (size_t i = 0; i < ps->n; i++)
		et->proc[i] = i;
	do {
		double most = 0;
		int shift;
		for (size_t i = 0; i < et->n; i++)
			most = max_double(most, speed_of(et, i));
		frexp(most, &shift); /* scale the fastest processor that is not full to near 1 */
		et->unit = ldexpl(1, -shift);
		for (size_t i = 0; i < et->n; i++)
			et->k[i] = (double)(speed_of(et, i) * et->unit);
		const hetpart_status rc = solve_equal_time(et, err);
		if (rc != HETPART_OK)
			return rc;
		et->t *= et->unit / ps->unit;
		if (store_shares(et, ps->caps, real, rate) == 0 || et->n == 0)
			break;
		long double full = 0;
		for (size_t i = 0, j = 0; i < ps->n; i++)
			if (j < et->n && et->proc[j] == i)
				j++;
			else
				full += ps->caps[i]; /* real[i], a double, is inexact above 2^53 */
		et->target = (double)(items - full);
	} while (et->target > 0);
	for (size_t i = 0; i < ps->n; i++)
		rate[i] *= (double)(ps->unit / et->unit);
	return HETPART_OK;
}

hetpart_status part_equal_time(const part_procs *ps, uint64_t items, double *real, double *rate,
			       long double *t, hetpart_err *err)
{
	equal_time et = { .cost = ps->cost,
			  .n = ps->n,
			  .x = real,
			  .rate = rate,
			  .speeds = ps->speeds,
			  .unit = ps->unit,
			  .target = (double)items };
	bool got = (et.k = part_calloc(ps->n, sizeof *et.k)) != NULL;
	hetpart_status rc;
	if (ps->caps) {
		got &= (et.proc = part_calloc(ps->n, sizeof *et.proc)) != NULL;
		got &= (et.x = part_calloc(ps->n, sizeof *et.x)) != NULL;
		got &= (et.rate = part_calloc(ps->n, sizeof *et.rate)) != NULL;
	}
	if (!got) {
		rc = part_no_memory(err, ps->n, "processors");
	} else if (ps->caps) {
		rc = solve_within_caps(&et, ps, items, real, rate, err);
	} else {
		part_scale(et.k, ps->speeds, ps->n, ps->unit);
		rc = solve_equal_time(&et, err);
	}
	*t = et.t;
	if (ps->caps) {
		free(et.proc);
		free(et.x);
		free(et.rate);
	}
	free(et.k);
	return rc;
}

hetpart_status part_proportional(const part_procs *ps, uint64_t items, double *real,
				 double *scratch, long double *per_speed, hetpart_err *err)
{
	static const hetpart_cost unit_linear = {
		.kind = COST_AFFINE, .increasing = true, .scale = 1, .per_item = 1
	};
	part_procs by_speed = *ps;
	by_speed.cost = &unit_linear;
	return part_equal_time(&by_speed, items, real, scratch, per_speed, err);
}
