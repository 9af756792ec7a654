/* SPDX-License-Identifier: GPL-3.0-or-later */
/* weights.c - items of unequal weight, divided into contiguous parts in the order of the
 * processors. The smallest makespan is found by bisection. For a given makespan, each processor in
 * turn takes all items that it can finish by then, which no other division beats. Must not contain:
 * costs. Costs O(n) and about 60 p log n steps for n items and p processors. */
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#include "share.h"

typedef struct weighted_items {
	long double *sum; /* sum[i]: of the first i weights */
	uint64_t items;
	const double *speeds;
	size_t n;
} weighted_items;

static double time_of_part(const weighted_items *w, size_t i, uint64_t first, uint64_t end)
{
	return (double)((w->sum[end] - w->sum[first]) / w->speeds[i]);
}

/* Let each processor take all items that it can end by limit. Return the last time; INFINITY if
 * items remain. */
static double divide_by_limit(const weighted_items *w, double limit, uint64_t *share)
{
	uint64_t at = 0;
	double worst = 0;
	for (size_t i = 0; i < w->n; i++) {
		part_bisection s = { at, w->items, 0 };
		while (bisect_last_step(&s))
			bisect_last_narrow(&s, time_of_part(w, i, at, s.mid) <= limit);
		worst = max_double(worst, time_of_part(w, i, at, s.lo));
		share[i] = s.lo - at;
		at = s.lo;
	}
	return at == w->items ? worst : INFINITY;
}

/* Find the best division: halve the bracket until no double lies between a limit that is too short
 * and the time of a division. Return false if no division ends in finite time. */
static bool divide_best(const weighted_items *w, uint64_t *share)
{
	const long double all = w->sum[w->items];
	long double speed = 0;
	double most = 0;
	for (size_t i = 0; i < w->n; i++) {
		speed += w->speeds[i];
		most = max_double(most, w->speeds[i]);
	}
	double hi = (double)fminl(all / most, DBL_MAX); /* all items on the fastest */
	double lo =
		(double)fminl(all / speed, DBL_MAX) * (1 - 1e-12); /* less, because of rounding */
	if (divide_by_limit(w, hi, share) == INFINITY)
		return false;
	for (;;) {
		const double mid = lo + (hi - lo) / 2;
		if (!(mid > lo && mid < hi))
			break;
		const double t = divide_by_limit(w, mid, share);
		if (t < INFINITY)
			hi = t;
		else
			lo = mid;
	}
	if (divide_by_limit(w, lo, share) == INFINITY)
		divide_by_limit(w, hi, share);
	return true;
}

hetpart_status hetpart_share_weights(hetpart_plan **out, const double *weights, uint64_t items,
				     const double *speeds, size_t nprocs, hetpart_err *err)
{
	weighted_items w = { .items = items, .speeds = speeds, .n = nprocs };
	hetpart_plan *plan = NULL;
	hetpart_status rc;
	uint64_t at = 0;
	if (out)
		*out = NULL;
	if (!out || !weights || !speeds)
		return part_is_null(err, !out ? "out" : !weights ? "weights" : "speeds");
	if ((rc = part_check_items(items, nprocs, err)) != HETPART_OK ||
	    (rc = part_check_numbers(weights, (size_t)items, true, "weight of item", err)) !=
		    HETPART_OK ||
	    (rc = part_check_numbers(speeds, nprocs, false, "speed of processor", err)) !=
		    HETPART_OK)
		return rc;
	if (items < SIZE_MAX / sizeof *w.sum)
		w.sum = part_calloc((size_t)items + 1, sizeof *w.sum);
	if (!w.sum)
		return part_no_memory(err, items, "items");
	for (uint64_t i = 0; i < items; i++)
		w.sum[i + 1] = w.sum[i] + weights[i];
	plan = part_plan_new(nprocs, items, "contiguous parts");
	if (!plan) {
		rc = part_no_memory(err, nprocs, "processors");
		goto out;
	}
	if (!divide_best(&w, plan->share)) {
		rc = part_no_plan(err);
		goto out;
	}
	for (size_t i = 0; i < nprocs; at += plan->share[i++])
		plan->time[i] = time_of_part(&w, i, at, at + plan->share[i]);
	plan->best = true;
	rc = part_plan_close(plan, err);
out:
	free(w.sum);
	return part_plan_return(out, plan, rc);
}
