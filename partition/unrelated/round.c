/* SPDX-License-Identifier: GPL-3.0-or-later */
/* round.c - the best whole shares, from any shares as a start. The next item goes to the processor
 * with the smallest next time, f(n_i + 1)/k_i, for share n_i and speed k_i. The rule (n_i + 1)/k_i
 * of [S4] is right only for linear costs. A plan is optimal if no processor ends after the smallest
 * next time. Must not contain: where the start comes from. Costs O((p + moves) log p). */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "unrelated.h"

typedef struct move {
	long double key;
	size_t proc;
} move;

typedef struct rounding {
	const part_procs *ps;
	uint64_t items;
	uint64_t *share;
	double *now;       /* the times of the shares, as rounded doubles */
	move *e;           /* a heap */
	bool add;          /* smallest next time on top; otherwise largest present time, negated */
	long double added; /* latest time of the items just added; no next time is earlier */
	bool convex;       /* one convex cost: its slope bounds the next time from below */
} rounding;

/* ---------------------------------------------------------------- comparison without the cost */

/* The largest relative error of a time as a double; near 0, the error is at most DBL_MIN. */
#define ROUNDING (8 * DBL_EPSILON)

/* Return whether time a is later than time b, whatever their rounding errors are. */
static inline bool surely_later(double a, double b)
{
	return a <= DBL_MAX && a * (1 - ROUNDING) - DBL_MIN > b;
}

/* Return whether processor i, which ends `share` items at time `now`, would surely end one item
 * more after time `key`. The cost is not evaluated, which saves the logarithm of nearly all
 * processors if few of them can get an item. For f convex, f(n + 1) >= f(n) + f'(n) >= f(n) +
 * f(n)/n. */
static inline bool surely_after(const rounding *r, size_t i, uint64_t share, double now, double key)
{
	const double n = (double)(int64_t)share;
	if (!r->convex || share == 0)
		return false;
	if (surely_later(now * (n + 1), key * n))
		return true;
	const double per_time = (double)(r->ps->speeds[i] * r->ps->unit) / r->ps->cost->scale;
	return surely_later(now + part_unit_slope(r->ps->cost, n, now * per_time) / per_time, key);
}

/* ------------------------------------------------------------------------------------- the heap */

/* Return whether move a is before move b. Of equal keys, an item is added to the faster processor,
 * then to the first one, and removed in the opposite order. */
static bool move_before(const rounding *r, const move *a, const move *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	if (r->ps->speeds && r->ps->speeds[a->proc] != r->ps->speeds[b->proc])
		return (r->ps->speeds[a->proc] > r->ps->speeds[b->proc]) == r->add;
	return (a->proc < b->proc) == r->add;
}

/* Return the key of the next move of processor i; INFINITY: none is possible. */
static long double move_key(const rounding *r, size_t i)
{
	if (!r->add)
		return r->share[i] > part_min(r->ps, i) ? -part_time(r->ps, i, r->share[i])
							: INFINITY;
	if (r->share[i] >= part_cap(r->ps, i, r->items))
		return INFINITY;
	return part_time(r->ps, i, r->share[i] + 1);
}

/* Restore the heap of size moves below index at: the first move is on top (worst: the last one). */
static void move_sift(rounding *r, size_t at, size_t size, bool worst)
{
	const move moving = r->e[at];
	size_t kid;
	while ((kid = 2 * at + 1) < size) {
		if (kid + 1 < size && move_before(r, &r->e[kid + 1], &r->e[kid]) != worst)
			kid++;
		if (move_before(r, &r->e[kid], &moving) == worst)
			break;
		r->e[at] = r->e[kid];
		at = kid;
	}
	r->e[at] = moving;
}

static void moves_heapify(rounding *r, size_t size, bool worst)
{
	for (size_t i = size / 2; i-- > 0;)
		move_sift(r, i, size, worst);
}

/* Fill the heap with the `size` first moves of all processors, with the last of these moves on top.
 * Only these processors can take part in the next `size` moves. Processors that are surely after
 * the last one are skipped without evaluating the cost. */
static void moves_fill(rounding *r, size_t size)
{
	for (size_t i = 0; i < size; i++)
		r->e[i] = (move){ move_key(r, i), i };
	moves_heapify(r, size, true);
	double last = (double)r->e[0].key;
	for (size_t i = size; i < r->ps->n; i++) {
		if (r->add ? surely_after(r, i, r->share[i], r->now[i], last)
			   : surely_later(-last, r->now[i]))
			continue;
		const move e = { move_key(r, i), i };
		if (!move_before(r, &e, &r->e[0]))
			continue;
		r->e[0] = e;
		move_sift(r, 0, size, true);
		last = (double)r->e[0].key;
	}
}

/* ---------------------------------------------------------------------------------------- moves */

/* Return whether each processor in the heap surely takes one item before any takes a second one. */
static bool one_each(const rounding *r, size_t size)
{
	const double last = (double)r->e[0].key;
	for (size_t j = 0; j < size; j++)
		if (!surely_after(r, r->e[j].proc, r->share[r->e[j].proc] + 1, (double)r->e[j].key,
				  last))
			return false;
	return r->add && last < INFINITY;
}

/* Add an item. The key of the move is the time of the processor's new share. */
static void add_item(rounding *r, const move *e)
{
	r->share[e->proc]++;
	r->now[e->proc] = (double)e->key;
}

/* Add or remove count items. Return HETPART_ERANGE if no processor can take or give an item. */
static hetpart_status move_items(rounding *r, bool add, uint64_t count, hetpart_err *err)
{
	const size_t size = (size_t)min_u64(count, r->ps->n);
	hetpart_status rc = HETPART_OK;
	r->add = add && count;
	if (count == 0)
		return HETPART_OK;
	if (!part_array(r->e, size))
		return part_no_memory(err, r->ps->n, "processors");
	moves_fill(r, size);
	r->added = r->e[0].key;
	if (count == size && one_each(r, size)) {
		for (size_t j = 0; j < size; j++)
			add_item(r, &r->e[j]);
		count = 0;
	}
	if (count)
		moves_heapify(r, size, false);
	for (; count; count--) {
		move *const top = &r->e[0];
		r->added = top->key;
		if (top->key == INFINITY) {
			rc = part_no_plan(err);
			break;
		}
		if (r->add) {
			add_item(r, top);
		} else {
			r->share[top->proc]--;
			r->now[top->proc] =
				(double)part_time(r->ps, top->proc, r->share[top->proc]);
		}
		top->key = move_key(r, top->proc);
		move_sift(r, 0, size, false);
	}
	free(r->e);
	return rc;
}

/* Add or remove items until the shares sum to r->items. If single moves would take too long, set
 * *too_far and change nothing. */
static hetpart_status reach_sum(rounding *r, bool *too_far, hetpart_err *err)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < r->ps->n; i++)
		if (__builtin_add_overflow(sum, r->share[i], &sum))
			sum = UINT64_MAX;
	const bool over = sum > r->items;
	const uint64_t count = over ? sum - r->items : r->items - sum;
	*too_far = count > 4 * (uint64_t)r->ps->n + (1 << 18);
	return *too_far ? HETPART_OK : move_items(r, !over, count, err);
}

/* Make the plan optimal. Every other plan ends at the smallest next time or later. So processors
 * that end after this time give items back. Adding these by the greedy rule is optimal. */
static hetpart_status give_back_late_items(rounding *r, bool *too_far, hetpart_err *err)
{
	long double next = r->added; /* the smallest next time, or a time that is not larger */
	bool changed = false;
	if (!r->add) {
		r->add = true;
		next = INFINITY;
		for (size_t i = 0; i < r->ps->n; i++)
			if (!surely_after(r, i, r->share[i], r->now[i], (double)next))
				next = fminl(next, move_key(r, i));
	}
	for (size_t i = 0; i < r->ps->n; i++) {
		if (surely_later((double)next, r->now[i]))
			continue;
		const uint64_t least = part_min(r->ps, i);
		if (r->share[i] <= least || part_time(r->ps, i, r->share[i]) <= next)
			continue;
		r->share[i] = part_most(r->ps, i, least, r->share[i] - 1, next);
		r->now[i] = (double)part_time(r->ps, i, r->share[i]);
		changed = true;
	}
	return changed ? reach_sum(r, too_far, err) : HETPART_OK;
}

/* Set r. Bring share[] within capacities and minimums, and store their times in now[]. */
static void rounding_init(rounding *r, const part_procs *ps, uint64_t items, uint64_t *share,
			  double *now)
{
	const hetpart_cost *const c = ps->cost;
	*r = (rounding){ .ps = ps, .items = items, .share = share, .now = now };
	r->convex = c && (c->kind == COST_NLOGN || c->kind == COST_NLOG2N1 ||
			  hetpart_cost_is_linear(c) || (c->kind == COST_POWER && c->exponent >= 1));
	for (size_t i = 0; i < ps->n; i++)
		share[i] = max_u64(min_u64(share[i], part_cap(ps, i, items)), part_min(ps, i));
	part_times(ps, share, now);
}

hetpart_status part_round_exact(const part_procs *ps, uint64_t items, uint64_t *share, double *time,
				bool *too_far, hetpart_err *err)
{
	rounding r;
	rounding_init(&r, ps, items, share, time);
	hetpart_status rc = reach_sum(&r, too_far, err);
	if (rc == HETPART_OK && !*too_far)
		rc = give_back_late_items(&r, too_far, err);
	part_scale(time, time, ps->n, ps->unit);
	return rc;
}

hetpart_status part_round_keep(const part_procs *ps, uint64_t items, uint64_t *share,
			       hetpart_err *err)
{
	double *const now = part_calloc(ps->n, sizeof *now);
	rounding r;
	bool too_far;
	if (!now)
		return part_no_memory(err, ps->n, "processors");
	rounding_init(&r, ps, items, share, now);
	const hetpart_status rc = reach_sum(&r, &too_far, err);
	free(now);
	if (rc == HETPART_OK && too_far)
		return part_invalid(err, "the real shares do not sum to the items");
	return rc;
}
