/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that work for a rank, and the processors that they may use. Workers take the next part of
 * their work from an atomic counter until none is left, so any number of workers will do. */
#ifndef HETSORT_BASE_POOL_H
#define HETSORT_BASE_POOL_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* thread_start - start a thread like pthread_create. It works for the rank of the calling thread.
 * Its name, for top, debuggers and the trace, is static and has at most 15 bytes. Return 0 or an
 * errno. */
int thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *arg);

typedef void pool_work(void *arg, unsigned worker);

/* pool_run - call work(arg, i) on up to `threads` (>= 1) threads, and wait for all. The calling
 * thread has i = 0, the others have 1, 2, ... If the system refuses a thread, fewer threads work.
 * Return how many did. */
unsigned pool_run(unsigned threads, pool_work *work, void *arg);

typedef struct pool_call {
	pool_work *work; /* NULL: none */
	void *arg;
} pool_call;

/* pool_begin_with - let each worker that the calling thread starts later by pool_run call this
 * first; NULL: nothing. pool_first - return this call. */
void pool_begin_with(pool_work *work, void *arg);
pool_call pool_first(void);

/* Tasks 0, 1, ... that threads of unequal speed share. Each thread begins with an equal range of
 * tasks and executes them in order. A thread that has no task left takes the second half of another
 * thread's range. */
typedef struct ranges {
	_Atomic uint64_t *of; /* [threads], the caller's: remaining ranges, first << 32 | end */
	unsigned threads;
} ranges;

/* ranges_share - give each thread an equal part of `tasks` tasks, below 2^32. No thread may take
 * tasks during this call. */
void ranges_share(const ranges *r, size_t tasks);

/* ranges_next - take the next task of a thread, or return false if no thread has tasks left. The
 * tasks of a thread are consecutive, except where it takes a range from another thread. */
bool ranges_next(const ranges *r, unsigned thread, size_t *task);

/* spin_lock - wait until the flag is clear and set it; for locks that are held only for a moment.
 * spin_unlock - clear the flag. */
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
	uint32_t count;  /* usable processors; 0: not known */
	uint32_t online; /* of the machine; 0: not known. If count is above 1, set to count, because
			    counting reads a file */
	uint64_t set_hash; /* equal for threads that may use the same processors */
} processors;

processors processors_find(void);

/* processors_usable - return the number of usable processors. If it is not known, return the number
 * of the machine's processors, or 1. processors_count - do the same for the calling thread. */
unsigned processors_usable(const processors *p);
unsigned processors_count(void);

#endif
