/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the control groups of this process leave of the memory. */
#ifndef HETSORT_HEADROOM_H
#define HETSORT_HEADROOM_H

#include <stdint.h>

/* A limit, and what is in use below it and cannot be reclaimed. */
typedef struct headroom {
	const char *kind;  /* "cgroup memory.max" */
	const char *where; /* whose; NULL where the kind says all */
	uint64_t limit_bytes, used_bytes;
} headroom;

/* Called for each limit found; the room lives as long as the call. */
typedef void headroom_found(void *arg, const headroom *r);

/* headroom_find - the limits of the group and of all groups above it that can be seen, looked up
 * below root ("" for this machine). What is missing or cannot be understood does not limit. Clean
 * page cache and reclaimable slabs count as free, as the kernel takes them before it kills. */
void headroom_find(const char *root, headroom_found *found, void *arg);

#endif
