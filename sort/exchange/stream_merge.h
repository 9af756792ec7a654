/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The merge behind the exchange: streams of the other ranks as they arrive, and this rank's own
 * records from where they lie. */
#ifndef HETSORT_EXCHANGE_STREAM_MERGE_H
#define HETSORT_EXCHANGE_STREAM_MERGE_H

#include "exchange.h"
#include "outgoing.h"

enum { MERGE_BATCH = 64, LEAST_MERGE_BATCH = 4, MERGE_HEADS = 64 * MERGE_BATCH };

/* stream_merge_batch - heads taken of a stream at once: of many streams, few. */
static inline uint32_t stream_merge_batch(uint32_t streams)
{
	const uint32_t each = MERGE_HEADS / streams;
	return each > MERGE_BATCH         ? MERGE_BATCH
	       : each > LEAST_MERGE_BATCH ? each
					  : LEAST_MERGE_BATCH;
}

/* A stream: heads of its next records, and what its current block has behind them. This rank's own
 * has no block. */
typedef struct merge_stream {
	head *h;        /* [stream_merge_batch] */
	uint32_t at, n; /* heads [at, n) are left; at == n after a refill: the stream has ended */
	const unsigned char *rec;
	uint64_t left;
} merge_stream;

typedef struct stream_merge {
	exchange *x;
	outgoing *out;          /* of this rank, which is */
	int own;                /* peer `own` of the exchange, */
	uint32_t own_place, k;  /* and number own_place of all streams; how many these are */
	const int32_t *rank_at; /* [k] the rank of each place; NULL: as they are numbered */
	layout lay;
	/* n records, which follow all before, to where they go */
	void (*put)(void *to, const head *h, size_t n);
	void *to;
	/* set by stream_merge_open */
	mem *m;
	merge_stream *s; /* [k] by place */
	head *heads;     /* [stream_merge_heads] */
	loser_tree t;
} stream_merge;

/* stream_merge_heads - of so many streams: two each for the tree, and their batches. */
static inline size_t stream_merge_heads(uint32_t streams)
{
	return (size_t)streams * (2 + stream_merge_batch(streams));
}

/* stream_merge_open - allocate what g->k streams need; the other fields are used later. Close it
 * after a failure too. */
status stream_merge_open(stream_merge *g, mem *m, err *e);
void stream_merge_close(stream_merge *g);

/* stream_merge_run - read all streams to their end. Equal keys leave in the order of the ranks'
 * places.
 */
status stream_merge_run(stream_merge *g);

#endif
