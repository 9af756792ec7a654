/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limits of memory, and what is used, of one control group after the other. */
#include "cgroup_memory.h"
#include "cgroup.h"

enum { NO_LIMIT_BITS = 60 }; /* version 1 says "none" by a number near 2^63 */

/* The function to call for each limit. */
typedef struct listener {
	cgroup_memory_found *found;
	void *arg;
} listener;

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The kernel adds this up when it is read, over all processors. */
static uint64_t used_bytes(const cgroup_level *l)
{
	if (!l->v2)
		return less(cgroup_value(l, "memory.usage_in_bytes", "", 0),
			    cgroup_value(l, "memory.stat", "total_active_file", 0) +
				    cgroup_value(l, "memory.stat", "total_inactive_file", 0));
	return less(cgroup_value(l, "memory.current", "", 0),
		    cgroup_value(l, "memory.stat", "active_file", 0) +
			    cgroup_value(l, "memory.stat", "inactive_file", 0) +
			    cgroup_value(l, "memory.stat", "slab_reclaimable", 0));
}

/* Where there is no limit, nobody asks what is used of it. */
static void tell(const listener *to, const cgroup_level *l, const char *kind, uint64_t limit_bytes)
{
	if (limit_bytes >> NO_LIMIT_BITS == 0)
		to->found(to->arg, &(cgroup_memory){ kind, l->name, limit_bytes, used_bytes(l) });
}

static void tell_v2(const listener *to, const cgroup_level *l)
{
	tell(to, l, "cgroup memory.max", cgroup_value(l, "memory.max", "", UINT64_MAX));
	/* beyond it the group is slowed down until it makes no progress */
	tell(to, l, "cgroup memory.high", cgroup_value(l, "memory.high", "", UINT64_MAX));
}

static void tell_v1(const listener *to, const cgroup_level *l)
{
	tell(to, l, "cgroup memory.limit_in_bytes",
	     cgroup_value(l, "memory.limit_in_bytes", "", UINT64_MAX));
	if (l->leaf) /* tells of groups above the mount point as well, though not what they use */
		tell(to, l, "cgroup hierarchical_memory_limit",
		     cgroup_value(l, "memory.stat", "hierarchical_memory_limit", UINT64_MAX));
}

static bool visit(void *arg, const cgroup_level *l)
{
	/* old hierarchies may not charge their children's memory */
	if (!l->v2 && !l->leaf && cgroup_value(l, "memory.use_hierarchy", "", 1) == 0)
		return false;
	if (l->v2)
		tell_v2(arg, l);
	else
		tell_v1(arg, l);
	return true;
}

void cgroup_memory_find(const char *root, cgroup_memory_found *found, void *arg)
{
	cgroup_walk(root, "memory", visit, &(listener){ found, arg });
}
