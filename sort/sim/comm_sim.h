/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranks' comm in a simulation: one rank on each host. */
#ifndef HETSORT_SIM_COMM_SIM_H
#define HETSORT_SIM_COMM_SIM_H

#include "comm/comm.h"
#include "model/rank_result.h"

/* The messages of all ranks together in a phase. */
typedef struct comm_traffic {
	uint64_t collectives, blocks;
	double collective_bytes, block_bytes; /* of blocks as scaled */
	double collective_s;                  /* from the last rank's call on */
} comm_traffic;

/* comm_sim_scale - return how many records each record of the current actor stands for: 1 while its
 * rank handles keys and counts, which do not become more with the records. */
double comm_sim_scale(void);

/* comm_sim_traffic - return the traffic of a phase so far. */
const comm_traffic *comm_sim_traffic(phase at);

/* comm_sim_at_end - call fn before a rank that gives up ends the program. */
void comm_sim_at_end(void (*fn)(int code));

#endif
