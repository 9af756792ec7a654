/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An exchange in two steps, for so many ranks that each has little to say to each other one. The
 * ranks are about sqrt(p) groups of neighbours. First what belongs to a group goes to its members,
 * each of which gets consecutive sources, as many records as it is to write; it merges them. Then
 * the members of a group exchange what they have. Each rank has about 2 sqrt(p) peers in a step,
 * records travel twice, and equal keys keep their order, as members are in the order of their
 * sources. */
#ifndef HETSORT_EXCHANGE_TWO_LEVEL_H
#define HETSORT_EXCHANGE_TWO_LEVEL_H

#include "comm/comm.h"
#include "base/mem.h"

/* What a rank sends and receives in one step. */
typedef struct peer_flow {
	peer_list peers;
	uint64_t *send, *recv; /* [peers] records to and from each; with these */
	int *rank;             /* of peers */
} peer_flow;

void peer_flow_free(peer_flow *f, mem *m);

typedef struct two_level {
	bool pays; /* the same on all ranks; if not, the rest means nothing */
	peer_flow step[2];
	int most_peers; /* of any rank in any step */
	size_t *first;  /* [peers + 1] peer i gets what ranks first[i] to first[i + 1] - 1 are to
			 * have, first */
	uint64_t recs;  /* that this rank has between the steps */
} two_level;

/* What two_level_plan goes by; but for send the same on all ranks. */
typedef struct two_level_query {
	const uint64_t *send; /* [size] records of this rank that each one is to have in the end */
	const uint64_t *out;  /* [size] records that each one is to have of all, */
	const uint64_t *before; /* [size] sums of out: of ranks 0 to i */
	uint64_t room_recs;     /* of this rank: what may come to it between the steps */
	bool asked;             /* it is to be so even where it does not pay */
} two_level_query;

/* two_level_plan - collective. t->pays is false where few ranks have something to say to each
 * other, or more than its room would come to one. To be freed on failure too. */
status two_level_plan(two_level *t, comm *c, mem *m, const two_level_query *q, err *e);
void two_level_free(two_level *t, mem *m);

/* two_level_most_peers - about how many a rank has in a step at most, if keys are spread evenly. */
int two_level_most_peers(int ranks);

/* What a rank has to do. */
typedef struct two_level_load {
	double recs_bytes; /* to send, a rank's mean */
	int ranks;
	bool inside;   /* all ranks are of one process */
	double byte_s; /* to send a byte and to merge it, once more */
} two_level_load;

/* two_level_saves_s - seconds that two steps take less than one, by a model: messages cost time,
 * and so does each byte that travels again. */
double two_level_saves_s(const two_level_load *l);

#endif
