/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that work for a rank. Workers take the next part of their work from one atomic counter
 * until none is left, so their number does not matter. */
#ifndef HETSORT_BASE_POOL_H
#define HETSORT_BASE_POOL_H

#include <pthread.h>

/* thread_start - start a thread like pthread_create, for the rank of the calling thread. The name
 * is for top, debuggers and the trace: static, at most 15 bytes. Return 0 or an errno. */
int thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *arg);

typedef void pool_work(void *arg, unsigned worker);

/* pool_run - call work(arg, i) on up to `threads` (>= 1) threads, i from 0 on, 0 on the calling
 * one, and wait for all. If the system refuses a thread, fewer do the work. Return how many did. */
unsigned pool_run(unsigned threads, pool_work *work, void *arg);

typedef struct pool_call {
	pool_work *work; /* NULL: none */
	void *arg;
} pool_call;

/* pool_begin_with - let all workers of later calls of pool_run by this thread, except the thread
 * itself, call this first; NULL: nothing. pool_first - return it. */
void pool_begin_with(pool_work *work, void *arg);
pool_call pool_first(void);

#endif
