/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and streams as chunks of records, one after the other, for many threads. A file is open
 * only while chunks of it are read: there may be more of them than a process can have open. */
#ifndef HETSORT_CHECK_SOURCE_H
#define HETSORT_CHECK_SOURCE_H

#include "base/mem.h"
#include "io/input.h"
#include "io/io_fd.h"

#include <pthread.h>

typedef struct source_file {
	io_fd fd;
	size_t users; /* chunks under way */
	uint64_t taken;
	bool complete;       /* all of it is taken */
	unsigned char *held; /* of a stream: the last bytes that came, which may be its trailer */
	size_t held_bytes;
} source_file;

typedef struct source {
	input *in;
	layout lay;
	direct_io direct;
	size_t chunk, cached_chunk; /* records; of what the page cache has */
	size_t trailer_bytes;       /* of streams */
	uint64_t end;               /* records of the sequence from here on are not taken */
	source_file *file;
	pthread_mutex_t lock; /* for what follows */
	size_t at;            /* the file that the next chunk is of */
	uint64_t chunks;      /* taken */
} source;

/* Consecutive records of one file. */
typedef struct source_chunk {
	uint64_t number; /* of the chunk */
	size_t file;
	uint64_t first; /* the file's records before it */
	size_t n;       /* at least 1 */
	unsigned char *recs;
} source_chunk;

/* source_open - in outlives the source. To be closed on failure too. */
status source_open(source *s, mem *m, input *in, const layout *l, direct_io direct, err *e);

/* source_limit - n records from `first` on alone, UINT64_MAX: to the end; before any is taken. */
void source_limit(source *s, uint64_t first, uint64_t n);

/* source_room - bytes of a buffer for any chunk. */
size_t source_room(const source *s);

/* source_take - the next chunk, with its records in buf; false: there is none, or e is filled.
 * source_give - it is done with; of each chunk that was taken. ST_IO: the file has changed. Any
 * number of threads. */
bool source_take(source *s, unsigned char *buf, source_chunk *c, err *e);
void source_give(source *s, const source_chunk *c, err *e);

void source_close(source *s, mem *m);

#endif
