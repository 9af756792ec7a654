/* SPDX-License-Identifier: GPL-3.0-or-later */
/* formula.c - approximate real shares: by speed alone, eq (5) by Taylor, Theorem 2 asymptotically
 * [S4]. May not touch: whole numbers. Costs one logarithm for each processor, Theorem 2 two. */
#include <math.h>

#include "classes.h"
#include "share.h"

static const hetpart_cost unit_linear = {
	.kind = COST_AFFINE, .increasing = true, .scale = 1, .per_item = 1
};

hetpart_status part_proportional(const part_procs *ps, uint64_t items, double *real,
				 double *scratch, long double *per_speed, hetpart_err *err)
{
	part_procs by_speed = *ps;

	by_speed.cost = &unit_linear;
	return part_equal_time(&by_speed, items, real, scratch, per_speed, err);
}

/* Eq (5) with k normalised to sum 1: n_i = k_i N (1 + (sum_j k_j ln k_j - ln k_i)/ln N). */
hetpart_status part_taylor(const part_procs *ps, uint64_t items, double *real, double *log_k,
			   hetpart_err *err)
{
	double n = (double)items, log_n = log(n), log_sum;
	long double sum = 0, entropy = 0;

	if (items < 3 || items <= ps->n)
		return part_fail(err, HETPART_ENOSOL,
				 "eq (5) needs 3 items and more items than processors");
	for (size_t i = 0; i < ps->n; i++)
		sum += (double)(ps->speeds[i] * ps->unit);
	log_sum = log((double)sum) + ps->shift * M_LN2;
	for (size_t i = 0; i < ps->n; i++) {
		real[i] = (double)(ps->speeds[i] * ps->unit / sum);
		log_k[i] = log(ps->speeds[i]) - log_sum;
		entropy += real[i] * log_k[i];
	}
	for (size_t i = 0; i < ps->n; i++)
		real[i] *= n * (1 + ((double)entropy - log_k[i]) / log_n);
	return HETPART_OK;
}

/* x (ln x + ln ln x)/(ln x)^2 for x >= e. The paper's first term lacks a factor ln x. */
static double theorem2(double x, double *slope)
{
	double l = log(x), ll = log(l), n = x * (l + ll) / (l * l), r = 1 / l;

	*slope = n / x * (1 + (1 + r) / (l + ll) - 2 * r);
	return n;
}

/* Shares at time t, by how much they grow, and the sum of that. */
static double sum_at(const part_procs *ps, double t, double *real, double *rate, double *slope)
{
	long double sum = 0, ds = 0;

	for (size_t i = 0; i < ps->n; i++) {
		double k = (double)(ps->speeds[i] * ps->unit), d;
		real[i] = theorem2(max_double(M_E, t * k), &d);
		rate[i] = d * k;
		sum += real[i];
		ds += rate[i];
	}
	*slope = (double)ds;
	return (double)sum;
}

static double sum_of_classes(const struct classes *c, double t, double *slope)
{
	double sum = 0;

	*slope = 0;
	for (size_t j = 0; j < c->n; j++) {
		const struct class *of = &c->of[j];
		double d;
		if (of->count == 0)
			continue;
		sum += of->count * theorem2(max_double(M_E, t * of->k), &d);
		*slope += of->count * d * of->k;
	}
	return sum;
}

/* The sum at the least time at which Theorem 2 holds, at most n; near n told by all processors. */
static bool holds_from(double least, const part_procs *ps, const struct classes *c, double n,
		       double *real, double *rate)
{
	double unused, sum;

	if (!isfinite(least))
		return false;
	sum = sum_of_classes(c, least, &unused);
	if (fabs(sum - n) < 1e-3 * n)
		sum = sum_at(ps, least, real, rate, &unused);
	return sum <= n;
}

/* About the time, by classes of speed. */
static double near_time(const struct classes *c, double n, double least)
{
	double t = max_double(least, c->t), was = 0, slope;

	for (int step = 0; step < 60 && fabs(t - was) > 1e-9 * t; step++) {
		was = t;
		t += (n - sum_of_classes(c, t, &slope)) / slope;
		t = max_double(least, t);
	}
	return t;
}

/* Newton's step from near the time is exact, and moves the shares by next to nothing. */
static void at_the_time(const part_procs *ps, double n, double t, double *real, double *rate)
{
	double slope, by = t;

	for (int step = 0; step < 20 && fabs(by) > 1e-7 * t; step++) {
		by = (n - sum_at(ps, t, real, rate, &slope)) / slope;
		t += by;
	}
	for (size_t i = 0; i < ps->n; i++)
		real[i] += by * rate[i];
}

hetpart_status part_asymptotic(const part_procs *ps, uint64_t items, double *real, double *rate,
			       hetpart_err *err)
{
	double slowest = INFINITY, least, n = (double)items;
	struct classes c;
	hetpart_status rc;

	part_scale(rate, ps->speeds, ps->n, ps->unit);
	for (size_t i = 0; i < ps->n; i++)
		slowest = min_double(slowest, rate[i]);
	rc = part_classes_solve(&c, ps->cost, rate, ps->n, n, err);
	if (rc != HETPART_OK)
		return rc;
	least = M_E / slowest;
	if (holds_from(least, ps, &c, n, real, rate))
		at_the_time(ps, n, near_time(&c, n, least), real, rate);
	else
		rc = part_fail(err, HETPART_ENOSOL,
			       "Theorem 2 does not hold: a processor gets fewer than e items");
	part_classes_free(&c);
	return rc;
}
