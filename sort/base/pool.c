/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Start and join threads, share tasks among them, and count processors. */
#include "pool.h"
#include "progress.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The arguments of a new thread. From its starter it inherits the rank that it counts for, and the
 * trace that it records in. */
typedef struct pool_birth {
	const char *name;
	void *(*work)(void *);
	void *arg;
	rank_progress *counts;
	trace *trace;
} pool_birth;

static void *pool_live(void *birth)
{
	const pool_birth b = *(pool_birth *)birth;
	free(birth);
	(void)pthread_setname_np(pthread_self(), b.name);
	progress_join(b.counts);
	trace_thread(b.trace, b.name);
	void *out = b.work(b.arg);
	trace_thread(NULL, NULL);
	return out;
}

int thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *arg)
{
	pool_birth *b = malloc(sizeof *b);
	if (!b)
		return EAGAIN;
	*b = (pool_birth){ name, work, arg, progress_mine(), trace_mine() };
	const int rc = pthread_create(thread, NULL, pool_live, b);
	if (rc != 0)
		free(b);
	return rc;
}

typedef struct pool_worker {
	pthread_t thread;
	pool_call first, then;
	unsigned index;
} pool_worker;

static void *pool_work_as(void *worker)
{
	const pool_worker *w = worker;
	if (w->first.work)
		w->first.work(w->first.arg, w->index);
	w->then.work(w->then.arg, w->index);
	return NULL;
}

unsigned pool_run(unsigned threads, pool_work *work, void *arg)
{
	pool_worker *w = threads > 1 ? calloc(threads, sizeof *w) : NULL;
	const pool_call first = pool_first();
	unsigned up = 1;
	for (; w && up < threads; up++) {
		w[up] = (pool_worker){ .first = first, .then = { work, arg }, .index = up };
		if (thread_start(&w[up].thread, "worker", pool_work_as, &w[up]) != 0)
			break;
	}
	work(arg, 0);
	for (unsigned i = 1; i < up; i++)
		pthread_join(w[i].thread, NULL);
	free(w);
	return up;
}

/* ---------------------------------------------------------------------------------- ranges
 *
 * A range is one word, so that its thread can take a task, and another thread the second half, by
 * compare and swap. */

static uint64_t range_of(uint64_t first, uint64_t end)
{
	return first << 32 | end;
}

void ranges_share(const ranges *r, size_t tasks)
{
	for (unsigned i = 0; i < r->threads; i++)
		r->of[i] = range_of(tasks * i / r->threads, tasks * (i + 1) / r->threads);
}

/* Move the second half of the longest range to this thread; return false if all are empty. */
static bool ranges_steal(const ranges *r, unsigned thread)
{
	for (;;) {
		uint64_t most = 0, was = 0;
		unsigned from = thread;
		for (unsigned i = 0; i < r->threads; i++) {
			const uint64_t x = r->of[i], n = (uint32_t)x - (x >> 32);
			if (n > most) {
				most = n;
				was = x;
				from = i;
			}
		}
		if (most == 0)
			return false;
		const uint64_t end = (uint32_t)was, mid = end - (most + 1) / 2;
		if (atomic_compare_exchange_strong(&r->of[from], &was, range_of(was >> 32, mid))) {
			r->of[thread] = range_of(mid, end);
			return true;
		}
	}
}

bool ranges_next(const ranges *r, unsigned thread, size_t *task)
{
	do {
		uint64_t x = r->of[thread];
		while (x >> 32 < (uint32_t)x)
			if (atomic_compare_exchange_weak(&r->of[thread], &x,
							 range_of((x >> 32) + 1, (uint32_t)x))) {
				*task = x >> 32;
				return true;
			}
	} while (ranges_steal(r, thread));
	return false;
}

/* ------------------------------------------------------------------------------ processors */

/* Some machines have more processors than a cpu_set_t holds. The kernel refuses a set that is
 * smaller than its own, so the set grows until the kernel accepts it. */
processors processors_find(void)
{
	enum { FIRST_CPUS = 1024, MOST_CPUS = 1 << 20 };
	processors p = { .count = 0 };
	for (size_t cpus = FIRST_CPUS; cpus <= MOST_CPUS; cpus *= 2) {
		const size_t bytes = CPU_ALLOC_SIZE(cpus);
		cpu_set_t *set = CPU_ALLOC(cpus);
		const int failed = set ? sched_getaffinity(0, bytes, set) ? errno : 0 : ENOMEM;
		if (!failed) {
			p.count = (uint32_t)CPU_COUNT_S(bytes, set);
			p.set_hash = XXH3_64bits(set, bytes);
		}
		CPU_FREE(set);
		if (failed != EINVAL)
			break;
	}
	const long online = p.count > 1 ? p.count : sysconf(_SC_NPROCESSORS_ONLN);
	p.online = online > 0 ? (uint32_t)online : 0;
	return p;
}

unsigned processors_usable(const processors *p)
{
	return p->count ? p->count : p->online ? p->online : 1;
}

unsigned processors_count(void)
{
	const processors p = processors_find();
	return processors_usable(&p);
}
