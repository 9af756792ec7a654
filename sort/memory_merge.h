/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The merge of the sort in memory: streams of the other ranks as they arrive, and this rank's own
 * records from where they lie, into the output array. */
#ifndef HETSORT_MEMORY_MERGE_H
#define HETSORT_MEMORY_MERGE_H

#include "exchange.h"
#include "losertree.h"
#include "past_cache.h"
#include "places.h"

enum { BATCH = 64 };

/* A stream: heads of its next records, and what its current block has behind them. Of this rank's
 * own stream there is no block: places follow. */
typedef struct memory_stream {
	head h[BATCH];
	uint32_t at, n; /* heads [at, n) are left; at == n after a refill: the stream has ended */
	const unsigned char *rec;
	uint64_t left;
} memory_stream;

typedef struct memory_merge {
	exchange *x;
	const places *own;
	uint64_t at, end; /* own places: [at, end) go to this rank */
	uint32_t rank, k; /* this rank, all ranks */
	layout lay;
	memory_stream *s; /* [k], room of the caller's */
	head *heads;      /* [2 k] the same */
	losertree t;
	unsigned char *out;
	bool large; /* the output is larger than caches */
	past_cache past;
} memory_merge;

/* memory_merge_run - everything to out, bytes in all. Equal keys leave in the order of ranks. */
status memory_merge_run(memory_merge *g, unsigned char *out, uint64_t bytes);

#endif
