/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From brackets to exact cuts. Sorted entries are searched as they are. Unsorted ones are first
 * divided among the ends of all brackets; only what lies inside a bracket is then sorted, and
 * the same search cuts there, after two passes over the entries. */
#include "split.h"
#include "base/lower_bound.h"
#include "kernel/radix.h"
#include "splitter_search.h"

#include <stdlib.h>
#include <string.h>

/* From ranges to cuts; runs are in order within the ranges. */
static status cut_within(splitter_search *s, uint64_t *cut, err *er)
{
	const sorted *r = s->r;
	const size_t places = s->count * r->count;
	const status rc = splitter_search_run(s, er);
	for (size_t k = 0; k < r->count; k++) {
		cut[k] = r->start[k];
		cut[places + r->count + k] = r->start[k + 1];
	}
	for (size_t i = 0; rc == ST_OK && i < places; i++)
		cut[r->count + i] = s->g[i].lo;
	return rc;
}

status split_sorted(comm *c, mem *m, sorted *r, const uint64_t *target, const brackets *b,
		    uint64_t *cut, err *er)
{
	splitter_search s;
	status rc = comm_agree(c, splitter_search_open(&s, c, m, r, target, b->count, er));
	for (size_t j = 0, i = 0; rc == ST_OK && j < b->count; j++)
		for (size_t k = 0; k < r->count; k++, i++) {
			const uint64_t lo = r->start[k], hi = r->start[k + 1];
			const bracket *w = &b->b[j];
			s.g[i] = (range){ w->lo ? r->ops->before(r, lo, hi, w->lo) : lo,
					  w->hi ? r->ops->before(r, lo, hi, w->hi) : hi };
		}
	if (rc == ST_OK)
		rc = splitter_search_check(&s);
	if (rc == ST_OK)
		rc = cut_within(&s, cut, er);
	splitter_search_close(&s);
	return rc;
}

/* The ends of all brackets in ascending order; interval k lies between end k-1 and end k. */
typedef struct intervals {
	const item **end;
	size_t ends, intervals;
	uint64_t *start; /* interval k's entries are [start[k], start[k + 1]) once divided */
	uint64_t *at;    /* where the next entry of interval k goes */
} intervals;

static status intervals_alloc(intervals *l, mem *m, const brackets *b, const layout *lay, err *er)
{
	const size_t most = 2 * b->count;
	layout order = *lay;
	*l = (intervals){ .end = mem_array(m, most, sizeof *l->end, "brackets", er),
			  .start = mem_array(m, most + 2, sizeof *l->start, "counts", er),
			  .at = mem_array(m, most + 2, sizeof *l->at, "counts", er) };
	if (!l->end || !l->start || !l->at)
		return ST_RESOURCE;
	for (size_t j = 0; j < b->count; j++) {
		if (b->b[j].lo)
			l->end[l->ends++] = b->b[j].lo;
		if (b->b[j].hi)
			l->end[l->ends++] = b->b[j].hi;
	}
	l->intervals = l->ends + 1;
	qsort_r(l->end, l->ends, sizeof *l->end, item_order, &order);
	return ST_OK;
}

static void intervals_free(intervals *l, mem *m)
{
	mem_free(m, l->end);
	mem_free(m, l->start);
	mem_free(m, l->at);
}

static size_t interval_of(const intervals *l, const entry *e, const records *r)
{
	lower_bound b = { .lo = 0, .hi = l->ends };
	while (lower_bound_open(&b))
		lower_bound_step(&b, entry_item_cmp(e, l->end[b.mid], r) >= 0);
	return b.lo;
}

/* Distribute entries by interval, in order of position within each. */
static void to_intervals(intervals *l, const records *r, const entry *e, entry *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		l->start[interval_of(l, &e[i], r) + 1]++;
	for (size_t k = 0; k < l->intervals; k++)
		l->at[k + 1] = l->start[k + 1] += l->start[k];
	for (size_t i = 0; i < n; i++)
		out[l->at[interval_of(l, &e[i], r)]++] = e[i];
}

/* Where the interval above (or starting with) item `it` starts: how many entries precede it. */
static uint64_t sorted_before(const intervals *l, const item *it, const layout *lay)
{
	lower_bound b = { .lo = 0, .hi = l->ends };
	while (lower_bound_open(&b))
		lower_bound_step(&b, item_cmp(l->end[b.mid], it, lay) < 0);
	return l->start[b.lo + 1];
}

/* The first interval that ends behind place n. */
static size_t interval_behind(const intervals *l, uint64_t n)
{
	lower_bound b = { .lo = 0, .hi = l->intervals };
	while (lower_bound_open(&b))
		lower_bound_step(&b, l->start[b.mid + 1] <= n);
	return b.lo;
}

/* Sort the intervals that a splitter may lie on: at[k] becomes how many of their ranges begin in
 * interval k, less those that have ended before. */
static void sort_intervals(intervals *l, const records *r, entry *out, entry *tmp, const range *g,
			   size_t count)
{
	uint64_t open = 0;
	memset(l->at, 0, (l->intervals + 1) * sizeof *l->at);
	for (size_t j = 0; j < count; j++)
		if (g[j].lo < g[j].hi) {
			l->at[interval_behind(l, g[j].lo)]++;
			l->at[interval_behind(l, g[j].hi - 1) + 1]--;
		}
	for (size_t k = 0; k < l->intervals; k++) {
		const uint64_t from = l->start[k], to = l->start[k + 1];
		open += l->at[k]; /* modulo 2^64 */
		if (open)
			radix_sort(out + from, tmp + from, to - from, r);
	}
}

status split_unsorted(comm *c, mem *m, const records *r, entry *e, entry *out, size_t n,
		      const uint64_t *target, const brackets *b, uint64_t *cut, err *er)
{
	const uint64_t start[] = { 0, n };
	sorted_memory all = { .recs = *r, .e = out };
	intervals l;
	splitter_search s;
	sorted_memory_make(&all, 1, start);
	status rc = splitter_search_open(&s, c, m, &all.s, target, b->count, er);
	const status alloc = intervals_alloc(&l, m, b, &r->lay, er);
	rc = comm_agree(c, rc == ST_OK && out ? alloc : ST_RESOURCE);
	if (rc == ST_OK)
		to_intervals(&l, r, e, out, n);
	for (size_t j = 0; rc == ST_OK && j < b->count; j++) {
		const bracket *k = &b->b[j];
		s.g[j] = (range){ k->lo ? sorted_before(&l, k->lo, &r->lay) : 0,
				  k->hi ? sorted_before(&l, k->hi, &r->lay) : n };
	}
	if (rc == ST_OK)
		rc = splitter_search_check(&s);
	if (rc == ST_OK) {
		sort_intervals(&l, r, out, e, s.g, b->count);
		rc = cut_within(&s, cut, er);
	}
	intervals_free(&l, m);
	splitter_search_close(&s);
	return rc;
}
