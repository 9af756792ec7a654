/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large reads and writes of files, by blocking calls or by io_uring. An io_backend chooses the
 * method for all files and threads of a rank. */
#ifndef HETSORT_IO_IO_FD_H
#define HETSORT_IO_IO_FD_H

#include "base/settings.h"

/* Transfers by Linux's io_uring. A transfer is cut into segments; many are in flight at once. */
enum { URING_SEGMENT_BYTES = 1 << 20, URING_STEP_BYTES = 256 << 10 };

typedef struct uring uring;

/* A listener to a transfer. `arrived` is called when more bytes are complete: all bytes before
 * `end`. */
typedef struct arrivals {
	void (*arrived)(void *to, const unsigned char *end);
	void *to;
} arrivals;

/* A transfer between memory and a file. */
typedef struct io_transfer {
	unsigned char *p;
	size_t bytes;
	uint64_t offset; /* in the file */
	bool writing;
	const arrivals *a; /* NULL: no listener */
} io_transfer;

/* uring_open - open a ring. ST_REFUSED, *out NULL: built without liburing, or the kernel or a
 * container does not allow it; ST_RESOURCE: no memory or descriptors. segment_bytes:
 * URING_SEGMENT_BYTES; less in tests. */
status uring_open(uring **out, size_t segment_bytes, err *e);

/* uring_move - execute a transfer, and return how many of its first bytes were moved. Blocking
 * calls can move the rest, or report why not. Nothing is in flight on return. The listener is
 * called in steps of URING_STEP_BYTES or less. Any number of threads may call this. */
size_t uring_move(uring *u, int fd, const io_transfer *t);

/* uring_close - close a ring that no thread uses any more; u may be NULL. */
void uring_close(uring *u);

/* The choice of the method. */
enum { IO_TEXT_BYTES = 96 };

typedef struct io_backend io_backend;

/* Statistics of reading, or of writing. The rates are bytes of all transfers per second of the
 * sort, during the trial that io_fd.c explains. */
typedef struct io_stats {
	uint64_t uring_bytes;                        /* moved by io_uring */
	double uring_bytes_per_s, calls_bytes_per_s; /* 0: there was no trial */
	int32_t method;                              /* of the last transfers */
} io_stats;

/* io_backend_open - open a backend. IO_URING opens the ring as well, and fails if uring_open fails;
 * IO_AUTO opens it before the first transfer that would use it. segment_bytes as in uring_open, 0:
 * URING_SEGMENT_BYTES. */
status io_backend_open(io_backend **out, io_method wanted, size_t segment_bytes, err *e);

/* io_backend_why - copy the reason why io_uring cannot be used; "" if it can be used, or if this is
 * not known yet. would: a transfer would use it, so find out now. x may be NULL. */
void io_backend_why(io_backend *x, bool would, char text[IO_TEXT_BYTES]);

/* io_backend_is_forced - return whether the user required io_uring. x may be NULL. */
bool io_backend_is_forced(const io_backend *x);

/* io_backend_ring - choose the method of the next transfer: return a ring, or NULL for blocking
 * calls. direct: the transfer bypasses the page cache. x may be NULL. */
uring *io_backend_ring(io_backend *x, const io_transfer *t, bool direct, double now_s);

void io_backend_stats(io_backend *x, bool writing, io_stats *t);

/* io_backend_close - close a backend, which may be NULL. */
void io_backend_close(io_backend *x);

/* Large reads and writes of an open file. They use direct I/O if file system, offset and memory
 * allow it, and io_uring if it is faster than blocking calls. For direct I/O, offsets, sizes and
 * memory are multiples of IO_FD_ALIGN, a multiple of every device's sector. */
enum { IO_FD_ALIGN = 4096 };

/* One file, open twice: for the page cache, and for direct I/O (-1: not possible or not used). */
typedef struct io_fd {
	int fd, direct;
	io_backend *io; /* NULL: blocking calls */
	bool turns;     /* ranks write to it in turns; set by io_fd_use */
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
	bool durable; /* the file will be synced: start writing to the disk early */
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

/* io_fd_use - let transfers of f, which is open, use io. Files in memory need no waiting, so they
 * use blocking calls unless the user required io_uring. Ranks write large pieces to such files in
 * turns, because the kernel lets only one rank at a time copy to a file, and the others would
 * spin. */
void io_fd_use(io_fd *f, io_backend *io);

/* io_fd_is_cached - return whether most of the range is in the page cache, by samples; false if the
 * kernel does not report it. */
bool io_fd_is_cached(int fd, uint64_t offset, uint64_t bytes);

/* io_fd_will_read - prepare to read this range of f->fd from front to back. Open f->direct under
 * DIRECT_ALWAYS, and under DIRECT_AUTO if the page cache does not contain the range. If f->direct
 * is not open, ask the kernel to read ahead. Calls io_fd_use. */
void io_fd_will_read(io_fd *f, direct_io when, uint64_t offset, uint64_t bytes);

/* io_fd_read_at, io_fd_write_at - do the same as file_read_at and file_write_at, by direct I/O if
 * possible: f->direct is open, and the memory has the same offset in a page as the file. Any number
 * of threads may call these. io_fd_move - execute a transfer, but do not wait for this rank's turn.
 * If io_uring reads, the listener is called every URING_STEP_BYTES or less; it is always called at
 * the end. */
status io_fd_read_at(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e);
status io_fd_write_at(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
		      const char *path, err *e);
status io_fd_move(const io_fd *f, const io_transfer *t, const char *path, err *e);

#endif
