/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records in memory, from one array to another, on the threads of one process. */
#ifndef HETSORT_KERNEL_BUCKET_SORT_H
#define HETSORT_KERNEL_BUCKET_SORT_H

#include "demand.h"

/* bucket_sort_records - sort the n records of `in` stably by key to out, which has room for n and
 * does not overlap them. It uses up to `threads` threads, and allocates a few percent of the data
 * (more for records below 40 bytes: bucket_sort_most_bytes) and some MB per thread. Return
 * ST_RESOURCE if memory is missing, ST_INTERNAL if a memory error has changed records or working
 * data during the call. */
status bucket_sort_records(mem *m, const records *in, size_t n, unsigned char *out,
			   unsigned threads, err *e);

/* bucket_sort_most_bytes - return an upper bound of the memory of bucket_sort_records. */
uint64_t bucket_sort_most_bytes(const layout *l, uint64_t n, unsigned threads);

/* Sizes that determine how records are sorted; parameters, so that tests reach every case. */
typedef struct bucket_sort_sizes {
	size_t simple; /* up to this number of records, one thread sorts */
	demand_sizes demand;
	size_t streaming_bytes; /* larger outputs are written by streaming stores (gather.h) */
} bucket_sort_sizes;

/* bucket_sort_sizes_for - return the sizes for n records. */
bucket_sort_sizes bucket_sort_sizes_for(uint64_t n);

/* The arguments of a sort of n records, as in bucket_sort_records. */
typedef struct bucket_sort_task {
	mem *m;
	const records *in;
	size_t n;
	unsigned char *out;
	unsigned threads;
	const bucket_sort_sizes *sizes;
	err *e;
} bucket_sort_task;

/* bucket_sort_sized - sort as bucket_sort_records does, with the given sizes. */
status bucket_sort_sized(const bucket_sort_task *t);

/* bucket_sort_begin - open a sort on demand, *d, with the records of t, ready for demand_take. *d
 * uses the memory at *kept: close *d and then free *kept, also after an error. t->out and t->sizes
 * are not used. */
status bucket_sort_begin(const bucket_sort_task *t, demand **d, unsigned char **kept);

/* bucket_sort_begin_most_bytes - return an upper bound of the memory that bucket_sort_begin
 * allocates, together with threads + 1 calls of demand_room_open. */
uint64_t bucket_sort_begin_most_bytes(const layout *l, uint64_t n, unsigned threads);

/* ------------------------------------------------- sorters of special records, for bucket_sort.c
 *
 * presorted.c sorts records that are nearly in order: one run, or two that are merged. short_sort.c
 * moves short records directly to buckets, because moving numbers that represent them would not be
 * cheaper. word_sort.c sorts records of 8 bytes that consist only of a key, as numbers. Records
 * with equal keys are identical there, so it can sort in place, with vector instructions. */

/* presorted_sort - sort the n records of `in` (KEY_WINDOW_BYTES each, or more) stably by key to
 * out, on up to `threads` threads, if they are at most two runs. Return whether they are; if so,
 * set *misfits for gather_misfits(): 0 unless keys changed. A run ascends, or descends without
 * equal keys. Of records in random order, it reads only a few. No allocation. */
bool presorted_sort(const records *in, size_t n, unsigned char *out, unsigned threads,
		    size_t *misfits);

enum { SHORT_MOST_BYTES = 39 }; /* of a record */

/* short_sort - sort as bucket_sort_sized does. n must be above sizes->simple, and a record must
 * have KEY_WINDOW_BYTES to SHORT_MOST_BYTES bytes. */
status short_sort(const bucket_sort_task *t);

/* short_sort_most_bytes - return an upper bound of the memory that short_sort allocates. */
uint64_t short_sort_most_bytes(uint64_t n, unsigned threads, const bucket_sort_sizes *sizes);

/* word_sort_fits - return whether word_sort can be used: records consist only of a key of 8 bytes,
 * this processor has vector instructions, and out is aligned to 8 bytes. */
bool word_sort_fits(const layout *l, const unsigned char *out);

/* word_sort - sort like bucket_sort_sized, if word_sort_fits. Allocate U64_CACHED numbers per
 * thread, and 8 bytes for each record that is not counted, if a quarter of the records or more are.
 */
status word_sort(const bucket_sort_task *t);

#endif
