/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large transfers by Linux's io_uring: one thread has many parts of one under way at once. */
#ifndef HETSORT_IO_URING_H
#define HETSORT_IO_URING_H

#include "base/status.h"

#include <stdint.h>

enum { URING_PART_BYTES = 1 << 20 };

typedef struct uring uring;

/* uring_open - refuses (ST_REFUSED, *out NULL) where the program was built without liburing, or the
 * kernel or a container does not let it; ST_RESOURCE for lack of memory or descriptors. part_bytes:
 * URING_PART_BYTES; tests: less. */
status uring_open(uring **out, size_t part_bytes, err *e);

/* uring_move - move bytes between p and the file at offset. An attempt: returns how many bytes from
 * the beginning on went, and who wants the rest, and the words for what failed there, goes the
 * usual way. On return nothing is under way any more. Any number of threads. */
size_t uring_move(uring *u, int fd, unsigned char *p, size_t bytes, uint64_t offset, bool writing);

/* uring_close - no thread is in it any more; NULL is fine. */
void uring_close(uring *u);

#endif
