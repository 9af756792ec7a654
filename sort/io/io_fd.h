/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading and writing past the page cache, where file system, offset and memory allow. */
#ifndef HETSORT_IO_IO_FD_H
#define HETSORT_IO_IO_FD_H

#include "io_backend.h"

/* What offsets, sizes and memory have to be multiples of; every block device's sector divides it.
 */
enum { IO_FD_ALIGN = 4096 };

/* One open file: through the page cache, and past it (-1: not possible, or not wanted). */
typedef struct io_fd {
	int fd, direct;
	io_backend *io; /* by which way; NULL: calls */
} io_fd;
#define IO_FD_NONE                     \
	{                              \
		.fd = -1, .direct = -1 \
	}

/* io_fd_chunk_recs - how many records make a chunk of about `bytes` (at least one record): chunks
 * from the start of a file on end at its blocks, where the record size allows. */
size_t io_fd_chunk_recs(uint32_t record_bytes, size_t bytes);

/* io_fd_open_direct - a second descriptor for the file of fd, with the same access mode, that goes
 * past the page cache; -1 where its file system has no such thing. */
int io_fd_open_direct(int fd, int access_mode);

/* io_fd_is_cached - does most of the range lie in the page cache? By samples; false where the
 * kernel does not tell. */
bool io_fd_is_cached(int fd, uint64_t offset, uint64_t bytes);

/* io_fd_will_read - this range of f->fd will be read from front to back: what is not in the page
 * cache goes past it, as far as `when` allows (f->direct), for the rest the kernel reads ahead. */
void io_fd_will_read(io_fd *f, direct_io when, uint64_t offset, uint64_t bytes);

/* io_fd_read_at, io_fd_write_at - as file_read_at and file_write_at; what is aligned in memory as
 * in the file goes past the page cache. Any number of threads. */
status io_fd_read_at(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e);
status io_fd_write_at(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
		      const char *path, err *e);

#endif
