/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting numbers of records, and applying them
 *
 * order_sort() makes a short record for each record: the key in normal form, and the number. Then
 * memory_sort() sorts these.
 *
 * order_apply() is an all-to-all in rounds. In a round, each rank takes up to `chunk` of its
 * numbers, and groups them by the ranks that have the records. In step s of the round, it asks rank
 * + s for the positions of a group, and answers rank - s. A block of positions, and a block of
 * their records, move in each direction. So a rank holds at most two blocks of records, even if all
 * ranks ask for the same one. A rank waits only for the two partners of its step, and all messages
 * of a step are between instances of this step. The rank in the earliest step never waits for a
 * later one, so the ranks do not block each other.
 *
 * Failures. Numbers are checked before the first round. After that, only messages can fail: a call
 * of the comm ends the work at once, and its buffers stay, because messages may still use them. A
 * damaged block, or a number that has changed in memory, does not end the work, because other ranks
 * wait for blocks. It is reported after the last round. */
#include "order.h"
#include "base/arith.h"
#include "base/clock.h"
#include "base/pool.h"
#include "exchange/block.h"
#include "kernel/gather.h"

#include <inttypes.h>

enum {
	NUMBER_BYTES = sizeof(uint64_t),
	PART_BYTES = 1 << 18, /* what a thread takes at a time */
	/* Memory of a round: so much that a rank seldom waits for others. With many ranks, blocks
	 * would be short, so it has PEER_BYTES for each rank, up to MOST_BYTES. */
	LEAST_BYTES = 16 << 20,
	PEER_BYTES = 512 << 10,
	MOST_BYTES = 128 << 20,
	HEADER_WORDS = sizeof(block_header) / sizeof(uint64_t),
	TAG_POSITIONS = 0,
	TAG_RECORDS = 1,
};

/* ------------------------------------------------------------------------------------- threads */

/* Work on elements [from, to) of an array. */
typedef void parts_work(void *of, size_t from, size_t to);

typedef struct parts {
	parts_work *work;
	void *of;
	size_t n, each;
	atomic_size_t next;
} parts;

static void parts_take(void *parts_, unsigned worker)
{
	parts *p = parts_;
	size_t from;
	(void)worker;
	while ((from = atomic_fetch_add(&p->next, p->each)) < p->n)
		p->work(p->of, from, size_min(from + p->each, p->n));
}

/* Work on n elements of `bytes` bytes, on up to `threads` threads. */
static void parts_run(unsigned threads, size_t n, size_t bytes, parts_work *work, void *of)
{
	parts p = { .work = work, .of = of, .n = n, .each = PART_BYTES / bytes + 1 };
	pool_run((unsigned)u64_min(threads, n / p.each + 1), parts_take, &p);
}

/* ------------------------------------------------------------------------------------- sorting */

typedef struct numbering {
	const memory_job *j;
	uint64_t first;
	uint64_t *order;
	layout lay; /* of the short records */
	unsigned char *in, *out;
} numbering;

static layout numbering_layout(const layout *l)
{
	return (layout)LAYOUT_BYTES(l->key_bytes + NUMBER_BYTES, 0, l->key_bytes);
}

static void numbering_pack(void *numbering_, size_t from, size_t to)
{
	const numbering *x = numbering_;
	const layout *l = &x->j->lay;
	unsigned char *p = x->in + from * x->lay.record_bytes;
	for (uint64_t i = from; i < to; i++, p += x->lay.record_bytes) {
		const uint64_t number = x->first + i;
		key_copy(l, p, x->j->in + i * l->record_bytes);
		memcpy(p + l->key_bytes, &number, NUMBER_BYTES);
	}
}

static void numbering_unpack(void *numbering_, size_t from, size_t to)
{
	const numbering *x = numbering_;
	const unsigned char *p = x->out + from * x->lay.record_bytes + x->lay.key_bytes;
	for (size_t i = from; i < to; i++, p += x->lay.record_bytes)
		memcpy(&x->order[i], p, NUMBER_BYTES);
}

status order_sort(const memory_job *j, uint64_t first, uint64_t *order)
{
	const uint64_t share = j->share[j->c->rank];
	numbering x = { .j = j, .first = first, .order = order, .lay = numbering_layout(&j->lay) };
	x.in = mem_array(j->m, j->n_in, x.lay.record_bytes, "keys", j->e);
	x.out = mem_array(j->m, share, x.lay.record_bytes, "sorted keys", j->e);
	memory_job of_keys = *j;
	of_keys.lay = x.lay;
	of_keys.in = x.in;
	of_keys.out = x.out;
	status rc = comm_agree(j->c, x.in && x.out ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		parts_run(j->threads, j->n_in, j->lay.record_bytes, numbering_pack, &x);
		rc = memory_sort(&of_keys);
	}
	if (rc == ST_OK)
		parts_run(j->threads, share, x.lay.record_bytes, numbering_unpack, &x);
	mem_free(j->m, x.in);
	mem_free(j->m, x.out);
	return rc;
}

/* ------------------------------------------------------------------------------------- copying */

/* Copy record pos[i] of `from` to place[i] of `to`; without pos or place, record i. */
typedef struct copying {
	unsigned char *to;
	const uint32_t *place;
	const unsigned char *from;
	const uint64_t *pos;
	uint64_t count; /* records of `from` */
	uint32_t bytes;
	atomic_size_t wrong; /* positions beyond them, which are not copied */
} copying;

static void copying_part(void *copying_, size_t from, size_t to)
{
	copying *c = copying_;
	const size_t ahead = record_ahead(c->bytes), bytes = c->bytes;
	const bool is_short = bytes >= NUMBER_BYTES && bytes <= 39;
	for (size_t i = from; i < to; i++) {
		if (c->pos && i + ahead < to && c->pos[i + ahead] < c->count)
			record_fetch(c->from + c->pos[i + ahead] * bytes, c->bytes);
		const uint64_t pos = c->pos ? c->pos[i] : i;
		if (pos >= c->count) {
			atomic_fetch_add(&c->wrong, 1);
			continue;
		}
		unsigned char *out = c->to + (c->place ? c->place[i] : i) * bytes;
		if (is_short)
			record_copy_short(out, c->from + pos * bytes, c->bytes);
		else
			record_copy(out, c->from + pos * bytes, c->bytes);
	}
}

/* ------------------------------------------------------------------------------------ messages */

/* A block under way. */
typedef struct message {
	comm_req req;
	bool open;
} message;

static const block_rule WHOLE = { .in_place = false, .shorter = false };

/* Start to send or to receive a block at `at`, unless it has no records. */
static status message_start(comm *c, message *x, const block_header *h, void *at, int tag)
{
	const size_t bytes = block_bytes(h->record_bytes, h->records);
	x->open = h->records > 0;
	if (!x->open)
		return ST_OK;
	if (h->to == c->rank)
		return comm_recv(c, at, bytes, h->from, tag, &x->req);
	block_stamp(at);
	return comm_send(c, at, bytes, h->to, tag, &x->req);
}

/* Wait until a block has been sent or received. */
static status message_await(comm *c, message *x)
{
	const unsigned quick = 200; /* tests without sleeping */
	status rc = ST_OK;
	comm_wait_begin(c);
	for (unsigned tries = 0; rc == ST_OK && x->open; tries++) {
		bool done = false;
		rc = comm_test(c, &x->req, &done);
		x->open = !done;
		if (x->open && tries > quick)
			nap(tries - quick);
	}
	return comm_wait_end(c, rc);
}

/* ------------------------------------------------------------------------------------ applying */

typedef struct applying {
	const memory_job *j;
	const uint64_t *first; /* [size + 1] */
	size_t chunk;          /* numbers of a round */
	uint64_t *asks;        /* [size] records of each rank that this rank asks for, */
	uint64_t *asked;       /* [size] that each rank asks for, */
	uint64_t *begin;       /* [size] and where the groups begin in place */
	uint64_t *pos;   /* [chunk] by group: positions; before each group is room for a header */
	uint32_t *place; /* [chunk] by group: places in the output of the round */
	uint32_t *owner; /* [chunk] the rank that has each record */
	block_header *heard, *sent, *came; /* positions that arrive, and records */
	err failed;                        /* the first failure that does not end the work */
} applying;

/* Return the memory for each number of a round. */
static size_t applying_bytes(uint32_t record_bytes)
{
	return 2 * ((size_t)record_bytes + sizeof(uint32_t) + NUMBER_BYTES);
}

size_t order_chunk(uint32_t record_bytes, int ranks)
{
	const uint64_t wanted = (uint64_t)ranks * PEER_BYTES;
	const uint64_t bytes = u64_min(u64_max(wanted, LEAST_BYTES), MOST_BYTES);
	return (size_t)bytes / applying_bytes(record_bytes) + 1;
}

uint64_t order_apply_most_bytes(uint32_t record_bytes, int ranks, size_t chunk)
{
	const uint64_t of_rank = 3 * NUMBER_BYTES + sizeof(block_header);
	const uint64_t of_blocks = 3 * block_bytes(1, 1);
	return ranks == 1 ? 0
			  : chunk * applying_bytes(record_bytes) + of_blocks +
				    (uint64_t)ranks * of_rank;
}

/* Allocate and divide the memory for rounds. */
static status applying_open(applying *x)
{
	const memory_job *j = x->j;
	const size_t p = (size_t)j->c->size, n = x->chunk,
		     bytes = block_bytes(j->lay.record_bytes, n);
	x->asks = mem_array(j->m, 1,
			    (size_t)order_apply_most_bytes(j->lay.record_bytes, j->c->size, n),
			    "records to fetch", j->e);
	if (!x->asks)
		return ST_RESOURCE;
	x->asked = x->asks + p;
	x->begin = x->asked + p;
	x->pos = x->begin + p;
	x->heard = (void *)(x->pos + n + p * HEADER_WORDS);
	x->sent = (void *)((unsigned char *)x->heard + block_bytes(NUMBER_BYTES, n));
	x->came = (void *)((unsigned char *)x->sent + bytes);
	x->place = (void *)((unsigned char *)x->came + bytes);
	x->owner = x->place + n;
	return ST_OK;
}

/* Copy n records as copying_part() does. */
static void copy(applying *x, size_t n, unsigned char *to, const uint32_t *place,
		 const unsigned char *from, const uint64_t *pos, uint64_t count)
{
	copying c = { .to = to,
		      .place = place,
		      .from = from,
		      .pos = pos,
		      .count = count,
		      .bytes = x->j->lay.record_bytes };
	parts_run(x->j->threads, n, c.bytes, copying_part, &c);
	if (c.wrong)
		(void)err_set(&x->failed, ST_INTERNAL,
			      "%zu numbers of records changed in memory while they were used",
			      (size_t)c.wrong);
}

/* Return the header and the positions of the group of a rank. */
static block_header *group_of(const applying *x, int rank)
{
	return (void *)(x->pos + x->begin[rank] + (size_t)rank * HEADER_WORDS);
}

/* Return the rank that has a record. A number that has become too large is of the last rank, which
 * will find that it does not have it. */
static uint32_t owner_of(const applying *x, uint64_t number)
{
	lower_bound b = { .lo = 1, .hi = (uint64_t)x->j->c->size };
	while (lower_bound_open(&b))
		lower_bound_step(&b, x->first[b.mid] <= number);
	return (uint32_t)b.lo - 1;
}

/* Group n numbers by the ranks that have the records. */
static void group(applying *x, const uint64_t *number, size_t n)
{
	const int p = x->j->c->size;
	memset(x->asks, 0, (size_t)p * sizeof *x->asks);
	for (size_t i = 0; i < n; i++) {
		x->owner[i] = owner_of(x, number[i]);
		x->asks[x->owner[i]]++;
	}
	for (int i = 1; i < p; i++)
		x->begin[i] = x->begin[i - 1] + x->asks[i - 1];
	for (size_t i = 0; i < n; i++) {
		const uint32_t who = x->owner[i];
		const uint64_t at = x->begin[who]++;
		x->place[at] = (uint32_t)i;
		x->pos[at + (who + 1) * (size_t)HEADER_WORDS] = number[i] - x->first[who];
	}
	for (int i = 0; i < p; i++)
		x->begin[i] -= x->asks[i];
}

/* Send the records at the positions that have arrived. */
static status answer(applying *x, const block_header *asked, message *m)
{
	const memory_job *j = x->j;
	const uint64_t *pos = (const uint64_t *)(x->heard + 1);
	(void)block_check(x->heard, asked, WHOLE, &x->failed);
	copy(x, asked->records, (unsigned char *)(x->sent + 1), NULL, j->in, pos, j->n_in);
	*x->sent = block_for(asked->to, asked->from, j->lay.record_bytes, asked->block,
			     asked->records);
	return message_start(j->c, m, x->sent, x->sent, TAG_RECORDS);
}

/* Ask rank `to` for records, answer rank `from`, and copy the records that arrive to out. */
static status step(applying *x, int to, int from, uint64_t round, unsigned char *out)
{
	comm *c = x->j->c;
	const size_t bytes = x->j->lay.record_bytes;
	message asking = { .open = false }, heard = asking, answering = asking, came = asking;
	const block_header asked = block_for(from, c->rank, NUMBER_BYTES, round, x->asked[from]);
	const block_header wanted = block_for(to, c->rank, bytes, round, x->asks[to]);
	block_header *own = group_of(x, to);
	*own = block_for(c->rank, to, NUMBER_BYTES, round, wanted.records);
	status rc = message_start(c, &heard, &asked, x->heard, TAG_POSITIONS);
	if (rc == ST_OK)
		rc = message_start(c, &came, &wanted, x->came, TAG_RECORDS);
	if (rc == ST_OK)
		rc = message_start(c, &asking, own, own, TAG_POSITIONS);
	if (rc == ST_OK)
		rc = message_await(c, &heard);
	if (rc == ST_OK && asked.records)
		rc = answer(x, &asked, &answering);
	if (rc == ST_OK)
		rc = message_await(c, &came);
	if (rc == ST_OK && wanted.records) {
		const unsigned char *recs = (const unsigned char *)(x->came + 1);
		(void)block_check(x->came, &wanted, WHOLE, &x->failed);
		copy(x, wanted.records, out, x->place + x->begin[to], recs, NULL, wanted.records);
	}
	if (rc == ST_OK)
		rc = message_await(c, &asking);
	return rc == ST_OK ? message_await(c, &answering) : rc;
}

/* Copy the records of n numbers to out. */
static status round_of(applying *x, uint64_t round, const uint64_t *number, size_t n,
		       unsigned char *out)
{
	comm *c = x->j->c;
	const int p = c->size, own = c->rank;
	group(x, number, n);
	status rc = comm_alltoall(c, x->asks, x->asked, sizeof *x->asks);
	for (int i = 0; rc == ST_OK && i < p; i++)
		if (x->asked[i] > x->chunk)
			rc = comm_noted(c, ST_PEER);
	if (rc == ST_OK) {
		const uint64_t *pos = (const uint64_t *)(group_of(x, own) + 1);
		copy(x, x->asks[own], out, x->place + x->begin[own], x->j->in, pos, x->j->n_in);
	}
	for (int s = 1; rc == ST_OK && s < p; s++)
		rc = step(x, (own + s) % p, (own - s + p) % p, round, out);
	return rc;
}

/* Refuse numbers that no record has. */
static status check_numbers(const uint64_t *order, uint64_t n, uint64_t count, err *e)
{
	uint64_t most = 0, i = 0;
	for (uint64_t k = 0; k < n; k++)
		most = u64_max(most, order[k]);
	if (n == 0 || most < count)
		return ST_OK;
	while (i + 1 < n && order[i] < count)
		i++;
	return err_set(e, ST_REFUSED,
		       "order[%" PRIu64 "] is '%" PRIu64 "', but all ranks together have %" PRIu64
		       " records, numbered from 0 on",
		       i, order[i], count);
}

status order_apply(const memory_job *j, const uint64_t *first, const uint64_t *order, size_t chunk)
{
	const int p = j->c->size;
	const uint64_t n = j->share[j->c->rank];
	applying x = { .j = j, .first = first };
	uint64_t most = 0;
	for (int i = 0; i < p; i++)
		most = u64_max(most, j->share[i]);
	x.chunk = (size_t)u64_min(chunk, most);
	status rc = check_numbers(order, n, first[p], j->e);
	if (rc == ST_OK && p > 1)
		rc = applying_open(&x);
	rc = comm_agree(j->c, rc);
	if (rc == ST_OK && p == 1)
		copy(&x, n, j->out, NULL, j->in, order, j->n_in);
	for (uint64_t at = 0, round = 0; rc == ST_OK && at < most && p > 1; at += chunk, round++) {
		const uint64_t from = u64_min(at, n);
		rc = round_of(&x, round, order + from, (size_t)u64_min(n - from, x.chunk),
			      j->out + from * j->lay.record_bytes);
	}
	if (rc == ST_OK)
		rc = err_join(j->e, &x.failed);
	rc = comm_agree(j->c, rc);
	if (!atomic_load(&j->c->broken)) /* else messages may still use the memory */
		mem_free(j->m, x.asks);
	return rc;
}
