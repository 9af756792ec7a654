/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watchdog of the process. It records the progress of each rank, and shows it on rank 0. It
 * ends a job that makes no progress, with a message that names the rank. Its state is static: a
 * process has one monitor. */
#ifndef HETSORT_COMM_MONITOR_H
#define HETSORT_COMM_MONITOR_H

#include "comm.h"

enum { TAG_HEARTBEAT = COMM_TAGS - 1 }; /* no other message uses this tag */

/* The state of a rank, as sent in heartbeats. */
typedef struct rank_seen {
	progress_seen at;
	uint64_t ticks;        /* signs of progress that its process has counted */
	double idle_s;         /* since the last sign of progress */
	int32_t phase;         /* phase of its comm */
	int32_t waiting;       /* 1: the rank waits for other ranks, or for their end */
	char host[HOST_BYTES]; /* "": nothing is known of the rank yet */
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
	uint64_t ticks;    /* signs of progress until then */
	const char *doing; /* STALL_OVERDUE: the text given to monitor_enter */
} stall;

/* Called on a thread of the monitor if the job makes no progress, to report this and end the job. c
 * is NULL for STALL_OVERDUE. */
typedef void monitor_alarm(comm *c, const stall *s);

/* monitor_start - start the monitor's thread unless it exists. From then on, an alarm is raised if
 * a step of the process outside of a watched job takes longer than timeout_s. The limit is at least
 * 5 seconds, because MPI takes a while to start. With timeout_s 0, a step may take any time.
 * ST_RESOURCE if the thread cannot be started. */
status monitor_start(double timeout_s, monitor_alarm *alarm, err *e);

/* monitor_enter - begin a step outside of a watched job, and restart its time limit. The text
 * describes the step and is static. */
void monitor_enter(const char *doing);

/* monitor_wait_for - name the rank whose answer this process needs, -1 for none. With a rank the
 * limit is a little shorter. So a process that can name a rank raises the alarm before processes
 * that cannot. */
void monitor_wait_for(int peer);

typedef void monitor_shown(bool asked);

/* monitor_show - call show every every_s seconds, unless this is 0, and soon after each
 * monitor_ask. show may call monitor_look, and must not block. NULL, 0: call nothing from now on.
 */
void monitor_show(monitor_shown *show, double every_s);

/* monitor_ask - ask for a call of show, from any thread. */
void monitor_ask(void);

/* monitor_join - collective, with the same timeout_s and `reports` on all ranks: watch this rank.
 * If timeout_s is not 0, an alarm is raised after this time without progress. With `reports`, ranks
 * in other processes report their progress twice a second. If the job has several processes, a
 * timeout or `reports` requires a comm that allows threads. If memory or a thread is missing,
 * return ST_RESOURCE. Then the caller must end the job, because this rank sends no heartbeats. */
status monitor_join(comm *c, double timeout_s, bool reports, monitor_alarm *alarm, err *e);

/* monitor_leave - collective over all ranks that have joined: exchange the last heartbeats and stop
 * watching. If a timeout is set, the kernel kills the process if it has not ended about two
 * timeouts later. */
void monitor_leave(comm *c);

/* monitor_look - call take with the state of each rank of the job, in order. Return the number of
 * ranks. It is 0 before the first rank of this process has joined and after the last one has
 * left. monitor_look_locked - do the same in an alarm of the first three kinds, which is raised
 * under the lock. */
typedef void monitor_take(void *to, int rank, const rank_seen *seen);
int monitor_look(monitor_take *take, void *to);
int monitor_look_locked(monitor_take *take, void *to);

/* monitor_hear - store the state that a rank in another process has sent. */
void monitor_hear(int rank, const rank_seen *seen);

#endif
