/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a rank's share of the input into memory. Keys go to the buckets of a sort on demand
 * (kernel/demand.h). */
#ifndef HETSORT_SPILL_MEMORY_SHARE_H
#define HETSORT_SPILL_MEMORY_SHARE_H

#include "base/mem.h"
#include "base/settings.h"
#include "io/input.h"
#include "io/io_fd.h"
#include "io/reader.h"
#include "model/speed_history.h"
#include "sorted_share.h"

typedef struct load_plan {
	uint64_t first, n; /* records of the whole input to read; a stream is read to its end */
	layout lay;
	uint32_t rank;
	unsigned threads; /* that compute; a few more wait for the disk */
	direct_io direct;
	const test_sizes *sizes;
	uint64_t most_recs;           /* the most records of a stream in memory */
	speed_history *speed_history; /* receives the speed over time; NULL: not recorded */
} load_plan;

/* memory_share_input - read this share of the files. Free *out after a failure too. */
status memory_share_input(const input *in, const load_plan *p, mem *m, sorted_share *out, err *e);

/* The next functions are for records from pipes and other ranks. The caller puts the records after
 * the first n of the share, and adds their number to n. */

/* memory_share_room - allocate memory for `room` records, aligned like this offset in a file. */
status memory_share_room(const load_plan *p, mem *m, size_t room, uint64_t offset, sorted_share *d,
			 err *e);

/* memory_share_most - return how many records memory can hold after all possible
 * memory_share_grow(). */
uint64_t memory_share_most(const load_plan *p, const sorted_share *d);

/* memory_share_grow - double the memory for records. */
status memory_share_grow(const load_plan *p, mem *m, sorted_share *d, err *e);

/* memory_share_add - put the keys of the records that have arrived since the last call into
 * buckets. */
status memory_share_add(const load_plan *p, mem *m, sorted_share *d, err *e);

/* memory_share_sort - after the last record: do the same, and make the sorted sequence. */
status memory_share_sort(const load_plan *p, mem *m, sorted_share *d, err *e);

/* memory_share_sample - sample the p->n records of `from`, for buckets of `together` records. Free
 * s->recs after a failure too. */
status memory_share_sample(mem *m, const load_plan *p, const reader *from, uint64_t together,
			   bucket_sample *s, err *e);

/* memory_share_check - after all records have been used, return ST_IO if a mapped file was changed
 * in the meantime; this also explains records that look damaged (rc ST_INTERNAL). Otherwise return
 * rc. */
status memory_share_check(const sorted_share *d, status rc, err *e);

#endif
