/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress of a job on standard error: one line that is rewritten every second where that is a
 * terminal, or a launcher forwards it to one, and the job in the foreground there; whole lines
 * elsewhere. A thread in the process of
 * rank 0 looks at board.h, so it goes on whatever the work waits for. */
#ifndef HETSORT_CLI_PROGRESS_LINE_H
#define HETSORT_CLI_PROGRESS_LINE_H

#include "base/settings.h"

/* progress_line_wanted - is anything shown without being asked for by progress_line_now? */
bool progress_line_wanted(const settings *o);

/* progress_line_start - by rank 0. Where there is no thread for it nothing is shown. */
void progress_line_start(const settings *o);

/* progress_line_stop - the line is gone. Was one ever there? */
bool progress_line_stop(void);

/* progress_line_told - what was told while it ran: when, of what time is left, and the part of the
 * job that was done; n moments. After progress_line_stop. */
enum { PROGRESS_TOLD = 256 };
typedef struct progress_told {
	double at_s, left_s, part;
} progress_told;

const progress_told *progress_line_told(unsigned *n);

/* progress_line_now - one whole line, soon; from any thread. */
void progress_line_now(void);

/* progress_line_clear - what comes on standard error stands alone from here on: nothing more is
 * shown. From any thread. */
void progress_line_clear(void);

#endif
