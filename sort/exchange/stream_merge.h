/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two ends of the exchange. A rank sends each destination its part of the runs as one sorted
 * stream. It merges the arriving streams with its own records, which stay in place. */
#ifndef HETSORT_EXCHANGE_STREAM_MERGE_H
#define HETSORT_EXCHANGE_STREAM_MERGE_H

#include "exchange.h"
#include "kernel/fold.h"
#include "spill/sorted.h"

typedef struct stream_out stream_out;

/* A thread that takes records of streams from memory: the records that it has taken last. */
typedef struct stream_taker {
	int to; /* the stream of these records */
	sorted_piece p;
	size_t at; /* records of the piece that it has used */
} stream_taker;

/* A sender and a reader may use the streams at the same time, each its own ones. */
typedef struct outgoing {
	/* set by the caller */
	mem *m;
	size_t size;          /* ranks */
	size_t streams;       /* of all lanes of the rank, which share memory for pieces */
	int own;              /* this rank, whose stream the reader uses */
	uint64_t ahead_bytes; /* memory per stream to read ahead from disk */
	bool folds;           /* fold records with equal keys in each block (kernel/fold.h) */
	/* set by outgoing_open */
	sorted *of;
	layout lay;
	stream_out *s;  /* [size] */
	uint64_t *send; /* [size] records for each rank, before they are folded */
	stream_taker sender, reader;
	dropped dropped[2];   /* by the sender, and by the reader */
	pthread_mutex_t lock; /* for e */
	err e; /* the first failure to read, after which records of the largest key are sent */
	atomic_bool failed;
} outgoing;

/* outgoing_open - open the streams. Rank d gets the places cut[k] to cut[runs + k] of run k, where
 * cut begins at element d * stride. The caller has set the first members; all others are 0. Close
 * the streams after a failure, too. */
status outgoing_open(outgoing *s, sorted *of, const uint64_t *cut, size_t stride, err *e);

/* outgoing_fill - copy the next n records of the stream to rank `to`; an exchange_fill. A failure
 * is stored. Then all further records have the largest key, because the other ranks wait for
 * records. */
size_t outgoing_fill(void *s, int to, size_t n, unsigned char *buf);

/* outgoing_heads - make heads of up to `most` next records of the stream to this rank, instead of
 * outgoing_fill. Return their number, 0 at the end of the stream. `place` is the number of the
 * stream in the heads. The records are valid until the next call. */
uint32_t outgoing_heads(outgoing *s, uint32_t place, head *h, uint32_t most);

/* outgoing_failure - return the stored failure, after which sent records are not from the input. */
status outgoing_failure(outgoing *s, err *e);

/* outgoing_close - free the streams; they may be all zeros. */
void outgoing_close(outgoing *s);

/* outgoing_most_bytes - return the most memory that outgoing_open allocates for runs on disk of
 * `recs` records. Add ahead_bytes, and some hundred bytes for each rank and each of its runs. For
 * records in memory it is the scratch of two threads (demand_most_bytes). */
uint64_t outgoing_most_bytes(uint64_t recs, uint64_t ranks);

enum { MERGE_BATCH = 64, LEAST_MERGE_BATCH = 4, MERGE_HEADS = 64 * MERGE_BATCH };

/* stream_merge_batch - return the number of heads of a batch: fewer if there are many streams. */
static inline uint32_t stream_merge_batch(uint32_t streams)
{
	/* A merge has at least one stream. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	const uint32_t each = MERGE_HEADS / streams;
	return each > MERGE_BATCH         ? MERGE_BATCH
	       : each > LEAST_MERGE_BATCH ? each
					  : LEAST_MERGE_BATCH;
}

/* A stream: heads of its next records, and the rest of its current block. The stream of this rank
 * has no blocks. */
typedef struct merge_stream {
	head *h;        /* [stream_merge_batch] */
	uint32_t at, n; /* heads [at, n) remain; at == n after a refill: the stream has ended */
	const unsigned char *rec; /* the rest of the block, */
	uint64_t left;            /* in records */
} merge_stream;

/* The destination of merged records. */
typedef struct merge_sink {
	/* Return memory for the next records, and set *recs to the number that fit, >= 1. */
	unsigned char *(*room)(void *of, size_t *recs);
	/* Report that n records have been put there. */
	void (*add)(void *of, size_t n);
	void *of;
} merge_sink;

typedef struct stream_merge {
	exchange *x;
	outgoing *out;          /* the streams of this rank, */
	uint32_t own_place, k;  /* and its place among the k streams */
	const int32_t *rank_at; /* [k] the rank of each stream; NULL: stream i is of rank i */
	layout lay;
	merge_sink to;
	/* set by stream_merge_open */
	mem *m;
	merge_stream *s; /* [k] by place */
	head *heads;     /* [stream_merge_heads] */
	loser_tree t;
} stream_merge;

/* stream_merge_heads - return the number of heads: for each stream two in the tree and a batch. */
static inline size_t stream_merge_heads(uint32_t streams)
{
	return (size_t)streams * (2 + stream_merge_batch(streams));
}

/* stream_merge_open - allocate the memory for g->k streams; the other members may be set later.
 * Close it after a failure, too. */
status stream_merge_open(stream_merge *g, mem *m, err *e);
void stream_merge_close(stream_merge *g);

/* stream_merge_run - merge all streams to their end. Equal keys keep the order of the streams. */
status stream_merge_run(stream_merge *g);

#endif
