/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading runs on disk ahead of their merge. Which chunk of which run is needed next is known from
 * the samples, so each is read once, in that order, as early as there is room, by threads of its
 * own; whoever has to wait for one reads as well. Chunks that several pieces share stay until the
 * last of these has taken its part. Memory: the bytes given; 4 bytes a chunk. */
#ifndef HETSORT_SPILL_READ_AHEAD_H
#define HETSORT_SPILL_READ_AHEAD_H

#include "merge_slices.h"

typedef struct read_ahead read_ahead;

/* A part of a run in memory. */
typedef struct read_ahead_chunk {
	const unsigned char *recs;
	uint64_t first, n; /* places of it in all runs: [first, first + n) */
	size_t slot;
} read_ahead_chunk;

/* read_ahead_open - for the pieces of w, within so many bytes, and start to read; each piece is
 * then loaded once, and begun in order. *f is NULL, and the result still ST_OK, where the bytes do
 * not suffice. f is closed on failure; main thread of the rank, as read_ahead_close. */
status read_ahead_open(read_ahead **f, mem *m, const merge_slices *w, uint64_t bytes, err *e);

/* read_ahead_take - the chunk that holds `place` of run k, for a piece that has the place; waits
 * for it. Any number of threads. After a failure every call fails. */
status read_ahead_take(read_ahead *f, size_t k, uint64_t place, read_ahead_chunk *c, err *e);

/* read_ahead_give - this piece has taken what it needs of the chunk. */
void read_ahead_give(read_ahead *f, size_t k, const read_ahead_chunk *c);

void read_ahead_close(read_ahead *f);

#endif
