/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The method of large transfers: blocking calls, of which each thread has one under way, or
 * io_uring. One backend serves all files and threads of a rank. */
#ifndef HETSORT_IO_IO_BACKEND_H
#define HETSORT_IO_IO_BACKEND_H

#include "base/settings.h"
#include "uring.h"

enum { IO_TEXT_BYTES = 96 };

typedef struct io_backend io_backend;

/* Of reading, or of writing. Rates are those of the whole sort during the trial. */
typedef struct io_stats {
	uint64_t uring_bytes;                        /* moved by io_uring */
	double uring_bytes_per_s, calls_bytes_per_s; /* 0: there was no trial */
	int32_t method;                              /* of the last transfers */
} io_stats;

/* io_backend_open - IO_URING is refused where uring_open refuses; under IO_AUTO `why` (may be
 * empty) then says why calls are used. segment_bytes as in uring_open, 0:
 * URING_SEGMENT_BYTES. */
status io_backend_open(io_backend **out, io_method wanted, size_t segment_bytes, err *why, err *e);

/* A transfer: of bytes, a write or a read, past the page cache or through it; of which somebody
 * wants to know as it comes, which calls past the page cache do not tell. */
typedef struct io_kind {
	size_t bytes;
	bool writing, direct, watched;
} io_kind;

/* io_backend_is_forced - was io_uring asked for? x may be NULL. */
bool io_backend_is_forced(const io_backend *x);

/* io_backend_ring - for the next transfer: io_uring, or NULL: calls. x may be NULL. */
uring *io_backend_ring(io_backend *x, const io_kind *k, double now_s);

/* io_backend_moved - io_uring moved so many bytes of it. */
void io_backend_moved(io_backend *x, const io_kind *k, size_t bytes);

void io_backend_stats(io_backend *x, bool writing, io_stats *t);

/* io_backend_close - NULL is fine. */
void io_backend_close(io_backend *x);

#endif
