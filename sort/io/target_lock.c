/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hidden names next to a target, and the target's lock, which notes the files that have these
 * names. The lock is an flock on a file next to the target. The kernel releases it at any end of
 * the process; on NFS the server knows it, so it also holds between hosts. The holder removes the
 * file when it has finished, so a process that has locked a file checks that the file still has the
 * lock's name.
 *
 * The first line of the lock's text names the process, for messages. Each further line notes a file
 * that the job makes under a hidden name. The name is noted before the file is created, and its
 * inode and time of birth afterwards. Only the holder writes the text, and only to a file that it
 * has created itself.
 *
 * If the process of a lock has ended, the next job reads the text. It removes every noted file that
 * is still the same file, except an output that --resume may need, and then the lock. Then it
 * creates its own lock, in which it notes the file that it has kept. So a file that no lock has
 * noted is never removed, regardless of its name. A job that is killed between removing the old
 * lock and writing the new one leaves files that no later job removes. */
#include "target.h"
#include "base/clock.h"
#include "comm/comm.h"
#include "number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define PREFIX ".hetsort-"
static const char *const suffixes[] = { [TARGET_TEMP] = ".tmp",
					[TARGET_ADDS] = ".commit",
					[TARGET_REPLACES] = ".replace",
					[TARGET_REPLACES_ONE] = ".replace1",
					[TARGET_OLD] = ".old" };
#define NOTE "%d %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n"
enum {
	SHOWN_BYTES = 32,
	HOLDER_BYTES = 112,
	NOTE_BYTES = 80,
	LOCK_BYTES_MAX = 1 << 20,
	TRIES = 100,
	DIR_NOTE = 9 /* the kind in the note of the directory */
};
#define LOCK_MARK "hetsort lock: " /* a lock's text begins with it */

uint64_t target_mark(const char *path)
{
	const char *base = file_base(path);
	return XXH3_64bits(base, strlen(base));
}

/* Make the hidden name of a file of job `id`. A journal's name contains as much of the target's
 * name as the file system allows, because --clean of a part finds the manifest by it. In other
 * hidden names, the target's name is cut and only helps people. */
static const char *name_of_job(const target *t, target_kind kind, uint64_t id,
			       char name[UNFINISHED_NAME_BYTES])
{
	const size_t others = strlen(PREFIX) + 2 * 17 + strlen(suffixes[kind]);
	size_t shown = SHOWN_BYTES;
	if (target_is_journal(kind)) {
		const long most = fpathconf(t->dirfd, _PC_NAME_MAX);
		const size_t room =
			most > 0 && most < UNFINISHED_NAME_BYTES ? (size_t)most : NAME_MAX;
		shown = t->shown ? t->shown : room > others + shown ? room - others : shown;
	}
	snprintf(name, UNFINISHED_NAME_BYTES, PREFIX "%016" PRIx64 "-%016" PRIx64 "-%.*s%s",
		 t->mark, id, (int)shown, t->base, suffixes[kind]);
	return name;
}

const char *target_hidden_name(const target *t, target_kind kind, char name[UNFINISHED_NAME_BYTES])
{
	return name_of_job(t, kind, t->id, name);
}

/* Read a number of 16 digits and a hyphen at *s. */
static bool mark_at(const char **s, uint64_t *v)
{
	return number_hex(s, v) && *(*s)++ == '-';
}

DIR *target_list(const target *t)
{
	const int fd = openat(t->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !d)
		close(fd);
	return d;
}

bool target_next_hidden(const target *t, hidden_name *h)
{
	if (!h->dir)
		h->dir = target_list(t);
	h->errnum = h->dir ? 0 : errno;
	for (const struct dirent *f; h->dir && (f = readdir(h->dir));) {
		h->name = f->d_name;
		h->base = h->name + strlen(PREFIX);
		if (strncmp(h->name, PREFIX, strlen(PREFIX)) != 0 || !mark_at(&h->base, &h->mark) ||
		    !mark_at(&h->base, &h->id))
			continue;
		const size_t len = strlen(h->base);
		for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
			const size_t n = strlen(suffixes[i]);
			if (len > n && strcmp(h->base + len - n, suffixes[i]) == 0) {
				h->kind = (target_kind)i;
				h->shown = len - n;
				return true;
			}
		}
	}
	if (h->dir)
		closedir(h->dir);
	h->dir = NULL;
	return false;
}

bool target_has_journal(const target *t, uint64_t id)
{
	hidden_name h = { 0 };
	bool has = false;
	while (target_next_hidden(t, &h))
		has |= h.id == id && target_is_journal(h.kind);
	return has || h.errnum;
}

const char *target_parse_lock_name(const char *name, uint64_t *mark)
{
	const char *at = name + strlen(PREFIX);
	const size_t len = strlen(name), suffix = strlen(".lock");
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !mark_at(&at, mark) || len < suffix ||
	    strcmp(name + len - suffix, ".lock") != 0)
		return NULL;
	return at;
}

bool target_is_cut(const char *base)
{
	return strlen(base) >= SHOWN_BYTES + strlen(".lock");
}

status target_open(target *t, const char *path, err *e)
{
	const char *base = file_base(path);
	*t = (target){ .dirfd = -1, .lock_fd = -1, .fd = -1, .most = 0777 };
	if (!*base)
		return err_set(e, ST_REFUSED, "%s does not name a file", quoted(path));
	char *dir = base > path ? strndup(path, (size_t)(base - path)) : strdup(".");
	t->base = strdup(base);
	t->path = strdup(path);
	if (!dir || !t->base || !t->path) {
		free(dir);
		return err_set(e, ST_RESOURCE, "no memory for the name %s", quoted(path));
	}
	t->mark = target_mark(path);
	t->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	status rc = ST_OK;
	if (t->dirfd < 0)
		rc = err_refuse(e, errno, "cannot open the directory of %s", quoted(path));
	free(dir);
	return rc;
}

bool target_open_hidden(target *t, const target *near, const hidden_name *h)
{
	const int dir = (int)(file_base(near->path) - near->path);
	char *path;
	if (asprintf(&path, "%.*s%.*s", dir, near->path, (int)h->shown, h->base) < 0)
		return false;
	const bool is = target_open(t, path, NULL) == ST_OK && t->mark == h->mark;
	free(path);
	t->id = h->id;
	t->kind = h->kind;
	t->shown = h->shown;
	if (!is)
		target_discard(t);
	return is;
}

static int print_note(char *to, int kind, uint64_t id, const file_id *is)
{
	return snprintf(to, NOTE_BYTES, NOTE, kind, id, is->inode, (uint64_t)is->born_s,
			(uint64_t)is->born_ns);
}

/* The lines have fixed lengths and their number only grows, so they overwrite the old text. */
status target_write_lock(const target *t, err *e)
{
	char host[HOST_BYTES];
	char *text = malloc(HOLDER_BYTES + (t->lefts + 2) * NOTE_BYTES);
	if (!text)
		return err_set(e, ST_RESOURCE, "no memory for the lock of %s", quoted(t->path));
	host_name(host);
	int n = snprintf(text, HOLDER_BYTES, LOCK_MARK "process %ld on %.*s\n", (long)getpid(),
			 HOLDER_BYTES / 2, host);
	n += print_note(text + n, DIR_NOTE, 0, &t->dir);
	for (size_t i = 0; i < t->lefts; i++)
		n += print_note(text + n, (int)t->left[i].kind, t->left[i].id, &t->left[i].is);
	if (t->own.id)
		n += print_note(text + n, (int)t->own.kind, t->own.id, &t->own.is);
	const bool done = file_write_at(t->lock_fd, text, (size_t)n, 0, t->path, NULL) == ST_OK;
	const int errnum = errno;
	free(text);
	return done ? ST_OK : err_sys(e, errnum, "cannot write the lock of %s", quoted(t->path));
}

bool target_notes_files(const target *t)
{
	char name[UNFINISHED_NAME_BYTES];
	bool notes = false;
	for (size_t i = 0; !notes && i <= t->lefts; i++) {
		const hidden_file *f = i < t->lefts ? &t->left[i] : &t->own;
		notes = f->is.inode &&
			file_is(t->dirfd, name_of_job(t, f->kind, f->id, name), &f->is);
	}
	return notes;
}

static void name_lock(target *t)
{
	t->lock.dirfd = t->dirfd;
	t->lock.is_lock = true;
	snprintf(t->lock.name, sizeof t->lock.name, PREFIX "%016" PRIx64 "-%.*s.lock", t->mark,
		 SHOWN_BYTES, t->base);
} /* NOLINT(clang-analyzer-unix.Malloc): target_discard frees the names of *t */

/* Return whether the open lock still has its name. Look twice: after one failed look, the caller
 * would create another lock and never remove this one. */
static bool lock_has_name(const target *t, int fd)
{
	struct stat mine, named;
	for (int i = 0; i < 2; i++)
		if (fstat(fd, &mine) == 0 &&
		    fstatat(t->dirfd, t->lock.name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    mine.st_dev == named.st_dev && mine.st_ino == named.st_ino)
			return true;
	return false;
}

static bool starts_as_lock(const char *text)
{
	return strncmp(text, LOCK_MARK, strlen(LOCK_MARK)) == 0;
}

/* ------------------------------------------------------------------------ what a lock notes */

static bool is_read(const target *t, const struct stat *st)
{
	for (size_t i = 0; t->reads && i < t->reads->files; i++)
		if (t->reads->file[i].ino == st->st_ino && t->reads->file[i].dev == st->st_dev)
			return true;
	return false;
}

bool target_reads(const target *t, const char *name)
{
	struct stat st;
	return fstatat(t->dirfd, name, &st, 0) == 0 && is_read(t, &st);
}

void cleaned_add(cleaned *sum, const cleaned *more)
{
	sum->removed += more->removed;
	sum->named += more->named;
	sum->stays += more->stays;
	if (more->stays)
		memcpy(sum->first, more->first, sizeof sum->first);
	(void)err_join(&sum->note, &more->note);
}

/* Remove the file that a line of the lock's text notes; ignore other lines. The job of the file has
 * ended, because a running job would hold the lock. Keep the files of a journal, which are the only
 * copy of a complete output, and files that this job reads. */
static void sweep_line(target *t, const char *line)
{
	char name[UNFINISHED_NAME_BYTES];
	uint64_t kind, id = 0, inode = 0, s = 0, ns = 0, *const number[] = { &id, &inode, &s, &ns };
	file_id dir;
	if (!number_at(&line, INT_MAX, &kind))
		return;
	for (size_t i = 0; i < sizeof number / sizeof *number; i++)
		if (*line++ != ' ' || !number_hex(&line, number[i]))
			return;
	const hidden_file f = { (target_kind)kind, id, { inode, (int64_t)s, (int64_t)ns } };
	if (kind == DIR_NOTE && file_id_of(t->dirfd, &dir) && memcmp(&dir, &f.is, sizeof dir) == 0)
		t->dir = dir;
	if (kind != TARGET_TEMP && kind != TARGET_OLD)
		return;
	name_of_job(t, f.kind, id, name);
	if (target_reads(t, name) || !file_is(t->dirfd, name, &f.is))
		return;
	if (strcmp(name, target_hidden(t, t->kind)) != 0 && !target_has_journal(t, id) &&
	    file_remove(t->dirfd, name, &f.is, &t->past.removed))
		return;
	hidden_file *left = realloc(t->left, (t->lefts + 1) * sizeof *left);
	if (!left) /* without memory the file stays */
		return;
	t->left = left;
	t->left[t->lefts++] = f;
}

/* ---------------------------------------------------------------------------------- locking */

typedef enum outcome { TAKEN, AGAIN, BUSY, NO_LOCKS, FAILED } outcome;

/* Take over the lock of a job that has ended: remove the files that it notes, then the lock. An
 * empty file is the lock of a job that had made no file yet. */
static outcome take_over(target *t, int fd, err *e)
{
	struct stat st;
	const char *not_ours = NULL;
	char *rest, *text = calloc(1, LOCK_BYTES_MAX + 1);
	const ssize_t n = text ? pread(fd, text, LOCK_BYTES_MAX, 0) : -1;
	if (fstat(fd, &st) == 0 && is_read(t, &st))
		not_ours = "is an input";
	else if (text && n != 0 && (n < 0 || !starts_as_lock(text)))
		not_ours = "is not a lock of this version of hetsort";
	else if (text)
		for (char *at = strtok_r(text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest))
			sweep_line(t, at);
	free(text);
	if (not_ours)
		err_set(e, ST_REFUSED,
			"cannot lock output %s: '%s' next to it %s: give it another name",
			quoted(t->path), t->lock.name, not_ours);
	else if (!text)
		err_set(e, ST_RESOURCE, "no memory for the lock of %s", quoted(t->path));
	else if (unlinkat(t->dirfd, t->lock.name, 0) == 0 || errno == ENOENT)
		return AGAIN;
	else
		err_refuse(e, errno, "cannot remove '%s', the lock of a job that has ended",
			   t->lock.name);
	return FAILED;
}

/* Lock the open lock file. If this process has not created it (made: false), an ended job has left
 * it, or it belongs to a running job, which may end before `until_s`. If it was left, remove it and
 * return AGAIN: the caller then creates a new file, because this process writes only to a file of
 * its own. Before the new file is locked, another process may believe that it was left. Refuse
 * links and special files: another user can guess the lock's name and put a link to any file
 * there. */
static outcome lock_open(target *t, int fd, bool made, double until_s, err *e)
{
	char text[HOLDER_BYTES];
	struct stat st;
	if (fstat(fd, &st) != 0) {
		err_refuse(e, errno, "cannot lock output %s", quoted(t->path));
		return FAILED;
	}
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1) {
		err_set(e, ST_REFUSED, "cannot lock output %s: '%s' next to it is %s",
			quoted(t->path), t->lock.name,
			S_ISREG(st.st_mode) ? "a hard link" : "not a regular file");
		return FAILED;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return !lock_has_name(t, fd) ? AGAIN : made ? TAKEN : take_over(t, fd, e);
	switch (errno) {
	case ENOLCK:
	case EOPNOTSUPP:
	case ENOSYS:
	case EINVAL: /* the file system has no locks: continue without a lock */
		if (made)
			(void)unlinkat(t->dirfd, t->lock.name, 0);
		return NO_LOCKS;
	case EINTR:
		return AGAIN;
	case EWOULDBLOCK:
		if (made)
			return AGAIN;
		if (now_s() < until_s)
			return BUSY;
		const ssize_t n = pread(fd, text, sizeof text - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		text[strcspn(text, "\n")] = '\0';
		const char *holder = text + (starts_as_lock(text) ? strlen(LOCK_MARK) : 0);
		err_set(e, ST_REFUSED, "output %s is being made by another job, %s",
			quoted(t->path), *holder ? quoted(holder) : "just starting");
		return FAILED;
	default:
		err_refuse(e, errno, "cannot lock output %s", quoted(t->path));
		return FAILED;
	}
}

/* Open and lock the file; *fd is -1 if the file system has no locks. */
static status lock_take(target *t, int *fd, err *e)
{
	static const struct timespec SOON = { 0, 50000000 };
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	const double until_s = now_s() + t->patience_s;
	for (int i = 0; i < TRIES; i++) {
		*fd = openat(t->dirfd, t->lock.name, flags | O_CREAT | O_EXCL,
			     0600 | (t->most & 0044));
		const bool made = *fd >= 0 || errno != EEXIST;
		if (!made)
			*fd = openat(t->dirfd, t->lock.name, flags);
		if (*fd < 0 && (errno == EINTR || (!made && errno == ENOENT)))
			continue; /* ENOENT: its job has ended since */
		if (*fd < 0)
			return err_refuse(e, errno, "cannot %s output %s", made ? "create" : "lock",
					  quoted(t->path));
		const outcome o = lock_open(t, *fd, made, until_s, e);
		if (o == TAKEN)
			return ST_OK;
		if (o == FAILED && made && lock_has_name(t, *fd))
			(void)unlinkat(t->dirfd, t->lock.name, 0);
		close(*fd);
		*fd = -1;
		if (o == NO_LOCKS || o == FAILED)
			return o == NO_LOCKS ? ST_OK : e->code;
		if (o == BUSY) {
			i = 0;
			nanosleep(&SOON, NULL);
		}
	}
	return err_set(e, ST_REFUSED,
		       "cannot lock output %s: too many jobs use it at the same time",
		       quoted(t->path));
}

void target_share_lock(target *t, bool notes_files)
{
	t->shared = true;
	name_lock(t);
	if (!notes_files)
		unfinished_note(&t->lock);
}

status target_lock(target *t, err *e)
{
	name_lock(t);
	unfinished_hold();
	const status rc = lock_take(t, &t->lock_fd, e);
	if (rc == ST_OK && t->lock_fd >= 0)
		unfinished_note(&t->lock);
	else
		t->lock.name[0] = '\0';
	unfinished_release();
	if (rc != ST_OK || t->lock_fd < 0)
		return rc;
	(void)target_write_lock(t, NULL); /* a failure does not matter: before a file is created,
					     the lock is written again */
	/* count the files that stay because no lock has noted them */
	bool journal = false;
	hidden_name h = { 0 };
	while (target_next_hidden(t, &h)) {
		bool noted = h.id == t->id && h.kind == t->kind;
		journal |= target_is_journal(h.kind);
		for (size_t i = 0; i < t->lefts; i++)
			noted |= h.id == t->left[i].id && h.kind == t->left[i].kind;
		if (h.mark == t->mark && !noted && !target_is_journal(h.kind) &&
		    !target_has_journal(t, h.id) && !target_reads(t, h.name) &&
		    t->past.stays++ == 0)
			snprintf(t->past.first, sizeof t->past.first, "%s", h.name);
	}
	t->no_journal = !journal && !h.errnum;
	if (target_notes_files(t)) /* only the lock proves that hetsort made them */
		unfinished_forget(&t->lock);
	return ST_OK;
}

bool target_sweep(const char *path, uint64_t kept_id, const file_set *reads, file_id *dir)
{
	target t;
	err e = { ST_OK, "" };
	bool swept = target_open(&t, path, &e) == ST_OK;
	if (swept) {
		t.id = kept_id;
		t.reads = reads;
		name_lock(&t);
		swept = file_exists(t.dirfd, t.lock.name) && target_lock(&t, &e) == ST_OK &&
			t.lock_fd >= 0;
	}
	if (swept && dir && t.dir.inode)
		*dir = t.dir;
	target_discard(&t);
	return swept;
}

void target_list_lock(target *t)
{
	if (t->lock_fd < 0 || *t->lock.name)
		return;
	name_lock(t);
	unfinished_note(&t->lock);
}

void target_release(target *t)
{
	if (t->shared) {
		unfinished_forget(&t->temp);
		unfinished_forget(&t->lock);
	}
	unfinished_remove(&t->temp);
	if (!t->base || t->lock_fd < 0)
		return;
	target_list_lock(t);
	if (target_notes_files(t))
		unfinished_forget(&t->lock);
	else /* before unlocking, so that no job locks a file that is removed */
		unfinished_remove(&t->lock);
	close(t->lock_fd);
	t->lock_fd = -1;
}

void target_discard(target *t)
{
	target_release(t);
	if (t->base && t->fd >= 0)
		close(t->fd);
	if (t->base && t->dirfd >= 0)
		close(t->dirfd);
	free(t->left);
	free(t->base);
	free(t->path);
	free(t->text);
	*t = (target){ .dirfd = -1, .lock_fd = -1, .fd = -1 };
}
