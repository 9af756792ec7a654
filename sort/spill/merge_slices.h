/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs on disk, cut into slices that are merged one at a time: all of slice i precedes all of
 * slice i + 1. Samples bound the slices, so a slice's place in each run is only known to within a
 * stride of the samples. */
#ifndef HETSORT_SPILL_MERGE_SLICES_H
#define HETSORT_SPILL_MERGE_SLICES_H

#include "base/mem.h"
#include "runs.h"

/* The slices of the places [lo[k], hi[k]) of each run k. */
typedef struct merge_slices {
	const runs *r;
	const uint64_t *lo, *hi;
	size_t count, most; /* slices; records in one at most */
	const item **bound; /* [count + 1] the first item not in the slice before; NULL: an end */
	size_t room;
} merge_slices;

/* merge_slices_cut - slices of about recs records. To be freed on failure too; r, lo and hi have to
 * outlive w. */
status merge_slices_cut(merge_slices *w, mem *m, const runs *r, const uint64_t *lo,
			const uint64_t *hi, size_t recs, err *e);
void merge_slices_free(merge_slices *w, mem *m);

/* merge_slices_places - by the samples, slice i has no other places of run k than [*lo, *hi). */
void merge_slices_places(const merge_slices *w, size_t i, size_t k, uint64_t *lo, uint64_t *hi);

#endif
