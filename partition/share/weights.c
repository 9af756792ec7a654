/* SPDX-License-Identifier: GPL-3.0-or-later */
/* weights.c - items of unequal weight in contiguous parts, in the order of the processors: the
 * smallest makespan, by bisection on it. Each processor in turn takes all that it ends in time,
 * which no other division beats. May not touch: costs. Costs O(n) and about 60 times p log n. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/part.h"

struct parts {
	long double *sum; /* of the first 0 .. items weights */
	uint64_t items;
	const double *speeds;
	size_t n;
};

static double time_of(const struct parts *ps, size_t i, uint64_t first, uint64_t end)
{
	return (double)((ps->sum[end] - ps->sum[first]) / ps->speeds[i]);
}

/* The largest time, at most limit, with shares that take all they can by then; infinite if items
 * are left over. */
static double divide(const struct parts *ps, double limit, uint64_t *share)
{
	uint64_t at = 0;
	double worst = 0;

	for (size_t i = 0; i < ps->n; i++) {
		part_bisection s = { at, ps->items, 0 };
		while (bisect_last_step(&s))
			bisect_last_narrow(&s, time_of(ps, i, at, s.mid) <= limit);
		worst = max_double(worst, time_of(ps, i, at, s.lo));
		share[i] = s.lo - at;
		at = s.lo;
	}
	return at == ps->items ? worst : INFINITY;
}

/* Halves until no double is between a time that is too short and one that a division has. */
static void divide_best(const struct parts *ps, uint64_t *share)
{
	double speed = 0, most = 0, lo, hi;

	for (size_t i = 0; i < ps->n; i++) {
		speed += ps->speeds[i];
		most = max_double(most, ps->speeds[i]);
	}
	hi = (double)(ps->sum[ps->items] / most);                /* all on the fastest */
	lo = (double)(ps->sum[ps->items] / speed) * (1 - 1e-12); /* a double's rounding below all */
	for (;;) {
		double mid = lo + (hi - lo) / 2, t;
		if (!(mid > lo && mid < hi))
			break;
		t = divide(ps, mid, share);
		if (t < INFINITY)
			hi = t;
		else
			lo = mid;
	}
	if (divide(ps, lo, share) == INFINITY)
		divide(ps, hi, share);
}

static hetpart_status check(const double *v, uint64_t n, bool zero, const char *what,
			    hetpart_err *err)
{
	for (uint64_t i = 0; i < n; i++)
		if (!(isfinite(v[i]) && (v[i] > 0 || (zero && v[i] == 0))))
			return part_fail(err, HETPART_EINVAL,
					 "%s %" PRIu64 " is '%g': must be a finite number%s", what, i,
					 v[i], zero ? ", 0 or more" : " above 0");
	return HETPART_OK;
}

static hetpart_status sum_up(struct parts *ps, const double *weights, hetpart_err *err)
{
	if (ps->items >= SIZE_MAX / sizeof *ps->sum)
		return part_fail(err, HETPART_ENOMEM, "no memory for %" PRIu64 " items", ps->items);
	ps->sum = part_calloc((size_t)ps->items + 1, sizeof *ps->sum);
	if (!ps->sum)
		return part_fail(err, HETPART_ENOMEM, "no memory for %" PRIu64 " items", ps->items);
	for (uint64_t i = 0; i < ps->items; i++)
		ps->sum[i + 1] = ps->sum[i] + weights[i];
	for (size_t i = 0; i < ps->n; i++)
		if (!isfinite(time_of(ps, i, 0, ps->items)))
			return part_fail(err, HETPART_ERANGE,
					 "the time of all items on processor %zu is beyond range",
					 i);
	return HETPART_OK;
}

hetpart_status hetpart_share_weights(hetpart_plan **out, const double *weights, uint64_t items,
				     const double *speeds, size_t nprocs, hetpart_err *err)
{
	struct parts ps = { .items = items, .speeds = speeds, .n = nprocs };
	hetpart_plan *plan = NULL;
	hetpart_status rc;
	uint64_t at = 0;

	if (out)
		*out = NULL;
	if (!out || !weights || !speeds)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL",
				 !out       ? "out"
				 : !weights ? "weights"
					    : "speeds");
	if ((rc = part_check_items(items, nprocs, err)) != HETPART_OK ||
	    (rc = check(weights, items, true, "the weight of item", err)) != HETPART_OK ||
	    (rc = check(speeds, nprocs, false, "the speed of processor", err)) != HETPART_OK ||
	    (rc = sum_up(&ps, weights, err)) != HETPART_OK)
		goto out;
	plan = part_plan_new(nprocs, items, "contiguous parts");
	if (!plan) {
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", nprocs);
		goto out;
	}
	divide_best(&ps, plan->share);
	for (size_t i = 0; i < nprocs; at += plan->share[i++])
		plan->time[i] = time_of(&ps, i, at, at + plan->share[i]);
	plan->best = true;
	rc = part_plan_close(plan, err);
out:
	free(ps.sum);
	if (rc == HETPART_OK)
		*out = plan;
	else
		hetpart_plan_free(plan);
	return rc;
}
