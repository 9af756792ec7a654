/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that work for a rank, and the processors that they may use. Workers take the next part of
 * their work from one atomic counter until none is left, so their number does not matter. */
#ifndef HETSORT_BASE_POOL_H
#define HETSORT_BASE_POOL_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* thread_start - start a thread like pthread_create, for the rank of the calling thread. The name
 * is for top, debuggers and the trace: static, at most 15 bytes. Return 0 or an errno. */
int thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *arg);

typedef void pool_work(void *arg, unsigned worker);

/* pool_run - call work(arg, i) on up to `threads` (>= 1) threads, i from 0 on, 0 on the calling
 * one, and wait for all. If the system refuses a thread, fewer threads work. Return how many did.
 */
unsigned pool_run(unsigned threads, pool_work *work, void *arg);

typedef struct pool_call {
	pool_work *work; /* NULL: none */
	void *arg;
} pool_call;

/* pool_begin_with - let all workers of later calls of pool_run by this thread, except the thread
 * itself, call this first; NULL: nothing. pool_first - return this call. */
void pool_begin_with(pool_work *work, void *arg);
pool_call pool_first(void);

/* Tasks 0, 1, ... that threads of unequal speed share. Each thread begins with an equal range of
 * them and does it in order. When it has none left, it takes the second half of another thread's
 * range. */
typedef struct ranges {
	_Atomic uint64_t *of; /* [threads], lent: the tasks that each has still to do. The first
			       * task is in the upper half, the end in the lower half */
	unsigned threads;
} ranges;

/* ranges_share - give each thread an equal part of `tasks`, below 2^32. No thread may take any at
 * this moment. */
void ranges_share(const ranges *r, size_t tasks);

/* ranges_next - take the next task of a thread, or return false if no thread has any left. Each
 * task of a thread follows the one before it, unless it was taken from another thread. */
bool ranges_next(const ranges *r, unsigned thread, size_t *task);

/* spin_lock - set a flag that no other thread has set, which takes a moment. spin_unlock - clear
 * it.
 */
static inline void spin_lock(atomic_flag *busy)
{
	while (atomic_flag_test_and_set_explicit(busy, memory_order_acquire))
		(void)sched_yield();
}

static inline void spin_unlock(atomic_flag *busy)
{
	atomic_flag_clear_explicit(busy, memory_order_release);
}

/* The processors that the calling thread may use. */
typedef struct processors {
	uint32_t count;    /* usable ones; 0: not known */
	uint32_t online;   /* of the machine; 0: not known. Equal to count if count is above 1,
			    * because counting them reads a file */
	uint64_t set_hash; /* equal for threads that may use the same processors */
} processors;

processors processors_find(void);

/* processors_usable - return the number of usable processors; if it is not known, the number of the
 * machine's processors, at least 1. processors_count - return it for the calling thread. */
unsigned processors_usable(const processors *p);
unsigned processors_count(void);

#endif
