/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exchange tests every message that is under way, again and again. Here it is spared the tests
 * of messages that cannot be through, which among a thousand ranks are nearly all, but charged for
 * them. Its actions and their times stay the same. */
#ifndef HETSORT_SIM_POLLING_H
#define HETSORT_SIM_POLLING_H

#include "base/status.h"
#include "comm/comm.h"

/* polling_open - spare this many ranks, each the only one of its host, tests of test_s each.
 * ST_RESOURCE. polling_close - let all of them test every message from now on. */
status polling_open(int ranks, double test_s, err *e);
void polling_close(void);

/* polling_note - note that a rank sends a block or wants to receive one (1), or that the block is
 * through and the rank will see it (-1). */
void polling_note(int rank, const comm_req *r, int peer, int change);

/* polling_waits - note that the current actor waits until another one signals. */
void polling_waits(void);

#endif
