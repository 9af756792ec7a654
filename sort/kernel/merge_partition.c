/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every run gives regular samples; of all samples in order, each OVERSAMPLE-th ends a piece. As
 * (key, position) is a total order, equal keys are cut like any others. Pure but for the memory. */
#include "merge_partition.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "pairwise_merge.h"
#include "radix.h"

enum { OVERSAMPLE = 32 };

/* Samples of all runs, in order; returns how many. */
static size_t draw(const entry_runs *r, const uint64_t *lo, const uint64_t *hi, size_t stride,
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
static uint64_t places_before(const entry_runs *r, uint64_t lo, uint64_t hi, const entry *e)
{
	lower_bound b = { .lo = lo, .hi = hi };
	while (lower_bound_open(&b))
		lower_bound_step(&b, entry_cmp(&r->e[b.mid], e, &r->recs) < 0);
	return b.lo;
}

/* The next piece ends before entry `end`, the last one (NULL) with the runs. */
static void end_piece(merge_partition *p, const uint64_t *hi, const entry *end)
{
	const size_t runs = p->runs.count;
	uint64_t *cut = p->cut + p->count * runs, *next = cut + runs;
	uint64_t n = 0;
	for (size_t k = 0; k < runs; k++) {
		next[k] = end ? places_before(&p->runs, cut[k], hi[k], end) : hi[k];
		n += next[k] - cut[k];
	}
	p->first[p->count + 1] = p->first[p->count] + n;
	p->most = size_max(p->most, (size_t)n);
	p->count++;
}

status merge_partition_cut(merge_partition *p, mem *m, const entry_runs *r, const uint64_t *lo,
			   const uint64_t *hi, size_t recs, err *e)
{
	const size_t stride = size_max(recs / OVERSAMPLE, 1);
	uint64_t total = 0;
	for (size_t k = 0; k < r->count; k++)
		total += hi[k] - lo[k];
	const size_t most = (size_t)(total / stride) + r->count, room = most / OVERSAMPLE + 1;
	entry *sample = mem_array(m, most, sizeof *sample, "samples", e);
	entry *tmp = mem_array(m, most, sizeof *tmp, "samples", e);
	*p = (merge_partition){ .runs = *r };
	p->cut = mem_array(m, (room + 1) * r->count, sizeof *p->cut, "pieces", e);
	p->first = mem_array(m, room + 1, sizeof *p->first, "pieces", e);
	const bool ok = sample && tmp && p->cut && p->first;
	if (ok) {
		const size_t n = draw(r, lo, hi, stride, sample, tmp);
		memcpy(p->cut, lo, r->count * sizeof *p->cut);
		for (size_t i = OVERSAMPLE; i < n; i += OVERSAMPLE)
			end_piece(p, hi, &sample[i]);
		end_piece(p, hi, NULL);
	}
	mem_free(m, sample);
	mem_free(m, tmp);
	return ok ? ST_OK : ST_RESOURCE;
}

size_t merge_partition_merge(const merge_partition *p, size_t i, entry *out, entry *tmp)
{
	const entry_runs *r = &p->runs;
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
