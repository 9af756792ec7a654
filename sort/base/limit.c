/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limits of memory and processor time of this process.
 *
 * Control groups, version 1 and 2: /proc/self/cgroup names the group of the process, and
 * /proc/self/mountinfo the mount point of the hierarchy of groups. In a container, the name may be
 * the name on the host, although only the container's part of the hierarchy is mounted. Or the
 * group's directory may not exist. A walk from the group up to the mount point still finds the
 * directories that do exist.
 *
 * Swap space does not count as memory, because a sort that swaps is slower than a sort that writes
 * runs to disk. It counts for files in memory, which the kernel swaps out before it kills. */
#include "limit.h"
#include "arith.h"
#include "size.h"
#include "sysfile.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --------------------------------------------------------------------------- control groups */

typedef enum controller { CPU_V1, MEMORY_V1, ALL_V2, HIERARCHIES } controller;

/* A hierarchy of control groups as this process sees it. Texts are NULL if it is missing. */
typedef struct hierarchy {
	const char *controller; /* of version 1; NULL: version 2 */
	char *path;             /* of the process's group, as in /proc/self/cgroup */
	char *mount;            /* the mount point */
	char *top;              /* the group that is mounted there */
} hierarchy;

typedef struct hierarchies {
	const char *root;
	hierarchy h[HIERARCHIES];
} hierarchies;

typedef struct group {
	const char *root;
	bool v2;
	const char *dir;  /* below root */
	const char *name; /* below the mount point, for messages */
	bool leaf;        /* the group of this process, not one above it */
} group;

/* Called for a group, which exists only during the call. Return whether to visit those above. */
typedef bool group_visitor(void *arg, const group *g);

/* Return whether `word` is in a comma-separated list. */
static bool limit_listed(const char *list, const char *word)
{
	const size_t n = strlen(word);
	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	}
	return false;
}

/* Set the path of the group from a line "ID:CONTROLLERS:PATH" of /proc/self/cgroup. In version 2,
 * CONTROLLERS is empty. The first line for a hierarchy counts. Return false, so that all lines are
 * read. */
static bool limit_find_paths(void *hierarchies_, char *line)
{
	hierarchies *all = hierarchies_;
	char *list = strchr(line, ':');
	char *path = list ? strchr(list + 1, ':') : NULL;
	if (!path || path[1] != '/')
		return false;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	for (hierarchy *h = all->h; h < all->h + HIERARCHIES; h++)
		if (!h->path && strlen(path) < PATH_MAX &&
		    (h->controller ? limit_listed(list + 1, h->controller) : list[1] == '\0'))
			h->path = strdup(path);
	return false;
}

/* Decode \ooo, which mountinfo has for blanks and other special characters. */
static void limit_unescape(char *s)
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

/* Return the part of path below the group `top`; NULL if path is not below it. */
static const char *limit_below(const char *path, const char *top)
{
	const size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
	if (strncmp(path, top, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return strcmp(path + n, "/") == 0 ? path + n + 1 : path + n;
}

/* Divide a line into at most `most` words; return how many. */
static size_t limit_words(char *s, char **word, size_t most)
{
	char *save;
	size_t n = 0;
	for (char *p = strtok_r(s, " \n", &save); p && n < most; p = strtok_r(NULL, " \n", &save))
		word[n++] = p;
	return n;
}

/* Read a line "ID PARENT DEV TOP MOUNT ... - TYPE SOURCE OPTIONS" of /proc/self/mountinfo. Use this
 * mount for a hierarchy if it shows the process's group better than earlier mounts. Return false,
 * so that all lines are read. */
static bool limit_try_mount(void *hierarchies_, char *line)
{
	hierarchies *all = hierarchies_;
	char *left[5], *right[3], *dash = strstr(line, " - cgroup");
	if (!dash)
		return false;
	*dash = '\0';
	if (limit_words(line, left, 5) < 5 || limit_words(dash + 3, right, 3) < 3)
		return false;
	char *top = left[3], *mount = left[4];
	limit_unescape(top);
	limit_unescape(mount);
	for (hierarchy *h = all->h; h < all->h + HIERARCHIES; h++) {
		if (!h->path || strlen(top) >= PATH_MAX || strlen(mount) >= PATH_MAX ||
		    strcmp(right[0], h->controller ? "cgroup" : "cgroup2") != 0 ||
		    (h->controller && !limit_listed(right[2], h->controller)))
			continue;
		if (h->top && limit_below(h->path, h->top) &&
		    (!limit_below(h->path, top) || strlen(top) < strlen(h->top)))
			continue;
		free(h->mount);
		free(h->top);
		h->mount = strdup(mount);
		h->top = strdup(top);
	}
	return false;
}

/* Read the hierarchies of the machine below root. */
static void limit_read_hierarchies(hierarchies *all, const char *root)
{
	*all = (hierarchies){ root,
			      {
				      [CPU_V1] = { .controller = "cpu" },
				      [MEMORY_V1] = { .controller = "memory" },
			      } };
	sysfile_lines(root, "/proc/self/cgroup", limit_find_paths, all);
	sysfile_lines(root, "/proc/self/mountinfo", limit_try_mount, all);
}

/* Visit the group of the process and the visible groups above it. */
static void limit_visit_hierarchy(const hierarchies *all, const hierarchy *h, group_visitor *visit,
				  void *arg)
{
	char dir[2 * PATH_MAX];
	if (!h->mount || !h->top)
		return;
	const size_t mount_len = strcmp(h->mount, "/") == 0 ? 0 : strlen(h->mount);
	const char *rest = strstr(h->path, "/..") ? NULL : limit_below(h->path, h->top);
	char *const name = dir + mount_len;
	snprintf(dir, sizeof dir, "%.*s%s", (int)mount_len, h->mount, rest ? rest : "");
	for (group g = { all->root, !h->controller, dir, name, true };; g.leaf = false) {
		g.name = *name ? name : "/";
		if (!visit(arg, &g) || !*name)
			break;
		*strrchr(name, '/') = '\0';
	}
}

static pthread_once_t here_once = PTHREAD_ONCE_INIT;
static hierarchies here; /* of this machine; kept until the process ends */

static void limit_read_here(void)
{
	limit_read_hierarchies(&here, "");
}

/* Visit the groups of the process in version 1, for controller v1, and in version 2. Reading the
 * files that name the groups takes longer than a short sort. So the files of this machine are read
 * only once. */
static void limit_visit_groups(const char *root, controller v1, group_visitor *visit, void *arg)
{
	hierarchies other = { 0 }, *all = *root ? &other : &here;
	if (*root)
		limit_read_hierarchies(&other, root);
	else
		(void)pthread_once(&here_once, limit_read_here);
	limit_visit_hierarchy(all, &all->h[v1], visit, arg);
	limit_visit_hierarchy(all, &all->h[ALL_V2], visit, arg);
	for (hierarchy *h = all->h; *root && h < all->h + HIERARCHIES; h++) {
		free(h->path);
		free(h->mount);
		free(h->top);
	}
}

/* Return the number after key (sysfile.h) in one of the group's files, or `otherwise`. */
static uint64_t group_number(const group *g, const char *file, const char *key, uint64_t otherwise)
{
	char path[PATH_MAX];
	const int n = snprintf(path, sizeof path, "%s/%s", g->dir, file);
	if (n > 0 && (size_t)n < sizeof path)
		(void)sysfile_number(g->root, path, key, &otherwise);
	return otherwise;
}

/* ------------------------------------------------------------------------------- processors */

/* Replace the quota by the quota of group g if this is tighter. Files contain microseconds: in
 * version 2 one file has "QUOTA PERIOD", in version 1 each number has a file. Without a quota they
 * contain "max" or -1. Return true, so that all groups are visited. */
static bool quota_tighten(void *quota_, const group *g)
{
	quota *q = quota_;
	char quota_text[24], dir[2 * PATH_MAX];
	struct stat s;
	const bool v2 = g->v2;
	const uint64_t us = group_number(g, v2 ? "cpu.max" : "cpu.cfs_quota_us", "", 0);
	if (us == 0)
		return true;
	snprintf(quota_text, sizeof quota_text, "%" PRIu64, us);
	const uint64_t period_us = v2 ? group_number(g, "cpu.max", quota_text, 0)
				      : group_number(g, "cpu.cfs_period_us", "", 0);
	const double cpus = period_us ? (double)us / (double)period_us : 0;
	if (!(cpus > 0) || (q->cpus > 0 && q->cpus <= cpus))
		return true;
	const int n = snprintf(dir, sizeof dir, "%s%s", g->root, g->dir);
	if (n > 0 && (size_t)n < sizeof dir && stat(dir, &s) == 0)
		*q = (quota){ cpus, s.st_ino, 1e-6 * (double)period_us };
	return true;
}

quota quota_find(const char *root)
{
	quota q = { 0, 0, 0 };
	limit_visit_groups(root, CPU_V1, quota_tighten, &q);
	return q;
}

double quota_processors(const quota *q, double all, unsigned ranks)
{
	return (q->cpus > 0 && q->cpus < all ? q->cpus : all) / ranks;
}

/* ----------------------------------------------------------------------------------- memory */

enum { PERCENT_IN_ALL = 100 };

status memory_limit_parse(const char *text, memory_wish *w, err *e)
{
	const char *p = text, *why = NULL;
	uint64_t whole;
	uint32_t millionths;
	*w = (memory_wish){ 0, 0 };
	if (size_number(&p, &whole, &millionths) && strcmp(p, "%") == 0) {
		if (whole > PERCENT_IN_ALL || (whole == PERCENT_IN_ALL && millionths) ||
		    (whole == 0 && millionths == 0))
			why = "a percentage must be above 0 and at most 100";
		else
			w->micropercent = (uint32_t)whole * SIZE_MILLION + millionths;
	} else {
		why = size_parse(text, &w->bytes);
		if (!why && !w->bytes)
			why = "it must be above zero";
	}
	return why ? err_set(e, ST_REFUSED, "%s is neither a size nor a percentage of memory: %s",
			     quoted(text), why)
		   : ST_OK;
}

enum { TOTAL, AVAILABLE, SWAP, AMOUNTS };

typedef struct search {
	const memory_limit_query *q;
	memory_limit *l;
	bool has_wish;
	uint64_t capacity_bytes;       /* of the node, in use or not */
	sysfile_entry memory[AMOUNTS]; /* of the machine, in KiB */
} search;

/* A limit, and the bytes below it that are in use and cannot be reclaimed. */
typedef struct limit {
	enum { OF_NODE, OF_PROCESS, OF_WISH } of;
	const char *kind;  /* "cgroup memory.max" */
	const char *where; /* which group; NULL if kind says it all */
	uint64_t bytes, used_bytes;
	uint64_t swap_bytes; /* of OF_NODE: free swap space that its memory may use */
} limit;

/* Append the limit, without the bytes in use, to a text. */
static void limit_name(const limit *m, char text[LIMIT_TEXT_BYTES])
{
	char bytes[SIZE_TEXT_BYTES], used[SIZE_TEXT_BYTES];
	snprintf(text, LIMIT_TEXT_BYTES, "%s%s%s: %s", m->kind, m->where ? " of " : "",
		 m->where ? quoted(m->where) : "", size_text(m->bytes, bytes));
	if (m->used_bytes)
		text_append(text, LIMIT_TEXT_BYTES, " less %s in use",
			    size_text(m->used_bytes, used));
}

/* Keep the limit, with a text that explains it, if it leaves a rank less than earlier limits do. */
static void limit_offer(search *s, const limit *m)
{
	memory_limit *l = s->l;
	const unsigned ranks = m->of == OF_PROCESS ? s->q->process_ranks : s->q->node_ranks;
	const uint64_t left = m->bytes > m->used_bytes ? m->bytes - m->used_bytes : 0;
	const uint64_t ours = s->has_wish ? left : left / LIMIT_OF_PARTS * LIMIT_PARTS;
	if (m->of == OF_NODE)
		s->capacity_bytes = u64_min(s->capacity_bytes, m->bytes);
	if (m->of != OF_WISH)
		l->most_bytes = u64_min(l->most_bytes, left / ranks);
	const uint64_t all = left + u64_min(m->swap_bytes, UINT64_MAX - left);
	if (m->of == OF_NODE && all / ranks < l->left_bytes) {
		l->left_bytes = all / ranks;
		limit_name(m, l->left_text);
	}
	if (ours / ranks >= l->rank_bytes)
		return;
	l->rank_bytes = ours / ranks;
	limit_name(m, l->text);
	if (!s->has_wish)
		text_append(l->text, sizeof l->text, ", %d/%d of it", LIMIT_PARTS, LIMIT_OF_PARTS);
	if (ranks > 1)
		text_append(l->text, sizeof l->text, ", for %u ranks", ranks);
}

/* Convert a number of KiB to bytes. Return false if the number was not found or is too large. */
static bool limit_kilobytes(const sysfile_entry *x, uint64_t *bytes)
{
	return x->found && !__builtin_mul_overflow(x->number, UINT64_C(1024), bytes);
}

/* Offer the limit after key in one of the group's files. Clean page cache and reclaimable slabs do
 * not count as used, because the kernel reclaims them before it kills a process. Reading these
 * numbers takes time, because the kernel adds them up over all processors. So read them only if a
 * limit is set. */
static void limit_offer_of_group(search *s, const group *g, const char *file, const char *key)
{
	enum { NO_LIMIT_BITS = 60, CLEAN = 3 }; /* in version 1 a number near 2^63 means no limit */
	static const char *const clean[][CLEAN] = { { "total_active_file", "total_inactive_file" },
						    { "active_file", "inactive_file",
						      "slab_reclaimable" } };
	char kind[64];
	uint64_t swap = 0;
	const uint64_t bytes = group_number(g, file, key, UINT64_MAX);
	if (bytes >> NO_LIMIT_BITS)
		return;
	uint64_t used = group_number(g, g->v2 ? "memory.current" : "memory.usage_in_bytes", "", 0);
	for (int i = 0; i < CLEAN && clean[g->v2][i]; i++)
		used -= u64_min(used, group_number(g, "memory.stat", clean[g->v2][i], 0));
	snprintf(kind, sizeof kind, "cgroup %s", *key ? key : file);
	if (limit_kilobytes(&s->memory[SWAP], &swap) && swap) {
		const uint64_t most =
			g->v2 ? group_number(g, "memory.swap.max", "", UINT64_MAX)
			      : group_number(g, "memory.memsw.limit_in_bytes", "", UINT64_MAX);
		const uint64_t has = g->v2 ? group_number(g, "memory.swap.current", "", 0) : bytes;
		swap = u64_min(swap, most - u64_min(most, has));
	}
	limit_offer(s, &(limit){ OF_NODE, kind, g->name, bytes, used, swap });
}

static bool limit_offer_group(void *search_, const group *g)
{
	search *s = search_;
	if (g->v2) {
		limit_offer_of_group(s, g, "memory.max", "");
		/* above this limit the kernel slows the group down, until it makes no progress */
		limit_offer_of_group(s, g, "memory.high", "");
		return true;
	}
	/* a group of an old hierarchy may not include the memory of groups below it */
	if (!g->leaf && group_number(g, "memory.use_hierarchy", "", 1) == 0)
		return false;
	limit_offer_of_group(s, g, "memory.limit_in_bytes", "");
	if (g->leaf) /* counts limits of groups above the mount point, but not their memory */
		limit_offer_of_group(s, g, "memory.stat", "hierarchical_memory_limit");
	return true;
}

/* Offer the limits of the machine and of the process. */
static void limit_offer_others(search *s)
{
	static const char *const name[] = { "address space (RLIMIT_AS)", "data (RLIMIT_DATA)" };
	sysfile_entry most[] = { { .key = "Max address space" }, { .key = "Max data size" } };
	sysfile_entry used[] = { { .key = "VmSize" }, { .key = "VmData" } };
	uint64_t total, available, swap = 0;
	if (limit_kilobytes(&s->memory[TOTAL], &total)) {
		/* kernels before 3.14 have no MemAvailable */
		if (!limit_kilobytes(&s->memory[AVAILABLE], &available) || available > total)
			available = total;
		(void)limit_kilobytes(&s->memory[SWAP], &swap);
		limit_offer(s, &(limit){ OF_NODE, "memory of the machine", NULL, total,
					 total - available, swap });
	}
	sysfile_numbers(s->q->root, "/proc/self/limits", most, 2);
	if (most[0].found || most[1].found)
		sysfile_numbers(s->q->root, "/proc/self/status", used, 2);
	for (int i = 0; i < 2; i++) {
		uint64_t bytes = 0;
		(void)limit_kilobytes(&used[i], &bytes);
		if (most[i].found)
			limit_offer(
				s, &(limit){ OF_PROCESS, name[i], NULL, most[i].number, bytes, 0 });
	}
}

status memory_limit_find(const memory_limit_query *q, memory_limit *l, err *e)
{
	const memory_wish *w = &q->wish;
	const uint64_t all = (uint64_t)PERCENT_IN_ALL * SIZE_MILLION;
	search s = { .q = q,
		     .l = l,
		     .has_wish = w->bytes || w->micropercent,
		     .capacity_bytes = UINT64_MAX,
		     .memory = { [TOTAL] = { .key = "MemTotal" },
				 [AVAILABLE] = { .key = "MemAvailable" },
				 [SWAP] = { .key = "SwapFree" } } };
	*l = (memory_limit){ .rank_bytes = UINT64_MAX,
			     .most_bytes = UINT64_MAX,
			     .text = "no limit of memory is known",
			     .left_bytes = UINT64_MAX,
			     .left_text = "no limit of memory is known" };
	if (!q->wish_only || w->micropercent) {
		sysfile_numbers(q->root, "/proc/meminfo", s.memory, AMOUNTS);
		limit_visit_groups(q->root, MEMORY_V1, limit_offer_group, &s);
		limit_offer_others(&s);
	}
	uint64_t bytes = w->bytes;
	if (w->micropercent && s.capacity_bytes == UINT64_MAX)
		return err_set(e, ST_REFUSED,
			       "a percentage of memory needs a known amount of memory, which the "
			       "system does not report; use a size, as in --memory=4G");
	if (w->micropercent) /* in two steps, as the product does not fit */
		bytes = s.capacity_bytes / all * w->micropercent +
			s.capacity_bytes % all * w->micropercent / all;
	if (s.has_wish)
		limit_offer(&s, &(limit){ OF_WISH, "--memory", NULL, bytes, 0, 0 });
	return ST_OK;
}
