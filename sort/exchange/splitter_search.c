/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact multi-way selection. Rank j is in charge of splitter j: it gathers proposals, chooses the
 * pivot and decides by the counts. Per rank and round O(P) bytes, in O(log N) rounds. */
#include "splitter_search.h"

#include <stdlib.h>

/* A round leaves each splitter at most seven eighths of its places: 350 are enough for 2^64. */
enum { MOST_ROUNDS = 1000 };

/* A rank's proposal for one splitter; stride 8 + item_bytes. */
typedef struct proposal {
	uint64_t width; /* places left here, 0: none */
	item it;        /* the entry in their middle */
} proposal;

enum verdict { DONE, GO_LEFT, GO_RIGHT, HIT };

/* The buffers of a search, of P elements where nothing else is said. */
typedef struct search_buffers {
	size_t p, runs, stride;
	unsigned char *out, *in; /* proposals; out doubles as the pivots of all splitters */
	uint64_t *counts, *sums;
	unsigned char *pivots;
	const proposal **order; /* for the median */
	uint64_t *cut;          /* [p * runs] where each pivot cuts each run */
	range *mid;             /* [runs] lo the place, hi how many places it stands for */
	unsigned char *mids;    /* [runs + 1] their items, and one to move */
} search_buffers;

static const proposal *proposal_at(const unsigned char *base, const search_buffers *b, size_t i)
{
	return (const void *)(base + i * b->stride);
}

/* Rank j's verdict on its own splitter: does each end of the estimate hold? */
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

/* How many records of this rank lie before the lower ends of a splitter's ranges, and before the
 * upper. */
static range sum_up(const runs *r, const range *g)
{
	range sum = { 0, 0 };
	for (size_t k = 0; k < r->count; k++) {
		sum.lo += g[k].lo - r->start[k];
		sum.hi += g[k].hi - r->start[k];
	}
	return sum;
}

static void open_ends(const runs *r, range *g, bool lo_holds, bool hi_holds)
{
	for (size_t k = 0; k < r->count; k++) {
		if (!lo_holds)
			g[k].lo = r->start[k];
		if (!hi_holds)
			g[k].hi = r->start[k + 1];
	}
}

status splitter_search_check(comm *c, mem *m, const runs *r, range *g, const uint64_t *target,
			     size_t count, err *er)
{
	const size_t p = (size_t)c->size;
	range *out = mem_array(m, p, sizeof *out, "splitter counts", er);
	range *in = mem_array(m, p, sizeof *in, "splitter counts", er);
	status rc = comm_agree(c, out && in ? ST_OK : ST_RESOURCE);
	for (size_t j = 0; rc == ST_OK && j < count; j++)
		out[j] = sum_up(r, g + j * r->count);
	if (rc == ST_OK)
		rc = comm_alltoall(c, out, in, sizeof *out);
	if (rc == ST_OK) {
		const range holds = ends_that_hold(c, in, target, count);
		rc = comm_allgather(c, &holds, in, sizeof holds);
	}
	for (size_t j = 0; rc == ST_OK && j < count; j++)
		open_ends(r, g + j * r->count, in[j].lo, in[j].hi);
	mem_free(m, out);
	mem_free(m, in);
	return rc;
}

static item *mid_at(const search_buffers *b, const runs *r, size_t i)
{
	return (void *)(b->mids + i * item_bytes(&r->recs.lay));
}

/* The middles of what is left in each run, in order. Returns how many there are, *width: places in
 * all. */
static size_t sort_middles(const search_buffers *b, const runs *r, const range *g, uint64_t *width)
{
	const layout *l = &r->recs.lay;
	const size_t isz = item_bytes(l);
	item *it = mid_at(b, r, r->count);
	size_t n = 0;
	*width = 0;
	for (size_t k = 0; k < r->count; k++) {
		const uint64_t w = g[k].hi - g[k].lo, at = g[k].lo + w / 2;
		if (w == 0)
			continue;
		size_t i = n++;
		runs_item(r, at, it);
		for (; i > 0 && item_cmp(it, mid_at(b, r, i - 1), l) < 0; i--) {
			b->mid[i] = b->mid[i - 1];
			memcpy(mid_at(b, r, i), mid_at(b, r, i - 1), isz);
		}
		b->mid[i] = (range){ at, w };
		memcpy(mid_at(b, r, i), it, isz);
		*width += w;
	}
	return n;
}

/* For each splitter the weighted median of the middles of its runs. */
static void propose(const search_buffers *b, const runs *r, const range *g, size_t count)
{
	for (size_t j = 0; j < count; j++) {
		proposal *q = (void *)(b->out + j * b->stride);
		const size_t n = sort_middles(b, r, g + j * r->count, &q->width);
		uint64_t seen = 0;
		size_t i = 0;
		while (i < n && (seen += b->mid[i].hi) <= q->width / 2)
			i++;
		if (n)
			memcpy(&q->it, mid_at(b, r, i), item_bytes(&r->recs.lay));
	}
}

static int by_item(const void *a, const void *b, void *lay)
{
	const proposal *const *x = a, *const *y = b;
	return item_cmp(&(*x)->it, &(*y)->it, lay);
}

/* The proposal in the middle of all places that are left, NULL where none are. */
static const proposal *weighted_median(const search_buffers *b, layout *lay)
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

/* This rank's pivot to all, and theirs to this one; *live: there is any. */
static status share_pivots(comm *c, const search_buffers *b, const layout *l, size_t count,
			   bool *live)
{
	layout lay = *l;
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

static void count_before(const search_buffers *b, const runs *r, const range *g, size_t count)
{
	for (size_t j = 0; j < count; j++) {
		const proposal *q = proposal_at(b->pivots, b, j);
		b->counts[j] = 0;
		for (size_t i = j * r->count, k = 0; q->width && k < r->count; k++, i++) {
			b->cut[i] = runs_before(r, g[i].lo, g[i].hi, &q->it);
			b->counts[j] += b->cut[i] - r->start[k];
		}
	}
}

/* Rank j decides on splitter j: left or right of the pivot, or just there. */
static uint64_t decide(const comm *c, const search_buffers *b, const uint64_t *target, size_t count)
{
	uint64_t sum = 0;
	if ((size_t)c->rank >= count || !proposal_at(b->pivots, b, (size_t)c->rank)->width)
		return DONE;
	for (size_t i = 0; i < b->p; i++)
		sum += b->sums[i];
	const uint64_t t = target[c->rank];
	return sum == t ? HIT : sum > t ? GO_LEFT : GO_RIGHT;
}

/* Is `it` a record of run k of this rank? */
static bool owns(const runs *r, size_t k, const item *it)
{
	const uint64_t pos = it->lo & POS_MASK;
	return it->rank == r->recs.rank && pos >= r->start[k] && pos < r->start[k + 1];
}

/* Ranges g of splitter j, after the verdict on its pivot. */
static void narrow(const search_buffers *b, const runs *r, range *g, size_t j)
{
	const item *it = &proposal_at(b->pivots, b, j)->it;
	const uint64_t *cut = b->cut + j * r->count;
	for (size_t k = 0; k < r->count; k++)
		switch (b->sums[j]) {
		case HIT:
			g[k].lo = g[k].hi = cut[k];
			break;
		case GO_LEFT:
			g[k].hi = cut[k];
			break;
		case GO_RIGHT: /* the pivot itself stays on the left: its owner skips it */
			g[k].lo = cut[k] + owns(r, k, it);
			break;
		default:
			break;
		}
}

static status search_round(comm *c, const search_buffers *b, const runs *r, range *g,
			   const uint64_t *target, size_t count, bool *live)
{
	propose(b, r, g, count);
	status rc = comm_alltoall(c, b->out, b->in, b->stride);
	if (rc == ST_OK)
		rc = share_pivots(c, b, &r->recs.lay, count, live);
	if (rc != ST_OK || !*live)
		return rc;
	count_before(b, r, g, count);
	rc = comm_alltoall(c, b->counts, b->sums, sizeof *b->sums);
	if (rc != ST_OK)
		return rc;
	const uint64_t verdict = decide(c, b, target, count);
	rc = comm_allgather(c, &verdict, b->sums, sizeof verdict);
	for (size_t j = 0; rc == ST_OK && j < count; j++)
		narrow(b, r, g + j * r->count, j);
	return rc;
}

static status buffers_alloc(mem *m, search_buffers *b, size_t p, const runs *r, err *er)
{
	*b = (search_buffers){ .p = p,
			       .runs = r->count,
			       .stride = offsetof(proposal, it) + item_bytes(&r->recs.lay) };
	b->out = mem_array(m, p, b->stride, "splitter proposals", er);
	b->in = mem_array(m, p, b->stride, "splitter proposals", er);
	b->pivots = mem_array(m, p, b->stride, "pivots", er);
	b->counts = mem_array(m, p, sizeof *b->counts, "splitter counts", er);
	b->sums = mem_array(m, p, sizeof *b->sums, "splitter counts", er);
	b->order = mem_array(m, p, sizeof *b->order, "proposals", er);
	b->cut = mem_array(m, p * b->runs, sizeof *b->cut, "splitter places", er);
	b->mid = mem_array(m, b->runs, sizeof *b->mid, "splitter places", er);
	b->mids = mem_array(m, b->runs + 1, item_bytes(&r->recs.lay), "splitter places", er);
	return b->out && b->in && b->pivots && b->counts && b->sums && b->order && b->cut &&
			       b->mid && b->mids
		       ? ST_OK
		       : ST_RESOURCE;
}

static void buffers_free(mem *m, search_buffers *b)
{
	mem_free(m, b->out);
	mem_free(m, b->in);
	mem_free(m, b->pivots);
	mem_free(m, b->counts);
	mem_free(m, b->sums);
	mem_free(m, b->order);
	mem_free(m, b->cut);
	mem_free(m, b->mid);
	mem_free(m, b->mids);
}

status splitter_search(comm *c, mem *m, const runs *r, range *g, const uint64_t *target,
		       size_t count, err *er)
{
	search_buffers b;
	bool live = true;
	status rc = comm_agree(c, buffers_alloc(m, &b, (size_t)c->size, r, er));
	for (unsigned round = 0; rc == ST_OK && live; round++) {
		if (round == MOST_ROUNDS) {
			rc = err_set(er, ST_PEER, "the ranks never agree on where to cut");
			break;
		}
		rc = search_round(c, &b, r, g, target, count, &live);
		if (rc ==
		    ST_OK) /* runs on disk may be unreadable, and then the rounds no longer end */
			rc = comm_agree(c, runs_failure(r, er));
	}
	buffers_free(m, &b);
	return rc;
}
