/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a rank sorts within its memory: all in memory, or in runs that spill to disk. Pure. */
#ifndef HETSORT_SPILL_BUDGET_H
#define HETSORT_SPILL_BUDGET_H

#include "run_checkpoint.h"

enum {
	BUDGET_MOST_RUNS = 1024, /* on disk: what one merge takes */
	BUDGET_READERS = 2,      /* threads that read ahead of a merge */
};

typedef struct budget_query {
	uint64_t limit_bytes; /* UINT64_MAX: none */
	uint64_t recs;        /* that this rank reads */
	uint64_t out_recs;    /* that it writes */
	layout lay;
	unsigned threads;
	unsigned ranks;
	bool distributing;       /* needs memory for what it receives as well */
	bool unsorted;           /* what it reads is sent before it is sorted */
	bool drops;              /* some records: a single rank looks at entries of each piece */
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
	/* threads: each reads and sorts one run at a time, and later merges, if a single rank does
	 */
	unsigned workers;
	size_t write_bytes;   /* of runs, and of the output by each worker of a single rank */
	size_t piece_recs;    /* merged at a time by each worker of a single rank */
	uint64_t ahead_bytes; /* for what a merge reads from disk; several ranks: each stream */
	/* where it spills */
	uint64_t run_recs, runs;
	size_t memory_runs; /* of these, so many stay in memory */
	size_t stride;      /* one sample is kept for so many records of a run */
	/* of standard input */
	uint64_t core_recs; /* that memory holds before it spills */
	uint64_t most_recs; /* that it may have if it spills; 0: it cannot spill */
} budget;

/* budget_sample_recs - records that are sampled to sort n of them. */
size_t budget_sample_recs(const layout *l, uint64_t n);

/* budget_sorters - workers that get memory for a run: no more than there are runs. */
unsigned budget_sorters(const budget *b);

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
