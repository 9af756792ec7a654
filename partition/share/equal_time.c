/* SPDX-License-Identifier: GPL-3.0-or-later */
/* equal_time.c - real shares with equal times: the T at which sum f^-1(T k_i) = N, and the shares
 * there. May not touch: whole numbers. Costs O(p) for each Newton step: 4-6 steps for n ln n, 10-60
 * for piecewise costs; capacities repeat it on the processors that are not full yet. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "share.h"

#define TINY 1e-300 /* items: a share that is as good as none */

struct level {
	const hetpart_cost *cost;
	size_t n;             /* processors that are not full */
	size_t *proc;         /* which they are */
	double *k, *x;        /* their speeds (the fastest near 1) and shares */
	const double *speeds; /* of all, as the caller gave them */
	long double unit;     /* k is speed times unit */
	double target;        /* items to divide among them */
	long double t;        /* their time, at scale 1 */
};

static double fastest(const struct level *lv)
{
	double most = 0;

	for (size_t i = 0; i < lv->n; i++)
		most = fmax(most, lv->k[i]);
	return most;
}

/* Theorem 1: for f(n) = n^a the share goes with k^(1/a); linear is a = 1. */
static void by_power(struct level *lv, double a)
{
	long double sum = 0;
	double most = fastest(lv); /* not 1 when the fastest are full */

	for (size_t i = 0; i < lv->n; i++) {
		if (a == 1)
			lv->x[i] = lv->k[i] / most;
		else if (lv->k[i] >= DBL_MIN)
			lv->x[i] = pow(lv->k[i] / most, 1 / a);
		else /* not small any more as a root */
			lv->x[i] = (double)powl(lv->speeds[lv->proc[i]] * lv->unit / most, 1 / a);
		sum += lv->x[i];
	}
	for (size_t i = 0; i < lv->n; i++)
		lv->x[i] = (double)(lv->target * (lv->x[i] / sum));
	lv->t = powl(lv->target / sum, a) / most;
}

/* f and f' at x for the two convex costs, natural logarithms. */
static double convex(enum cost_kind kind, double x, double *slope)
{
	double ln = kind == COST_NLOGN ? log(x) : log1p(x);

	*slope = ln + (kind == COST_NLOGN ? 1 : x / (x + 1));
	return x * ln;
}

/* One Newton step for the system f(n_i) = T k_i, sum n_i = N: the T that keeps the sum. r[]
 * receives the inverse derivatives, x[] the Newton point for T = 0, *off the largest relative error
 * that x[] had at the last T. */
static double newton_step(struct level *lv, double *r, double *off)
{
	long double sum = 0, slope = 0;
	double t = (double)lv->t;

	*off = 0;
	for (size_t i = 0; i < lv->n; i++) {
		double x = lv->x[i], d, f = convex(lv->cost->kind, x, &d), e;
		r[i] = 1 / d;
		e = fabs(f - t * lv->k[i]) * r[i];
		if (e > *off * x)
			*off = e / x;
		lv->x[i] = x - f * r[i];
		sum += lv->x[i];
		slope += lv->k[i] * r[i];
	}
	return (double)fmaxl(0, (lv->target - sum) / slope);
}

/* T is settled; a small share, that hardly moves T, may not be. */
static void polish(struct level *lv)
{
	for (size_t i = 0; i < lv->n; i++) {
		double y = (double)lv->t * lv->k[i], moved = 1;
		if (lv->cost->kind == COST_NLOG2N1 && lv->x[i] < 1) {
			lv->x[i] = part_unit_inverse(lv->cost, y / M_LN2, NULL);
			continue;
		}
		for (int step = 0; step < 60 && moved > 1e-9 * lv->x[i]; step++) {
			double d, f = convex(lv->cost->kind, lv->x[i], &d);
			moved = fabs(f - y) / d;
			lv->x[i] -= (f - y) / d;
		}
	}
}

/* Where Newton starts. n ln n: by speed, at least 1. n ln(n + 1) = z: within a small factor of the
 * solution for the T of a single processor, because by speed it would be far off for slow ones. */
static void start_at(struct level *lv)
{
	double speed = 0, t;

	for (size_t i = 0; i < lv->n; i++)
		speed += lv->k[i];
	t = lv->target / speed * log1p(lv->target / (double)lv->n);
	for (size_t i = 0; i < lv->n; i++) {
		double z = t * lv->k[i];
		if (lv->cost->kind == COST_NLOGN)
			lv->x[i] = fmax(1, lv->target * (lv->k[i] / speed));
		else
			lv->x[i] = fmax(TINY, z < 1 ? sqrt(z) : z / log1p(z));
	}
	lv->t = 0;
}

/* n ln n and n log2(n + 1). f is convex, so every step's T is at or below the solution and T rises
 * to it; for n ln n every n_i stays >= 1. One logarithm for each processor and step. */
static hetpart_status by_newton(struct level *lv, hetpart_err *err)
{
	bool log2 = lv->cost->kind == COST_NLOG2N1;
	double t = 0, was, off = 0, least = log2 ? TINY : 1;
	double *r = part_calloc(lv->n, sizeof *r);

	if (!r)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", lv->n);
	start_at(lv);
	for (int step = 0; step < 100; step++) {
		was = t;
		lv->t = t = newton_step(lv, r, &off);
		for (size_t i = 0; i < lv->n; i++) {
			double x = lv->x[i] + t * lv->k[i] * r[i];
			lv->x[i] = x > least ? x : least;
		}
		if (step > 1 && t <= was * (1 + 2 * DBL_EPSILON))
			break;
	}
	free(r);
	if (off > 1e-8)
		polish(lv);
	lv->t /= log2 ? M_LN2 : 1;
	return HETPART_OK;
}

static double sum_at(const struct level *lv, double t, double *slope)
{
	long double sum = 0, ds = 0;

	for (size_t i = 0; i < lv->n; i++) {
		double d;
		sum += part_unit_inverse(lv->cost, t * lv->k[i], &d);
		ds += d * lv->k[i];
	}
	*slope = (double)ds;
	return (double)sum;
}

/* Make the shares sum to the target where T cannot: a start so large that T has no digits left for
 * the items, or a cost of 0 for more than all items. */
static void stretch(struct level *lv)
{
	long double sum = 0;
	size_t best = 0;

	for (size_t i = 0; i < lv->n; i++) {
		sum += lv->x[i];
		if (lv->k[i] > lv->k[best])
			best = i;
	}
	if (!(sum > 0))
		lv->x[best] = lv->target;
	else if (fabsl(sum - lv->target) > 1e-14L * lv->target)
		for (size_t i = 0; i < lv->n; i++)
			lv->x[i] = (double)(lv->x[i] * (lv->target / sum));
}

/* Shares at lo and hi, next to each other, joined so that they sum to the target: where the cost
 * jumps, no T gives the sum itself. */
static void join(struct level *lv, double lo, double hi)
{
	double d, a = sum_at(lv, lo, &d), b = sum_at(lv, hi, &d);
	double part = b > a ? fmin(1, fmax(0, (lv->target - a) / (b - a))) : 1;

	for (size_t i = 0; i < lv->n; i++) {
		double x = part_unit_inverse(lv->cost, lo * lv->k[i], NULL);
		double y = part_unit_inverse(lv->cost, hi * lv->k[i], NULL);
		lv->x[i] = x + part * (y - x);
	}
	lv->t = part > 0.5 ? hi : lo;
	stretch(lv);
}

/* About where T is: everybody takes the mean. */
static double first_guess(const struct level *lv)
{
	double speed = 0, mean = lv->target / (double)lv->n;

	for (size_t i = 0; i < lv->n; i++)
		speed += lv->k[i];
	return part_cost_real(lv->cost, mean) / lv->cost->scale * (double)lv->n / speed;
}

/* Any invertible cost: Newton on T inside a bracket, every third step a halving. Where the inverse
 * is piecewise linear the last step is exact. */
static hetpart_status by_bracket(struct level *lv, hetpart_err *err)
{
	double lo = 0, hi, slope, t, s;

	hi = part_cost_real(lv->cost, lv->target) / lv->cost->scale / fastest(lv);
	if (!isfinite(hi))
		return part_fail(err, HETPART_ENOSOL, "the time of all items is beyond range");
	if (sum_at(lv, 0, &slope) >= lv->target)
		hi = 0;
	t = first_guess(lv);
	if (!(t > lo && t < hi))
		t = hi;
	for (int step = 1; step < 400 && hi - lo > DBL_EPSILON * hi; step++) {
		s = sum_at(lv, t, &slope);
		if (s >= lv->target)
			hi = t;
		else
			lo = t;
		if (fabs(s - lv->target) <= 2 * DBL_EPSILON * lv->target)
			break;
		t += slope > 0 ? (lv->target - s) / slope : 0;
		if (step % 3 == 0 || !(t > lo && t < hi))
			t = lo + (hi - lo) / 2;
	}
	join(lv, lo, hi);
	return HETPART_OK;
}

static hetpart_status solve(struct level *lv, hetpart_err *err)
{
	switch (lv->cost->kind) {
	case COST_NLOGN:
	case COST_NLOG2N1:
		return by_newton(lv, err);
	case COST_POWER:
		by_power(lv, lv->cost->exponent);
		return HETPART_OK;
	case COST_AFFINE:
		if (lv->cost->startup == 0) {
			by_power(lv, 1);
			lv->t *= lv->cost->per_item;
			return HETPART_OK;
		}
		return by_bracket(lv, err);
	default:
		return by_bracket(lv, err);
	}
}

/* Move the shares to real[]; processors over their capacity get it and leave. Returns how many:
 * the others' T only rises by that, so who is full stays full. */
static size_t settle(struct level *lv, const uint64_t *caps, double *real)
{
	size_t kept = 0;

	for (size_t i = 0; i < lv->n; i++) {
		size_t pr = lv->proc[i];
		double cap = caps ? (double)caps[pr] : INFINITY;
		real[pr] = fmin(lv->x[i], cap);
		if (lv->x[i] >= cap)
			continue;
		lv->proc[kept++] = pr;
	}
	size_t left = lv->n - kept;
	lv->n = kept;
	return left;
}

static double rest(uint64_t items, const struct procs *ps, const struct level *lv)
{
	long double full = 0;
	size_t j = 0;

	for (size_t i = 0; i < ps->n; i++)
		if (j < lv->n && lv->proc[j] == i)
			j++;
		else
			full += ps->caps[i]; /* not real[i]: a double drops items above 2^53 */
	return (double)(items - full);
}

/* n ln n with at most one item each: every such plan costs nothing, and there is no equal T > 0. */
static bool few(const struct level *lv)
{
	return lv->cost->kind == COST_NLOGN && lv->target <= (double)lv->n;
}

/* Speeds of the processors that are not full, the fastest near 1 again. */
static void take_speeds(struct level *lv)
{
	double most = 0;
	int shift;

	for (size_t i = 0; i < lv->n; i++)
		most = fmax(most, lv->speeds[lv->proc[i]]);
	frexp(most, &shift);
	lv->unit = ldexpl(1, -shift);
	for (size_t i = 0; i < lv->n; i++)
		lv->k[i] = (double)(lv->speeds[lv->proc[i]] * lv->unit);
}

static hetpart_status run(struct level *lv, const struct procs *ps, uint64_t items, double *real,
			  hetpart_err *err)
{
	do {
		hetpart_status rc = HETPART_OK;
		take_speeds(lv);
		if (few(lv))
			for (size_t i = 0; i < lv->n; i++)
				lv->x[i] = lv->target / (double)lv->n, lv->t = 0;
		else
			rc = solve(lv, err);
		if (rc != HETPART_OK)
			return rc;
		lv->t *= lv->unit / ps->unit;
		if (settle(lv, ps->caps, real) == 0 || lv->n == 0)
			break;
		lv->target = rest(items, ps, lv);
	} while (lv->target > 0);
	return HETPART_OK;
}

hetpart_status part_level(const struct procs *ps, uint64_t items, double *real, long double *t,
			  hetpart_err *err)
{
	struct level lv = {
		.cost = ps->cost, .n = ps->n, .speeds = ps->speeds, .target = (double)items
	};
	hetpart_status rc;

	lv.proc = part_calloc(ps->n, sizeof *lv.proc);
	lv.k = part_calloc(ps->n, sizeof *lv.k);
	lv.x = part_calloc(ps->n, sizeof *lv.x);
	if (!lv.proc || !lv.k || !lv.x) {
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", ps->n);
		goto out;
	}
	for (size_t i = 0; i < ps->n; i++)
		lv.proc[i] = i;
	rc = run(&lv, ps, items, real, err);
	*t = lv.t;
out:
	free(lv.proc);
	free(lv.k);
	free(lv.x);
	return rc;
}
