/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a rank sorts within its memory: all in memory, or in runs that spill to disk. Pure. */
#ifndef HETSORT_SPILL_BUDGET_H
#define HETSORT_SPILL_BUDGET_H

#include "kept_runs.h"

enum {
	BUDGET_MOST_RUNS = 1024,   /* on disk: what one merge takes */
	BUDGET_SINGLE_WAITING = 2, /* threads more than processors where a single rank merges in
				    * memory: some wait for the disk */
};

typedef struct budget_query {
	uint64_t limit_bytes; /* UINT64_MAX: none */
	uint64_t recs;        /* that this rank reads */
	uint64_t out_recs;    /* that it writes */
	layout lay;
	unsigned threads;
	unsigned ranks;
	bool distributing;       /* needs memory for what it receives as well */
	bool receives;           /* what it sorts comes from other ranks */
	uint64_t exchange_bytes; /* windows of the exchange and buffers; 0 for a single rank */
	size_t sorted_files;     /* the input is so many of them; 0: it is to be sorted */
	uint64_t longest_recs;   /* of them */
	bool holds; /* how many runs there will be is known: where it spills, some of them
		     * may stay in memory */
	bool keeps; /* checkpoints: spill, whatever the memory, in runs so short that little
		     * work is lost with an incomplete one */
	const kept_runs *kept;  /* what earlier programs left of the records that this rank reads;
				 * NULL: nothing */
	uint64_t test_run_recs; /* tests: spill, in runs of so many records; 0: as memory asks */
} budget_query;

typedef struct budget {
	bool spills;
	uint64_t bytes;      /* of memory that the sort will use, as far as can be told */
	uint64_t core_bytes; /* that has to be there without spilling */
	uint64_t disk_bytes; /* for runs; 0 where it does not spill */
	/* where it spills */
	uint64_t run_recs, runs;
	size_t memory_runs; /* of these, so many stay in memory */
	unsigned workers;   /* threads that read and sort one run at a time each, and later merge */
	size_t stride;      /* one sample is kept for so many records of a run */
	size_t write_bytes; /* of runs, and of the output by each worker of a single rank */
	size_t slice_recs;  /* of a slice: merged at a time by each worker */
	uint64_t read_ahead_bytes; /* for what a single rank reads ahead of its merge */
	/* of sorted files, with workers, write_bytes, and slice_recs for a piece */
	size_t chunk_recs, chunks; /* of a read; of each file in memory */
	/* of standard input */
	uint64_t core_recs; /* that memory holds before it spills */
	uint64_t most_recs; /* that it may have if it spills; 0: it cannot spill */
} budget;

/* What a single rank merges of so much data in memory: about so much in one go, and gathers at a
 * time by each thread. */
size_t budget_part_bytes(uint64_t data_bytes);
size_t budget_batch_bytes(uint64_t data_bytes);

/* budget_sorters - workers that get memory for a run: no more than there are runs. */
unsigned budget_sorters(const budget *b);

/* budget_chunk_bytes - what each worker of a single rank reads at a time where nothing is read
 * ahead, in place of that. */
size_t budget_chunk_bytes(const budget *b);

/* budget_make - return false where the limit is too small. */
bool budget_make(budget *b, const budget_query *q);

/* budget_disk - the same where the sort has to spill, even if its records fit into memory. */
bool budget_disk(budget *b, const budget_query *q);

/* budget_stream - for records whose number is not known until they end (q->recs means nothing): how
 * many memory holds first, and how many more may spill to a disk that has room for disk_recs. */
void budget_stream(budget *b, const budget_query *q, uint64_t disk_recs);

/* budget_end - that stream has ended with q->recs: in b->runs runs on disk, or in memory. */
void budget_end(budget *b, const budget_query *q, bool spills);

#endif
