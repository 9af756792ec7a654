/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watchdog and its table
 *
 * The table has a row for each rank of the job. The row of a rank of this process points to the
 * rank's comm. The row of any other rank holds the contents of its last heartbeat.
 *
 * Who writes. The threads of a rank count their work by relaxed atomic additions to the comm and to
 * its rank_progress. They never touch the table and never take its lock. The rank's main thread
 * sets the row's pointer when it joins, and its `leaving` when it has nothing left to do. One
 * watcher per process writes the rest of the rows of its own ranks: it reads their counts ten times
 * in the time allowed. If the job has one process, the watcher is the monitor's thread. Otherwise
 * it is a second thread, which also exchanges heartbeats: each rank sends them to rank 0, and rank
 * 0 to all. It writes the rows of the ranks from which it receives heartbeats.
 *
 * Who reads. The watcher, and the progress line, which the monitor's thread prints once a second or
 * when a signal asks.
 *
 * Why there may be two threads. No call of MPI has a time limit. A thread that is inside MPI, or
 * waits for the lock that guards it, may never return. So the monitor's thread never calls MPI: it
 * shows progress and keeps the deadline whatever the network does. It counts the time that it meant
 * to sleep, not the time that has passed. So a process that was stopped is not overdue when it
 * continues.
 *
 * In which order. The lock guards the table. It is held for copies and comparisons, never during a
 * call of MPI or a write to a terminal. An alarm is raised under it, so that no rank leaves while
 * it is reported. Nothing else orders the counts.
 *
 * Why stale data is harmless. All decisions compare a row with its earlier contents. A count that
 * is read late makes a rank look idle for one interval more, and the next look corrects that. A
 * rank is stuck only if ten looks in a row have seen no progress. Times are never compared between
 * processes: a heartbeat carries a duration, not a point in time.
 *
 * Which invariants hold. A row's comm exists while the row points to it: monitor_leave clears the
 * pointer under the lock, when no watcher uses the row any more. A rank that is watched leaves
 * together with all other ranks of the job, so a rank that leaves early counts as waiting. A
 * watcher begins when all ranks of its process have joined.
 *
 * Consequences of a failure. A rank is stuck if it does not wait for others and its process makes
 * no progress: no tick and next to no processor time. Its own process detects that. Rank 0 detects
 * that a process is stopped or gone, and that all ranks wait for one another. All other processes
 * detect that rank 0's process is stopped. A watcher that hangs does not renew the deadline, so the
 * monitor's thread ends the job. Without memory or a thread no rank is watched. With a timeout that
 * is an error, otherwise no progress is shown.
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

static const double MOST_BEAT_S = 0.5, /* between two heartbeats while progress is shown */
	LEAST_S = 5,                   /* the least time allowed for joining the others */
	/* the factor of that time for a process that waits for no rank in particular, so that
	 * processes which wait for one report first */
	WITHOUT_PEER = 1.2, LONG_S = 86400; /* between looks if no rank is watched */

typedef struct heartbeat {
	rank_seen seen;
	uint64_t last;
	uint64_t sum; /* of the fields above */
} heartbeat;

typedef struct row {
	comm *here;         /* NULL: the rank is in another process, or has left */
	struct watcher *by; /* NULL: none yet */
	bool watched;       /* a watcher starts when all ranks here have joined */
	bool leaving;       /* the rank only waits for the others to end */
	rank_seen seen;
	double heard_at; /* 0: it is, or was, in this process */
	double ticked_at;
} row;

/* A link from a rank of this process to a rank of another process. */
typedef struct peer_link {
	comm *c;
	int peer;
	comm_req send, recv;
	heartbeat out, in;
	rank_seen known; /* not only in the row: simulated ranks share a table */
	double heard_at;
	bool sending, receiving;
	bool sent_last; /* the last heartbeat is on its way */
	bool ended;     /* the peer's last heartbeat has arrived */
} peer_link;

/* The watcher of a process. */
typedef struct watcher {
	comm *c; /* of its first rank */
	int first, ranks;
	double timeout_s; /* 0: no timeout */
	double beat_s;    /* from one look to the next */
	double looked_at, cpu_s;
	bool all_wait; /* all ranks of this process have waited longer than timeout_s */
	bool leaving;  /* only the last heartbeats are exchanged */
	bool closing;  /* the thread must end; under the lock */
	pthread_t thread;
	pthread_cond_t wake;
	int links;
	peer_link link[];
} watcher;

static struct {
	pthread_mutex_t lock; /* of the following fields */
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

static _Atomic(const char *) doing = ""; /* outside of a watched job, see monitor_enter */
static atomic_int waits_for = -1;        /* the rank that has to answer */
static atomic_bool renewed;              /* the deadline, since the monitor's thread last looked */

/* Update the row of a rank of this process, under the lock. */
static void row_refresh(row *r, const moment *now)
{
	if (!r->here)
		return;
	r->seen.at = progress_look(&r->here->progress, *now);
	r->seen.phase = atomic_load(&r->here->phase);
	r->seen.waiting = r->leaving || atomic_load(&r->here->waiting) > 0;
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

int monitor_look(monitor_take *take, void *to)
{
	const moment now = moment_now();
	pthread_mutex_lock(&monitor.lock);
	const int size = monitor.size;
	for (int i = 0; i < size; i++) {
		row *r = &monitor.row[i];
		row_refresh(r, &now);
		rank_seen seen = r->seen;
		const double age_s = r->heard_at > 0 ? now.at_s - r->heard_at : 0;
		if (seen.at.left_s > 0)
			seen.at.left_s = fmax(seen.at.left_s - fmin(age_s, MOST_BEAT_S), 0);
		take(to, i, &seen);
	}
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

/* Look at the ranks of this process, under the lock. A process that only polls uses a few percent
 * of a processor; a process that computes uses more. */
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

/* Look at the ranks of other processes, under the lock. They get a little more time, so that a
 * process with a stuck rank reports it first. */
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

/* Start a message without comm_send and comm_recv, because a failure here must not break the
 * comm. */
static bool heartbeat_start(peer_link *l, comm_req *req, heartbeat *b, bool sending)
{
	*req = (comm_req){ .buf = (unsigned char *)b,
			   .bytes = sizeof *b,
			   .peer = l->peer,
			   .tag = TAG_HEARTBEAT,
			   .sending = sending };
	return l->c->ops->start(l->c, req) == ST_OK;
}

static uint64_t heartbeat_sum(const heartbeat *b)
{
	return XXH3_64bits(b, offsetof(heartbeat, sum));
}

/* Receive all heartbeats that have arrived: after a delay the last one counts, not the oldest. */
static void receive_heartbeats(const watcher *w, peer_link *l)
{
	while (!l->ended) {
		if (!l->receiving)
			l->receiving = heartbeat_start(l, &l->recv, &l->in, false);
		bool done = false;
		const status rc = l->receiving ? l->c->ops->test(l->c, &l->recv, &done) : ST_OK;
		if (rc == ST_OK && !done)
			return;
		l->receiving = false;
		FAIL_FLIP(FAIL_HEARD, &l->in, sizeof l->in);
		if (rc != ST_OK || l->in.sum != heartbeat_sum(&l->in))
			raise_alarm(w, STALL_DAMAGED, l->peer, &l->known, 0);
		l->known = l->in.seen;
		l->heard_at = now_s();
		l->ended = l->in.last;
		monitor_hear(l->peer, &l->known);
	}
}

static void send_heartbeat(const watcher *w, peer_link *l)
{
	bool done = false;
	if (l->sending && l->c->ops->test(l->c, &l->send, &done) == ST_OK && done)
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
	atomic_store(&renewed, true); /* the network does not block this thread */
}

static void watch_all(watcher *w)
{
	pthread_mutex_lock(&monitor.lock);
	watch_own(w); /* before the network, where this thread may hang */
	pthread_mutex_unlock(&monitor.lock);
	exchange_heartbeats(w);
	pthread_mutex_lock(&monitor.lock);
	watch_others(w);
	pthread_mutex_unlock(&monitor.lock);
}

/* ------------------------------------------------------------------------------------ threads */

/* Sleep until this time, under the lock. Return true if woken before. */
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
	pthread_mutex_unlock(&monitor.lock);
	if (asked || due)
		monitor.show(asked);
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

/* Execute the thread that exchanges heartbeats with other processes. A simulation has no monitor's
 * thread, which would count real time, so the thread of rank 0 shows progress there. */
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
	w->leaving = true; /* a rank that never sends its last heartbeat may be waiting for ours */
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
	pthread_mutex_lock(&monitor.lock); /* the thread waits until `running` is set */
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

/* Return whether all ranks of the process have joined, or begun to leave. Under the lock. */
static bool process_joined(const comm *c, bool leaving)
{
	for (int i = c->process_first; i < c->process_first + c->process_ranks; i++)
		if (!monitor.row[i].here || (leaving && !monitor.row[i].leaving))
			return false;
	return true;
}

/* Start the watcher when the last rank of the process joins, under the lock. */
static status watcher_start(comm *c, double timeout_s, bool reports, err *e)
{
	const int first = c->process_first, past = first + c->process_ranks;
	/* rank 0 has links to all ranks of other processes, any other rank has one to rank 0 */
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

/* End the watcher when the last rank of the process leaves, under the lock. The rows keep their
 * last contents. */
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
	/* from here on only the kernel watches this process; the first rank starts its timer */
	struct sigevent by = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	const double in_s = 1 + 2 * fmax(monitor.timeout_s, LEAST_S);
	const struct itimerspec in = { .it_value = { (time_t)in_s, 0 } };
	timer_t t;
	monitor_enter("leaving the other ranks");
	if (monitor.running && monitor.timeout_s > 0 && !atomic_flag_test_and_set(&begun) &&
	    timer_create(CLOCK_MONOTONIC, &by, &t) == 0)
		(void)timer_settime(t, 0, &in, NULL);
}
