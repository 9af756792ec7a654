/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares tasks 0, 1, ... among threads of unequal speed. Each thread begins with an equal range of
 * them and does it in order; when it has none left, it takes the second half of another thread's.
 */
#ifndef HETSORT_BASE_RANGES_H
#define HETSORT_BASE_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ranges {
	_Atomic uint64_t *of; /* [threads], lent: what each has still to do, the first task in the
			       * upper half, the end in the lower half */
	unsigned threads;
} ranges;

/* ranges_share - give each thread an equal part of `tasks`, below 2^32. No thread takes any then.
 */
void ranges_share(const ranges *r, size_t tasks);

/* ranges_next - take the next task of a thread; false: no thread has any left. Each task of a
 * thread follows the one before it, except after some were taken from another thread. Any threads
 * at the same time. */
bool ranges_next(const ranges *r, unsigned thread, size_t *task);

#endif
