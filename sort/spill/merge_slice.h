/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One slice of the runs on disk in memory, merged. What was read beyond the slice's bounds is left
 * out. */
#ifndef HETSORT_SPILL_MERGE_SLICE_H
#define HETSORT_SPILL_MERGE_SLICE_H

#include "read_ahead.h"

enum { PORTION_BYTES = 2 << 20 }; /* read at a time */

/* One thread's room for a slice. */
typedef struct merge_slice {
	read_ahead *read_ahead; /* where records come from; NULL: the slice reads for itself */
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
status merge_slice_open(merge_slice *v, mem *m, const merge_slices *w, read_ahead *ahead, err *e);
status merge_slice_load(merge_slice *v, const merge_slices *w, size_t i, err *e);
void merge_slice_merge(merge_slice *v);
void merge_slice_close(merge_slice *v, mem *m);

#endif
