/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads past the page cache of which somebody wants to know as they come go by io_uring. Of all
 * else, io_uring at first writes past the page cache, and calls do the rest: so it was faster where
 * this was measured. After some hundred megabytes a trial shows what is faster here: rounds of
 * transfers are made by the one method and the other in turn, and the faster one is used from then
 * on. A round's time is from the beginning of one transfer to the beginning of another, so it
 * covers whatever else the sort does meanwhile. */
#include "io_backend.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	BEFORE = 128, /* segments moved before the trial, in however many transfers */
	ROUND = 20,   /* by one method; the first MIXED overlap with the round before: untimed */
	MIXED = 6,
	TRIAL = 4 * ROUND,
	SMALL = 8, /* io_uring does not pay for a transfer of less than 1 / so much of a segment */
	GAIN = 8,  /* the other method must be faster by 1 / so much, else it was chance */
};

typedef struct tally {
	double seconds;
	size_t bytes;
} tally;

typedef struct direction {
	uint64_t before; /* bytes, until there are enough for a trial */
	uint64_t tried;  /* transfers since then */
	double since_s;  /* in a trial: when the time of the round began */
	tally trial[2];  /* by calls, by io_uring */
	uint64_t uring_bytes;
	bool judged, verdict; /* by io_uring? */
	bool last;
} direction;

struct io_backend {
	uring *ring; /* NULL: none, all goes by calls */
	size_t segment_bytes;
	bool forced;
	pthread_mutex_t lock; /* for the directions */
	direction dir[2];
};

status io_backend_open(io_backend **out, io_method wanted, size_t segment_bytes, err *why, err *e)
{
	io_backend *x = calloc(1, sizeof *x);
	*out = NULL;
	if (!x)
		return err_set(e, ST_RESOURCE, "no memory for the ways of input and output");
	pthread_mutex_init(&x->lock, NULL);
	x->segment_bytes = segment_bytes ? segment_bytes : URING_SEGMENT_BYTES;
	x->forced = x->dir[0].last = x->dir[1].last = wanted == IO_URING;
	*out = x;
	if (wanted == IO_THREADS)
		return ST_OK;
	const status rc = uring_open(&x->ring, x->segment_bytes, wanted == IO_URING ? e : why);
	return wanted == IO_URING ? rc : ST_OK;
}

bool io_backend_is_forced(const io_backend *x)
{
	return x && x->forced;
}

static double rate(const tally *t)
{
	return t->seconds > 0 ? (double)t->bytes / t->seconds : 0;
}

static void judge(direction *d, bool by_rule)
{
	const double other = rate(&d->trial[!by_rule]), ours = rate(&d->trial[by_rule]);
	const bool change = other * (GAIN - 1) > ours * GAIN;
	d->judged = true;
	d->verdict = by_rule != change;
}

/* Transfer `at` of the trial begins: by io_uring? */
static bool try_one(direction *d, uint64_t at, const io_kind *k, double now_s)
{
	const bool by_ring = at / ROUND % 2 == 1;
	if (at % ROUND == 0 && at > 0)
		d->trial[!by_ring].seconds += now_s - d->since_s;
	if (at % ROUND == MIXED)
		d->since_s = now_s;
	if (at % ROUND >= MIXED)
		d->trial[by_ring].bytes += k->bytes;
	return by_ring;
}

/* The trial ends with its last round. */
static bool next_method(direction *d, const io_kind *k, size_t segment_bytes, double now_s)
{
	const bool by_rule = k->writing && k->direct;
	if (d->before < (uint64_t)BEFORE * segment_bytes) {
		d->before += k->bytes;
		return by_rule;
	}
	const uint64_t i = d->tried++;
	const bool by_ring = i <= TRIAL && try_one(d, i, k, now_s);
	if (i == TRIAL)
		judge(d, by_rule);
	return i < TRIAL ? by_ring : d->verdict;
}

uring *io_backend_ring(io_backend *x, const io_kind *k, double now_s)
{
	if (!x || !x->ring || k->bytes < x->segment_bytes / SMALL)
		return NULL;
	if (x->forced)
		return x->ring;
	pthread_mutex_lock(&x->lock);
	direction *d = &x->dir[k->writing];
	d->last = (k->watched && k->direct) || next_method(d, k, x->segment_bytes, now_s);
	uring *r = d->last ? x->ring : NULL;
	pthread_mutex_unlock(&x->lock);
	return r;
}

void io_backend_moved(io_backend *x, const io_kind *k, size_t bytes)
{
	pthread_mutex_lock(&x->lock);
	x->dir[k->writing].uring_bytes += bytes;
	pthread_mutex_unlock(&x->lock);
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
	if (d->judged) {
		t->calls_bytes_per_s = rate(&d->trial[0]);
		t->uring_bytes_per_s = rate(&d->trial[1]);
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
