/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LD_PRELOAD shim for the tests: SHIM=short makes every read and write move few bytes and be
 * interrupted often; SHIM=CALL=ERRNO[@N] lets the N-th call of CALL (default the first) and all
 * later ones fail, with ! behind it that call alone; SHIM=slow=MICROSECONDS delays each write at an
 * offset. CALL is read, write, fsync, flock, close (above 2), fallocate, alloc (aligned_alloc, and
 * mmap without a file), rename, unlink, truncate (by descriptor), thread, tmpfile (open with
 * O_TMPFILE). SHIM=hang=CALL[@N]: the N-th call creates the file named by SHIM_FILE and goes on
 * when that is gone; here CALL may be create as well (open with O_EXCL). SHIM=lie=CALL[@N]: the
 * N-th call, a write at an offset or a rename, says that it is done and does nothing.
 * SHIM=same=rename[@N]: the same, and then all files have the number of the one that was to be
 * renamed, as on a file system without numbers of its own. SHIM=flip=write@N: the N-th write at an
 * offset writes a wrong first bit. SHIM=size=BYTES: the file named by SHIM_FILE says that it has so
 * many. SHIM=cpus=N: the process may run on the first N processors, of a machine that has as many.
 * SHIM_CLOCK=SECONDS, beside any of these: every other look at the wall clock is so far ahead. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static atomic_uint calls;

/* Read once: other threads ask while the program may change its environment. */
static struct {
	int known;
	const char *plan, *file, *clock;
} told;

__attribute__((constructor)) static void look(void)
{
	told.plan = getenv("SHIM");
	told.file = getenv("SHIM_FILE");
	told.clock = getenv("SHIM_CLOCK");
	told.known = 1;
}

static const char *plan(void)
{
	if (!told.known)
		look();
	return told.plan ? told.plan : "";
}

static const char *named_file(void)
{
	if (!told.known)
		look();
	return told.file;
}

/* Wait in the call that SHIM=hang=CALL@N means. */
static void hang(const char *call, const char *name)
{
	size_t n = strlen(name);
	const char *file = named_file();

	if (strncmp(call, name, n) != 0 || (call[n] && call[n] != '@') || !file)
		return;
	if (atomic_fetch_add(&calls, 1) + 1 != (call[n] ? strtoul(call + n + 1, NULL, 10) : 1))
		return;
	if (mknod(file, S_IFREG | 0600, 0) != 0)
		abort();
	while (access(file, F_OK) == 0)
		usleep(1000);
}

/* True if this call of `name` is to fail; errno is then set. */
static int fails(const char *name)
{
	size_t n = strlen(name), call, first;
	const char *s = plan(), *at = strchr(s, '@');

	if (strncmp(s, "hang=", 5) == 0)
		hang(s + 5, name);
	if (strncmp(s, name, n) != 0 || s[n] != '=')
		return 0;
	call = atomic_fetch_add(&calls, 1) + 1;
	first = at ? strtoul(at + 1, NULL, 10) : 1;
	if (call < first || (call > first && strchr(s, '!')))
		return 0;
	errno = atoi(s + n + 1);
	return 1;
}

/* SHIM=how=CALL@N, with how "lie=", "same=" or "flip=": is it this call of `name`? */
static int strikes(const char *how, const char *name)
{
	size_t h = strlen(how), n = strlen(name);
	const char *s = plan(), *at = strchr(s, '@');

	if (strncmp(s, how, h) != 0 || strncmp(s + h, name, n) != 0 ||
	    (s[h + n] && s[h + n] != '@'))
		return 0;
	return atomic_fetch_add(&calls, 1) + 1 == (at ? strtoul(at + 1, NULL, 10) : 1);
}

static int lies(const char *name)
{
	return strikes("lie=", name);
}

static _Atomic ino_t same_number; /* 0: each file has its own */

/* How much of n bytes to move: 0 means be interrupted. */
static size_t some(size_t n)
{
	unsigned c;
	size_t most;

	if (strcmp(plan(), "short") != 0)
		return n;
	c = atomic_fetch_add(&calls, 1);
	most = c % 5 == 1 ? 1 : c % 5 * 3001 + 7;
	if (c % 3 == 0)
		return 0;
	return n < most ? n : most;
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

#define LIMIT(kind, n)                         \
	if (fails(kind))                       \
		return -1;                     \
	if ((n) > 0 && ((n) = some(n)) == 0) { \
		errno = EINTR;                 \
		return -1;                     \
	}

ssize_t write(int fd, const void *p, size_t n)
{
	if (fd > 2 || fd == 1) {
		LIMIT("write", n)
	}
	return ((ssize_t(*)(int, const void *, size_t))next("write"))(fd, p, n);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at)
{
	if (strncmp(plan(), "slow=", 5) == 0)
		usleep((useconds_t)atoi(plan() + 5));
	LIMIT("write", n)
	if (lies("write"))
		return (ssize_t)n;
	if (n > 0 && strikes("flip=", "write")) {
		unsigned char wrong = *(const unsigned char *)p ^ 1;
		((ssize_t(*)(int, const void *, size_t, off_t))next("pwrite64"))(fd, p, n, at);
		((ssize_t(*)(int, const void *, size_t, off_t))next("pwrite64"))(fd, &wrong, 1, at);
		return (ssize_t)n;
	}
	return ((ssize_t(*)(int, const void *, size_t, off_t))next("pwrite64"))(fd, p, n, at);
}

ssize_t read(int fd, void *p, size_t n)
{
	LIMIT("read", n)
	return ((ssize_t(*)(int, void *, size_t))next("read"))(fd, p, n);
}

/* SHIM=resize=BYTES: another program changes the size of the file named by SHIM_FILE meanwhile. */
static void meddle(void)
{
	const char *file = named_file();

	if (file && strncmp(plan(), "resize=", 7) == 0 && atomic_fetch_add(&calls, 1) == 0 &&
	    truncate(file, atol(plan() + 7)) != 0)
		abort();
}

ssize_t pread64(int fd, void *p, size_t n, off_t at)
{
	meddle();
	LIMIT("read", n)
	return ((ssize_t(*)(int, void *, size_t, off_t))next("pread64"))(fd, p, n, at);
}

int fstat64(int fd, struct stat64 *st)
{
	struct stat64 other;
	const char *file = named_file();
	int rc = ((int (*)(int, struct stat64 *))next("fstat64"))(fd, st);

	if (rc == 0 && file && strncmp(plan(), "size=", 5) == 0 && stat64(file, &other) == 0 &&
	    other.st_dev == st->st_dev && other.st_ino == st->st_ino)
		st->st_size = atol(plan() + 5);
	if (rc == 0 && same_number && S_ISREG(st->st_mode))
		st->st_ino = same_number;
	return rc;
}

int fstatat64(int dirfd, const char *path, struct stat64 *st, int flags)
{
	int rc = ((int (*)(int, const char *, struct stat64 *, int))next("fstatat64"))(dirfd, path,
										       st, flags);

	if (rc == 0 && same_number && S_ISREG(st->st_mode))
		st->st_ino = same_number;
	return rc;
}

static int rename_is_done(int dirfd, const char *path)
{
	struct stat64 st;

	if (lies("rename"))
		return 1;
	if (!strikes("same=", "rename"))
		return 0;
	if (fstatat64(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		same_number = st.st_ino;
	return 1;
}

int openat64(int dirfd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if ((flags & O_TMPFILE) == O_TMPFILE && fails("tmpfile"))
		return -1;
	if ((flags & O_EXCL) && fails("create"))
		return -1;
	return ((int (*)(int, const char *, int, ...))next("openat64"))(dirfd, path, flags, mode);
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	size_t cpus;

	if (strncmp(plan(), "cpus=", 5) != 0)
		return ((int (*)(pid_t, size_t, cpu_set_t *))next("sched_getaffinity"))(pid, bytes,
											set);
	cpus = strtoul(plan() + 5, NULL, 10);
	errno = EINVAL;
	if (8 * bytes < cpus)
		return -1;
	memset(set, 0, bytes);
	while (cpus-- > 0)
		CPU_SET_S(cpus, bytes, set);
	return 0;
}

int flock(int fd, int how)
{
	return fails("flock") ? -1 : ((int (*)(int, int))next("flock"))(fd, how);
}

int fsync(int fd)
{
	return fails("fsync") ? -1 : ((int (*)(int))next("fsync"))(fd);
}

int close(int fd)
{
	int rc = ((int (*)(int))next("close"))(fd);

	return fd > 2 && fails("close") ? -1 : rc;
}

int fallocate64(int fd, int mode, off_t at, off_t n)
{
	return fails("fallocate")
		       ? -1
		       : ((int (*)(int, int, off_t, off_t))next("fallocate64"))(fd, mode, at, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return fails("alloc") ? NULL : ((void *(*)(size_t, size_t))next("aligned_alloc"))(align, n);
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (fd < 0 && !(flags & MAP_STACK) && fails("alloc"))
		return MAP_FAILED;
	return ((void *(*)(void *, size_t, int, int, int, off_t))next("mmap64"))(at, n, prot, flags,
										 fd, off);
}

int renameat(int from, const char *a, int to, const char *b)
{
	if (rename_is_done(from, a))
		return 0;
	return fails("rename") ? -1
			       : ((int (*)(int, const char *, int, const char *))next("renameat"))(
					 from, a, to, b);
}

int renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
	if (rename_is_done(from, a))
		return 0;
	return fails("rename") ? -1
			       : ((int (*)(int, const char *, int, const char *, unsigned))next(
					 "renameat2"))(from, a, to, b, flags);
}

int ftruncate64(int fd, off_t n)
{
	return fails("truncate") ? -1 : ((int (*)(int, off_t))next("ftruncate64"))(fd, n);
}

int unlinkat(int dirfd, const char *path, int flags)
{
	return fails("unlink")
		       ? -1
		       : ((int (*)(int, const char *, int))next("unlinkat"))(dirfd, path, flags);
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
	if (fails("thread"))
		return errno;
	return ((int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))next(
		"pthread_create"))(t, a, fn, arg);
}

static time_t ahead(void)
{
	static atomic_uint looks;
	if (!told.known)
		look();
	const char *s = told.clock;

	return s && atomic_fetch_add(&looks, 1) % 2 == 0 ? atol(s) : 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int rc = ((int (*)(clockid_t, struct timespec *))next("clock_gettime"))(id, t);

	if (rc == 0 && id == CLOCK_REALTIME)
		t->tv_sec += ahead();
	return rc;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	int rc = ((int (*)(struct timeval *, void *))next("gettimeofday"))(t, zone);

	if (rc == 0)
		t->tv_sec += ahead();
	return rc;
}

time_t time(time_t *at)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (at)
		*at = t.tv_sec;
	return t.tv_sec;
}
