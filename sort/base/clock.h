/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time for measurements and short sleeps. The clock is monotonic, never the wall clock. Also
 * numbers that differ from job to job. */
#ifndef HETSORT_BASE_CLOCK_H
#define HETSORT_BASE_CLOCK_H

#include <stdint.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* clock_read_s - return the time of a clock of the system in seconds. */
static inline double clock_read_s(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* now_s - return the time in seconds since some fixed moment. */
static inline double now_s(void)
{
	return clock_read_s(CLOCK_MONOTONIC);
}

/* process_cpu_s - return the processor time of all threads of this process in seconds. */
static inline double process_cpu_s(void)
{
	return clock_read_s(CLOCK_PROCESS_CPUTIME_ID);
}

/* unique_number - return a random number. If the system provides none, make it from time and
 * process id. */
static inline uint64_t unique_number(void)
{
	uint64_t n;
	if (getrandom(&n, sizeof n, 0) != sizeof n)
		n = (uint64_t)(now_s() * 1e9) ^ (uint64_t)getpid() << 32;
	return n;
}

/* A time, and until then: the processor time of this process (user_s) and of the kernel for it, and
 * the seconds that a rank waited for others, which moment_now does not know. */
typedef struct moment {
	double at_s, user_s, system_s, waited_s;
} moment;

static inline moment moment_now(void)
{
	struct rusage u;
	moment m = { .at_s = now_s() };
	if (getrusage(RUSAGE_SELF, &u) == 0) {
		m.user_s = (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec;
		m.system_s = (double)u.ru_stime.tv_sec + 1e-6 * (double)u.ru_stime.tv_usec;
	}
	return m;
}

/* nap - sleep for a moment while waiting for others: 10 us at first, 200 us after some tries, and
 * 10 ms after a second of waiting. So a wait adds little latency, and a long one takes hardly any
 * processor time, even of many threads. The watchdog depends on it: it regards a process that uses
 * processor time as working. tries: naps before this one. */
static inline void nap(unsigned tries)
{
	const long us = tries < 8 ? 10 : tries < 32 ? 50 : tries < 4000 ? 200 : 10000;
	const struct timespec t = { 0, us * 1000 };
	nanosleep(&t, NULL);
}

#endif
