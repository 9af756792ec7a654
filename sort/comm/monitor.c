/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watchdog and its table
 *
 * The table has a row for each rank of the job. The row of a rank of this process points to the
 * rank's comm. The row of any other rank holds the contents of its last heartbeat, the message by
 * which a rank reports its state.
 *
 * Who writes. The threads of a rank count their work by relaxed atomic additions to the comm and to
 * its rank_progress. They never touch the table and never take its lock. Only the rank's main
 * thread sets the pointer in its row (monitor_join), and `leaving` (monitor_leave). Each process
 * has one watcher, which looks at the counts of its ranks ten times per timeout and writes the
 * other fields of their rows. If the job has one process, the watcher is the monitor's thread.
 * Otherwise it is a second thread, which also exchanges heartbeats: each rank of another process
 * sends them to rank 0, and rank 0 to each of these. The watcher stores a received heartbeat in the
 * row of its sender.
 *
 * Who reads. The watcher, and the progress line, which the monitor's thread prints once a second or
 * when a signal asks for it.
 *
 * Why there may be two threads. No call of MPI has a time limit. A thread that is inside MPI, or
 * waits for the lock that guards it, may never return. So the monitor's thread never calls MPI.
 * Whatever the network does, it shows progress, and ends the job when the deadline has passed. The
 * watcher renews the deadline after each exchange of heartbeats. The monitor's thread counts only
 * the time that it meant to sleep, so a process that was stopped is not overdue when it continues.
 *
 * In which order. The lock guards the table. It is held for copies and comparisons, never during a
 * call of MPI or while progress is shown. An alarm about a rank that is stuck or silent is raised
 * under the lock, so that the rank cannot leave before it is reported. The counts need no order.
 *
 * Why stale data is harmless. All decisions compare a row with its earlier contents. If a look
 * misses the newest count, the rank seems idle for one interval more, and the next look corrects
 * this. A rank is stuck only if ten looks in a row have seen no progress. Times are never compared
 * between processes: a heartbeat carries a duration, not a point in time.
 *
 * Which invariants hold. A row points to a comm only while the comm exists. monitor_leave clears
 * the pointer under the lock, when no watcher uses the row any more. A watched rank leaves together
 * with all other ranks of the job; a rank that calls monitor_leave early counts as waiting. A
 * watcher starts when all ranks of its process have joined.
 *
 * Consequences of a failure. A rank is stuck if it does not wait for others, its process counts no
 * progress (`ticks`), and the process uses hardly any processor time. Its own process detects this.
 * Rank 0 detects that a process is stopped or gone, and that all ranks wait for one another. All
 * other processes detect that rank 0's process is stopped. If a watcher hangs, it does not renew
 * the deadline, so the monitor's thread ends the job. If memory or a thread is missing, a watched
 * job fails at its start.
 *
 * Memory: 250 bytes per rank, and 500 bytes for each link to a rank of another process. */
#include "monitor.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HEARTBEATS = 10, STACK_BYTES = 512 << 10 };

static const double
	MOST_BEAT_S = 0.5, /* the longest time between two heartbeats while progress is shown */
	LEAST_S = 5,       /* the shortest deadline */
	/* the deadline is longer by this factor if the process cannot name the rank it waits for,
	 * so that a process which can do so reports first */
	WITHOUT_PEER = 1.2, LONG_S = 86400; /* between looks if no rank is watched */

typedef struct heartbeat {
	rank_seen seen;
	uint64_t last; /* 1: the sender leaves */
	uint64_t sum;  /* of the fields above */
} heartbeat;

typedef struct row {
	comm *here;         /* NULL: the rank is in another process or has left */
	struct watcher *by; /* NULL: none yet */
	bool watched;       /* a watcher starts when all ranks of the process have joined */
	bool leaving;       /* the rank only waits for the others to end */
	rank_seen seen;
	double heard_at;  /* time of the last heartbeat; 0: the rank is or was in this process */
	double ticked_at; /* when it last made progress */
} row;

/* A link from a rank of this process to a rank of another process. */
typedef struct peer_link {
	comm *c;
	int peer;
	comm_req send, recv;
	heartbeat out, in;
	rank_seen known; /* from the last heartbeat; not only in the row, as simulated ranks share a
			    table */
	double heard_at;
	bool sending, receiving;
	bool sent_last; /* the last heartbeat has been sent */
	bool ended;     /* the peer's last heartbeat has arrived */
} peer_link;

/* The watcher of a process. */
typedef struct watcher {
	comm *c; /* of its first rank */
	int first, ranks;
	double timeout_s;        /* 0: no timeout */
	double beat_s;           /* from one look to the next */
	double looked_at, cpu_s; /* time, and processor time of the process, at the last look */
	bool all_wait;           /* all ranks of this process have waited longer than timeout_s */
	bool leaving;            /* its ranks leave: it only exchanges the last heartbeats */
	bool closing;            /* the thread must begin to leave; guarded by the lock */
	pthread_t thread;
	pthread_cond_t wake;
	int links;
	peer_link link[];
} watcher;

static struct {
	pthread_mutex_t lock; /* guards the following fields */
	pthread_cond_t wake, left;
	row *row;
	int size, joined;
	watcher *own; /* NULL: the monitor's thread watches no rank */
	bool running, asked;
	double timeout_s; /* of the deadline; 0: none */
	monitor_alarm *alarm;
	monitor_shown *show;
	double show_s, show_at;
} monitor = { .lock = PTHREAD_MUTEX_INITIALIZER,
	      .wake = PTHREAD_COND_INITIALIZER,
	      .left = PTHREAD_COND_INITIALIZER,
	      .show_at = INFINITY };

static _Atomic(const char *) doing = ""; /* the step that monitor_enter has begun */
static atomic_int waits_for = -1;        /* the rank of monitor_wait_for */
static atomic_bool renewed; /* the deadline was renewed since the monitor's thread last asked */

/* Update the row of a rank of this process, under the lock. */
static void row_refresh(row *r, const moment *now)
{
	if (!r->here)
		return;
	r->seen.at = progress_look(&r->here->progress, *now);
	r->seen.phase = atomic_load(&r->here->phase);
	r->seen.waiting = r->leaving || comm_is_waiting(r->here);
}

void monitor_hear(int rank, const rank_seen *seen)
{
	pthread_mutex_lock(&monitor.lock);
	row *r = &monitor.row[rank];
	if (!r->here) {
		r->seen = *seen;
		r->heard_at = now_s();
	}
	pthread_mutex_unlock(&monitor.lock);
}

int monitor_look_locked(monitor_take *take, void *to)
{
	const moment now = moment_now();
	for (int i = 0; i < monitor.size; i++) {
		row *r = &monitor.row[i];
		row_refresh(r, &now);
		rank_seen seen = r->seen;
		const double age_s = r->heard_at > 0 ? now.at_s - r->heard_at : 0;
		if (seen.at.left_s > 0)
			seen.at.left_s = fmax(seen.at.left_s - fmin(age_s, MOST_BEAT_S), 0);
		take(to, i, &seen);
	}
	return monitor.size;
}

int monitor_look(monitor_take *take, void *to)
{
	pthread_mutex_lock(&monitor.lock);
	const int size = monitor_look_locked(take, to);
	pthread_mutex_unlock(&monitor.lock);
	return size;
}

static void raise_alarm(const watcher *w, int kind, int rank, const rank_seen *seen, double seconds)
{
	monitor.alarm(w->c, &(stall){ .kind = kind,
				      .rank = rank,
				      .host = seen->host,
				      .phase = seen->phase,
				      .seconds = seconds,
				      .ticks = seen->ticks });
}

/* Look at the ranks of this process, under the lock, and raise an alarm if one is stuck. A process
 * that only waits for messages uses a few percent of a processor; a process that computes uses
 * more. */
static void watch_own(watcher *w)
{
	const moment now = moment_now();
	const double cpu_s = clock_read_s(CLOCK_PROCESS_CPUTIME_ID);
	const double past_s = now.at_s - w->looked_at;
	const bool was_stopped = past_s > w->timeout_s / 2;
	const bool works = cpu_s - w->cpu_s > 0.2 * past_s || was_stopped;
	w->cpu_s = cpu_s;
	w->looked_at = now.at_s;
	w->all_wait = w->timeout_s > 0;
	for (int i = 0; was_stopped && i < w->links; i++)
		w->link[i].heard_at = now.at_s;
	for (int i = w->first; i < w->first + w->ranks; i++) {
		row *r = &monitor.row[i];
		const uint64_t ticks = progress_ticks() + atomic_load(&r->here->ticks);
		if (ticks != r->seen.ticks || works)
			r->ticked_at = now.at_s;
		row_refresh(r, &now);
		r->seen.ticks = ticks;
		r->seen.idle_s = now.at_s - r->ticked_at;
		const bool idle = w->timeout_s > 0 && r->seen.idle_s > w->timeout_s;
		if (idle && !r->seen.waiting)
			raise_alarm(w, STALL_STUCK, i, &r->seen, r->seen.idle_s);
		w->all_wait &= idle && r->seen.waiting;
	}
}

/* Look at the heartbeats of other processes, under the lock. Raise an alarm if a rank is silent or
 * all ranks wait. A silent rank gets a little more time, so that its own process reports it first
 * if it is stuck. */
static void watch_others(const watcher *w)
{
	bool all_wait = w->all_wait;
	for (int i = 0; i < w->links && w->timeout_s > 0; i++) {
		const peer_link *l = &w->link[i];
		const double silent_s = w->looked_at - l->heard_at;
		if (l->ended)
			continue;
		all_wait &= l->known.waiting && l->known.idle_s > w->timeout_s;
		if (silent_s > w->timeout_s + w->timeout_s / HEARTBEATS * 2)
			raise_alarm(w, STALL_SILENT, l->peer, &l->known, silent_s);
	}
	const rank_seen *first = &monitor.row[0].seen;
	if (all_wait && w->first == 0)
		raise_alarm(w, STALL_ALL, 0, first, first->idle_s);
}

/* -------------------------------------------------------------------------------- heartbeats */

/* Start to send or receive a heartbeat. comm_send and comm_recv are not used, because a failure
 * here must not break the comm. Return whether it has started. */
static bool heartbeat_start(peer_link *l, comm_req *req, heartbeat *b, bool sending)
{
	*req = (comm_req){ .buf = (unsigned char *)b,
			   .bytes = sizeof *b,
			   .peer = l->peer,
			   .tag = TAG_HEARTBEAT,
			   .sending = sending };
	return l->c->ops->start(l->c, req) == ST_OK;
}

static bool heartbeat_is_done(comm *c, const comm_req *req)
{
	bool moved;
	if (!atomic_load(&req->complete) && c->ops->drive)
		(void)c->ops->drive(c, &moved);
	return atomic_load(&req->complete);
}

static uint64_t heartbeat_sum(const heartbeat *b)
{
	return XXH3_64bits(b, offsetof(heartbeat, sum));
}

/* Receive all heartbeats that have arrived. After a delay there may be several; only the last is
 * current. */
static void receive_heartbeats(const watcher *w, peer_link *l)
{
	while (!l->ended) {
		if (!l->receiving)
			l->receiving = heartbeat_start(l, &l->recv, &l->in, false);
		if (l->receiving && !heartbeat_is_done(l->c, &l->recv))
			return;
		const bool failed = !l->receiving;
		l->receiving = false;
		FAIL_FLIP(FAIL_HEARD, &l->in, sizeof l->in);
		if (failed || l->in.sum != heartbeat_sum(&l->in))
			raise_alarm(w, STALL_DAMAGED, l->peer, &l->known, 0);
		l->known = l->in.seen;
		l->heard_at = now_s();
		l->ended = l->in.last;
		monitor_hear(l->peer, &l->known);
	}
}

static void send_heartbeat(const watcher *w, peer_link *l)
{
	if (l->sending && heartbeat_is_done(l->c, &l->send))
		l->sending = false;
	if (l->sending || l->sent_last)
		return;
	pthread_mutex_lock(&monitor.lock);
	l->out = (heartbeat){ .seen = monitor.row[l->c->rank].seen, .last = w->leaving };
	pthread_mutex_unlock(&monitor.lock);
	l->out.sum = heartbeat_sum(&l->out);
	l->sending = heartbeat_start(l, &l->send, &l->out, true);
	l->sent_last = w->leaving;
}

static void exchange_heartbeats(watcher *w)
{
	for (int i = 0; i < w->links; i++) {
		receive_heartbeats(w, &w->link[i]);
		send_heartbeat(w, &w->link[i]);
	}
	atomic_store(&renewed, true); /* the network has not blocked this thread */
}

static void watch_all(watcher *w)
{
	pthread_mutex_lock(&monitor.lock);
	watch_own(w); /* before the exchange, where the network may block this thread */
	pthread_mutex_unlock(&monitor.lock);
	exchange_heartbeats(w);
	pthread_mutex_lock(&monitor.lock);
	watch_others(w);
	pthread_mutex_unlock(&monitor.lock);
}

/* ------------------------------------------------------------------------------------ threads */

/* Sleep until this time; the lock, which the caller holds, is free during the sleep. Return true if
 * woken earlier. */
static bool monitor_sleep(pthread_cond_t *wake, double at_s)
{
	struct timespec t = { .tv_sec = (time_t)at_s };
	t.tv_nsec = (long)((at_s - (double)t.tv_sec) * 1e9);
	return pthread_cond_clockwait(wake, &monitor.lock, CLOCK_MONOTONIC, &t) != ETIMEDOUT;
}

static void show_if_due(void)
{
	const double now = now_s();
	pthread_mutex_lock(&monitor.lock);
	const bool asked = monitor.asked && monitor.show, due = now >= monitor.show_at;
	if (asked)
		monitor.asked = false;
	if (due)
		monitor.show_at = fmax(monitor.show_at + monitor.show_s, now);
	monitor_shown *const show = monitor.show;
	pthread_mutex_unlock(&monitor.lock);
	if (asked || due)
		show(asked);
}

/* Execute the monitor's thread. */
static void *monitor_main(void *unused)
{
	const double allowed_s = fmax(monitor.timeout_s, LEAST_S);
	const double beat_s = monitor.timeout_s > 0 ? monitor.timeout_s / HEARTBEATS : LONG_S;
	double now = now_s(), look_at = now + beat_s, slept_s = 0;
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&monitor.lock);
		const double before = now, until = fmin(look_at, monitor.show_at);
		if (!monitor.asked || !monitor.show)
			(void)monitor_sleep(&monitor.wake, until);
		now = now_s();
		if (monitor.own && now >= look_at) {
			watch_own(monitor.own);
			watch_others(monitor.own);
			atomic_store(&renewed, true);
		}
		pthread_mutex_unlock(&monitor.lock);
		slept_s += fmax(fmin(now, until) - before, 0);
		if (atomic_exchange(&renewed, false))
			slept_s = 0;
		const int peer = atomic_load(&waits_for);
		if (monitor.timeout_s > 0 && slept_s >= allowed_s * (peer >= 0 ? 1 : WITHOUT_PEER))
			monitor.alarm(NULL, &(stall){ .kind = STALL_OVERDUE,
						      .rank = peer,
						      .host = "",
						      .seconds = slept_s,
						      .doing = atomic_load(&doing) });
		if (now >= look_at)
			look_at = now + beat_s;
		show_if_due();
	}
	return NULL;
}

static bool links_ended(const watcher *w)
{
	for (int i = 0; i < w->links; i++) {
		const peer_link *l = &w->link[i];
		if (!atomic_load(&l->c->broken) && (l->sending || !l->sent_last || !l->ended))
			return false;
	}
	return true;
}

/* Execute the thread that exchanges heartbeats with other processes. In a simulation the monitor's
 * thread does not run, because it would count real time. There, rank 0's watcher shows progress. */
static void *watcher_main(void *watcher_)
{
	watcher *w = watcher_;
	for (bool closing = false; !closing;) {
		watch_all(w);
		if (!monitor.running && w->first == 0)
			show_if_due();
		const double until = now_s() + w->beat_s;
		pthread_mutex_lock(&monitor.lock);
		while (!w->closing && monitor_sleep(&w->wake, until))
			;
		closing = w->closing;
		pthread_mutex_unlock(&monitor.lock);
	}
	w->leaving = true; /* from now on send heartbeats that are the last, because other ranks
			      wait for them */
	for (unsigned tries = 0; !links_ended(w); tries++) {
		if (now_s() - w->looked_at > w->beat_s)
			watch_all(w);
		else
			exchange_heartbeats(w);
		nap(tries);
	}
	return NULL;
}

status monitor_start(double timeout_s, monitor_alarm *alarm, err *e)
{
	pthread_attr_t a;
	pthread_t t;
	int rc = 0;
	pthread_mutex_lock(&monitor.lock); /* so the new thread waits until `running` is set */
	if (!monitor.running && (rc = pthread_attr_init(&a)) == 0) {
		monitor.timeout_s = timeout_s;
		monitor.alarm = alarm;
		pthread_attr_setstacksize(&a, STACK_BYTES);
		pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
		rc = pthread_create(&t, &a, monitor_main, NULL);
		pthread_attr_destroy(&a);
		monitor.running = rc == 0;
	}
	pthread_mutex_unlock(&monitor.lock);
	return rc == 0 ? ST_OK
		       : err_set(e, ST_RESOURCE, "cannot start thread for --timeout: %s",
				 strerror(rc));
}

void monitor_show(monitor_shown *show, double every_s)
{
	pthread_mutex_lock(&monitor.lock);
	monitor.show = show;
	monitor.show_s = every_s;
	monitor.show_at = every_s > 0 ? now_s() + every_s : INFINITY;
	pthread_cond_signal(&monitor.wake);
	pthread_mutex_unlock(&monitor.lock);
}

void monitor_ask(void)
{
	pthread_mutex_lock(&monitor.lock);
	monitor.asked = true;
	pthread_cond_signal(&monitor.wake);
	pthread_mutex_unlock(&monitor.lock);
}

void monitor_wait_for(int peer)
{
	atomic_store(&waits_for, peer);
}

void monitor_enter(const char *what)
{
	atomic_store(&doing, what);
	monitor_wait_for(-1);
	atomic_store(&renewed, true);
}

/* Return whether all ranks of the process have joined or, if `leaving`, called monitor_leave. Under
 * the lock. */
static bool process_joined(const comm *c, bool leaving)
{
	for (int i = c->process_first; i < c->process_first + c->process_ranks; i++)
		if (!monitor.row[i].here || (leaving && !monitor.row[i].leaving))
			return false;
	return true;
}

/* Start the watcher of this process, whose last rank joins. Called under the lock. */
static status watcher_start(comm *c, double timeout_s, bool reports, err *e)
{
	const int first = c->process_first, past = first + c->process_ranks;
	/* rank 0 has links to all ranks of other processes; each of these has a link to rank 0 */
	const bool root = first == 0;
	const int from = root ? past : first, end = root ? c->size : past;
	const double beat_s = timeout_s > 0 ? timeout_s / HEARTBEATS : MOST_BEAT_S;
	watcher *w = malloc(sizeof *w + (size_t)(end - from) * sizeof(peer_link));
	if (!w)
		return err_set(e, ST_RESOURCE, "no memory to watch %d ranks", c->size);
	*w = (watcher){ .c = monitor.row[first].here,
			.first = first,
			.ranks = c->process_ranks,
			.timeout_s = timeout_s,
			.beat_s = reports ? fmin(beat_s, MOST_BEAT_S) : beat_s,
			.looked_at = now_s(),
			.cpu_s = clock_read_s(CLOCK_PROCESS_CPUTIME_ID),
			.wake = PTHREAD_COND_INITIALIZER };
	for (int i = first; i < past; i++) {
		monitor.row[i].by = w;
		monitor.row[i].ticked_at = w->looked_at;
	}
	for (int i = from; i < end; i++)
		w->link[w->links++] = (peer_link){ .c = monitor.row[root ? 0 : i].here,
						   .peer = root ? i : 0,
						   .heard_at = w->looked_at };
	if (c->processes == 1 && monitor.running) {
		monitor.own = w;
		return ST_OK;
	}
	const int rc = pthread_create(&w->thread, NULL, watcher_main, w);
	if (rc != 0)
		return err_set(e, ST_RESOURCE, "cannot start the thread that watches ranks: %s",
			       strerror(rc));
	return ST_OK;
}

status monitor_join(comm *c, double timeout_s, bool reports, monitor_alarm *alarm, err *e)
{
	const bool watched = !c->for_all && (timeout_s > 0 || reports);
	status rc = ST_OK;
	pthread_mutex_lock(&monitor.lock);
	if (!monitor.alarm)
		monitor.alarm = alarm;
	if (!monitor.row) {
		monitor.row = calloc((size_t)c->size, sizeof *monitor.row);
		monitor.size = monitor.row ? c->size : 0;
	}
	if (monitor.row) {
		row *r = &monitor.row[c->rank];
		r->here = c;
		r->watched = watched;
		memcpy(r->seen.host, c->host, sizeof c->host);
		monitor.joined++;
		if (watched && process_joined(c, false))
			rc = watcher_start(c, timeout_s, reports, e);
	} else if (watched) {
		rc = err_set(e, ST_RESOURCE, "no memory to watch %d ranks", c->size);
	}
	pthread_mutex_unlock(&monitor.lock);
	return rc;
}

/* End the watcher of this process, whose last rank leaves. Called under the lock, which is free
 * while the thread ends. The rows keep their last contents. */
static void watcher_end(watcher *w)
{
	if (w != monitor.own) {
		w->closing = true;
		pthread_cond_signal(&w->wake);
		pthread_mutex_unlock(&monitor.lock);
		pthread_join(w->thread, NULL);
		pthread_mutex_lock(&monitor.lock);
	}
	monitor.own = NULL;
	for (int i = w->first; i < w->first + w->ranks; i++)
		monitor.row[i].here = NULL;
	free(w);
	pthread_cond_broadcast(&monitor.left);
}

void monitor_leave(comm *c)
{
	static atomic_flag begun = ATOMIC_FLAG_INIT;
	const moment now = moment_now();
	pthread_mutex_lock(&monitor.lock);
	if (monitor.row) {
		row *r = &monitor.row[c->rank];
		row_refresh(r, &now);
		r->leaving = true;
		if (!r->watched)
			r->here = NULL;
		else if (process_joined(c, true))
			watcher_end(r->by);
		while (r->here)
			pthread_cond_wait(&monitor.left, &monitor.lock);
	}
	if (monitor.row && --monitor.joined == 0) {
		free(monitor.row);
		monitor.row = NULL, monitor.size = 0;
	}
	pthread_mutex_unlock(&monitor.lock);
	/* from here on only the kernel watches this process: the first rank starts a timer */
	struct sigevent by = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	const double in_s = 1 + 2 * fmax(monitor.timeout_s, LEAST_S);
	const struct itimerspec in = { .it_value = { (time_t)in_s, 0 } };
	timer_t t;
	monitor_enter("leaving the other ranks");
	if (monitor.running && monitor.timeout_s > 0 && !atomic_flag_test_and_set(&begun) &&
	    timer_create(CLOCK_MONOTONIC, &by, &t) == 0)
		(void)timer_settime(t, 0, &in, NULL);
}
