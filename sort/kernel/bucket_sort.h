/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records in memory, from one array to another, on the threads of one process. */
#ifndef HETSORT_KERNEL_BUCKET_SORT_H
#define HETSORT_KERNEL_BUCKET_SORT_H

#include "demand.h"

/* bucket_sort_records - sort the n records of `in` stably by key to out, which has room for n and
 * does not overlap them. It uses up to `threads` threads, and allocates a few percent of the data
 * and some MB per thread. Return ST_RESOURCE without memory, ST_INTERNAL if records or numbers
 * change in memory during the call. */
status bucket_sort_records(mem *m, const records *in, size_t n, unsigned char *out,
			   unsigned threads, err *e);

/* bucket_sort_most_bytes - return an upper bound of the memory that bucket_sort_records allocates.
 */
uint64_t bucket_sort_most_bytes(const layout *l, uint64_t n, unsigned threads);

/* Sizes that decide how records are sorted. They are variables so that tests reach every case. */
typedef struct bucket_sort_sizes {
	size_t simple; /* up to this number of records, one thread sorts */
	demand_sizes demand;
	size_t streaming_bytes; /* larger outputs are written past the caches */
} bucket_sort_sizes;

/* bucket_sort_sizes_for - return the sizes for n records. */
bucket_sort_sizes bucket_sort_sizes_for(uint64_t n);

/* bucket_sort_sized - do the work of bucket_sort_records with other sizes. */
status bucket_sort_sized(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
			 const bucket_sort_sizes *sizes, err *e);

/* bucket_sort_begin - put n records of `in` into buckets of *d, from which places can be taken.
 * Close *d and then free *kept, also after an error. */
status bucket_sort_begin(demand **d, unsigned char **kept, mem *m, const records *in, uint64_t n,
			 unsigned threads, err *e);

/* bucket_sort_begin_most_bytes - return an upper bound of the memory that bucket_sort_begin
 * allocates, with the scratch of threads + 1 threads that take places. */
uint64_t bucket_sort_begin_most_bytes(const layout *l, uint64_t n, unsigned threads);

/* ------------------------------------------------- sorters of special records, for bucket_sort.c
 *
 * presorted.c sorts records that are nearly in order: one run, or two that are merged. short_sort.c
 * moves short records to buckets themselves, because moving numbers that represent them would not
 * be cheaper. word_sort.c sorts numbers of 8 bytes that are all key. Equal records are identical,
 * so they are sorted in place, by vectors. */

/* presorted_sort - if the n records of `in` (KEY_WINDOW_BYTES each, or more) are at most two runs,
 * sort them stably by key to out on up to `threads` threads, and return true. A run ascends, or
 * descends without equal keys. Of records in random order, only a few are read. No allocation. */
bool presorted_sort(const records *in, size_t n, unsigned char *out, unsigned threads);

enum { SHORT_MOST_BYTES = 39 }; /* of a record */

/* short_sort - sort like bucket_sort_sized more than sizes->simple records of KEY_WINDOW_BYTES to
 * SHORT_MOST_BYTES. */
status short_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
		  const bucket_sort_sizes *sizes, err *e);

/* short_sort_most_bytes - return an upper bound of the memory that short_sort allocates. */
uint64_t short_sort_most_bytes(uint64_t n, unsigned threads, const bucket_sort_sizes *sizes);

/* word_sort_fits - return whether records are such numbers, this processor has vectors, and out is
 * aligned to 8 bytes. */
bool word_sort_fits(const layout *l, const unsigned char *out);

/* word_sort - sort like bucket_sort_sized records that fit. It allocates U64_CACHED numbers per
 * thread. */
status word_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
		 const bucket_sort_sizes *sizes, err *e);

#endif
