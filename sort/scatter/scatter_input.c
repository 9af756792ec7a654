/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0 sends the input to the other ranks in blocks, at most two at a time to one rank. Each
 * block has a checksum, which the receiver checks before it uses the records. If rank 0 cannot
 * read, it still sends blocks, because receivers wait for them; the agreement at the end of the
 * phase reports the failure. A receiver takes all blocks after a damaged block, too, because rank 0
 * waits for that.
 *
 * Planned shares: rank 0 serves one rank after the other. A rank that has its share sorts it while
 * the next ranks get their shares.
 *
 * On request: rank 0 answers each request with the next chunk of the input. Its size is found by
 * factoring: chunks become smaller towards the end. Rank 0 serves several ranks at once, because a
 * slow rank also takes its chunk slowly. A rank sorts a chunk before it requests the next one, so a
 * slow rank requests less often. A rank without memory for a chunk drops it, and reports the
 * failure with its next request. */
#include "scatter_input.h"
#include "base/clock.h"
#include "base/arith.h"
#include "exchange/block.h"

#include <hetpart.h>
#include <inttypes.h>
#include <string.h>

enum {
	BLOCK_BYTES = 1 << 20, /* at most */
	SHARE_BLOCKS = 16,     /* least number per share, so that slots need little memory */
	SLOTS = 2,             /* buffers for blocks under way to a rank */
	TAG_REQUEST = SLOTS,   /* tags of blocks are their slots */
	TAG_COUNT,
	CHUNKS = 32, /* per rank, if all had the least size */
	LANES = 8    /* chunks under way at once, at most */
};

size_t scatter_block_recs(const rank_env *env, uint64_t total)
{
	const uint64_t part = total / ((uint64_t)env->c->size * SHARE_BLOCKS);
	return (size_t)u64_max(u64_min(BLOCK_BYTES / env->o->lay.record_bytes, part), 1);
}

uint64_t scatter_least_chunk(const rank_env *env, uint64_t total)
{
	const uint64_t n = total / ((uint64_t)env->c->size * CHUNKS);
	return u64_max(n, scatter_block_recs(env, total));
}

/* Return how many transfers are under way at once from rank 0. */
static size_t lanes(const rank_env *env)
{
	const size_t others = (size_t)env->c->size - 1;
	return env->o->scatter == SCATTER_DYNAMIC ? size_min(others, LANES) : 1;
}

uint64_t scatter_room(const rank_env *env, uint64_t total, uint64_t share)
{
	if (env->c->rank == 0 || env->o->scatter != SCATTER_DYNAMIC)
		return share;
	return share + share / 8 + scatter_block_recs(env, total);
}

uint64_t scatter_most_bytes(const rank_env *env, uint64_t total)
{
	const size_t slot = block_bytes(env->o->lay.record_bytes, scatter_block_recs(env, total));
	return (uint64_t)SLOTS * slot * (env->c->rank == 0 ? lanes(env) : 1);
}

status scatter_wait(comm *c, comm_req *r, double *wait_s)
{
	const double t0 = now_s();
	bool done = false;
	status rc = ST_OK;
	comm_wait_begin(c);
	for (unsigned tries = 0; rc == ST_OK && !done;) {
		const size_t before = r->done;
		rc = comm_test(c, r, &done);
		if (r->done != before)
			tries = 0; /* a piece has moved: the next one will soon */
		else if (rc == ST_OK && !done)
			nap(tries++);
	}
	*wait_s += now_s() - t0;
	return comm_wait_end(c, rc);
}

/* Free memory that blocks or words were sent from or received in. If the comm is broken, messages
 * may still use it. */
static void message_free(rank_env *env, void *p)
{
	if (!atomic_load(&env->c->broken))
		mem_free(&env->m, p);
}

/* ------------------------------------------------------------------------------------- sending */

typedef struct sender {
	rank_env *env;
	const scatter_job *k;
	reader *from;
	unsigned char *buf; /* SLOTS blocks for each transfer */
	size_t block_recs, slot_bytes;
	checksum sum;  /* of all records sent */
	status failed; /* the input cannot be read, so blocks are sent without its records */
} sender;

/* Records of the input on their way to a rank, SLOTS blocks at a time. */
typedef struct scatter_transfer {
	int to;
	uint64_t at, left;    /* records that are not sent yet */
	uint64_t begun, done; /* blocks whose sending has begun, and has ended */
	comm_req req[SLOTS];
	unsigned char *slots; /* part of the sender's buf */
} scatter_transfer;

/* Open a sender. Close it after a failure, too. */
static status sender_open(sender *d, rank_env *env, const scatter_job *k)
{
	const reader_plan rp = { 0, k->s->records, env->o->lay, env->o->direct };
	*d = (sender){ .env = env, .k = k, .block_recs = scatter_block_recs(env, k->s->records) };
	d->slot_bytes = block_bytes(env->o->lay.record_bytes, d->block_recs);
	d->buf = mem_array(&env->m, lanes(env) * SLOTS, d->slot_bytes, "blocks to send", &env->e);
	return d->buf ? reader_open(&d->from, k->in, &rp, &env->e) : ST_RESOURCE;
}

/* Fail if the input could not be read, or has changed. */
static status sender_close(sender *d, status rc)
{
	if (rc == ST_OK)
		rc = d->failed == ST_OK ? reader_check(d->from, &d->env->e) : d->failed;
	reader_close(d->from);
	message_free(d->env, d->buf);
	return rc;
}

/* Return whether the next block has a free slot. */
static bool may_send(const scatter_transfer *t)
{
	return t->left > 0 && t->begun - t->done < SLOTS;
}

/* Read and send the next block of a transfer. */
static status send_block(scatter_transfer *t, sender *d)
{
	const settings *o = d->env->o;
	const size_t n = (size_t)u64_min(t->left, d->block_recs);
	const size_t bytes = block_bytes(o->lay.record_bytes, n);
	const int slot = (int)(t->begun % SLOTS);
	block_header *h = (void *)(t->slots + (size_t)slot * d->slot_bytes);
	loading got = { .arrived = NULL };
	if (d->failed == ST_OK)
		d->failed =
			reader_load(d->from, t->at, n, (unsigned char *)(h + 1), &got, &d->env->e);
	d->sum = checksum_join(d->sum, got.sum);
	*h = block_for(0, t->to, o->lay.record_bytes, t->begun++, n);
	block_stamp(h);
	FAIL_FLIP(FAIL_SENT, h, bytes);
	t->at += n;
	t->left -= n;
	return comm_send(d->env->c, h, bytes, t->to, slot, &t->req[slot]);
}

/* ----------------------------------------------------------------------------------- receiving */

typedef struct receiver {
	rank_env *env;
	unsigned char *slots; /* SLOTS blocks */
	size_t block_recs, slot_bytes;
	comm_req req[SLOTS];
	uint64_t n;             /* records of the transfer under way */
	uint64_t posted, taken; /* blocks that it is ready to receive, and that it has taken */
	const unsigned char *rec;
	size_t left; /* records from rec on, in the last block taken */
	err damage;  /* about the first damaged block: later records are useless */
	double waited_s;
} receiver;

static status receiver_open(receiver *b, rank_env *env, uint64_t total)
{
	*b = (receiver){ .env = env, .block_recs = scatter_block_recs(env, total) };
	b->slot_bytes = block_bytes(env->o->lay.record_bytes, b->block_recs);
	b->slots = mem_array(&env->m, SLOTS, b->slot_bytes, "blocks to receive", &env->e);
	return b->slots ? ST_OK : ST_RESOURCE;
}

static void receiver_close(receiver *b)
{
	result_shift(b->env->stats, PH_EXCHANGE, b->waited_s);
	message_free(b->env, b->slots);
}

static block_header *receiver_slot(const receiver *b, uint64_t block)
{
	return (void *)(b->slots + block % SLOTS * b->slot_bytes);
}

/* Prepare to receive up to SLOTS blocks, wait for the next block, and check it. */
static status receiver_next(receiver *b)
{
	const uint32_t record_bytes = b->env->o->lay.record_bytes;
	comm *c = b->env->c;
	const uint64_t blocks = block_count(b->n, b->block_recs);
	status rc = ST_OK;
	while (rc == ST_OK && b->posted < blocks && b->posted - b->taken < SLOTS) {
		const uint64_t i = b->posted++;
		const size_t n = block_records(b->n, b->block_recs, i);
		rc = comm_recv(c, receiver_slot(b, i), block_bytes(record_bytes, n), 0,
			       (int)(i % SLOTS), &b->req[i % SLOTS]);
	}
	if (rc != ST_OK || b->posted == b->taken)
		return rc;
	rc = scatter_wait(c, &b->req[b->taken % SLOTS], &b->waited_s);
	if (rc != ST_OK)
		return rc;
	const block_header *h = receiver_slot(b, b->taken);
	const block_rule whole = { 0 };
	b->left = block_records(b->n, b->block_recs, b->taken);
	const block_header wanted = block_for(0, c->rank, record_bytes, b->taken++, b->left);
	b->rec = (const unsigned char *)(h + 1);
	return b->damage.code == ST_OK ? block_check(h, &wanted, whole, &b->damage)
				       : b->damage.code;
}

/* Copy the next n records, or fewer at the end (a record_take). ST_PEER if blocks are damaged. */
static status receiver_take(void *receiver_, unsigned char *to, size_t n, size_t *got, err *e)
{
	receiver *b = receiver_;
	const size_t bytes = b->env->o->lay.record_bytes;
	*got = 0;
	for (size_t k; *got < n; *got += k) {
		const status rc = b->left ? ST_OK : receiver_next(b);
		if (rc != ST_OK)
			return err_set(e, rc, "%s",
				       b->damage.code ? b->damage.text
						      : "rank 0 can no longer be reached");
		if (b->left == 0)
			break;
		k = size_min(n - *got, b->left);
		memcpy(to + *got * bytes, b->rec, k * bytes);
		b->rec += k * bytes;
		b->left -= k;
	}
	return ST_OK;
}

/* Receive n records to memory. */
static status receive_to_memory(receiver *b, sorted_share *d, uint64_t n)
{
	while (n > 0) {
		unsigned char *to = d->memory.recs + d->n * b->env->o->lay.record_bytes;
		size_t k = (size_t)u64_min(n, b->block_recs);
		const status rc = receiver_take(b, to, k, &k, &b->env->e);
		if (rc != ST_OK)
			return rc;
		d->n += k;
		progress_add(PROGRESS_IN, k * b->env->o->lay.record_bytes);
		n -= k;
	}
	return ST_OK;
}

/* Take the rest of the blocks, and drop them. */
static status receiver_drain(receiver *b)
{
	status rc = ST_OK;
	do {
		b->left = 0;
		rc = receiver_next(b);
	} while ((rc == ST_OK || b->damage.code) && !atomic_load(&b->env->c->broken) && b->left);
	return rc;
}

/* ------------------------------------------------------------------------------ planned shares */

/* Send the other ranks their shares, then read the share of rank 0. out->sum is the checksum of the
 * whole input. */
static status send_shares(rank_env *env, const scatter_job *k, sorted_share *out)
{
	const run_formation_plan *p = k->p;
	const uint64_t *share = k->s->in;
	double waited_s = 0;
	sender d;
	status rc = comm_agree(env->c, sender_open(&d, env, k));
	for (size_t i = 0; i < k->sp->p && rc == ST_OK; i++) {
		const uint32_t to = k->sp->order[i];
		scatter_transfer t = { .to = (int)to, .left = to ? share[to] : 0, .slots = d.buf };
		for (uint32_t r = 0; r < to; r++)
			t.at += share[r];
		while (rc == ST_OK && (t.left > 0 || t.done < t.begun))
			rc = may_send(&t)
				     ? send_block(&t, &d)
				     : scatter_wait(env->c, &t.req[t.done++ % SLOTS], &waited_s);
	}
	result_shift(env->stats, PH_EXCHANGE, waited_s);
	rc = sender_close(&d, rc);
	if (rc == ST_OK)
		rc = p->b->spills ? run_formation_input(k->in, p, &env->m, out, &env->e)
				  : memory_share_input(k->in, &p->load, &env->m, out, &env->e);
	out->sum = checksum_join(out->sum, d.sum);
	return rc;
}

/* Receive the planned share of this rank, in memory or as runs on disk. */
static status receive_share(rank_env *env, const scatter_job *k, sorted_share *out)
{
	const run_formation_plan *p = k->p;
	receiver b;
	const bool spills = p->b->spills;
	status rc = receiver_open(&b, env, k->s->records);
	if (rc == ST_OK && !spills)
		rc = memory_share_room(&p->load, &env->m, p->load.n, 0, out, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK) {
		b.n = p->load.n;
		rc = spills ? run_formation_stream(receiver_take, &b, p, &env->m, out, &env->e)
			    : receive_to_memory(&b, out, p->load.n);
		if (rc == ST_OK && !spills)
			rc = memory_share_sort(&p->load, &env->m, out, &env->e);
		if (rc != ST_OK)
			(void)receiver_drain(&b);
	}
	receiver_close(&b);
	return rc;
}

/* ------------------------------------------------------------------------- on request: rank 0 */

/* A request is the number of records that the rank has room for, or FAILED. After either 0 or
 * FAILED the rank does not wait for an answer. */
#define FAILED UINT64_MAX

/* The requests and the chunk of another rank. */
typedef struct request {
	comm_req req;
	comm_word word;
	bool asked;         /* the rank waits for an answer */
	bool left;          /* the rank requests no more */
	scatter_transfer t; /* of its chunk; slots is NULL if it has no chunk */
} request;

/* The requests, the records that are left, and slots for up to LANES transfers at once. */
typedef struct counter {
	sender d;
	request *a;
	hetpart_chunks chunks;
	unsigned char *free[LANES]; /* unused slots, SLOTS blocks each */
	size_t frees;
	int remaining; /* ranks that may request again */
	double waited_s;
} counter;

static status send_word(comm *c, uint64_t word, int to, int tag, double *wait_s)
{
	comm_req r;
	const comm_word w = comm_word_for(c, word, to, tag);
	const status rc = comm_send(c, &w, sizeof w, to, tag, &r);
	return rc == ST_OK ? scatter_wait(c, &r, wait_s) : rc;
}

/* Post a receive for the next request of a rank. */
static status await_request(counter *k, int to)
{
	request *a = &k->a[to];
	return comm_recv(k->d.env->c, &a->word, sizeof a->word, to, TAG_REQUEST, &a->req);
}

/* Answer the request of rank i with a new chunk, if it has sent one and slots are free. *any is set
 * if a request was answered. */
static status answer_request(counter *k, int i, bool *any)
{
	comm *c = k->d.env->c;
	request *a = &k->a[i];
	status rc = ST_OK;
	if (!a->asked) {
		rc = comm_test(c, &a->req, &a->asked);
		if (rc == ST_OK && a->asked)
			rc = comm_word_check(c, &a->word, i, TAG_REQUEST);
	}
	if (rc != ST_OK || !a->asked || k->frees == 0)
		return rc;
	*any = true;
	const uint64_t at = k->d.k->s->records - k->chunks.left, room = a->word.value;
	if (room == FAILED || k->d.failed != ST_OK)
		k->chunks.left = 0; /* the sort fails: let all ranks end the phase */
	uint64_t n = room ? hetpart_chunks_next(&k->chunks) : 0;
	if (n > room) { /* the rest is for the other ranks */
		k->chunks.left += n - room;
		n = room;
	}
	a->asked = false;
	a->left = n == 0;
	k->remaining -= a->left;
	if (n)
		a->t = (scatter_transfer){
			.to = i, .at = at, .left = n, .slots = k->free[--k->frees]
		};
	return room == 0 || room == FAILED ? ST_OK : send_word(c, n, i, TAG_COUNT, &k->waited_s);
}

/* Note that a block of the chunk of rank i has arrived. After the last block the rank may request
 * again. If the rank has no chunk, answer its request. *any is set if there was something to do. */
static status attend(counter *k, int i, bool *any)
{
	request *a = &k->a[i];
	scatter_transfer *t = &a->t;
	bool arrived = false;
	if (a->left || (t->slots && t->done == t->begun))
		return ST_OK;
	if (!t->slots)
		return answer_request(k, i, any);
	const status rc = comm_test(k->d.env->c, &t->req[t->done % SLOTS], &arrived);
	if (rc != ST_OK || !arrived)
		return rc;
	*any = true;
	if (++t->done < t->begun || t->left > 0)
		return ST_OK;
	k->free[k->frees++] = t->slots;
	t->slots = NULL;
	return await_request(k, i);
}

/* Serve all ranks until no records are left. If several chunks have a free slot, send the next
 * block of the oldest chunk. So a chunk arrives as fast as its rank can take it, and the rank sorts
 * it while others get their chunks. Chunks are in the order of the input, so the oldest chunk has
 * the lowest record number. */
static status serve_requests(counter *k)
{
	comm *c = k->d.env->c;
	status rc = ST_OK;
	for (size_t i = 0; i < k->frees; i++)
		k->free[i] = k->d.buf + i * SLOTS * k->d.slot_bytes;
	for (int i = 1; i < c->size && rc == ST_OK; i++)
		rc = await_request(k, i);
	comm_wait_begin(c);
	for (unsigned tries = 0; rc == ST_OK && k->remaining > 0;) {
		bool any = false;
		for (int i = 1; i < c->size && rc == ST_OK; i++)
			rc = attend(k, i, &any);
		scatter_transfer *oldest = NULL;
		for (int i = 1; i < c->size; i++) {
			scatter_transfer *t = &k->a[i].t;
			if (t->slots && may_send(t) && (!oldest || t->at < oldest->at))
				oldest = t;
		}
		any |= oldest != NULL;
		if (rc == ST_OK && oldest)
			rc = send_block(oldest, &k->d);
		tries = any ? 0 : tries + 1;
		if (!any) {
			const double t0 = now_s();
			nap(tries);
			k->waited_s += now_s() - t0;
		}
	}
	result_shift(k->d.env->stats, PH_EXCHANGE, k->waited_s);
	return comm_wait_end(c, rc);
}

/* Send all chunks. Rank 0 keeps no records, so its own sequence is empty. */
static status scatter_hand_out(rank_env *env, const scatter_job *k, sorted_share *out)
{
	const load_plan *p = &k->p->load;
	const int others = env->c->size - 1;
	counter n = { .chunks = { .rule = HETPART_CHUNK_FACTORING,
				  .nprocs = (uint64_t)others,
				  .chunk = scatter_least_chunk(env, k->s->records),
				  .left = k->s->records },
		      .frees = lanes(env),
		      .remaining = others };
	status rc = sender_open(&n.d, env, k);
	n.a = mem_array(&env->m, (size_t)env->c->size, sizeof *n.a, "requests", &env->e);
	if (!n.a)
		rc = ST_RESOURCE;
	if (rc == ST_OK)
		rc = memory_share_room(p, &env->m, 0, 0, out, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = serve_requests(&n);
	if (rc == ST_OK && n.d.failed == ST_OK && n.chunks.left)
		rc = err_set(&env->e, ST_RESOURCE,
			     "the memory of the other ranks is full, but %" PRIu64
			     " records are left; --scatter=dynamic cannot spill to disk",
			     n.chunks.left);
	rc = sender_close(&n.d, rc);
	if (rc == ST_OK)
		rc = memory_share_sort(p, &env->m, out, &env->e);
	out->sum = n.d.sum;
	message_free(env, n.a);
	return rc;
}

/* --------------------------------------------------------------------- on request: the others */

typedef struct requester {
	rank_env *env;
	sorted_share *d; /* the records so far */
	const load_plan *p;
	receiver in;
	double waited_s, sorted_s; /* so far */
	status failed;
} requester;

/* Receive a chunk of n records, and add it to the buckets of the sort. Drop it if there is no
 * memory. */
static status receive_chunk(requester *t, uint64_t n)
{
	rank_env *env = t->env;
	sorted_share *d = t->d;
	const size_t at = d->n;
	while (t->failed == ST_OK && d->memory.room - d->n < n)
		t->failed = memory_share_grow(t->p, &env->m, d, &env->e);
	t->in.n = n;
	t->in.posted = t->in.taken = t->in.left = 0;
	if (t->failed == ST_OK)
		t->failed = receive_to_memory(&t->in, d, n);
	const status rc = receiver_drain(&t->in);
	if (rc != ST_OK || t->failed != ST_OK)
		return rc;
	const double t0 = now_s();
	t->failed = memory_share_add(t->p, &env->m, d, &env->e);
	const double took_s = now_s() - t0;
	result_shift(env->stats, PH_SORT, took_s);
	speed_history_add(t->p->speed_history, t->sorted_s, t->sorted_s + took_s,
			  (double)(d->n - at), took_s);
	t->sorted_s += took_s;
	return ST_OK;
}

/* Request, receive and sort chunks until no records are left. */
static status request_chunks(rank_env *env, const scatter_job *k, sorted_share *out)
{
	const load_plan *p = &k->p->load;
	requester t = { .env = env, .d = out, .p = p };
	comm *c = env->c;
	status rc = receiver_open(&t.in, env, k->s->records);
	if (rc == ST_OK)
		rc = memory_share_room(p, &env->m, scatter_room(env, k->s->records, p->n), 0, out,
				       &env->e);
	rc = comm_agree(c, rc);
	for (bool more = true; rc == ST_OK && more;) {
		comm_req r;
		comm_word n = { 0, 0 }; /* records of the next chunk */
		const uint64_t room =
			t.failed == ST_OK ? memory_share_most(p, out) - out->n : FAILED;
		more = room > 0 && room != FAILED;
		rc = send_word(c, room, 0, TAG_REQUEST, &t.waited_s);
		if (rc == ST_OK && more)
			rc = comm_recv(c, &n, sizeof n, 0, TAG_COUNT, &r);
		if (rc == ST_OK && more)
			rc = scatter_wait(c, &r, &t.waited_s);
		if (rc == ST_OK && more)
			rc = comm_word_check(c, &n, 0, TAG_COUNT);
		more = more && n.value > 0;
		if (rc == ST_OK && more)
			rc = receive_chunk(&t, n.value);
	}
	result_shift(env->stats, PH_EXCHANGE, t.waited_s);
	if (rc == ST_OK)
		rc = t.failed;
	if (rc == ST_OK)
		rc = memory_share_sort(p, &env->m, out, &env->e);
	receiver_close(&t.in);
	return rc;
}

status scatter_input(rank_env *env, const scatter_job *k, sorted_share *out)
{
	const bool root = env->c->rank == 0;
	if (env->o->scatter != SCATTER_DYNAMIC)
		return root ? send_shares(env, k, out) : receive_share(env, k, out);
	return comm_agree(env->c,
			  root ? scatter_hand_out(env, k, out) : request_chunks(env, k, out));
}
