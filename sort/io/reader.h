/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rank's share of the input, open for reading at any place by any number of threads. */
#ifndef HETSORT_IO_READER_H
#define HETSORT_IO_READER_H

#include "io_fd.h"
#include "input.h"
#include "base/mem.h"
#include "kernel/inspect.h"
#include "kernel/key.h"
#include "manifest.h"

typedef struct reader reader;

/* A source of records in order: store the next n records at `to` and set *got to their number; *got
 * < n if these are the last. On failure *got is undefined. */
typedef status record_take(void *from, unsigned char *to, size_t n, size_t *got, err *e);

typedef struct reader_plan {
	uint64_t first, n; /* the share: first record in the input, and number of records */
	layout lay;
	direct_io direct;
} reader_plan;

/* reader_open - open the share; *out is NULL on failure. */
status reader_open(reader **out, const input *in, const reader_plan *p, err *e);

/* reader_align - return the offset in a page at which memory must begin, so that direct I/O can
 * read records into it, from record `at` of the share on. */
size_t reader_align(const reader *r, uint64_t at);

/* reader_chunk - return how many records to read at once, at most n, from record `at` of the share
 * on. They are in one file, and usually end at a multiple of IO_FD_ALIGN. */
size_t reader_chunk(const reader *r, uint64_t at, uint64_t n);

/* reader_is_cached - return whether record `at` of the share is read through the page cache. Return
 * false too if its file is open only during reads. */
bool reader_is_cached(const reader *r, uint64_t at);

/* reader_chunks - return the number of reads, each of reader_chunk() records, for the whole
 * share. */
uint64_t reader_chunks(const reader *r);

/* The work of reader_load in addition to reading. */
typedef struct loading {
	/* called for records that have arrived and are still in the cache; NULL: no call */
	void (*arrived)(void *arrived_to, uint64_t pos, size_t n);
	void *arrived_to;
	bool in_place;   /* the records are in place already, by reader_map */
	uint64_t pos;    /* position of the first record */
	checksum sum;    /* the checksum of the records is added to it */
	double verify_s; /* the seconds for the checksum are added to it */
} loading;

/* reader_load - read n records, from record `at` of the share on. `to` must have the offset in a
 * page that reader_align returns. If l is NULL, do nothing else. The checksum is computed after
 * each 256 KiB, or with direct I/O after each chunk. If records in memory differ from records in
 * files, it needs reader_most_bytes(), and so may fail with ST_RESOURCE. */
status reader_load(const reader *r, uint64_t at, size_t n, unsigned char *to, loading *l, err *e);
static inline status reader_read(const reader *r, uint64_t at, size_t n, void *to, err *e)
{
	return reader_load(r, at, n, to, NULL, e);
}

/* reader_most_bytes - return the bytes that up to `threads` calls of reader_load at the same time
 * allocate and free, of n records each. */
uint64_t reader_most_bytes(const input *in, const layout *l, uint64_t n, unsigned threads);

/* A part of a file that is mapped into memory, because the page cache contains it. */
typedef struct mapped {
	unsigned char *page; /* NULL: not mapped */
	size_t bytes, slot;
} mapped;

/* mapped_open - map bytes [offset, offset + bytes) of fd for reading. Return the address of the
 * first byte, or NULL if they cannot be mapped and must be read. Only the main thread of a rank
 * calls this and mapped_close. */
const unsigned char *mapped_open(mapped *m, int fd, uint64_t offset, size_t bytes);

/* mapped_shrank - return whether the file was truncated and a missing page was read, as zeros. */
bool mapped_shrank(const mapped *m);

void mapped_close(mapped *m);

/* reader_map - map the records of the share. Return NULL if they must be read, because they are in
 * several files, not in the page cache, or may change unnoticed. Close m after the last use of the
 * records. reader_check_map - check after the last use of the records, but before any result is
 * used, that the files have not changed (ST_IO). */
const unsigned char *reader_map(const reader *r, mapped *m);
status reader_check_map(const reader *r, const mapped *m, err *e);

/* reader_check - check that no file has changed since it was described (ST_IO). */
status reader_check(const reader *r, err *e);

void reader_close(reader *r);

/* reader_step_recs - return how many records to read before their checksum is computed: few, so
 * that they stay in the cache until their keys are used, and because a bit that flips before the
 * checksum is not detected. */
size_t reader_step_recs(const layout *l);

/* reader_checksum - return the checksum of n records that were read. Add the seconds that it took
 * to *verify_s. */
checksum reader_checksum(const layout *l, const unsigned char *recs, size_t n, double *verify_s);

/* reader_sum - read the share and compute only its checksum. Memory: 4 MiB. */
status reader_sum(const input *in, const reader_plan *p, mem *m, checksum *sum, err *e);

/* reader_inspect - read and inspect records. ST_INVALID, without a message, if they are out of
 * order; ST_IO, ST_RESOURCE. Memory: 4 MiB. */
status reader_inspect(const file_records *from, const layout *l, mem *m, inspected *seen, err *e);

/* reader_inspect_part - inspect a part of a manifest by its name in dirfd, without following a link
 * or waiting for a FIFO. Set *why to the first difference from the manifest, except in keys, for
 * example "is missing"; NULL if none is found. */
status reader_inspect_part(int dirfd, const manifest_part *s, const layout *l, inspected *seen,
			   const char **why, err *e);

#endif
