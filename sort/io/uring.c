/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transfer is cut into segments, of which up to DEPTH are in flight. If only a part of a segment
 * was moved, the rest is submitted again. The first segment that fails ends the transfer. Segments
 * before it are completed. Segments after it are only awaited, because the kernel uses the caller's
 * memory until they end. A ring serves one transfer at a time: a thread takes a free ring, or makes
 * one, and returns it. */
#include "io_fd.h"

#ifdef HAVE_URING

#	include "base/clock.h"
#	include "base/arith.h"
#	include "testing/failpoint.h"
#	include "base/progress.h"

#	include <errno.h>
#	include <liburing.h>
#	include <pthread.h>
#	include <stdlib.h>

enum { DEPTH = 16 };

typedef struct ring {
	struct io_uring q;
	struct ring *next;
} ring;

struct uring {
	size_t segment_bytes;
	pthread_mutex_t lock;
	ring *idle;
};

typedef struct segment {
	size_t at, left; /* its first byte, and the bytes left to move; left 0: unused */
} segment;

typedef struct uring_transfer {
	const io_transfer *of;
	struct io_uring *q;
	int fd;
	size_t segment_bytes, next; /* next: the end of the last segment */
	size_t end;                 /* of the transfer, or where the first segment failed */
	unsigned open;              /* segments that are queued or submitted */
	segment segment[DEPTH];
} uring_transfer;

/* ------------------------------------------------------------------------------------- rings */

/* Set up a ring; return 0 or an errno. */
static int uring_make_ring(ring **out)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return ENOMEM;
	int errnum = -FAIL_RESULT(FAIL_RING, 0);
	if (errnum == 0)
		errnum = -io_uring_queue_init(DEPTH, &(*out)->q, 0);
	if (errnum != 0) {
		free(*out);
		*out = NULL;
	}
	return errnum;
}

static void free_ring(ring *r)
{
	io_uring_queue_exit(&r->q);
	free(r);
}

status uring_open(uring **out, size_t segment_bytes, err *e)
{
	uring *u = calloc(1, sizeof *u);
	*out = NULL;
	if (!u)
		return err_set(e, ST_RESOURCE, "no memory for io_uring");
	u->segment_bytes = segment_bytes;
	pthread_mutex_init(&u->lock, NULL);
	const int errnum = uring_make_ring(&u->idle);
	struct io_uring_probe *p = u->idle ? io_uring_get_probe_ring(&u->idle->q) : NULL;
	/* kernels before 5.6 have rings, but not these operations */
	const bool has = p && io_uring_opcode_supported(p, IORING_OP_READ) &&
			 io_uring_opcode_supported(p, IORING_OP_WRITE);
	io_uring_free_probe(p);
	if (has) {
		*out = u;
		return ST_OK;
	}
	uring_close(u);
	return errnum ? err_refuse(e, errnum, "io_uring cannot be used here")
		      : err_set(e, ST_REFUSED, "io_uring of this kernel is too old");
}

void uring_close(uring *u)
{
	if (!u)
		return;
	for (ring *r = u->idle, *next; r; r = next) {
		next = r->next;
		free_ring(r);
	}
	pthread_mutex_destroy(&u->lock);
	free(u);
}

/* --------------------------------------------------------------------------------- transfers */

/* Queue a segment. The queue has space for all segments. */
static void queue_segment(uring_transfer *t, segment *s)
{
	struct io_uring_sqe *q = io_uring_get_sqe(t->q);
	unsigned char *p = t->of->p + s->at;
	const uint64_t offset = t->of->offset + s->at;
	if (t->of->writing)
		io_uring_prep_write(q, t->fd, p, (unsigned)s->left, offset);
	else
		io_uring_prep_read(q, t->fd, p, (unsigned)s->left, offset);
	io_uring_sqe_set_data(q, s);
	t->open++;
}

static void queue_more(uring_transfer *t)
{
	for (segment *s = t->segment; s < t->segment + DEPTH && t->next < t->end; s++) {
		if (s->left > 0)
			continue;
		*s = (segment){ t->next, size_min(t->end - t->next, t->segment_bytes) };
		t->next += s->left;
		queue_segment(t, s);
	}
}

/* Move all segments. Return false if the ring cannot be used any more. */
static bool move_segments(uring_transfer *t)
{
	const arrivals *a = t->of->a;
	size_t reported = 0;
	for (queue_more(t); t->open > 0; queue_more(t)) {
		struct io_uring_cqe *c;
		int rc;
		do
			rc = io_uring_sq_ready(t->q) ? io_uring_submit(t->q) : 0;
		while (rc == -EINTR);
		/* the kernel accepts no segment, and none is in flight whose end could change
		 * this */
		if (io_uring_sq_ready(t->q) >= t->open) {
			for (size_t i = 0; i < DEPTH; i++)
				if (t->segment[i].left > 0)
					t->end = size_min(t->end, t->segment[i].at);
			return false;
		}
		/* wait, without a timeout, until a segment has ended */
		for (unsigned tries = 0; io_uring_wait_cqe(t->q, &c) != 0; tries++)
			nap(tries);
		segment *s = io_uring_cqe_get_data(c);
		const int moved = FAIL_RESULT(FAIL_URING, c->res);
		io_uring_cqe_seen(t->q, c);
		t->open--;
		if (moved > 0) {
			progress_add(t->of->writing ? PROGRESS_WRITTEN : PROGRESS_READ,
				     (uint64_t)moved);
			s->at += (size_t)moved;
			s->left = s->at < t->end ? s->left - (size_t)moved : 0;
		} else {
			t->end = size_min(t->end, s->at);
			s->left = 0;
		}
		if (s->left > 0)
			queue_segment(t, s);
		/* report the bytes before the first segment that has not ended */
		size_t complete = size_min(t->next, t->end);
		for (s = t->segment; s < t->segment + DEPTH; s++)
			complete = s->left > 0 ? size_min(complete, s->at) : complete;
		if (a && complete > reported)
			a->arrived(a->to, t->of->p + complete);
		reported = complete;
	}
	return true;
}

size_t uring_move(uring *u, int fd, const io_transfer *of)
{
	pthread_mutex_lock(&u->lock);
	ring *r = u->idle;
	if (r)
		u->idle = r->next;
	pthread_mutex_unlock(&u->lock);
	if (!r && uring_make_ring(&r) != 0)
		return 0;
	const size_t most = of->a ? URING_STEP_BYTES : SIZE_MAX;
	uring_transfer t = { .of = of,
			     .q = &r->q,
			     .fd = fd,
			     .segment_bytes = size_min(u->segment_bytes, most),
			     .end = of->bytes };
	if (move_segments(&t)) {
		pthread_mutex_lock(&u->lock);
		r->next = u->idle;
		u->idle = r;
		pthread_mutex_unlock(&u->lock);
	} else {
		free_ring(r);
	}
	return t.end;
}

#else

status uring_open(uring **out, size_t segment_bytes, err *e)
{
	(void)segment_bytes;
	*out = NULL;
	return err_set(e, ST_REFUSED, "this hetsort was built without io_uring (liburing)");
}

size_t uring_move(uring *u, int fd, const io_transfer *of)
{
	(void)u, (void)fd, (void)of;
	return 0;
}

void uring_close(uring *u)
{
	(void)u;
}

#endif
