/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rank is stuck if it does not wait for others and its process makes no progress: no tick of
 * progress.h and next to no processor time. It detects that itself. Rank 0 detects a rank that is
 * stopped or gone, all others detect it of rank 0; and if all wait for one another, rank 0 detects
 * that. Times are from the monotonic clock of one process each and never compared between ranks. A
 * process that was stopped and continues starts counting anew. Memory: 400 bytes for each link to
 * another rank. */
#include "watch.h"
#include "base/clock.h"
#include "base/progress.h"
#include "board.h"
#include "deadline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TAG_HEARTBEAT = COMM_TAGS - 1, HEARTBEATS = 10 }; /* no other message uses this tag */

static const double MOST_BEAT_S = 0.5; /* where progress is shown */

typedef struct heartbeat {
	int32_t waiting, last;
	uint64_t ticks;
	double idle_s;
	rank_seen seen;
	uint64_t sum; /* of the fields above */
} heartbeat;

/* To one other rank and back. */
typedef struct link {
	int rank;
	comm_req send, recv;
	heartbeat out, in, known;
	bool sending, receiving;
	bool sent_last, ended; /* the own last heartbeat is under way; the other's was received */
	double heard_at;
} link;

struct watch {
	comm *c;
	double timeout_s; /* 0: none */
	double beat_s;    /* from one heartbeat to the next */
	watch_alarm *alarm;
	link *link;
	int links;
	heartbeat own;
	double ticked_at, looked_at, cpu_s;
	bool leaving; /* has nothing left to do but to wait for the others' end */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool closing; /* under the lock */
};

static double cpu_now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A process that only polls takes a few percent of a processor; one that computes takes more. */
static void measure_own(watch *w, double now)
{
	const uint64_t ticks = progress_ticks() + atomic_load(&w->c->ticks);
	const double cpu_s = cpu_now_s(), past_s = now - w->looked_at;
	const bool was_stopped = past_s > w->timeout_s / 2;
	if (ticks != w->own.ticks || cpu_s - w->cpu_s > 0.2 * past_s || was_stopped)
		w->ticked_at = now;
	for (int i = 0; was_stopped && i < w->links; i++)
		w->link[i].heard_at = now;
	w->own.ticks = ticks;
	w->own.seen.phase = atomic_load(&w->c->phase);
	w->own.seen.waiting = atomic_load(&w->c->waiting) > 0;
	w->own.seen.at = progress_look(&w->c->progress, moment_now());
	w->own.waiting = w->leaving || atomic_load(&w->c->waiting) > 0;
	w->own.idle_s = now - w->ticked_at;
	w->cpu_s = cpu_s;
	w->looked_at = now;
}

static void raise_alarm(watch *w, int kind, int rank, const heartbeat *b, double seconds)
{
	const stall s = { kind, rank, b->seen.host, b->seen.phase, seconds, b->ticks };
	w->alarm(w->c, &s);
}

/* -------------------------------------------------------------------------------- heartbeats */

/* Not by comm_send and comm_recv: a failure here must not break the comm. */
static bool start(comm *c, comm_req *req, heartbeat *b, int peer, bool sending)
{
	*req = (comm_req){ .buf = (unsigned char *)b,
			   .bytes = sizeof *b,
			   .peer = peer,
			   .tag = TAG_HEARTBEAT,
			   .sending = sending };
	return c->ops->start(c, req) == ST_OK;
}

static uint64_t sum_of(const heartbeat *b)
{
	return XXH3_64bits(b, offsetof(heartbeat, sum));
}

/* Receives all heartbeats that have arrived: after a delay the last one counts, not the oldest. */
static void receive_heartbeats(watch *w, link *l, double now)
{
	while (!l->ended) {
		if (!l->receiving)
			l->receiving = start(w->c, &l->recv, &l->in, l->rank, false);
		bool done = false;
		const status rc = l->receiving ? w->c->ops->test(w->c, &l->recv, &done) : ST_OK;
		if (rc == ST_OK && !done)
			return;
		l->receiving = false;
		FAIL_FLIP(FAIL_HEARD, &l->in, sizeof l->in);
		if (rc != ST_OK || l->in.sum != sum_of(&l->in))
			raise_alarm(w, STALL_DAMAGED, l->rank, &l->known, 0);
		l->known = l->in;
		l->heard_at = now;
		l->ended = l->in.last;
		board_tell(l->rank, &l->known.seen);
	}
}

static void send_heartbeat(watch *w, link *l)
{
	bool done = false;
	if (l->sending && w->c->ops->test(w->c, &l->send, &done) == ST_OK && done)
		l->sending = false;
	if (l->sending || l->sent_last)
		return;
	l->out = w->own;
	l->out.last = w->leaving;
	l->out.sum = sum_of(&l->out);
	l->sending = start(w->c, &l->send, &l->out, l->rank, true);
	l->sent_last = w->leaving;
}

/* ----------------------------------------------------------------------------------- checking */

static void check_own(watch *w)
{
	if (!w->own.waiting && w->own.idle_s > w->timeout_s)
		raise_alarm(w, STALL_STUCK, w->c->rank, &w->own, w->own.idle_s);
}

static void check_others(watch *w, double now)
{
	bool all_wait = w->own.waiting && w->own.idle_s > w->timeout_s;
	for (int i = 0; i < w->links; i++) {
		const link *l = &w->link[i];
		const double silent_s = now - l->heard_at;
		if (l->ended)
			continue;
		all_wait &= l->known.waiting && l->known.idle_s > w->timeout_s;
		/* later than a rank that is stuck reports itself */
		if (silent_s > w->timeout_s + w->timeout_s / HEARTBEATS * 2)
			raise_alarm(w, STALL_SILENT, l->rank, &l->known, silent_s);
	}
	if (all_wait && w->c->rank == 0)
		raise_alarm(w, STALL_ALL, 0, &w->own, w->own.idle_s);
}

/* ------------------------------------------------------------------------------------ thread */

static bool wait_for_next(watch *w, double seconds)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	const double until = (double)t.tv_nsec * 1e-9 + seconds;
	t.tv_sec += (time_t)until;
	t.tv_nsec = (long)((until - (double)(time_t)until) * 1e9);
	pthread_mutex_lock(&w->lock);
	while (!w->closing && pthread_cond_timedwait(&w->stop, &w->lock, &t) != ETIMEDOUT)
		;
	const bool closing = w->closing;
	pthread_mutex_unlock(&w->lock);
	return closing;
}

static bool all_ended(const watch *w)
{
	for (int i = 0; i < w->links; i++)
		if (w->link[i].sending || !w->link[i].sent_last || !w->link[i].ended)
			return false;
	return true;
}

static void exchange_heartbeats(watch *w, double now)
{
	for (int i = 0; i < w->links; i++) {
		receive_heartbeats(w, &w->link[i], now);
		send_heartbeat(w, &w->link[i]);
	}
	deadline_renew(); /* the network lets us go on */
}

static void look(watch *w)
{
	const double now = now_s();
	measure_own(w, now);
	if (w->timeout_s > 0)
		check_own(w); /* before the network, where the rank may be stuck */
	exchange_heartbeats(w, now);
	if (w->timeout_s > 0)
		check_others(w, now);
}

/* The last heartbeats; a rank that never sends its own may wait for this one. */
static void take_leave(watch *w)
{
	w->leaving = true;
	for (unsigned tries = 0; !all_ended(w) && !atomic_load(&w->c->broken);) {
		if (now_s() - w->looked_at > w->beat_s)
			look(w);
		else
			exchange_heartbeats(w, now_s());
		nap(tries++);
	}
}

static void *watch_loop(void *watch_)
{
	watch *w = watch_;
	do
		look(w);
	while (!wait_for_next(w, w->beat_s));
	take_leave(w);
	return NULL;
}

static void init(watch *w)
{
	const double now = now_s();
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->stop, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&w->lock, NULL);
	w->ticked_at = w->looked_at = now;
	w->cpu_s = cpu_now_s();
	memcpy(w->own.seen.host, w->c->host, sizeof w->own.seen.host);
	for (int i = 0; i < w->links; i++) {
		w->link[i].rank = w->c->rank == 0 ? i + 1 : 0;
		w->link[i].heard_at = now;
	}
}

static void destroy(watch *w)
{
	pthread_cond_destroy(&w->stop);
	pthread_mutex_destroy(&w->lock);
	free(w->link);
	free(w);
}

/* How often ranks tell of themselves. */
static double beat(double timeout_s, bool shown)
{
	const double s = timeout_s / HEARTBEATS;
	return shown && (timeout_s == 0 || s > MOST_BEAT_S) ? MOST_BEAT_S : s;
}

status watch_start(watch **out, comm *c, double timeout_s, bool shown, watch_alarm *alarm, err *e)
{
	const int links = c->rank == 0 ? c->size - 1 : 1;
	watch *w = calloc(1, sizeof *w);
	*out = NULL;
	if (w)
		w->link = calloc((size_t)links + 1, sizeof *w->link);
	if (!w || !w->link) {
		free(w);
		return err_set(e, ST_RESOURCE, "no memory for watching %d ranks", c->size);
	}
	w->c = c;
	w->timeout_s = timeout_s;
	w->beat_s = beat(timeout_s, shown);
	w->alarm = alarm;
	w->links = links;
	init(w);
	const int rc = pthread_create(&w->thread, NULL, watch_loop, w);
	if (rc != 0) {
		destroy(w);
		return err_set(e, ST_RESOURCE, "cannot start the watch's thread: %s", strerror(rc));
	}
	*out = w;
	return ST_OK;
}

void watch_stop(watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->closing = true;
	pthread_cond_signal(&w->stop);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	destroy(w);
}
