/* SPDX-License-Identifier: GPL-3.0-or-later */
/* formula.c - approximate real shares: by speed alone, eq (5) by Taylor, Theorem 2 asymptotically
 * [S4]. May not touch: whole numbers. Costs one logarithm for each processor, Theorem 2 about ten
 * times two. */
#include <math.h>

#include "share.h"

static const hetpart_cost unit_linear = {
	.kind = COST_AFFINE, .increasing = true, .scale = 1, .per_item = 1
};

hetpart_status part_proportional(const struct procs *ps, uint64_t items, double *real,
				 double *scratch, hetpart_err *err)
{
	struct procs by_speed = *ps;
	long double t;

	by_speed.cost = &unit_linear;
	return part_equal_time(&by_speed, items, real, scratch, &t, err);
}

/* Eq (5) with k normalised to sum 1: n_i = k_i N (1 + (sum_j k_j ln k_j - ln k_i)/ln N). */
hetpart_status part_taylor(const struct procs *ps, uint64_t items, double *real, hetpart_err *err)
{
	double n = (double)items, log_sum;
	long double sum = 0, entropy = 0;

	if (items < 3 || items <= ps->n)
		return part_fail(err, HETPART_ENOSOL,
				 "eq (5) needs 3 items and more items than processors");
	for (size_t i = 0; i < ps->n; i++)
		sum += (double)(ps->speeds[i] * ps->unit);
	log_sum = log((double)sum) + ps->shift * M_LN2;
	for (size_t i = 0; i < ps->n; i++) {
		real[i] = (double)(ps->speeds[i] * ps->unit / sum);
		entropy += real[i] * (log(ps->speeds[i]) - log_sum);
	}
	for (size_t i = 0; i < ps->n; i++) {
		double e = (double)entropy - (log(ps->speeds[i]) - log_sum);
		real[i] *= n * (1 + e / log(n));
	}
	return HETPART_OK;
}

/* x (ln x + ln ln x)/(ln x)^2 for x >= e. The paper's first term lacks a factor ln x. */
static double theorem2(double x, double *slope)
{
	double l = log(x), ll = log(l), n = x * (l + ll) / (l * l);

	*slope = n / x * (1 + (1 + 1 / l) / (l + ll) - 2 / l);
	return n;
}

static double sum_at(const struct procs *ps, double t, double *real, double *slope)
{
	long double sum = 0, ds = 0;

	for (size_t i = 0; i < ps->n; i++) {
		double k = (double)(ps->speeds[i] * ps->unit), d;
		real[i] = theorem2(later(M_E, t * k), &d);
		sum += real[i];
		ds += d * k;
	}
	*slope = (double)ds;
	return (double)sum;
}

hetpart_status part_asymptotic(const struct procs *ps, uint64_t items, double *real,
			       hetpart_err *err)
{
	double least = INFINITY, lo, hi, t, s, slope, n = (double)items;

	for (size_t i = 0; i < ps->n; i++)
		least = sooner(least, (double)(ps->speeds[i] * ps->unit));
	lo = M_E / least;
	if (!isfinite(lo) || sum_at(ps, lo, real, &slope) > n)
		return part_fail(err, HETPART_ENOSOL,
				 "Theorem 2 does not hold: a processor gets fewer than e items");
	for (hi = 2 * lo; sum_at(ps, hi, real, &slope) < n; hi *= 2)
		lo = hi;
	t = lo;
	for (int step = 0; step < 200; step++) {
		s = sum_at(ps, t, real, &slope);
		if (s < n)
			lo = t;
		else
			hi = t;
		if (fabs(s - n) <= 1e-15 * n || hi - lo <= 1e-16 * hi)
			break;
		t += (n - s) / slope;
		if (!(t > lo && t < hi))
			t = lo + (hi - lo) / 2;
	}
	return HETPART_OK;
}
