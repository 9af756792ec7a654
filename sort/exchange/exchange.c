/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exchange
 *
 * Between every two peers there are two streams of blocks, one in each direction. Each end of a
 * stream has a window of slots. Block k of the stream uses slot k modulo the number of slots. The
 * main thread is the reader: it merges the streams that arrive. The reader itself moves blocks, or
 * one thread for both directions, or a sending and a receiving thread.
 *
 * Who writes. Only the thread that moves the blocks of a direction changes `begun` of its streams
 * and the sets `open` and `due`. For sent streams it also owns `through`. For received streams it
 * sets `through` under the lock. The reader owns `taken`, and sets `released` and `awaited` under
 * the lock.
 *
 * In which order. The sender fills a slot, stamps the header of the block, and sends it. The
 * receiver posts a receive for a slot as soon as the previous block in it is released. When a block
 * has arrived, the receiver checks it, then raises `through`, then signals the reader if the reader
 * awaits this stream. The reader releases a block when it asks for the next one of the same stream.
 *
 * Flow control. Sends are synchronous: a block leaves only when the receiver has posted a receive
 * for it, in a free slot. So no peer can delay the stream of another peer. A peer on the same host
 * reads blocks in the window of the sender and frees them there (shared_window.c). Such a stream is
 * tested only after the peer has reported that it has sent or freed a block.
 *
 * Why stale data is harmless. All counts only grow. If the receiving thread reads an old
 * `released`, it posts the next receive one step later. If the reader reads an old `through`, it
 * waits, and the receiving thread signals it, because both hold the lock when they compare.
 *
 * Which invariants hold. Sent: through <= begun <= blocks, and begun - through <= window. Received:
 * released <= taken <= through <= begun <= blocks, and begun - released <= window; in shared memory
 * `begun` is not used. Blocks of a stream are filled in order, by one thread. All ranks compute the
 * same window and the same size of blocks, so both ends know the size of every message.
 *
 * Consequences of a failure. If a call of the comm fails, exchange_fail() stores the status and
 * wakes all threads, which then end. Windows that messages may still use are never freed. After a
 * damaged block the streams continue to their end, so that no rank waits for this one, and
 * exchange_finish() reports the damage. If a thread cannot be started, the reader moves its blocks.
 *
 * Memory: 2 * window * block bytes * (peers - 1), one block for the rank's own records, 128 bytes
 * for each peer and 128 for each slot of its windows. */
#include "exchange.h"
#include "block.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/trace.h"
#include "comm/shared_window.h"

#include <math.h>
#include <pthread.h>

/* A stream between this rank and a peer. Sent blocks: [0, through) have left their slots,
 * [through, begun) are being sent. Received blocks: [0, released) have been read, [released, taken)
 * belong to the reader, [taken, through) have arrived, [through, begun) have posted receives. */
typedef struct stream {
	uint64_t count, blocks; /* records, and the number of their blocks */
	uint64_t begun, through, taken, released;
	uint64_t turn;      /* sent: most blocks in a row; see share_turns() */
	unsigned char *buf; /* the window; for received blocks in shared memory, the peer's */
	comm_req *req;      /* [window] */
} stream;

/* All streams in one direction. The sets of peers belong to the thread that moves blocks. */
typedef struct direction {
	stream *s;      /* [peers] */
	uint64_t *open; /* peers whose stream has not ended */
	uint64_t *due;  /* peers of `open` whose next block may be ready to move */
} direction;

/* A direction, or side, has the number of the news that its thread waits for. MOVE_OUT and MOVE_IN
 * are the bits of a mask of sides. */
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
	direction side[NEWS_KINDS];
	stream *streams;        /* of all directions */
	uint64_t *sets;         /* of the directions */
	comm_req *reqs;         /* of all windows */
	shared_window *sharing; /* all slots of blocks to send */
	bool messages;          /* some peers do not share memory with this rank */
	unsigned char *own;     /* the block of this rank's own stream; then all slots to receive */
	pthread_mutex_t lock;
	pthread_cond_t news; /* the awaited block arrived, or the exchange failed */
	int awaited;         /* the peer whose block the reader awaits, or own; under the lock */
	atomic_int failed;   /* a status, written under the lock */
	err damage;          /* the first damaged block; under the lock */
	mover mover[2];
	unsigned running; /* movers */
	unsigned self;    /* the sides that the main thread moves itself */
	exchange_times time;
};

uint64_t exchange_most_bytes(size_t record_bytes, size_t budget_bytes, int peers, int ranks)
{
	const windows w = windows_divide(budget_bytes, record_bytes, peers, UINT64_MAX);
	const uint64_t p = (uint64_t)peers, block = block_bytes(record_bytes, w.block_recs);
	return sizeof(exchange) + NEWS_KINDS * p * (sizeof(stream) + w.blocks * sizeof(comm_req)) +
	       SETS * rank_set_words(peers) * sizeof(uint64_t) + (w.blocks * (p - 1) + 1) * block +
	       shared_window_most_bytes(w.blocks * block, peers, ranks);
}

/* Let each stream send blocks in proportion to its length, so that all streams end together. With
 * equal turns, short streams would end first, and a rank with a large share would receive most of
 * it at the end, while the others are idle. */
static void share_turns(exchange *x)
{
	uint64_t blocks = 0, streams = 0;
	for (int i = 0; i < x->p.peers.count; i++) {
		const stream *s = &x->side[OUT].s[i];
		blocks += s->req ? s->blocks : 0;
		streams += s->req && s->blocks;
	}
	for (int i = 0; i < x->p.peers.count && blocks; i++) {
		stream *s = &x->side[OUT].s[i];
		const double of_mean = (double)s->blocks / ((double)blocks / (double)streams);
		s->turn = (uint64_t)fmax(round(of_mean), 1);
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
	x->block_bytes = block_bytes(p->record_bytes, w.block_recs);
	const size_t slots = x->window * (size - 1), words = rank_set_words(p->peers.count);
	x->streams = mem_array(p->m, NEWS_KINDS * size, sizeof *x->streams, "streams", e);
	x->sets = mem_array(p->m, SETS * words, sizeof *x->sets, "exchange", e);
	x->reqs = mem_array(p->m, NEWS_KINDS * slots, sizeof *x->reqs, "exchange windows", e);
	x->own = mem_array(p->m, slots + 1, x->block_bytes, "exchange windows", e);
	if (!x->streams || !x->sets || !x->reqs || !x->own)
		return ST_RESOURCE;
	const status rc = shared_window_open(&x->sharing, p->c, p->m, &x->p.peers,
					     x->window * x->block_bytes, e);
	if (rc != ST_OK)
		return rc;
	unsigned char *slot = x->own + x->block_bytes;
	comm_req *req = x->reqs;
	for (size_t k = 0; k < NEWS_KINDS; k++) {
		direction *d = &x->side[k];
		*d = (direction){ x->streams + k * size, x->sets + 2 * k * words,
				  x->sets + (2 * k + 1) * words };
		for (int i = 0; i < p->peers.count; i++) {
			stream *s = &d->s[i];
			s->count = k == OUT ? p->send[i] : p->recv[i];
			s->blocks = block_count(s->count, x->block_recs);
			if (i == p->peers.own)
				continue;
			s->buf = k == OUT ? shared_window_to(x->sharing, i) : slot;
			slot += k == OUT ? 0 : x->window * x->block_bytes;
			s->req = req;
			req += x->window;
			if (s->blocks) {
				rank_set_add(d->open, i);
				rank_set_add(d->due, i);
			}
		}
	}
	share_turns(x);
	return ST_OK;
}

static size_t fill_block(const exchange *x, int to, uint64_t k, unsigned char *buf)
{
	const size_t n = block_records(x->side[OUT].s[to].count, x->block_recs, k);
	x->p.fill(x->p.outgoing, to, k * x->block_recs, n, buf);
	return n;
}

/* Send the next block to peer `to`. */
static status send_block(exchange *x, int to)
{
	stream *o = &x->side[OUT].s[to];
	const peer_list *p = &x->p.peers;
	const int slot = (int)(o->begun % x->window);
	block_header *h = (void *)(o->buf + (size_t)slot * x->block_bytes);
	const double span = trace_begin();
	const size_t n = fill_block(x, to, o->begun, (unsigned char *)(h + 1));
	const size_t bytes = block_bytes(x->p.record_bytes, n);
	*h = block_for(peers_rank(p, p->own), peers_rank(p, to), x->p.record_bytes, o->begun++, n);
	block_stamp(h);
	FAIL_FLIP(FAIL_SENT, h, bytes);
	const status rc =
		shared_window_with(x->sharing, to)
			? shared_window_send(x->sharing, to, (unsigned char *)h, bytes)
			: comm_send(x->p.c, h, bytes, peers_rank(p, to), slot, &o->req[slot]);
	trace_end(TRACE_SEND, span);
	return rc;
}

/* Count the blocks that have left the window to peer `to`, and send the blocks of a turn, as far as
 * there are free slots. */
static status stream_send(exchange *x, int to, bool *moved)
{
	stream *o = &x->side[OUT].s[to];
	const bool shared = shared_window_with(x->sharing, to);
	const uint64_t before = o->through;
	bool done = true;
	status rc = ST_OK;
	if (shared)
		o->through = shared_window_freed(x->sharing, to);
	while (!shared && o->through < o->begun && done && rc == ST_OK) {
		rc = comm_test(x->p.c, &o->req[o->through % x->window], &done);
		o->through += rc == ST_OK && done;
	}
	*moved |= o->through != before;
	for (uint64_t i = 0; rc == ST_OK && i < o->turn && o->begun < o->blocks &&
			     o->begun - o->through < x->window;
	     i++) {
		rc = send_block(x, to);
		*moved = true;
	}
	return rc;
}

/* Check block k from peer `from`, and store the first damage. */
static void stream_check(exchange *x, int from, uint64_t k)
{
	const stream *n = &x->side[IN].s[from];
	const peer_list *p = &x->p.peers;
	const block_header wanted =
		block_for(peers_rank(p, from), peers_rank(p, p->own), x->p.record_bytes, k,
			  block_records(n->count, x->block_recs, k));
	const block_header *h = (const void *)(n->buf + (size_t)(k % x->window) * x->block_bytes);
	err e = { ST_OK, "" };
	const double span = trace_begin();
	if (block_check(h, &wanted, &e) != ST_OK) {
		pthread_mutex_lock(&x->lock);
		(void)err_join(&x->damage, &e);
		pthread_mutex_unlock(&x->lock);
	}
	trace_end(TRACE_RECEIVE, span);
}

/* Count the blocks that have arrived from peer `from`, and post receives for free slots. */
static status stream_receive(exchange *x, int from, bool *moved)
{
	stream *n = &x->side[IN].s[from];
	const bool shared = shared_window_with(x->sharing, from);
	pthread_mutex_lock(&x->lock);
	uint64_t arrived = n->through;
	const uint64_t released = n->released, before = arrived;
	pthread_mutex_unlock(&x->lock);
	status rc = ST_OK;
	for (; arrived < n->blocks; arrived++) {
		bool done = false;
		if (shared)
			done = arrived < shared_window_sent(x->sharing, from);
		else if (arrived < n->begun)
			rc = comm_test(x->p.c, &n->req[arrived % x->window], &done);
		if (rc != ST_OK || !done)
			break;
		stream_check(x, from, arrived);
	}
	if (arrived != before) {
		*moved = true;
		pthread_mutex_lock(&x->lock);
		n->through = arrived;
		if (x->awaited == from)
			pthread_cond_signal(&x->news);
		pthread_mutex_unlock(&x->lock);
	}
	while (!shared && rc == ST_OK && n->begun < n->blocks && n->begun - released < x->window) {
		const int slot = (int)(n->begun % x->window);
		const size_t recs = block_records(n->count, x->block_recs, n->begun++);
		rc = comm_recv(x->p.c, n->buf + (size_t)slot * x->block_bytes,
			       block_bytes(x->p.record_bytes, recs), peers_rank(&x->p.peers, from),
			       slot, &n->req[slot]);
		*moved = true;
	}
	return rc;
}

/* Move blocks of the due peers in [from, end). If the peer reads this rank's window, a sent stream
 * has ended when all its blocks are in the window. The window stays until they are read. */
static status move_due(exchange *x, unsigned side, int from, int end, bool *moved)
{
	const direction *d = &x->side[side];
	status rc = ST_OK;
	for (int i = from; rc == ST_OK && (i = rank_set_next(d->due, i, end)) < end; i++) {
		const stream *s = &d->s[i];
		const bool shared = shared_window_with(x->sharing, i);
		bool here = false;
		rc = side == OUT ? stream_send(x, i, &here) : stream_receive(x, i, &here);
		*moved |= here;
		if ((side == OUT && shared ? s->begun : s->through) == s->blocks)
			rank_set_remove(d->open, i);
		if (shared && !here) /* the peer will report news */
			rank_set_remove(d->due, i);
	}
	return rc;
}

/* Move blocks of all due streams of these directions once, from the peer after this rank on. */
static status move_once(exchange *x, unsigned sides, bool *moved)
{
	const peer_list *p = &x->p.peers;
	status rc = ST_OK;
	for (unsigned side = NEWS_KINDS; rc == ST_OK && side-- > 0;) { /* OUT first */
		const direction *d = &x->side[side];
		if (!(sides >> side & 1))
			continue;
		shared_window_news(x->sharing, side, d->due);
		for (size_t k = 0; k < rank_set_words(p->count); k++)
			d->due[k] &= d->open[k];
		rc = atomic_load(&x->p.c->broken) ? ST_PEER : ST_OK;
		if (rc == ST_OK)
			rc = move_due(x, side, p->own + 1, p->count, moved);
		if (rc == ST_OK)
			rc = move_due(x, side, 0, p->own, moved);
	}
	return rc;
}

static void exchange_fail(exchange *x, status rc)
{
	pthread_mutex_lock(&x->lock);
	atomic_store(&x->failed, rc);
	pthread_cond_signal(&x->news);
	pthread_mutex_unlock(&x->lock);
	shared_window_wake(x->sharing);
}

/* Move the blocks that can move now. If no block can move, nap if messages must be tested;
 * otherwise sleep until a rank of this host reports news. */
static status move_some(exchange *x, unsigned sides, unsigned *idle, exchange_times *t)
{
	const double t0 = now_s();
	const uint32_t looked = shared_window_look(x->sharing);
	bool moved = false;
	const status rc = move_once(x, sides, &moved);
	if (moved) {
		*idle = 0;
		atomic_fetch_add_explicit(&x->p.c->ticks, 1, memory_order_relaxed);
	} else if (x->messages) {
		nap((*idle)++);
	} else {
		shared_window_sleep(x->sharing, looked, sides);
	}
	*(moved ? &t->move_s : &t->wait_s) += now_s() - t0;
	return rc;
}

/* Move blocks until all streams of these directions have ended. */
static void move_to_end(exchange *x, unsigned sides, exchange_times *t)
{
	const int size = x->p.peers.count;
	status rc = ST_OK;
	for (unsigned idle = 0; rc == ST_OK && !atomic_load(&x->failed);) {
		bool ended = true;
		for (unsigned k = 0; k < NEWS_KINDS; k++)
			if (sides >> k & 1)
				ended &= rank_set_next(x->side[k].open, 0, size) == size;
		if (ended)
			return;
		rc = move_some(x, sides, &idle, t);
	}
	if (rc != ST_OK)
		exchange_fail(x, rc);
}

static void *mover_main(void *mover_)
{
	const mover *m = mover_;
	exchange_times spent = { 0, 0 };
	move_to_end(m->x, m->sides, &spent);
	return NULL;
}

static bool mover_start(exchange *x, unsigned sides, const char *name)
{
	mover *m = &x->mover[x->running];
	*m = (mover){ .x = x, .sides = sides };
	const bool up = thread_start(&m->thread, name, mover_main, m) == 0;
	x->running += up;
	return up;
}

status exchange_start(exchange *x)
{
	const peer_list *p = &x->p.peers;
	const status rc = shared_window_connect(x->sharing);
	if (rc != ST_OK)
		return rc;
	for (int i = 0; i < p->count; i++) {
		if (i == p->own)
			continue;
		if (shared_window_with(x->sharing, i))
			x->side[IN].s[i].buf = shared_window_from(x->sharing, i);
		else
			x->messages = true;
	}
	const unsigned threads = p->count > 1 && x->p.c->threads_allowed ? x->p.threads : 0;
	x->self = MOVE_OUT | MOVE_IN;
	if (threads == 1 && mover_start(x, MOVE_OUT | MOVE_IN, "exchange"))
		x->self = 0;
	/* Never start only the receiving thread: it would signal the main thread by `news`, but the
	 * main thread, which then sends, may sleep in the shared window. */
	if (threads == 2 && mover_start(x, MOVE_OUT, "exchange-out"))
		x->self = mover_start(x, MOVE_IN, "exchange-in") ? 0 : MOVE_IN;
	return ST_OK;
}

status exchange_progress(exchange *x)
{
	const double t0 = now_s();
	bool moved = false;
	const status rc = move_once(x, x->self, &moved);
	x->time.move_s += moved ? now_s() - t0 : 0;
	return rc;
}

/* Release the blocks that have been read, and wait for the next block of this stream. */
static status stream_await(exchange *x, int from)
{
	stream *n = &x->side[IN].s[from];
	unsigned idle = 0;
	status rc = ST_OK;
	if (shared_window_with(x->sharing, from) && n->taken > n->released &&
	    n->taken + x->window <= n->blocks)
		shared_window_free(x->sharing, from, n->taken); /* the peer may wait for a slot */
	pthread_mutex_lock(&x->lock);
	n->released = n->taken;
	x->awaited = from;
	while (n->through == n->taken && rc == ST_OK &&
	       (rc = (status)atomic_load(&x->failed)) == ST_OK) {
		const double t0 = now_s();
		if (!x->self) {
			pthread_cond_wait(&x->news, &x->lock);
			x->time.wait_s += now_s() - t0;
			continue;
		}
		pthread_mutex_unlock(&x->lock);
		rc = move_some(x, x->self, &idle, &x->time);
		pthread_mutex_lock(&x->lock);
	}
	x->awaited = x->p.peers.own;
	pthread_mutex_unlock(&x->lock);
	return rc;
}

status exchange_next(exchange *x, int src, const unsigned char **recs, size_t *n)
{
	stream *in = &x->side[IN].s[src];
	*n = 0;
	if (in->taken == in->blocks)
		return ST_OK;
	if (src == x->p.peers.own) { /* gather this rank's own records */
		*n = fill_block(x, src, in->taken++, x->own);
		*recs = x->own;
		return ST_OK;
	}
	comm_wait_begin(x->p.c);
	const double span = trace_begin();
	const status rc = comm_wait_end(x->p.c, stream_await(x, src));
	trace_end(TRACE_WAIT, span);
	if (rc != ST_OK)
		return rc;
	*recs = in->buf + (size_t)(in->taken % x->window) * x->block_bytes + sizeof(block_header);
	*n = block_records(in->count, x->block_recs, in->taken++);
	return ST_OK;
}

static void movers_join(exchange *x)
{
	for (; x->running; x->running--)
		pthread_join(x->mover[x->running - 1].thread, NULL);
}

status exchange_finish(exchange *x, exchange_times *t, err *e)
{
	comm_wait_begin(x->p.c);
	move_to_end(x, x->self, &x->time);
	const double t0 = now_s();
	movers_join(x);
	(void)comm_wait_end(x->p.c, ST_OK);
	*t = x->time;
	t->wait_s += now_s() - t0;
	const status rc = (status)atomic_load(&x->failed);
	return rc == ST_OK ? err_join(e, &x->damage) : rc;
}

void exchange_free(exchange *x)
{
	if (!x)
		return;
	mem *m = x->p.m;
	if (x->running) { /* the reader has failed */
		exchange_fail(x, ST_PEER);
		movers_join(x);
	}
	if (atomic_load(&x->p.c->broken))
		return; /* requests, which cannot be cancelled, still use the windows */
	pthread_cond_destroy(&x->news);
	pthread_mutex_destroy(&x->lock);
	shared_window_close(x->sharing);
	mem_free(m, x->streams);
	mem_free(m, x->sets);
	mem_free(m, x->reqs);
	mem_free(m, x->own);
	mem_free(m, x);
}
