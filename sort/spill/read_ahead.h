/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading runs on disk ahead of their merge. The samples tell which chunk of which run is needed
 * next, so each chunk is read once, in that order, as early as there is memory, by threads of this
 * module; a thread that has to wait for a chunk reads as well. A chunk that several slices share
 * stays until the last of them has used it. Memory: the bytes given; 4 bytes a chunk. */
#ifndef HETSORT_SPILL_READ_AHEAD_H
#define HETSORT_SPILL_READ_AHEAD_H

#include "merge_slices.h"

typedef struct read_ahead read_ahead;

/* Consecutive records of a run, in memory. */
typedef struct read_ahead_chunk {
	const unsigned char *recs;
	uint64_t first, n; /* its places: [first, first + n) */
	size_t slot;
} read_ahead_chunk;

/* read_ahead_open - for the slices of w, within so many bytes, and start to read; each slice is to
 * be loaded once, and begun in order. Where the bytes are too few, *f is NULL and the result ST_OK.
 * f is closed on failure; main thread of the rank, as read_ahead_close. */
status read_ahead_open(read_ahead **f, mem *m, const merge_slices *w, uint64_t bytes, err *e);

/* read_ahead_take - the chunk that holds `place` of run k, for a slice that has the place; waits
 * for it. Any number of threads. After a failure every call fails. */
status read_ahead_take(read_ahead *f, size_t k, uint64_t place, read_ahead_chunk *c, err *e);

/* read_ahead_give - the slice has used the chunk. */
void read_ahead_give(read_ahead *f, size_t k, const read_ahead_chunk *c);

void read_ahead_close(read_ahead *f);

#endif
