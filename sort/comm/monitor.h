/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One clock for the process: it knows how far each rank is, shows that to rank 0's user, and ends
 * the job with the name of the rank that makes no progress instead of hanging. One for the process,
 * whose state is static: MPI is, too. */
#ifndef HETSORT_COMM_MONITOR_H
#define HETSORT_COMM_MONITOR_H

#include "comm.h"

enum { TAG_HEARTBEAT = COMM_TAGS - 1 }; /* no other message uses this tag */

/* How far a rank is. */
typedef struct rank_seen {
	progress_seen at;
	uint64_t ticks;        /* of progress in its process */
	double idle_s;         /* since the last of them */
	int32_t phase;         /* of the comm */
	int32_t waiting;       /* for other ranks, or for their end */
	char host[HOST_BYTES]; /* "": nothing was heard of the rank */
} rank_seen;

/* What is wrong, and with whom. */
typedef struct stall {
	enum {
		STALL_STUCK,   /* a rank makes no progress */
		STALL_SILENT,  /* no heartbeats come from it */
		STALL_ALL,     /* all wait for one another */
		STALL_DAMAGED, /* a heartbeat came with a wrong bit */
		STALL_OVERDUE  /* the process has entered something that does not end */
	} kind;
	int rank; /* STALL_OVERDUE: the rank that it waits for, or -1 */
	const char *host;
	int phase;         /* of the rank, as last known */
	double seconds;    /* without progress, or without heartbeats */
	uint64_t ticks;    /* of progress in its process until then */
	const char *doing; /* STALL_OVERDUE: as it was entered */
} stall;

/* Report it, and end the job. Called on a thread of the monitor. c: NULL for STALL_OVERDUE. */
typedef void monitor_alarm(comm *c, const stall *s);

/* monitor_start - start the thread, unless it runs. From then on, unless timeout_s is 0, what the
 * process does outside of a watched job may take timeout_s, or 5 seconds if that is more: MPI takes
 * a while to start. ST_RESOURCE without a thread. */
status monitor_start(double timeout_s, monitor_alarm *alarm, err *e);

/* monitor_enter - the time begins again, for this; the text is static. monitor_wait_for - a rank
 * that has to answer, -1 for none: with one the time is shorter, since others may wait for those
 * two. */
void monitor_enter(const char *doing);
void monitor_wait_for(int peer);

/* monitor_show - call show at each interval (0: only if asked), and soon after monitor_ask. show
 * may call monitor_look, and may not block. monitor_ask - from any thread. */
typedef void monitor_shown(bool asked);
void monitor_show(monitor_shown *show, double every_s);
void monitor_ask(void);

/* monitor_join - called by all ranks, with the same timeout_s and `tells`. timeout_s 0: no rank is
 * ever missed. tells: ranks in other processes report twice a second how far they are. Both need a
 * comm that allows threads, if the job has several processes. ST_RESOURCE without memory or a
 * thread: to the others this rank would be silent, so the caller ends the job. */
status monitor_join(comm *c, double timeout_s, bool tells, monitor_alarm *alarm, err *e);

/* monitor_leave - called by all ranks that have joined: exchange the last heartbeats. What comes is
 * the last that the process does. Nobody is left to notice if it stands still then, so with a
 * timeout the kernel ends it in twice the time. */
void monitor_leave(comm *c);

/* monitor_look - call take for all ranks of the job, in order. Return how many there are: 0 before
 * a rank of this process has joined, and after the last has left. */
typedef void monitor_take(void *to, int rank, const rank_seen *seen);
int monitor_look(monitor_take *take, void *to);

/* monitor_hear - a rank in another process has told this. */
void monitor_hear(int rank, const rank_seen *seen);

#endif
