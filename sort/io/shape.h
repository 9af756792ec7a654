/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes records in memory of records in input files, where these are read, for --append, --number
 * and --order-out; and makes of them records in the output, where these are written. Sorting, runs,
 * messages and checksums only know records in memory. */
#ifndef HETSORT_IO_SHAPE_H
#define HETSORT_IO_SHAPE_H

#include "base/settings.h"
#include "kernel/inspect.h"

#include <stddef.h>

/* shape_to_numbers - for --order-out: sort only the settled key and the number of each record, and
 * write the number. shape_to_places - for --apply: sort records by their place in the output, which
 * is not written. Both set o->shape and o->lay. ST_REFUSED: a record would be too long. */
status shape_to_numbers(settings *o, err *e);
status shape_to_places(settings *o, err *e);

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

/* shape_cuts - return whether only a part of each record is written. */
static inline bool shape_cuts(const shape *s)
{
	return s && s->out_bytes > 0;
}

static inline uint32_t shape_out_bytes(const shape *s, uint32_t record_bytes)
{
	return shape_cuts(s) ? s->out_bytes : record_bytes;
}

/* shape_cut - make records in the output of n records in memory, at the same place, and add their
 * checksum to *sum. Only if shape_cuts(). */
void shape_cut(const shape *s, uint32_t record_bytes, unsigned char *recs, size_t n, checksum *sum);

/* shape_check - refuse an input of n records in all whose numbers do not fit their field. */
status shape_check(const shape *s, uint64_t n, err *e);

#endif
