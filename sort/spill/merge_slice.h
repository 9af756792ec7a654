/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One slice of the runs on disk in memory, merged. What was read beyond the slice's bounds is left
 * out. */
#ifndef HETSORT_SPILL_MERGE_SLICE_H
#define HETSORT_SPILL_MERGE_SLICE_H

#include "read_ahead.h"

enum { MERGE_SLICE_CHUNK_BYTES = 2 << 20 }; /* of a read, where nothing is read ahead */

/* The memory of one thread for a slice. */
typedef struct merge_slice {
	read_ahead *read_ahead; /* NULL: the thread reads for itself */
	unsigned char *chunk, *raw;
	size_t chunk_bytes, room; /* room: records */
	entry *e, *tmp;
	records recs; /* of the slice */
	entry *order; /* of the slice, sorted, n in all */
	size_t n;
	const entry **from; /* [runs] */
	size_t *len;
	uint32_t record_bytes;
	size_t runs;
} merge_slice;

/* merge_slice_open - memory for any slice of w, with records from `ahead`; if that is NULL they are
 * read in chunks of chunk_bytes, or of a block of the run if that is longer.
 * merge_slice_load - read slice i, its runs one after the other. merge_slice_merge - sort it. */
status merge_slice_open(merge_slice *v, mem *m, const merge_slices *w, read_ahead *ahead,
			size_t chunk_bytes, err *e);
status merge_slice_load(merge_slice *v, const merge_slices *w, size_t i, err *e);
void merge_slice_merge(merge_slice *v);
void merge_slice_close(merge_slice *v, mem *m);

#endif
