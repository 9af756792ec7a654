/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a sort on demand, shared by demand.c, which explains it, and demand_end.c. */
#ifndef HETSORT_KERNEL_DEMAND_STATE_H
#define HETSORT_KERNEL_DEMAND_STATE_H

#include "chunks.h"
#include "classifier.h"
#include "demand.h"

enum { UNSORTED, BUSY, SORTED };

typedef struct bucket {
	classifier_bucket is;
	uint64_t start; /* place */
	chunk_list list;
	_Atomic uint32_t state;
} bucket;

typedef struct bucket_array {
	bucket *at;
	size_t n, most;
} bucket_array;

struct demand {
	records in;
	mem *m;
	demand_sizes sizes;
	uint64_t n_most, count;
	uint64_t mask; /* of the position in a number */
	unsigned pos_bits, lanes, threads;
	classifier map;
	void *map_room;          /* of the classifier; NULL: only one bucket exists, */
	classifier_bucket whole; /* this one */
	chunk_pool pool;
	chunk_writer *writer; /* of each lane */
	unsigned char *writer_room;
	bucket_array all;
	_Atomic size_t misfits;
};

/* The numbers of one bucket. */
typedef struct numbers {
	const demand *d;
	const uint32_t *chunk;
} numbers;

static inline uint64_t *number_at(const numbers *x, uint64_t i)
{
	return chunk_at(&x->d->pool, x->chunk[i / CHUNK_NUMBERS]) + i % CHUNK_NUMBERS;
}

/* demand_buckets - return the number of buckets for n records. */
uint32_t demand_buckets(const demand_sizes *s, uint64_t n);

/* demand_map - make a classifier for `want` buckets from n records of `in`; their entries are the
 * first half of `sample`. */
void demand_map(demand *d, const records *in, entry *sample, size_t n, uint32_t want);

/* demand_writers_open, demand_writers_close - open and close n writers of `buckets` buckets. */
status demand_writers_open(demand *d, unsigned n, uint32_t buckets, err *e);
void demand_writers_close(demand *d);

#endif
