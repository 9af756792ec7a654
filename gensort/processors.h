/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many threads fit this process. The kernel refuses a set that is smaller than its own, so the
 * set grows until it is taken: there are machines with more processors than a cpu_set_t holds. */
#ifndef PROCESSORS_H
#define PROCESSORS_H

#include <errno.h>
#include <sched.h>
#include <stddef.h>

enum { FIRST_CPUS = 1024, MOST_CPUS = 1 << 20 };

/* processors_count - how many processors the caller may run on; 1 if nobody can tell. */
static inline unsigned processors_count(void)
{
	int count = 0, err = EINVAL;

	for (size_t cpus = FIRST_CPUS; cpus <= MOST_CPUS && err == EINVAL; cpus *= 2) {
		const size_t bytes = CPU_ALLOC_SIZE(cpus);
		cpu_set_t *set = CPU_ALLOC(cpus);

		err = !set ? ENOMEM : sched_getaffinity(0, bytes, set) != 0 ? errno : 0;
		if (err == 0)
			count = CPU_COUNT_S(bytes, set);
		CPU_FREE(set);
	}
	return count > 0 ? (unsigned)count : 1;
}

#endif
