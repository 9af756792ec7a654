/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel refuses a set that is smaller than its own, so the set grows until the kernel takes
 * it: some machines have more processors than a cpu_set_t holds. */
#include "processors.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_CPUS = 1024, MOST_CPUS = 1 << 20 };

processors processors_find(void)
{
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
