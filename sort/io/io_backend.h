/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By which of two ways large transfers go: blocking calls, of which each thread has one under way,
 * or io_uring. One engine serves all files and threads of a rank. */
#ifndef HETSORT_IO_IO_BACKEND_H
#define HETSORT_IO_IO_BACKEND_H

#include "uring.h"

typedef enum io_way { IO_AUTO, IO_URING, IO_THREADS } io_way;

enum { IO_TEXT_BYTES = 96 };

typedef struct engine engine;

/* What became of one direction. Rates are of the job's work with its files, in the trial. */
typedef struct io_told {
	uint64_t uring_bytes;                        /* that went by io_uring */
	double uring_bytes_per_s, calls_bytes_per_s; /* 0: there was no trial */
	int32_t way;                                 /* of the last ones */
} io_told;

/* engine_open - IO_URING is refused where uring_open refuses; under IO_AUTO `why` (may be empty)
 * then says why everything goes by calls. part_bytes as in uring_open. */
status engine_open(engine **out, io_way wish, size_t part_bytes, err *why, err *e);

/* A transfer: of bytes, a write or a read, past the page cache or through it. */
typedef struct io_kind {
	size_t bytes;
	bool writing, direct;
} io_kind;

/* engine_ring - for the next transfer: io_uring, or NULL: calls. x may be NULL. */
uring *engine_ring(engine *x, const io_kind *k, double now_s);

/* engine_moved - so many bytes of it went by the ring. */
void engine_moved(engine *x, const io_kind *k, size_t bytes);

void engine_tell(engine *x, bool writing, io_told *t);

/* engine_close - NULL is fine. */
void engine_close(engine *x);

#endif
