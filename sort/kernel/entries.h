/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The entries of records in memory, made and sorted by several threads. */
#ifndef HETSORT_KERNEL_ENTRIES_H
#define HETSORT_KERNEL_ENTRIES_H

#include "base/mem.h"
#include "record.h"

/* entries_of - the n records' entries in order, in a or in b (room for n each): *sorted tells
 * which. Uses up to `threads` threads (>= 1); several take memory (entries_most_bytes). */
status entries_of(mem *m, const records *in, size_t n, entry *a, entry *b, unsigned threads,
		  entry **sorted, err *e);

/* entries_most_bytes - at most what entries_of allocates. */
uint64_t entries_most_bytes(uint64_t n, unsigned threads);

#endif
