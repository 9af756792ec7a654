/* SPDX-License-Identifier: GPL-3.0-or-later */
/* round.c - whole shares from a start: the next item goes to the smallest f(n_i + 1)/k_i, and the
 * certificate that the result is optimal [S4]. The paper's rule (n_i + 1)/k_i, without f, is right
 * for linear costs only. May not touch: where the start comes from. Costs O((p + moves) log p). */
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
	struct entry *e;
	bool add; /* smallest next time on top; otherwise largest present time, negated */
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
		return h->share[i] ? -part_time(h->ps, i, h->share[i]) : INFINITY;
	if (h->share[i] >= part_cap(h->ps, i, h->items))
		return INFINITY;
	return part_time(h->ps, i, h->share[i] + 1);
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
static size_t heap_fill(struct heap *h, bool add, uint64_t count)
{
	size_t n = h->ps->n, size = count < n ? (size_t)count : n;

	h->add = add;
	for (size_t i = 0; i < n; i++) {
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
	return size;
}

/* Move count items in (add) or out; false when no processor can take or give one. */
static bool heap_move(struct heap *h, bool add, uint64_t count)
{
	size_t size = count ? heap_fill(h, add, count) : 0;

	for (; count; count--) {
		size_t i = h->e[0].proc;
		if (h->e[0].key == INFINITY)
			return false;
		h->share[i] += add ? 1 : UINT64_MAX;
		h->e[0].key = key_of(h, i);
		sift(h, 0, size, false);
	}
	return true;
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
static bool reach_sum(struct heap *h, bool *too_far)
{
	bool over;
	uint64_t count = difference(h->ps, h->items, h->share, &over);

	*too_far = count > 4 * (uint64_t)h->ps->n + (1 << 18);
	return *too_far || heap_move(h, !over, count);
}

/* No plan can do without the smallest next time (or it is this very plan): processors that take
 * longer give items back, and the greedy rule from there is optimal. */
static bool trim(struct heap *h, bool *too_far)
{
	long double next = INFINITY;

	for (size_t i = 0; i < h->ps->n; i++)
		if (h->share[i] < part_cap(h->ps, i, h->items))
			next = fminl(next, part_time(h->ps, i, h->share[i] + 1));
	for (size_t i = 0; i < h->ps->n; i++)
		if (h->share[i] && part_time(h->ps, i, h->share[i]) > next)
			h->share[i] = part_most(h->ps, i, 0, h->share[i] - 1, next);
	return reach_sum(h, too_far);
}

static hetpart_status round_shares(const struct procs *ps, uint64_t items, uint64_t *share,
				   bool exact, bool *too_far, hetpart_err *err)
{
	struct heap h = { ps, items, share, NULL, true };
	bool ok;

	*too_far = false;
	h.e = part_calloc(ps->n, sizeof *h.e);
	if (!h.e)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", ps->n);
	for (size_t i = 0; i < ps->n; i++)
		if (share[i] > part_cap(ps, i, items))
			share[i] = part_cap(ps, i, items);
	ok = reach_sum(&h, too_far) && (*too_far || !exact || trim(&h, too_far));
	free(h.e);
	return ok ? HETPART_OK : part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
}

hetpart_status part_round_exact(const struct procs *ps, uint64_t items, uint64_t *share,
				bool *too_far, hetpart_err *err)
{
	return round_shares(ps, items, share, true, too_far, err);
}

hetpart_status part_round_keep(const struct procs *ps, uint64_t items, uint64_t *share,
			       hetpart_err *err)
{
	bool too_far;
	hetpart_status rc = round_shares(ps, items, share, false, &too_far, err);

	if (rc == HETPART_OK && too_far)
		return part_fail(err, HETPART_EINVAL, "the real shares do not sum to the items");
	return rc;
}
