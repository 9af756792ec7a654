/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a rank sorts within its memory: all in core, or in runs that spill to disk. Pure. */
#ifndef HETSORT_SPILL_BUDGET_H
#define HETSORT_SPILL_BUDGET_H

#include "kernel/record.h"
#include "base/status.h"

enum { MOST_RUNS = 1024 }; /* on disk: what one merge takes */

typedef struct budget_query {
	uint64_t limit_bytes; /* UINT64_MAX: none */
	uint64_t recs;        /* that this rank reads */
	uint64_t out_recs;    /* that it writes */
	layout lay;
	unsigned threads;
	unsigned ranks;
	bool distributing;       /* holds what it receives as well */
	bool receives;           /* what it sorts comes from other ranks */
	uint64_t exchange_bytes; /* windows of the exchange and buffers, 0 for a rank alone */
	bool keeps;        /* by way of the disk, whatever the memory, in runs so short that few
			    * bytes are lost with one that is not complete */
	uint64_t run_recs; /* of runs that are there already, and their samples; 0: none are */
	size_t stride;
	uint64_t test_run_recs; /* tests: spill, in runs of so many records; 0: as memory asks */
} budget_query;

typedef struct budget {
	bool spills;
	uint64_t bytes;      /* what it will take */
	uint64_t core_bytes; /* what it would take in core */
	uint64_t disk_bytes; /* for runs; 0 in core */
	/* where it spills */
	uint64_t run_recs, runs;
	unsigned workers;          /* that read and sort a run at a time each, and later merge */
	size_t stride;             /* one sample for so many records of a run */
	size_t piece_recs;         /* merged at a time by each worker */
	uint64_t read_ahead_bytes; /* for what a rank alone reads ahead of its merge */
	/* of a stream */
	uint64_t core_recs; /* that memory holds before it spills */
	uint64_t most_recs; /* that it may have by way of the disk; 0: it cannot spill */
} budget;

/* budget_make - ST_RESOURCE where it cannot be done: says which limit would do. */
status budget_make(budget *b, const budget_query *q, err *e);

/* budget_disk - the same where it is to go by way of the disk, fit or not. */
status budget_disk(budget *b, const budget_query *q, err *e);

/* budget_stream - for records whose number shows when they end (q->recs means nothing): what memory
 * holds first, and how more may go by way of a disk that has room for disk_recs. */
void budget_stream(budget *b, const budget_query *q, uint64_t disk_recs);

/* budget_settle - that stream has ended with q->recs, in b->runs runs on disk. */
void budget_settle(budget *b, const budget_query *q);

#endif
