/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress of a job on standard error. On a terminal, it is one line that is rewritten every
 * second, while the job is in the foreground. The terminal may be the one to which a launcher
 * forwards standard error. Otherwise whole lines are printed. The monitor's thread on rank 0 writes
 * them, so they continue even while the sort waits. */
#ifndef HETSORT_CLI_PROGRESS_LINE_H
#define HETSORT_CLI_PROGRESS_LINE_H

#include "base/settings.h"
#include "comm/monitor.h"

/* progress_line_wanted - return whether progress is shown without a call of monitor_ask. */
bool progress_line_wanted(const settings *o);

/* progress_line_start - show progress from now on; only rank 0 calls it. wanted: as returned by
 * progress_line_wanted. */
void progress_line_start(const settings *o, bool wanted);

/* progress_line_stop - remove the line. Return whether one was ever shown. */
bool progress_line_stop(void);

/* progress_line_course - return the progress that was shown, as n moments. A moment has the time
 * since the start, the predicted remaining time, and the part of the job that was done. Nothing is
 * added after this call. */
enum { PROGRESS_MOMENTS = 256 };
typedef struct progress_moment {
	double at_s, left_s, part;
} progress_moment;

const progress_moment *progress_line_course(unsigned *n);

/* progress_line_clear - remove the line and show no other, so that messages on standard error have
 * lines of their own. From any thread. */
void progress_line_clear(void);

/* The text of the line, for tests. */
enum { PROGRESS_TEXT_BYTES = 200 };

/* The progress of all ranks together. It starts as zeros. */
typedef struct progress_sum {
	rank_seen first; /* rank 0; its stage is the job's */
	uint64_t done, all;
	double worked_s, work_s, left_s;
	int ranks, heard;
	int open, unknown; /* ranks in the stage; ranks that do not know their remaining time */
	rank_seen slowest; /* with the most remaining time of the ranks that do not wait */
	int slowest_rank;
} progress_sum;

/* progress_take - add a rank, rank 0 first. This is a monitor_take. */
void progress_take(void *sum, int rank, const rank_seen *seen);

/* progress_text - write the line, of 79 columns unless host names are long. bytes_per_s below 0:
 * unknown. */
const char *progress_text(const progress_sum *s, double bytes_per_s, double elapsed_s,
			  char text[PROGRESS_TEXT_BYTES]);

#endif
