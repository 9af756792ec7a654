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
	const struct procs *ps;
	uint64_t items;
	uint64_t *share;
	long double *now; /* the times of the shares */
	struct entry *e;
	bool add;    /* smallest next time on top; otherwise largest present time, negated */
	bool convex; /* of all costs f(n)/n never falls */
};

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
		return h->share[i] > part_min(h->ps, i) ? -h->now[i] : INFINITY;
	if (h->share[i] >= part_cap(h->ps, i, h->items))
		return INFINITY;
	return part_time(h->ps, i, h->share[i] + 1);
}

/* Whether f(n)/n never falls. */
static bool never_cheaper(const hetpart_cost *c)
{
	return c->kind == COST_NLOGN || c->kind == COST_NLOG2N1 || hetpart_cost_is_linear(c) ||
	       (c->kind == COST_POWER && c->exponent >= 1);
}

/* Whether processor i's next item surely ends after key, told without the cost: saves the logarithm
 * of nearly all processors where few of them can get an item. */
static bool surely_after(const struct heap *h, size_t i, long double key)
{
	long double n = h->share[i];

	return h->convex && h->now[i] * (n + 1) > key * n * (1 + 8 * DBL_EPSILON); /* rounding */
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

/* count moves concern none but the count first processors: keep those, the first on top. */
static void heap_fill(struct heap *h, size_t size)
{
	size_t n = h->ps->n;

	for (size_t i = 0; i < n; i++) {
		if (i >= size && h->add && surely_after(h, i, h->e[0].key))
			continue;
		struct entry e = { key_of(h, i), i };
		if (i < size) {
			h->e[i] = e;
			if (i == size - 1)
				heapify(h, size, true);
		} else if (before(h, &e, &h->e[0])) {
			h->e[0] = e;
			sift(h, 0, size, true);
		}
	}
	heapify(h, size, false);
}

/* Move count items in (add) or out; HETPART_ERANGE when no processor can take or give one. */
static hetpart_status heap_move(struct heap *h, bool add, uint64_t count, hetpart_err *err)
{
	size_t size = (size_t)smaller(count, h->ps->n);
	hetpart_status rc = HETPART_OK;

	if (count == 0)
		return HETPART_OK;
	h->e = part_calloc(size, sizeof *h->e);
	if (!h->e)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", h->ps->n);
	h->add = add;
	heap_fill(h, size);
	for (; count && rc == HETPART_OK; count--) {
		size_t i = h->e[0].proc;
		if (h->e[0].key == INFINITY) {
			rc = part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
			continue;
		}
		h->share[i] += add ? 1 : UINT64_MAX;
		h->now[i] = add ? h->e[0].key : part_time(h->ps, i, h->share[i]);
		h->e[0].key = key_of(h, i);
		sift(h, 0, size, false);
	}
	free(h->e);
	return rc;
}

/* How many items the shares are short of items, or *over it. */
static uint64_t difference(const struct procs *ps, uint64_t items, const uint64_t *share,
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

static long double smallest_next_time(struct heap *h)
{
	long double next = INFINITY;

	h->add = true;
	for (size_t i = 0; i < h->ps->n; i++)
		if (!surely_after(h, i, next))
			next = fminl(next, key_of(h, i));
	return next;
}

/* No plan can do without the smallest next time (or it is this very plan): processors that take
 * longer give items back, and the greedy rule from there is optimal. */
static hetpart_status trim(struct heap *h, bool *too_far, hetpart_err *err)
{
	long double next = smallest_next_time(h);

	for (size_t i = 0; i < h->ps->n; i++)
		if (h->share[i] > part_min(h->ps, i) && h->now[i] > next) {
			h->share[i] =
				part_most(h->ps, i, part_min(h->ps, i), h->share[i] - 1, next);
			h->now[i] = part_time(h->ps, i, h->share[i]);
		}
	return reach_sum(h, too_far, err);
}

static hetpart_status round_shares(const struct procs *ps, uint64_t items, uint64_t *share,
				   double *time, bool exact, bool *too_far, hetpart_err *err)
{
	struct heap h = { .ps = ps, .items = items, .share = share };
	hetpart_status rc;

	*too_far = false;
	h.convex = ps->cost && never_cheaper(ps->cost);
	h.now = part_calloc(ps->n, sizeof *h.now);
	if (!h.now)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", ps->n);
	for (size_t i = 0; i < ps->n; i++) {
		share[i] = larger(smaller(share[i], part_cap(ps, i, items)), part_min(ps, i));
		h.now[i] = part_time(ps, i, share[i]);
	}
	rc = reach_sum(&h, too_far, err);
	if (rc == HETPART_OK && exact && !*too_far)
		rc = trim(&h, too_far, err);
	for (size_t i = 0; time && i < ps->n; i++)
		time[i] = (double)(h.now[i] * ps->unit);
	free(h.now);
	return rc;
}

hetpart_status part_round_exact(const struct procs *ps, uint64_t items, uint64_t *share,
				double *time, bool *too_far, hetpart_err *err)
{
	return round_shares(ps, items, share, time, true, too_far, err);
}

hetpart_status part_round_keep(const struct procs *ps, uint64_t items, uint64_t *share,
			       hetpart_err *err)
{
	bool too_far;
	hetpart_status rc = round_shares(ps, items, share, NULL, false, &too_far, err);

	if (rc == HETPART_OK && too_far)
		return part_fail(err, HETPART_EINVAL, "the real shares do not sum to the items");
	return rc;
}
