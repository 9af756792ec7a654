/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exchange. Per peer and direction a window of block slots; a slot's receive is posted
 * as soon as its last block has been read, and sends are synchronous, so posted receives are the
 * credits: a rank is sent only what it has room for, and no peer can hold up another's stream.
 * A peer on the same host reads blocks in the sender's window, and frees them there. Each block has
 * a header with a checksum. After a damaged block the streams still run to their end, so that no
 * rank waits for this one. Memory: 2 * window * block bytes * (ranks - 1), one block for the
 * rank's own records, 120 bytes and 128 a slot of window for each peer. */
#include "exchange.h"
#include "block.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/thread.h"
#include "base/trace.h"
#include "comm/shared_window.h"
#include "windows.h"

#include <pthread.h>
#include <stdlib.h>

/* The stream to one rank. Blocks [0, sent) are sent and their slots free, [sent, begun) are being
 * sent. */
typedef struct out_stream {
	bool shared;    /* the peer reads the window */
	uint64_t count; /* records */
	uint64_t blocks, begun, sent;
	unsigned char *buf;
	comm_req *req; /* [window] */
} out_stream;

/* The stream from one rank. Blocks [0, released) are read, [released, taken) the reader's,
 * [taken, arrived) wait for it, [arrived, posted) are awaited. */
typedef struct in_stream {
	bool shared; /* buf is the peer's window */
	uint64_t count, blocks;
	uint64_t posted;            /* only of the side that moves blocks */
	uint64_t arrived, released; /* of both sides, under the lock */
	uint64_t taken;             /* only of the reader */
	unsigned char *buf;
	comm_req *req; /* [window] */
} in_stream;

struct exchange {
	exchange_plan p;
	size_t window, block_recs, block_bytes;
	out_stream *out;
	in_stream *in;
	comm_req *reqs;         /* of all windows */
	shared_window *sharing; /* all slots that are sent from */
	bool messages;          /* to or from some ranks blocks go by messages */
	unsigned char *slots;   /* all that are received into */
	unsigned char *own;     /* the block of this rank's own stream */
	pthread_mutex_t lock;
	pthread_cond_t news; /* a block arrived, or the exchange failed */
	status failed;       /* under the lock */
	err damage;          /* the first block that came damaged; under the lock */
	pthread_t thread[2];
	unsigned running;       /* threads that move blocks */
	bool self_in, self_out; /* what the main thread has to move itself */
	exchange_times time;
};

/* A block of n records with its header; the next slot is aligned again. */
static size_t message_bytes(size_t record_bytes, size_t n)
{
	const size_t bytes = sizeof(block_header) + n * record_bytes;
	return (bytes + 7) / 8 * 8;
}

uint64_t exchange_most_bytes(size_t record_bytes, size_t budget_bytes, int ranks)
{
	const windows w = windows_divide(budget_bytes, record_bytes, ranks, UINT64_MAX);
	const uint64_t p = (uint64_t)ranks, block = message_bytes(record_bytes, w.block_recs);
	return sizeof(exchange) +
	       p * (sizeof(out_stream) + sizeof(in_stream) + 2 * w.blocks * sizeof(comm_req)) +
	       (w.blocks * (p - 1) + 1) * block + shared_window_most_bytes(w.blocks * block, ranks);
}

static uint64_t blocks_of(const exchange *x, uint64_t count)
{
	return count / x->block_recs + (count % x->block_recs != 0);
}

/* Records in block k of a stream of count. */
static size_t block_count(const exchange *x, uint64_t count, uint64_t k)
{
	return (size_t)u64_min(count - k * x->block_recs, x->block_recs);
}

static size_t block_message(const exchange *x, size_t n)
{
	return message_bytes(x->p.record_bytes, n);
}

static block_header header_of(const exchange *x, int from, int to, uint64_t k, size_t n)
{
	return (block_header){ .from = from,
			       .to = to,
			       .record_bytes = (uint32_t)x->p.record_bytes,
			       .block = k,
			       .records = n };
}

static void lay_out_streams(exchange *x)
{
	const comm *c = x->p.c;
	unsigned char *slot = x->slots;
	comm_req *req = x->reqs;
	for (int i = 0; i < c->size; i++) {
		out_stream *o = &x->out[i];
		in_stream *n = &x->in[i];
		o->count = x->p.send[i];
		n->count = x->p.recv[i];
		o->blocks = blocks_of(x, o->count);
		n->blocks = blocks_of(x, n->count);
		if (i == c->rank)
			continue;
		o->buf = shared_window_to(x->sharing, i);
		n->buf = slot;
		slot += x->window * x->block_bytes;
		o->req = req;
		n->req = req + x->window;
		req += 2 * x->window;
	}
}

status exchange_open(exchange **out, const exchange_plan *p, err *e)
{
	const size_t size = (size_t)p->c->size;
	exchange *x = *out = mem_array(p->m, 1, sizeof *x, "exchange", e);
	if (!x)
		return ST_RESOURCE;
	x->p = *p;
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->news, NULL);
	const windows w = windows_divide(p->budget_bytes, p->record_bytes, p->c->size, p->total);
	x->window = w.blocks;
	x->block_recs = w.block_recs;
	x->block_bytes = block_message(x, x->block_recs);
	const size_t slots = 2 * x->window * (size - 1);
	x->out = mem_array(p->m, size, sizeof *x->out, "outgoing streams", e);
	x->in = mem_array(p->m, size, sizeof *x->in, "incoming streams", e);
	x->reqs = mem_array(p->m, slots, sizeof *x->reqs, "exchange windows", e);
	x->slots = mem_array(p->m, slots / 2, x->block_bytes, "exchange windows", e);
	x->own = mem_array(p->m, 1, x->block_bytes, "exchange block", e);
	if (!x->out || !x->in || !x->reqs || !x->slots || !x->own)
		return ST_RESOURCE;
	const status rc =
		shared_window_open(&x->sharing, p->c, p->m, x->window * x->block_bytes, e);
	if (rc == ST_OK)
		lay_out_streams(x);
	return rc;
}

static size_t fill_block(const exchange *x, int to, uint64_t k, unsigned char *buf)
{
	const size_t n = block_count(x, x->out[to].count, k);
	x->p.fill(x->p.outgoing, to, k * x->block_recs, n, buf);
	return n;
}

static status unless_broken(const exchange *x)
{
	return atomic_load(&x->p.c->broken) ? ST_PEER : ST_OK;
}

/* Which of the blocks to rank `to` are sent, and have left their slots? */
static status see_sent(exchange *x, int to, bool *moved)
{
	out_stream *o = &x->out[to];
	bool done = true;
	status rc = unless_broken(x);
	if (o->shared) {
		const uint64_t freed = shared_window_freed(x->sharing, to);
		*moved |= freed != o->sent;
		o->sent = freed;
		return rc;
	}
	while (o->sent < o->begun && done && rc == ST_OK) {
		rc = comm_test(x->p.c, &o->req[o->sent % x->window], &done);
		o->sent += done;
		*moved |= done;
	}
	return rc;
}

/* Move the stream to rank `to` on by at most one block. */
static status step_out(exchange *x, int to, bool *moved)
{
	out_stream *o = &x->out[to];
	status rc = see_sent(x, to, moved);
	if (rc != ST_OK || o->begun == o->blocks || o->begun - o->sent == x->window)
		return rc;
	const int slot = (int)(o->begun % x->window);
	block_header *h = (void *)(o->buf + (size_t)slot * x->block_bytes);
	const double span = trace_begin();
	const size_t n = fill_block(x, to, o->begun, (unsigned char *)(h + 1));
	*h = header_of(x, x->p.c->rank, to, o->begun++, n);
	block_stamp(h);
	*moved = true;
	FAIL_FLIP(FAIL_SENT, h, block_message(x, n));
	if (o->shared)
		rc = shared_window_send(x->sharing, to, (unsigned char *)h, block_message(x, n));
	else
		rc = comm_send(x->p.c, h, block_message(x, n), to, slot, &o->req[slot]);
	trace_end(TRACE_SEND, span);
	return rc;
}

static status post_receives(exchange *x, int from, uint64_t released, bool *moved)
{
	in_stream *n = &x->in[from];
	status rc = ST_OK;
	while (rc == ST_OK && !n->shared && n->posted < n->blocks &&
	       n->posted - released < x->window) {
		const int slot = (int)(n->posted % x->window);
		const size_t recs = block_count(x, n->count, n->posted++);
		rc = comm_recv(x->p.c, n->buf + (size_t)slot * x->block_bytes,
			       block_message(x, recs), from, slot, &n->req[slot]);
		*moved = true;
	}
	return rc;
}

/* Is block k from rank `from` what it should be? */
static void check_arrived(exchange *x, int from, uint64_t k)
{
	const in_stream *n = &x->in[from];
	const block_header wanted =
		header_of(x, from, x->p.c->rank, k, block_count(x, n->count, k));
	const block_header *h = (const void *)(n->buf + (size_t)(k % x->window) * x->block_bytes);
	err e = { ST_OK, "" };
	if (block_check(h, &wanted, &e) == ST_OK)
		return;
	pthread_mutex_lock(&x->lock);
	err_set(&x->damage, e.code, "%s", e.text);
	pthread_mutex_unlock(&x->lock);
}

/* Is block k of the stream from rank `from` there? */
static status see_arrived(exchange *x, int from, uint64_t k, bool *done)
{
	in_stream *n = &x->in[from];
	*done = false;
	if (!n->shared)
		return k < n->posted ? comm_test(x->p.c, &n->req[k % x->window], done) : ST_OK;
	*done = k < shared_window_sent(x->sharing, from);
	return unless_broken(x);
}

/* Move the stream from rank `from` on: count blocks that came, post receives for free slots. */
static status step_in(exchange *x, int from, bool *moved)
{
	in_stream *n = &x->in[from];
	pthread_mutex_lock(&x->lock);
	uint64_t arrived = n->arrived;
	const uint64_t released = n->released, before = arrived;
	pthread_mutex_unlock(&x->lock);
	bool done = true;
	status rc = ST_OK;
	while (arrived < n->blocks && done && rc == ST_OK) {
		rc = see_arrived(x, from, arrived, &done);
		if (!done || rc != ST_OK)
			break;
		const double span = trace_begin();
		check_arrived(x, from, arrived);
		trace_end(TRACE_RECEIVE, span);
		arrived += done;
	}
	if (arrived != before) {
		*moved = true;
		pthread_mutex_lock(&x->lock);
		n->arrived = arrived;
		pthread_cond_signal(&x->news);
		pthread_mutex_unlock(&x->lock);
	}
	return rc == ST_OK ? post_receives(x, from, released, moved) : rc;
}

/* One round over all peers, each rank starting at its right neighbour. */
static status step_all(exchange *x, status (*step)(exchange *, int, bool *), bool *moved)
{
	const comm *c = x->p.c;
	status rc = ST_OK;
	for (int i = 1; i < c->size && rc == ST_OK; i++)
		rc = step(x, (c->rank + i) % c->size, moved);
	return rc;
}

/* What a peer reads in the window stays there as long as the peer wants it. */
static bool all_sent(const exchange *x)
{
	for (int i = 0; i < x->p.c->size; i++) {
		const out_stream *o = &x->out[i];
		if (i != x->p.c->rank && (o->shared ? o->begun : o->sent) < o->blocks)
			return false;
	}
	return true;
}

static bool all_arrived(exchange *x)
{
	bool all = true;
	pthread_mutex_lock(&x->lock);
	for (int i = 0; i < x->p.c->size; i++)
		if (i != x->p.c->rank && x->in[i].arrived < x->in[i].blocks)
			all = false;
	pthread_mutex_unlock(&x->lock);
	return all;
}

static void give_up(exchange *x, status rc)
{
	pthread_mutex_lock(&x->lock);
	x->failed = rc;
	pthread_cond_signal(&x->news);
	pthread_mutex_unlock(&x->lock);
	shared_window_wake(x->sharing);
}

static status failure(exchange *x)
{
	pthread_mutex_lock(&x->lock);
	const status rc = x->failed;
	pthread_mutex_unlock(&x->lock);
	return rc;
}

/* Nothing could move since `looked`: messages have to be asked for, other ranks of the host tell.
 */
static void rest(exchange *x, uint32_t looked, unsigned idle)
{
	if (x->messages)
		nap(idle);
	else
		shared_window_sleep(x->sharing, looked);
}

/* Moves blocks until all are through: rests while nothing can move. */
static exchange_times move_all(exchange *x, bool out, bool in)
{
	status rc = ST_OK;
	exchange_times spent = { 0, 0 };
	for (unsigned idle = 0; rc == ST_OK && failure(x) == ST_OK; idle++) {
		const double t0 = now_s();
		const uint32_t looked = shared_window_look(x->sharing);
		bool moved = false;
		if (out)
			rc = step_all(x, step_out, &moved);
		if (in && rc == ST_OK)
			rc = step_all(x, step_in, &moved);
		if ((!out || all_sent(x)) && (!in || all_arrived(x)))
			break;
		if (moved) {
			idle = 0;
			atomic_fetch_add_explicit(&x->p.c->ticks, 1, memory_order_relaxed);
		} else {
			rest(x, looked, idle);
		}
		*(moved ? &spent.move_s : &spent.wait_s) += now_s() - t0;
	}
	if (rc != ST_OK)
		give_up(x, rc);
	return spent;
}

static void *move_both(void *x)
{
	(void)move_all(x, true, true);
	return NULL;
}

static void *move_out(void *x)
{
	(void)move_all(x, true, false);
	return NULL;
}

static void *move_in(void *x)
{
	(void)move_all(x, false, true);
	return NULL;
}

static bool start_thread(exchange *x, void *(*fn)(void *), const char *name)
{
	const bool up = thread_start(&x->thread[x->running], name, fn, x) == 0;
	x->running += up;
	return up;
}

/* Streams to and from ranks of this host are read where they are written. */
static status connect(exchange *x)
{
	const comm *c = x->p.c;
	const status rc = shared_window_connect(x->sharing);
	for (int i = 0; rc == ST_OK && i < c->size; i++) {
		if (i == c->rank)
			continue;
		const bool shared = shared_window_with(x->sharing, i);
		x->out[i].shared = x->in[i].shared = shared;
		x->messages |= !shared;
		if (shared)
			x->in[i].buf = shared_window_from(x->sharing, i);
	}
	return rc;
}

status exchange_start(exchange *x)
{
	const status rc = connect(x);
	if (rc != ST_OK)
		return rc;
	const unsigned threads = x->p.c->size > 1 && x->p.c->threads_allowed ? x->p.threads : 0;
	x->self_in = x->self_out = true;
	if (threads == 1)
		x->self_in = x->self_out = !start_thread(x, move_both, "exchange");
	if (threads == 2) {
		x->self_out = !start_thread(x, move_out, "exchange-out");
		x->self_in = !start_thread(x, move_in, "exchange-in");
	}
	return ST_OK;
}

/* What the main thread has to move itself, by one step of each stream. */
static status progress(exchange *x, bool *moved)
{
	const double t0 = now_s();
	status rc = ST_OK;
	if (x->self_out)
		rc = step_all(x, step_out, moved);
	if (x->self_in && rc == ST_OK)
		rc = step_all(x, step_in, moved);
	x->time.move_s += *moved ? now_s() - t0 : 0;
	return rc;
}

status exchange_progress(exchange *x)
{
	bool moved = false;
	return progress(x, &moved);
}

static status await_block(exchange *x, int from)
{
	in_stream *n = &x->in[from];
	status rc = ST_OK;
	if (n->shared)
		shared_window_free(x->sharing, from, n->taken);
	pthread_mutex_lock(&x->lock);
	n->released = n->taken;
	for (unsigned idle = 0; n->arrived == n->taken && rc == ST_OK; idle++) {
		if ((rc = x->failed) != ST_OK)
			break;
		const double t0 = now_s();
		bool moved = false;
		if (!x->self_in && !x->self_out) {
			pthread_cond_wait(&x->news, &x->lock);
		} else {
			pthread_mutex_unlock(&x->lock);
			const uint32_t looked = shared_window_look(x->sharing);
			rc = progress(x, &moved);
			if (moved)
				idle = 0;
			else
				rest(x, looked, idle);
			pthread_mutex_lock(&x->lock);
		}
		x->time.wait_s += moved ? 0 : now_s() - t0;
	}
	pthread_mutex_unlock(&x->lock);
	return rc;
}

status exchange_next(exchange *x, int src, const unsigned char **recs, size_t *n)
{
	in_stream *in = &x->in[src];
	*n = 0;
	if (in->taken == in->blocks)
		return ST_OK;
	if (src == x->p.c->rank) { /* its own records are gathered when the reader asks */
		*n = fill_block(x, src, in->taken++, x->own);
		*recs = x->own;
		return ST_OK;
	}
	comm_wait_begin(x->p.c);
	const double span = trace_begin();
	const status rc = comm_wait_end(x->p.c, await_block(x, src));
	trace_end(TRACE_WAIT, span);
	if (rc != ST_OK)
		return rc;
	*recs = in->buf + (size_t)(in->taken % x->window) * x->block_bytes + sizeof(block_header);
	*n = block_count(x, in->count, in->taken++);
	return ST_OK;
}

static void join_threads(exchange *x)
{
	for (; x->running; x->running--)
		pthread_join(x->thread[x->running - 1], NULL);
}

status exchange_finish(exchange *x, exchange_times *t, err *e)
{
	exchange_times last = { 0, 0 };
	comm_wait_begin(x->p.c);
	if (failure(x) == ST_OK)
		last = move_all(x, x->self_out, x->self_in);
	const double t0 = now_s();
	join_threads(x);
	(void)comm_wait_end(x->p.c, ST_OK);
	t->move_s = x->time.move_s + last.move_s;
	t->wait_s = x->time.wait_s + last.wait_s + (now_s() - t0);
	const status rc = failure(x);
	return rc == ST_OK && x->damage.code ? err_set(e, x->damage.code, "%s", x->damage.text)
					     : rc;
}

void exchange_free(exchange *x)
{
	if (!x)
		return;
	mem *m = x->p.m;
	if (x->running) { /* the reader gave up early */
		give_up(x, ST_PEER);
		join_threads(x);
	}
	if (atomic_load(&x->p.c->broken))
		return; /* requests that cannot be cancelled still use the windows */
	pthread_cond_destroy(&x->news);
	pthread_mutex_destroy(&x->lock);
	mem_free(m, x->out);
	mem_free(m, x->in);
	mem_free(m, x->reqs);
	shared_window_close(x->sharing);
	mem_free(m, x->slots);
	mem_free(m, x->own);
	mem_free(m, x);
}
