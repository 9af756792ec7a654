/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct I/O saves the copy to the page cache and the cache's room. It is an attempt: whatever it
 * does not do in one go (a file system that refuses, a short count) goes the usual way, which also
 * has the words for what fails there too. */
#include "direct.h"
#include "file.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PROBES = 32, MOST_AT_ONCE = 64 << 20 };

size_t io_chunk_recs(uint32_t record_bytes, size_t bytes)
{
	size_t unit = IO_ALIGN; /* records in the smallest common multiple of record and block */
	for (uint32_t r = record_bytes; r % 2 == 0 && unit > 1; r /= 2)
		unit /= 2;
	if (unit * record_bytes <= bytes)
		return bytes / (unit * record_bytes) * unit;
	return bytes > record_bytes ? bytes / record_bytes : 1;
}

int io_open_direct(int fd, int access_mode)
{
	char self[32];
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	return open(self, access_mode | O_DIRECT | O_CLOEXEC);
}

bool io_is_cached(int fd, uint64_t offset, uint64_t bytes)
{
	unsigned there = 0;
	for (unsigned i = 0; i < PROBES && bytes > 0; i++) {
		char c;
		struct iovec v = { &c, 1 };
		const uint64_t at = offset + bytes / PROBES * i;
		there += preadv2(fd, &v, 1, (off_t)at, RWF_NOWAIT) == 1;
	}
	return there > PROBES / 2;
}

/* The bytes of [offset, offset + bytes) that can go direct: *head before them cannot. */
static size_t direct_part(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
			  size_t *head)
{
	const size_t to_page = (size_t)(-offset % IO_ALIGN);
	*head = bytes;
	if (f->direct < 0 || (uintptr_t)buf % IO_ALIGN != offset % IO_ALIGN || bytes < to_page)
		return 0;
	*head = to_page;
	return (bytes - to_page) / IO_ALIGN * IO_ALIGN;
}

static size_t portion(size_t bytes)
{
	return bytes < MOST_AT_ONCE ? bytes : MOST_AT_ONCE;
}

/* Bytes from p on, as far as they go past the page cache; how many did. */
static size_t move_direct(const io_fd *f, unsigned char *p, size_t bytes, uint64_t offset,
			  bool writing)
{
	size_t done = 0;
	while (done < bytes) {
		const size_t most = portion(bytes - done);
		const off_t at = (off_t)(offset + done);
		const ssize_t n = writing ? pwrite(f->direct, p + done, most, at)
					  : pread(f->direct, p + done, most, at);
		if (n <= 0 || n % IO_ALIGN)
			break;
		progress_tick();
		done += (size_t)n;
	}
	return done;
}

status io_read_at(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
		  err *e)
{
	size_t head;
	unsigned char *p = buf;
	const size_t direct = direct_part(f, buf, bytes, offset, &head);
	const status rc = file_read_at(f->fd, p, head, offset, path, e);
	if (rc != ST_OK)
		return rc;
	head += move_direct(f, p + head, direct, offset + head, false);
	return file_read_at(f->fd, p + head, bytes - head, offset + head, path, e);
}

status io_write_at(const io_fd *f, const void *buf, size_t bytes, uint64_t offset, const char *path,
		   err *e)
{
	size_t head;
	unsigned char *p = (unsigned char *)(uintptr_t)buf; /* only read */
	const size_t direct = direct_part(f, buf, bytes, offset, &head);
	const status rc = file_write_at(f->fd, p, head, offset, path, e);
	if (rc != ST_OK)
		return rc;
	head += move_direct(f, p + head, direct, offset + head, true);
	return file_write_at(f->fd, p + head, bytes - head, offset + head, path, e);
}
