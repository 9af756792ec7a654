/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the control groups of this process leave of the memory. */
#ifndef HETSORT_BASE_CGROUP_MEMORY_H
#define HETSORT_BASE_CGROUP_MEMORY_H

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

#endif
