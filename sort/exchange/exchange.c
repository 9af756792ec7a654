/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exchange. Per peer and direction a window of block slots; a slot's receive is posted as soon
 * as its last block has been read, and sends are synchronous, so posted receives are the credits: a
 * rank is sent only what it has room for, and no peer can hold up another's stream. A peer on the
 * same host reads blocks in the sender's window, and frees them there; it is looked at only when it
 * has told that there is news. Each block has a header with a checksum. After a damaged block the
 * streams still run to their end, so that no rank waits for this one. Memory: 2 * window * block
 * bytes * (peers - 1), one block for the rank's own records, 120 bytes and 128 a slot of window for
 * each peer. */
#include "exchange.h"
#include "block.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/pool.h"
#include "base/trace.h"
#include "comm/rank_set.h"
#include "comm/shared_window.h"

#include <pthread.h>
#include <stdlib.h>

/* The stream to one peer. Blocks [0, sent) are sent and their slots free, [sent, begun) are being
 * sent. */
typedef struct out_stream {
	bool shared;    /* the peer reads the window */
	uint64_t count; /* records */
	uint64_t blocks, begun, sent;
	unsigned char *buf;
	comm_req *req; /* [window] */
} out_stream;

/* The stream from one peer. Blocks [0, released) are read, [released, taken) the reader's,
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

/* All streams in one direction, of the thread that moves them: sets of peers (rank_set.h). */
typedef struct direction {
	uint64_t *open; /* whose stream has not come to its end */
	uint64_t *due;  /* of these, where something may have to be done */
} direction;

/* A direction is named by what its thread waits for; some of them are a mask. */
enum {
	OUT = NEWS_FREED,
	IN = NEWS_SENT,
	SETS = 2 * NEWS_KINDS,
	MOVE_OUT = 1 << OUT,
	MOVE_IN = 1 << IN
};

/* A thread that moves blocks. */
typedef struct mover {
	exchange *x;
	unsigned sides;
	pthread_t thread;
} mover;

struct exchange {
	exchange_plan p;
	size_t window, block_recs, block_bytes;
	out_stream *out;
	in_stream *in;
	uint64_t *sets; /* of the directions */
	direction side[NEWS_KINDS];
	comm_req *reqs;         /* of all windows */
	shared_window *sharing; /* all slots that are sent from */
	bool messages;          /* to or from some ranks blocks go by messages */
	unsigned char *slots;   /* all that are received into */
	unsigned char *own;     /* the block of this rank's own stream */
	pthread_mutex_t lock;
	pthread_cond_t news; /* the awaited block arrived, or the exchange failed */
	int awaited;         /* the peer that it is to come from, or none of them; under the lock */
	status failed;       /* under the lock */
	err damage;          /* the first block that came damaged; under the lock */
	mover mover[2];
	unsigned running; /* of them */
	unsigned self;    /* what the main thread has to move itself */
	exchange_times time;
};

/* A block of n records with its header; the next slot is aligned again. */
static size_t message_bytes(size_t record_bytes, size_t n)
{
	const size_t bytes = sizeof(block_header) + n * record_bytes;
	return (bytes + 7) / 8 * 8;
}

uint64_t exchange_most_bytes(size_t record_bytes, size_t budget_bytes, int peers, int ranks)
{
	const windows w = windows_divide(budget_bytes, record_bytes, peers, UINT64_MAX);
	const uint64_t p = (uint64_t)peers, block = message_bytes(record_bytes, w.block_recs);
	return sizeof(exchange) +
	       p * (sizeof(out_stream) + sizeof(in_stream) + 2 * w.blocks * sizeof(comm_req)) +
	       SETS * rank_set_words(peers) * sizeof(uint64_t) + (w.blocks * (p - 1) + 1) * block +
	       shared_window_most_bytes(w.blocks * block, peers, ranks);
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
	return (block_header){ .from = peers_rank(&x->p.peers, from),
			       .to = peers_rank(&x->p.peers, to),
			       .record_bytes = (uint32_t)x->p.record_bytes,
			       .block = k,
			       .records = n };
}

static void open_stream(const direction *d, int peer, uint64_t blocks)
{
	if (blocks == 0)
		return;
	rank_set_add(d->open, peer);
	rank_set_add(d->due, peer);
}

static void lay_out_streams(exchange *x)
{
	const peer_list *p = &x->p.peers;
	const size_t words = rank_set_words(p->count);
	unsigned char *slot = x->slots;
	comm_req *req = x->reqs;
	for (size_t k = 0; k < NEWS_KINDS; k++)
		x->side[k] = (direction){ x->sets + 2 * k * words, x->sets + (2 * k + 1) * words };
	for (int i = 0; i < p->count; i++) {
		out_stream *o = &x->out[i];
		in_stream *n = &x->in[i];
		o->count = x->p.send[i];
		n->count = x->p.recv[i];
		o->blocks = blocks_of(x, o->count);
		n->blocks = blocks_of(x, n->count);
		if (i == p->own)
			continue;
		o->buf = shared_window_to(x->sharing, i);
		n->buf = slot;
		slot += x->window * x->block_bytes;
		o->req = req;
		n->req = req + x->window;
		req += 2 * x->window;
		open_stream(&x->side[OUT], i, o->blocks);
		open_stream(&x->side[IN], i, n->blocks);
	}
}

status exchange_open(exchange **out, const exchange_plan *p, err *e)
{
	const size_t size = (size_t)p->peers.count;
	exchange *x = *out = mem_array(p->m, 1, sizeof *x, "exchange", e);
	if (!x)
		return ST_RESOURCE;
	x->p = *p;
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->news, NULL);
	const windows w = windows_divide(p->budget_bytes, p->record_bytes, p->most_peers, p->total);
	x->window = w.blocks;
	x->block_recs = w.block_recs;
	x->block_bytes = block_message(x, x->block_recs);
	const size_t slots = 2 * x->window * (size - 1);
	x->out = mem_array(p->m, size, sizeof *x->out, "outgoing streams", e);
	x->in = mem_array(p->m, size, sizeof *x->in, "incoming streams", e);
	x->sets = mem_array(p->m, SETS * rank_set_words(p->peers.count), sizeof *x->sets,
			    "exchange", e);
	x->reqs = mem_array(p->m, slots, sizeof *x->reqs, "exchange windows", e);
	x->slots = mem_array(p->m, slots / 2, x->block_bytes, "exchange windows", e);
	x->own = mem_array(p->m, 1, x->block_bytes, "exchange block", e);
	if (!x->out || !x->in || !x->sets || !x->reqs || !x->slots || !x->own)
		return ST_RESOURCE;
	const status rc = shared_window_open(&x->sharing, p->c, p->m, &x->p.peers,
					     x->window * x->block_bytes, e);
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

/* Which of the blocks to peer `to` are sent, and have left their slots? */
static status see_sent(exchange *x, int to, bool *moved)
{
	out_stream *o = &x->out[to];
	const uint64_t before = o->sent;
	bool done = true;
	status rc = ST_OK;
	if (o->shared)
		o->sent = shared_window_freed(x->sharing, to);
	while (!o->shared && o->sent < o->begun && done && rc == ST_OK) {
		rc = comm_test(x->p.c, &o->req[o->sent % x->window], &done);
		o->sent += done;
	}
	*moved |= o->sent != before;
	return rc;
}

/* Move the stream to peer `to` on by at most one block. */
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
	*h = header_of(x, x->p.peers.own, to, o->begun++, n);
	block_stamp(h);
	*moved = true;
	FAIL_FLIP(FAIL_SENT, h, block_message(x, n));
	if (o->shared)
		rc = shared_window_send(x->sharing, to, (unsigned char *)h, block_message(x, n));
	else
		rc = comm_send(x->p.c, h, block_message(x, n), peers_rank(&x->p.peers, to), slot,
			       &o->req[slot]);
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
			       block_message(x, recs), peers_rank(&x->p.peers, from), slot,
			       &n->req[slot]);
		*moved = true;
	}
	return rc;
}

/* Is block k from peer `from` what it should be? */
static void check_arrived(exchange *x, int from, uint64_t k)
{
	const in_stream *n = &x->in[from];
	const block_header wanted =
		header_of(x, from, x->p.peers.own, k, block_count(x, n->count, k));
	const block_header *h = (const void *)(n->buf + (size_t)(k % x->window) * x->block_bytes);
	err e = { ST_OK, "" };
	if (block_check(h, &wanted, &e) == ST_OK)
		return;
	pthread_mutex_lock(&x->lock);
	err_set(&x->damage, e.code, "%s", e.text);
	pthread_mutex_unlock(&x->lock);
}

/* Is block k of the stream from peer `from` there? */
static status see_arrived(exchange *x, int from, uint64_t k, bool *done)
{
	in_stream *n = &x->in[from];
	*done = false;
	if (!n->shared)
		return k < n->posted ? comm_test(x->p.c, &n->req[k % x->window], done) : ST_OK;
	*done = k < shared_window_sent(x->sharing, from);
	return ST_OK;
}

/* Move the stream from peer `from` on: count blocks that came, post receives for free slots. */
static status step_in(exchange *x, int from, bool *moved)
{
	in_stream *n = &x->in[from];
	pthread_mutex_lock(&x->lock);
	uint64_t arrived = n->arrived;
	const uint64_t released = n->released, before = arrived;
	pthread_mutex_unlock(&x->lock);
	bool done = true;
	status rc = ST_OK;
	while (arrived < n->blocks && (rc = see_arrived(x, from, arrived, &done)) == ST_OK &&
	       done) {
		const double span = trace_begin();
		check_arrived(x, from, arrived);
		trace_end(TRACE_RECEIVE, span);
		arrived++;
	}
	if (arrived != before) {
		*moved = true;
		pthread_mutex_lock(&x->lock);
		n->arrived = arrived;
		if (x->awaited == from)
			pthread_cond_signal(&x->news);
		pthread_mutex_unlock(&x->lock);
	}
	return rc == ST_OK ? post_receives(x, from, released, moved) : rc;
}

/* What a peer reads in the window stays there as long as the peer wants it. */
static bool has_ended(const exchange *x, unsigned side, int peer)
{
	const out_stream *o = &x->out[peer];
	if (side == OUT)
		return (o->shared ? o->begun : o->sent) == o->blocks;
	return x->in[peer].arrived == x->in[peer].blocks; /* only this thread changes it */
}

/* Those of the peers [from, end) that are due. */
static status step_due(exchange *x, unsigned side, int from, int end, bool *moved)
{
	const direction *d = &x->side[side];
	status rc = ST_OK;
	for (int i = from; rc == ST_OK && (i = rank_set_next(d->due, i, end)) < end; i++) {
		bool here = false;
		rc = side == OUT ? step_out(x, i, &here) : step_in(x, i, &here);
		*moved |= here;
		if (has_ended(x, side, i))
			rank_set_remove(d->open, i);
		if (x->out[i].shared && !here) /* it will tell */
			rank_set_remove(d->due, i);
	}
	return rc;
}

/* One round over all streams of a direction, each rank starting at the peer behind it. */
static status step_side(exchange *x, unsigned side, bool *moved)
{
	const peer_list *p = &x->p.peers;
	const direction *d = &x->side[side];
	shared_window_news(x->sharing, side, d->due);
	for (size_t k = 0; k < rank_set_words(p->count); k++)
		d->due[k] &= d->open[k];
	status rc = atomic_load(&x->p.c->broken) ? ST_PEER : ST_OK;
	if (rc == ST_OK)
		rc = step_due(x, side, p->own + 1, p->count, moved);
	return rc == ST_OK ? step_due(x, side, 0, p->own, moved) : rc;
}

static status step_all(exchange *x, unsigned sides, bool *moved)
{
	status rc = sides & MOVE_OUT ? step_side(x, OUT, moved) : ST_OK;
	return rc == ST_OK && sides & MOVE_IN ? step_side(x, IN, moved) : rc;
}

static bool all_ended(const exchange *x, unsigned sides)
{
	const int size = x->p.peers.count;
	bool all = true;
	for (unsigned k = 0; k < NEWS_KINDS; k++)
		all &= !(sides >> k & 1) || rank_set_next(x->side[k].open, 0, size) == size;
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
static void rest(exchange *x, uint32_t looked, unsigned sides, unsigned idle)
{
	if (x->messages)
		nap(idle);
	else
		shared_window_sleep(x->sharing, looked, sides);
}

/* Moves blocks until all are through: rests while nothing can move. */
static exchange_times move_all(exchange *x, unsigned sides)
{
	status rc = ST_OK;
	exchange_times spent = { 0, 0 };
	for (unsigned idle = 0; rc == ST_OK && failure(x) == ST_OK; idle++) {
		const double t0 = now_s();
		const uint32_t looked = shared_window_look(x->sharing);
		bool moved = false;
		rc = step_all(x, sides, &moved);
		if (all_ended(x, sides))
			break;
		if (moved) {
			idle = 0;
			atomic_fetch_add_explicit(&x->p.c->ticks, 1, memory_order_relaxed);
		} else {
			rest(x, looked, sides, idle);
		}
		*(moved ? &spent.move_s : &spent.wait_s) += now_s() - t0;
	}
	if (rc != ST_OK)
		give_up(x, rc);
	return spent;
}

static void *move(void *mover_)
{
	const mover *m = mover_;
	(void)move_all(m->x, m->sides);
	return NULL;
}

static bool start_thread(exchange *x, unsigned sides, const char *name)
{
	mover *m = &x->mover[x->running];
	*m = (mover){ .x = x, .sides = sides };
	const bool up = thread_start(&m->thread, name, move, m) == 0;
	x->running += up;
	return up;
}

/* Streams to and from ranks of this host are read where they are written. */
static status connect(exchange *x)
{
	const peer_list *p = &x->p.peers;
	const status rc = shared_window_connect(x->sharing);
	for (int i = 0; rc == ST_OK && i < p->count; i++) {
		if (i == p->own)
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
	const unsigned threads = x->p.peers.count > 1 && x->p.c->threads_allowed ? x->p.threads : 0;
	x->self = MOVE_OUT | MOVE_IN;
	if (threads == 1 && start_thread(x, MOVE_OUT | MOVE_IN, "exchange"))
		x->self = 0;
	/* what is received is told to the main thread, which must not sleep in the window then */
	if (threads == 2 && start_thread(x, MOVE_OUT, "exchange-out"))
		x->self = start_thread(x, MOVE_IN, "exchange-in") ? 0 : MOVE_IN;
	return ST_OK;
}

/* What the main thread has to move itself, by one step of each stream. */
static status progress(exchange *x, bool *moved)
{
	const double t0 = now_s();
	const status rc = step_all(x, x->self, moved);
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
	if (n->shared && n->taken > n->released && n->taken + x->window <= n->blocks)
		shared_window_free(x->sharing, from, n->taken); /* the peer may wait for it */
	pthread_mutex_lock(&x->lock);
	n->released = n->taken;
	x->awaited = from;
	for (unsigned idle = 0; n->arrived == n->taken && rc == ST_OK; idle++) {
		if ((rc = x->failed) != ST_OK)
			break;
		const double t0 = now_s();
		bool moved = false;
		if (!x->self) {
			pthread_cond_wait(&x->news, &x->lock);
		} else {
			pthread_mutex_unlock(&x->lock);
			const uint32_t looked = shared_window_look(x->sharing);
			rc = progress(x, &moved);
			if (moved)
				idle = 0;
			else
				rest(x, looked, x->self, idle);
			pthread_mutex_lock(&x->lock);
		}
		x->time.wait_s += moved ? 0 : now_s() - t0;
	}
	x->awaited = x->p.peers.own;
	pthread_mutex_unlock(&x->lock);
	return rc;
}

status exchange_next(exchange *x, int src, const unsigned char **recs, size_t *n)
{
	in_stream *in = &x->in[src];
	*n = 0;
	if (in->taken == in->blocks)
		return ST_OK;
	if (src == x->p.peers.own) { /* its own records are gathered when the reader asks */
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
		pthread_join(x->mover[x->running - 1].thread, NULL);
}

status exchange_finish(exchange *x, exchange_times *t, err *e)
{
	exchange_times last = { 0, 0 };
	comm_wait_begin(x->p.c);
	if (failure(x) == ST_OK)
		last = move_all(x, x->self);
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
	mem_free(m, x->sets);
	mem_free(m, x->reqs);
	shared_window_close(x->sharing);
	mem_free(m, x->slots);
	mem_free(m, x->own);
	mem_free(m, x);
}
