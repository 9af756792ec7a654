/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rank is stuck if it does not wait for others and nothing is done in its process: no tick of
 * progress.h and next to no processor time. It finds that out itself; one that is stopped or gone
 * is missed by rank 0, rank 0 by all; and if all wait for one another, rank 0 knows. Ages are taken
 * from the monotonic clock of one process each and never compared between ranks. A process that was
 * stopped and goes on starts counting anew. Memory: 400 bytes for each line to another rank. */
#include "watch.h"
#include "base/clock.h"
#include "base/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_BEAT = COMM_TAGS - 1, BEATS = 10 }; /* no other message uses this tag */

typedef struct beat {
	int32_t phase, waiting, last;
	uint64_t ticks;
	double idle_s;
	char host[HOST_BYTES];
} beat;

/* To one other rank and back. */
typedef struct line {
	int rank;
	comm_req send, recv;
	beat out, in, known;
	bool sending, receiving;
	bool said_last, ended; /* own last beat is on its way; the other's has come */
	double heard_at;
} line;

struct watch {
	comm *c;
	double timeout_s;
	watch_alarm *alarm;
	line *line;
	int lines;
	beat own;
	double ticked_at, looked_at, cpu_s;
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

/* A process that polls takes a few percent of a processor; one that computes takes more. */
static void look_at_own(watch *w, double now)
{
	const uint64_t ticks = progress_ticks() + atomic_load(&w->c->ticks);
	const double cpu_s = cpu_now_s(), past_s = now - w->looked_at;
	const bool was_stopped = past_s > w->timeout_s / 2;
	if (ticks != w->own.ticks || cpu_s - w->cpu_s > 0.2 * past_s || was_stopped)
		w->ticked_at = now;
	for (int i = 0; was_stopped && i < w->lines; i++)
		w->line[i].heard_at = now;
	w->own.ticks = ticks;
	w->own.phase = atomic_load(&w->c->phase);
	w->own.waiting = atomic_load(&w->c->waiting) > 0;
	w->own.idle_s = now - w->ticked_at;
	w->cpu_s = cpu_s;
	w->looked_at = now;
}

/* ------------------------------------------------------------------------------------- beats */

/* Not by comm_send and comm_recv: a failure here is not the sort's, silence says it all. */
static bool start(comm *c, comm_req *req, beat *b, int peer, bool sending)
{
	*req = (comm_req){ .buf = (unsigned char *)b,
			   .bytes = sizeof *b,
			   .peer = peer,
			   .tag = TAG_BEAT,
			   .sending = sending };
	return c->ops->start(c, req) == ST_OK;
}

static bool arrived(comm *c, comm_req *req)
{
	bool done = false;
	return c->ops->test(c, req, &done) == ST_OK && done;
}

/* To a rank that was kept from listening the last beat that came counts, not the oldest. */
static void hear(watch *w, line *l, double now)
{
	while (!l->ended) {
		if (!l->receiving)
			l->receiving = start(w->c, &l->recv, &l->in, l->rank, false);
		if (!l->receiving || !arrived(w->c, &l->recv))
			return;
		l->receiving = false;
		l->known = l->in;
		l->heard_at = now;
		l->ended = l->in.last;
	}
}

static void speak(watch *w, line *l, bool closing)
{
	if (l->sending && arrived(w->c, &l->send))
		l->sending = false;
	if (l->sending || l->said_last)
		return;
	l->out = w->own;
	l->out.last = closing;
	l->sending = start(w->c, &l->send, &l->out, l->rank, true);
	l->said_last = closing;
}

/* ----------------------------------------------------------------------------------- judging */

static void raise_alarm(watch *w, int kind, int rank, const beat *b, double seconds)
{
	const stall s = { kind, rank, b->host, b->phase, seconds, b->ticks };
	w->alarm(w->c, &s);
}

static void judge_own(watch *w)
{
	if (!w->own.waiting && w->own.idle_s > w->timeout_s)
		raise_alarm(w, STALL_STUCK, w->c->rank, &w->own, w->own.idle_s);
}

static void judge_others(watch *w, double now)
{
	bool all_wait = w->own.waiting && w->own.idle_s > w->timeout_s;
	for (int i = 0; i < w->lines; i++) {
		const line *l = &w->line[i];
		const double silent_s = now - l->heard_at;
		if (l->ended)
			continue;
		all_wait &= l->known.waiting && l->known.idle_s > w->timeout_s;
		/* longer than for a rank that can speak for itself */
		if (silent_s > w->timeout_s + w->timeout_s / BEATS * 2)
			raise_alarm(w, STALL_SILENT, l->rank, &l->known, silent_s);
	}
	if (all_wait && w->c->rank == 0)
		raise_alarm(w, STALL_ALL, 0, &w->own, w->own.idle_s);
}

/* ------------------------------------------------------------------------------------ thread */

static bool wait_a_turn(watch *w, double seconds)
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
	for (int i = 0; i < w->lines; i++)
		if (w->line[i].sending || !w->line[i].said_last || !w->line[i].ended)
			return false;
	return true;
}

static void *look_out(void *watch_)
{
	watch *w = watch_;
	bool closing = false;
	for (unsigned tries = 0; !(closing && (all_ended(w) || atomic_load(&w->c->broken)));) {
		const double now = now_s();
		look_at_own(w, now);
		if (!closing)
			judge_own(w); /* before the network, which may be what it is stuck in */
		for (int i = 0; i < w->lines; i++) {
			hear(w, &w->line[i], now);
			speak(w, &w->line[i], closing);
		}
		judge_others(w, now);
		if (closing)
			nap(tries++);
		else
			closing = wait_a_turn(w, w->timeout_s / BEATS);
	}
	return NULL;
}

static void set_up(watch *w)
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
	memcpy(w->own.host, w->c->host, sizeof w->own.host);
	for (int i = 0; i < w->lines; i++) {
		w->line[i].rank = w->c->rank == 0 ? i + 1 : 0;
		w->line[i].heard_at = now;
	}
}

static void take_down(watch *w)
{
	pthread_cond_destroy(&w->stop);
	pthread_mutex_destroy(&w->lock);
	free(w->line);
	free(w);
}

status watch_start(watch **out, comm *c, double timeout_s, watch_alarm *alarm, err *e)
{
	const int lines = c->rank == 0 ? c->size - 1 : 1;
	watch *w = calloc(1, sizeof *w);
	*out = NULL;
	if (w)
		w->line = calloc((size_t)lines + 1, sizeof *w->line);
	if (!w || !w->line) {
		free(w);
		return err_set(e, ST_RESOURCE, "no memory for watching %d ranks", c->size);
	}
	w->c = c;
	w->timeout_s = timeout_s;
	w->alarm = alarm;
	w->lines = lines;
	set_up(w);
	const int rc = pthread_create(&w->thread, NULL, look_out, w);
	if (rc != 0) {
		take_down(w);
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
	take_down(w);
}
