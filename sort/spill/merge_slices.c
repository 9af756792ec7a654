/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The samples of all runs are sorted; slices begin at samples that are equally far apart. */
#include "merge_slices.h"

#include <stdlib.h>

void merge_slices_places(const merge_slices *w, size_t i, size_t k, uint64_t *lo, uint64_t *hi)
{
	const runs *r = w->r;
	uint64_t unused;
	*lo = r->start[k];
	*hi = r->start[k + 1];
	if (w->bound[i])
		runs_between_samples(r, k, w->bound[i], lo, &unused);
	if (w->bound[i + 1])
		runs_between_samples(r, k, w->bound[i + 1], &unused, hi);
	if (*lo < w->lo[k])
		*lo = w->lo[k];
	if (*hi > w->hi[k])
		*hi = w->hi[k];
}

static int by_item(const void *a, const void *b, void *lay)
{
	return item_cmp(*(const item *const *)a, *(const item *const *)b, lay);
}

/* The samples within the slices, in order; returns how many. */
static size_t sort_samples(const merge_slices *w, const item **s)
{
	const runs *r = w->r;
	layout lay = r->recs.lay;
	size_t n = 0;
	for (size_t k = 0; k < r->count; k++)
		for (size_t i = 0; i < runs_samples(r, k); i++) {
			const uint64_t place = r->start[k] + i * r->stride;
			if (place >= w->lo[k] && place < w->hi[k])
				s[n++] = runs_sample(r, k, i);
		}
	qsort_r(s, n, sizeof *s, by_item, &lay);
	return n;
}

static void measure(merge_slices *w)
{
	for (size_t i = 0; i < w->count; i++) {
		uint64_t n = 0, lo, hi;
		for (size_t k = 0; k < w->r->count; k++) {
			merge_slices_places(w, i, k, &lo, &hi);
			n += hi > lo ? hi - lo : 0;
		}
		if (n > w->most)
			w->most = (size_t)n;
	}
}

status merge_slices_cut(merge_slices *w, mem *m, const runs *r, const uint64_t *lo,
			const uint64_t *hi, size_t recs, err *e)
{
	const size_t all = r->sample_at[r->count], each = recs / r->stride ? recs / r->stride : 1;
	*w = (merge_slices){ .r = r, .lo = lo, .hi = hi, .room = all / each + 2 };
	const item **s = mem_array(m, all, sizeof *s, "samples", e);
	w->bound = mem_array(m, w->room, sizeof *w->bound, "pieces", e);
	if (s && w->bound) {
		const size_t n = sort_samples(w, s), count = n / each + (n % each != 0);
		for (size_t i = 1; i < count;
		     i++) /* as equal as possible: the largest one takes the memory */
			w->bound[++w->count] = s[(size_t)((uint64_t)n * i / count)];
		w->count++;
		measure(w);
	}
	mem_free(m, s);
	return s && w->bound ? ST_OK : ST_RESOURCE;
}

void merge_slices_free(merge_slices *w, mem *m)
{
	mem_free(m, w->bound);
	*w = (merge_slices){ 0 };
}
