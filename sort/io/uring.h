/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large transfers by Linux's io_uring: many segments of one transfer are under way at once. */
#ifndef HETSORT_IO_URING_H
#define HETSORT_IO_URING_H

#include "base/status.h"

#include <stdint.h>

enum { URING_SEGMENT_BYTES = 1 << 20, URING_STEP_BYTES = 256 << 10 };

typedef struct uring uring;

/* Who wants to know of bytes as they are moved: is told, each time that more of them are complete
 * from the beginning on, where those end. */
typedef struct arrivals {
	void (*tell)(void *to, const unsigned char *end);
	void *to;
} arrivals;

/* uring_open - refuses (ST_REFUSED, *out NULL) where the program was built without liburing, or the
 * kernel or a container does not allow it; ST_RESOURCE for lack of memory or descriptors.
 * segment_bytes: URING_SEGMENT_BYTES; tests: less. */
status uring_open(uring **out, size_t segment_bytes, err *e);

/* uring_move - move bytes between p and the file at offset. Returns how many bytes from the
 * beginning on were moved; blocking calls can move the rest, or say what fails there. On return
 * nothing is under way any more. a, if not NULL, is told of them in steps of URING_STEP_BYTES or
 * less while others are under way. Any number of threads. */
size_t uring_move(uring *u, int fd, unsigned char *p, size_t bytes, uint64_t offset, bool writing,
		  const arrivals *a);

/* uring_close - when no thread uses it any more; NULL is fine. */
void uring_close(uring *u);

#endif
