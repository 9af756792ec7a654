/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the simulation between hetsort and the engine: the macro for functions that replace
 * others, the scale, and the comm of simulated ranks. */
#ifndef HETSORT_SIM_SIM_H
#define HETSORT_SIM_SIM_H

#include "comm/comm.h"
#include "comm/monitor.h"
#include "model/rank_result.h"
#include "platform.h"

/* WRAPPED - begin the definition of a function that replaces function `name`; __real_NAME() calls
 * the original. The Makefile finds the names in the sources, and links with ld --wrap for each. So
 * the other files of hetsort need no change. The macro also declares both functions, because no
 * header does. */
#define WRAPPED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

/* ---- scale.c: each record of the simulated sort represents many records */

/* scale_open - open the engine with this platform, which must outlive the simulation. Each record
 * represents `all` records. */
status scale_open(const platform *p, double all, err *e);

/* scale_records - set the length of records. Must be called before the first block is sent. */
void scale_records(size_t record_bytes);

/* scale_in - return how many records each record represents in this phase. */
double scale_in(phase at);

/* scale_block - return how many bytes a block represents. */
double scale_block(const comm_req *r);

/* scale_messages - return how many messages a real cluster would send for this number of bytes. */
double scale_messages(double bytes);

/* scale_result - scale records, bytes and rates of a result to the represented records. */
void scale_result(job_result *r);

/* The window of an exchange, the same for each peer and direction. */
typedef struct scale_windows {
	unsigned blocks;
	double block_bytes; /* that a block represents */
	bool coarse;        /* one record represents more records than a block holds */
} scale_windows;

/* scale_last_windows - return the window of the last exchange. */
const scale_windows *scale_last_windows(void);

/* ---- comm_sim.c: the comm of the ranks */

/* The sums over the messages of all ranks in a phase. */
typedef struct comm_traffic {
	uint64_t collectives, blocks;
	double collective_bytes, block_bytes; /* block_bytes: of the represented records */
	double collective_s;                  /* from the last rank's call to the end */
} comm_traffic;

/* comm_sim_scale - return how many records each record of the current actor represents. This is 1
 * while its rank handles keys and counts, whose number does not grow with the records. */
double comm_sim_scale(void);

/* comm_sim_traffic - return the traffic of a phase so far. */
const comm_traffic *comm_sim_traffic(phase at);

/* comm_sim_at_end - set the function that is called before a failed rank ends the program. */
void comm_sim_at_end(void (*fn)(int code));

#endif
