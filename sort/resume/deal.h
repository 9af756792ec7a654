/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of an earlier job are dealt out again, to any number of ranks. Each rank gets one stretch of
 * the input, so that equal keys stay in the order of the input: where runs lie on disks of hosts,
 * the ranks may follow each other in an order other than their numbers. A run is not cut. */
#ifndef HETSORT_RESUME_DEAL_H
#define HETSORT_RESUME_DEAL_H

#include "base/mem.h"
#include "spill/resume_state.h"

typedef struct deal_query {
	uint64_t records; /* of the input */
	int ranks;
	const int32_t *group;  /* [ranks] a number below ranks: who finds the same runs */
	const uint64_t *share; /* [ranks] planned records: how much a rank can do */
} deal_query;

/* Room for what is dealt, of the caller. */
typedef struct deal {
	int32_t *rank_at; /* [ranks] ranks in the order of their stretches of the input, */
	uint64_t *end;    /* [ranks] where each of these ends */
} deal;

/* deal_runs - *runs of them, in any order, some of which may have the same records; those that are
 * used come first, in the order of the input, and *runs becomes their number. Each lies in the
 * stretch of a rank of its group. The rank that has most to do for its share has as little as can
 * be, where a record to be read again counts for three: it is read, written and read again. */
status deal_runs(const deal_query *q, mem *m, run_note *run, size_t *runs, deal *d, err *e);

#endif
