/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-to-all exchange of records, in streams with buffers of bounded size. Each rank sends records
 * to each other rank, in order and in blocks. It reads a stream of blocks from each rank while
 * blocks arrive. Ranks may have several exchanges at the same time, one for each lane (lanes.h). */
#ifndef HETSORT_EXCHANGE_EXCHANGE_H
#define HETSORT_EXCHANGE_EXCHANGE_H

#include "comm/comm.h"
#include "base/mem.h"

/* The memory for the windows: at least EXCHANGE_LEAST_BYTES if there is enough data. */
enum { EXCHANGE_LEAST_BYTES = 8 << 20, EXCHANGE_MOST_BYTES = 256 << 20 };

/* The most exchanges that ranks have at the same time. */
enum { EXCHANGE_MOST_LANES = 15 };

typedef struct exchange exchange;

/* Copy the next n records of the stream to rank `to` to buf, and return n, or less if records were
 * folded and the stream has no more. The sending thread requests the blocks of a stream in order;
 * the reader requests the blocks for this rank. */
typedef size_t exchange_fill(void *outgoing, int to, size_t n, unsigned char *buf);

typedef struct exchange_plan {
	comm *c;
	mem *m;
	size_t record_bytes;
	exchange_fill *fill;
	void *outgoing;       /* for fill */
	const uint64_t *send; /* [size] the most records for each rank; all, unless `folds` */
	const uint64_t *recv; /* [size] the most records from each rank */
	bool folds;           /* fill may return fewer records */
	bool threads;         /* a thread sends, and another moves messages; else the reader does */
	/* the same on all ranks */
	unsigned lane;       /* the number of the exchange, below EXCHANGE_MOST_LANES */
	size_t budget_bytes; /* for all windows together; a slot holds at least one record */
	uint64_t total;      /* records of all ranks */
} exchange_plan;

/* exchange_open - allocate the windows; nothing moves yet. Not collective. */
status exchange_open(exchange **out, const exchange_plan *p, err *e);

/* exchange_most_bytes - return the most memory that exchange_open allocates; see windows_divide. */
uint64_t exchange_most_bytes(size_t record_bytes, size_t budget_bytes, int ranks, bool inside);

/* exchange_start - collective, after exchange_open on all ranks: start to move the blocks of n
 * exchanges, which have the same comm. If a thread cannot be started, the reader does its work. x
 * must outlive the exchanges. */
status exchange_start(exchange *const *x, size_t n, err *e);

/* exchange_needs_caller - return whether the thread that has called exchange_start must move the
 * messages of these exchanges, by exchange_drive(), while other threads read them: only this thread
 * may use the comm. exchange_drive - move messages until *readers, which other threads lower, is
 * `left`. The calling thread may then read the exchanges that are left. */
bool exchange_needs_caller(exchange *const *x);
status exchange_drive(exchange *const *x, size_t n, const atomic_int *readers, int left);

/* exchange_place - bind the calling thread, a reader, to the NUMA node of this lane, if the rank
 * binds its threads (base/numa.h). */
void exchange_place(const exchange *x);

/* exchange_next - wait for the next block of the stream from rank src. Its *n records at *recs are
 * valid until the next call for src. *n is 0 at the end. Only for the reader, a single thread. */
status exchange_next(exchange *x, int src, const unsigned char **recs, size_t *n);

/* exchange_progress - move the blocks that can move now, unless threads do it. */
status exchange_progress(exchange *x);

/* The time that the reader has waited, and the time in which it has moved blocks. */
typedef struct exchange_times {
	double wait_s, move_s;
} exchange_times;

/* exchange_finish - after all streams are read to their end: wait until all blocks are sent, and
 * stop the sending thread. ST_PEER, with e filled: a block arrived damaged, so records may be
 * wrong. Only for the reader. */
status exchange_finish(exchange *x, exchange_times *t, err *e);

/* exchange_sent, exchange_received - after exchange_finish, return the records sent to and received
 * from a rank. */
uint64_t exchange_sent(const exchange *x, int rank);
uint64_t exchange_received(const exchange *x, int rank);

/* exchange_free - free an exchange, which may be NULL. After exchange_finish, first let all ranks
 * agree: until then another rank may report a block. Free the first exchange of exchange_start
 * first. */
void exchange_free(exchange *x);

#endif
