/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a sorted stream of records to a file: buffered, inspected, and written by a thread of its
 * own while the next buffer is filled. One thread fills. */
#ifndef HETSORT_IO_WRITER_H
#define HETSORT_IO_WRITER_H

#include "io_fd.h"
#include "kernel/inspect.h"
#include "base/mem.h"

#include <pthread.h>

enum { WRITER_BUFFERS = 3 };

/* Where a writer's records go. */
typedef struct sink {
	io_fd fd;
	const char *path;
	uint64_t offset; /* of the first record */
	uint64_t recs;   /* that will come: buffers need not be larger */
	bool durable;    /* it will be synced: start writing to the disk early */
} sink;

typedef struct writer {
	sink to; /* its offset is that of the buffer being filled */
	layout lay;
	mem *m;
	inspected *seen;
	unsigned char *raw;         /* all buffers */
	size_t buffer_bytes, chunk; /* chunk: a full buffer ends at a multiple of so many records */
	unsigned char *buf;         /* being filled: used of room records */
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
	pthread_mutex_t lock; /* for the counts, ending and e */
	pthread_cond_t changed;
	err e;           /* the first failure; from then on records are dropped */
	double wait_s;   /* for a free buffer */
	double verify_s; /* inspecting */
} writer;

/* writer_open - to a sink, which is copied; seen, whose keys have room, is filled as records go. */
status writer_open(writer *w, mem *m, const layout *l, const sink *to, inspected *seen, err *e);

/* writer_room - where the next record goes, and for how many there is room (>= 1). */
static inline unsigned char *writer_room(const writer *w, size_t *recs)
{
	*recs = w->room - w->used;
	return w->buf + w->used * w->lay.record_bytes;
}

/* writer_add - n records are where writer_room said. The caller does not see a failure to write
 * them before writer_flush: other ranks rely on its going on. */
void writer_add(writer *w, size_t n);

/* writer_flush - write what is left. ST_INTERNAL if records were not in order. */
status writer_flush(writer *w, err *e);

/* writer_most_bytes - at most what writer_open allocates for so many records. */
uint64_t writer_most_bytes(uint64_t recs, uint32_t record_bytes);

void writer_free(writer *w);

#endif
