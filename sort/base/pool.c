/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting and joining workers. No queue: workers take parts from a counter. */
#include "pool.h"
#include "thread.h"

#include <stdlib.h>

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
