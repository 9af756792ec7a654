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

/* The records of a rank in sorted runs: in memory, or, after run formation, on disk. */
typedef struct read_runs {
	unsigned char *raw;  /* as allocated; records have the same offset in a page as in the file,
			      * so that direct I/O can read them */
	unsigned char *recs; /* in raw; a mapped file has its records only in memory.recs */
	mapped map;
	reader *mapped;             /* open while the file is mapped; else NULL */
	unsigned char *keys_sample; /* records for the classifier of the buckets */
	size_t keys_samples;
	size_t n, room;       /* records, and the most that memory holds */
	uint64_t added;       /* records whose keys are in buckets */
	uint64_t *start;      /* of the runs */
	spill_name *names;    /* of the files of runs on disk; NULL: without names */
	sorted *s;            /* one of the next three, so this struct must not be moved */
	sorted_memory memory; /* owns its entries */
	sorted_disk disk;
	sorted *files;    /* with --merge; nothing else is set then */
	uint64_t *cut;    /* [2 * runs] of s: begin, and then end, of its part of each run */
	size_t runs_kept; /* that an earlier program left on disk, and their records */
	uint64_t recs_kept;
	checksum sum;
	double sort_s;   /* time spent on sorting while reading, average of the threads */
	double verify_s; /* time spent on checksums, sum of the threads */
} read_runs;

typedef struct read_runs_plan {
	uint64_t first, n; /* records of the input's sequence; a stream is read to its end */
	layout lay;
	uint32_t rank;
	unsigned threads; /* that compute; a few more wait for the disk */
	direct_io direct;
	io_backend *io;
	const test_sizes *sizes;
	uint64_t most_recs;           /* of a stream, in memory */
	speed_history *speed_history; /* receives the speed over time; NULL: not recorded */
} read_runs_plan;

/* read_runs_input - read the slice of files. Free *out after a failure too. */
status read_runs_input(const input *in, const read_runs_plan *p, mem *m, read_runs *out, err *e);

/* Records from a pipe, or another input without a known size. */
typedef struct record_stream {
	layout lay;
	int fd;
	const char *path;
	checksum sum; /* of the records read */
	double verify_s;
} record_stream;

/* read_runs_stream - read a stream, unsorted, to its end (*ended) or until memory is full. */
status read_runs_stream(const read_runs_plan *p, record_stream *s, mem *m, read_runs *out,
			bool *ended, err *e);

/* read_runs_take - read records of a record_stream (a record_take), and add to its checksum. */
status read_runs_take(void *record_stream, unsigned char *to, size_t n, size_t *got, err *e);

/* For records from other ranks: read_runs_room allocates memory for some, read_runs_grow for more.
 * The caller fills in records and reports them with read_runs_arrived, which returns their
 * checksum. read_runs_add puts the keys of arrived records into buckets; read_runs_sort does so for
 * the rest after the last record. */
status read_runs_room(const read_runs_plan *p, mem *m, size_t room, read_runs *out, err *e);

/* read_runs_most - return how many records memory can hold after read_runs_grow. */
uint64_t read_runs_most(const read_runs_plan *p, const read_runs *d);
status read_runs_grow(const read_runs_plan *p, mem *m, read_runs *d, err *e);
checksum read_runs_arrived(read_runs *d, size_t n);
status read_runs_add(const read_runs_plan *p, mem *m, read_runs *d, err *e);
status read_runs_sort(const read_runs_plan *p, mem *m, read_runs *d, err *e);

/* read_runs_sample - sample the p->n records of `from` for a classifier of `together` records.
 * Sets only the sample of d. */
status read_runs_sample(mem *m, const read_runs_plan *p, const reader *from, uint64_t together,
			read_runs *d, err *e);

/* read_runs_check - check, after all records have been used, that a mapped file has not changed.
 * Returns ST_IO if it has, which also explains records that look damaged (rc ST_INTERNAL); else
 * rc. */
status read_runs_check(const read_runs *d, status rc, err *e);

void read_runs_free(mem *m, read_runs *d);

#endif
