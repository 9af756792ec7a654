/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes that are complete despite EINTR, short counts, and the limit of bytes per call.
 */
#include "file.h"
#include "base/arith.h"
#include "base/size.h"
#include "base/progress.h"
#include "base/sysfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 1 << 30 };

/* Return whether to repeat a call that has failed. If another program has made a pipe nonblocking,
 * wait until the pipe is ready. */
static bool file_retry(int fd, short event)
{
	struct pollfd p = { .fd = fd, .events = event };
	if (errno == EAGAIN)
		return poll(&p, 1, -1) > 0 || errno == EINTR;
	return errno == EINTR;
}

/* Read up to `bytes` at offset, or with FILE_APPEND from a stream; *got < bytes: the file has
 * ended. Return 0 or an errno. */
static int file_read(int fd, char *buf, size_t bytes, uint64_t offset, size_t *got)
{
	for (*got = 0; *got < bytes;) {
		const size_t most = size_min(bytes - *got, MOST_AT_ONCE);
		const ssize_t n = offset == FILE_APPEND
					  ? read(fd, buf + *got, most)
					  : pread(fd, buf + *got, most, (off_t)(offset + *got));
		if (n < 0 && file_retry(fd, POLLIN))
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			break;
		progress_add(PROGRESS_READ, (uint64_t)n);
		*got += (size_t)n;
	}
	return 0;
}

status file_read_at(int fd, void *buf, size_t bytes, uint64_t offset, const char *path, err *e)
{
	size_t got;
	const int errnum = file_read(fd, buf, bytes, offset, &got);
	if (errnum)
		return err_sys(e, errnum, "cannot read %s at byte %" PRIu64, quoted(path),
			       offset + got);
	return got == bytes
		       ? ST_OK
		       : err_set(e, ST_IO,
				 "%s ends at byte %" PRIu64 ": it was cut short while being read",
				 quoted(path), offset + got);
}

status file_read_some(int fd, void *buf, size_t bytes, size_t *got, const char *path, err *e)
{
	const int errnum = file_read(fd, buf, bytes, FILE_APPEND, got);
	return errnum ? err_sys(e, errnum, "cannot read %s", quoted(path)) : ST_OK;
}

status file_write_at(int fd, const void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e)
{
	for (const char *p = buf; bytes > 0;) {
		const size_t most = size_min(bytes, MOST_AT_ONCE);
		const ssize_t n = offset == FILE_APPEND ? write(fd, p, most)
							: pwrite(fd, p, most, (off_t)offset);
		if (n < 0 && file_retry(fd, POLLOUT))
			continue;
		if (n < 0)
			return err_sys(e, errno, "cannot write %s", quoted(path));
		progress_add(PROGRESS_WRITTEN, (uint64_t)n);
		p += n;
		bytes -= (size_t)n;
		offset += offset == FILE_APPEND ? 0 : (uint64_t)n;
	}
	return ST_OK;
}

void file_start_writeback(int fd, uint64_t offset, uint64_t bytes)
{
	(void)sync_file_range(fd, (off_t)offset, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
}

static bool is_in_memory(const struct statfs *fs)
{
	return fs->f_type == TMPFS_MAGIC || fs->f_type == RAMFS_MAGIC;
}

bool file_is_in_memory(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && is_in_memory(&fs);
}

typedef struct overlay {
	dev_t dev;
	bool in_memory;
} overlay;

/* Look at the upper directory if this line of mountinfo is the overlay's. Return whether it is. */
static bool overlay_look(void *overlay_, char *line)
{
	overlay *o = overlay_;
	unsigned major_, minor_;
	char *upper = strstr(line, " - overlay ") ? strstr(line, ",upperdir=") : NULL;
	if (!upper || sscanf(line, "%*u %*u %u:%u", &major_, &minor_) != 2 ||
	    makedev(major_, minor_) != o->dev)
		return false;
	upper += strlen(",upperdir=");
	upper[strcspn(upper, ",\n")] = '\0';
	const int fd = open(upper, O_PATH | O_CLOEXEC);
	o->in_memory = fd >= 0 && file_is_in_memory(fd);
	if (fd >= 0)
		close(fd);
	return true;
}

bool file_takes_memory(int fd)
{
	struct statfs fs;
	struct stat st;
	overlay o = { .in_memory = false };
	if (fstatfs(fd, &fs) != 0)
		return false;
	if (is_in_memory(&fs))
		return true;
	if (fs.f_type == OVERLAYFS_SUPER_MAGIC && fstat(fd, &st) == 0) {
		o.dev = st.st_dev;
		sysfile_lines("", "/proc/self/mountinfo", overlay_look, &o);
	}
	return o.in_memory;
}

/* The kernel grants a lease for reading only if no process has the file open for writing, or
 * mapped. If a process opens the file during this call, it waits for a moment, and we get a signal,
 * which must be one that is ignored. Leases are for the owner of a file and for root. For others, a
 * file in memory is treated as written; on disks, the kernel often changes the times anyway. */
bool file_is_written(int fd)
{
	struct statfs fs;
	if (fstatfs(fd, &fs) != 0)
		return false;
	const bool in_memory = is_in_memory(&fs);
	if (!in_memory && fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC &&
	    fs.f_type != BTRFS_SUPER_MAGIC)
		return false;
	if (fcntl(fd, F_SETSIG, SIGURG) != 0 || fcntl(fd, F_SETLEASE, F_RDLCK) != 0)
		return in_memory || errno == EAGAIN;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

bool file_free_bytes(int fd, uint64_t *bytes)
{
	struct statvfs fs;
	*bytes = UINT64_MAX;
	if (fstatvfs(fd, &fs) != 0)
		return false;
	/* a tmpfs without a limit reports 0 blocks */
	if (fs.f_blocks == 0 ||
	    __builtin_mul_overflow((uint64_t)fs.f_bavail, (uint64_t)fs.f_frsize, bytes))
		*bytes = UINT64_MAX;
	return true;
}

status file_reserve(int fd, uint64_t bytes, const char *path, err *e)
{
	char size[SIZE_TEXT_BYTES];
	uint64_t left;
	int errnum = 0;
	if (bytes > 0 && file_is_in_memory(fd)) {
		(void)file_free_bytes(fd, &left);
		errnum = bytes <= left ? 0 : ENOSPC;
	} else if (bytes > 0) {
		do
			errnum = fallocate(fd, 0, 0, (off_t)bytes) == 0 ? 0 : errno;
		while (errnum == EINTR);
	}
	/* EBADF: a directory that was not recognized as one in memory */
	if (errnum == 0 || errnum == EOPNOTSUPP || errnum == ENOSYS || errnum == EBADF)
		return ST_OK;
	return err_sys(e, errnum, "cannot reserve %s for %s", size_text(bytes, size), quoted(path));
}

status file_sync_dir(int dirfd, const char *path, err *e)
{
	return fsync(dirfd) == 0 || errno == EINVAL
		       ? ST_OK
		       : err_sys(e, errno, "cannot sync the directory of %s", quoted(path));
}

/* --------------------------------------------------------------------------- which file it is */

/* Set *id to the identity of a file and, unless bytes is NULL, *bytes to its size. Return false,
 * with errno, if it is not a regular file. */
static bool file_identify(int dirfd, const char *name, int flags, file_id *id, uint64_t *bytes)
{
	struct statx st;
	*id = (file_id){ 0 };
	if (statx(dirfd, name, flags, STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BTIME, &st) != 0)
		return false;
	id->inode = st.stx_ino;
	if (st.stx_mask & STATX_BTIME) {
		id->born_s = st.stx_btime.tv_sec;
		id->born_ns = st.stx_btime.tv_nsec;
	}
	if (bytes)
		*bytes = st.stx_size;
	errno = ENOENT; /* for a name that is not a regular file */
	return S_ISREG(st.stx_mode) || (flags & AT_EMPTY_PATH);
}

bool file_id_of(int fd, file_id *id)
{
	return file_identify(fd, "", AT_EMPTY_PATH, id, NULL);
}

bool file_id_at(int dirfd, const char *name, file_id *id)
{
	return file_identify(dirfd, name, AT_SYMLINK_NOFOLLOW, id, NULL);
}

bool file_exists(int dirfd, const char *name)
{
	struct stat st;
	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

bool file_is(int dirfd, const char *name, const file_id *id)
{
	file_id there;
	uint64_t bytes;
	if (!file_identify(dirfd, name, AT_SYMLINK_NOFOLLOW, &there, &bytes))
		return false;
	if (!id->inode)
		return bytes == 0;
	const bool dated = (id->born_s || id->born_ns) && (there.born_s || there.born_ns);
	return id->inode == there.inode &&
	       (!dated || (id->born_s == there.born_s && id->born_ns == there.born_ns));
}

bool file_remove(int dirfd, const char *name, const file_id *id, unsigned *removed)
{
	if (!file_is(dirfd, name, id))
		return true;
	if (unlinkat(dirfd, name, 0) != 0)
		return errno == ENOENT;
	if (removed)
		++*removed;
	return true;
}

int file_rename_new(int dirfd, const char *from, const char *to)
{
	int rc = renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE);
	if (rc == 0 || (errno != EINVAL && errno != ENOSYS))
		return rc;
	/* this file system has no such rename; a hard link never replaces a file either */
	rc = linkat(dirfd, from, dirfd, to, 0);
	if (rc == 0) /* if this fails, the next job removes the old name */
		(void)unlinkat(dirfd, from, 0);
	return rc;
}

/* ------------------------------------------------------------------------------ names with %r */

/* A pattern is read as data and never used as a format of printf. */

enum { RANK_TEXT_BYTES = 24 };

/* Return the length of the directive (such as %r, %3r) at a percent sign, or 0 if it is invalid.
 * *width is -1 for %%. */
static size_t directive(const char *s, int *width)
{
	if (s[1] == '%') {
		*width = -1;
		return 2;
	}
	const bool digit = s[1] >= '1' && s[1] <= '9';
	*width = digit ? s[1] - '0' : 0;
	return s[1 + digit] == 'r' ? 2u + digit : 0;
}

bool name_is_per_rank(const char *pattern)
{
	for (const char *s = strchr(pattern, '%'); s; s = strchr(s, '%')) {
		int width;
		const size_t n = directive(s, &width);
		if (n && width >= 0)
			return true;
		s += n ? n : 1;
	}
	return false;
}

char *name_expand(const char *pattern, int rank, err *e)
{
	char *out = malloc(strlen(pattern) * (RANK_TEXT_BYTES + 1) + 1), *o = out;
	if (!out) {
		err_set(e, ST_RESOURCE, "no memory for the name %s", quoted(pattern));
		return NULL;
	}
	for (const char *s = pattern; *s;) {
		int width;
		if (*s != '%') {
			*o++ = *s++;
			continue;
		}
		const size_t n = directive(s, &width);
		if (n == 0) {
			err_set(e, ST_REFUSED, "name %s: only r (the rank) or %% may follow %%",
				quoted(pattern));
			free(out);
			return NULL;
		}
		s += n;
		if (width < 0)
			*o++ = '%';
		else if (rank == RANK_MANIFEST)
			o = stpcpy(o, "manifest");
		else
			o += snprintf(o, RANK_TEXT_BYTES, "%0*d", width, rank);
	}
	*o = '\0';
	return out;
}

/* -------------------------------------------------------------------------------------- roles */

/* A table of roles. Looking at a file costs one read of a few hundred bytes. */

enum { MARKS = 2, WORDS = 7, HEAD_BYTES_MOST = 512 };

/* mark: texts that files of this role may begin with, as words. White space may separate them. */
typedef struct role_row {
	const char *name, *writer, *mark[MARKS][WORDS];
} role_row;

#define FORMAT(name) "{", "\"format\"", ":", "\"" name "\""

static const role_row rows[FILE_ROLES] = {
	[ROLE_ANY] = { .name = "file" },
	[ROLE_INPUT] = { .name = "input" },
	[ROLE_SOURCE_MANIFEST] = { .name = "the input's manifest" },
	[ROLE_PLATFORM] = { .name = "platform" },
	[ROLE_LIST] = { .name = "list of inputs" },
	[ROLE_SPEEDS] = { .name = "speeds file" },
	[ROLE_ORDER] = { .name = "order" },
	[ROLE_LINKS] = { .name = "links file" },
	[ROLE_DISKS] = { .name = "disks file" },
	[ROLE_SOURCE_REPORT] = { .name = "report" },
	[ROLE_WORKDIR] = { .name = "the workdir's" },
	[ROLE_STDOUT] = { .name = "output" }, /* its path is "-" */
	[ROLE_OUTPUT] = { .name = "output" },
	[ROLE_MANIFEST] = { "manifest",
			    "hetsort as a manifest",
			    { { FORMAT("hetsort-manifest") } } },
	[ROLE_WISDOM] = { "wisdom", "hetsort --wisdom", { { "hetpart-wisdom " } } },
	[ROLE_REPORT] = { "report",
			  "hetsort --report",
			  { { FORMAT("hetsort-report") }, { FORMAT("hetsort-check") } } },
	[ROLE_TRACE] = { "trace",
			 "hetsort --trace",
			 { { "{", "\"otherData\"", ":", "{", "\"program\"", ":",
			     "\"hetsort\"" } } },
	[ROLE_PAGE] = { "page", "hetsort --html or hetsort-report", { { ROLE_PAGE_MARK } } },
	[ROLE_SIM_REPORT] = { "report",
			      "hetsim --report",
			      { { ROLE_SIM_REPORT_MARK }, { FORMAT("hetsim-report") } } },
};

const char *role_name(file_role r)
{
	return rows[r].name;
}

const char *role_writer(file_role r)
{
	return rows[r].writer;
}

bool role_begins(file_role r, const char *text, size_t bytes)
{
	for (size_t i = 0; i < MARKS; i++) {
		const char *const *word = rows[r].mark[i];
		size_t at = 0, matched = 0;
		for (; matched < WORDS && word[matched]; matched++) {
			const size_t n = strlen(word[matched]);
			while (at < bytes && memchr(" \t\n\r", text[at], 4))
				at++;
			if (bytes - at < n || memcmp(text + at, word[matched], n) != 0)
				break;
			at += n;
		}
		if (matched && (matched == WORDS || !word[matched]))
			return true;
	}
	return false;
}

/* Return 1 if the file begins like files of this role, 0 if it is empty, else -1. */
static int role_judge(file_role r, int dirfd, const char *name, int flags)
{
	char text[HEAD_BYTES_MOST];
	struct iovec v = { text, sizeof text };
	struct stat st;
	ssize_t n = -1;
	/* do not open a pipe: closing it again would end its writer */
	if (fstatat(dirfd, name, &st, flags ? AT_SYMLINK_NOFOLLOW : 0) != 0 || !S_ISREG(st.st_mode))
		return -1;
	const int fd = openat(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		do
			n = preadv2(fd, &v, 1, 0, 0);
		while (n < 0 && errno == EINTR);
	close(fd);
	return n > 0 && role_begins(r, text, (size_t)n) ? 1 : n == 0 ? 0 : -1;
}

bool role_begins_file(file_role r, const char *path)
{
	return role_judge(r, AT_FDCWD, path, 0) > 0;
}

bool role_wrote(file_role r, int dirfd, const char *name)
{
	return role_judge(r, dirfd, name, O_NOFOLLOW) >= 0;
}
