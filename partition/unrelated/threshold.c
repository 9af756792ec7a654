/* SPDX-License-Identifier: GPL-3.0-or-later */
/* threshold.c - best whole shares for any increasing costs: bisection on the makespan T, processor
 * i taking the most items it can end by T, then dropping items that cost exactly T.
 * When the budget ends it gives what is known to end by the upper end of the bracket.
 * May not touch: real shares. Costs O(p) memory and about 100 p calls of the cost. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "unrelated.h"

struct bracket {
	const part_procs *ps;
	uint64_t items;
	uint64_t *lo, *hi; /* most items at time t_lo (sum < items), at t_hi (sum >= items) */
	uint64_t *mid;
	long double t_lo, t_hi;
};

/* One bisection over a processor's items: whether the budget has ended. */
static bool spend(const part_procs *ps, size_t i)
{
	const hetpart_cost *cost = ps->costs ? ps->costs[i] : ps->cost;

	return ps->budget &&
	       part_spend(ps->budget, cost->kind == COST_CALLBACK ? BUDGET_STRIDE / 16 : 1024);
}

static bool ended(const struct bracket *b)
{
	return b->ps->budget && b->ps->budget->why != HETPART_OK;
}

/* Whether i has the very cost of the processor before it, and the same bracket. */
static bool as_before(const struct bracket *b, size_t i)
{
	return i > 0 && b->ps->costs && b->ps->costs[i] == b->ps->costs[i - 1] &&
	       b->lo[i] == b->lo[i - 1] && b->hi[i] == b->hi[i - 1];
}

/* Most items every processor can end by t, into mid; the sum, at most items. Of a group with the
 * same cost, side by side, one is looked at. */
static uint64_t fill(struct bracket *b, long double t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->ps->n; i++) {
		if (as_before(b, i))
			b->mid[i] = b->mid[i - 1];
		else if (spend(b->ps, i))
			break;
		else
			b->mid[i] = part_most(b->ps, i, b->lo[i], b->hi[i], t);
		sum = add_capped(sum, b->mid[i], b->items);
	}
	return sum;
}

/* mid is what fill() has for t, unless the budget ended meanwhile. */
static void narrow(struct bracket *b, long double t, bool enough)
{
	if (ended(b))
		return;
	uint64_t **side = enough ? &b->hi : &b->lo, *was = *side;

	*side = b->mid;
	b->mid = was;
	*(enough ? &b->t_hi : &b->t_lo) = t;
}

/* Half way by exponent while that differs, then by value: neighbours after about 80 steps, over the
 * whole range of a long double. */
static long double between(long double a, long double b)
{
	int ea = LDBL_MIN_EXP - LDBL_MANT_DIG, eb;

	if (a > 0)
		frexpl(a, &ea);
	frexpl(b, &eb);
	return eb - ea > 1 ? ldexpl(1, (ea + eb) / 2 - 1) : a + (b - a) / 2;
}

/* Items between lo and hi, over all. */
static uint64_t gap(const struct bracket *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->ps->n; i++)
		if (__builtin_add_overflow(sum, b->hi[i] - b->lo[i], &sum))
			return UINT64_MAX;
	return sum;
}

/* Every processor has lo; what lacks comes from [lo, hi], all of it at cost t_hi. */
static void give_out(const struct bracket *b, uint64_t *share)
{
	uint64_t left = b->items;

	for (size_t i = 0; i < b->ps->n; i++)
		left -= share[i] = b->lo[i];
	for (size_t i = 0; i < b->ps->n && left; i++) {
		uint64_t more = min_u64(b->hi[i] - b->lo[i], left);
		share[i] += more;
		left -= more;
	}
}

/* Halve until the two ends are neighbours, or so few items are between them that giving out the
 * cheapest one by one is less work. */
static hetpart_status narrow_down(struct bracket *b, uint64_t *share, hetpart_err *err)
{
	long double t;

	while ((t = between(b->t_lo, b->t_hi)) > b->t_lo && t < b->t_hi && !ended(b)) {
		if (gap(b) <= 4 * (uint64_t)b->ps->n) {
			for (size_t i = 0; i < b->ps->n; i++)
				share[i] = b->lo[i];
			return part_round_keep(b->ps, b->items, share, err);
		}
		narrow(b, t, fill(b, t) >= b->items);
	}
	give_out(b, share);
	return HETPART_OK;
}

/* Most items in finite time, into mid; usually all that the capacity allows. */
static uint64_t fill_finite(struct bracket *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->ps->n; i++) {
		b->mid[i] = b->hi[i];
		if (part_time(b->ps, i, b->hi[i]) > LDBL_MAX)
			b->mid[i] = part_most(b->ps, i, b->lo[i], b->hi[i], LDBL_MAX);
		sum = add_capped(sum, b->mid[i], b->items);
	}
	return sum;
}

static void try_time(struct bracket *b, long double t)
{
	if (t > b->t_lo && t < b->t_hi)
		narrow(b, t, fill(b, t) >= b->items);
}

/* Some processor takes items/p or more, and if all take just that, the slowest ends last: the
 * makespan is rarely outside of these two. */
static void first_bracket(struct bracket *b)
{
	uint64_t mean = divide_up(b->items, b->ps->n);
	long double least = LDBL_MAX, most = 0;

	for (size_t i = 0; i < b->ps->n; i++) {
		long double t = part_time(b->ps, i, mean);
		least = fminl(least, t);
		most = fmaxl(most, t);
	}
	try_time(b, most);
	try_time(b, least / 2);
}

static hetpart_status bisect(struct bracket *b, uint64_t *share, hetpart_err *err)
{
	const part_procs *ps = b->ps;
	long double least = 0, most = 0;

	for (size_t i = 0; i < ps->n; i++) {
		long double t;
		b->hi[i] = part_cap(ps, i, b->items);
		b->lo[i] = part_min(ps, i);
		t = part_time(ps, i, b->lo[i]);
		most = fmaxl(most, t);
		if (b->lo[i] ==
		    0) /* the others' minimums must not keep the rest from equal times */
			least = fmaxl(least, t);
	}
	if (most > LDBL_MAX || fill_finite(b) < b->items)
		return part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
	narrow(b, LDBL_MAX, true);
	if (fill(b, least) >= b->items && !ended(b)) {
		narrow(b, least, true); /* lo is the minimum for all */
		give_out(b, share);
		return HETPART_OK;
	}
	narrow(b, least, false);
	first_bracket(b);
	return narrow_down(b, share, err);
}

hetpart_status part_threshold(const part_procs *ps, uint64_t items, uint64_t *share,
			      double *lower, hetpart_err *err)
{
	struct bracket b = { .ps = ps, .items = items };
	hetpart_status rc;

	b.lo = part_calloc(ps->n, sizeof *b.lo);
	b.hi = part_calloc(ps->n, sizeof *b.hi);
	b.mid = part_calloc(ps->n, sizeof *b.mid);
	if (b.lo && b.hi && b.mid)
		rc = bisect(&b, share, err);
	else
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", ps->n);
	if (lower)
		*lower = (double)(b.t_lo * (ps->costs ? 1 : ps->unit));
	free(b.lo);
	free(b.hi);
	free(b.mid);
	return rc;
}
