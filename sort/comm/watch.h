/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watchdog: finds the rank that makes no progress any more, so that a job ends with its name
 * instead of hanging. A thread of each rank sends a beat to rank 0, and rank 0 to all, ten times in
 * the time allowed. */
#ifndef HETSORT_COMM_WATCH_H
#define HETSORT_COMM_WATCH_H

#include "comm.h"

typedef struct watch watch;

/* What is wrong, and with whom. */
typedef struct stall {
	enum { STALL_STUCK, STALL_SILENT, STALL_ALL } kind; /* no progress; no beats; all wait */
	int rank;
	const char *host;
	int phase;      /* as last known: comm's phase */
	double seconds; /* since then */
	uint64_t ticks; /* signs of progress of its process until then */
} stall;

/* What to do then, on the watch's thread: tell, and end the job. */
typedef void watch_alarm(comm *c, const stall *s);

/* watch_start - collective in that all ranks do it, with the same timeout_s > 0, where the comm
 * allows threads. ST_RESOURCE without memory or a thread: the others would miss this rank, so the
 * caller ends the job. */
status watch_start(watch **w, comm *c, double timeout_s, watch_alarm *alarm, err *e);

/* watch_stop - all ranks do this, too: each learns that it is not to be waited for. NULL is fine.
 */
void watch_stop(watch *w);

#endif
