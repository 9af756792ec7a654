/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Combines the states of all ranks: the sort that they belong to, a complete output that they note,
 * and the runs that each rank continues with. A rank also reads the records missing between its
 * runs. */
#ifndef HETSORT_RESUME_SHARE_RUNS_H
#define HETSORT_RESUME_SHARE_RUNS_H

#include "states.h"

typedef struct saved_output {
	uint64_t states;         /* number of states; 0: this sort is new */
	uint64_t job;            /* the number of the sort: the same in all states, or a new one */
	output_checkpoint all;   /* all parts together; id 0: no output is complete */
	int32_t ranks;           /* number of ranks that made it */
	output_checkpoint *part; /* [ranks] if this job has the same number of ranks, else NULL */
} saved_output;

/* saved_output_find - collective: find what the states note. Refuse states of several sorts. An
 * output with a missing part does not count. */
status saved_output_find(rank_env *env, const states *s, saved_output *out);

/* Deals the runs of an earlier job to any number of ranks. Each rank gets one stretch of the input,
 * so that equal keys stay in the order of the input. If runs are on disks of hosts, the stretches
 * may follow another order than the numbers of the ranks. A run is not cut. */
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

typedef struct share_runs_query {
	const groups *g;
	const states *found;
	uint64_t records;
	const uint64_t *planned; /* [size] shares */
} share_runs_query;

typedef struct shared_runs {
	int32_t *rank_at; /* [size] ranks in the order of their stretches of the input; NULL: in the
			     order of their numbers */
	int32_t place;    /* of this rank among these */
	uint64_t first;   /* its first record */
	run_list own;     /* runs in its stretch, in order */
	run_list used;    /* the runs of states of this rank that any rank continues with */
} shared_runs;

/* share_runs - collective: deal out the runs. share: [size] receives the number of records of each
 * rank. */
status share_runs(rank_env *env, const share_runs_query *q, uint64_t *share, shared_runs *out);
void shared_runs_free(mem *m, shared_runs *s);

#endif
