/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watchdog of the process. It knows how far each rank is, and shows that to rank 0's user. It
 * ends a job that makes no progress, with a message that names the rank. Its state is static,
 * because a process has one monitor, as it has one MPI. */
#ifndef HETSORT_COMM_MONITOR_H
#define HETSORT_COMM_MONITOR_H

#include "comm.h"

enum { TAG_HEARTBEAT = COMM_TAGS - 1 }; /* no other message uses this tag */

typedef struct rank_seen {
	progress_seen at;
	uint64_t ticks;        /* of progress in its process */
	double idle_s;         /* since the last of them */
	int32_t phase;         /* phase of the comm */
	int32_t waiting;       /* for other ranks, or for them to end */
	char host[HOST_BYTES]; /* "": the rank has not been heard */
} rank_seen;

typedef struct stall {
	enum {
		STALL_STUCK,   /* a rank makes no progress */
		STALL_SILENT,  /* the rank sends no heartbeats */
		STALL_ALL,     /* all ranks wait for each other */
		STALL_DAMAGED, /* a heartbeat arrived with a wrong bit */
		STALL_OVERDUE  /* a step of the process outside of the job does not end */
	} kind;
	int rank; /* STALL_OVERDUE: the rank that the process waits for, or -1 */
	const char *host;
	int phase;         /* last known phase of the rank */
	double seconds;    /* without progress, or without heartbeats */
	uint64_t ticks;    /* of progress in its process up to then */
	const char *doing; /* STALL_OVERDUE: the text given to monitor_enter */
} stall;

/* Report the stall and end the job. Called on a thread of the monitor. c is NULL for
 * STALL_OVERDUE. */
typedef void monitor_alarm(comm *c, const stall *s);

/* monitor_start - start the thread if it does not exist yet. From then on, a step of the process
 * outside of a watched job may take timeout_s, or any time if that is 0. It may take at least 5
 * seconds, because MPI takes a while to start. ST_RESOURCE if the thread cannot be started. */
status monitor_start(double timeout_s, monitor_alarm *alarm, err *e);

/* monitor_enter - begin such a step, and restart its time; the text is static. */
void monitor_enter(const char *doing);

/* monitor_wait_for - name the rank that has to answer, -1 for none. With a rank the time allowed is
 * shorter, because other ranks may wait for these two. */
void monitor_wait_for(int peer);

typedef void monitor_shown(bool asked);

/* monitor_show - call show at each interval, and soon after monitor_ask; with every_s 0, only then.
 * show may call monitor_look, and must not block. */
void monitor_show(monitor_shown *show, double every_s);

/* monitor_ask - ask for a call of show, from any thread. */
void monitor_ask(void);

/* monitor_join - collective, with the same timeout_s and `reports` on all ranks: watch this rank.
 * With timeout_s 0, no rank is reported as missing. With `reports`, ranks in other processes report
 * their progress twice a second. Both need a comm that allows threads if the job has several
 * processes. On ST_RESOURCE (memory or a thread) the caller ends the job, because the other ranks
 * would hear nothing from this one. */
status monitor_join(comm *c, double timeout_s, bool reports, monitor_alarm *alarm, err *e);

/* monitor_leave - exchange the last heartbeats; collective over all ranks that have joined. From
 * then on no thread watches the process. So if a timeout is set, the kernel kills the process after
 * about twice the timeout. */
void monitor_leave(comm *c);

/* monitor_look - call take for all ranks of the job, in order. Return their number: 0 before a rank
 * of this process has joined, and after the last has left. */
typedef void monitor_take(void *to, int rank, const rank_seen *seen);
int monitor_look(monitor_take *take, void *to);

/* monitor_hear - store the state that a rank in another process has sent. */
void monitor_hear(int rank, const rank_seen *seen);

#endif
