/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank sends: for each destination its part of the runs, as one sorted stream. */
#ifndef HETSORT_EXCHANGE_OUTGOING_H
#define HETSORT_EXCHANGE_OUTGOING_H

#include "spill/sorted.h"

#include <pthread.h>

typedef struct stream_out stream_out;

typedef struct outgoing {
	layout lay;
	size_t size;
	stream_out *s;  /* [size] */
	uint64_t *send; /* [size] records for each rank */
	pthread_mutex_t lock;
	err e; /* the first failure to read; after it records of the largest key are sent */
} outgoing;

/* outgoing_open - streams to `size` ranks; rank d gets of run k the places from cut[d * runs + k]
 * to cut[(d + 1) * runs + k]. Each stream from disk reads ahead up to ahead_bytes. Close it after a
 * failure too. */
status outgoing_open(outgoing *s, mem *m, sorted *of, const uint64_t *cut, size_t size,
		     uint64_t ahead_bytes, err *e);

/* outgoing_fill - an exchange_fill: the next n records of the stream to rank `to`. After a
 * failure, which is kept, records are made up, because the peers wait for them. */
void outgoing_fill(void *s, int to, uint64_t skip, size_t n, unsigned char *buf);

/* outgoing_heads - the next heads of the stream to rank `to`, at most `most`, none where it has
 * ended; instead of outgoing_fill. They tell of stream `place`. Their records stay where they are
 * until the next call. */
uint32_t outgoing_heads(outgoing *s, int to, uint32_t place, head *h, uint32_t most);

/* outgoing_failure - has anything sent been made up? */
status outgoing_failure(outgoing *s, err *e);

void outgoing_close(outgoing *s, mem *m);

/* outgoing_most_bytes - an upper bound of what outgoing_open allocates for `recs` records to
 * `ranks` ranks, in addition to ahead_bytes for each and some hundred bytes for each and for each
 * of its runs on disk. */
uint64_t outgoing_most_bytes(uint64_t recs, uint64_t ranks);

#endif
