/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hidden names next to a target, and its lock, which notes the files that have them: flock on a
 * file next to the target, which the kernel releases when the process ends, however it ends; on NFS
 * the server knows of it, so it holds between hosts. The holder of the lock removes the file, so a
 * process that gets a lock checks that its file still has the name.
 *
 * The first line of its text names the process, for messages. Each line after it notes a file that
 * the job has made under a hidden name: first the name, before the file is made, then the number of
 * its inode and its time of birth. Only the holder writes the text, and only to a file that it has
 * made itself. The next job reads the text of a lock whose process has ended, removes what is noted
 * there and still is that file, then the lock, and makes its own, where it notes what it has left:
 * the output that --resume may need. So a file that no lock has noted is never removed, whatever
 * its name is. A job that is killed between these two steps leaves files that nobody removes. */
#include "target.h"
#include "base/clock.h"
#include "file.h"
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
	DIR_NOTE = 9 /* in the place of a kind: of the directory */
};
#define LOCK_MARK "hetsort lock: " /* how the text of a lock begins */

uint64_t target_mark(const char *path)
{
	const char *base = file_base(path);
	return XXH3_64bits(base, strlen(base));
}

size_t target_shown_bytes(const char *name, target_kind kind)
{
	return strlen(name) - strlen(PREFIX) - 2 * 17 - strlen(suffixes[kind]);
}

/* A journal's name has as much of the target's name as the file system allows: --clean of a part
 * finds the manifest by it. In the others it only helps whoever lists the directory. */
static size_t shown_bytes(const target *t, target_kind kind)
{
	const size_t others = strlen(PREFIX) + 2 * 17 + strlen(suffixes[kind]);
	if (!target_is_journal(kind))
		return SHOWN_BYTES;
	const long most = fpathconf(t->dirfd, _PC_NAME_MAX);
	const size_t room = most > 0 && most < UNFINISHED_NAME_BYTES ? (size_t)most : NAME_MAX;
	return t->shown ? t->shown : room > others + SHOWN_BYTES ? room - others : SHOWN_BYTES;
}

static void name_of_job(const target *t, target_kind kind, uint64_t id,
			char name[UNFINISHED_NAME_BYTES])
{
	snprintf(name, UNFINISHED_NAME_BYTES, PREFIX "%016" PRIx64 "-%016" PRIx64 "-%.*s%s",
		 t->mark, id, (int)shown_bytes(t, kind), t->base, suffixes[kind]);
}

void target_hidden_name(const target *t, target_kind kind, char name[UNFINISHED_NAME_BYTES])
{
	name_of_job(t, kind, t->id, name);
}

/* Read the number at *s, of 16 digits and a hyphen. */
static bool mark_at(const char **s, uint64_t *v)
{
	return number_hex(s, v) && *(*s)++ == '-';
}

bool target_parse_name(const char *name, uint64_t *mark, uint64_t *id, target_kind *kind)
{
	const char *at = name + strlen(PREFIX);
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !mark_at(&at, mark) || !mark_at(&at, id))
		return false;
	const size_t len = strlen(at);
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		const size_t n = strlen(suffixes[i]);
		if (len > n && strcmp(at + len - n, suffixes[i]) == 0) {
			*kind = (target_kind)i;
			return true;
		}
	}
	return false;
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

static char *hidden_path(const target *beside, const char *name, target_kind kind)
{
	const char *base = name + strlen(PREFIX) + 2 * 17;
	const int dir = (int)(file_base(beside->path) - beside->path);
	const int len = (int)(strlen(base) - strlen(suffixes[kind]));
	char *path;
	return asprintf(&path, "%.*s%.*s", dir, beside->path, len, base) < 0 ? NULL : path;
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

bool target_open_hidden(target *t, const target *beside, const char *name)
{
	uint64_t mark, id;
	target_kind kind;
	err e = { ST_OK, "" };
	if (!target_parse_name(name, &mark, &id, &kind))
		return false;
	char *path = hidden_path(beside, name, kind);
	if (!path)
		return false;
	const bool is = target_open(t, path, &e) == ST_OK && t->mark == mark;
	free(path);
	t->id = id;
	t->kind = kind;
	if (!is)
		target_discard(t);
	return is;
}

DIR *target_list(const target *t)
{
	const int fd = openat(t->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !d)
		close(fd);
	return d;
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

static int print_note(char *to, int kind, uint64_t id, const file_id *is)
{
	return snprintf(to, NOTE_BYTES, NOTE, kind, id, is->inode, (uint64_t)is->born_s,
			(uint64_t)is->born_ns);
}

/* The lines have fixed lengths, and their number only grows, so nothing old is left after them. */
status target_write_lock(const target *t, err *e)
{
	char host[HOLDER_BYTES / 2] = "";
	char *text = malloc(HOLDER_BYTES + (t->lefts + 2) * NOTE_BYTES);
	if (!text)
		return err_set(e, ST_RESOURCE, "no memory for the lock of %s", quoted(t->path));
	if (gethostname(host, sizeof host - 1) != 0)
		strcpy(host, "unknown");
	int n = snprintf(text, HOLDER_BYTES, LOCK_MARK "process %ld on %s\n", (long)getpid(), host);
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

static bool notes_a_file(const target *t, const hidden_file *f)
{
	char name[UNFINISHED_NAME_BYTES];
	name_of_job(t, f->kind, f->id, name);
	return f->is.inode && file_is(t->dirfd, name, &f->is);
}

bool target_notes_files(const target *t)
{
	bool needed = notes_a_file(t, &t->own);
	for (size_t i = 0; i < t->lefts; i++)
		needed = needed || notes_a_file(t, &t->left[i]);
	return needed;
}

static void name_lock(target *t)
{
	t->lock.dirfd = t->dirfd;
	t->lock.is_lock = true;
	snprintf(t->lock.name, sizeof t->lock.name, ".hetsort-%016" PRIx64 "-%.32s.lock", t->mark,
		 t->base);
}

static const struct timespec SOON = { 0, 50000000 };

/* Looks twice: if only the first look failed, going on with another file would leave this one. */
static bool still_there(const target *t, int fd)
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

static status refuse(const target *t, int fd, err *e)
{
	char text[HOLDER_BYTES];
	const ssize_t n = pread(fd, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	const char *holder = text + (starts_as_lock(text) ? strlen(LOCK_MARK) : 0);
	return err_set(e, ST_REFUSED, "output %s is being made by another job, %s", quoted(t->path),
		       *holder ? quoted(holder) : "just starting");
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
	struct stat st;
	if (fstat(fd, &st) != 0)
		return err_refuse(e, errno, "cannot lock output %s", quoted(t->path));
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
		return err_set(e, ST_REFUSED, "cannot lock output %s: '%s' next to it is %s",
			       quoted(t->path), t->lock.name,
			       S_ISREG(st.st_mode) ? "a hard link" : "no regular file");
	return ST_OK;
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

static bool keep_note(target *t, const hidden_file *f)
{
	hidden_file *left = realloc(t->left, (t->lefts + 1) * sizeof *left);
	if (!left)
		return false;
	t->left = left;
	t->left[t->lefts++] = *f;
	return true;
}

/* The job that made it has ended: a running one would hold the lock. What a journal speaks of is
 * the only copy of an output that is complete. What this job reads is the user's from now on. */
static void sweep_one(target *t, const hidden_file *f, unsigned *removed)
{
	char name[UNFINISHED_NAME_BYTES], kept[UNFINISHED_NAME_BYTES];
	name_of_job(t, f->kind, f->id, name);
	target_hidden_name(t, t->kind, kept);
	if (target_reads(t, name) || !file_is(t->dirfd, name, &f->is))
		return;
	if (strcmp(name, kept) == 0 || target_has_journal(t, f->id) ||
	    !file_remove(t->dirfd, name, &f->is, removed))
		(void)keep_note(t, f); /* without memory the file stays for good */
}

/* One line of the text; others are nobody's. */
static void sweep_line(target *t, const char *line, unsigned *removed)
{
	uint64_t kind, id, inode, s, ns, *const number[] = { &id, &inode, &s, &ns };
	file_id dir;
	if (!number_at(&line, INT_MAX, &kind))
		return;
	for (size_t i = 0; i < sizeof number / sizeof *number; i++)
		if (*line++ != ' ' || !number_hex(&line, number[i]))
			return;
	const file_id is = { inode, (int64_t)s, (int64_t)ns };
	if (kind == DIR_NOTE && file_id_of(t->dirfd, &dir) && dir.inode == inode &&
	    dir.born_s == is.born_s && dir.born_ns == is.born_ns)
		t->dir = is;
	else if (kind == TARGET_TEMP || kind == TARGET_OLD)
		sweep_one(t, &(hidden_file){ (target_kind)kind, id, is }, removed);
}

/* Remove what the job has noted whose lock this is. An empty file is a lock, of a job that had made
 * nothing yet. *is false: it is none. */
static status sweep_noted(target *t, int fd, bool *is, unsigned *removed, err *e)
{
	char *rest, *text = calloc(1, LOCK_BYTES_MAX + 1);
	if (!text)
		return err_set(e, ST_RESOURCE, "no memory for the lock of %s", quoted(t->path));
	const ssize_t n = pread(fd, text, LOCK_BYTES_MAX, 0);
	*is = n == 0 || (n > 0 && starts_as_lock(text));
	for (char *line = *is ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		sweep_line(t, line, removed);
	free(text);
	return ST_OK;
}

/* ---------------------------------------------------------------------------------- locking */

typedef enum outcome { TAKEN, AGAIN, BUSY, NO_LOCKS, FAILED } outcome;

static outcome not_ours(const target *t, const char *why, err *e)
{
	err_set(e, ST_REFUSED, "cannot lock output %s: '%s' next to it %s: give it another name",
		quoted(t->path), t->lock.name, why);
	return FAILED;
}

/* The lock of a job that has ended: remove what it notes, then it. */
static outcome take_over(target *t, int fd, unsigned *removed, err *e)
{
	struct stat st;
	bool is;
	if (fstat(fd, &st) == 0 && is_read(t, &st))
		return not_ours(t, "is an input", e);
	if (sweep_noted(t, fd, &is, removed, e) != ST_OK)
		return FAILED;
	if (!is)
		return not_ours(t, "is no lock of this version of hetsort", e);
	if (unlinkat(t->dirfd, t->lock.name, 0) == 0 || errno == ENOENT)
		return AGAIN;
	err_refuse(e, errno, "cannot remove '%s', the lock of a job that has ended", t->lock.name);
	return FAILED;
}

/* A file that is there is another job's, or was left by one: then it goes, and a new one is made,
 * so nothing is ever written to a file that this process has not made. Another process may take the
 * new one for left as well, until it is locked. */
static outcome lock_open(target *t, int fd, bool made, unsigned *removed, err *e)
{
	if (check_file(t, fd, e) != ST_OK)
		return FAILED;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (!still_there(t, fd))
			return AGAIN;
		return made ? TAKEN : take_over(t, fd, removed, e);
	}
	if (no_locks(errno)) {
		if (made)
			(void)unlinkat(t->dirfd, t->lock.name, 0);
		return NO_LOCKS;
	}
	if (errno == EINTR || (errno == EWOULDBLOCK && made))
		return AGAIN;
	if (errno == EWOULDBLOCK)
		return BUSY;
	err_refuse(e, errno, "cannot lock output %s", quoted(t->path));
	return FAILED;
}

/* *made: a new file, or the reason why none can be created here. */
static int open_lock(const target *t, bool *made)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(t->dirfd, t->lock.name, flags | O_CREAT | O_EXCL, 0600 | (t->most & 0044));
	*made = fd >= 0 || errno != EEXIST;
	if (*made)
		return fd;
	fd = openat(t->dirfd, t->lock.name, flags);
	if (fd < 0 && errno == ENOENT)
		errno = EINTR; /* its job has ended meanwhile */
	return fd;
}

/* *fd is open and locked, or -1 where there are no locks. */
static status take(target *t, int *fd, unsigned *removed, err *e)
{
	const double until = now_s() + t->patience_s;
	for (int i = 0; i < TRIES; i++) {
		bool made;
		*fd = open_lock(t, &made);
		if (*fd < 0 && errno == EINTR)
			continue;
		if (*fd < 0)
			return err_refuse(e, errno, "cannot %s output %s", made ? "create" : "lock",
					  quoted(t->path));
		const outcome o = lock_open(t, *fd, made, removed, e);
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
		       quoted(t->path));
}

static bool is_noted(const target *t, uint64_t id, target_kind kind)
{
	for (size_t i = 0; i < t->lefts; i++)
		if (t->left[i].id == id && t->left[i].kind == kind)
			return true;
	return id == t->id && kind == t->kind;
}

/* After what was noted is gone: parts whose journal stands, and files that stay because no lock has
 * noted them. */
static void look_at_rest(target *t)
{
	uint64_t mark, id;
	target_kind kind;
	DIR *d = target_list(t);
	for (const struct dirent *f; d && (f = readdir(d));) {
		if (!target_parse_name(f->d_name, &mark, &id, &kind) || mark != t->mark ||
		    target_is_journal(kind))
			continue;
		if (kind == t->kind && id == t->id)
			continue;
		if (!target_has_journal(t, id) && !is_noted(t, id, kind) &&
		    !target_reads(t, f->d_name) && t->stays++ == 0)
			snprintf(t->stays_name, sizeof t->stays_name, "%s", f->d_name);
	}
	if (d)
		closedir(d);
}

void target_share_lock(target *t, bool notes_files)
{
	t->shared = true;
	name_lock(t);
	if (!notes_files)
		unfinished_note(&t->lock);
}

status target_lock(target *t, unsigned *removed, err *e)
{
	*removed = 0;
	name_lock(t);
	unfinished_hold();
	const status rc = take(t, &t->lock_fd, removed, e);
	if (rc == ST_OK && t->lock_fd >= 0)
		unfinished_note(&t->lock);
	else
		t->lock.name[0] = '\0';
	unfinished_release();
	if (rc != ST_OK || t->lock_fd < 0)
		return rc;
	(void)target_write_lock(t, NULL); /* where it matters, it is written again */
	look_at_rest(t);
	if (target_notes_files(t)) /* the lock alone proves that hetsort made them */
		unfinished_forget(&t->lock);
	return ST_OK;
}

bool target_sweep(const char *path, uint64_t kept_id, const file_set *reads, file_id *dir)
{
	target t;
	unsigned removed;
	err e = { ST_OK, "" };
	bool swept = target_open(&t, path, &e) == ST_OK;
	if (swept) {
		t.id = kept_id;
		t.reads = reads;
		name_lock(&t);
		swept = faccessat(t.dirfd, t.lock.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
			target_lock(&t, &removed, &e) == ST_OK && t.lock_fd >= 0;
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
	else /* before unlocking: no job may lock a file that is removed */
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
