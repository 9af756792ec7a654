/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A part of an input file as memory, without a copy: for files whose pages are in memory already.
 */
#ifndef HETSORT_IO_MAPPED_H
#define HETSORT_IO_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mapped {
	unsigned char *page; /* NULL: not mapped */
	size_t bytes, slot;
} mapped;

/* mapped_open - map bytes [offset, offset + bytes) of fd for reading; returns where they begin, or
 * NULL if they cannot be mapped: then read them. Main thread of a rank, as mapped_close. */
const unsigned char *mapped_open(mapped *m, int fd, uint64_t offset, size_t bytes);

/* mapped_shrank - whether somebody read a page that the file no longer had. It read zeros. */
bool mapped_shrank(const mapped *m);

void mapped_close(mapped *m);

#endif
