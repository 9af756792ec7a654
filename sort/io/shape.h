/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes records in memory of records in input files: --append and --number. This happens where
 * records are read. Sorting, runs, messages, checksums and outputs only know records in memory. */
#ifndef HETSORT_IO_SHAPE_H
#define HETSORT_IO_SHAPE_H

#include "base/settings.h"

#include <stddef.h>

/* shape_is_on - return whether records in memory differ from records in files. */
static inline bool shape_is_on(const shape *s)
{
	return s && s->file_bytes > 0;
}

/* shape_file_bytes - return the size of a record in a file; record_bytes is the size in memory. */
static inline uint32_t shape_file_bytes(const shape *s, uint32_t record_bytes)
{
	return shape_is_on(s) ? s->file_bytes : record_bytes;
}

/* shape_apply - make n records of record_bytes bytes at `to` of records in a file. at: the place of
 * the first of them in the input of this rank, as input_file.first counts. Any thread. */
void shape_apply(const shape *s, uint32_t record_bytes, unsigned char *to,
		 const unsigned char *from, size_t n, uint64_t at);

/* shape_check - refuse an input of n records in all whose numbers do not fit their field. */
status shape_check(const shape *s, uint64_t n, err *e);

#endif
