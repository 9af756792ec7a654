/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records in memory, from one array to another, on the threads of one process. */
#ifndef HETSORT_KERNEL_BUCKET_SORT_H
#define HETSORT_KERNEL_BUCKET_SORT_H

#include "demand.h"

/* bucket_sort_records - sort the n records of `in` stably by key to out, which has room for n and
 * does not overlap them. Uses up to `threads` threads. Allocates a few percent of the data and some
 * MB per thread. Returns ST_RESOURCE without memory, ST_INTERNAL if records or numbers in memory
 * change while it runs. */
status bucket_sort_records(mem *m, const records *in, size_t n, unsigned char *out,
			   unsigned threads, err *e);

/* bucket_sort_most_bytes - return an upper bound of what bucket_sort_records allocates. */
uint64_t bucket_sort_most_bytes(const layout *l, uint64_t n, unsigned threads);

/* Sizes that decide how records are sorted. They are variables so that tests reach every case. */
typedef struct bucket_sort_sizes {
	size_t simple; /* up to this number of records, one thread sorts */
	demand_sizes demand;
	size_t streaming_bytes; /* larger outputs are written past the caches */
} bucket_sort_sizes;

bucket_sort_sizes bucket_sort_sizes_for(uint64_t n);

status bucket_sort_sized(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
			 const bucket_sort_sizes *sizes, err *e);

/* bucket_sort_begin - put n records of `in` into buckets, so that *d can be asked for places. Close
 * *d and then free *sample, also after an error. */
status bucket_sort_begin(demand **d, unsigned char **sample, mem *m, const records *in, uint64_t n,
			 unsigned threads, err *e);

/* bucket_sort_begin_most_bytes - return an upper bound of what bucket_sort_begin allocates, with
 * the scratch of threads + 1 threads that ask for places. */
uint64_t bucket_sort_begin_most_bytes(const layout *l, uint64_t n, unsigned threads);

#endif
