/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scale: each record stands for many. Its effect on blocks and on the windows of the exchange. */
#ifndef HETSORT_SIM_SCALE_H
#define HETSORT_SIM_SCALE_H

#include "comm/monitor.h"
#include "model/rank_result.h"
#include "platform.h"

/* scale_open - simulate this platform, which stays the caller's; each record stands for `all`.
 * scale_records - set the length of records, before the first block. */
status scale_open(const platform *p, double all, err *e);
void scale_records(size_t record_bytes);

/* scale_in - return the scale of a rank's work in this phase. */
double scale_in(phase at);

/* scale_block - return how many bytes a block stands for. scale_messages - return how many messages
 * a real cluster has for this many bytes. */
double scale_block(const comm_req *r);
double scale_messages(double bytes);

/* The windows of an exchange, for each peer and direction. */
typedef struct scale_windows {
	unsigned blocks;
	double block_bytes; /* as scaled */
	bool coarse;        /* a record stands for more than a block */
} scale_windows;

/* scale_last_windows - return the windows of the last exchange. */
const scale_windows *scale_last_windows(void);

#endif
