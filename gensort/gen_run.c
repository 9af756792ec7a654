/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads of gensort. The caller is one of them; if others cannot be started, fewer do the
 * work. A block is 400 KiB: whole records, whole pages, and it stays in a core's cache between
 * making, summing and writing. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "crc.h"
#include "gen_run.h"
#include "processors.h"
#include "progress.h"

enum {
	BLOCK_RECS = 4096,
	BLOCK_BYTES = BLOCK_RECS * RECORD_BYTES,
	PAGE_BYTES = 4096,
};

_Static_assert(BLOCK_BYTES % PAGE_BYTES == 0, "blocks are whole pages");

struct run {
	const struct gen_args *args;
	const struct gen_out *out;
	uint64_t blocks;
	atomic_uint_fast64_t next; /* block to be handed out */
	atomic_int err;            /* first failure; all stop */
	pthread_mutex_t lock;      /* guards turn and checksum */
	pthread_cond_t turned;
	uint64_t turn; /* block to be written next, if the output is a stream */
	u128 checksum;
	struct progress shown; /* only the caller's thread */
};

static atomic_int stop_signal; /* lock-free, so fit for a signal handler */

void gen_stop(int signal)
{
	atomic_store(&stop_signal, signal);
}

static bool stopped(struct run *r)
{
	return atomic_load_explicit(&r->err, memory_order_relaxed) != 0 ||
	       atomic_load_explicit(&stop_signal, memory_order_relaxed) != 0;
}

static void fail(struct run *r, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&r->err, &none, err);
	pthread_mutex_lock(&r->lock);
	pthread_cond_broadcast(&r->turned);
	pthread_mutex_unlock(&r->lock);
}

/* The turn stays where a write failed, so nothing can follow the gap. */
static int write_in_turn(struct run *r, uint64_t block, const unsigned char *p, size_t bytes)
{
	bool mine;
	int err;

	pthread_mutex_lock(&r->lock);
	while (r->turn != block && !stopped(r))
		pthread_cond_wait(&r->turned, &r->lock);
	mine = r->turn == block;
	pthread_mutex_unlock(&r->lock);
	if (!mine)
		return 0; /* another thread failed, and has said why */
	err = gen_out_write(r->out, p, bytes, 0);
	if (err != 0)
		return err;
	pthread_mutex_lock(&r->lock);
	r->turn++;
	pthread_cond_broadcast(&r->turned);
	pthread_mutex_unlock(&r->lock);
	return 0;
}

static void do_block(struct run *r, uint64_t block, unsigned char *buf, u128 *sum)
{
	uint64_t at = block * BLOCK_RECS, left = r->args->recs - at;
	size_t recs = left < BLOCK_RECS ? (size_t)left : BLOCK_RECS, bytes = recs * RECORD_BYTES;
	int err;

	gen_records(r->args->kind, r->args->start + at, recs, buf);
	if (r->args->checksum)
		*sum += crc_sum(buf, recs);
	if (r->out->regular || r->out->fd < 0) /* the offset fits: the whole file's size does */
		err = gen_out_write(r->out, buf, bytes, at * RECORD_BYTES);
	else
		err = write_in_turn(r, block, buf, bytes);
	if (err != 0)
		fail(r, err);
}

/* Blocks until none is left but the last: that one is for the caller, when all others are done. */
static void do_blocks(struct run *r, unsigned char *buf, struct progress *shown)
{
	u128 sum = 0;

	while (!stopped(r)) {
		uint64_t block = atomic_fetch_add(&r->next, 1);

		if (block >= r->blocks - 1)
			break;
		do_block(r, block, buf, &sum);
		if (shown) /* what was handed out is nearly done */
			progress_now(shown, block * BLOCK_BYTES);
	}
	pthread_mutex_lock(&r->lock);
	r->checksum += sum;
	pthread_mutex_unlock(&r->lock);
}

static void *worker(void *arg)
{
	unsigned char *buf = aligned_alloc(PAGE_BYTES, BLOCK_BYTES);

	if (buf) /* without memory the others do this thread's share */
		do_blocks(arg, buf, NULL);
	free(buf);
	return NULL;
}

static void do_all(struct run *r, unsigned threads, unsigned char *buf)
{
	pthread_t *id = calloc(threads, sizeof *id);
	unsigned up = 0;

	while (id && up + 1 < threads && pthread_create(&id[up], NULL, worker, r) == 0)
		up++;
	do_blocks(r, buf, &r->shown);
	while (up > 0)
		pthread_join(id[--up], NULL);
	free(id);
	if (!stopped(r))
		do_block(r, r->blocks - 1, buf, &r->checksum);
}

static unsigned thread_count(const struct run *r)
{
	unsigned n = r->args->threads ? r->args->threads : processors_count();

	if (n > GEN_MAX_THREADS)
		n = GEN_MAX_THREADS;
	return n < r->blocks ? n : (unsigned)r->blocks;
}

struct gen_result gen_run(const struct gen_args *a, const struct gen_out *out)
{
	struct run r = { .args = a, .out = out, .lock = PTHREAD_MUTEX_INITIALIZER };
	unsigned char *buf;

	pthread_cond_init(&r.turned, NULL);
	r.blocks = a->recs / BLOCK_RECS + (a->recs % BLOCK_RECS != 0);
	if (r.blocks > 0) {
		buf = aligned_alloc(PAGE_BYTES, BLOCK_BYTES);
		progress_begin(&r.shown,
			       a->recs < UINT64_MAX / RECORD_BYTES ? a->recs * RECORD_BYTES : 0,
			       true);
		if (buf)
			do_all(&r, thread_count(&r), buf);
		else
			atomic_store(&r.err, ENOMEM);
		progress_clear(&r.shown);
		free(buf);
	}
	pthread_cond_destroy(&r.turned);
	return (struct gen_result){ r.checksum, atomic_load(&r.err), atomic_load(&stop_signal) };
}
