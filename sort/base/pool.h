/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that work for a rank. Those for work in many parts: every worker takes the next part from
 * one atomic counter until none is left, so it does not matter how many workers there are. */
#ifndef HETSORT_BASE_POOL_H
#define HETSORT_BASE_POOL_H

#include <pthread.h>

/* thread_start - as pthread_create, for the rank that the calling thread belongs to. The name, of
 * at most 15 bytes and static, is what top, debuggers and the trace see. 0, or an errno. */
int thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *arg);

typedef void pool_work(void *arg, unsigned worker);

/* pool_run - work(arg, i) on up to `threads` (>= 1) threads, i from 0 on, 0 on the calling one;
 * returns when all are back. Where the system refuses a thread, fewer do the work: at least one
 * does. Returns how many did. */
unsigned pool_run(unsigned threads, pool_work *work, void *arg);

typedef struct pool_call {
	pool_work *work; /* NULL: none */
	void *arg;
} pool_call;

/* pool_begin_with - the workers of each pool_run that the calling thread does, but for the calling
 * thread itself, call this first; NULL: nothing. pool_first - what that is. */
void pool_begin_with(pool_work *work, void *arg);
pool_call pool_first(void);

#endif
