/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An exchange in two steps, for many ranks with few records for each other. */
#ifndef HETSORT_EXCHANGE_TWO_LEVEL_H
#define HETSORT_EXCHANGE_TWO_LEVEL_H

#include "comm/comm.h"
#include "base/mem.h"

/* The records that a rank sends and receives in one step. */
typedef struct peer_flow {
	peer_list peers;
	uint64_t *send, *recv; /* [peers] records to and from each peer */
	int *rank;             /* of peers; the three arrays are in the memory of send */
} peer_flow;

void peer_flow_free(peer_flow *f, mem *m);

typedef struct two_level {
	bool pays; /* the same on all ranks; if false, the rest is undefined */
	peer_flow step[2];
	int most_peers; /* of any rank in any step */
	size_t *first;  /* [peers + 1] in step 0, peer i gets the records for ranks from first[i] on
			 */
	uint64_t recs;  /* that this rank has between the steps */
} two_level;

/* The input of two_level_plan: the same on all ranks, except for send and room_recs. */
typedef struct two_level_query {
	const uint64_t *send;   /* [size] records of this rank for each final destination */
	const uint64_t *out;    /* [size] records of all ranks for each destination, */
	const uint64_t *before; /* [size] and their sums: of ranks 0 to i */
	uint64_t room_recs;     /* records that fit in memory between the steps */
	bool asked;             /* use two steps even if they do not pay */
} two_level_query;

/* two_level_plan - collective: plan both steps. Set t->pays to false if few ranks have records for
 * each other, or if the records exceed the memory of a rank. Free it after a failure, too. */
status two_level_plan(two_level *t, comm *c, mem *m, const two_level_query *q, err *e);
void two_level_free(two_level *t, mem *m);

/* two_level_most_peers - estimate the most peers of a rank in a step, if keys are spread evenly. */
int two_level_most_peers(int ranks);

/* The work of a rank. */
typedef struct two_level_load {
	double recs_bytes; /* to send, on average over all ranks */
	int ranks;
	bool inside;   /* all ranks are of one process */
	double byte_s; /* to send and merge a byte a second time */
} two_level_load;

/* two_level_saves_s - predict how many seconds two steps save. Messages cost time, and so does each
 * byte that is sent twice. */
double two_level_saves_s(const two_level_load *l);

#endif
