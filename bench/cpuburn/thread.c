/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Burner threads: each sits on one CPU and, in every period, uses up its share of processor time,
 * then sleeps. What it owes is counted from its start, so a late wake-up is made good in the next
 * periods and errors do not add up. Costs a wake-up a period; ends with the process. */
#include "cpuburn.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { REMEMBERED_S = 1 };

struct one {
	burner *all;
	pthread_t thread;
	int cpu;
	int error; /* of its set-up */
	_Atomic uint64_t burnt_ns;
};

struct burner {
	double period_s;
	enum how how;
	size_t started;
	_Atomic double share;
	atomic_bool stop;
	pthread_barrier_t ready;
	size_t n;
	struct one one[];
};

static const char *const how_name[] = { "any", "SCHED_FIFO", "nice -20", "no", "quota" };

/* The priority of the calling thread: 0 or an errno. Linux gives each thread its own nice value. */
static int rise(enum how how)
{
	struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };

	switch (how) {
	case HOW_FIFO:
		return pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);
	case HOW_NICE:
		return setpriority(PRIO_PROCESS, 0, -20) == 0 ? 0 : errno;
	default:
		return 0;
	}
}

static int set_up(struct one *o)
{
	struct cpus set = { 0 };
	int rc;

	cpus_add(&set, o->cpu);
	rc = pthread_setaffinity_np(pthread_self(), sizeof set, set.part);
	if (rc == 0)
		rc = rise(o->all->how);
	/* Sleeps end when they should: the default of 50 us is a twentieth of a short period. */
	if (rc == 0 && prctl(PR_SET_TIMERSLACK, 1UL) != 0)
		rc = errno;
	return rc;
}

static void sleep_until(double at_s)
{
	struct timespec t = { .tv_sec = (time_t)at_s };

	t.tv_nsec = (long)((at_s - (double)t.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void burn_until(struct one *o, double cpu_s)
{
	double now;

	do {
		for (volatile int i = 0; i < 100; i++)
			;
		now = clock_s(CLOCK_THREAD_CPUTIME_ID);
		atomic_store(&o->burnt_ns,
			     (uint64_t)(now * 1e9)); /* others read it at any moment */
	} while (now < cpu_s && !atomic_load(&o->all->stop));
}

static void burn(struct one *o)
{
	burner *b = o->all;
	const double p = b->period_s;
	double next = (floor(clock_s(CLOCK_MONOTONIC) / p) + 1) * p, owed = 0;
	double used = clock_s(CLOCK_THREAD_CPUTIME_ID);

	while (!atomic_load(&b->stop)) {
		double share, now;

		sleep_until(next);
		share = atomic_load(&b->share);
		now = clock_s(CLOCK_THREAD_CPUTIME_ID);
		/* Its own overhead counts as burnt. Who was kept away takes back at most half of
		 * what is left to others, and forgets what is owed for more than a second. */
		owed = fmin(owed + share * p - (now - used), share * fmax(2 * p, REMEMBERED_S));
		used = now;
		if (owed > 0)
			burn_until(o, now + fmin(owed, (1 + share) / 2 * p));
		for (next += p, now = clock_s(CLOCK_MONOTONIC); next <= now; next += p)
			owed += share * p;
	}
}

static void *burner_main(void *arg)
{
	struct one *o = arg;

	o->error = set_up(o);
	pthread_barrier_wait(&o->all->ready);
	/* The one who starts us looks at all errors between the two. */
	pthread_barrier_wait(&o->all->ready);
	burn(o);
	return NULL;
}

/* Lets the threads that wait at the barrier go on, and home. */
static void send_home(burner *b)
{
	atomic_store(&b->stop, true);
	for (size_t i = 0; i < b->started; i++)
		pthread_join(b->one[i].thread, NULL);
	pthread_barrier_destroy(&b->ready);
	free(b);
}

static burner *start_as(const int *cpus, size_t n, double period_s, enum how how, struct why *why)
{
	burner *b = calloc(1, sizeof *b + n * sizeof b->one[0]);
	int rc = 0;

	if (!b || pthread_barrier_init(&b->ready, NULL, (unsigned)n + 1) != 0) {
		snprintf(why->text, sizeof why->text, "no memory for %zu threads", n);
		free(b);
		return NULL;
	}
	b->period_s = period_s;
	b->how = how;
	b->n = n;
	for (; b->started < n; b->started++) {
		struct one *o = &b->one[b->started];

		o->all = b;
		o->cpu = cpus[b->started];
		rc = pthread_create(&o->thread, NULL, burner_main, o);
		if (rc != 0) { /* those at the barrier would wait for ever: the program ends */
			snprintf(why->text, sizeof why->text, "cannot start a thread: %s",
				 strerror(rc));
			return NULL;
		}
	}
	pthread_barrier_wait(&b->ready);
	for (size_t i = 0; i < n && rc == 0; i++)
		if ((rc = b->one[i].error) != 0)
			snprintf(why->text, sizeof why->text, "CPU %d, %s priority: %s",
				 b->one[i].cpu, how_name[how], strerror(rc));
	atomic_store(&b->stop, rc != 0);
	pthread_barrier_wait(&b->ready);
	if (rc == 0)
		return b;
	send_home(b);
	return NULL;
}

burner *burner_start(const int *cpus, size_t ncpus, double period_s, enum how how, struct why *why)
{
	burner *b = NULL;

	if (how != HOW_ANY)
		return start_as(cpus, ncpus, period_s, how, why);
	for (how = HOW_FIFO; !b && how <= HOW_PLAIN; how++)
		b = start_as(cpus, ncpus, period_s, how, why);
	return b;
}

enum how burner_how(const burner *b)
{
	return b->how;
}

void burner_set(burner *b, double share)
{
	atomic_store(&b->share, share);
}

double burner_burnt_s(const burner *b)
{
	double sum_s = 0;

	for (size_t i = 0; i < b->n; i++)
		sum_s += 1e-9 * (double)atomic_load(&b->one[i].burnt_ns);
	return sum_s;
}

void burner_stop(burner *b)
{
	if (b)
		send_home(b);
}
