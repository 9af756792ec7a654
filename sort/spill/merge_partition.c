/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every run gives regular samples; of all samples in order, each OVERSAMPLE-th ends a piece. As
 * (key, position) is a total order, equal keys are cut like any others. Pure but for the memory. */
#include "merge_partition.h"
#include "kernel/pairwise_merge.h"
#include "kernel/radix.h"

enum { OVERSAMPLE = 32 };

/* Samples of all runs, in order; returns how many. */
static size_t draw(const runs *r, const uint64_t *lo, const uint64_t *hi, size_t stride,
		   entry *sample, entry *tmp)
{
	size_t n = 0;
	for (size_t k = 0; k < r->count; k++)
		for (uint64_t at = lo[k] + stride - 1; at < hi[k]; at += stride)
			sample[n++] = r->e[at];
	radix_sort(sample, tmp, n, &r->recs);
	return n;
}

/* The first place in [lo, hi) of a run that does not precede entry e. */
static uint64_t permutation_before(const runs *r, uint64_t lo, uint64_t hi, const entry *e)
{
	while (lo < hi) {
		const uint64_t mid = lo + (hi - lo) / 2;
		if (entry_cmp(&r->e[mid], e, &r->recs) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Piece i ends before entry `end`, the last one (NULL) with the runs. */
static void end_piece(merge_partition *p, const runs *r, const uint64_t *hi, size_t i,
		      const entry *end)
{
	uint64_t *cut = p->cut + i * p->runs, *next = cut + p->runs;
	uint64_t n = 0;
	for (size_t k = 0; k < p->runs; k++) {
		next[k] = end ? permutation_before(r, cut[k], hi[k], end) : hi[k];
		n += next[k] - cut[k];
	}
	p->first[i + 1] = p->first[i] + n;
	if (n > p->most)
		p->most = (size_t)n;
}

static status alloc_pieces(merge_partition *p, mem *m, const runs *r, size_t room, err *e)
{
	*p = (merge_partition){ .room = room, .runs = r->count };
	p->cut = mem_array(m, (room + 1) * p->runs, sizeof *p->cut, "pieces", e);
	p->first = mem_array(m, room + 1, sizeof *p->first, "pieces", e);
	return p->cut && p->first ? ST_OK : ST_RESOURCE;
}

status merge_partition_cut(merge_partition *p, mem *m, const runs *r, const uint64_t *lo,
			   const uint64_t *hi, size_t recs, err *e)
{
	const size_t stride = recs / OVERSAMPLE ? recs / OVERSAMPLE : 1;
	uint64_t total = 0;
	for (size_t k = 0; k < r->count; k++)
		total += hi[k] - lo[k];
	const size_t most = (size_t)(total / stride) + r->count;
	entry *sample = mem_array(m, most, sizeof *sample, "samples", e);
	entry *tmp = mem_array(m, most, sizeof *tmp, "samples", e);
	status rc = alloc_pieces(p, m, r, most / OVERSAMPLE + 1, e);
	if (sample && tmp && rc == ST_OK) {
		const size_t n = draw(r, lo, hi, stride, sample, tmp);
		memcpy(p->cut, lo, p->runs * sizeof *p->cut);
		for (size_t i = OVERSAMPLE; i < n; i += OVERSAMPLE)
			end_piece(p, r, hi, p->count++, &sample[i]);
		end_piece(p, r, hi, p->count++, NULL);
	} else {
		rc = ST_RESOURCE;
	}
	mem_free(m, sample);
	mem_free(m, tmp);
	return rc;
}

size_t merge_partition_merge(const merge_partition *p, const runs *r, size_t i, entry *out,
			     entry *tmp)
{
	const uint64_t *cut = p->cut + i * r->count;
	const entry *from[PAIRWISE_MAX];
	size_t n[PAIRWISE_MAX];
	for (size_t k = 0; k < r->count; k++) {
		from[k] = r->e + cut[k];
		n[k] = (size_t)(cut[r->count + k] - cut[k]);
	}
	pairwise_merge(from, n, r->count, out, tmp, &r->recs);
	return (size_t)(p->first[i + 1] - p->first[i]);
}

void merge_partition_free(merge_partition *p, mem *m)
{
	mem_free(m, p->cut);
	mem_free(m, p->first);
	*p = (merge_partition){ 0 };
}
