/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exchange asks for every message that is under way, again and again. Here it is spared those
 * that cannot be through, and charged for having asked: among a thousand ranks that is nearly all
 * of them. What it does, and when, stays as it is. */
#ifndef HETSORT_SIM_POLLING_H
#define HETSORT_SIM_POLLING_H

#include "base/status.h"
#include "comm/comm.h"

/* polling_open - of so many ranks, each with one host of its own; test_s: what asking once takes.
 * ST_RESOURCE. polling_close - asks all from then on. */
status polling_open(int ranks, double test_s, err *e);
void polling_close(void);

/* polling_started - a rank sends a block, or wants to receive one. polling_through - it is through,
 * and the rank will see it. */
void polling_started(int rank, const comm_req *r, int peer);
void polling_through(int rank, const comm_req *r, int peer);

/* polling_waits - the actor that runs waits until somebody signals. */
void polling_waits(void);

#endif
