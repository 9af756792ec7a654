/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress of a job on standard error: one line that is rewritten every second where that is a
 * terminal, or a launcher forwards it to one, and the job in the foreground there; whole lines
 * elsewhere. In the process of rank 0 the monitor's thread writes it, so it goes on whatever the
 * work waits for. */
#ifndef HETSORT_CLI_PROGRESS_LINE_H
#define HETSORT_CLI_PROGRESS_LINE_H

#include "base/settings.h"
#include "comm/monitor.h"

/* progress_line_wanted - is anything shown without being asked for by monitor_ask? */
bool progress_line_wanted(const settings *o);

/* progress_line_start - by rank 0. */
void progress_line_start(const settings *o);

/* progress_line_stop - the line is gone. Was one ever shown? */
bool progress_line_stop(void);

/* progress_line_told - what was told: when, of what time is left, and the part of the job that was
 * done; n moments. Nothing is added from then on. */
enum { PROGRESS_TOLD = 256 };
typedef struct progress_told {
	double at_s, left_s, part;
} progress_told;

const progress_told *progress_line_told(unsigned *n);

/* progress_line_clear - what comes on standard error stands alone from here on: nothing more is
 * shown. From any thread. */
void progress_line_clear(void);

/* The words, for tests. */
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

/* progress_take - one rank more, rank 0 first; a monitor_take. */
void progress_take(void *sum, int rank, const rank_seen *seen);

/* progress_text - the line, of 79 columns unless host names are long. bytes_per_s below 0: that is
 * not known. */
const char *progress_text(const progress_sum *s, double bytes_per_s, double elapsed_s,
			  char text[PROGRESS_TEXT_BYTES]);

#endif
