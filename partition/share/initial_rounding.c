/* SPDX-License-Identifier: GPL-3.0-or-later */
/* initial_rounding.c - whole shares near the optimum from real ones with equal times. The floors
 * lack p/2 items; the floors at a time a little later lack next to none, which saves the heap most
 * of its work when p is large. May not touch: the rounding itself, which is exact from any start.
 * Costs O(p) for each step: two or three, or eight more where many speeds are equal. */
#include <math.h>
#include <stdlib.h>

#include "share.h"

#define FEW    1000 /* processors: below this the heap is as fast */
#define SAMPLE 8192 /* processors: enough to tell how the sum of all changes */

struct start {
	const part_procs *ps;
	uint64_t items;
	const double *real, *rate;
};

/* The sum of the whole shares when every processor goes on for `by` time units, and how fast those
 * grow that are not at a limit. Only every step-th processor is looked at, for all. */
static double sum_later(const struct start *s, double by, size_t step, double *growth)
{
	const part_procs *ps = s->ps;
	double all = (double)ps->n / (double)((ps->n - 1) / step + 1), free_growth = 0;
	uint64_t sum = 0;

	if (ps->caps || ps->mins) {
		for (size_t i = 0; i < ps->n; i += step) {
			double x = s->real[i] + by * s->rate[i];
			uint64_t whole = whole_part(ps, i, s->items, x);
			sum += whole;
			double over = x - (double)(int64_t)whole; /* below 0 at a minimum */
			free_growth += over >= 0 && over <= 1 ? s->rate[i] : 0;
		}
		*growth = free_growth * all;
	} else /* no limit but the sum, which is a few items more */
		for (size_t i = 0; i < ps->n; i += step)
			sum += (uint64_t)(int64_t)(s->real[i] + by * s->rate[i]);
	return (double)sum * all;
}

/* Go on from `by`, inside a bracket, until the sum is goal, or no more than near items off. */
static double find_later(const struct start *s, double by, double goal, double near, size_t step,
			 double growth)
{
	double lo = 0, hi = INFINITY;

	for (int round = 0, bounded = 0; round < 50 && bounded < 8; round++) {
		double lack = goal - sum_later(s, by, step, &growth);
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

/* The time by which to go on: as if fractions were spread evenly, so that half an item is lost for
 * each processor, and then by what is missing. With limits that is far off: a sample of the
 * processors tells when their sum has changed by that, so that two or three looks at all suffice.
 */
static double later_by(const struct start *s)
{
	const size_t n = s->ps->n, step = n / SAMPLE;
	double goal = (double)s->items, by, sum = 0, growth = 0;

	for (size_t i = 0; i < n; i++) {
		sum += s->real[i];
		growth += s->rate[i];
	}
	if (!(growth > 0) || !isfinite(growth) || !isfinite(sum))
		return 0;
	by = max_double(0, (goal - sum + (double)n / 2) / growth);
	if (step > 3 && (s->ps->caps || s->ps->mins)) {
		double unused, change = goal - sum_later(s, by, 1, &growth), near;
		double now = sum_later(s, by, step, &unused);
		near = find_later(s, by, now + change, fabs(change) / 256, step, growth);
		by = near > 0 ? near : by; /* 0: too few of the sample grow */
	}
	return find_later(s, by, goal, 64 + (double)n / 1024, 1, growth);
}

void part_initial_rounding(const part_procs *ps, uint64_t items, const double *real,
			   const double *rate, uint64_t *share)
{
	const struct start s = { ps, items, real, rate };
	double by = 0;

	if (ps->n >= FEW && items < UINT64_C(1) << 53)
		by = later_by(&s);
	for (size_t i = 0; i < ps->n; i++)
		share[i] = whole_part(ps, i, items, real[i] + by * rate[i]);
}
