/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library for LD_PRELOAD in tests: it makes system calls, allocations and MPI calls fail on
 * demand, in programs without changes. HETSORT_SHIM has the grammar of HETSORT_FAIL
 * (sort/testing/failpoint.h): POINT[,POINT...].
 *
 *   CALL[:N[+]][=HOW][@rankR]   the N-th CALL (default: the first) of the process, or of that rank
 *                               of an MPI job; with +, all later calls, too
 *
 * CALL is read, write, fsync, flock, close (above 2), fallocate, rename, noreplace (a rename that
 * may not replace a file), link, unlink, truncate (by descriptor), create (open with O_EXCL),
 * tmpfile (open with O_TMPFILE), thread, memfd, alloc (aligned_alloc, and mmap without a file), or
 * the name of an MPI call without "MPI_", such as Irecv (only if this file was compiled with
 * -DSHIM_MPI). HOW is an errno (default EIO; MPI_ERR_OTHER for MPI), or
 *
 *   short         half of the bytes are moved, or MPI receives a buffer of half the size
 *   kill, stop    the process gets SIGKILL before the call, or SIGSTOP after a call of MPI
 *   hang          the call creates the file named by HETSORT_SHIM_FILE, and continues when this
 *                 file is removed
 *   lie           a write at an offset, or a rename, does nothing and reports success
 *   same          rename only: like lie; after that, all files have the inode number of the renamed
 *                 file, as on a file system without inode numbers
 *   flip          write at an offset only: one bit of the first byte is written wrong
 *
 * Points without a call: short (every read and write moves few bytes and is often interrupted),
 * slow=MICROSECONDS (wait before each write at an offset), size=BYTES (fstat() reports this size
 * for the file named by HETSORT_SHIM_FILE), resize=BYTES (set the size of that file before the
 * first read at an offset), cpus=N (the process may use the first N processors), clock=SECONDS
 * (every other reading of the wall clock is ahead by this time), host=N (the host is called hostN;
 * 0: its name is 64 letters x), boot=N (its kernel has drawn the number N; 0: the number cannot be
 * read).
 *
 * Lies about the machine: files of /proc and /sys are read below the directory HETSORT_SHIM_ROOT if
 * they exist there. Files in the directory HETSORT_SHIM_TMPFS and below seem to be on a tmpfs; no
 * other file does. With HETSORT_SHIM_FUSE they seem to be on a file system of a user program.
 *
 * HETSORT_SHIM_SOCKETS: see shim-mpi.h.
 *
 * In a test that is linked with the shim, allocations can be counted and refused (scripts/shim.h).
 */
#define SHIM_ITSELF
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
#define LEN(a)     (sizeof(a) / sizeof *(a))

/* -------------------------------------------------------------------------------------- grammar */

typedef enum how { NONE, FAIL, SHORT, KILL, STOP, HANG, LIE, SAME, FLIP } how;

enum { MOST_POINTS = 8, CALL_BYTES = 24 };

typedef struct point {
	char call[CALL_BYTES];
	unsigned long n;
	int later, errnum;
	how how;
	atomic_ulong seen;
} point;

static point points[MOST_POINTS];
static size_t npoints;
static const char *file; /* HETSORT_SHIM_FILE */
static int few;          /* "short" */
static struct setting {
	const char *name;
	int given;
	long value;
} slow = { "slow=", 0, 0 }, size = { "size=", 0, 0 }, resize = { "resize=", 0, 0 },
  cpus = { "cpus=", 0, 0 }, ahead = { "clock=", 0, 0 }, host = { "host=", 0, 0 },
  boot = { "boot=", 0, 0 };
static struct setting *const settings[] = { &slow, &size, &resize, &cpus, &ahead, &host, &boot };
static atomic_int known; /* HETSORT_SHIM has been read; other threads may read this at any time */

static const struct word {
	const char *name;
	how how;
	int errnum;
} words[] = {
	{ "short", SHORT, 0 },
	{ "kill", KILL, 0 },
	{ "stop", STOP, 0 },
	{ "hang", HANG, 0 },
	{ "lie", LIE, 0 },
	{ "same", SAME, 0 },
	{ "flip", FLIP, 0 },
	{ "EIO", FAIL, EIO },
	{ "ENOSPC", FAIL, ENOSPC },
	{ "EDQUOT", FAIL, EDQUOT },
	{ "EAGAIN", FAIL, EAGAIN },
	{ "EMFILE", FAIL, EMFILE },
	{ "EFBIG", FAIL, EFBIG },
	{ "EACCES", FAIL, EACCES },
	{ "ESTALE", FAIL, ESTALE },
	{ "ENOMEM", FAIL, ENOMEM },
	{ "ENOSYS", FAIL, ENOSYS },
	{ "EINVAL", FAIL, EINVAL },
	{ "EOPNOTSUPP", FAIL, EOPNOTSUPP },
};

static const char calls[] =
	" read write fsync flock close fallocate rename noreplace link unlink truncate create "
	"tmpfile thread memfd alloc ";

/* Read a word into text. Return the rest of s. */
static const char *word_at(const char *s, char text[CALL_BYTES])
{
	const size_t n = strcspn(s, ":+=@,");
	snprintf(text, CALL_BYTES, "%.*s", (int)n, s);
	return s + n;
}

static const char *how_at(const char *s, point *p)
{
	char text[CALL_BYTES];
	const char *after = word_at(s, text);
	for (size_t i = 0; i < LEN(words); i++)
		if (strcmp(words[i].name, text) == 0) {
			p->how = words[i].how;
			p->errnum = words[i].errnum;
			return after;
		}
	return s;
}

/* Read a point of a call into p. Return the rest of s, or a text that begins with a
 * letter if s is invalid. */
static const char *point_at(const char *s, point *p)
{
	const char *own = getenv("OMPI_COMM_WORLD_RANK");
	char rank[CALL_BYTES], name[CALL_BYTES + 2], *end;
	s = word_at(s, p->call);
	snprintf(name, sizeof name, " %s ", p->call);
	if (!strstr(calls, name) && (*p->call < 'A' || *p->call > 'Z'))
		return "not a call";
	p->n = 1;
	p->how = FAIL;
	p->errnum = EIO;
	if (*s == ':') {
		p->n = strtoul(s + 1, &end, 10);
		if (p->n == 0)
			return "no number";
		s = end;
	}
	p->later = *s == '+';
	s += p->later;
	if (*s == '=')
		s = how_at(s + 1, p);
	if (strncmp(s, "@rank", 5) == 0) {
		s = word_at(s + 5, rank);
		if (!*rank)
			return "no rank";
		if (!own)
			own = getenv("PMI_RANK");
		if (!own || strcmp(own, rank) != 0)
			p->n = 0; /* the point is for another rank: never strike */
	}
	return s;
}

static const char *setting_at(const char *s)
{
	char *end;
	for (size_t i = 0; i < LEN(settings); i++)
		if (strncmp(s, settings[i]->name, strlen(settings[i]->name)) == 0) {
			settings[i]->given = 1;
			settings[i]->value = strtol(s + strlen(settings[i]->name), &end, 10);
			return end;
		}
	few |= strncmp(s, "short", 5) == 0;
	return strncmp(s, "short", 5) == 0 ? s + 5 : s;
}

__attribute__((constructor)) static void look(void)
{
	const char *s = getenv("HETSORT_SHIM");
	if (atomic_exchange(&known, 1))
		return;
	file = getenv("HETSORT_SHIM_FILE");
	while (s && *s) {
		const char *const start = s;
		s = setting_at(s);
		if (s == start && npoints < MOST_POINTS)
			s = point_at(s, &points[npoints++]);
		if (s == start || (*s && *s != ',')) {
			fprintf(stderr, "HETSORT_SHIM: cannot read the point at %s\n", start);
			_exit(99);
		}
		s += *s == ',';
	}
}

/* ------------------------------------------------------------------------------------- striking */

static void hang(void)
{
	if (!file || mknod(file, S_IFREG | 0600, 0) != 0)
		abort();
	while (access(file, F_OK) == 0)
		usleep(1000);
}

#define BIT(how) (1U << (how))
enum { ANY_CALL = BIT(FAIL) | BIT(SHORT) | BIT(KILL) | BIT(STOP) | BIT(HANG) };

/* Count a call for the points whose way to fail is in `ways`. Return how the call must fail, and
 * set errno for FAIL. */
static how struck(const char *call, unsigned ways)
{
	how h = NONE;
	if (!known)
		look();
	for (size_t i = 0; i < npoints; i++) {
		point *p = &points[i];
		if (strcmp(p->call, call) != 0 || !(BIT(p->how) & ways) || p->n == 0)
			continue;
		const unsigned long seen = atomic_fetch_add(&p->seen, 1) + 1;
		if (seen < p->n || (seen > p->n && !p->later))
			continue;
		h = p->how;
		if (h == KILL)
			(void)kill(getpid(), SIGKILL);
		if (h == HANG)
			hang();
		if (h == FAIL)
			errno = p->errnum;
	}
	return h;
}

static int fails(const char *call)
{
	return struck(call, ANY_CALL) == FAIL;
}

/* Return how a read or write must fail. Reduce *n to the bytes that it may move. */
static how limited(const char *call, unsigned ways, size_t *n)
{
	static atomic_uint moved;
	const how h = struck(call, ways);
	if (h == SHORT && *n > 1)
		*n /= 2;
	if (h == FAIL || !few || *n == 0)
		return h;
	const unsigned c = atomic_fetch_add(&moved, 1);
	const size_t most = c % 5 == 1 ? 1 : c % 5 * 3001 + 7;
	errno = EINTR;
	*n = *n < most ? *n : most;
	return c % 3 == 0 ? FAIL : h;
}

/* ---------------------------------------------------------------------------------------- files */

ssize_t write(int fd, const void *p, size_t n)
{
	if (fd != 0 && fd != 2 && limited("write", ANY_CALL, &n) == FAIL)
		return -1;
	return NEXT(write)(fd, p, n);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	if (!known)
		look();
	if (slow.given)
		usleep((useconds_t)slow.value);
	const how h = limited("write", ANY_CALL | BIT(LIE) | (n > 0 ? BIT(FLIP) : 0), &n);
	if (h == FAIL || h == LIE)
		return h == FAIL ? -1 : (ssize_t)n;
	const ssize_t rc = NEXT(pwrite64)(fd, p, n, at);
	const unsigned char wrong = n > 0 ? *(const unsigned char *)p ^ 1 : 0;
	return h == FLIP && NEXT(pwrite64)(fd, &wrong, 1, at) != 1 ? -1 : rc;
}

ssize_t read(int fd, void *p, size_t n)
{
	return limited("read", ANY_CALL, &n) == FAIL ? -1 : NEXT(read)(fd, p, n);
}

ssize_t pread64(int fd, void *p, size_t n, off64_t at)
{
	static atomic_int done;
	if (!known)
		look();
	if (resize.given && file && !atomic_exchange(&done, 1) && truncate(file, resize.value) != 0)
		abort();
	return limited("read", ANY_CALL, &n) == FAIL ? -1 : NEXT(pread64)(fd, p, n, at);
}

static _Atomic ino_t same_number; /* 0: each file has its own number */

int fstat64(int fd, struct stat64 *st)
{
	struct stat64 other;
	const int rc = NEXT(fstat64)(fd, st);
	if (rc == 0 && file && size.given && stat64(file, &other) == 0 &&
	    other.st_dev == st->st_dev && other.st_ino == st->st_ino)
		st->st_size = size.value;
	if (rc == 0 && same_number && S_ISREG(st->st_mode))
		st->st_ino = same_number;
	return rc;
}

int fstatat64(int dir, const char *path, struct stat64 *st, int flags)
{
	const int rc = NEXT(fstatat64)(dir, path, st, flags);
	if (rc == 0 && same_number && S_ISREG(st->st_mode))
		st->st_ino = same_number;
	return rc;
}

FILE *fopen64(const char *path, const char *mode)
{
	const char *root = getenv("HETSORT_SHIM_ROOT");
	char there[4096];
	const int is_system = strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
	const int n = root && is_system ? snprintf(there, sizeof there, "%s%s", root, path) : 0;
	const int exists = n > 0 && (size_t)n < sizeof there && access(there, F_OK) == 0;
	return NEXT(fopen64)(exists ? there : path, mode);
}

int fstatfs64(int fd, struct statfs64 *fs)
{
	const char *top = getenv("HETSORT_SHIM_TMPFS");
	const size_t len = top ? strlen(top) : 0;
	char self[40], path[4096];
	const int rc = NEXT(fstatfs64)(fd, fs);
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	const ssize_t n = rc == 0 && top ? readlink(self, path, sizeof path - 1) : -1;
	path[n > 0 ? n : 0] = '\0';
	if (n >= 0)
		fs->f_type =
			strncmp(path, top, len) == 0 && (path[len] == '/' || !path[len])
				? (getenv("HETSORT_SHIM_FUSE") ? FUSE_SUPER_MAGIC : TMPFS_MAGIC)
				: EXT4_SUPER_MAGIC;
	return rc;
}

static how renamed(int dir, const char *path)
{
	struct stat64 st;
	const how h = struck("rename", ANY_CALL | BIT(LIE) | BIT(SAME));
	if (h == SAME && fstatat64(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		same_number = st.st_ino;
	return h == SAME ? LIE : h;
}

int renameat(int from, const char *a, int to, const char *b)
{
	const how h = renamed(from, a);
	return h == FAIL ? -1 : h == LIE ? 0 : NEXT(renameat)(from, a, to, b);
}

int renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
	const how h = (flags & RENAME_NOREPLACE) && fails("noreplace") ? FAIL : renamed(from, a);
	return h == FAIL ? -1 : h == LIE ? 0 : NEXT(renameat2)(from, a, to, b, flags);
}

int open64(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (!boot.given || strcmp(path, "/proc/sys/kernel/random/boot_id") != 0)
		return NEXT(open64)(path, flags, mode);
	errno = ENOENT;
	const int fd = boot.value ? NEXT(memfd_create)("boot_id", MFD_CLOEXEC) : -1;
	if (fd >= 0 && (dprintf(fd, "%ld\n", boot.value) < 0 || lseek(fd, 0, SEEK_SET) < 0))
		abort();
	return fd;
}

int openat64(int dir, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if ((flags & O_TMPFILE) == O_TMPFILE && fails("tmpfile"))
		return -1;
	return (flags & O_EXCL) && fails("create") ? -1 : NEXT(openat64)(dir, path, flags, mode);
}

int close(int fd)
{
	const int rc = NEXT(close)(fd);
	return fd > 2 && fails("close") ? -1 : rc;
}

#define MAY_FAIL(call, name, parameters, ...)                      \
	int name parameters                                        \
	{                                                          \
		return fails(call) ? -1 : NEXT(name)(__VA_ARGS__); \
	}

MAY_FAIL("flock", flock, (int fd, int op), fd, op)
MAY_FAIL("fsync", fsync, (int fd), fd)
MAY_FAIL("fallocate", fallocate64, (int fd, int mode, off64_t at, off64_t n), fd, mode, at, n)
MAY_FAIL("truncate", ftruncate64, (int fd, off64_t n), fd, n)
MAY_FAIL("link", linkat, (int from, const char *a, int to, const char *b, int flags), from, a, to,
	 b, flags)
MAY_FAIL("unlink", unlinkat, (int dir, const char *path, int flags), dir, path, flags)
MAY_FAIL("memfd", memfd_create, (const char *name, unsigned flags), name, flags)

int uname(struct utsname *u)
{
	const int rc = NEXT(uname)(u);
	if (host.given)
		snprintf(u->nodename, sizeof u->nodename, "host%ld", host.value);
	if (host.given && host.value == 0)
		memset(u->nodename, 'x', sizeof u->nodename - 1);
	return rc;
}

/* -------------------------------------------------------------------- memory, threads, processors
 */

shim_state shim = { .until = -1 };

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t of);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

#define OURS() is_ours((uintptr_t)__builtin_return_address(0))

static int is_ours(uintptr_t caller)
{
	return caller >= (uintptr_t)shim.from && caller < (uintptr_t)shim.to;
}

/* Count an allocation of n bytes. Return whether it must fail. */
static int refused(size_t n)
{
	shim.asked += n;
	const int now = shim.until >= 0 && atomic_fetch_sub(&shim.until, 1) == 0;
	if (now)
		errno = ENOMEM;
	return now;
}

void *malloc(size_t n)
{
	const int ours = OURS();
	void *p = ours && refused(n) ? NULL : __libc_malloc(n);
	shim.live += ours && p;
	return p;
}

void *calloc(size_t n, size_t of)
{
	const int ours = OURS();
	void *p = ours && refused(n * of) ? NULL : __libc_calloc(n, of);
	shim.live += ours && p;
	return p;
}

void *realloc(void *p, size_t n)
{
	const int ours = OURS();
	void *q = ours && refused(n) ? NULL : __libc_realloc(p, n);
	shim.live += ours && !p && q;
	return q;
}

void free(void *p)
{
	shim.live -= OURS() && p;
	__libc_free(p);
}

void *aligned_alloc(size_t align, size_t n)
{
	return fails("alloc") ? NULL : NEXT(aligned_alloc)(align, n);
}

/* Return the number of pages of n bytes. Mappings are counted in pages, because they may be
 * unmapped in parts. */
static long pages(size_t n)
{
	enum { PAGE_BYTES = 4096 };
	return (long)(n / PAGE_BYTES + (n % PAGE_BYTES > 0));
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t off)
{
	const int ours = OURS();
	if (ours && refused(n)) {
		shim.not_shared = flags & MAP_SHARED;
		return MAP_FAILED;
	}
	if (fd < 0 && !(flags & MAP_STACK) && fails("alloc"))
		return MAP_FAILED;
	shim.live += ours ? pages(n) : 0;
	return NEXT(mmap64)(at, n, prot, flags, fd, off);
}

int munmap(void *p, size_t n)
{
	shim.live -= OURS() ? pages(n) : 0;
	return NEXT(munmap)(p, n);
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
	if (shim.no_threads)
		return EAGAIN;
	return fails("thread") ? errno : NEXT(pthread_create)(t, a, fn, arg);
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	if (!known)
		look();
	if (!cpus.given)
		return NEXT(sched_getaffinity)(pid, bytes, set);
	errno = EINVAL;
	if (8 * bytes < (size_t)cpus.value)
		return -1;
	memset(set, 0, bytes);
	for (long i = 0; i < cpus.value; i++)
		CPU_SET_S((size_t)i, bytes, set);
	return 0;
}

/* ---------------------------------------------------------------------------------------- clock */

static time_t lead(void)
{
	static atomic_uint looks;
	if (!known)
		look();
	return ahead.given && atomic_fetch_add(&looks, 1) % 2 == 0 ? ahead.value : 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	const int rc = NEXT(clock_gettime)(id, t);
	if (rc == 0 && id == CLOCK_REALTIME)
		t->tv_sec += lead();
	return rc;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	const int rc = NEXT(gettimeofday)(t, zone);
	if (rc == 0)
		t->tv_sec += lead();
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

#ifdef SHIM_MPI
#	include "scripts/shim-mpi.h"
#endif
