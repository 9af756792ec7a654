/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct I/O saves the copy to the page cache and the cache's memory; io_uring has several segments
 * of a transfer under way. Both are attempts: what they do not do at once (a file system that
 * refuses, a short count) is done by blocking calls through the page cache, which also make the
 * messages. */
#include "io_fd.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "file.h"
#include "base/progress.h"
#include "base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
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

void io_fd_use(io_fd *f, io_backend *io)
{
	const bool waits = f->direct >= 0 || !file_is_in_memory(f->fd);
	f->io = waits || io_backend_is_forced(io) ? io : NULL;
}

/* Newer kernels let files in memory be opened past the page cache all the same. */
bool io_fd_is_cached(int fd, uint64_t offset, uint64_t bytes)
{
	unsigned there = 0;
	if (file_is_in_memory(fd))
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
	io_fd_use(f, f->io);
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

typedef struct transfer {
	const io_fd *f;
	unsigned char *p;
	size_t bytes;
	uint64_t offset;
	bool writing;
	const arrivals *a; /* NULL: nobody wants to know */
	const char *path;
} transfer;

/* Moves [at, end) past the page cache; returns how many bytes it could move. */
static size_t move_direct(const transfer *t, size_t at, size_t end)
{
	const size_t begin = at;
	while (at < end) {
		const size_t most = size_min(end - at, MOST_AT_ONCE);
		const off_t place = (off_t)(t->offset + at);
		const ssize_t n = t->writing ? pwrite(t->f->direct, t->p + at, most, place)
					     : pread(t->f->direct, t->p + at, most, place);
		if (n <= 0 || n % IO_FD_ALIGN)
			break;
		progress_add(t->writing ? PROGRESS_WRITTEN : PROGRESS_READ, (uint64_t)n);
		at += (size_t)n;
	}
	return at - begin;
}

static status move_cached(const transfer *t, size_t at, size_t end, err *e)
{
	const int fd = t->f->fd;
	return t->writing ? file_write_at(fd, t->p + at, end - at, t->offset + at, t->path, e)
			  : file_read_at(fd, t->p + at, end - at, t->offset + at, t->path, e);
}

/* Head and rest through the page cache; what is between them past it, or by io_uring. */
static status move(const transfer *t, err *e)
{
	const io_fd *f = t->f;
	size_t head, large = direct_part(f, t->p, t->bytes, t->offset, &head), moved;
	const io_kind kind = { t->bytes, t->writing, large > 0, t->a != NULL };
	const int fd = large ? f->direct : f->fd;
	uring *ring = io_backend_ring(f->io, &kind, now_s());
	if (ring && large == 0) {
		head = 0;
		large = t->bytes;
	}
	status rc = move_cached(t, 0, head, e);
	if (rc != ST_OK)
		return rc;
	if (ring) {
		moved = uring_move(ring, fd, t->p + head, large, t->offset + head, t->writing,
				   t->a);
		io_backend_moved(f->io, &kind, moved);
	} else {
		moved = move_direct(t, head, head + large);
	}
	rc = move_cached(t, head + moved, t->bytes, e);
	if (rc == ST_OK && t->a)
		t->a->tell(t->a->to, t->p + t->bytes);
	return rc;
}

static status move_traced(const transfer *t, err *e)
{
	const double span = trace_begin();
	const status rc = move(t, e);
	trace_end(t->writing ? TRACE_WRITE : TRACE_READ, span);
	return rc;
}

status io_fd_read_steps(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
			const arrivals *a, err *e)
{
	const transfer t = { f, buf, bytes, offset, false, a, path };
	return move_traced(&t, e);
}

status io_fd_read_at(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e)
{
	const transfer t = { f, buf, bytes, offset, false, NULL, path };
	return move_traced(&t, e);
}

status io_fd_write_at(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
		      const char *path, err *e)
{
	/* writing only reads the memory */
	unsigned char *p = (unsigned char *)(uintptr_t)buf;
	const transfer t = { f, p, bytes, offset, true, NULL, path };
	return move_traced(&t, e);
}
