/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records in memory, from one array to another, on the threads of one process. */
#ifndef HETSORT_KERNEL_BUCKET_SORT_H
#define HETSORT_KERNEL_BUCKET_SORT_H

#include "base/mem.h"
#include "permutation.h"

/* bucket_sort_records - the n records of `in`, stably by key, to out (room for n, not overlapping
 * them). Uses up to `threads` threads. Returns ST_RESOURCE where there is no memory for what it
 * allocates: a few percent of the data, and some MB a thread. */
status bucket_sort_records(mem *m, const records *in, size_t n, unsigned char *out,
			   unsigned threads, err *e);

/* bucket_sort_most_bytes - at most what bucket_sort_records allocates. */
uint64_t bucket_sort_most_bytes(const layout *l, uint64_t n, unsigned threads);

/* Sizes that decide how records are sorted: variables so that tests reach every case. */
typedef struct bucket_sort_sizes {
	size_t simple;    /* up to so many records are sorted as entries, by one thread */
	size_t bucket;    /* records that a bucket should have */
	size_t cap;       /* records that one thread sorts as numbers at once */
	size_t large_nth; /* n: all threads split a bucket of more than 1/n of all records again */
	unsigned depth;   /* splits one after the other */
	size_t streaming_bytes; /* of output, from which on it is written past the caches */
} bucket_sort_sizes;

extern const bucket_sort_sizes BUCKET_SORT_SIZES;

status bucket_sort_sized(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
			 const bucket_sort_sizes *sizes, err *e);

/* bucket_sort_order - the order that bucket_sort_records would bring the first n records of
 * order->r into, as their positions to order->pos (of the width for n records). room: scratch,
 * which may be the output; where it has less than 40 bytes a record, as much is allocated. */
status bucket_sort_order(mem *m, size_t n, unsigned char *room, uint64_t room_bytes,
			 const permutation *order, unsigned threads, const bucket_sort_sizes *sizes,
			 err *e);

/* bucket_sort_order_most_bytes - at most what bucket_sort_order allocates. */
uint64_t bucket_sort_order_most_bytes(const layout *l, uint64_t n, uint64_t room_bytes,
				      unsigned threads);

#endif
