/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-to-all exchange of records, in streams with buffers of bounded size. Each rank sends records
 * to each of its peers, in order and in blocks. It reads a stream of blocks from each peer while
 * blocks arrive. A rank is identified by its place in the peer_list. */
#ifndef HETSORT_EXCHANGE_EXCHANGE_H
#define HETSORT_EXCHANGE_EXCHANGE_H

#include "comm/comm.h"
#include "base/mem.h"

/* The memory for the windows: at least EXCHANGE_LEAST_BYTES if there is enough data. */
enum { EXCHANGE_LEAST_BYTES = 8 << 20, EXCHANGE_MOST_BYTES = 256 << 20 };

typedef struct exchange exchange;

/* Copy n records of the stream to peer `to`, after its first `skip` records, to buf. The sending
 * thread requests the blocks of a stream in order; the reader requests the blocks for this rank. */
typedef void exchange_fill(void *outgoing, int to, uint64_t skip, size_t n, unsigned char *buf);

typedef struct exchange_plan {
	comm *c;
	mem *m;
	size_t record_bytes;
	exchange_fill *fill;
	void *outgoing; /* for fill */
	peer_list peers;
	const uint64_t *send; /* [peers] records for each peer */
	const uint64_t *recv; /* [peers] records from each peer */
	unsigned threads; /* that move blocks: 2 a sender and a receiver; 0 the reader does it */
	/* the same on all ranks, because they set the size of blocks: */
	int most_peers;      /* of any rank */
	size_t budget_bytes; /* for all windows together; a slot holds at least one record */
	uint64_t total;      /* records of all ranks */
} exchange_plan;

/* exchange_open - allocate the windows; nothing moves yet. Not collective. */
status exchange_open(exchange **out, const exchange_plan *p, err *e);

/* exchange_most_bytes - return the most memory that exchange_open allocates. */
uint64_t exchange_most_bytes(size_t record_bytes, size_t budget_bytes, int peers, int ranks);

/* exchange_start - collective, after exchange_open on all ranks: start to move blocks. If a thread
 * cannot be started, the reader moves its blocks. */
status exchange_start(exchange *x);

/* exchange_next - wait for the next block of the stream from peer src. Its *n records at *recs are
 * valid until the next call for src. *n is 0 at the end. Only for the main thread. */
status exchange_next(exchange *x, int src, const unsigned char **recs, size_t *n);

/* exchange_progress - move the blocks that can move now, unless threads do it. */
status exchange_progress(exchange *x);

/* The time that the main thread has waited, and the time in which it has moved blocks. */
typedef struct exchange_times {
	double wait_s, move_s;
} exchange_times;

/* exchange_finish - after all streams are read to their end: wait until all blocks are sent, and
 * stop the threads. ST_PEER, with e filled: a block arrived damaged, so records may be wrong. */
status exchange_finish(exchange *x, exchange_times *t, err *e);

void exchange_free(exchange *x);

#endif
