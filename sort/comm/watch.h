/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watchdog: finds the rank that makes no progress any more, so that a job ends with its name
 * instead of hanging. A thread of each rank sends a heartbeat to rank 0, and rank 0 to all, ten
 * times in the time allowed. */
#ifndef HETSORT_COMM_WATCH_H
#define HETSORT_COMM_WATCH_H

#include "comm.h"

typedef struct watch watch;

/* What is wrong, and with whom. */
typedef struct stall {
	enum {
		STALL_STUCK,
		STALL_SILENT,
		STALL_ALL,
		STALL_DAMAGED
	} kind; /* no progress; no heartbeats; all wait; a heartbeat with a wrong bit */
	int rank;
	const char *host;
	int phase;      /* of the comm, as last known */
	double seconds; /* without progress, or without heartbeats */
	uint64_t ticks; /* of progress in its process until then */
} stall;

/* What to do then, on the watchdog's thread: report it, and end the job. */
typedef void watch_alarm(comm *c, const stall *s);

/* watch_start - called by all ranks, with the same timeout_s and `shown`, where the comm allows
 * threads. timeout_s 0: nobody is ever missed. shown: each rank tells twice a second how far it is,
 * for board.h of rank 0's process.
 * ST_RESOURCE without memory or a thread: to the others this rank would be silent, so the caller
 * ends the job. */
status watch_start(watch **w, comm *c, double timeout_s, bool shown, watch_alarm *alarm, err *e);

/* watch_stop - called by all ranks, too: exchanges the last heartbeats. NULL is fine. */
void watch_stop(watch *w);

#endif
