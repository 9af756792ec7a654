/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranks' comm in a simulation: one rank on each host. */
#ifndef HETSORT_SIM_COMM_SIM_H
#define HETSORT_SIM_COMM_SIM_H

#include "comm/comm.h"
#include "model/rank_result.h"

/* What ranks said to each other in a phase. */
typedef struct comm_traffic {
	uint64_t collectives, blocks;
	double collective_bytes, block_bytes; /* of all ranks together; of blocks as scaled */
	double collective_s;                  /* from the last rank's call on */
} comm_traffic;

/* comm_sim_scale - of what the actor that runs does: 1 where a rank handles keys and counts, which
 * do not become more with the records. */
double comm_sim_scale(void);

/* comm_sim_traffic - so far, in this phase. */
const comm_traffic *comm_sim_traffic(phase at);

/* comm_sim_at_end - called before a rank that gives up ends the program. */
void comm_sim_at_end(void (*fn)(int code));

#endif
