/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large reads and writes of an open file: by direct I/O past the page cache where file system,
 * offset and memory allow, by io_uring where that is faster, else by blocking calls. */
#ifndef HETSORT_IO_IO_FD_H
#define HETSORT_IO_IO_FD_H

#include "io_backend.h"

/* For direct I/O, offsets, sizes and memory are multiples of it: every block device's sector
 * divides it. */
enum { IO_FD_ALIGN = 4096 };

/* One file, open twice: through the page cache, and past it (-1: not possible, or not wanted). */
typedef struct io_fd {
	int fd, direct;
	io_backend *io; /* NULL: blocking calls */
} io_fd;
#define IO_FD_NONE                     \
	{                              \
		.fd = -1, .direct = -1 \
	}

/* io_fd_chunk_recs - how many records make a chunk of about `bytes` (at least one record). Chunks
 * from the start of a file on are multiples of IO_FD_ALIGN, where the record size allows. */
size_t io_fd_chunk_recs(uint32_t record_bytes, size_t bytes);

/* io_fd_open_direct - a second descriptor for the file of fd, with the same access mode, that goes
 * past the page cache; -1 where the file system cannot do that. */
int io_fd_open_direct(int fd, int access_mode);

/* io_fd_use - transfers of f, which is open, go by io; but by blocking calls where the file is in
 * memory, as nothing is waited for, unless io_uring is asked for. */
void io_fd_use(io_fd *f, io_backend *io);

/* io_fd_is_cached - is most of the range in the page cache? By samples; false where the kernel does
 * not say. */
bool io_fd_is_cached(int fd, uint64_t offset, uint64_t bytes);

/* io_fd_will_read - this range of f->fd will be read from front to back, by f->io or not, as
 * io_fd_use says. Opens f->direct if `when`
 * says so, or leaves it to whether the page cache has the range; otherwise asks the kernel to read
 * ahead. */
void io_fd_will_read(io_fd *f, direct_io when, uint64_t offset, uint64_t bytes);

/* io_fd_read_at, io_fd_write_at - as file_read_at and file_write_at. Any number of threads. Goes
 * past the page cache where f->direct is open and memory is as far from a page as the file's
 * offset. */
status io_fd_read_at(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e);
status io_fd_write_at(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
		      const char *path, err *e);

/* io_fd_read_steps - io_fd_read_at for whom wants to know of the bytes as they come: a is told of
 * each URING_STEP_BYTES or less where io_uring reads, otherwise, or at last, of the end. */
status io_fd_read_steps(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
			const arrivals *a, err *e);

#endif
