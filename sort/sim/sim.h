/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the simulation between hetsort and the engine: calls that it replaces, the scale,
 * the spared tests of messages, and the comm of simulated ranks. */
#ifndef HETSORT_SIM_SIM_H
#define HETSORT_SIM_SIM_H

#include "comm/comm.h"
#include "comm/monitor.h"
#include "model/rank_result.h"
#include "platform.h"

/* WRAPPED - begin a function that replaces another one. The program is linked with ld --wrap for
 * each name that is WRAPPED, so the other files of hetsort stay as they are. The Makefile reads the
 * names. No header declares the two names of a wrapped call. */
#define WRAPPED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

/* ---- scale.c: each record represents many */

/* scale_open - simulate this platform, which the caller keeps; each record represents `all`. */
status scale_open(const platform *p, double all, err *e);

/* scale_records - set the length of records, before the first block. */
void scale_records(size_t record_bytes);

/* scale_in - return the scale of a rank's work in this phase. */
double scale_in(phase at);

/* scale_block - return how many bytes a block represents. */
double scale_block(const comm_req *r);

/* scale_messages - return how many messages a real cluster has for this number of bytes. */
double scale_messages(double bytes);

/* The windows of an exchange, for each peer and direction. */
typedef struct scale_windows {
	unsigned blocks;
	double block_bytes; /* as scaled */
	bool coarse;        /* a record represents more than a block */
} scale_windows;

/* scale_last_windows - return the windows of the last exchange. */
const scale_windows *scale_last_windows(void);

/* ---- polling.c: spared tests of messages
 *
 * The exchange repeatedly tests every message that is under way. The simulation omits the tests of
 * messages that cannot be through, which are nearly all among a thousand ranks, but charges for
 * them. Actions and their times stay the same. */

/* polling_open - omit such tests of these ranks, each the only one of its host; a test takes
 * test_s. Returns ST_RESOURCE without memory. */
status polling_open(int ranks, double test_s, err *e);

/* polling_close - let all ranks test every message from now on. */
void polling_close(void);

/* polling_note - note that a rank starts to send or receive a block (1), or that the block is
 * through and the rank will see it (-1). */
void polling_note(int rank, const comm_req *r, int peer, int change);

/* polling_waits - note that the current actor waits until another one signals. */
void polling_waits(void);

/* ---- comm_sim.c: the comm of the ranks, one on each host */

/* The messages of all ranks together in a phase. */
typedef struct comm_traffic {
	uint64_t collectives, blocks;
	double collective_bytes, block_bytes; /* of blocks as scaled */
	double collective_s;                  /* since the call of the last rank */
} comm_traffic;

/* comm_sim_scale - return how many records each record of the current actor represents. It is 1
 * while its rank handles keys and counts, whose number does not grow with the records. */
double comm_sim_scale(void);

/* comm_sim_traffic - return the traffic of a phase so far. */
const comm_traffic *comm_sim_traffic(phase at);

/* comm_sim_at_end - call fn before a rank that gives up ends the program. */
void comm_sim_at_end(void (*fn)(int code));

#endif
