/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct I/O saves the copy to the page cache and the cache's memory. It may fail or move only a
 * part, for example if the file system refuses it. Then the page cache moves the rest, and its
 * calls report errors. */
#include "io_fd.h"
#include "base/arith.h"
#include "file.h"
#include "base/progress.h"
#include "base/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PROBES = 32, /* at most, to find out whether a range is in the page cache */
	PROBE_BYTES =
		64 << 10, /* the kernel reads ahead at least this amount, so one probe is enough */
	MOST_AT_ONCE = 64 << 20,
	TURN_BYTES = 64 << 10, /* least size of a write that takes turns with other ranks */
};

void io_fd_close(io_fd *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->direct >= 0)
		close(f->direct);
	f->fd = f->direct = -1;
}

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

bool io_fd_is_cached(int fd, uint64_t offset, uint64_t bytes)
{
	const unsigned probes = (unsigned)u64_min(bytes / PROBE_BYTES + (bytes > 0), PROBES);
	unsigned there = 0;
	if (file_is_in_memory(fd)) /* newer kernels open files in memory for direct I/O too */
		return true;
	for (unsigned i = 0; i < probes; i++) {
		char c;
		struct iovec v = { &c, 1 };
		const uint64_t at = offset + bytes / probes * i;
		there += preadv2(fd, &v, 1, (off_t)at, RWF_NOWAIT) == 1;
	}
	return there > probes / 2;
}

void io_fd_will_read(io_fd *f, direct_io when, uint64_t offset, uint64_t bytes)
{
	if (when == DIRECT_ALWAYS ||
	    (when == DIRECT_AUTO && !io_fd_is_cached(f->fd, offset, bytes)))
		f->direct = io_fd_open_direct(f->fd, O_RDONLY);
	if (f->direct < 0)
		(void)posix_fadvise(f->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_SEQUENTIAL);
}

static status move_cached(int fd, unsigned char *p, size_t bytes, uint64_t offset, bool writing,
			  const char *path, err *e)
{
	return writing ? file_write_at(fd, p, bytes, offset, path, e)
		       : file_read_at(fd, p, bytes, offset, path, e);
}

/* Direct I/O needs aligned offsets and memory. So the bytes before the first page boundary (head)
 * and after the last one are moved through the page cache. */
static status move(const io_fd *f, unsigned char *p, size_t bytes, uint64_t offset, bool writing,
		   const char *path, err *e)
{
	const double span = trace_begin();
	const size_t to_page = (size_t)(-offset % IO_FD_ALIGN);
	const bool direct = f->direct >= 0 && bytes >= to_page + IO_FD_ALIGN &&
			    (uintptr_t)p % IO_FD_ALIGN == offset % IO_FD_ALIGN;
	const size_t head = direct ? to_page : 0, end = bytes - (bytes - head) % IO_FD_ALIGN;
	size_t at = head;
	while (direct && at < end) {
		const size_t most = size_min(end - at, MOST_AT_ONCE);
		const off_t place = (off_t)(offset + at);
		const ssize_t n = writing ? pwrite(f->direct, p + at, most, place)
					  : pread(f->direct, p + at, most, place);
		if (n <= 0 || n % IO_FD_ALIGN)
			break;
		progress_add(writing ? PROGRESS_WRITTEN : PROGRESS_READ, (uint64_t)n);
		at += (size_t)n;
	}
	status rc = move_cached(f->fd, p, head, offset, writing, path, e);
	if (rc == ST_OK)
		rc = move_cached(f->fd, p + at, bytes - at, offset + at, writing, path, e);
	trace_end(writing ? TRACE_WRITE : TRACE_READ, span);
	return rc;
}

status io_fd_read_at(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e)
{
	return move(f, buf, bytes, offset, false, path, e);
}

status io_fd_write_at(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
		      const char *path, err *e)
{
	/* The kernel lets only one thread at a time copy to the page cache of a file, and others
	 * would spin. Threads of a rank share its open file, and wait for a lock. Each rank has its
	 * own open file, so flock makes other ranks wait. */
	static pthread_mutex_t one[] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
					 PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
					 PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
					 PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
	pthread_mutex_t *mine = &one[(size_t)f->fd % (sizeof one / sizeof *one)];
	const bool waits = f->direct < 0 && bytes >= TURN_BYTES;
	if (waits)
		pthread_mutex_lock(mine);
	const bool turn = waits && f->turns && flock(f->fd, LOCK_EX) == 0;
	/* a write only reads the memory */
	const status rc = move(f, (unsigned char *)(uintptr_t)buf, bytes, offset, true, path, e);
	if (turn)
		(void)flock(f->fd, LOCK_UN);
	if (waits)
		pthread_mutex_unlock(mine);
	return rc;
}
