/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A writer of a sorted stream of records to a file. It buffers the records and checks their order.
 * Its own thread writes a buffer while the caller's thread fills the next one. */
#ifndef HETSORT_IO_WRITER_H
#define HETSORT_IO_WRITER_H

#include "io_fd.h"
#include "kernel/inspect.h"
#include "base/mem.h"

#include <pthread.h>

enum { WRITER_BUFFERS = 3 };

typedef struct writer {
	file_records to; /* its offset is the offset of the buffer that is being filled */
	layout lay;
	mem *m;
	inspected *seen;
	unsigned char *raw;         /* all buffers */
	size_t buffer_bytes, chunk; /* a full buffer ends at a multiple of `chunk` records */
	unsigned char *buf;         /* the buffer being filled: `used` of `room` records */
	size_t used, room;
	struct {
		unsigned char *recs;
		size_t n;
		uint64_t offset;
	} full[WRITER_BUFFERS];
	/* buffers [written, filled) are still to be written */
	uint64_t filled, written;
	bool threaded, ending;
	pthread_t thread;
	pthread_mutex_t lock; /* guards filled, written, ending and e */
	pthread_cond_t changed;
	err e;           /* the first failure; from then on records are dropped */
	double wait_s;   /* waiting for a free buffer */
	double verify_s; /* inspecting records */
} writer;

/* writer_open - open a writer of to->recs records, or fewer; *to is copied. seen, which has memory
 * for its keys, is updated with every buffer. */
status writer_open(writer *w, mem *m, const layout *l, const file_records *to, inspected *seen,
		   err *e);

/* writer_room - return the place of the next record, and set *recs to the number of records that
 * fit there (>= 1). */
static inline unsigned char *writer_room(const writer *w, size_t *recs)
{
	*recs = w->room - w->used;
	return w->buf + w->used * w->lay.record_bytes;
}

/* writer_add - add n records that the caller has stored at writer_room(). Only writer_flush returns
 * a failure to write, because other ranks rely on the caller to continue. */
void writer_add(writer *w, size_t n);

/* writer_flush - write all records that are not written yet. ST_INTERNAL if they were out of
 * order. */
status writer_flush(writer *w, err *e);

/* writer_most_bytes - return an upper bound of the bytes that writer_open allocates. */
uint64_t writer_most_bytes(uint64_t recs, uint32_t record_bytes);

void writer_free(writer *w);

#endif
