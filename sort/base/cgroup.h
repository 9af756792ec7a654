/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the control groups of this process leave of the memory and of the processors. */
#ifndef HETSORT_BASE_CGROUP_H
#define HETSORT_BASE_CGROUP_H

#include <stdint.h>

/* A limit, and what is in use below it and cannot be reclaimed. */
typedef struct cgroup_memory {
	const char *kind;  /* "cgroup memory.max" */
	const char *where; /* whose; NULL where the kind says all */
	uint64_t limit_bytes, used_bytes;
} cgroup_memory;

/* Called for each limit found; r lives as long as the call. */
typedef void cgroup_memory_found(void *arg, const cgroup_memory *r);

/* cgroup_memory_find - the limits of the group and of all groups above it that can be seen, looked
 * up below root ("" for this machine). What is missing or cannot be understood does not limit.
 * Clean page cache and reclaimable slabs count as free: the kernel takes them before it kills. */
void cgroup_memory_find(const char *root, cgroup_memory_found *found, void *arg);

/* The tightest quota of processor time, of the group and of those above it. A quota lets a group
 * run at full speed until it is used up and then wait for the next period, so a short measurement
 * does not show the speed of a long run. */
typedef struct quota {
	double cpus;        /* for all in the group together; 0: there is none */
	uint64_t group;     /* whose: the same for all its processes on this machine */
	uint64_t throttled; /* periods in which the group had to wait, so far */
} quota;

/* quota_find - looked up below root ("" for this machine). What is missing or cannot be understood
 * is no quota. */
quota quota_find(const char *root);

/* quota_processors - of `all` processors, how many each of `ranks` that share them has in a long
 * run. */
double quota_processors(const quota *q, double all, unsigned ranks);

#endif
