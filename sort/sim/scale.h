/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each record stands for many: what that makes of blocks and of the windows of the exchange. */
#ifndef HETSORT_SIM_SCALE_H
#define HETSORT_SIM_SCALE_H

#include "comm/monitor.h"
#include "model/rank_result.h"

/* scale_open - how many records each one stands for. scale_records - how long they are: before the
 * first block. */
void scale_open(double all);
void scale_records(size_t record_bytes);

/* scale_in - of what a rank does in this phase. */
double scale_in(phase at);

/* scale_block - what a block stands for, in bytes. scale_messages - how many messages a real
 * cluster has for so many bytes. */
double scale_block(const comm_req *r);
double scale_messages(double bytes);

/* Of the exchange, for each peer and direction; bytes of a block as scaled. */
typedef struct scale_windows {
	unsigned blocks;
	double block_bytes;
	bool coarse; /* a record stands for more than a block */
} scale_windows;

/* scale_last_windows - of the last exchange. */
const scale_windows *scale_last_windows(void);

#endif
