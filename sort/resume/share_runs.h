/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranks agree on who goes on with which runs of earlier jobs, and so on who reads what is
 * missing between them. */
#ifndef HETSORT_RESUME_SHARE_RUNS_H
#define HETSORT_RESUME_SHARE_RUNS_H

#include "groups.h"
#include "states.h"

typedef struct share_runs_query {
	comm *c;
	mem *m;
	const groups *g;
	const states *found;
	uint64_t records;
	const uint64_t *planned; /* [size] shares */
} share_runs_query;

typedef struct shared_runs {
	int32_t *rank_at; /* [size] the rank whose stretch of the input is the so-many-th; NULL: as
			   * they are numbered */
	int32_t place;    /* of this rank among these, */
	uint64_t first;   /* and its first record */
	run_list own;     /* runs in its stretch, in order */
	run_list used; /* of the states that this rank has loaded: runs that any rank continues with
			*/
} shared_runs;

/* share_runs - collective. share: [size] receives how many records each rank has. */
status share_runs(const share_runs_query *q, uint64_t *share, shared_runs *out, err *e);

void shared_runs_free(mem *m, shared_runs *s);

#endif
