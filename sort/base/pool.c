/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting and joining workers. No queue: workers take parts from a counter. */
#include "pool.h"
#include "progress.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

/* A thread inherits from its starter the rank that it counts for, and the trace that it records in.
 */
typedef struct birth {
	const char *name;
	void *(*work)(void *);
	void *arg;
	rank_progress *counts;
	trace *trace;
} birth;

static void *live(void *birth_)
{
	const birth b = *(birth *)birth_;
	free(birth_);
	(void)pthread_setname_np(pthread_self(), b.name);
	progress_join(b.counts);
	trace_thread(b.trace, b.name);
	void *out = b.work(b.arg);
	trace_thread(NULL, NULL);
	return out;
}

int thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *arg)
{
	birth *b = malloc(sizeof *b);
	if (!b)
		return EAGAIN;
	*b = (birth){ name, work, arg, progress_mine(), trace_mine() };
	const int rc = pthread_create(thread, NULL, live, b);
	if (rc != 0)
		free(b);
	return rc;
}

typedef struct worker {
	pthread_t thread;
	pool_call first, then;
	unsigned index;
} worker;

static void *run_worker(void *self)
{
	const worker *w = self;
	if (w->first.work)
		w->first.work(w->first.arg, w->index);
	w->then.work(w->then.arg, w->index);
	return NULL;
}

unsigned pool_run(unsigned threads, pool_work *work, void *arg)
{
	worker *w = threads > 1 ? calloc(threads, sizeof *w) : NULL;
	const pool_call first = pool_first();
	unsigned up = 1;
	for (; w && up < threads; up++) {
		w[up] = (worker){ .first = first, .then = { work, arg }, .index = up };
		if (thread_start(&w[up].thread, "worker", run_worker, &w[up]) != 0)
			break;
	}
	work(arg, 0);
	for (unsigned i = 1; i < up; i++)
		pthread_join(w[i].thread, NULL);
	free(w);
	return up;
}
