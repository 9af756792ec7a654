/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File names cannot be trusted: links, mounts and directories give one file several names. So files
 * are compared by device and inode. Files that do not exist yet are compared by the device and
 * inode of their directory and by their names. These numbers cannot be compared between hosts; jobs
 * on several hosts are protected by the lock of the output. Changes no file. Costs a few system
 * calls and 250 bytes of memory per use. */
#include "registry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The use of a file; uses of one file are sorted in this order. OWN: the file is written in place,
 * or read and replaced. MADE: its name is made in a directory. */
enum how { NOTHING, READ, REPLACED, OWN, MADE };

static const char HIDDEN[] = ".hetsort-";

/* Add a use, and return it; NULL without memory. */
static file_use *registry_add(registry *g, enum how how, file_role role, const char *path, int rank,
			      const struct stat *st)
{
	if (g->n == g->room) {
		const size_t room = 2 * g->room + 8;
		file_use *more = realloc(g->use, room * sizeof *more);
		if (!more) {
			err_set(&g->e, ST_RESOURCE, "no memory for %zu names", room);
			return NULL;
		}
		g->use = more;
		g->room = room;
	}
	file_use *u = &g->use[g->n];
	const size_t len = strlen(path);
	const bool cut = len >= sizeof u->path;
	memset(u, 0, sizeof *u);
	*u = (file_use){ .dev = st->st_dev,
			 .ino = st->st_ino,
			 .how = (int32_t)how,
			 .role = (int32_t)role,
			 .number = (int32_t)g->n++,
			 .rank = rank };
	snprintf(u->path, sizeof u->path, "%s%s", cut ? "..." : "",
		 cut ? path + len - (sizeof u->path - 4) : path);
	return u;
}

/* Add a use of a file. Add NOTHING if the file does not exist (st NULL) or is a device or socket,
 * which may be used twice without harm. So the number of uses depends only on the options, and a
 * simulated job always takes the same time. */
static void registry_add_file(registry *g, enum how how, file_role role, const char *path, int rank,
			      const struct stat *st)
{
	static const struct stat none;
	const bool counts = st && !S_ISCHR(st->st_mode) && !S_ISSOCK(st->st_mode);
	(void)registry_add(g, counts ? how : NOTHING, role, path, rank, counts ? st : &none);
}

void registry_reads(registry *g, file_role role, const char *path, int rank)
{
	struct stat st;
	const bool known = role == ROLE_INPUT && stream_is_standard(path)
				   ? fstat(STDIN_FILENO, &st) == 0
				   : stat(path, &st) == 0;
	registry_add_file(g, READ, role, path, rank, known ? &st : NULL);
}

void registry_workdir(registry *g, const char *path, const char *prefix, bool with_files)
{
	struct stat st;
	DIR *d = opendir(path);
	if (d && fstat(dirfd(d), &st) == 0) {
		g->workdir = path;
		g->prefix = prefix;
		g->workdir_dev = st.st_dev;
		g->workdir_ino = st.st_ino;
	}
	for (const struct dirent *f; d && with_files && (f = readdir(d));)
		if (strncmp(f->d_name, prefix, strlen(prefix)) == 0 &&
		    fstatat(dirfd(d), f->d_name, &st, 0) == 0)
			(void)registry_add(g, OWN, ROLE_WORKDIR, f->d_name, -1, &st);
	if (d)
		closedir(d);
}

/* Register a file to write, and refuse names that hetsort creates and removes for itself. A name
 * that cannot be created is reported later, by the code that creates it. */
void registry_writes(registry *g, file_role role, const char *path, int rank)
{
	target t;
	struct stat st;
	err unsaid = { ST_OK, "" };
	const bool standard = role != ROLE_WISDOM && stream_is_standard(path);
	const bool exists = standard ? fstat(STDOUT_FILENO, &st) == 0 : stat(path, &st) == 0;
	const bool stream = standard || (exists && role == ROLE_OUTPUT &&
					 (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)));
	registry_add_file(g, stream || role == ROLE_WISDOM ? OWN : REPLACED, role, path, rank,
			  exists ? &st : NULL);
	if (stream)
		return;
	if (target_open(&t, path, &unsaid) == ST_OK && fstat(t.dirfd, &st) == 0) {
		if (strncmp(t.base, HIDDEN, strlen(HIDDEN)) == 0)
			err_set(&g->e, ST_REFUSED,
				"%s %s: names that begin with %s are for temporary files: choose "
				"another name",
				role_name(role), quoted(path), HIDDEN);
		if (g->workdir && st.st_dev == g->workdir_dev && st.st_ino == g->workdir_ino &&
		    strncmp(t.base, g->prefix, strlen(g->prefix)) == 0)
			err_set(&g->e, ST_REFUSED,
				"%s %s: names that begin with %s in workdir %s are for sorted "
				"runs: choose another name",
				role_name(role), quoted(path), g->prefix, quoted(g->workdir));
		file_use *u = registry_add(g, MADE, role, path, rank, &st);
		if (u)
			u->mark = t.mark;
	}
	if (unsaid.code == ST_RESOURCE)
		(void)err_join(&g->e, &unsaid);
	target_discard(&t);
}

/* -------------------------------------------------------------------------------- comparison */

/* Compare two uses; return 0 if they use the same file. */
static int registry_order(const file_use *a, const file_use *b)
{
	int d = (a->how == MADE) - (b->how == MADE);
	if (d == 0)
		d = memcmp(a, b, offsetof(file_use, how)); /* dev, ino and mark */
	return d ? d : memcmp(&a->host, &b->host, sizeof a->host);
}

static int registry_by_file(const void *a_, const void *b_)
{
	const file_use *a = a_, *b = b_;
	const int d = registry_order(a, b);
	if (d)
		return d;
	return a->how != b->how     ? a->how - b->how
	       : a->role != b->role ? a->role - b->role
	       : a->rank != b->rank ? a->rank - b->rank
				    : a->number - b->number;
}

/* Print a use for a message: "input 'a' of rank 1". */
static void name_use(const file_use *u, char *text, size_t bytes)
{
	char whose[32] = "";
	if (u->rank >= 0)
		snprintf(whose, sizeof whose, " of rank %d", (int)u->rank);
	snprintf(text, bytes, "%s %s%s", role_name((file_role)u->role), quoted(u->path), whose);
}

/* Return whether two uses of one file exclude each other. Several options may read one file, but
 * reading records twice is a mistake. Two links to one file may each be replaced by a new file. The
 * plan and hetsim's report may follow each other on standard output. */
static bool exclude(const file_use *a, const file_use *b)
{
	if (a->how == NOTHING || b->how == NOTHING || registry_order(a, b) != 0)
		return false;
	if (a->role == ROLE_WORKDIR && b->role == ROLE_WORKDIR)
		return false;
	if (a->how == OWN && b->how == OWN && a->role == ROLE_STDOUT && b->role == ROLE_SIM_REPORT)
		return false;
	if (a->how == READ && b->how == READ)
		return a->role == ROLE_INPUT && b->role == ROLE_INPUT;
	return a->how != REPLACED || b->how != REPLACED;
}

status registry_compare(file_use *use, size_t n, bool *late, err *e)
{
	char a[QUOTED_BYTES + 64], b[QUOTED_BYTES + 64];
	if (n)
		qsort(use, n, sizeof *use, registry_by_file);
	for (size_t i = 1; i < n; i++) {
		const file_use *u = &use[i - 1], *v = &use[i];
		if (!exclude(u, v))
			continue;
		const bool swap = u->role > v->role;
		*late = u->role >= ROLE_REPORT || v->role >= ROLE_REPORT;
		name_use(swap ? v : u, a, sizeof a);
		name_use(swap ? u : v, b, sizeof b);
		const bool sorted =
			(swap ? v : u)->role == ROLE_INPUT && (swap ? u : v)->role == ROLE_OUTPUT;
		return err_set(e, ST_REFUSED, "%s is the same file as %s%s", b, a,
			       sorted ? ": write to another file, and rename it after the sort"
				      : "");
	}
	return ST_OK;
}

bool registry_use_is_sound(const file_use *u, int rank)
{
	return u->how >= NOTHING && u->how <= MADE && u->role >= 0 && u->role < FILE_ROLES &&
	       u->number >= 0 && (u->how == NOTHING || u->rank == -1 || u->rank == rank) &&
	       memchr(u->path, '\0', sizeof u->path);
}

status registry_check_messages(const registry *g, err *e)
{
	char name[QUOTED_BYTES + 64];
	struct stat st;
	const file_use *u = g->use, *end = g->use + g->n;
	if (fstat(STDERR_FILENO, &st) != 0 || !S_ISREG(st.st_mode))
		return ST_OK;
	while (u < end && (u->how == NOTHING || u->how == MADE || u->role == ROLE_STDOUT ||
			   (u->role == ROLE_SIM_REPORT && u->how == OWN) || u->dev != st.st_dev ||
			   u->ino != st.st_ino))
		u++;
	if (u == end)
		return ST_OK;
	int fd = open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		fd = open("/", O_PATH | O_CLOEXEC); /* writing to it fails */
	if (fd >= 0 && dup2(fd, STDERR_FILENO) >= 0)
		close(fd);
	name_use(u, name, sizeof name);
	return err_set(e, ST_REFUSED, "standard error is the same file as %s", name);
}

status registry_check(registry *g, err *e)
{
	bool late;
	const status rc = err_join(e, &g->e);
	return rc == ST_OK ? registry_compare(g->use, g->n, &late, e) : rc;
}

void registry_free(registry *g)
{
	free(g->use);
	*g = (registry){ .use = NULL };
}
