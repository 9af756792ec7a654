/* SPDX-License-Identifier: GPL-3.0-or-later */
/* round.c - whole shares from a start: the next item goes to the smallest f(n_i + 1)/k_i, and the
 * certificate that the result is optimal [S4]. The paper's rule (n_i + 1)/k_i, without f, is right
 * for linear costs only. May not touch: where the start comes from. Costs O((p + moves) log p). */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "unrelated.h"

struct entry {
	long double key;
	size_t proc;
};

struct heap {
	const part_procs *ps;
	uint64_t items;
	uint64_t *share;
	double *now; /* the times of the shares, rounded */
	struct entry *e;
	bool add;          /* smallest next time on top; otherwise largest present time, negated */
	long double added; /* the largest key that the last moves added; no next time is smaller */
	bool convex;       /* one convex cost: its slope tells the next time from below */
};

/* What a time may be off by, as a double: relatively, and where it is next to 0. */
#define ROUNDING (8 * DBL_EPSILON)

/* Ties go to the faster processor, then to the first, so that the order given does not matter. */
static bool before(const struct heap *h, const struct entry *a, const struct entry *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	if (h->ps->speeds && h->ps->speeds[a->proc] != h->ps->speeds[b->proc])
		return (h->ps->speeds[a->proc] > h->ps->speeds[b->proc]) == h->add;
	return (a->proc < b->proc) == h->add;
}

static long double key_of(const struct heap *h, size_t i)
{
	if (!h->add)
		return h->share[i] > part_min(h->ps, i) ? -part_time(h->ps, i, h->share[i])
							: INFINITY;
	if (h->share[i] >= part_cap(h->ps, i, h->items))
		return INFINITY;
	return part_time(h->ps, i, h->share[i] + 1);
}

static bool is_convex(const hetpart_cost *c)
{
	return c->kind == COST_NLOGN || c->kind == COST_NLOG2N1 || hetpart_cost_is_linear(c) ||
	       (c->kind == COST_POWER && c->exponent >= 1);
}

/* Whether the first time is later than the second, whatever their rounding did. */
static inline bool surely_later(double a, double b)
{
	return a <= DBL_MAX && a * (1 - ROUNDING) - DBL_MIN > b;
}

static bool slope_after(const struct heap *h, size_t i, double n, double now, double key)
{
	double per_time = (double)(h->ps->speeds[i] * h->ps->unit) / h->ps->cost->scale;
	double slope = part_unit_slope(h->ps->cost, n, now * per_time);

	return surely_later(now + slope / per_time, key);
}

/* Whether processor i, which ends share items now, surely ends the next one after key, told without
 * the cost: saves the logarithm of nearly all processors where few of them can get an item. For f
 * convex, f(n + 1) >= f(n) + f'(n) >= f(n) + f(n)/n. */
static inline bool surely_after(const struct heap *h, size_t i, uint64_t share, double now,
				double key)
{
	double n = (double)(int64_t)share;

	if (!h->convex || share == 0)
		return false;
	return surely_later(now * (n + 1), key * n) || slope_after(h, i, n, now, key);
}

/* Restore the heap of size entries below at; the first (or, if worst, the last) is on top. */
static void sift(struct heap *h, size_t at, size_t size, bool worst)
{
	struct entry moving = h->e[at];
	size_t kid;

	while ((kid = 2 * at + 1) < size) {
		if (kid + 1 < size && before(h, &h->e[kid + 1], &h->e[kid]) != worst)
			kid++;
		if (before(h, &h->e[kid], &moving) == worst)
			break;
		h->e[at] = h->e[kid];
		at = kid;
	}
	h->e[at] = moving;
}

static void heapify(struct heap *h, size_t size, bool worst)
{
	for (size_t i = size / 2; i-- > 0;)
		sift(h, i, size, worst);
}

/* Whether processor i surely comes after the heap's top, of that key, judged without the cost. */
static inline bool surely_not_before(const struct heap *h, size_t i, double key)
{
	if (h->add)
		return surely_after(h, i, h->share[i], h->now[i], key);
	return surely_later(-key, h->now[i]);
}

/* count moves concern none but the count first processors: keep those, the last on top. */
static void heap_fill(struct heap *h, size_t size)
{
	size_t n = h->ps->n;
	double last;

	for (size_t i = 0; i < size; i++)
		h->e[i] = (struct entry){ key_of(h, i), i };
	heapify(h, size, true);
	last = (double)h->e[0].key;
	for (size_t i = size; i < n; i++) {
		if (surely_not_before(h, i, last))
			continue;
		struct entry e = { key_of(h, i), i };
		if (!before(h, &e, &h->e[0]))
			continue;
		h->e[0] = e;
		sift(h, 0, size, true);
		last = (double)h->e[0].key;
	}
}

/* Whether none of those kept can take a second item before the last of them takes its first. */
static bool one_each(const struct heap *h, size_t size)
{
	double last = (double)h->e[0].key;

	for (size_t j = 0; j < size; j++)
		if (!surely_after(h, h->e[j].proc, h->share[h->e[j].proc] + 1, (double)h->e[j].key,
				  last))
			return false;
	return h->add && last < INFINITY;
}

/* The key of an entry counts as the time of its processor's new share. */
static void add_one(struct heap *h, const struct entry *e)
{
	h->share[e->proc]++;
	h->now[e->proc] = (double)e->key;
}

static void remove_one(struct heap *h, const struct entry *e)
{
	h->share[e->proc]--;
	h->now[e->proc] = (double)part_time(h->ps, e->proc, h->share[e->proc]);
}

/* The first moves an item, and again, count times. */
static hetpart_status move_in_order(struct heap *h, size_t size, uint64_t count, hetpart_err *err)
{
	heapify(h, size, false);
	for (; count; count--) {
		h->added = h->e[0].key;
		if (h->e[0].key == INFINITY)
			return part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
		if (h->add)
			add_one(h, &h->e[0]);
		else
			remove_one(h, &h->e[0]);
		h->e[0].key = key_of(h, h->e[0].proc);
		sift(h, 0, size, false);
	}
	return HETPART_OK;
}

/* Move count items in (add) or out; HETPART_ERANGE when no processor can take or give one. */
static hetpart_status heap_move(struct heap *h, bool add, uint64_t count, hetpart_err *err)
{
	size_t size = (size_t)min_u64(count, h->ps->n);
	hetpart_status rc = HETPART_OK;

	h->add = add && count;
	if (count == 0)
		return HETPART_OK;
	h->e = part_calloc(size, sizeof *h->e);
	if (!h->e)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", h->ps->n);
	heap_fill(h, size);
	h->added = h->e[0].key;
	if (count == size && one_each(h, size))
		for (size_t j = 0; j < size; j++)
			add_one(h, &h->e[j]);
	else
		rc = move_in_order(h, size, count, err);
	free(h->e);
	return rc;
}

/* How many items the shares are short of items, or *over it. */
static uint64_t difference(const part_procs *ps, uint64_t items, const uint64_t *share,
			   bool *over)
{
	uint64_t sum = 0;

	*over = false;
	for (size_t i = 0; i < ps->n; i++)
		if (__builtin_add_overflow(sum, share[i], &sum))
			sum = UINT64_MAX;
	*over = sum > items;
	return *over ? sum - items : items - sum;
}

/* Bring the sum to items. *too_far: by single moves this would take too long. */
static hetpart_status reach_sum(struct heap *h, bool *too_far, hetpart_err *err)
{
	bool over;
	uint64_t count = difference(h->ps, h->items, h->share, &over);

	*too_far = count > 4 * (uint64_t)h->ps->n + (1 << 18);
	return *too_far ? HETPART_OK : heap_move(h, !over, count, err);
}

/* The smallest next time, or what is not larger. */
static long double smallest_next_time(struct heap *h)
{
	long double next = INFINITY;

	if (h->add)
		return h->added;
	h->add = true;
	for (size_t i = 0; i < h->ps->n; i++)
		if (!surely_after(h, i, h->share[i], h->now[i], (double)next))
			next = fminl(next, key_of(h, i));
	return next;
}

/* No plan can do without the smallest next time (or it is this very plan): processors that take
 * longer give items back, and the greedy rule from there is optimal. */
static hetpart_status trim(struct heap *h, bool *too_far, hetpart_err *err)
{
	long double next = smallest_next_time(h);
	bool trimmed = false;

	for (size_t i = 0; i < h->ps->n; i++) {
		uint64_t least;
		if (surely_later((double)next, h->now[i]))
			continue;
		least = part_min(h->ps, i);
		if (h->share[i] <= least || part_time(h->ps, i, h->share[i]) <= next)
			continue;
		h->share[i] = part_most(h->ps, i, least, h->share[i] - 1, next);
		h->now[i] = (double)part_time(h->ps, i, h->share[i]);
		trimmed = true;
	}
	return trimmed ? reach_sum(h, too_far, err) : HETPART_OK;
}

static hetpart_status round_shares(const part_procs *ps, uint64_t items, uint64_t *share,
				   double *time, bool exact, bool *too_far, hetpart_err *err)
{
	struct heap h = { .ps = ps, .items = items, .share = share };
	hetpart_status rc;

	*too_far = false;
	h.convex = ps->cost && is_convex(ps->cost);
	h.now = time ? time : part_calloc(ps->n, sizeof *h.now);
	if (!h.now)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", ps->n);
	for (size_t i = 0; i < ps->n; i++)
		share[i] = max_u64(min_u64(share[i], part_cap(ps, i, items)), part_min(ps, i));
	part_times(ps, share, h.now);
	rc = reach_sum(&h, too_far, err);
	if (rc == HETPART_OK && exact && !*too_far)
		rc = trim(&h, too_far, err);
	if (time)
		part_scale(time, time, ps->n, ps->unit);
	if (!time)
		free(h.now);
	return rc;
}

hetpart_status part_round_exact(const part_procs *ps, uint64_t items, uint64_t *share,
				double *time, bool *too_far, hetpart_err *err)
{
	return round_shares(ps, items, share, time, true, too_far, err);
}

hetpart_status part_round_keep(const part_procs *ps, uint64_t items, uint64_t *share,
			       hetpart_err *err)
{
	bool too_far;
	hetpart_status rc = round_shares(ps, items, share, NULL, false, &too_far, err);

	if (rc == HETPART_OK && too_far)
		return part_fail(err, HETPART_EINVAL, "the real shares do not sum to the items");
	return rc;
}
