/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a rank's share of the input into memory: its records, with an entry for each, sorted in
 * runs while the rest is still being read. */
#ifndef HETSORT_SPILL_READ_RUNS_H
#define HETSORT_SPILL_READ_RUNS_H

#include "io/io_fd.h"
#include "kernel/checksum.h"
#include "io/input.h"
#include "base/mem.h"
#include "model/calibrate.h"
#include "sorted_disk.h"

enum {
	READ_RUNS_LEAST_RECS = 1 << 15
}; /* of a run in memory: shorter ones cost more to merge than they
      save */

/* The records of a rank in sorted runs, in memory or, of the run formation, on disk. */
typedef struct read_runs {
	unsigned char *raw; /* as allocated; records start at the offset in a page that they have in
			       the file, so that they can be read past the page cache */
	unsigned char *recs;
	entry *entries;
	size_t n, room;    /* records, and how many there is memory for */
	uint64_t *start;   /* of the runs */
	spill_name *names; /* of the files of runs on disk, where these have any */
	sorted *s;       /* what was read: one of the next three, and *d has to stay where it is */
	sorted_memory r; /* if sorting was not asked for, one run in the order of the input */
	sorted_disk disk;
	sorted *files;    /* of inputs that are sorted already, nothing else */
	uint64_t *cut;    /* [2 * runs] of s: where its part of each begins; and where that ends */
	size_t runs_kept; /* that an earlier program left on disk, and their records */
	uint64_t recs_kept;
	checksum sum;
	double sort_s, verify_s; /* of all threads together: sorting, checksums */
} read_runs;

typedef struct read_runs_plan {
	uint64_t first, n; /* records of the input's sequence; a stream is read to its end */
	layout lay;
	uint32_t rank;
	unsigned threads; /* that compute; a few more wait for the disk */
	direct_io direct;
	io_backend *io;
	size_t least_run;   /* records of a run in memory, at least; 0: as it pays */
	uint64_t most_recs; /* in memory, where their number is not known before */
	bool sort;
	speed_history *speed_history; /* receives how much was done when; NULL: not wanted */
} read_runs_plan;

/* read_runs_input - the slice of files; out is to be freed on failure too. */
status read_runs_input(const input *in, const read_runs_plan *p, mem *m, read_runs *out, err *e);

/* Records from a pipe, or whatever else has an end but no size. */
typedef struct record_stream {
	layout lay;
	int fd;
	const char *path;
	checksum sum; /* of what came */
	double verify_s;
} record_stream;

/* read_runs_stream - a stream, unsorted, to its end (*ended) or until memory is full. */
status read_runs_stream(const read_runs_plan *p, record_stream *s, mem *m, read_runs *out,
			bool *ended, err *e);

/* read_runs_take - a record_take of a record_stream; its checksum is taken as they come. */
status read_runs_take(void *record_stream, unsigned char *to, size_t n, size_t *got, err *e);

/* For records that come from other ranks: read_runs_room allocates memory for some; the caller
 * fills records and entries and counts them in n, with read_runs_grow where more come;
 * read_runs_sort sorts them in runs. */
status read_runs_room(const read_runs_plan *p, mem *m, size_t room, read_runs *out, err *e);
status read_runs_grow(const read_runs_plan *p, mem *m, read_runs *d, err *e);
status read_runs_sort(const read_runs_plan *p, mem *m, read_runs *d, err *e);

void read_runs_free(mem *m, read_runs *d);

#endif
