/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The merge of the sort in memory: streams of the other ranks as they arrive, and this rank's own
 * records from where they lie, into the output array. */
#ifndef HETSORT_MEMORY_MERGE_H
#define HETSORT_MEMORY_MERGE_H

#include "exchange.h"
#include "losertree.h"
#include "places.h"

/* A stream: what is left of its current block, or, of this rank's own, places not yet taken. */
typedef struct memory_stream {
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
} memory_merge;

/* memory_merge_run - everything into out. Equal keys leave in the order of ranks. */
status memory_merge_run(memory_merge *g, unsigned char *out);

#endif
