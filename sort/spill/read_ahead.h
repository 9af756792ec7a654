/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading runs on disk ahead of their merge. Which chunk of which run is needed next is known from
 * the samples, so each is read once, in that order, as early as there is room, by threads of its
 * own; whoever has to wait for one reads as well. Chunks that several pieces share stay until the
 * last of these has taken its part. Memory: the bytes given; 4 bytes a chunk. */
#ifndef HETSORT_SPILL_READ_AHEAD_H
#define HETSORT_SPILL_READ_AHEAD_H

#include "merge_slice.h"

typedef struct feed feed;

/* A part of a run in memory. */
typedef struct feed_chunk {
	const unsigned char *recs;
	uint64_t first, n; /* places of it in all runs: [first, first + n) */
	size_t slot;
} feed_chunk;

/* feed_open - for the pieces of w, within so many bytes, and start to read; each piece is then
 * loaded once, and begun in order. *f is NULL, and the result still ST_OK, where the bytes do not
 * suffice. f is closed on failure; main thread of the rank, as feed_close. */
status feed_open(feed **f, mem *m, const windows *w, uint64_t bytes, err *e);

/* feed_take - the chunk that holds `place` of run k, for a piece that has the place; waits for it.
 * Any number of threads. After a failure every call fails. */
status feed_take(feed *f, size_t k, uint64_t place, feed_chunk *c, err *e);

/* feed_give - this piece has taken what it needs of the chunk. */
void feed_give(feed *f, size_t k, const feed_chunk *c);

void feed_close(feed *f);

#endif
