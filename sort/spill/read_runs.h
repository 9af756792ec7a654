/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a rank's share of the input into memory: its records, and the buckets of a sort on demand
 * (kernel/demand.h). */
#ifndef HETSORT_SPILL_READ_RUNS_H
#define HETSORT_SPILL_READ_RUNS_H

#include "io/io_fd.h"
#include "kernel/checksum.h"
#include "io/input.h"
#include "io/reader.h"
#include "base/mem.h"
#include "model/calibrate.h"
#include "sorted_files.h"
#include "testing/test_sizes.h"

typedef struct reader reader;

/* The records of a rank in sorted runs, in memory or, of the run formation, on disk. */
typedef struct read_runs {
	unsigned char *raw; /* as allocated; records start at the offset in a page that they have in
			       the file, so that they can be read past the page cache */
	unsigned char *
		recs; /* of these; records of a file may lie in its pages instead, in memory.recs */
	mapped map;
	reader *mapped;             /* open while they do; else NULL */
	unsigned char *keys_sample; /* records for the classifier of the buckets */
	size_t keys_samples;
	size_t n, room;    /* records, and how many there is memory for */
	uint64_t added;    /* records whose keys are in buckets */
	uint64_t *start;   /* of the runs */
	spill_name *names; /* of the files of runs on disk, where these have any */
	sorted *s; /* what was read: one of the next three, and *d has to stay where it is */
	sorted_memory memory; /* its entries go with it */
	sorted_disk disk;
	sorted *files;    /* of inputs that are sorted already, nothing else */
	uint64_t *cut;    /* [2 * runs] of s: where its part of each begins; and where that ends */
	size_t runs_kept; /* that an earlier program left on disk, and their records */
	uint64_t recs_kept;
	checksum sum;
	double sort_s; /* of the time that this took, what the threads spent on sorting, on average
			*/
	double verify_s; /* of all threads together: checksums */
} read_runs;

typedef struct read_runs_plan {
	uint64_t first, n; /* records of the input's sequence; a stream is read to its end */
	layout lay;
	uint32_t rank;
	unsigned threads; /* that compute; a few more wait for the disk */
	direct_io direct;
	io_backend *io;
	const test_sizes *sizes;
	uint64_t most_recs;           /* in memory, where their number is not known before */
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
 * fills records and reports them with read_runs_arrived, with read_runs_grow where more come;
 * read_runs_sort puts their keys into buckets, when all are there; read_runs_add does so before,
 * for those that are. read_runs_arrived returns their checksum. */
status read_runs_room(const read_runs_plan *p, mem *m, size_t room, read_runs *out, err *e);
status read_runs_grow(const read_runs_plan *p, mem *m, read_runs *d, err *e);
checksum read_runs_arrived(read_runs *d, size_t n);
status read_runs_add(const read_runs_plan *p, mem *m, read_runs *d, err *e);
status read_runs_sort(const read_runs_plan *p, mem *m, read_runs *d, err *e);

/* read_runs_sample - sample the p->n records of `from` for a classifier; `together` records are
 * sorted with it. Sets only the sample of d. */
status read_runs_sample(mem *m, const read_runs_plan *p, const reader *from, uint64_t together,
			read_runs *d, err *e);

/* read_runs_check - call it after all records have been used. Returns rc, or ST_IO if the records
 * lay in the pages of their file and the file has changed. A changed file also explains records
 * that look damaged (rc ST_INTERNAL). */
status read_runs_check(const read_runs *d, status rc, err *e);

void read_runs_free(mem *m, read_runs *d);

#endif
