/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct I/O saves the copy to the page cache and the cache's memory; io_uring has several segments
 * of a transfer under way. Both are attempts: what they do not do at once (a file system that
 * refuses, a short count) is done by blocking calls through the page cache, which also make the
 * messages. */
#include "io_fd.h"
#include "base/clock.h"
#include "file.h"
#include "base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { PROBES = 32, MOST_AT_ONCE = 64 << 20 };

size_t io_fd_chunk_recs(uint32_t record_bytes, size_t bytes)
{
	size_t unit = IO_FD_ALIGN; /* records in the smallest common multiple of record and block */
	for (uint32_t r = record_bytes; r % 2 == 0 && unit > 1; r /= 2)
		unit /= 2;
	if (unit * record_bytes <= bytes)
		return bytes / (unit * record_bytes) * unit;
	return bytes > record_bytes ? bytes / record_bytes : 1;
}

int io_fd_open_direct(int fd, int access_mode)
{
	char self[32];
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	return open(self, access_mode | O_DIRECT | O_CLOEXEC);
}

/* Files that are nowhere else; newer kernels let them be opened past the page cache all the same.
 */
static bool is_in_memory(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

bool io_fd_is_cached(int fd, uint64_t offset, uint64_t bytes)
{
	unsigned there = 0;
	if (is_in_memory(fd))
		return true;
	for (unsigned i = 0; i < PROBES && bytes > 0; i++) {
		char c;
		struct iovec v = { &c, 1 };
		const uint64_t at = offset + bytes / PROBES * i;
		there += preadv2(fd, &v, 1, (off_t)at, RWF_NOWAIT) == 1;
	}
	return there > PROBES / 2;
}

void io_fd_will_read(io_fd *f, direct_io when, uint64_t offset, uint64_t bytes)
{
	if (when == DIRECT_ALWAYS ||
	    (when == DIRECT_AUTO && !io_fd_is_cached(f->fd, offset, bytes)))
		f->direct = io_fd_open_direct(f->fd, O_RDONLY);
	if (f->direct < 0)
		(void)posix_fadvise(f->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_SEQUENTIAL);
}

/* How many bytes of [offset, offset + bytes) can go past the page cache; *head before do not. */
static size_t direct_part(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
			  size_t *head)
{
	const size_t to_page = (size_t)(-offset % IO_FD_ALIGN);
	*head = bytes;
	if (f->direct < 0 || (uintptr_t)buf % IO_FD_ALIGN != offset % IO_FD_ALIGN ||
	    bytes < to_page)
		return 0;
	*head = to_page;
	return (bytes - to_page) / IO_FD_ALIGN * IO_FD_ALIGN;
}

/* Moves bytes from p on past the page cache; returns how many it could move. */
static size_t move_direct(const io_fd *f, unsigned char *p, size_t bytes, uint64_t offset,
			  bool writing)
{
	size_t done = 0;
	while (done < bytes) {
		const size_t left = bytes - done, most = left < MOST_AT_ONCE ? left : MOST_AT_ONCE;
		const off_t at = (off_t)(offset + done);
		const ssize_t n = writing ? pwrite(f->direct, p + done, most, at)
					  : pread(f->direct, p + done, most, at);
		if (n <= 0 || n % IO_FD_ALIGN)
			break;
		progress_add(writing ? PROGRESS_WRITTEN : PROGRESS_READ, (uint64_t)n);
		done += (size_t)n;
	}
	return done;
}

static status move_cached(const io_fd *f, unsigned char *p, size_t bytes, uint64_t offset,
			  bool writing, const char *path, err *e)
{
	return writing ? file_write_at(f->fd, p, bytes, offset, path, e)
		       : file_read_at(f->fd, p, bytes, offset, path, e);
}

/* Head and rest through the page cache; what is between them past it, or by io_uring. */
static status move(const io_fd *f, unsigned char *p, size_t bytes, uint64_t offset, bool writing,
		   const char *path, err *e)
{
	size_t head, large = direct_part(f, p, bytes, offset, &head), moved = 0;
	const io_kind kind = { bytes, writing, large > 0 };
	const int fd = large ? f->direct : f->fd;
	uring *ring = io_backend_ring(f->io, &kind, now_s());
	if (ring && large == 0) {
		head = 0;
		large = bytes;
	}
	const status rc = move_cached(f, p, head, offset, writing, path, e);
	if (rc != ST_OK)
		return rc;
	if (ring) {
		moved = uring_move(ring, fd, p + head, large, offset + head, writing);
		io_backend_moved(f->io, &kind, moved);
	} else {
		moved = move_direct(f, p + head, large, offset + head, writing);
	}
	head += moved;
	return move_cached(f, p + head, bytes - head, offset + head, writing, path, e);
}

status io_fd_read_at(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e)
{
	return move(f, buf, bytes, offset, false, path, e);
}

status io_fd_write_at(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
		      const char *path, err *e)
{
	/* writing only reads the memory */
	return move(f, (unsigned char *)(uintptr_t)buf, bytes, offset, true, path, e);
}
