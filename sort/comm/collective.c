/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collectives of all backends, with a check: one wrong bit in what ranks tell each other would
 * have one of them decide alone, and the others wait for it. A short message has its sum behind it,
 * and so has one with room for it; the sums of other ones follow in a collective of their own.
 * Needs no memory of its own. Costs 8 bytes and the hash of each message. */
#include "base/clock.h"
#include "comm.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SHORT_BYTES = 16, SLOT_BYTES = SHORT_BYTES + COMM_SEAL_BYTES, EVERYONE = -1 };

enum kind { BCAST, GATHER, ALLGATHER, ALLTOALL, WORD, REDUCE, BLAME };

typedef struct call {
	comm *c;
	enum kind kind;
	const void *send;
	void *recv;
	size_t bytes; /* of one message, without its seal */
	int root;
	bool sealed; /* the sum follows each message where it lies */
} call;

size_t comm_room_bytes(int size)
{
	return ((size_t)size * (2 * SLOT_BYTES + sizeof(int32_t)) + 7) / 8 * 8;
}

void comm_give_room(comm *c, void *room)
{
	progress_init(&c->progress);
	c->sums = room;
	c->codes = (void *)(c->sums + 2 * SLOT_BYTES * (size_t)c->size);
}

const char *comm_failure(const comm *c, char text[COMM_FAILURE_BYTES])
{
	const int by = atomic_load(&c->damaged);
	if (by)
		snprintf(text, COMM_FAILURE_BYTES, "a message of rank %d came damaged", by - 1);
	else
		snprintf(text, COMM_FAILURE_BYTES, "the other ranks cannot be reached any more");
	return text;
}

static status damaged(comm *c, int from)
{
	int none = 0;
	atomic_compare_exchange_strong(&c->damaged, &none, from + 1);
	return comm_noted(c, ST_PEER);
}

/* The number of the call shows that ranks are not in the same one. */
static uint64_t sum_of(enum kind kind, uint64_t number, int from, int to, const void *data,
		       size_t bytes)
{
	const uint64_t about[] = { kind, number, (uint64_t)from, (uint64_t)to };
	return XXH3_64bits_withSeed(data, bytes, XXH3_64bits(about, sizeof about));
}

/* ------------------------------------------------------------------------------------- words */

comm_word comm_word_for(const comm *c, uint64_t value, int to, int tag)
{
	return (comm_word){ value, sum_of(WORD, (uint64_t)tag, c->rank, to, &value, sizeof value) };
}

status comm_word_check(comm *c, comm_word *w, int from, int tag)
{
	FAIL_FLIP(FAIL_HEARD, w, sizeof *w);
	const uint64_t sum = sum_of(WORD, (uint64_t)tag, from, c->rank, &w->value, sizeof w->value);
	return sum == w->sum ? ST_OK : damaged(c, from);
}

/* ------------------------------------------------------------------------------- collectives */

/* How many messages a rank sends, and receives. */
static int sent(const call *k)
{
	if (k->kind == BCAST)
		return k->c->rank == k->root;
	return k->kind == ALLTOALL ? k->c->size : 1;
}

static int received(const call *k)
{
	if (k->kind == BCAST)
		return k->c->rank != k->root;
	return k->kind == GATHER && k->c->rank != k->root ? 0 : k->c->size;
}

static uint64_t sum_between(const call *k, int from, int to, const void *data)
{
	return sum_of(k->kind, k->c->round, from, k->kind == ALLTOALL ? to : EVERYONE, data,
		      k->bytes);
}

static size_t stride(const call *k)
{
	return k->bytes + (k->sealed ? COMM_SEAL_BYTES : 0);
}

/* By the backend: in a broadcast recv is what the root sends. */
static status pass(const call *k, const void *send, void *recv, size_t bytes)
{
	comm *c = k->c;
	status rc;
	if (k->kind == BCAST)
		rc = c->ops->bcast(c, recv, bytes, k->root);
	else if (k->kind == GATHER)
		rc = c->ops->gather(c, send, recv, bytes, k->root);
	else if (k->kind == ALLGATHER)
		rc = c->ops->allgather(c, send, recv, bytes);
	else
		rc = c->ops->alltoall(c, send, recv, bytes);
	FAIL_FLIP(FAIL_HEARD, recv, rc == ST_OK ? bytes * (size_t)received(k) : 0);
	return rc;
}

/* In each slot of `bytes` and a sum: a message, if there is room for it. */
static void fill_slots(const call *k, unsigned char *slot, size_t bytes)
{
	for (int i = 0; i < sent(k); i++, slot += bytes + sizeof(uint64_t)) {
		const char *data = (const char *)k->send + (size_t)i * k->bytes;
		const uint64_t sum = sum_between(k, k->c->rank, i, data);
		memcpy(slot, data, bytes);
		memcpy(slot + bytes, &sum, sizeof sum);
	}
}

static status read_slots(const call *k, const unsigned char *slot, size_t bytes)
{
	for (int i = 0; i < received(k); i++, slot += bytes + sizeof(uint64_t)) {
		const int from = k->kind == BCAST ? k->root : i;
		char *data = (char *)k->recv + (size_t)i * k->bytes;
		uint64_t sum;
		memcpy(data, slot, bytes);
		memcpy(&sum, slot + bytes, sizeof sum);
		if (sum != sum_between(k, from, k->c->rank, data))
			return damaged(k->c, from);
	}
	return ST_OK;
}

/* Each rank's word is that of the only one. */
static status repeat(const call *k)
{
	if (k->kind == ALLTOALL)
		return ST_INTERNAL;
	for (int i = 0; k->kind != BCAST && i < k->c->size; i++)
		memcpy((char *)k->recv + (size_t)i * stride(k), k->send, k->bytes);
	return ST_OK;
}

static void seal(const call *k)
{
	char *data = (char *)(uintptr_t)k->send; /* the caller's own, which has room for it */
	for (int i = 0; i < sent(k); i++, data += stride(k)) {
		const uint64_t sum = sum_between(k, k->c->rank, i, data);
		memcpy(data + k->bytes, &sum, sizeof sum);
	}
}

static status read_sealed(const call *k)
{
	const char *data = k->recv;
	for (int i = 0; i < received(k); i++, data += stride(k)) {
		uint64_t sum;
		memcpy(&sum, data + k->bytes, sizeof sum);
		if (sum != sum_between(k, i, k->c->rank, data))
			return damaged(k->c, i);
	}
	return ST_OK;
}

static status pass_sealed(const call *k)
{
	k->c->round++;
	seal(k);
	const status rc = pass(k, k->send, k->recv, stride(k));
	return rc == ST_OK ? read_sealed(k) : rc;
}

static status checked(const call *k)
{
	if (k->c->for_all)
		return repeat(k);
	if (k->sealed)
		return pass_sealed(k);
	const size_t with = k->bytes <= SHORT_BYTES ? k->bytes : 0; /* in a slot beside the sum */
	unsigned char *in = k->c->sums;
	unsigned char *out = k->kind == BCAST ? in : in + SLOT_BYTES * (size_t)k->c->size;
	k->c->round++;
	if (k->bytes == 0)
		return pass(k, k->send, k->recv, 0);
	fill_slots(k, out, with);
	status rc = with ? ST_OK : pass(k, k->send, k->recv, k->bytes);
	if (rc == ST_OK)
		rc = pass(k, out, in, with + sizeof(uint64_t));
	return rc == ST_OK ? read_slots(k, in, with) : rc;
}

/* A collective waits for the other ranks, so all of its time counts as waiting. */
static double begin(comm *c)
{
	comm_wait_begin(c);
	return now_s();
}

static status end(comm *c, double begun_s, status rc)
{
	c->collective_s += now_s() - begun_s;
	return comm_wait_end(c, rc);
}

static status collective(const call *k)
{
	comm *c = k->c;
	const double t0 = begin(c);
	return end(c, t0,
		   atomic_load(&c->broken) ? ST_PEER : comm_noted(c, FAIL_COMM_CALL(checked(k))));
}

status comm_bcast(comm *c, void *buf, size_t bytes, int root)
{
	void *said = c->rank == root ? FAIL_LIE(buf, bytes) : buf;
	return collective(&(call){ c, BCAST, said, said, bytes, root, false });
}

status comm_gather(comm *c, const void *mine, void *all, size_t bytes, int root)
{
	return collective(&(call){ c, GATHER, FAIL_LIE(mine, bytes), all, bytes, root, false });
}

status comm_allgather(comm *c, const void *mine, void *all, size_t bytes)
{
	return collective(&(call){ c, ALLGATHER, FAIL_LIE(mine, bytes), all, bytes, 0, false });
}

status comm_alltoall(comm *c, const void *send, void *recv, size_t bytes)
{
	return collective(&(call){ c, ALLTOALL, FAIL_LIE(send, bytes * (size_t)c->size), recv,
				   bytes, 0, false });
}

status comm_allgather_sealed(comm *c, void *mine, void *all, size_t bytes)
{
	return collective(&(call){ c, ALLGATHER, FAIL_LIE(mine, bytes), all,
				   bytes - COMM_SEAL_BYTES, 0, true });
}

status comm_alltoall_sealed(comm *c, void *send, void *recv, size_t bytes)
{
	return collective(&(call){ c, ALLTOALL, FAIL_LIE(send, bytes * (size_t)c->size), recv,
				   bytes - COMM_SEAL_BYTES, 0, true });
}

/* -------------------------------------------------------------------------------- reductions */

/* Of a rank, or the answer to all; or a BLAME: the rank whose word came damaged. */
static comm_word reduce_word(const comm *c, enum kind kind, int from, uint64_t value)
{
	return (comm_word){ value, sum_of(kind, c->round, from, EVERYONE, &value, sizeof value) };
}

static bool is_word(const comm *c, const comm_word *w, enum kind kind, int from)
{
	return w->sum == reduce_word(c, kind, from, w->value).sum;
}

typedef struct reduction {
	comm_meeting m; /* first, so that a meeting is a reduction */
	comm_fold *fold;
} reduction;

/* By rank 0, or for it. */
static void fold_all(const comm_meeting *m)
{
	const comm_word *word = m->all;
	comm_word *answer = m->answer;
	uint64_t all = word->value;
	for (int i = 0; i < m->c->size; i++) {
		if (!is_word(m->c, &word[i], REDUCE, i)) {
			*answer = reduce_word(m->c, BLAME, 0, (uint64_t)i);
			return;
		}
		if (i > 0)
			all = ((const reduction *)m)->fold(all, word[i].value);
	}
	*answer = reduce_word(m->c, REDUCE, 0, all);
}

static status meet_in_two(comm *c, const comm_meeting *m)
{
	status rc = c->ops->gather(c, m->mine, m->all, m->bytes, 0);
	if (rc == ST_OK && c->rank == 0)
		m->decide(m);
	return rc == ST_OK ? c->ops->bcast(c, m->answer, m->bytes, 0) : rc;
}

static status reduce(comm *c, uint64_t mine, comm_fold *fold, uint64_t *all)
{
	*all = mine;
	if (c->for_all)
		return ST_OK;
	c->round++;
	comm_word own = reduce_word(c, REDUCE, c->rank, mine), answer;
	const reduction r = { { &own, c->sums, sizeof own, fold_all, &answer, c }, fold };
	FAIL_FLIP(FAIL_HEARD, &own, sizeof own); /* on its way to rank 0 */
	status rc = c->ops->meet ? c->ops->meet(c, &r.m) : meet_in_two(c, &r.m);
	if (rc != ST_OK)
		return rc;
	FAIL_FLIP(FAIL_HEARD, &answer, sizeof answer);
	*all = answer.value;
	if (is_word(c, &answer, REDUCE, 0))
		return ST_OK;
	const bool blames = is_word(c, &answer, BLAME, 0);
	return damaged(c, blames ? (int)answer.value : 0);
}

status comm_reduce(comm *c, uint64_t mine, comm_fold *fold, uint64_t *all)
{
	const uint64_t *said = FAIL_LIE(&mine, sizeof mine);
	*all = mine;
	const double t0 = begin(c);
	return end(c, t0,
		   atomic_load(&c->broken)
			   ? ST_PEER
			   : comm_noted(c, FAIL_COMM_CALL(reduce(c, *said, fold, all))));
}
