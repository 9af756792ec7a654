/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records in memory, from one array to another, on the threads of one process. */
#ifndef HETSORT_ORDER_H
#define HETSORT_ORDER_H

#include "base/mem.h"
#include "record.h"

/* records_sort - the n records of `in`, stably by key, to out (room for n, not overlapping them).
 * Uses up to `threads` threads. Returns ST_RESOURCE where there is no memory for what it needs
 * besides: a few percent of the data, or half of it where records are shorter than 40 bytes. */
status records_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
		    err *e);

/* records_sort_bytes - at most what records_sort allocates. */
uint64_t records_sort_bytes(const layout *l, uint64_t n, unsigned threads);

/* Sizes that decide which way a sort goes: variables so that tests reach every way. */
typedef struct order_sizes {
	size_t simple;     /* up to so many records are sorted as entries, by one thread */
	size_t bucket;     /* records that a bucket should have */
	size_t cap;        /* records that one thread sorts as numbers at once */
	size_t large_nth;  /* a bucket of more than this part of all is split again, by all threads
			    */
	unsigned depth;    /* splits one after the other */
	size_t past_bytes; /* so much output, more than caches have, is written past them */
} order_sizes;

extern const order_sizes ORDER_SIZES;

status records_sort_sized(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
			  const order_sizes *sizes, err *e);

#endif
