/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the states of all ranks say together: of which sort they are, an output that they note as
 * complete, and who continues with which runs, and so who reads what is missing between them. */
#ifndef HETSORT_RESUME_SHARE_RUNS_H
#define HETSORT_RESUME_SHARE_RUNS_H

#include "states.h"

typedef struct saved_output {
	uint64_t states;         /* that were found; 0: this sort is new */
	uint64_t job;            /* the number of the sort, the same in all states, or a new one */
	output_checkpoint all;   /* of all parts together; id 0: there is none */
	int32_t ranks;           /* that have made it */
	output_checkpoint *part; /* [ranks] if this job has as many ranks, else NULL */
} saved_output;

/* saved_output_find - collective. Refuses states of several sorts. An output of which a part is
 * missing does not count. */
status saved_output_find(rank_env *env, const states *s, saved_output *out);
void saved_output_free(mem *m, saved_output *s);

typedef struct share_runs_query {
	const groups *g;
	const states *found;
	uint64_t records;
	const uint64_t *planned; /* [size] shares */
} share_runs_query;

typedef struct shared_runs {
	int32_t *rank_at; /* [size] ranks in the order of their stretches of the input; NULL: as
			   * they are numbered */
	int32_t place;    /* of this rank among these, */
	uint64_t first;   /* and its first record */
	run_list own;     /* runs in its stretch, in order */
	run_list used; /* of the states that this rank has loaded: runs that any rank continues with
			*/
} shared_runs;

/* share_runs - collective. share: [size] receives how many records each rank has. */
status share_runs(rank_env *env, const share_runs_query *q, uint64_t *share, shared_runs *out);
void shared_runs_free(mem *m, shared_runs *s);

#endif
