/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers in buckets: each bucket is a list of chunks of 64 numbers, so nothing is counted
 * beforehand. Memory is taken from a pool in slabs of many chunks as numbers come, and chunks that
 * have been read go back to it.
 *
 * A list is read from its end: its first chunk has the last numbers, and only that chunk may be
 * partly filled. While a bucket is written, each writer has a list of its own for it. */
#ifndef HETSORT_KERNEL_CHUNKS_H
#define HETSORT_KERNEL_CHUNKS_H

#include "base/mem.h"

enum {
	LINE_NUMBERS = 8, /* of a cache line */
	CHUNK_NUMBERS = 64,
	CHUNK_BYTES = CHUNK_NUMBERS * (int)sizeof(uint64_t),
	CHUNK_BATCH = 16,   /* that a writer takes at a time */
	SLAB_BITS_MAX = 15, /* of the number of a chunk in its slab */
};

#define CHUNK_NONE UINT32_MAX

typedef struct chunk_pool {
	mem *m;
	unsigned char *room; /* lent: the first slabs lie there */
	uint32_t room_chunks;
	unsigned slab_bits;
	unsigned char **slab; /* each: chunks, then for each of them the next one in its list */
	uint32_t slabs_most;
	uint32_t used, most; /* chunks that have been given out once, and there can be */
	uint32_t free;       /* list of chunks that came back */
	atomic_flag busy;    /* whoever sets it may change the four above */
} chunk_pool;

/* chunks_most_bytes - memory that holds so many chunks. chunks_table_bytes - what a pool takes in
 * addition. */
uint64_t chunks_most_bytes(uint64_t chunks);
uint64_t chunks_table_bytes(uint64_t chunks);

/* chunks_open - a pool for up to `most` chunks; what does not fit into the lent room is allocated
 * when it is needed. */
status chunks_open(chunk_pool *p, mem *m, uint64_t most, void *room, size_t room_bytes, err *e);

void chunks_close(chunk_pool *p);

/* chunks_leave_room - no chunk of the lent room is given out any more. */
void chunks_leave_room(chunk_pool *p);

static inline uint64_t *chunk_at(const chunk_pool *p, uint32_t chunk)
{
	const uint32_t in_slab = chunk & ((1U << p->slab_bits) - 1);
	return (uint64_t *)(void *)(p->slab[chunk >> p->slab_bits] + (size_t)in_slab * CHUNK_BYTES);
}

/* chunk_next - the one behind it in its list. */
static inline uint32_t *chunk_next(const chunk_pool *p, uint32_t chunk)
{
	const uint32_t in_slab = chunk & ((1U << p->slab_bits) - 1);
	unsigned char *next =
		p->slab[chunk >> p->slab_bits] + ((size_t)CHUNK_BYTES << p->slab_bits);
	return (uint32_t *)(void *)next + in_slab;
}

/* Chunks that one thread keeps ready. */
typedef struct chunk_stock {
	chunk_pool *p;
	uint32_t free;
	err *e; /* of the thread */
} chunk_stock;

/* chunk_get - a chunk; CHUNK_NONE and s->e filled where there is no memory. */
uint32_t chunk_get(chunk_stock *s);

static inline void chunk_put(chunk_stock *s, uint32_t chunk)
{
	*chunk_next(s->p, chunk) = s->free;
	s->free = chunk;
}

/* chunk_return - all of a stock goes back to the pool. */
void chunk_return(chunk_stock *s);

/* The numbers of a bucket. */
typedef struct chunk_list {
	uint32_t first; /* chunk, with the last numbers */
	uint64_t n;
} chunk_list;

static inline uint64_t chunks_of(uint64_t n)
{
	return n / CHUNK_NUMBERS + (n % CHUNK_NUMBERS > 0);
}

/* chunk_list_order - the chunks of a list in the order of the numbers, to `chunk`: number i lies in
 * chunk[i / CHUNK_NUMBERS], at i % CHUNK_NUMBERS. */
void chunk_list_order(const chunk_pool *p, const chunk_list *l, uint32_t *chunk);

/* ---------------------------------------------------------------------------------- writing */

/* A bucket's numbers gather in a line of their own, and leave for memory a line at a time, past the
 * cache. */
typedef struct chunk_lane {
	uint64_t *to;        /* where the next line goes */
	uint64_t n;          /* numbers so far */
	uint32_t head, tail; /* chunks: which fills, and the first one that was taken */
} chunk_lane;

typedef struct chunk_writer {
	_Alignas(64) chunk_stock stock; /* no line is shared with another writer */
	chunk_lane *lanes;              /* one a bucket */
	uint64_t *lines;                /* LINE_NUMBERS a bucket, aligned to a cache line */
	uint32_t buckets;
	bool failed; /* no memory: numbers have been lost */
} chunk_writer;

/* chunk_writer_bytes - of memory for a writer, a multiple of a cache line. */
static inline size_t chunk_writer_bytes(uint32_t buckets)
{
	const size_t line = LINE_NUMBERS * sizeof(uint64_t);
	return buckets * line + (buckets * sizeof(chunk_lane) + line - 1) / line * line;
}

/* chunk_writer_begin - to write with the zeroed memory at `room`, aligned to a cache line. */
void chunk_writer_begin(chunk_writer *w, chunk_pool *p, uint32_t buckets, void *room);

/* chunk_line - the line of this bucket is full. */
void chunk_line(chunk_writer *w, uint32_t bucket);

static inline void chunk_write(chunk_writer *w, uint32_t bucket, uint64_t number)
{
	chunk_lane *l = &w->lanes[bucket];
	w->lines[(size_t)bucket * LINE_NUMBERS + l->n++ % LINE_NUMBERS] = number;
	if (l->n % LINE_NUMBERS == 0)
		chunk_line(w, bucket);
}

/* chunk_join - what n writers have for a bucket becomes one list; by one thread, with its stock. */
status chunk_join(chunk_writer *w, unsigned n, uint32_t bucket, chunk_stock *s, chunk_list *l);

#endif
