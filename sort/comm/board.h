/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far each rank of the job is, as the process of rank 0 knows it: of its own ranks at any
 * time, of those in other processes what the watch has heard last. One for the process, whose state
 * is static: it has one rank 0. */
#ifndef HETSORT_COMM_BOARD_H
#define HETSORT_COMM_BOARD_H

#include "comm.h"

typedef struct rank_seen {
	progress_seen at;
	int32_t phase;
	int32_t waiting;       /* for other ranks */
	char host[HOST_BYTES]; /* "": nothing was heard of the rank */
} rank_seen;

/* board_open - before any rank joins; without memory for it, or without it, the rest does nothing.
 * board_close - when all have left. */
void board_open(int size);
void board_close(void);

/* board_join - a rank of this process; board_leave - what it was last stays. */
void board_join(comm *c);
void board_leave(const comm *c);

/* board_tell - what was heard of a rank in another process. */
void board_tell(int rank, const rank_seen *seen);

/* board_look - of all ranks, 0 to the size - 1; how many there are: 0 without a board. */
typedef void board_take(void *to, int rank, const rank_seen *seen);
int board_look(board_take *take, void *to);

#endif
