/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records in memory, from one array to another, on the threads of one process. */
#ifndef HETSORT_ORDER_H
#define HETSORT_ORDER_H

#include "mem.h"
#include "record.h"

/* records_sort - the n records of `in`, stably by key, to out (room for n, not overlapping them).
 * Uses up to `threads` threads. Returns ST_RESOURCE where there is no memory for the entries. */
status records_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
		    err *e);

#endif
