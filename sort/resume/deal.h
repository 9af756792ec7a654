/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deals the runs of an earlier job to any number of ranks. Each rank gets one stretch of the input,
 * so that equal keys stay in the order of the input. If runs are on disks of hosts, the stretches
 * may follow another order than the numbers of the ranks. A run is not cut. */
#ifndef HETSORT_RESUME_DEAL_H
#define HETSORT_RESUME_DEAL_H

#include "base/mem.h"
#include "spill/resume_state.h"

typedef struct deal_query {
	uint64_t records; /* of the input */
	int ranks;
	const int32_t *group;  /* [ranks] the same number for ranks that find the same runs */
	const uint64_t *share; /* [ranks] planned records, which measure the capacity of a rank */
} deal_query;

/* The result, in memory of the caller. */
typedef struct deal {
	int32_t *rank_at; /* [ranks] ranks in the order of their stretches */
	uint64_t *end;    /* [ranks] where each stretch ends */
} deal;

/* deal_runs - deal *runs runs, in any order, some of which may have the same records. The used ones
 * come first in the result, in the order of the input, and *runs receives their number. Each is in
 * the stretch of a rank of its group. The largest load of a rank, relative to its share, is as
 * small as possible. A record to be read again counts three times, because it is read, written and
 * read again. */
status deal_runs(const deal_query *q, mem *m, run_note *run, size_t *runs, deal *d, err *e);

#endif
