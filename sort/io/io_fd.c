/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct reads with a listener use io_uring. For all other transfers the faster method is found by
 * a trial. Before the trial, direct writes use io_uring and other transfers use blocking calls,
 * because this was faster on several machines. After some hundred megabytes, the trial begins:
 * rounds of transfers use the two methods in turn, and the faster method is used afterwards. The
 * time of a round lasts from the start of one transfer to the start of a later one. So it includes
 * all work that the sort does between transfers. */
#include "io_fd.h"
#include "base/clock.h"
#include "base/arith.h"
#include "file.h"
#include "base/progress.h"
#include "base/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	BEFORE = 128, /* the trial begins after the bytes of this number of segments */
	ROUND = 20, /* transfers by one method; the first MIXED are not timed: they overlap with the
		       round before */
	MIXED = 6,
	TRIAL = 4 * ROUND,
	TURN_BYTES = 64 << 10, /* least size of a write that takes turns with other ranks */
	SMALL = 8, /* io_uring does not pay for a transfer of less than 1 / SMALL of a segment */
	GAIN = 8,  /* a method must be faster by 1 / GAIN, or the difference may be chance */
};

typedef struct tally {
	double seconds;
	size_t bytes;
} tally;

typedef struct direction {
	uint64_t before; /* bytes moved before the trial */
	uint64_t tried;  /* transfers since then */
	double since_s;  /* in a trial: time when the timed part of the round began */
	tally trial[2];  /* by calls, by io_uring */
	uint64_t uring_bytes;
	bool verdict; /* of the trial, which has TRIAL transfers: io_uring is faster */
	bool last;    /* the last transfer used io_uring */
} direction;

struct io_backend {
	uring *ring; /* NULL: only blocking calls */
	size_t segment_bytes;
	bool forced, tried;   /* tried: opening the ring was tried, or is not allowed */
	err why;              /* the reason why there is no ring */
	pthread_mutex_t lock; /* guards ring, tried, why and dir */
	direction dir[2];
};

/* Open the ring, unless this was tried before. Call this only when a transfer is to use the ring,
 * because most sorts of little data have no such transfer. */
static void open_ring(io_backend *x)
{
	if (!x->tried)
		(void)uring_open(&x->ring, x->segment_bytes, &x->why);
	x->tried = true;
}

status io_backend_open(io_backend **out, io_method wanted, size_t segment_bytes, err *e)
{
	io_backend *x = calloc(1, sizeof *x);
	*out = NULL;
	if (!x)
		return err_set(e, ST_RESOURCE, "no memory for input and output");
	pthread_mutex_init(&x->lock, NULL);
	x->segment_bytes = segment_bytes ? segment_bytes : URING_SEGMENT_BYTES;
	x->forced = x->dir[0].last = x->dir[1].last = wanted == IO_URING;
	x->tried = wanted == IO_THREADS;
	*out = x;
	if (wanted != IO_URING)
		return ST_OK;
	open_ring(x);
	return err_join(e, &x->why);
}

void io_backend_why(io_backend *x, bool would, char text[IO_TEXT_BYTES])
{
	text[0] = '\0';
	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	if (would)
		open_ring(x);
	(void)snprintf(text, IO_TEXT_BYTES, "%.*s", IO_TEXT_BYTES - 1, x->why.text);
	pthread_mutex_unlock(&x->lock);
}

bool io_backend_is_forced(const io_backend *x)
{
	return x && x->forced;
}

static double tally_rate(const tally *t)
{
	return t->seconds > 0 ? (double)t->bytes / t->seconds : 0;
}

/* Return whether the next transfer, of `bytes` bytes, uses io_uring. by_rule: whether it does
 * before the trial. */
static bool next_method(direction *d, size_t bytes, bool by_rule, size_t segment_bytes,
			double now_s)
{
	if (d->before < (uint64_t)BEFORE * segment_bytes) {
		d->before += bytes;
		return by_rule;
	}
	const uint64_t at = d->tried++, in_round = at % ROUND;
	const bool by_ring = at / ROUND % 2 == 1;
	if (at > TRIAL)
		return d->verdict;
	if (in_round == 0 && at > 0)
		d->trial[!by_ring].seconds += now_s - d->since_s;
	if (in_round == MIXED)
		d->since_s = now_s;
	if (in_round >= MIXED)
		d->trial[by_ring].bytes += bytes;
	if (at < TRIAL)
		return by_ring;
	const double other = tally_rate(&d->trial[!by_rule]), ours = tally_rate(&d->trial[by_rule]);
	d->verdict = by_rule != (other * (GAIN - 1) > ours * GAIN);
	return d->verdict;
}

uring *io_backend_ring(io_backend *x, const io_transfer *t, bool direct, double now_s)
{
	if (!x || t->bytes < x->segment_bytes / SMALL)
		return NULL;
	if (x->forced)
		return x->ring;
	pthread_mutex_lock(&x->lock);
	direction *d = &x->dir[t->writing];
	/* blocking calls for direct I/O can call a listener only at the end */
	const bool use = (x->ring || !x->tried) &&
			 ((t->a && direct) ||
			  next_method(d, t->bytes, t->writing && direct, x->segment_bytes, now_s));
	if (use)
		open_ring(x);
	uring *r = use ? x->ring : NULL;
	d->last = r != NULL;
	pthread_mutex_unlock(&x->lock);
	return r;
}

void io_backend_stats(io_backend *x, bool writing, io_stats *t)
{
	*t = (io_stats){ .method = IO_THREADS };
	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	const direction *d = &x->dir[writing];
	t->method = d->last ? IO_URING : IO_THREADS;
	t->uring_bytes = d->uring_bytes;
	if (d->tried > TRIAL) {
		t->calls_bytes_per_s = tally_rate(&d->trial[0]);
		t->uring_bytes_per_s = tally_rate(&d->trial[1]);
	}
	pthread_mutex_unlock(&x->lock);
}

void io_backend_close(io_backend *x)
{
	if (!x)
		return;
	uring_close(x->ring);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

/* ------------------------------------------------------------------------------------ transfers */

/* Direct I/O saves the copy to the page cache and the cache's memory; io_uring has several segments
 * of a transfer in flight. Both may fail or move only a part, for example if the file system
 * refuses. Then blocking calls through the page cache move the rest, and report errors. */

enum {
	PROBES = 32, /* at most, to find out whether a range is in the page cache */
	PROBE_BYTES =
		64 << 10, /* the kernel reads ahead at least this amount, so one probe is enough */
	MOST_AT_ONCE = 64 << 20,
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

void io_fd_use(io_fd *f, io_backend *io)
{
	f->turns = f->direct < 0 && file_is_in_memory(f->fd);
	f->io = !f->turns || io_backend_is_forced(io) ? io : NULL;
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
	io_fd_use(f, f->io);
	if (f->direct < 0)
		(void)posix_fadvise(f->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_SEQUENTIAL);
}

/* Move [at, end) through the page cache. */
static status move_cached(int fd, const io_transfer *t, size_t at, size_t end, const char *path,
			  err *e)
{
	return t->writing ? file_write_at(fd, t->p + at, end - at, t->offset + at, path, e)
			  : file_read_at(fd, t->p + at, end - at, t->offset + at, path, e);
}

/* Direct I/O needs aligned offsets and memory. So the bytes before the first page boundary (head)
 * and after the last one (rest) are moved through the page cache. */
status io_fd_move(const io_fd *f, const io_transfer *t, const char *path, err *e)
{
	const double span = trace_begin();
	const size_t to_page = (size_t)(-t->offset % IO_FD_ALIGN);
	const bool direct = f->direct >= 0 && t->bytes >= to_page + IO_FD_ALIGN &&
			    (uintptr_t)t->p % IO_FD_ALIGN == t->offset % IO_FD_ALIGN;
	const int fd = direct ? f->direct : f->fd;
	uring *ring = io_backend_ring(f->io, t, direct, now_s());
	const size_t head = direct ? to_page : ring ? 0 : t->bytes;
	const size_t rest = direct ? (t->bytes - to_page) % IO_FD_ALIGN : 0;
	const size_t large = t->bytes - head - rest;
	size_t moved = 0;
	status rc = move_cached(f->fd, t, 0, head, path, e);
	if (rc == ST_OK && ring) {
		moved = uring_move(
			ring, fd,
			&(io_transfer){ t->p + head, large, t->offset + head, t->writing, t->a });
		pthread_mutex_lock(&f->io->lock);
		f->io->dir[t->writing].uring_bytes += moved;
		pthread_mutex_unlock(&f->io->lock);
	}
	while (rc == ST_OK && !ring && moved < large) {
		const size_t at = head + moved, most = size_min(large - moved, MOST_AT_ONCE);
		const off_t place = (off_t)(t->offset + at);
		const ssize_t n = t->writing ? pwrite(fd, t->p + at, most, place)
					     : pread(fd, t->p + at, most, place);
		if (n <= 0 || n % IO_FD_ALIGN)
			break;
		progress_add(t->writing ? PROGRESS_WRITTEN : PROGRESS_READ, (uint64_t)n);
		moved += (size_t)n;
	}
	if (rc == ST_OK)
		rc = move_cached(f->fd, t, head + moved, t->bytes, path, e);
	if (rc == ST_OK && t->a)
		t->a->arrived(t->a->to, t->p + t->bytes);
	trace_end(t->writing ? TRACE_WRITE : TRACE_READ, span);
	return rc;
}

status io_fd_read_at(const io_fd *f, void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e)
{
	return io_fd_move(f, &(io_transfer){ buf, bytes, offset, false, NULL }, path, e);
}

status io_fd_write_at(const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
		      const char *path, err *e)
{
	/* a write only reads the memory */
	unsigned char *p = (unsigned char *)(uintptr_t)buf;
	/* Each rank has its own open file, so this lock makes other ranks wait. */
	const bool turn = f->turns && bytes >= TURN_BYTES && flock(f->fd, LOCK_EX) == 0;
	const status rc = io_fd_move(f, &(io_transfer){ p, bytes, offset, true, NULL }, path, e);
	if (turn)
		(void)flock(f->fd, LOCK_UN);
	return rc;
}
