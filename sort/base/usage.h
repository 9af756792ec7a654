/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resources that a job uses: processor time, page faults, transfers and energy. */
#ifndef HETSORT_BASE_USAGE_H
#define HETSORT_BASE_USAGE_H

#include <stdint.h>

enum { USAGE_METERS = 16 };

/* The energy counters of a host: packages and their memory. They wrap around at most_uj. */
typedef struct energy_meters {
	uint32_t meters; /* 0: not readable */
	uint64_t uj[USAGE_METERS], most_uj[USAGE_METERS];
} energy_meters;

/* The resources that this process and its host have used since some fixed moment. */
typedef struct usage_moment {
	double user_s, system_s;
	uint64_t minor_faults, disk_bytes;
	energy_meters energy;
} usage_moment;

/* The difference between two moments; fixed size, sent as bytes. */
typedef struct usage {
	double user_s, system_s; /* processor time */
	uint64_t minor_faults;   /* pages of memory, mapped for the first time */
	double fault_s;          /* measured time of one such fault; 0: too few to measure it */
	uint64_t disk_bytes;     /* read from disks by file systems, or to be written by them */
	double joules;           /* of the whole host; below 0: not readable */
} usage;

/* usage_now - return the resources used so far. root: directory of the host's description, "" for
 * this machine. usage_since - return the resources used between `begun` and now. After many page
 * faults, measure the time of a fault, which takes less than a millisecond. Energy is right if no
 * counter wraps around more than once, which takes at least a quarter of an hour. */
usage_moment usage_now(const char *root);
usage usage_since(const usage_moment *begun, const char *root);

/* usage_runnable_s - return the seconds for which the calling thread has had a processor or waited
 * for one, since some fixed moment. It waits for other threads, or for its quota. Without the
 * kernel's statistics of this (/proc/thread-self/schedstat), only the time with a processor. */
double usage_runnable_s(void);

#endif
