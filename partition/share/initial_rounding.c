/* SPDX-License-Identifier: GPL-3.0-or-later */
/* initial_rounding.c - whole shares near the optimum from real ones with equal times. The floors
 * lack p/2 items; the floors at a time a little later lack next to none, which saves the heap most
 * of its work when p is large. May not touch: the rounding itself, which is exact from any start.
 * Costs O(p) for each step: two, or about ten from a start far off, or eight more where many speeds
 * are equal. */
#include <math.h>
#include <stdlib.h>

#include "share.h"

#define FEW 1000 /* processors: below this the heap is as fast */

/* Items short of the goal (negative: too many) when every processor goes on for `by` time units,
 * and how fast those grow that are not at a limit. */
static double missing(const struct procs *ps, uint64_t items, const double *real,
		      const double *rate, double by, double *growth)
{
	uint64_t sum = 0;
	double free_growth = 0;

	if (ps->caps || ps->mins) {
		for (size_t i = 0; i < ps->n; i++) {
			double x = real[i] + by * rate[i];
			uint64_t whole = whole_part(ps, i, items, x);
			sum += whole;
			free_growth += fabs(x - (double)whole) <= 1 ? rate[i] : 0;
		}
		*growth = free_growth;
	} else /* no limit but the sum, which is a few items more */
		for (size_t i = 0; i < ps->n; i++)
			sum += (uint64_t)(int64_t)(real[i] + by * rate[i]);
	return (double)items - (double)sum;
}

/* The time by which to go on: as if fractions were spread evenly, so that half an item is lost for
 * each processor, and then by what is missing, inside a bracket. */
static double later_by(const struct procs *ps, uint64_t items, const double *real,
		       const double *rate)
{
	double near = 64 + (double)ps->n / 4096, lo = 0, hi = INFINITY, by, sum = 0, growth = 0;

	for (size_t i = 0; i < ps->n; i++) {
		sum += real[i];
		growth += rate[i];
	}
	if (!(growth > 0) || !isfinite(growth) || !isfinite(sum))
		return 0;
	by = later(0, ((double)items - sum + (double)ps->n / 2) / growth);
	for (int step = 0, bounded = 0; step < 50 && bounded < 8; step++) {
		double lack = missing(ps, items, real, rate, by, &growth);
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

void part_initial_rounding(const struct procs *ps, uint64_t items, const double *real,
			   const double *rate, uint64_t *share)
{
	double by = 0;

	if (ps->n >= FEW && items < UINT64_C(1) << 53)
		by = later_by(ps, items, real, rate);
	for (size_t i = 0; i < ps->n; i++)
		share[i] = whole_part(ps, i, items, real[i] + by * rate[i]);
}
