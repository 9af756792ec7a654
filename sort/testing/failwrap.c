/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrappers of libc calls in builds with failpoints (ld --wrap): the same calls, which fail when a
 * point strikes. unlink is counted but does not fail, as nothing could be cleaned up without it.
 * Not wrapped: calls that only give hints. */
#include "failpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>

/* A wrapped call has two names that no header declares. */
#define WRAPPED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

/* ------------------------------------------------------------------------------- allocations */

static bool no_memory(void)
{
	const bool now = fail_now(FAIL_ALLOC, NULL);
	if (now)
		errno = ENOMEM;
	return now;
}

WRAPPED(void *, malloc, size_t bytes)
{
	return no_memory() ? NULL : __real_malloc(bytes);
}

WRAPPED(void *, calloc, size_t n, size_t bytes)
{
	return no_memory() ? NULL : __real_calloc(n, bytes);
}

WRAPPED(void *, realloc, void *p, size_t bytes)
{
	return no_memory() ? NULL : __real_realloc(p, bytes);
}

WRAPPED(char *, strdup, const char *s)
{
	return no_memory() ? NULL : __real_strdup(s);
}

WRAPPED(char *, strndup, const char *s, size_t n)
{
	return no_memory() ? NULL : __real_strndup(s, n);
}

WRAPPED(void *, mmap64, void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return no_memory() ? MAP_FAILED : __real_mmap64(at, bytes, prot, flags, fd, offset);
}

__attribute__((format(printf, 2, 3))) WRAPPED(int, asprintf, char **out, const char *fmt, ...)
{
	va_list ap;
	if (no_memory())
		return -1;
	va_start(ap, fmt);
	const int n = vasprintf(out, fmt, ap);
	va_end(ap);
	return n;
}

/* ------------------------------------------------------------------------------------- files */

/* Does this call fail? Then errno is set. *errnum < 0: it only moves less. */
static bool no_file(int *errnum)
{
	*errnum = 0;
	if (!fail_now(FAIL_FILE, errnum) || *errnum < 0)
		return false;
	errno = *errnum ? *errnum : EIO;
	return true;
}

static size_t some(size_t bytes, int errnum)
{
	return errnum < 0 && bytes > 1 ? bytes / 2 : bytes;
}

#define UNLESS_IT_FAILS(call) \
	int errnum;           \
	return no_file(&errnum) ? -1 : (call)

static bool has_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

WRAPPED(int, open64, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	const mode_t mode = has_mode(flags) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	UNLESS_IT_FAILS(__real_open64(path, flags, mode));
}

WRAPPED(int, openat64, int dir, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	const mode_t mode = has_mode(flags) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	UNLESS_IT_FAILS(__real_openat64(dir, path, flags, mode));
}

WRAPPED(ssize_t, read, int fd, void *buf, size_t bytes)
{
	UNLESS_IT_FAILS(__real_read(fd, buf, some(bytes, errnum)));
}

WRAPPED(ssize_t, pread64, int fd, void *buf, size_t bytes, off_t at)
{
	UNLESS_IT_FAILS(__real_pread64(fd, buf, some(bytes, errnum), at));
}

WRAPPED(ssize_t, preadv64v2, int fd, const struct iovec *v, int n, off_t at, int flags)
{
	UNLESS_IT_FAILS(__real_preadv64v2(fd, v, n, at, flags));
}

WRAPPED(ssize_t, write, int fd, const void *buf, size_t bytes)
{
	UNLESS_IT_FAILS(__real_write(fd, buf, some(bytes, errnum)));
}

WRAPPED(ssize_t, pwrite64, int fd, const void *buf, size_t bytes, off_t at)
{
	UNLESS_IT_FAILS(__real_pwrite64(fd, buf, some(bytes, errnum), at));
}

WRAPPED(int, fallocate64, int fd, int mode, off_t at, off_t bytes)
{
	UNLESS_IT_FAILS(__real_fallocate64(fd, mode, at, bytes));
}

WRAPPED(int, ftruncate64, int fd, off_t bytes)
{
	UNLESS_IT_FAILS(__real_ftruncate64(fd, bytes));
}

WRAPPED(int, fsync, int fd)
{
	UNLESS_IT_FAILS(__real_fsync(fd));
}

WRAPPED(int, stat64, const char *path, struct stat *st)
{
	UNLESS_IT_FAILS(__real_stat64(path, st));
}

WRAPPED(int, fstat64, int fd, struct stat *st)
{
	UNLESS_IT_FAILS(__real_fstat64(fd, st));
}

WRAPPED(int, fstatat64, int dir, const char *path, struct stat *st, int flags)
{
	UNLESS_IT_FAILS(__real_fstatat64(dir, path, st, flags));
}

WRAPPED(int, fstatfs64, int fd, struct statfs *fs)
{
	UNLESS_IT_FAILS(__real_fstatfs64(fd, fs));
}

WRAPPED(int, fstatvfs64, int fd, struct statvfs *fs)
{
	UNLESS_IT_FAILS(__real_fstatvfs64(fd, fs));
}

WRAPPED(int, renameat, int from_dir, const char *from, int to_dir, const char *to)
{
	UNLESS_IT_FAILS(__real_renameat(from_dir, from, to_dir, to));
}

WRAPPED(int, renameat2, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	UNLESS_IT_FAILS(__real_renameat2(from_dir, from, to_dir, to, flags));
}

WRAPPED(int, linkat, int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	UNLESS_IT_FAILS(__real_linkat(from_dir, from, to_dir, to, flags));
}

WRAPPED(int, unlinkat, int dir, const char *path, int flags)
{
	(void)fail_now(FAIL_FILE, NULL);
	return __real_unlinkat(dir, path, flags);
}

/* The descriptor is closed, even if close fails. */
WRAPPED(int, close, int fd)
{
	int errnum;
	const int rc = __real_close(fd);
	return no_file(&errnum) ? -1 : rc;
}

/* ----------------------------------------------------------------------------------- threads */

typedef struct birth {
	void *(*fn)(void *);
	void *arg;
	int rank;
} birth;

static void *live(void *birth_)
{
	const birth b = *(birth *)birth_;
	free(birth_);
	fail_rank(b.rank);
	return b.fn(b.arg);
}

WRAPPED(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
	void *arg)
{
	birth *b = fail_now(FAIL_THREAD, NULL) ? NULL : __real_malloc(sizeof *b);
	if (!b)
		return EAGAIN;
	*b = (birth){ fn, arg, fail_my_rank() };
	const int rc = __real_pthread_create(thread, attr, live, b);
	if (rc != 0)
		free(b);
	return rc;
}
