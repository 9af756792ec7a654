/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of how a rank sorts within its memory limit: in memory, or in runs on disk. Pure. */
#ifndef HETSORT_SPILL_SORT_PLAN_H
#define HETSORT_SPILL_SORT_PLAN_H

#include "run_checkpoint.h"

enum {
	SORT_PLAN_MOST_RUNS = 1024, /* on disk, for a single merge */
	SORT_PLAN_READERS = 2,      /* threads that read ahead of a merge */
};

typedef struct sort_plan_query {
	uint64_t limit_bytes; /* UINT64_MAX: no limit */
	uint64_t recs;        /* that this rank reads */
	uint64_t out_recs;    /* that this rank writes */
	layout lay;
	unsigned threads;
	unsigned streams;  /* that a rank sends: ranks, times lanes */
	bool distributing; /* the rank needs memory for received records, too */
	bool unsorted;     /* records are sent before they are sorted */
	bool drops;    /* records may be dropped, so a single rank needs entries of each piece */
	bool folds;    /* records with equal keys are folded (kernel/fold.h) */
	bool receives; /* the rank sorts records that come from other ranks */
	uint64_t exchange_bytes; /* windows of the exchange and buffers; 0 for a single rank */
	size_t sorted_files;     /* number of sorted input files; 0: the input is not sorted */
	uint64_t longest_recs;   /* records of the longest sorted file */
	bool spills;             /* even if the records fit into memory */
	bool holds;              /* the number of runs is known, so some runs may stay in memory */
	bool keeps; /* checkpoints: always spill, in runs short enough that little work is lost
		     * with an incomplete one */
	const kept_runs *kept; /* runs of the rank's records from earlier jobs; NULL: none */
	/* Files in memory (file_takes_memory), which take memory of the rank's host. */
	uint64_t left_bytes;      /* of this memory for the rank and its files; with swap space */
	uint64_t out_file_bytes;  /* of the output, if it is in memory */
	bool out_in_memory;       /* of a stream: the output grows with q->recs */
	size_t dirs, memory_dirs; /* for runs: all, and those in memory; none: dirs is not used */
	bool in_place; /* the input is in memory, and its records are used there, not copied */
	uint64_t test_run_recs; /* tests: spill in runs of this length; 0: as memory requires */
} sort_plan_query;

typedef struct sort_plan {
	bool spills;
	uint64_t bytes;      /* memory that the sort is predicted to use */
	uint64_t core_bytes; /* memory needed to sort without spilling */
	uint64_t disk_bytes; /* of runs on disk; 0 if the sort does not spill */
	/* threads: each reads and sorts one run at a time; in a single rank they also merge */
	unsigned workers;
	size_t write_bytes; /* of a write to a run, or by a worker of a single rank to the output */
	size_t piece_recs;  /* records that a worker of a single rank merges at a time */
	uint64_t ahead_bytes; /* to read ahead of the merge; with several ranks, per stream */
	/* if it spills */
	uint64_t run_recs, runs;
	size_t memory_runs; /* runs that stay in memory */
	uint64_t held_recs; /* folded records that each worker may hold, and add to its next run */
	size_t stride;      /* every stride-th record of a run is a sample */
	/* records of standard input */
	uint64_t core_recs; /* the most in memory before the sort spills */
	uint64_t most_recs; /* the most that can spill; 0: the sort cannot spill */
} sort_plan;

/* sort_plan_sample_recs - return the number of samples to sort n records. */
size_t sort_plan_sample_recs(const layout *l, uint64_t n);

/* sort_plan_sorters - return the number of workers that form runs: at most one per run. */
unsigned sort_plan_sorters(const sort_plan *b);

/* sort_plan_run_file_bytes - return the bytes of runs that would be files in memory. */
uint64_t sort_plan_run_file_bytes(const sort_plan_query *q);

/* sort_plan_make - plan the sort; return false if the limit is too small. */
bool sort_plan_make(sort_plan *b, const sort_plan_query *q);

/* sort_plan_stream - plan for records whose number is not known; q->recs is ignored. Set
 * b->core_recs, and b->most_recs for a disk with space for disk_recs records. */
void sort_plan_stream(sort_plan *b, const sort_plan_query *q, uint64_t disk_recs);

/* sort_plan_end - complete the plan of a stream that has ended with q->recs records: in b->runs
 * runs on disk, or in memory. */
void sort_plan_end(sort_plan *b, const sort_plan_query *q, bool spills);

#endif
