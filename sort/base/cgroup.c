/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The control groups of this process, version 1 and 2: their limits of memory, and their quotas of
 * processor time.
 *
 * The way goes from /proc/self/cgroup (which group) and /proc/self/mountinfo (where it can be seen)
 * to the directories with limits. In a container the group may be named as the host sees it while
 * only its own part is mounted, or by a path that does not exist: the walk up to the mount point
 * then finds what there is. Reads some files of /proc and /sys, once a run. */
#include "cgroup.h"
#include "sysfile.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A group. */
typedef struct cgroup_level {
	const char *root, *dir; /* its directory, below root */
	const char *name;       /* below the mount point, as messages have it */
	bool v2, leaf;          /* leaf: it is this process's own */
} cgroup_level;

/* Called for a group, which lives as long as the call. False: not those above it. */
typedef bool cgroup_visitor(void *arg, const cgroup_level *l);

typedef struct hierarchy {
	bool v2;
	const char *controller;
	char path[PATH_MAX];  /* of the group, as /proc/self/cgroup has it */
	char mount[PATH_MAX]; /* where its hierarchy is mounted, empty if it is not */
	char top[PATH_MAX];   /* the group that is seen at the mount point */
	bool fits;            /* path lies below top */
} hierarchy;

static bool keep(char to[PATH_MAX], const char *from)
{
	const size_t n = strlen(from);
	if (n < PATH_MAX)
		memcpy(to, from, n + 1);
	return n < PATH_MAX;
}

/* Is `word` one of a list with commas? */
static bool listed(const char *list, const char *word)
{
	const size_t n = strlen(word);
	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	}
	return false;
}

/* The group of the hierarchy: a line "ID:CONTROLLERS:PATH", without controllers in version 2. */
static bool find_path(const char *root, hierarchy *h)
{
	FILE *f = sysfile_open(root, "/proc/self/cgroup");
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	while (f && !found && getline(&line, &size, f) > 0) {
		char *list = strchr(line, ':');
		char *path = list ? strchr(list + 1, ':') : NULL;
		if (!path || path[1] != '/')
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		found = (h->v2 ? list[1] == '\0' : listed(list + 1, h->controller)) &&
			keep(h->path, path);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* mountinfo writes blanks and the like as \ooo. */
static void unescape(char *s)
{
	char *to = s;
	for (; *s; s++, to++) {
		*to = *s;
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		}
	}
	*to = '\0';
}

/* What of path is below the group `top`, NULL if it is not. */
static const char *below(const char *path, const char *top)
{
	const size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
	if (strncmp(path, top, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return strcmp(path + n, "/") == 0 ? path + n + 1 : path + n;
}

/* The words of a line, at most `most`; returns how many. */
static size_t split(char *s, char **word, size_t most)
{
	char *save;
	size_t n = 0;
	for (char *p = strtok_r(s, " \n", &save); p && n < most; p = strtok_r(NULL, " \n", &save))
		word[n++] = p;
	return n;
}

/* "ID PARENT DEV TOP MOUNT ... - TYPE SOURCE OPTIONS": is it of this hierarchy, and a better view
 * of the group than the one before? */
static void try_mount(char *line, hierarchy *h)
{
	char *left[5], *right[3], *dash = strstr(line, " - ");
	if (!dash)
		return;
	*dash = '\0';
	if (split(line, left, 5) < 5 || split(dash + 3, right, 3) < 3 ||
	    strcmp(right[0], h->v2 ? "cgroup2" : "cgroup") != 0 ||
	    (!h->v2 && !listed(right[2], h->controller)))
		return;
	char *top = left[3], *mount = left[4];
	unescape(top);
	unescape(mount);
	const bool fits = below(h->path, top) != NULL;
	if (fits < h->fits || (fits && h->fits && strlen(top) < strlen(h->top)))
		return;
	if (strlen(top) < PATH_MAX && keep(h->mount, mount) && keep(h->top, top))
		h->fits = fits;
}

static bool find_mount(const char *root, hierarchy *h)
{
	FILE *f = sysfile_open(root, "/proc/self/mountinfo");
	char *line = NULL;
	size_t size = 0;
	h->mount[0] = h->top[0] = '\0';
	h->fits = false;
	while (f && getline(&line, &size, f) > 0)
		try_mount(line, h);
	free(line);
	if (f)
		fclose(f);
	return h->mount[0] != '\0';
}

/* Return the number after key (sysfile.h) in one of the group's files, or `otherwise`. */
static uint64_t cgroup_value(const cgroup_level *l, const char *file, const char *key,
			     uint64_t otherwise)
{
	char path[PATH_MAX];
	const int n = snprintf(path, sizeof path, "%s/%s", l->dir, file);
	if (n > 0 && (size_t)n < sizeof path)
		(void)sysfile_number(l->root, path, key, &otherwise);
	return otherwise;
}

/* From the group up to the mount point. */
static void walk_up(const char *root, const hierarchy *h, cgroup_visitor *visit, void *arg)
{
	char dir[2 * PATH_MAX];
	const size_t mount_len = strcmp(h->mount, "/") == 0 ? 0 : strlen(h->mount);
	const char *rest = h->fits && !strstr(h->path, "/..") ? below(h->path, h->top) : "";
	snprintf(dir, sizeof dir, "%.*s%s", (int)mount_len, h->mount, rest);
	for (bool leaf = true;; leaf = false) {
		const char *name = dir[mount_len] ? dir + mount_len : "/";
		if (!visit(arg, &(cgroup_level){ root, dir, name, h->v2, leaf }) || !dir[mount_len])
			break;
		*strrchr(dir + mount_len, '/') = '\0';
	}
}

/* Visit the group and all groups above it that can be seen, in each hierarchy that may have the
 * controller ("memory"). */
static void cgroup_walk(const char *root, const char *controller, cgroup_visitor *visit, void *arg)
{
	for (int v2 = 0; v2 < 2; v2++) {
		hierarchy h = { .v2 = v2, .controller = controller };
		if (find_path(root, &h) && find_mount(root, &h))
			walk_up(root, &h, visit, arg);
	}
}

/* ---------------------------------------------------------------------------------- memory */

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

/* The limit after key in one of the group's files. Where there is none, nobody asks what is used of
 * it. */
static void tell(const listener *to, const cgroup_level *l, const char *kind, const char *file,
		 const char *key)
{
	const uint64_t limit_bytes = cgroup_value(l, file, key, UINT64_MAX);
	if (limit_bytes >> NO_LIMIT_BITS == 0)
		to->found(to->arg, &(cgroup_memory){ kind, l->name, limit_bytes, used_bytes(l) });
}

static bool visit(void *listener_, const cgroup_level *l)
{
	const listener *to = listener_;
	if (l->v2) {
		tell(to, l, "cgroup memory.max", "memory.max", "");
		/* beyond it the group is slowed down until it makes no progress */
		tell(to, l, "cgroup memory.high", "memory.high", "");
		return true;
	}
	/* old hierarchies may not charge their children's memory */
	if (!l->leaf && cgroup_value(l, "memory.use_hierarchy", "", 1) == 0)
		return false;
	tell(to, l, "cgroup memory.limit_in_bytes", "memory.limit_in_bytes", "");
	if (l->leaf) /* tells of groups above the mount point as well, though not what they use */
		tell(to, l, "cgroup hierarchical_memory_limit", "memory.stat",
		     "hierarchical_memory_limit");
	return true;
}

void cgroup_memory_find(const char *root, cgroup_memory_found *found, void *arg)
{
	cgroup_walk(root, "memory", visit, &(listener){ found, arg });
}

/* ------------------------------------------------------------------------------ processors */

/* In microseconds: version 2 has "QUOTA PERIOD" in one line, version 1 files for each; without a
 * quota they say "max" and -1. */
static double cpus_of(const cgroup_level *l)
{
	char said[24];
	const uint64_t us = l->v2 ? cgroup_value(l, "cpu.max", "", 0)
				  : cgroup_value(l, "cpu.cfs_quota_us", "", 0);
	snprintf(said, sizeof said, "%" PRIu64, us);
	const uint64_t period_us = l->v2 ? cgroup_value(l, "cpu.max", said, 0)
					 : cgroup_value(l, "cpu.cfs_period_us", "", 0);
	return period_us ? (double)us / (double)period_us : 0;
}

static bool tighten(void *found, const cgroup_level *l)
{
	quota *q = found;
	const double cpus = cpus_of(l);
	char dir[2 * PATH_MAX];
	struct stat s;
	if (!(cpus > 0) || (q->cpus > 0 && q->cpus <= cpus))
		return true;
	const int n = snprintf(dir, sizeof dir, "%s%s", l->root, l->dir);
	if (n > 0 && (size_t)n < sizeof dir && stat(dir, &s) == 0)
		*q = (quota){ cpus, s.st_ino, cgroup_value(l, "cpu.stat", "nr_throttled", 0) };
	return true;
}

quota quota_find(const char *root)
{
	quota q = { 0, 0, 0 };
	cgroup_walk(root, "cpu", tighten, &q);
	return q;
}

double quota_processors(const quota *q, double all, unsigned ranks)
{
	return (q->cpus > 0 && q->cpus < all ? q->cpus : all) / ranks;
}
