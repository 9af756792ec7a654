/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The deadline of the process, over what no watch sees: joining the other ranks before there is
 * one, leaving them after, and a watch that hangs itself. One for the process, whose state is
 * static: MPI is, too. */
#ifndef HETSORT_COMM_DEADLINE_H
#define HETSORT_COMM_DEADLINE_H

#include "base/status.h"

/* What takes too long. */
typedef struct overdue {
	const char *what; /* as it was entered */
	int peer;         /* the rank that it waits for, or -1 */
	double seconds;
} overdue;

/* What to do then, on the deadline's thread: end the process. */
typedef void deadline_alarm(const overdue *o);

/* deadline_start - from now on what the process does may take timeout_s, or 5 seconds if that is
 * more: MPI takes a while to start. ST_RESOURCE without a thread. */
status deadline_start(double timeout_s, deadline_alarm *alarm, err *e);

/* deadline_enter - the time begins anew, for this; the text is static. deadline_renew - it begins
 * anew: a watch looks after the process. Both may be called without a deadline. */
void deadline_enter(const char *what);
void deadline_renew(void);

/* deadline_leave - what comes is the last that the process does. Nobody is left to notice if it
 * stands still then, so the kernel ends it in twice the time. */
void deadline_leave(const char *what);

/* deadline_wait_for - a rank that has to answer, -1 for none: with one it is earlier, since others
 * may wait for those two. */
void deadline_wait_for(int peer);

#endif
