/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far a job is, in words. Pure. */
#ifndef HETSORT_CLI_PROGRESS_TEXT_H
#define HETSORT_CLI_PROGRESS_TEXT_H

#include "comm/board.h"

enum { PROGRESS_TEXT_BYTES = 200 };

/* All ranks together. Starts as zeros. */
typedef struct progress_sum {
	rank_seen first; /* rank 0, which says where the job is */
	uint64_t done, all;
	double worked_s, work_s, left_s;
	int ranks, heard;
	int open, unknown; /* ranks in the stage; those that do not know what is left */
	rank_seen slowest; /* the rank that has most left, of those that do not wait for others */
	int slowest_rank;
} progress_sum;

/* progress_take - one rank more, rank 0 first; a board_take. */
void progress_take(void *sum, int rank, const rank_seen *seen);

/* progress_text - the line, of 79 columns unless host names are long. bytes_per_s below 0: that is
 * not known. */
const char *progress_text(const progress_sum *s, double bytes_per_s, double elapsed_s,
			  char text[PROGRESS_TEXT_BYTES]);

#endif
