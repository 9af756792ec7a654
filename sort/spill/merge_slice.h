/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs on disk, merged piece by piece: all of piece i precedes all of piece i + 1. Samples bound
 * the pieces and tell nearly where these lie in each run; what is read too much is left out. */
#ifndef HETSORT_SPILL_MERGE_SLICE_H
#define HETSORT_SPILL_MERGE_SLICE_H

#include "base/mem.h"
#include "runs.h"

enum { PORTION_BYTES = 2 << 20 }; /* read at a time */

/* The pieces of the places [lo[k], hi[k]) of each run k. */
typedef struct merge_slices {
	const runs *r;
	const uint64_t *lo, *hi;
	size_t count, most; /* pieces; records in one at most */
	const item **bound; /* [count + 1] the first item not in the piece before; NULL: an end */
	size_t room;
	struct read_ahead *read_ahead; /* where pieces come from; NULL: each window reads its own */
} merge_slices;

/* merge_slices_cut - pieces of about recs records. To be freed on failure too; r, lo, hi live on.
 */
status merge_slices_cut(merge_slices *w, mem *m, const runs *r, const uint64_t *lo,
			const uint64_t *hi, size_t recs, err *e);
void merge_slices_free(merge_slices *w, mem *m);

/* merge_slices_places - the places of run k that piece i may have, by the samples. */
void merge_slices_places(const merge_slices *w, size_t i, size_t k, uint64_t *lo, uint64_t *hi);

/* One thread's room for a piece. */
typedef struct merge_slice {
	unsigned char *portion, *raw;
	size_t portion_bytes, room; /* room: records */
	entry *e, *tmp;
	records recs; /* of the piece */
	entry *order; /* of the piece, sorted, n in all */
	size_t n;
	const entry **from; /* [runs] */
	size_t *len;
	uint32_t record_bytes;
	size_t runs;
} merge_slice;

/* merge_slice_open - room for the pieces of w. merge_slice_load - read piece i, without its order
 * yet. merge_slice_merge - its order. */
status merge_slice_open(merge_slice *v, mem *m, const merge_slices *w, err *e);
status merge_slice_load(merge_slice *v, const merge_slices *w, size_t i, err *e);
void merge_slice_merge(merge_slice *v);
void merge_slice_close(merge_slice *v, mem *m);

#endif
