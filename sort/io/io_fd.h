/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large reads and writes of files, past the page cache if possible. */
#ifndef HETSORT_IO_IO_FD_H
#define HETSORT_IO_IO_FD_H

#include "base/settings.h"

/* For direct I/O, offsets, sizes and memory are multiples of this, which is a multiple of every
 * device's sector. */
enum { IO_FD_ALIGN = 4096 };

/* One file, open twice: for the page cache, and for direct I/O (-1: not possible or not used). */
typedef struct io_fd {
	int fd, direct;
	/* Ranks write large pieces in turns. Used for a file in memory: the kernel lets only one
	 * rank at a time copy to a file, and the others would spin. */
	bool turns;
} io_fd;
#define IO_FD_NONE                     \
	{                              \
		.fd = -1, .direct = -1 \
	}

/* Records in an open file. */
typedef struct file_records {
	io_fd fd;
	const char *path; /* for messages */
	uint64_t offset;  /* of the first record */
	uint64_t recs;
	bool durable;              /* the file will be synced: start writing to the disk early */
	const struct shape *shape; /* how records are written; NULL: as they are in memory */
} file_records;

/* io_fd_close - close the open descriptors of f. Errors of close do not matter, because data that
 * must last has been synced. */
void io_fd_close(io_fd *f);

/* io_fd_chunk_recs - return the number of records in a chunk of about `bytes` bytes, at least 1.
 * The size of a chunk is a multiple of IO_FD_ALIGN if the record size allows it. */
size_t io_fd_chunk_recs(uint32_t record_bytes, size_t bytes);

/* io_fd_open_direct - open the file of fd a second time, with the same access mode, for direct I/O;
 * -1 if the file system does not support it. */
int io_fd_open_direct(int fd, int access_mode);

/* io_fd_is_cached - return whether most of the range is in the page cache, by samples; false if the
 * kernel does not report it. */
bool io_fd_is_cached(int fd, uint64_t offset, uint64_t bytes);

/* io_fd_will_read - prepare to read this range of f->fd from front to back. Open f->direct under
 * DIRECT_ALWAYS, and under DIRECT_AUTO if the page cache does not contain the range. If f->direct
 * is not open, ask the kernel to read ahead. */
void io_fd_will_read(io_fd *f, direct_io when, uint64_t offset, uint64_t bytes);

/* io_fd_read_at, io_fd_write_at - do the same as file_read_at and file_write_at, by direct I/O if
 * possible: f->direct is open, and the memory has the same offset in a page as the file. Any number
 * of threads may call these. */
status io_fd_read_at(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e);
status io_fd_write_at(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
		      const char *path, err *e);

#endif
