/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time for measuring and napping: monotonic, never the wall clock. */
#ifndef HETSORT_BASE_CLOCK_H
#define HETSORT_BASE_CLOCK_H

#include <sys/resource.h>
#include <time.h>

static inline double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time, and the processor time of this process until then: its own and the system's. */
typedef struct moment {
	double at_s, user_s, system_s;
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

/* nap - sleep while waiting for others: short at first, then up to 200 us, so that a wait neither
 * spins (a throttled host's CPU is precious) nor adds much latency. tries counts naps in a row. */
static inline void nap(unsigned tries)
{
	const struct timespec t = { 0, tries < 8 ? 10000 : tries < 32 ? 50000 : 200000 };
	nanosleep(&t, NULL);
}

#endif
