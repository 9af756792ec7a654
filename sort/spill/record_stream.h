/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records from a pipe, or another input without a known size. */
#ifndef HETSORT_SPILL_RECORD_STREAM_H
#define HETSORT_SPILL_RECORD_STREAM_H

#include "memory_share.h"

typedef struct record_stream {
	layout lay;
	const shape *shape;
	unsigned char *raw; /* if shape is on: room for record_stream_raw_bytes() */
	int fd;
	const char *path;
	checksum sum;     /* of the records read */
	uint64_t records; /* read */
	double verify_s;
} record_stream;

/* record_stream_raw_bytes - return the size of the buffer for records before they are shaped. */
size_t record_stream_raw_bytes(const record_stream *s);

/* record_stream_take - read records of a record_stream (a record_take), and add to its checksum. */
status record_stream_take(void *record_stream, unsigned char *to, size_t n, size_t *got, err *e);

/* record_stream_load - read a stream, unsorted, until its end (*ended) or until memory is full. */
status record_stream_load(record_stream *s, const load_plan *p, mem *m, sorted_share *out,
			  bool *ended, err *e);

#endif
