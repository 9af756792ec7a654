/* SPDX-License-Identifier: GPL-3.0-or-later */
/* initial_rounding.c - whole shares near the optimum from real ones with equal times. The floors
 * lack p/2 items; the floors at a time a little later, found by secants, lack next to none, which
 * saves the heap most of its work when p is large. May not touch: the rounding itself, which is
 * exact from any start. Costs O(p) for each of at most ten steps. */
#include <math.h>
#include <stdlib.h>

#include "share.h"

#define FEW  1000 /* processors: below this the heap is as fast */
#define NEAR 64   /* items from the goal: good enough */

/* Items short of the goal (negative: too many) when every processor goes on for `by` time units. */
static double missing(const struct procs *ps, uint64_t items, const double *real,
		      const double *rate, double by)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ps->n; i++)
		sum += whole_part(ps, i, items, real[i] + by * rate[i]);
	return (double)items - (double)sum;
}

/* The time by which to go on, by secants kept inside a bracket. */
static double later_by(const struct procs *ps, uint64_t items, const double *real,
		       const double *rate)
{
	double lo = 0, hi, sum = 0, short_lo = missing(ps, items, real, rate, 0), short_hi;

	for (size_t i = 0; i < ps->n; i++)
		sum += rate[i];
	if (!(short_lo > NEAR) || !(sum > 0) || !isfinite(sum))
		return 0;
	hi = 2 * short_lo / sum;
	short_hi = missing(ps, items, real, rate, hi);
	for (int step = 0; step < 8; step++) {
		double by, now;
		if (short_hi >= 0)
			return hi; /* capacities: go on from here item by item */
		by = lo + (hi - lo) * (short_lo / (short_lo - short_hi));
		now = missing(ps, items, real, rate, by);
		if (fabs(now) <= NEAR)
			return by;
		if (now > 0)
			lo = by, short_lo = now;
		else
			hi = by, short_hi = now;
	}
	return lo;
}

void part_initial_rounding(const struct procs *ps, uint64_t items, const double *real, double t,
			   uint64_t *share)
{
	double *rate = NULL, by = 0;

	if (ps->n >= FEW && items < UINT64_C(1) << 53)
		rate = part_calloc(ps->n, sizeof *rate);
	if (rate) {
		for (size_t i = 0; i < ps->n; i++) {
			double k = (double)(ps->speeds[i] * ps->unit);
			double slope = part_unit_slope(ps->cost, real[i], t * k);
			rate[i] = real[i] > 0 ? k / slope : 0;
		}
		by = later_by(ps, items, real, rate);
	}
	for (size_t i = 0; i < ps->n; i++)
		share[i] = whole_part(ps, i, items, real[i] + (rate ? by * rate[i] : 0));
	free(rate);
}
