/* SPDX-License-Identifier: GPL-3.0-or-later */
/* equal_time.c - real shares with equal times: the T at which sum f^-1(T k_i) = N, and the shares
 * there. May not touch: whole numbers. Costs O(p) for each Newton step: 1-2 steps for n ln n, 10-60
 * for piecewise costs; capacities repeat it on the processors that are not full yet. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "classes.h"
#include "share.h"

#define TINY        1e-300 /* items: a share that counts as none */
#define NEAR_ENOUGH 1e-7   /* relative error of a share that the next Newton step makes 1e-14 */

struct equal_time {
	const hetpart_cost *cost;
	size_t n;             /* processors that are not full */
	size_t *proc;         /* which they are; NULL: all, as there are no capacities */
	double *k, *x;        /* their speeds (the fastest near 1) and shares */
	double *rate;         /* and the derivatives of the shares by the time */
	const double *speeds; /* of all, as the caller gave them */
	long double unit;     /* k is speed times unit */
	double target;        /* items to divide among them */
	long double t;        /* their time, at scale 1 */
};

static double speed_of(const struct equal_time *et, size_t i)
{
	return et->speeds[et->proc ? et->proc[i] : i];
}

static double fastest(const struct equal_time *et)
{
	double most = 0;

	for (size_t i = 0; i < et->n; i++)
		most = max_double(most, et->k[i]);
	return most;
}

/* What a share is proportional to for f(n) = n^a, and 1 for the fastest. A speed that is next to
 * nothing as a double may be more as a root, or as a share of very many items. */
static long double power_weight(const struct equal_time *et, size_t i, double most, double a)
{
	if (et->k[i] < DBL_MIN)
		return powl(speed_of(et, i) * et->unit / most, 1 / a);
	return a == 1 ? et->k[i] / most : pow(et->k[i] / most, 1 / a);
}

/* Theorem 1: for f(n) = n^a the share goes with k^(1/a); linear is a = 1. */
static void by_power(struct equal_time *et, double a)
{
	long double sum = 0, each;
	double most = fastest(et); /* not 1 when the fastest are full */

	for (size_t i = 0; i < et->n; i++) {
		long double w = power_weight(et, i, most, a);
		et->x[i] = (double)w;
		sum += w;
	}
	each = et->target / sum;
	for (size_t i = 0; i < et->n; i++) {
		long double w = et->x[i] < DBL_MIN ? power_weight(et, i, most, a) : et->x[i];
		et->x[i] = (double)(w * each);
	}
	et->t = powl(each, a) / most;
}

/* f and f' at x for the two convex costs, natural logarithms. */
static double convex(part_cost_kind kind, double x, double *slope)
{
	double ln = kind == COST_NLOGN ? log(x) : log1p(x);

	*slope = ln + (kind == COST_NLOGN ? 1 : x / (x + 1));
	return x * ln;
}

/* One Newton step for the system f(n_i) = T k_i, sum n_i = N: the T that keeps the sum. rate[]
 * receives the derivatives, x[] the Newton point for T = 0, *off the largest relative error that
 * x[] had at the last T. */
static double newton_step(struct equal_time *et, double *off)
{
	part_cost_kind kind = et->cost->kind;
	long double sum = 0, slope = 0;
	double t = (double)et->t, worst = 0;

	for (size_t i = 0; i < et->n; i++) {
		double x = et->x[i], d, f = convex(kind, x, &d), r = 1 / d;
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

static void go_on(struct equal_time *et, double by, double least)
{
	for (size_t i = 0; i < et->n; i++)
		et->x[i] = max_double(least, et->x[i] + by * et->rate[i]);
}

/* T is found; a small share, which hardly moves T, may not be. */
static void refine_small_shares(struct equal_time *et)
{
	for (size_t i = 0; i < et->n; i++) {
		double y = (double)et->t * et->k[i], moved = 1;
		if (et->cost->kind == COST_NLOG2N1 && et->x[i] < 1) {
			et->x[i] = part_unit_inverse(et->cost, y / M_LN2, NULL);
			continue;
		}
		for (int step = 0; step < 60 && moved > 1e-9 * et->x[i]; step++) {
			double d, f = convex(et->cost->kind, et->x[i], &d);
			moved = fabs(f - y) / d;
			et->x[i] -= (f - y) / d;
		}
	}
}

/* n ln n and n log2(n + 1). The shares begin where the classes of speed have them (for n ln n by
 * Lambert's W), so near that one step is often enough: it squares their error. f is convex, so from
 * the second step on T rises to the solution; for n ln n every n_i stays >= 1. */
static hetpart_status by_newton(struct equal_time *et, hetpart_err *err)
{
	bool log2 = et->cost->kind == COST_NLOG2N1;
	double unit = log2 ? M_LN2 : 1, t, was = 0, off = INFINITY, least = log2 ? TINY : 1;
	struct classes seed;
	hetpart_status rc = part_classes_solve(&seed, et->cost, et->k, et->n, et->target, err);

	if (rc == HETPART_OK)
		part_classes_shares(&seed, et->k, et->n, least, et->x);
	et->t = t = seed.t * unit;
	part_classes_free(&seed);
	if (rc != HETPART_OK)
		return rc;
	for (int step = 0; step < 100 && off > NEAR_ENOUGH; step++) {
		if (step > 1 && t <= was * (1 + 2 * DBL_EPSILON))
			break;
		was = t;
		et->t = t = newton_step(et, &off);
		go_on(et, t, least);
	}
	if (off > NEAR_ENOUGH)
		refine_small_shares(et);
	et->t /= unit;
	for (size_t i = 0; log2 && i < et->n; i++)
		et->rate[i] *= unit;
	return HETPART_OK;
}

static double sum_at(const struct equal_time *et, double t, double *slope)
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

/* Make the shares sum to the target where T cannot: a start so large that T has no digits left for
 * the items, or a cost of 0 for more than all items. */
static void scale_to_target(struct equal_time *et)
{
	long double sum = 0;
	size_t best = 0;

	for (size_t i = 0; i < et->n; i++) {
		sum += et->x[i];
		if (et->k[i] > et->k[best])
			best = i;
	}
	if (!(sum > 0))
		et->x[best] = et->target;
	else if (fabsl(sum - et->target) > 1e-14L * et->target)
		for (size_t i = 0; i < et->n; i++)
			et->x[i] = (double)(et->x[i] * (et->target / sum));
}

/* Shares at lo and hi, next to each other, interpolated so that they sum to the target: where the
 * cost jumps, no T gives the sum itself. */
static void interpolate(struct equal_time *et, double lo, double hi)
{
	double d, a = sum_at(et, lo, &d), b = sum_at(et, hi, &d);
	double part = b > a ? min_double(1, max_double(0, (et->target - a) / (b - a))) : 1;

	for (size_t i = 0; i < et->n; i++) {
		double x = part_unit_inverse(et->cost, lo * et->k[i], NULL);
		double y = part_unit_inverse(et->cost, hi * et->k[i], NULL);
		et->x[i] = x + part * (y - x);
	}
	et->t = part > 0.5 ? hi : lo;
	scale_to_target(et);
}

/* About where T is: every processor takes the mean. */
static double estimate_time(const struct equal_time *et)
{
	double speed = 0, mean = et->target / (double)et->n;

	for (size_t i = 0; i < et->n; i++)
		speed += et->k[i];
	return part_cost_real(et->cost, mean) / et->cost->scale * (double)et->n / speed;
}

/* Any invertible cost: Newton on T inside a bracket, every third step a halving. Where the inverse
 * is piecewise linear the last step is exact. */
static hetpart_status by_bracketed_newton(struct equal_time *et, hetpart_err *err)
{
	double lo = 0, hi, slope, t, s;

	hi = part_cost_real(et->cost, et->target) / et->cost->scale / fastest(et);
	if (!isfinite(hi))
		return part_fail(err, HETPART_ENOSOL, "the time of all items is beyond range");
	if (sum_at(et, 0, &slope) >= et->target)
		hi = 0;
	t = estimate_time(et);
	if (!(t > lo && t < hi))
		t = hi;
	for (int step = 1; step < 400 && hi - lo > DBL_EPSILON * hi; step++) {
		s = sum_at(et, t, &slope);
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
	interpolate(et, lo, hi);
	return HETPART_OK;
}

/* The derivatives of shares that were not found by them. */
static void find_rates(struct equal_time *et)
{
	double t = (double)et->t;

	for (size_t i = 0; i < et->n; i++) {
		double x = et->x[i], k = et->k[i];
		et->rate[i] = x > 0 ? k / part_unit_slope(et->cost, x, t * k) : 0;
	}
}

static hetpart_status solve(struct equal_time *et, hetpart_err *err)
{
	hetpart_status rc = HETPART_OK;

	switch (et->cost->kind) {
	case COST_NLOGN:
	case COST_NLOG2N1:
		return by_newton(et, err);
	case COST_POWER:
		by_power(et, et->cost->exponent);
		break;
	case COST_AFFINE:
		if (et->cost->startup == 0) {
			by_power(et, 1);
			et->t *= et->cost->per_item;
			break;
		}
		rc = by_bracketed_newton(et, err);
		break;
	default:
		rc = by_bracketed_newton(et, err);
	}
	find_rates(et);
	return rc;
}

/* n ln n where every share is the mean. With at most one item each every plan costs nothing, and
 * there is no equal T > 0; with equal speeds no equation is to be solved. */
static bool by_mean(struct equal_time *et)
{
	double mean = et->target / (double)et->n, log_mean = mean > 1 ? log(mean) : 0;

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

static hetpart_status solve_any(struct equal_time *et, hetpart_err *err)
{
	return by_mean(et) ? HETPART_OK : solve(et, err);
}

/* The fastest that is not full near 1 again. */
static void rescale_speeds(struct equal_time *et)
{
	double most = 0;
	int shift;

	for (size_t i = 0; i < et->n; i++)
		most = max_double(most, speed_of(et, i));
	frexp(most, &shift);
	et->unit = ldexpl(1, -shift);
	for (size_t i = 0; i < et->n; i++)
		et->k[i] = (double)(speed_of(et, i) * et->unit);
}

/* Move the shares to real[]; processors over their capacity get it and leave. Returns how many:
 * the others' T only rises by that, so who is full stays full. */
static size_t store_shares(struct equal_time *et, const uint64_t *caps, double *real, double *rate)
{
	size_t kept = 0, left;

	for (size_t i = 0; i < et->n; i++) {
		size_t pr = et->proc[i];
		double cap = (double)caps[pr];
		bool full = et->x[i] >= cap;
		real[pr] = full ? cap : et->x[i];
		rate[pr] = full ? 0 : et->rate[i];
		if (!full)
			et->proc[kept++] = pr;
	}
	left = et->n - kept;
	et->n = kept;
	return left;
}

static double rest(uint64_t items, const part_procs *ps, const struct equal_time *et)
{
	long double full = 0;
	size_t j = 0;

	for (size_t i = 0; i < ps->n; i++)
		if (j < et->n && et->proc[j] == i)
			j++;
		else
			full += ps->caps[i]; /* not real[i]: a double drops items above 2^53 */
	return (double)(items - full);
}

/* Round by round, without those that are full. */
static hetpart_status within_caps(struct equal_time *et, const part_procs *ps, uint64_t items,
				  double *real, double *rate, hetpart_err *err)
{
	for (size_t i = 0; i < ps->n; i++)
		et->proc[i] = i;
	do {
		hetpart_status rc;
		rescale_speeds(et);
		rc = solve_any(et, err);
		if (rc != HETPART_OK)
			return rc;
		et->t *= et->unit / ps->unit;
		if (store_shares(et, ps->caps, real, rate) == 0 || et->n == 0)
			break;
		et->target = rest(items, ps, et);
	} while (et->target > 0);
	for (size_t i = 0; i < ps->n; i++)
		rate[i] *= (double)(ps->unit / et->unit);
	return HETPART_OK;
}

hetpart_status part_equal_time(const part_procs *ps, uint64_t items, double *real, double *rate,
			       long double *t, hetpart_err *err)
{
	struct equal_time et = { .cost = ps->cost,
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
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", ps->n);
	} else if (ps->caps) {
		rc = within_caps(&et, ps, items, real, rate, err);
	} else {
		part_scale(et.k, ps->speeds, ps->n, ps->unit);
		rc = solve_any(&et, err);
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
