/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One bucket of records by one thread: its numbers are sorted in the cache, and its records
 * gathered to their place, or only their order told. */
#ifndef HETSORT_KERNEL_BUCKET_H
#define HETSORT_KERNEL_BUCKET_H

#include "bucket_lists.h"
#include "permutation.h"

/* What is the same for all buckets. */
typedef struct bucket_ctx {
	const records *in;
	unsigned char *out;
	uint64_t pos_mask;
	/* Where the scratch of the bucket that begins at record s lies: room + s * stride; that is
	 * the bucket's place in the output, where a record has ROOM_BYTES. */
	unsigned char *room;
	size_t stride;
	size_t cap;               /* numbers that are sorted at once */
	bool streaming;           /* the output is written past the cache */
	const permutation *order; /* gets the positions; NULL: records go to the output */
} bucket_ctx;

enum { ROOM_BYTES = 40 }; /* scratch of a bucket, per record: two entries, and alignment */

typedef struct bucket {
	bucket_cursor numbers;
	uint64_t start, n;    /* its records in the output */
	uint64_t first, last; /* numbers, as bucket_rises() found them */
	bool exact;           /* the order of the numbers is that of the records */
	bool sorted;          /* already, and exact */
	bool large;           /* not for one thread */
} bucket;

/* bucket_finish - sort the bucket to its place; a and tmp have room for cap numbers. */
void bucket_finish(const bucket_ctx *c, const bucket *b, uint64_t *a, uint64_t *tmp);

/* bucket_settle - numbers that agree in what they hold of the key, among the n sorted ones at a: by
 * the whole key. */
void bucket_settle(const bucket_ctx *c, const bucket *b, uint64_t *a, size_t n);

/* bucket_rises - whether the numbers of r (one at least) ascend; *first and *last of them. */
bool bucket_rises(bucket_cursor r, uint64_t *first, uint64_t *last);

#endif
