/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-to-all exchange as a set of bounded streams: each rank sends each of its peers records in
 * order, in blocks, and reads from each a stream of blocks while they arrive. */
#ifndef HETSORT_EXCHANGE_EXCHANGE_H
#define HETSORT_EXCHANGE_EXCHANGE_H

#include "comm/comm.h"
#include "base/mem.h"

/* What callers give the windows: LEAST where there are data enough, and never more than MOST. */
enum { EXCHANGE_LEAST_BYTES = 8 << 20, EXCHANGE_MOST_BYTES = 256 << 20 };

typedef struct exchange exchange;

/* Here a rank is known by its place among the peers (peer_list). */

/* Copies the next n records of the stream to peer `to`, of which `skip` were copied before, to buf.
 * Blocks of a stream are asked for in order; those to other ranks by the thread that sends, those
 * to this rank by the reader. */
typedef void exchange_fill(void *outgoing, int to, uint64_t skip, size_t n, unsigned char *buf);

typedef struct exchange_plan {
	comm *c;
	mem *m;
	size_t record_bytes;
	exchange_fill *fill;
	void *outgoing; /* for fill */
	peer_list peers;
	int most_peers;       /* that any rank has */
	const uint64_t *send; /* [peers] records for each */
	const uint64_t *recv; /* [peers] records that come from each */
	unsigned threads;     /* 0 the reader moves everything, 1 one thread, 2 sender + receiver */
	size_t budget_bytes;  /* for all windows together; a slot holds at least one record. This,
			       * total and most_peers are the same on all ranks: they set the size
			       * of blocks */
	uint64_t total;       /* records of all ranks */
} exchange_plan;

/* exchange_open - allocate the windows; nothing moves yet. Not collective. */
status exchange_open(exchange **out, const exchange_plan *p, err *e);

/* exchange_most_bytes - at most what exchange_open allocates for so many peers of so many ranks. */
uint64_t exchange_most_bytes(size_t record_bytes, size_t budget_bytes, int peers, int ranks);

/* exchange_start - collective, once all ranks have opened: let it run. Where a thread cannot be
 * started, the reader moves its blocks. */
status exchange_start(exchange *x);

/* exchange_next - the next block of the stream from peer src: *n records at *recs, valid until the
 * next call for the same src; *n 0 is the end. Blocks until there is one. Main thread. */
status exchange_next(exchange *x, int src, const unsigned char **recs, size_t *n);

/* exchange_progress - move what can be moved now, where no thread does it. */
status exchange_progress(exchange *x);

/* Of the main thread: how long it had nothing to do but wait, and how long it moved blocks. */
typedef struct exchange_times {
	double wait_s, move_s;
} exchange_times;

/* exchange_finish - read all streams to their end first; waits until all is sent, stops threads.
 * ST_PEER, with e filled, if a block came damaged: what was read since then may be wrong. */
status exchange_finish(exchange *x, exchange_times *t, err *e);

void exchange_free(exchange *x);

#endif
