/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The control groups of this process, version 1 and 2. */
#ifndef HETSORT_BASE_CGROUP_H
#define HETSORT_BASE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* A group. */
typedef struct cgroup_level {
	const char *root, *dir; /* its directory, below root */
	const char *name;       /* below the mount point, as messages have it */
	bool v2, leaf;          /* leaf: it is this process's own */
} cgroup_level;

/* Called for a group, which lives as long as the call. False: not those above it. */
typedef bool cgroup_visitor(void *arg, const cgroup_level *l);

/* cgroup_walk - the group and all groups above it that can be seen, in each hierarchy that may have
 * the controller ("memory"), looked up below root ("" for this machine). */
void cgroup_walk(const char *root, const char *controller, cgroup_visitor *visit, void *arg);

/* cgroup_value - the number after key (sysfile.h) in one of the group's files, or `otherwise`. */
uint64_t cgroup_value(const cgroup_level *l, const char *file, const char *key, uint64_t otherwise);

#endif
