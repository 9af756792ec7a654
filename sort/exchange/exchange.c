/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exchange
 *
 * Between every two ranks there are two streams of blocks, one in each direction. Each end of a
 * stream has a window of slots. Block k of the stream uses slot k modulo the number of slots. The
 * reader merges the streams that arrive. A sending thread fills and sends blocks, or the reader
 * does it between two of its own steps.
 *
 * Who writes. A sent stream, and the sets `open` and `due`, belong to the sender. A received stream
 * belongs to the reader. They share only `failed`, and the counts in shared memory and in requests.
 *
 * In which order. The sender fills a slot, stamps the header of the block, and sends it. The reader
 * posts a receive for a slot as soon as it releases the previous block in it. It releases a block
 * when it asks for the next one of the same stream. It checks a message when it takes it: then the
 * records are in the cache for the merge.
 *
 * Waiting. A rank of the same host reads blocks in the window of the sender and frees them there
 * (shared_window.c). Other ranks send messages, and their requests report when they are done.
 * Either way the news arrives in the shared window of this rank: the reader waits for a block of
 * one rank, the sender for free slots of any rank. So a wake-up costs what has arrived, however
 * many ranks there are. If the backend must be driven, one thread for all lanes of the rank does
 * it, or the reader itself.
 *
 * Flow control. Sends are synchronous: a block leaves only when the receiver has posted a receive
 * for it, in a free slot. So no rank can delay the stream of another rank.
 *
 * Which invariants hold. Sent: through <= begun <= blocks, and begun - through <= window. Received:
 * taken <= begun <= blocks, and begun - taken <= window; in shared memory `begun` is not used.
 * Blocks of a stream are filled in order, by one thread. All ranks compute the same window and the
 * same size of blocks, so both ends know the most bytes of every message; its header has the number
 * of records.
 *
 * Consequences of a failure. If a call of the comm fails, exchange_fail() stores the status and
 * wakes all threads, which then end. Windows that messages may still use are never freed. After a
 * damaged block the streams continue to their end, so that no rank waits for this one, and
 * exchange_finish() reports the damage. If a thread cannot be started, the reader does its work.
 *
 * Memory: 2 * window * block bytes * (ranks - 1), or half of it if all ranks are in one process;
 * one block for the rank's own records; 128 bytes for each rank and 128 for each slot. */
#include "exchange.h"
#include "block.h"
#include "base/arith.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/trace.h"
#include "comm/shared_window.h"

#include <math.h>
#include <pthread.h>

/* A stream between this rank and another one. Sent blocks: [0, through) have left their slots,
 * [through, begun) are being sent. Received blocks: the reader has taken [0, taken), and has posted
 * receives for [taken, begun). */
typedef struct stream {
	uint64_t count, blocks; /* records, and the number of their blocks */
	uint64_t begun, through, taken;
	uint64_t moved;     /* records of the blocks begun, or taken */
	uint64_t turn;      /* sent: most blocks in a row; see share_turns() */
	unsigned char *buf; /* the window; for received blocks in shared memory, the other rank's */
	comm_req *req;      /* [window] */
} stream;

struct exchange {
	exchange_plan p;
	size_t window, block_recs, block_bytes;
	stream *out, *in;       /* [size] each, in one array */
	uint64_t *open;         /* of the sender: ranks whose stream has not ended, */
	uint64_t *due;          /* and the ranks among them whose next block may be ready */
	comm_req *reqs;         /* of all windows */
	shared_window *sharing; /* all slots of blocks to send */
	bool messages;          /* some ranks do not share memory with this rank */
	unsigned char *own;     /* the block of this rank's own stream; then all slots to receive */
	atomic_int failed;      /* a status */
	err damage;             /* the first damaged block; of the reader */
	bool sends;             /* the reader is the sender, too */
	bool drives;            /* the reader moves messages */
	bool has_sender, has_driver;
	pool_call first; /* of each thread of this lane, to place it */
	pthread_t sender, driver;
	exchange *const *all; /* with a driver: all lanes, */
	size_t lanes;
	atomic_bool ended; /* and the end of its work */
	exchange_times time;
};

uint64_t exchange_most_bytes(size_t record_bytes, size_t budget_bytes, int ranks, bool inside)
{
	const windows w = windows_divide(budget_bytes, record_bytes, ranks, inside, UINT64_MAX);
	const uint64_t p = (uint64_t)ranks, block = block_bytes(record_bytes, w.block_recs);
	return sizeof(exchange) + 2 * p * (sizeof(stream) + w.blocks * sizeof(comm_req)) +
	       2 * rank_set_words(ranks) * sizeof(uint64_t) +
	       (w.blocks * (inside ? 0 : p - 1) + 1) * block +
	       shared_window_most_bytes(w.blocks * block, ranks);
}

/* Let each stream send blocks in proportion to its length, the longest a window at a time, so that
 * all streams end together. With equal turns, short streams would end first, and a rank with a
 * large share would receive most of it at the end, while the others are idle. */
static void share_turns(exchange *x)
{
	uint64_t most = 1;
	for (int i = 0; i < x->p.c->size; i++)
		if (x->out[i].req)
			most = u64_max(most, x->out[i].blocks);
	for (int i = 0; i < x->p.c->size; i++) {
		stream *s = &x->out[i];
		const double of_most = (double)s->blocks / (double)most;
		s->turn = (uint64_t)fmax(round((double)x->window * of_most), 1);
	}
}

status exchange_open(exchange **out, const exchange_plan *p, err *e)
{
	const int own = p->c->rank;
	const size_t size = (size_t)p->c->size, words = rank_set_words(p->c->size);
	exchange *x = *out = mem_array(p->m, 1, sizeof *x, "exchange", e);
	if (!x)
		return ST_RESOURCE;
	x->p = *p;
	const bool inside = comm_is_inside(p->c);
	const windows w =
		windows_divide(p->budget_bytes, p->record_bytes, p->c->size, inside, p->total);
	x->window = w.blocks;
	x->block_recs = w.block_recs;
	x->block_bytes = block_bytes(p->record_bytes, w.block_recs);
	const size_t slots = x->window * (size - 1);
	x->out = mem_array(p->m, 2 * size, sizeof *x->out, "streams", e);
	x->open = mem_array(p->m, 2 * words, sizeof *x->open, "exchange", e);
	x->reqs = mem_array(p->m, 2 * slots, sizeof *x->reqs, "exchange windows", e);
	x->own = mem_array(p->m, (inside ? 0 : slots) + 1, x->block_bytes, "exchange windows", e);
	if (!x->out || !x->open || !x->reqs || !x->own)
		return ST_RESOURCE;
	const status rc =
		shared_window_open(&x->sharing, p->c, p->m, x->window * x->block_bytes, e);
	if (rc != ST_OK)
		return rc;
	x->in = x->out + size;
	x->due = x->open + words;
	unsigned char *slot = x->own + x->block_bytes;
	comm_req *req = x->reqs;
	for (int i = 0; i < p->c->size; i++) {
		stream *to = &x->out[i], *from = &x->in[i];
		to->count = p->send[i];
		to->blocks = block_count(to->count, x->block_recs);
		from->count = p->recv[i];
		from->blocks = block_count(from->count, x->block_recs);
		if (i == own)
			continue;
		to->buf = shared_window_to(x->sharing, i);
		to->req = req;
		from->buf = slot;
		from->req = req + x->window;
		req += 2 * x->window;
		slot += inside ? 0 : x->window * x->block_bytes;
		if (to->blocks) {
			rank_set_add(x->open, i);
			rank_set_add(x->due, i);
		}
	}
	share_turns(x);
	return ST_OK;
}

/* --------------------------------------------------------------------------------- the sender */

/* A request is done. Called by any thread. */
static void request_done(void *exchange_, int rank, bool sent)
{
	exchange *x = exchange_;
	shared_window_report(x->sharing, sent ? NEWS_FREED : NEWS_SENT, rank);
}

/* Return the tag of the messages in a slot. */
static int slot_tag(const exchange *x, size_t slot)
{
	return (int)(slot * EXCHANGE_MOST_LANES + x->p.lane);
}

/* Send the next block to rank `to`. */
static status send_block(exchange *x, int to)
{
	stream *o = &x->out[to];
	comm *c = x->p.c;
	const size_t slot = (size_t)(o->begun % x->window);
	block_header *h = (void *)(o->buf + slot * x->block_bytes);
	const double span = trace_begin();
	const size_t most = block_records(o->count, x->block_recs, o->begun);
	const size_t n = x->p.fill(x->p.outgoing, to, most, (unsigned char *)(h + 1));
	const size_t bytes = block_bytes(x->p.record_bytes, n);
	o->moved += n;
	*h = block_for(c->rank, to, x->p.record_bytes, o->begun++, n);
	if (!shared_window_with(x->sharing, to))
		block_stamp(h);
	FAIL_FLIP(FAIL_SENT, h, bytes);
	const status rc = shared_window_with(x->sharing, to)
				  ? shared_window_send(x->sharing, to, (unsigned char *)h, bytes)
				  : comm_send_noted(c, h, bytes, to, slot_tag(x, slot),
						    &o->req[slot], (comm_note){ request_done, x });
	trace_end(TRACE_SEND, span);
	return rc;
}

/* Count the blocks that have left the window to rank `to`, and send the blocks of a turn, as far as
 * there are free slots. */
static status stream_send(exchange *x, int to, bool *moved)
{
	stream *o = &x->out[to];
	const bool shared = shared_window_with(x->sharing, to);
	const uint64_t before = o->through;
	bool done = true;
	status rc = ST_OK;
	if (shared)
		o->through = shared_window_freed(x->sharing, to);
	while (!shared && rc == ST_OK && done && o->through < o->begun &&
	       atomic_load(&o->req[o->through % x->window].complete)) {
		rc = comm_test(x->p.c, &o->req[o->through % x->window], &done);
		o->through += rc == ST_OK && done;
	}
	*moved |= o->through != before;
	/* several blocks in a row are often of one bucket; but all ranks need a first block to
	 * begin */
	const uint64_t turn = o->begun > 0 ? o->turn : 1;
	for (uint64_t i = 0;
	     rc == ST_OK && i < turn && o->begun < o->blocks && o->begun - o->through < x->window;
	     i++) {
		rc = send_block(x, to);
		*moved = true;
	}
	return rc;
}

/* Send blocks of the due ranks in [from, end). If the rank reads this rank's window, the stream has
 * ended when all its blocks are in the window. The window stays until they are read. */
static status send_due(exchange *x, int from, int end, bool *moved)
{
	status rc = ST_OK;
	for (int i = from; rc == ST_OK && (i = rank_set_next(x->due, i, end)) < end; i++) {
		const stream *s = &x->out[i];
		bool here = false;
		rc = stream_send(x, i, &here);
		*moved |= here;
		if ((shared_window_with(x->sharing, i) ? s->begun : s->through) == s->blocks)
			rank_set_remove(x->open, i);
		if (!here) /* there will be news */
			rank_set_remove(x->due, i);
	}
	return rc;
}

/* Send the blocks that can be sent, one turn of each stream, from the rank after this one on. */
static status send_some(exchange *x, bool *moved)
{
	const comm *c = x->p.c;
	shared_window_news(x->sharing, x->due);
	for (size_t k = 0; k < rank_set_words(c->size); k++)
		x->due[k] &= x->open[k];
	status rc = atomic_load(&c->broken) ? ST_PEER : (status)atomic_load(&x->failed);
	if (rc == ST_OK)
		rc = send_due(x, c->rank + 1, c->size, moved);
	return rc == ST_OK ? send_due(x, 0, c->rank, moved) : rc;
}

static bool all_sent(const exchange *x)
{
	return rank_set_next(x->open, 0, x->p.c->size) == x->p.c->size;
}

static void exchange_fail(exchange *x, status rc)
{
	int none = ST_OK;
	atomic_compare_exchange_strong(&x->failed, &none, rc);
	shared_window_wake(x->sharing);
}

void exchange_place(const exchange *x)
{
	if (x->first.work)
		x->first.work(x->first.arg, x->p.lane);
}

static void *sender_main(void *exchange_)
{
	exchange *x = exchange_;
	status rc = ST_OK;
	exchange_place(x);
	while (rc == ST_OK && !all_sent(x)) {
		const uint32_t looked = shared_window_look(x->sharing);
		bool moved = false;
		rc = send_some(x, &moved);
		if (moved)
			atomic_fetch_add_explicit(&x->p.c->ticks, 1, memory_order_relaxed);
		else if (rc == ST_OK && !all_sent(x))
			shared_window_sleep(x->sharing, looked, 1U << NEWS_FREED);
	}
	if (rc != ST_OK)
		exchange_fail(x, rc);
	return NULL;
}

/* ------------------------------------------------------------------------------------- messages */

/* Move messages until *readers is `left`, or *ended is true. */
static status drive(exchange *const *x, size_t n, const atomic_int *readers, int left,
		    const atomic_bool *ended)
{
	comm *c = x[0]->p.c;
	status rc = ST_OK;
	for (unsigned idle = 0;
	     rc == ST_OK && (readers ? atomic_load(readers) > left : !atomic_load(ended));) {
		bool moved = false;
		rc = comm_drive(c, &moved);
		if (moved)
			idle = 0;
		else
			nap(idle++);
	}
	for (size_t i = 0; rc != ST_OK && i < n; i++)
		exchange_fail(x[i], rc);
	return rc;
}

static void *driver_main(void *exchange_)
{
	const exchange *x = exchange_;
	(void)drive(x->all, x->lanes, NULL, 0, &x->ended);
	return NULL;
}

bool exchange_needs_caller(exchange *const *x)
{
	const exchange *first = x[0];
	return first->messages && first->p.c->ops->drive && !first->p.c->threads_allowed;
}

status exchange_drive(exchange *const *x, size_t n, const atomic_int *readers, int left)
{
	const status rc = drive(x, n, readers, left, NULL);
	for (size_t i = 0; i < n; i++)
		x[i]->drives = true;
	return rc;
}

/* Post receives for the free slots of a stream of messages. */
static status post_receives(exchange *x, int from)
{
	stream *n = &x->in[from];
	status rc = ST_OK;
	while (rc == ST_OK && n->begun < n->blocks && n->begun - n->taken < x->window) {
		const size_t slot = (size_t)(n->begun % x->window);
		const size_t recs = block_records(n->count, x->block_recs, n->begun++);
		rc = comm_recv_noted(x->p.c, n->buf + slot * x->block_bytes,
				     block_bytes(x->p.record_bytes, recs), from, slot_tag(x, slot),
				     &n->req[slot], (comm_note){ request_done, x });
	}
	return rc;
}

/* Start the threads. If only the calling thread may use the comm, it is the only thread of a single
 * exchange; with more, it moves their messages. */
static void start_threads(exchange *const *x, size_t n)
{
	const comm *c = x[0]->p.c;
	const bool needed = exchange_needs_caller(x);
	exchange *first = x[0];
	const bool driven = first->messages && c->ops->drive;
	bool threads = first->p.threads && c->size > 1 && (n > 1 || !needed);
	first->all = x;
	first->lanes = n;
	if (threads && driven && !needed)
		threads = first->has_driver =
			thread_start(&first->driver, "messages", driver_main, first) == 0;
	for (size_t i = 0; i < n; i++) {
		x[i]->first = pool_first();
		x[i]->has_sender =
			threads && thread_start(&x[i]->sender, "sender", sender_main, x[i]) == 0;
		x[i]->sends = !x[i]->has_sender;
		x[i]->drives = driven && !threads;
	}
}

status exchange_start(exchange *const *x, size_t n, err *e)
{
	shared_window *w[EXCHANGE_MOST_LANES] = { NULL };
	for (size_t i = 0; i < n; i++)
		w[i] = x[i]->sharing;
	status rc = shared_window_connect(w, n, e);
	for (size_t k = 0; rc == ST_OK && k < n; k++)
		for (int i = 0; rc == ST_OK && i < x[k]->p.c->size; i++) {
			if (i == x[k]->p.c->rank)
				continue;
			if (shared_window_with(w[k], i)) {
				x[k]->in[i].buf = shared_window_from(w[k], i);
			} else {
				x[k]->messages = true;
				rc = post_receives(x[k], i);
			}
		}
	if (rc == ST_OK)
		start_threads(x, n);
	return rc;
}

/* --------------------------------------------------------------------------------- the reader */

/* Do the work of threads that do not exist, once. */
static status move_here(exchange *x, bool *moved)
{
	status rc = x->sends ? send_some(x, moved) : ST_OK;
	if (rc == ST_OK && x->drives)
		rc = comm_drive(x->p.c, moved);
	return rc;
}

/* Wait a moment for news of these kinds, after a look that has found nothing. */
static void wait_here(const exchange *x, uint32_t looked, unsigned kinds, unsigned *idle)
{
	if (x->drives)
		nap((*idle)++);
	else
		shared_window_sleep(x->sharing, looked, kinds);
}

status exchange_progress(exchange *x)
{
	if (!x->sends && !x->drives)
		return ST_OK;
	const double t0 = now_s();
	bool moved = false;
	const status rc = move_here(x, &moved);
	x->time.move_s += moved ? now_s() - t0 : 0;
	return rc;
}

static bool has_arrived(const exchange *x, int from)
{
	const stream *n = &x->in[from];
	return shared_window_with(x->sharing, from)
		       ? n->taken < shared_window_sent(x->sharing, from)
		       : atomic_load(&n->req[n->taken % x->window].complete);
}

/* Wait for the next block of this stream. */
static status await_block(exchange *x, int from)
{
	const unsigned kinds = 1U << NEWS_SENT | (x->sends ? 1U << NEWS_FREED : 0);
	unsigned idle = 0;
	status rc = ST_OK;
	shared_window_await(x->sharing, from);
	for (;;) {
		const double t0 = now_s();
		const uint32_t looked = shared_window_look(x->sharing);
		bool moved = false;
		rc = atomic_load(&x->p.c->broken) ? ST_PEER : (status)atomic_load(&x->failed);
		if (rc != ST_OK || has_arrived(x, from))
			break;
		rc = move_here(x, &moved);
		if (rc != ST_OK)
			break;
		if (moved)
			idle = 0;
		else
			wait_here(x, looked, kinds, &idle);
		*(moved ? &x->time.move_s : &x->time.wait_s) += now_s() - t0;
	}
	shared_window_await(x->sharing, -1);
	return rc;
}

/* Release the block that has been read, and let the other rank send the next one into its slot. */
static status release_block(exchange *x, int from)
{
	const stream *n = &x->in[from];
	if (!shared_window_with(x->sharing, from))
		return post_receives(x, from);
	if (n->taken > 0 && n->taken + x->window <= n->blocks) /* the rank may wait for a slot */
		shared_window_free(x->sharing, from, n->taken);
	return ST_OK;
}

/* Take the next block from rank `from`, check it, and store the first damage. A block in shared
 * memory has not moved, so only its size is checked: the checksum of the output shows whether it
 * was damaged. Return the number of its records. */
static size_t take_block(exchange *x, int from, const unsigned char **recs)
{
	stream *in = &x->in[from];
	const block_header *h =
		(const void *)(in->buf + (size_t)(in->taken % x->window) * x->block_bytes);
	const size_t most = block_records(in->count, x->block_recs, in->taken);
	const block_header wanted =
		block_for(from, x->p.c->rank, x->p.record_bytes, in->taken++, most);
	const block_rule rule = { shared_window_with(x->sharing, from), x->p.folds };
	err e = { ST_OK, "" };
	const double span = trace_begin();
	const status rc = block_check(h, &wanted, rule, &e);
	if (rc != ST_OK)
		(void)err_join(&x->damage, &e);
	trace_end(TRACE_RECEIVE, span);
	*recs = (const unsigned char *)(h + 1);
	const size_t n = rc == ST_OK ? (size_t)h->records : most;
	in->moved += n;
	return n;
}

/* Take the next block of a stream, which has one. */
static status next_block(exchange *x, int src, const unsigned char **recs, size_t *n)
{
	stream *in = &x->in[src];
	if (src == x->p.c->rank) { /* gather this rank's own records */
		*n = x->p.fill(x->p.outgoing, src,
			       block_records(in->count, x->block_recs, in->taken++), x->own);
		*recs = x->own;
		return ST_OK;
	}
	status rc = release_block(x, src);
	if (rc == ST_OK && !has_arrived(x, src)) {
		const double span = trace_begin();
		comm_wait_begin(x->p.c);
		rc = comm_wait_end(x->p.c, await_block(x, src));
		trace_end(TRACE_WAIT, span);
	}
	bool done = true;
	if (rc == ST_OK && !shared_window_with(x->sharing, src))
		rc = comm_test(x->p.c, &in->req[in->taken % x->window], &done);
	if (rc == ST_OK)
		*n = take_block(x, src, recs);
	return rc;
}

status exchange_next(exchange *x, int src, const unsigned char **recs, size_t *n)
{
	const stream *in = &x->in[src];
	status rc = ST_OK;
	*n = 0;
	while (rc == ST_OK && *n == 0 && in->taken < in->blocks) /* blocks may be empty */
		rc = next_block(x, src, recs, n);
	return rc;
}

uint64_t exchange_sent(const exchange *x, int rank)
{
	return x->out[rank].moved;
}

uint64_t exchange_received(const exchange *x, int rank)
{
	return x->in[rank].moved;
}

status exchange_finish(exchange *x, exchange_times *t, err *e)
{
	unsigned idle = 0;
	status rc = ST_OK;
	comm_wait_begin(x->p.c);
	double moved_s = 0;
	const double t0 = now_s();
	while (x->sends && rc == ST_OK && !all_sent(x)) {
		const uint32_t looked = shared_window_look(x->sharing);
		const double t1 = now_s();
		bool moved = false;
		rc = move_here(x, &moved);
		if (moved)
			idle = 0;
		else if (!all_sent(x))
			wait_here(x, looked, 1U << NEWS_FREED, &idle);
		moved_s += moved ? now_s() - t1 : 0;
	}
	if (rc != ST_OK)
		exchange_fail(x, rc);
	if (x->has_sender)
		pthread_join(x->sender, NULL);
	x->has_sender = false;
	(void)comm_wait_end(x->p.c, ST_OK);
	*t = x->time;
	t->move_s += moved_s;
	t->wait_s += now_s() - t0 - moved_s;
	rc = (status)atomic_load(&x->failed);
	return rc == ST_OK ? err_join(e, &x->damage) : rc;
}

void exchange_free(exchange *x)
{
	if (!x)
		return;
	mem *m = x->p.m;
	if (x->has_sender) { /* the reader has failed */
		exchange_fail(x, ST_PEER);
		pthread_join(x->sender, NULL);
	}
	atomic_store(&x->ended, true);
	if (x->has_driver)
		pthread_join(x->driver, NULL);
	if (atomic_load(&x->p.c->broken))
		return; /* requests, which cannot be cancelled, still use the windows */
	shared_window_close(x->sharing);
	mem_free(m, x->out);
	mem_free(m, x->open);
	mem_free(m, x->reqs);
	mem_free(m, x->own);
	mem_free(m, x);
}
