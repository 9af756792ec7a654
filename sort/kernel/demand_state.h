/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a sort on demand, shared by demand.c, which explains it, and demand_end.c. */
#ifndef HETSORT_KERNEL_DEMAND_STATE_H
#define HETSORT_KERNEL_DEMAND_STATE_H

#include "classifier.h"
#include "demand.h"

/* ---------------------------------------------------------------------------------- chunks
 *
 * The numbers of a bucket are in a list of chunks of 64 numbers, so they need not be counted first.
 * A pool allocates slabs of many chunks as numbers arrive, and reuses chunks that were read.
 *
 * A list is in reverse order: its first chunk has the numbers that were added last. Only this chunk
 * may be partly filled. Each writer has its own list for each bucket. */

enum {
	LINE_NUMBERS = 8, /* in a cache line */
	CHUNK_NUMBERS = 64,
	CHUNK_BYTES = CHUNK_NUMBERS * (int)sizeof(uint64_t),
	CHUNK_BATCH = 16,   /* chunks that a writer takes at a time */
	SLAB_BITS_MAX = 15, /* of the index of a chunk in its slab */
};

#define CHUNK_NONE UINT32_MAX

typedef struct chunk_pool {
	mem *m;
	unsigned char *room; /* lent by the caller; it holds the first slabs */
	uint32_t room_chunks;
	unsigned slab_bits;
	unsigned char **slab; /* each: chunks, then the index of each one's next chunk */
	uint32_t slabs_most;
	uint32_t used, most; /* chunks used at least once, and the greatest number of chunks */
	uint32_t free;       /* list of returned chunks */
	atomic_flag busy;    /* a spin lock for slab, used and free */
} chunk_pool;

/* chunks_most_bytes - return the memory for `chunks` chunks. chunks_table_bytes - return the
 * additional memory of their pool. */
uint64_t chunks_most_bytes(uint64_t chunks);
uint64_t chunks_table_bytes(uint64_t chunks);

/* chunks_open - open a pool for up to `most` chunks. Chunks that do not fit into the lent room are
 * allocated when they are needed. */
status chunks_open(chunk_pool *p, mem *m, uint64_t most, void *room, size_t room_bytes, err *e);

void chunks_close(chunk_pool *p);

/* chunks_leave_room - never again give out chunks of the lent room. */
void chunks_leave_room(chunk_pool *p);

static inline uint64_t *chunk_at(const chunk_pool *p, uint32_t chunk)
{
	const uint32_t in_slab = chunk & ((1U << p->slab_bits) - 1);
	return (uint64_t *)(void *)(p->slab[chunk >> p->slab_bits] + (size_t)in_slab * CHUNK_BYTES);
}

/* chunk_next - return the address where the index of the next chunk in the list is stored. */
static inline uint32_t *chunk_next(const chunk_pool *p, uint32_t chunk)
{
	const uint32_t in_slab = chunk & ((1U << p->slab_bits) - 1);
	unsigned char *next =
		p->slab[chunk >> p->slab_bits] + ((size_t)CHUNK_BYTES << p->slab_bits);
	return (uint32_t *)(void *)next + in_slab;
}

/* Free chunks of a thread, so that it seldom locks the pool. */
typedef struct chunk_stock {
	chunk_pool *p;
	uint32_t free;
	err *e; /* of the thread */
} chunk_stock;

/* chunk_get - take a chunk. If memory is missing, set s->e and return CHUNK_NONE. */
uint32_t chunk_get(chunk_stock *s);

/* chunk_put - put a chunk into the stock. */
static inline void chunk_put(chunk_stock *s, uint32_t chunk)
{
	*chunk_next(s->p, chunk) = s->free;
	s->free = chunk;
}

/* chunk_return - return the whole stock to the pool. */
void chunk_return(chunk_stock *s);

/* The numbers of a bucket. */
typedef struct chunk_list {
	uint32_t first; /* the chunk that was filled last */
	uint64_t n;
} chunk_list;

static inline uint64_t chunks_of(uint64_t n)
{
	return n / CHUNK_NUMBERS + (n % CHUNK_NUMBERS > 0);
}

/* chunk_list_order - put the chunks of a list into `chunk` in the order of the numbers: number i is
 * in chunk[i / CHUNK_NUMBERS], at i % CHUNK_NUMBERS. */
void chunk_list_order(const chunk_pool *p, const chunk_list *l, uint32_t *chunk);

/* ---------------------------------------------------------------------------------- writing */

/* The list of a bucket while a writer adds numbers. It collects them in a cache line, and writes
 * full lines to the chunk by streaming stores. */
typedef struct chunk_lane {
	uint64_t *to;        /* where the next line is written */
	uint64_t n;          /* numbers so far */
	uint32_t head, tail; /* the chunk that is being filled, and the one filled first */
} chunk_lane;

typedef struct chunk_writer {
	_Alignas(64) chunk_stock stock; /* on cache lines of its own */
	chunk_lane *lanes;              /* one per bucket */
	uint64_t *lines;                /* LINE_NUMBERS per bucket, aligned to a cache line */
	uint32_t buckets;
	bool failed; /* no memory: numbers have been lost */
} chunk_writer;

/* chunk_writer_bytes - return the memory for a writer, a multiple of a cache line. */
static inline size_t chunk_writer_bytes(uint32_t buckets)
{
	const size_t line = LINE_NUMBERS * sizeof(uint64_t);
	return buckets * line + (buckets * sizeof(chunk_lane) + line - 1) / line * line;
}

/* chunk_writer_begin - initialize a writer. room: zeroed memory, aligned to a cache line. */
void chunk_writer_begin(chunk_writer *w, chunk_pool *p, uint32_t buckets, void *room);

/* chunk_line - write the full line of this bucket. */
void chunk_line(chunk_writer *w, uint32_t bucket);

/* chunk_write - add a number to a bucket. */
static inline void chunk_write(chunk_writer *w, uint32_t bucket, uint64_t number)
{
	chunk_lane *l = &w->lanes[bucket];
	w->lines[(size_t)bucket * LINE_NUMBERS + l->n++ % LINE_NUMBERS] = number;
	if (l->n % LINE_NUMBERS == 0)
		chunk_line(w, bucket);
}

/* chunk_join - join the lists that n writers have for a bucket into *l. s: the caller's. */
status chunk_join(chunk_writer *w, unsigned n, uint32_t bucket, chunk_stock *s, chunk_list *l);

/* ----------------------------------------------------------------------------------- state */

enum { UNSORTED, BUSY, SORTED };

typedef struct demand_bucket {
	classifier_bucket is;
	uint64_t start; /* the place of its first record */
	chunk_list list;
	_Atomic uint32_t state;
} demand_bucket;

typedef struct demand_list {
	demand_bucket *at;
	size_t n, most;
} demand_list;

struct demand {
	records in;
	mem *m;
	demand_sizes sizes;
	uint64_t n_most, count;
	uint64_t mask; /* of the position in a number */
	unsigned lanes, threads;
	classifier map;          /* without map.room, only one bucket exists, */
	classifier_bucket whole; /* this one */
	chunk_pool pool;
	chunk_writer *writer; /* one per lane, or per thread in a split */
	unsigned writers;
	unsigned char *writer_room;
	demand_list all;
	_Atomic size_t misfits;
};

/* demand_number_at - return the address of number i of a list with these chunks, in order. */
static inline uint64_t *demand_number_at(const demand *d, const uint32_t *chunk, uint64_t i)
{
	return chunk_at(&d->pool, chunk[i / CHUNK_NUMBERS]) + i % CHUNK_NUMBERS;
}

/* demand_pos - return the position in a number, or 0 if a memory error has made it too large. */
static inline uint64_t demand_pos(const demand *d, uint64_t number)
{
	const uint64_t pos = number & d->mask;
	return pos < d->count ? pos : 0;
}

/* demand_buckets - return the number of buckets for n records. */
uint32_t demand_buckets(const demand_sizes *s, uint64_t n);

/* demand_map - make the classifier d->map for `want` buckets. sample: the entries of n records of
 * `in`, followed by scratch for n entries. */
void demand_map(demand *d, const records *in, entry *sample, size_t n, uint32_t want);

/* demand_writers_open - open n writers of `buckets` buckets. demand_writers_close - close them. */
status demand_writers_open(demand *d, unsigned n, uint32_t buckets, err *e);
void demand_writers_close(demand *d);

#endif
