/* SPDX-License-Identifier: GPL-3.0-or-later */
/* procs.c - the time of n items on processor i, and the checks common to all planners. Must not
 * contain: how shares are found. A check takes O(p) time, a time one evaluation of a cost. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "part.h"

long double part_time(const part_procs *ps, size_t i, uint64_t n)
{
	const uint64_t all = ps->block ? n * ps->block : n; /* at most the items of the plan */
	const long double t = part_cost_fine(ps->costs ? ps->costs[i] : ps->cost, all);
	if (!(t >= 0)) {
		if (!ps->bad->seen)
			*ps->bad = (part_bad_cost){ true, i, all, (double)t };
		return INFINITY;
	}
	return ps->costs ? t : t / (ps->speeds[i] * ps->unit);
}

void part_times(const part_procs *ps, const uint64_t *n, double *time)
{
	const bool nlogn = !ps->costs && !ps->block && ps->cost->kind == COST_NLOGN;
	for (size_t i = 0; i < ps->n; i++)
		if (nlogn && n[i] < UINT64_C(1) << 53) { /* part_cost_fine() without its branches */
			const double x = (double)(int64_t)n[i];
			const long double t =
				(long double)ps->cost->scale * (x > 1 ? x * log(x) : 0);
			time[i] = (double)(t / (ps->speeds[i] * ps->unit));
		} else {
			time[i] = (double)part_time(ps, i, n[i]);
		}
}

uint64_t part_most(const part_procs *ps, size_t i, uint64_t lo, uint64_t hi, long double limit)
{
	part_bisection s = { lo, hi, 0 };
	while (bisect_last_step(&s))
		bisect_last_narrow(&s, part_time(ps, i, s.mid) <= limit);
	return s.lo;
}

void part_scale(double *to, const double *from, size_t n, long double unit)
{
	const double by = (double)unit;
	if (by >= DBL_MIN && by <= DBL_MAX)
		for (size_t i = 0; i < n; i++)
			to[i] = from[i] * by;
	else
		for (size_t i = 0; i < n; i++)
			to[i] = (double)(from[i] * unit);
}

hetpart_status part_plan_times(hetpart_plan *pl, const part_procs *ps, hetpart_err *err)
{
	const long double unit = ps->costs ? 1 : ps->unit;
	for (size_t i = 0; i < pl->nprocs; i++) {
		const long double t = part_time(ps, i, pl->share[i]);
		if (t == INFINITY && !ps->bad->seen)
			return part_fail(err, HETPART_ERANGE,
					 "processor %zu cannot end %" PRIu64
					 " items in finite time",
					 i, pl->share[i]);
		pl->time[i] = (double)(t * unit);
	}
	if (ps->bad->seen)
		return part_invalid(
			err, "the cost of processor %zu gives time '%g' for %" PRIu64 " items",
			ps->bad->proc, ps->bad->time, ps->bad->items);
	return part_plan_close(pl, err);
}

hetpart_status part_check_items(uint64_t items, size_t nprocs, hetpart_err *err)
{
	if (nprocs == 0)
		return part_invalid(err, "the number of processors is '0': must be at least 1");
	if (items > HETPART_ITEMS_MAX)
		return part_fail(err, HETPART_ERANGE,
				 "the number of items is '%" PRIu64 "': must be at most %" PRIu64,
				 items, HETPART_ITEMS_MAX);
	return HETPART_OK;
}

hetpart_status part_check_caps(const part_procs *ps, uint64_t items, hetpart_err *err)
{
	uint64_t room = 0;
	if (!ps->caps)
		return HETPART_OK;
	for (size_t i = 0; i < ps->n && room < items; i++)
		room = add_capped(room, part_cap(ps, i, items), items);
	if (room < items)
		return part_fail(err, HETPART_ERANGE,
				 "the capacities hold '%" PRIu64 "' items of %" PRIu64 ": %" PRIu64
				 " too few",
				 room, items, items - room);
	return HETPART_OK;
}

hetpart_status part_check_mins(const part_procs *ps, uint64_t items, hetpart_err *err)
{
	uint64_t sum = 0;
	for (size_t i = 0; ps->mins && i < ps->n; i++) {
		if (part_min(ps, i) > part_cap(ps, i, UINT64_MAX))
			return part_fail(err, HETPART_ERANGE,
					 "the minimum of processor %zu is more than its capacity",
					 i);
		if (__builtin_add_overflow(sum, part_min(ps, i), &sum))
			sum = UINT64_MAX;
		if (sum > items)
			return part_fail(err, HETPART_ERANGE,
					 "the minimums take more than the '%" PRIu64 "' %s", items,
					 ps->block ? "whole multiples of the quantum" : "items");
	}
	return HETPART_OK;
}
