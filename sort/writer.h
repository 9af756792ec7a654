/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sorted stream of records on its way to a file: buffered, checked, counted. */
#ifndef HETSORT_WRITER_H
#define HETSORT_WRITER_H

#include "checksum.h"
#include "mem.h"
#include "record.h"

/* Where a writer's records go. */
typedef struct sink {
	int fd;
	const char *path;
	uint64_t offset; /* of the first record; FILE_APPEND for a stream */
	bool durable;    /* it will be synced: let the disk begin early */
} sink;

typedef struct writer {
	int fd;
	const char *path;
	uint64_t offset; /* of the next write; FILE_APPEND for a stream */
	bool durable;
	layout lay;
	mem *m;
	err *e;
	status failed;      /* the first failure; from then on records are dropped */
	unsigned char *buf; /* room records; before them the last record of the buffer before */
	size_t used, room;
	uint64_t records; /* handed over so far */
	checksum sum;
	unsigned char *first_key, *last_key;
	double write_s, verify_s;
} writer;

/* writer_open - to a sink, which is copied; e must live as long and receives the first failure. */
status writer_open(writer *w, mem *m, const layout *l, const sink *to, err *e);

/* writer_room - where the next record goes, and for how many there is room (>= 1). */
static inline unsigned char *writer_room(writer *w, size_t *recs)
{
	*recs = w->room - w->used;
	return w->buf + w->used * w->lay.record_bytes;
}

/* writer_add - n records stand where writer_room said. Writes when the buffer is full. A failure is
 * kept: the caller goes on (its peers count on it), and learns of it from writer_flush. */
void writer_add(writer *w, size_t n);

/* writer_flush - what is left goes out. ST_INTERNAL if records were not in order. */
status writer_flush(writer *w);

void writer_free(writer *w);

#endif
