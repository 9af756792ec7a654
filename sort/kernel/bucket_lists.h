/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers in buckets: each bucket is a list of chunks, so nothing is counted beforehand. The input
 * is cut into parts, each of which has lists of its own: a bucket is those of all parts, one after
 * the other, and so in the order of the input. Pure, but for the counter of chunks taken. */
#ifndef HETSORT_KERNEL_BUCKET_LISTS_H
#define HETSORT_KERNEL_BUCKET_LISTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LINE_NUMBERS = 8,    /* of a cache line */
	CHUNK_NUMBERS = 256, /* 2 KiB */
	CHUNK_BATCH = 16,    /* that a writer takes at a time */
	CHUNK_NONE = UINT32_MAX,
};

/* The list of one bucket in one part. */
typedef struct bucket_list {
	uint32_t first;
	uint64_t n;
} bucket_list;

typedef struct bucket_lists {
	uint64_t *base; /* aligned to a cache line */
	uint32_t *next; /* of each chunk, the one that follows in its list */
	uint32_t most;  /* chunks there are */
	_Atomic uint32_t used;
	bucket_list *lists; /* parts x buckets */
	uint32_t parts, buckets;
} bucket_lists;

/* bucket_lists_chunks - that n numbers take at most. */
static inline uint64_t bucket_lists_chunks(uint64_t n, uint32_t parts, uint32_t buckets)
{
	return n / CHUNK_NUMBERS + (uint64_t)parts * (buckets + CHUNK_BATCH);
}

/* The writing end of one part. A bucket's numbers gather in a line of their own, and leave for
 * memory a line at a time, past the cache. */
typedef struct lane {
	uint64_t *to; /* where the next line goes */
	uint64_t n;   /* numbers so far */
} lane;

typedef struct bucket_writer {
	bucket_lists *c;
	bucket_list *lists; /* of this part */
	lane *lanes;        /* one a bucket */
	uint64_t *lines;    /* LINE_NUMBERS a bucket, aligned */
	uint32_t at, end;   /* chunks taken and not yet used */
} bucket_writer;

/* bucket_lists_begin - to write part `part`; lanes and lines are scratch of c->buckets elements. */
void bucket_lists_begin(bucket_writer *w, bucket_lists *c, uint32_t part, lane *lanes,
			uint64_t *lines);

/* bucket_lists_line - the line of this bucket is full. */
void bucket_lists_line(bucket_writer *w, uint32_t bucket);

/* bucket_lists_end - what is still in the lines follows. */
void bucket_lists_end(bucket_writer *w);

static inline void bucket_lists_put(bucket_writer *w, uint32_t bucket, uint64_t number)
{
	lane *l = &w->lanes[bucket];
	w->lines[(size_t)bucket * LINE_NUMBERS + l->n++ % LINE_NUMBERS] = number;
	if (l->n % LINE_NUMBERS == 0)
		bucket_lists_line(w, bucket);
}

/* Reads n numbers of a bucket, from the beginning of a chunk on; or n that lie together. */
typedef struct bucket_cursor {
	const bucket_lists *c; /* NULL: the numbers are at flat */
	const uint64_t *flat;
	uint64_t n;         /* left */
	uint64_t n_in_part; /* left in the current list */
	uint32_t bucket, part, chunk;
} bucket_cursor;

bucket_cursor bucket_lists_cursor(const bucket_lists *c, uint32_t bucket);

/* bucket_lists_next - how many numbers come next at *at; 0 at the end. */
size_t bucket_lists_next(bucket_cursor *r, const uint64_t **at);

/* bucket_lists_cut - at least the next n numbers (or all there are) as a cursor of their own, up to
 * where a chunk ends; r goes on behind them. */
bucket_cursor bucket_lists_cut(bucket_cursor *r, uint64_t least);

#endif
