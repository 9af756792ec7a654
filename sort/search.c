/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact multi-way selection. Splitter j is looked after by rank j: it gathers proposals, names the
 * pivot and rules from the counts. Per rank and round O(P) bytes, in O(log N) rounds. */
#include "search.h"

#include <stdlib.h>

/* A rank's proposal for one splitter; stride 8 + item_bytes. */
typedef struct proposal {
	uint64_t width; /* places left here, 0: none */
	item it;        /* the entry in their middle */
} proposal;

enum verdict { DONE, GO_LEFT, GO_RIGHT, HIT };

/* The buffers of a search, all of P elements. */
typedef struct board {
	size_t p, stride;
	unsigned char *out, *in; /* proposals; out doubles as the pivots of all splitters */
	uint64_t *counts, *sums;
	unsigned char *pivots;
	const proposal **order; /* for the median */
} board;

static const proposal *proposal_at(const unsigned char *base, const board *b, size_t i)
{
	return (const void *)(base + i * b->stride);
}

uint64_t entries_before(const records *r, const entry *e, uint64_t lo, uint64_t hi, const item *it)
{
	while (lo < hi) {
		const uint64_t mid = lo + (hi - lo) / 2;
		if (entry_item_cmp(&e[mid], it, r) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Rank j's verdict on its own splitter: does each end of the guess hold? */
static range ends_that_hold(const comm *c, const range *in, const uint64_t *target, size_t count)
{
	range sum = { 0, 0 };
	if ((size_t)c->rank >= count)
		return sum;
	for (int i = 0; i < c->size; i++)
		sum = (range){ sum.lo + in[i].lo, sum.hi + in[i].hi };
	const uint64_t t = target[c->rank];
	return (range){ sum.lo <= t, sum.hi >= t };
}

status check_ranges(comm *c, mem *m, range *g, size_t n, const uint64_t *target, size_t count,
		    err *er)
{
	const size_t p = (size_t)c->size;
	range *out = mem_array(m, p, sizeof *out, "splitter counts", er);
	range *in = mem_array(m, p, sizeof *in, "splitter counts", er);
	status rc = comm_agree(c, out && in ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		memcpy(out, g, count * sizeof *g);
		rc = comm_alltoall(c, out, in, sizeof *out);
	}
	if (rc == ST_OK) {
		const range holds = ends_that_hold(c, in, target, count);
		rc = comm_allgather(c, &holds, in, sizeof holds);
	}
	for (size_t j = 0; rc == ST_OK && j < count; j++)
		g[j] = (range){ in[j].lo ? g[j].lo : 0, in[j].hi ? g[j].hi : n };
	mem_free(m, out, p, sizeof *out);
	mem_free(m, in, p, sizeof *in);
	return rc;
}

static void propose(const board *b, const records *r, const entry *e, const range *g, size_t count)
{
	for (size_t j = 0; j < count; j++) {
		proposal *q = (void *)(b->out + j * b->stride);
		q->width = g[j].hi - g[j].lo;
		if (q->width)
			item_of(&q->it, &e[g[j].lo + q->width / 2], r);
	}
}

static int by_item(const void *a, const void *b, void *lay)
{
	const proposal *const *x = a, *const *y = b;
	return item_cmp(&(*x)->it, &(*y)->it, lay);
}

/* The proposal in the middle of all places that are left, NULL where none are. */
static const proposal *weighted_median(const board *b, layout *lay)
{
	size_t n = 0;
	uint64_t total = 0, seen = 0;
	for (size_t i = 0; i < b->p; i++) {
		const proposal *q = proposal_at(b->in, b, i);
		if (q->width)
			b->order[n++] = q;
		total += q->width;
	}
	qsort_r(b->order, n, sizeof *b->order, by_item, lay);
	for (size_t i = 0; i < n; i++) {
		seen += b->order[i]->width;
		if (seen > total / 2)
			return b->order[i];
	}
	return NULL;
}

/* My splitter's pivot to everybody, theirs to me; *live tells whether there is any. */
static status name_pivots(comm *c, const board *b, const records *r, size_t count, bool *live)
{
	layout lay = r->lay;
	proposal *mine = (void *)b->out; /* proposals have been sent: their room is free */
	const proposal *median = (size_t)c->rank < count ? weighted_median(b, &lay) : NULL;
	if (median)
		memcpy(mine, median, b->stride);
	else
		mine->width = 0;
	const status rc = comm_allgather(c, mine, b->pivots, b->stride);
	*live = false;
	for (size_t j = 0; rc == ST_OK && j < count; j++)
		*live |= proposal_at(b->pivots, b, j)->width > 0;
	return rc;
}

static void count_before(const board *b, const records *r, const entry *e, const range *g,
			 size_t count)
{
	for (size_t j = 0; j < count; j++) {
		const proposal *q = proposal_at(b->pivots, b, j);
		if (q->width)
			b->counts[j] = entries_before(r, e, g[j].lo, g[j].hi, &q->it);
	}
}

/* Rank j rules for splitter j: which way from the pivot, or right there. */
static uint64_t rule(const comm *c, const board *b, const uint64_t *target, size_t count)
{
	uint64_t sum = 0;
	if ((size_t)c->rank >= count || !proposal_at(b->pivots, b, (size_t)c->rank)->width)
		return DONE;
	for (size_t i = 0; i < b->p; i++)
		sum += b->sums[i];
	const uint64_t t = target[c->rank];
	return sum == t ? HIT : sum > t ? GO_LEFT : GO_RIGHT;
}

static void narrow(const board *b, const records *r, range *g, size_t count)
{
	for (size_t j = 0; j < count; j++) {
		const proposal *q = proposal_at(b->pivots, b, j);
		const uint64_t cut = b->counts[j];
		const bool mine = q->width && q->it.rank == r->rank;
		switch (b->sums[j]) {
		case HIT:
			g[j].lo = g[j].hi = cut;
			break;
		case GO_LEFT:
			g[j].hi = cut;
			break;
		case GO_RIGHT: /* the pivot itself stays on the left: whoever owns it passes it */
			g[j].lo = cut + mine;
			break;
		default:
			break;
		}
	}
}

static status search_round(comm *c, const board *b, const records *r, const entry *e, range *g,
			   const uint64_t *target, size_t count, bool *live)
{
	propose(b, r, e, g, count);
	status rc = comm_alltoall(c, b->out, b->in, b->stride);
	if (rc == ST_OK)
		rc = name_pivots(c, b, r, count, live);
	if (rc != ST_OK || !*live)
		return rc;
	count_before(b, r, e, g, count);
	rc = comm_alltoall(c, b->counts, b->sums, sizeof *b->sums);
	if (rc != ST_OK)
		return rc;
	const uint64_t verdict = rule(c, b, target, count);
	rc = comm_allgather(c, &verdict, b->sums, sizeof verdict);
	if (rc == ST_OK)
		narrow(b, r, g, count);
	return rc;
}

static status board_alloc(mem *m, board *b, size_t p, const layout *l, err *er)
{
	*b = (board){ .p = p, .stride = offsetof(proposal, it) + item_bytes(l) };
	b->out = mem_array(m, p, b->stride, "splitter proposals", er);
	b->in = mem_array(m, p, b->stride, "splitter proposals", er);
	b->pivots = mem_array(m, p, b->stride, "pivots", er);
	b->counts = mem_array(m, p, sizeof *b->counts, "splitter counts", er);
	b->sums = mem_array(m, p, sizeof *b->sums, "splitter counts", er);
	b->order = mem_array(m, p, sizeof *b->order, "proposals", er);
	const bool all = b->out && b->in && b->pivots && b->counts && b->sums && b->order;
	return all ? ST_OK : ST_RESOURCE;
}

static void board_free(mem *m, board *b)
{
	mem_free(m, b->out, b->p, b->stride);
	mem_free(m, b->in, b->p, b->stride);
	mem_free(m, b->pivots, b->p, b->stride);
	mem_free(m, b->counts, b->p, sizeof *b->counts);
	mem_free(m, b->sums, b->p, sizeof *b->sums);
	mem_free(m, b->order, b->p, sizeof *b->order);
}

status search_splitters(comm *c, mem *m, const records *r, const entry *e, range *g,
			const uint64_t *target, size_t count, err *er)
{
	board b;
	bool live = true;
	status rc = comm_agree(c, board_alloc(m, &b, (size_t)c->size, &r->lay, er));
	while (rc == ST_OK && live)
		rc = search_round(c, &b, r, e, g, target, count, &live);
	board_free(m, &b);
	return rc;
}
