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
