/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flock on a file beside the target, which the kernel releases when the process ends, however it
 * ends; on NFS the server knows of it, so it holds between hosts. The file's text is for messages
 * only. The holder of the lock removes the file, so a process that gets a lock checks that its file
 * still has the name. */
#include "target.h"
#include "base/clock.h"
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100, HOLDER_BYTES = 96 };

static const struct timespec SOON = { 0, 50000000 };

static bool is_named(const target *t, int fd)
{
	struct stat mine, named;
	return fstat(fd, &mine) == 0 &&
	       fstatat(t->dirfd, t->lock.name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

/* Looks twice: if only the first look failed, going on with another file would leave this one. */
static bool still_there(const target *t, int fd)
{
	bool there = is_named(t, fd);
	if (!there)
		there = is_named(t, fd);
	return there;
}

static status refuse(const target *t, int fd, err *e)
{
	char holder[HOLDER_BYTES], q[QUOTED_BYTES], qh[QUOTED_BYTES];
	const ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
	holder[n > 0 ? n : 0] = '\0';
	holder[strcspn(holder, "\n")] = '\0';
	return err_set(e, ST_REFUSED, "output %s is being made by another job, %s",
		       err_quoted(t->path, q), *holder ? err_quoted(holder, qh) : "just starting");
}

/* The file system has no locks: go on without. */
static bool no_locks(int errnum)
{
	return errnum == ENOLCK || errnum == EOPNOTSUPP || errnum == ENOSYS || errnum == EINVAL;
}

/* Is it a lock, as this program makes them? A link to some file of the user's, which somebody has
 * planted under a name that can be known before, is none. */
static status check_file(const target *t, int fd, err *e)
{
	char q[QUOTED_BYTES];
	struct stat st;
	if (fstat(fd, &st) != 0)
		return err_refuse(e, errno, "cannot lock output %s", err_quoted(t->path, q));
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
		return err_set(e, ST_REFUSED, "cannot lock output %s: '%s' beside it is %s",
			       err_quoted(t->path, q), t->lock.name,
			       S_ISREG(st.st_mode) ? "a hard link" : "no regular file");
	return ST_OK;
}

typedef enum outcome { TAKEN, AGAIN, BUSY, NO_LOCKS, FAILED } outcome;

/* A file that is there is another job's, or was left by one: then it goes, and a new one is made,
 * so nothing is ever written to a file that this process has not made. Another process may take the
 * new one for left as well, until it is locked. */
static outcome lock_open(const target *t, int fd, bool made, err *e)
{
	char q[QUOTED_BYTES];
	if (check_file(t, fd, e) != ST_OK)
		return FAILED;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		const bool there = still_there(t, fd);
		if (there && !made && unlinkat(t->dirfd, t->lock.name, 0) != 0 && errno != ENOENT) {
			err_refuse(e, errno, "cannot remove '%s', the lock of a job that has ended",
				   t->lock.name);
			return FAILED;
		}
		return there && made ? TAKEN : AGAIN;
	}
	if (no_locks(errno)) {
		(void)unlinkat(t->dirfd, t->lock.name, 0);
		return NO_LOCKS;
	}
	if (errno == EINTR || (errno == EWOULDBLOCK && made))
		return AGAIN;
	if (errno == EWOULDBLOCK)
		return BUSY;
	err_refuse(e, errno, "cannot lock output %s", err_quoted(t->path, q));
	return FAILED;
}

static int open_lock(const target *t, bool *made)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(t->dirfd, t->lock.name, flags | O_CREAT | O_EXCL, 0600 | (t->most & 0044));
	*made = fd >= 0;
	if (fd >= 0 || errno != EEXIST)
		return fd;
	fd = openat(t->dirfd, t->lock.name, flags);
	if (fd < 0 && errno == ENOENT)
		errno = EINTR; /* its job has ended meanwhile */
	return fd;
}

/* *fd is open and locked, or -1 where there are no locks. */
static status take(target *t, int *fd, err *e)
{
	char q[QUOTED_BYTES];
	const double until = now_s() + t->patience_s;
	for (int i = 0; i < TRIES; i++) {
		bool made;
		*fd = open_lock(t, &made);
		if (*fd < 0 && errno == EINTR)
			continue;
		if (*fd < 0)
			return err_refuse(e, errno, "cannot lock output %s",
					  err_quoted(t->path, q));
		const outcome o = lock_open(t, *fd, made, e);
		if (o == TAKEN)
			return ST_OK;
		const bool wait = o == BUSY && now_s() < until; /* it may be about to end */
		if (o == BUSY && !wait)
			refuse(t, *fd, e);
		if (o == FAILED && made && still_there(t, *fd))
			(void)unlinkat(t->dirfd, t->lock.name, 0);
		close(*fd);
		*fd = -1;
		if (wait) {
			i = 0;
			nanosleep(&SOON, NULL);
		} else if (o != AGAIN) {
			return o == NO_LOCKS ? ST_OK : e->code;
		}
	}
	return err_set(e, ST_REFUSED, "cannot lock output %s: too many jobs are at it",
		       err_quoted(t->path, q));
}

static void write_holder(const target *t)
{
	char text[HOLDER_BYTES], host[HOLDER_BYTES / 2] = "";
	if (gethostname(host, sizeof host - 1) != 0)
		strcpy(host, "unknown");
	const int n = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
	(void)file_write_at(t->lock_fd, text, (size_t)n, 0, t->path, NULL);
}

bool target_has_journal(const target *t, uint64_t id)
{
	uint64_t mark, other;
	target_kind kind;
	DIR *d = target_list(t);
	bool has = !d;
	for (const struct dirent *f; d && !has && (f = readdir(d));)
		has = target_parse_name(f->d_name, &mark, &other, &kind) && other == id &&
		      target_is_journal(kind);
	if (d)
		closedir(d);
	return has;
}

/* A file that a job has left for the target, except the temporary one that is kept: of which job,
 * and what. */
static bool is_left_for(const target *t, const char *name, uint64_t *id, target_kind *kind)
{
	uint64_t mark;
	char kept[UNFINISHED_NAME_BYTES];
	target_hidden_name(t, t->kind, kept);
	return target_parse_name(name, &mark, id, kind) && mark == t->mark &&
	       (*kind == TARGET_TEMP || *kind == TARGET_OLD) && strcmp(name, kept) != 0;
}

/* The jobs that made them have ended: a running one would hold the lock. What a journal speaks of
 * is the only copy of an output that is complete. */
static unsigned remove_leftovers(target *t)
{
	unsigned removed = 0;
	uint64_t id;
	target_kind kind;
	DIR *d = target_list(t);
	for (const struct dirent *f; d && (f = readdir(d));) {
		if (!is_left_for(t, f->d_name, &id, &kind))
			continue;
		if (target_has_journal(t, id))
			t->journaled |= kind == TARGET_TEMP;
		else
			removed += unlinkat(t->dirfd, f->d_name, 0) == 0;
	}
	if (d)
		closedir(d);
	return removed;
}

static void name_lock(target *t)
{
	t->lock.dirfd = t->dirfd;
	t->lock.is_lock = true;
	snprintf(t->lock.name, sizeof t->lock.name, ".hetsort-%016" PRIx64 "-%.32s.lock", t->mark,
		 t->base);
}

void target_share_lock(target *t)
{
	t->shared = true;
	name_lock(t);
	unfinished_note(&t->lock);
}

status target_free(const target *t, err *e)
{
	char q[QUOTED_BYTES];
	return !t->journaled ? ST_OK
			     : err_set(e, ST_REFUSED,
				       "%s was being renamed when its job ended: --clean of its "
				       "manifest goes on with that",
				       err_quoted(t->path, q));
}

status target_lock(target *t, unsigned *removed, err *e)
{
	*removed = 0;
	name_lock(t);
	unfinished_hold();
	const status rc = take(t, &t->lock_fd, e);
	if (rc == ST_OK && t->lock_fd >= 0)
		unfinished_note(&t->lock);
	else
		t->lock.name[0] = '\0';
	unfinished_release();
	if (rc != ST_OK || t->lock_fd < 0)
		return rc;
	write_holder(t);
	*removed = remove_leftovers(t);
	return ST_OK;
}

bool target_sweep(const char *path, uint64_t kept_id)
{
	target t;
	unsigned removed;
	err e = { ST_OK, "" };
	bool swept = target_open(&t, path, &e) == ST_OK;
	if (swept) {
		t.id = kept_id;
		name_lock(&t);
		swept = faccessat(t.dirfd, t.lock.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
			target_lock(&t, &removed, &e) == ST_OK && t.lock_fd >= 0;
	}
	target_discard(&t);
	return swept;
}

void target_sweep_after(int rank, int size, target_of_rank *path, const void *arg, uint64_t kept_id)
{
	bool swept = true;
	for (int i = (rank + 1) % size; swept && i != rank; i = (i + 1) % size) {
		char *name = path(i, arg);
		swept = name && target_sweep(name, kept_id);
		free(name);
	}
}
