/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rank's share of the input, open for reading at any place by any number of threads. */
#ifndef HETSORT_IO_READER_H
#define HETSORT_IO_READER_H

#include "io_fd.h"
#include "input.h"
#include "base/mem.h"
#include "kernel/inspect.h"
#include "kernel/record.h"
#include "manifest.h"

typedef struct reader reader;

/* Records that come one after the other: the next n to `to`; *got < n: these are the last. On
 * failure *got is undefined. */
typedef status record_take(void *from, unsigned char *to, size_t n, size_t *got, err *e);

typedef struct reader_plan {
	uint64_t first, n; /* records of the input's sequence */
	layout lay;
	direct_io direct;
	io_backend *io; /* outlives the reader; NULL: blocking calls */
} reader_plan;

/* reader_open - out is NULL on failure. */
status reader_open(reader **out, const input *in, const reader_plan *p, err *e);

/* reader_align - how far from a page's start memory has to begin for the records from `at` of the
 * share on to be read past the page cache. */
size_t reader_align(const reader *r, uint64_t at);

/* reader_chunk - how many records from `at` of the share on, at most n, make one read: of one file,
 * and as a rule ending at a multiple of IO_FD_ALIGN. */
size_t reader_chunk(const reader *r, uint64_t at, uint64_t n);

/* reader_chunks - how many reads these are for the whole share. */
uint64_t reader_chunks(const reader *r);

/* What reader_load makes of records besides. */
typedef struct loading {
	entry *entries; /* one for each; NULL: none */
	/* called for records that have arrived and are still in the cache; NULL: nobody */
	void (*arrived)(void *arrived_to, uint64_t pos, size_t n);
	void *arrived_to;
	bool in_place;   /* the records are where they should go already, by reader_map */
	uint64_t pos;    /* of the first of them */
	checksum sum;    /* joined with that of the records */
	double verify_s; /* and what it took, added */
} loading;

/* reader_load - n records from `at` of the share on to memory that is as far from a page as
 * reader_align says. l NULL: only read them. Their checksum is taken as they come: of each 256 KiB
 * when they are read, or, past the page cache without io_uring, of each chunk. */
status reader_load(const reader *r, uint64_t at, size_t n, unsigned char *to, loading *l, err *e);
static inline status reader_read(const reader *r, uint64_t at, size_t n, void *to, err *e)
{
	return reader_load(r, at, n, to, NULL, e);
}

/* A part of a file as memory, without a copy: for files whose pages are in memory already. */
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

/* reader_map - the records of the share as memory without a copy, or NULL where they have to be
 * read: they are not in memory, or in several files. m is to be closed after them. Whoever uses
 * them calls reader_check_map at the end, before what was made from them counts: ST_IO if a file
 * has changed since. */
const unsigned char *reader_map(const reader *r, mapped *m);
status reader_check_map(const reader *r, const mapped *m, err *e);

/* reader_check - has any of the files changed since it was described? (ST_IO) */
status reader_check(const reader *r, err *e);

void reader_close(reader *r);

/* reader_entries - the entries of n records that lie at positions pos on (e NULL: none), and their
 * checksum; adds to *verify_s the seconds that the checksum took. */
checksum reader_entries(const layout *l, const unsigned char *recs, size_t n, uint64_t pos,
			entry *e, double *verify_s);

/* reader_sum - the checksum of the share, and no more. Memory: 4 MiB. */
status reader_sum(const input *in, const reader_plan *p, mem *m, checksum *sum, err *e);

/* reader_inspect - inspect n records of f from offset on.
 * ST_INVALID, without a sentence: they are out of order; ST_IO, ST_RESOURCE. Memory: 4 MiB. */
status reader_inspect(const io_fd *f, const char *path, uint64_t offset, uint64_t n,
		      const layout *l, mem *m, inspected *seen, err *e);

/* reader_inspect_part - the same of a part that a manifest states, by its name in dirfd, never
 * through a link, and never waiting for it. *why: the first thing that is not as stated, but for
 * keys, "is missing" for instance; NULL: nothing. */
status reader_inspect_part(int dirfd, const manifest_part *s, const layout *l, mem *m,
			   inspected *seen, const char **why, err *e);

#endif
