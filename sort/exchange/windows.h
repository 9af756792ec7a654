/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the memory for the windows of an exchange is divided: blocks in a window, records in a
 * block. Pure: the same on all ranks. */
#ifndef HETSORT_EXCHANGE_WINDOWS_H
#define HETSORT_EXCHANGE_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

typedef struct windows {
	size_t blocks;     /* of each window: to one rank, or from one */
	size_t block_recs; /* at least 1 */
} windows;

/* windows_divide - so many bytes for all windows of a rank together, of so many records of all
 * ranks. Among many ranks windows have fewer blocks, so that these stay long. */
windows windows_divide(size_t budget_bytes, size_t record_bytes, int ranks, uint64_t total);

#endif
