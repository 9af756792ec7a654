/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a rank's share of the input. If it fits in memory, keys go to the buckets of a sort on
 * demand (kernel/demand.h). Otherwise it is read into sorted runs on disk. */
#ifndef HETSORT_SPILL_READ_RUNS_H
#define HETSORT_SPILL_READ_RUNS_H

#include "io/io_fd.h"
#include "kernel/inspect.h"
#include "io/input.h"
#include "io/reader.h"
#include "base/mem.h"
#include "model/calibrate.h"
#include "sort_plan.h"
#include "sorted_files.h"
#include "base/settings.h"

#include <stdatomic.h>

typedef struct reader reader;

/* The records of a rank in sorted runs: in memory, or, after run formation, on disk. */
typedef struct read_runs {
	unsigned char *raw;  /* allocated; records have the same offset in a page as in the file, so
			      * that direct I/O can read them */
	unsigned char *recs; /* in raw; NULL for a mapped file, whose records are in memory.recs */
	mapped map;
	reader *mapped;             /* open while the file is mapped; else NULL */
	unsigned char *keys_sample; /* records from which the buckets are chosen */
	size_t keys_samples;
	size_t n, room;       /* number of records, and the most that memory holds */
	uint64_t added;       /* records whose keys are in buckets */
	uint64_t *start;      /* first records of the runs on disk */
	spill_name *names;    /* of the files of runs on disk; NULL: these have no names */
	sorted *s;            /* one of the next three members, so this struct must not be moved */
	sorted_memory memory; /* owns its entries */
	sorted_disk disk;
	sorted *files; /* with --merge; then only s, files and cut are set */
	/* With --merge, the part of each run of s that this rank merges: [0, runs) where it begins,
	 * [runs, 2 * runs) where it ends. NULL: all of each run. */
	uint64_t *cut;
	size_t runs_kept; /* runs that an earlier job left on disk, and their records */
	uint64_t recs_kept;
	checksum sum;
	double sort_s;   /* time spent on sorting while reading, average of the threads */
	double verify_s; /* time spent on checksums, sum of the threads */
} read_runs;

typedef struct read_runs_plan {
	uint64_t first, n; /* records of the whole input to read; a stream is read to its end */
	layout lay;
	uint32_t rank;
	unsigned threads; /* that compute; a few more wait for the disk */
	direct_io direct;
	const test_sizes *sizes;
	uint64_t most_recs;           /* the most records of a stream in memory */
	speed_history *speed_history; /* receives the speed over time; NULL: not recorded */
} read_runs_plan;

/* read_runs_input - read this share of the files. Free *out after a failure too. */
status read_runs_input(const input *in, const read_runs_plan *p, mem *m, read_runs *out, err *e);

/* Records from a pipe, or another input without a known size. */
typedef struct record_stream {
	layout lay;
	int fd;
	const char *path;
	checksum sum; /* of the records read */
	double verify_s;
} record_stream;

/* read_runs_stream - read a stream, unsorted, until its end (*ended) or until memory is full. */
status read_runs_stream(const read_runs_plan *p, record_stream *s, mem *m, read_runs *out,
			bool *ended, err *e);

/* read_runs_take - read records of a record_stream (a record_take), and add to its checksum. */
status read_runs_take(void *record_stream, unsigned char *to, size_t n, size_t *got, err *e);

/* The next functions are for records from other ranks. The caller puts the records after the first
 * n of a read_runs, and calls read_runs_arrived(). */

/* read_runs_room - allocate memory for `room` records, aligned like this offset in a file. */
status read_runs_room(const read_runs_plan *p, mem *m, size_t room, uint64_t offset, read_runs *d,
		      err *e);

/* read_runs_most - return how many records memory can hold after all possible read_runs_grow(). */
uint64_t read_runs_most(const read_runs_plan *p, const read_runs *d);

/* read_runs_grow - double the memory for records. */
status read_runs_grow(const read_runs_plan *p, mem *m, read_runs *d, err *e);

/* read_runs_arrived - count n more records in memory, and return their checksum. */
checksum read_runs_arrived(read_runs *d, size_t n);

/* read_runs_add - put the keys of the arrived records into buckets. */
status read_runs_add(const read_runs_plan *p, mem *m, read_runs *d, err *e);

/* read_runs_sort - after the last record: do the same, and make the sorted sequence. */
status read_runs_sort(const read_runs_plan *p, mem *m, read_runs *d, err *e);

/* read_runs_sample - sample the p->n records of `from`, for buckets of `together` records. Set only
 * the sample of d. */
status read_runs_sample(mem *m, const read_runs_plan *p, const reader *from, uint64_t together,
			read_runs *d, err *e);

/* read_runs_check - check, after all records have been used, that a mapped file has not changed. If
 * it has, return ST_IO; this also explains records that look damaged (rc ST_INTERNAL). Otherwise
 * return rc. */
status read_runs_check(const read_runs *d, status rc, err *e);

void read_runs_free(mem *m, read_runs *d);

/* ------------------------------------------------------------------------------- run formation */

typedef struct run_formation_plan {
	read_runs_plan load;
	const sort_plan *b;
	const char *const *dir; /* for the runs */
	size_t dirs;
	unsigned ranks_here;             /* ranks that spill into the same directories */
	const run_checkpoint_plan *keep; /* use kept runs, and keep the new ones; NULL: do not */
	const atomic_bool *stop;         /* set: begin no more runs; NULL: never set */
	const char *full; /* for a stream: the reason why it may have at most load.n records */
} run_formation_plan;

/* run_formation_input - form runs of a share of the input, like read_runs_input. out->runs_kept and
 * recs_kept count the runs that earlier jobs left, and their records. */
status run_formation_input(const input *in, const run_formation_plan *p, mem *m, read_runs *out,
			   err *e);

/* run_formation_stream - form at most b->runs runs of a stream of at most load.n records. One
 * thread at a time takes records. *out contains the first records, unsorted in memory, at most
 * b->workers runs; or it is all zeros. Its checksum becomes 0, because the source has the
 * checksum. */
status run_formation_stream(record_take *take, void *from, const run_formation_plan *p, mem *m,
			    read_runs *out, err *e);

#endif
