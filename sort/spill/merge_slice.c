/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run has of a slice is read chunk by chunk, trimmed at the slice's bounds, and copied
 * behind what other runs have; then entries are merged as those of runs in memory. */
#include "merge_slice.h"
#include "base/lower_bound.h"
#include "kernel/pairwise_merge.h"
#include "spill.h"
#include "testing/failpoint.h"

status merge_slice_open(merge_slice *v, mem *m, const merge_slices *w, read_ahead *ahead,
			size_t chunk_bytes, err *e)
{
	const size_t one = spill_read_bytes(w->r->spill, 1);
	*v = (merge_slice){ .read_ahead = ahead,
			    .room = w->most,
			    .runs = w->r->count,
			    .record_bytes = w->r->recs.lay.record_bytes,
			    .chunk_bytes = one > chunk_bytes ? one : chunk_bytes };
	v->chunk_bytes = ahead ? 0 : v->chunk_bytes + SPILL_ALIGN;
	v->chunk = mem_array(m, v->chunk_bytes, 1, "a portion of a run", e);
	v->raw = mem_array(m, v->room, v->record_bytes, "a piece of the runs", e);
	v->e = mem_array(m, v->room, sizeof *v->e, "entries", e);
	v->tmp = mem_array(m, v->room, sizeof *v->tmp, "merging", e);
	v->from = mem_array(m, v->runs, sizeof *v->from, "runs", e);
	v->len = mem_array(m, v->runs, sizeof *v->len, "runs", e);
	v->recs = (records){ v->raw, w->r->recs.lay, w->r->recs.rank };
	return v->chunk && v->raw && v->e && v->tmp && v->from && v->len ? ST_OK : ST_RESOURCE;
}

void merge_slice_close(merge_slice *v, mem *m)
{
	mem_free(m, v->chunk);
	mem_free(m, v->raw);
	mem_free(m, v->e);
	mem_free(m, v->tmp);
	mem_free(m, v->from);
	mem_free(m, v->len);
	*v = (merge_slice){ 0 };
}

/* How many of n records, which lie at places from `place` on, precede item it. */
static size_t recs_before(const merge_slice *v, const unsigned char *recs, size_t n, uint64_t place,
			  const item *it)
{
	const records r = { recs, v->recs.lay, v->recs.rank };
	lower_bound b = { .lo = 0, .hi = n };
	while (lower_bound_open(&b)) {
		const entry e = entry_make(record_at(&r, b.mid), &r.lay, b.mid);
		int c = entry_item_key_cmp(&e, it, &r);
		if (c == 0)
			c = place_cmp(r.rank, place + b.mid, it->rank, it->lo);
		lower_bound_step(&b, c < 0);
	}
	return b.lo;
}

/* Append to v those of n records that belong to slice i. */
static void append(merge_slice *v, const merge_slices *w, size_t i, const unsigned char *recs,
		   size_t n, uint64_t place)
{
	const item *from = w->bound[i], *to = w->bound[i + 1];
	const size_t a = from ? recs_before(v, recs, n, place, from) : 0;
	const size_t b = to ? recs_before(v, recs, n, place, to) : n;
	if (a >= b)
		return;
	unsigned char *at = v->raw + v->n * v->record_bytes;
	memcpy(at, recs + a * v->record_bytes, (b - a) * v->record_bytes);
	for (size_t k = a; k < b; k++, at += v->record_bytes, v->n++)
		v->e[v->n] = entry_make(at, &v->recs.lay, v->n);
}

/* Run k's places [lo, hi), of which slice i has some, read by this thread. */
static status read_run(merge_slice *v, const merge_slices *w, size_t i, size_t k, uint64_t lo,
		       uint64_t hi, err *e)
{
	unsigned char *buf = v->chunk + (size_t)(-(uintptr_t)v->chunk % SPILL_ALIGN);
	const size_t bytes = v->chunk_bytes - SPILL_ALIGN;
	const uint64_t start = w->r->start[k];
	status rc = ST_OK;
	while (rc == ST_OK && lo < hi) {
		const unsigned char *recs;
		const uint64_t fit = spill_read_fit(w->r->spill, k, lo - start, bytes);
		const uint64_t n = fit < hi - lo ? fit : hi - lo;
		rc = spill_read(w->r->spill, k, lo - start, n, buf, bytes, &recs, e);
		if (rc == ST_OK)
			append(v, w, i, recs, (size_t)n, lo);
		lo += n;
	}
	return rc;
}

/* The same from chunks that were read ahead. */
static status take_run(merge_slice *v, const merge_slices *w, size_t i, size_t k, uint64_t lo,
		       uint64_t hi, err *e)
{
	while (lo < hi) {
		read_ahead_chunk c;
		const status rc = read_ahead_take(v->read_ahead, k, lo, &c, e);
		if (rc != ST_OK)
			return rc;
		const uint64_t skip = lo - c.first, end = c.first + c.n < hi ? c.first + c.n : hi;
		append(v, w, i, c.recs + skip * v->record_bytes, (size_t)(end - lo), lo);
		read_ahead_give(v->read_ahead, k, &c);
		lo = end;
	}
	return ST_OK;
}

status merge_slice_load(merge_slice *v, const merge_slices *w, size_t i, err *e)
{
	status rc = ST_OK;
	v->n = 0;
	for (size_t k = 0; rc == ST_OK && k < v->runs; k++) {
		const size_t before = v->n;
		uint64_t lo, hi;
		merge_slices_places(w, i, k, &lo, &hi);
		rc = v->read_ahead ? take_run(v, w, i, k, lo, hi, e)
				   : read_run(v, w, i, k, lo, hi, e);
		v->from[k] = v->e + before;
		v->len[k] = v->n - before;
	}
	return rc;
}

void merge_slice_merge(merge_slice *v)
{
	FAIL_FLIP(FAIL_ENTRIES, v->e, v->n * sizeof(entry));
	v->order = pairwise_merge_in(v->from, v->len, v->runs, v->e, v->tmp, &v->recs);
	FAIL_FLIP(FAIL_ENTRIES, v->order, v->n * sizeof(entry));
}
