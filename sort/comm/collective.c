/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collectives
 *
 * The ranks of a job take the same decisions because all of them see the same bytes. If one bit of
 * a message flips, one rank may decide differently, and the others wait for it without end. So this
 * file adds a checksum to every message of a collective, whichever backend carries it.
 *
 * Who calls. The main thread of each rank calls the collectives, in the same order on all ranks.
 * Other threads use only the atomic members of the comm.
 *
 * The place of the checksum. A message of at most SHORT_BYTES is copied to a slot, together with
 * its checksum, and one collective of the backend exchanges the slots. A sealed message is its own
 * slot: the caller has reserved COMM_SEAL_BYTES at its end. For all other messages a slot holds
 * only the checksum, and a second collective exchanges the slots. The slots are the `sums` of the
 * comm. So this file allocates nothing, and ranks that have run out of memory can still agree.
 *
 * The contents of the checksum. It covers the message, the kind and the number of the call, and the
 * sender. In an all-to-all, where the messages of a sender differ, it also covers the receiver. So
 * a rank that has missed a call is detected at the next call. A message that arrives at the wrong
 * rank is detected too.
 *
 * Reductions. Each rank sends a word, which is its number and a checksum, to rank 0. There
 * comm_decide() combines the numbers, and the answer goes to all ranks. If a word is damaged, the
 * answer has the kind BLAME and contains the sender of the word, so all ranks name the same sender.
 * A backend that can collect words and distribute the answer in one step has `meet`.
 *
 * Failures. A rank that finds damage stores the sender in `damaged` and sets `broken`, so it starts
 * no later call. The other ranks do not know of this, and wait for it. It cannot agree with them on
 * anything, so the program ends the whole job by comm_abort(). The watchdog (monitor.c) limits the
 * wait. `broken` and `damaged` are never reset. So a thread that reads an old value starts at most
 * one call too many.
 *
 * Costs: 8 bytes and one hash per message. */
#include "base/clock.h"
#include "base/arith.h"
#include "comm.h"

#include <signal.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SHORT_BYTES = 16, SLOT_BYTES = SHORT_BYTES + COMM_SEAL_BYTES, EVERYONE = -1 };

/* Kinds of messages with a checksum, in addition to comm_kind: words of comm_word_for, and answers
 * that name a rank. */
enum { WORD = COMM_MEET + 1, BLAME };

/* --------------------------------------------------------------------------- memory, failures */

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
		snprintf(text, COMM_FAILURE_BYTES, "a message from rank %d arrived damaged",
			 by - 1);
	else
		snprintf(text, COMM_FAILURE_BYTES, "the other ranks cannot be reached any more");
	return text;
}

static status comm_note_damage(comm *c, int from)
{
	int none = 0;
	atomic_compare_exchange_strong(&c->damaged, &none, from + 1);
	return comm_noted(c, ST_PEER);
}

static uint64_t comm_sum(int kind, uint64_t number, int from, int to, const void *data,
			 size_t bytes)
{
	const uint64_t about[] = { (uint64_t)kind, number, (uint64_t)from, (uint64_t)to };
	return XXH3_64bits_withSeed(data, bytes, XXH3_64bits(about, sizeof about));
}

/* ------------------------------------------------------------------------- words and pointers */

static comm_word word_make(int kind, uint64_t number, int from, int to, uint64_t value)
{
	return (comm_word){ value, comm_sum(kind, number, from, to, &value, sizeof value) };
}

comm_word comm_word_for(const comm *c, uint64_t value, int to, int tag)
{
	return word_make(WORD, (uint64_t)tag, c->rank, to, value);
}

status comm_word_check(comm *c, comm_word *w, int from, int tag)
{
	FAIL_FLIP(FAIL_HEARD, w, sizeof *w);
	return w->sum == word_make(WORD, (uint64_t)tag, from, c->rank, w->value).sum
		       ? ST_OK
		       : comm_note_damage(c, from);
}

/* Hash the pointer together with the address of an object, which differs between processes. Unlike
 * a process id, that address needs no system call, and there are very many pointers. */
process_pointer process_pointer_to(void *at)
{
	static const char home = 0;
	uint64_t seed = (uint64_t)(uintptr_t)at ^ (uint64_t)(uintptr_t)&home << 16;
	return (process_pointer){ at, splitmix(&seed) };
}

bool process_pointer_is_whole(const process_pointer *p)
{
	return p->check == process_pointer_to(p->at).check;
}

/* ------------------------------------------------------------------------------- the messages */

/* Return the number of messages that this rank sends. */
static int messages_sent(const comm *c, const comm_call *k)
{
	if (k->kind == COMM_BCAST)
		return c->rank == k->root;
	return k->kind == COMM_ALLTOALL ? c->size : 1;
}

static int messages_received(const comm *c, const comm_call *k)
{
	if (k->kind == COMM_BCAST)
		return c->rank != k->root;
	return k->kind == COMM_GATHER && c->rank != k->root ? 0 : c->size;
}

static uint64_t message_sum(const comm *c, const comm_call *k, int from, int to, const void *data)
{
	return comm_sum(k->kind, c->round, from, k->kind == COMM_ALLTOALL ? to : EVERYONE, data,
			k->bytes);
}

/* Execute the collective k by the backend, but with these buffers and messages of `bytes` bytes. */
static status call_backend(comm *c, const comm_call *k, const void *send, void *recv, size_t bytes)
{
	const comm_call part = {
		.kind = k->kind, .send = send, .recv = recv, .bytes = bytes, .root = k->root
	};
	const status rc = c->ops->collective(c, &part);
	FAIL_FLIP(FAIL_HEARD, recv, rc == ST_OK ? bytes * (size_t)messages_received(c, k) : 0);
	return rc;
}

/* Fill a slot for each message to be sent, with its checksum and, unless `bytes` is 0, the message.
 * Sealed messages are in their slots already. */
static void fill_slots(const comm *c, const comm_call *k, unsigned char *slot, size_t bytes)
{
	for (int i = 0; i < messages_sent(c, k); i++, slot += bytes + COMM_SEAL_BYTES) {
		const void *data =
			k->sealed ? slot : (const unsigned char *)k->send + (size_t)i * k->bytes;
		const uint64_t sum = message_sum(c, k, c->rank, i, data);
		comm_copy(slot, data, bytes);
		memcpy(slot + bytes, &sum, sizeof sum);
	}
}

/* Verify the checksum of each received message. Unless `bytes` is 0, copy it from its slot. */
static status read_slots(comm *c, const comm_call *k, unsigned char *slot, size_t bytes)
{
	for (int i = 0; i < messages_received(c, k); i++, slot += bytes + COMM_SEAL_BYTES) {
		const int from = k->kind == COMM_BCAST ? k->root : i;
		void *data = k->sealed ? slot : (unsigned char *)k->recv + (size_t)i * k->bytes;
		uint64_t sum;
		comm_copy(data, slot, bytes);
		memcpy(&sum, slot + bytes, sizeof sum);
		if (sum != message_sum(c, k, from, c->rank, data))
			return comm_note_damage(c, from);
	}
	return ST_OK;
}

static status collective_checked(comm *c, const comm_call *k)
{
	/* whether the slots hold messages, not only checksums */
	const bool slots = k->sealed || k->bytes <= SHORT_BYTES;
	const size_t in_slot = slots ? k->bytes : 0;
	unsigned char *in = c->sums, *out = in + SLOT_BYTES * (size_t)c->size;
	status rc = ST_OK;
	if (c->for_all) { /* the other ranks would send the same */
		const size_t stride = k->bytes + (k->sealed ? COMM_SEAL_BYTES : 0);
		if (k->kind == COMM_ALLTOALL)
			return ST_INTERNAL;
		for (int i = 0; k->kind != COMM_BCAST && i < c->size; i++)
			memcpy((char *)k->recv + (size_t)i * stride, k->send, k->bytes);
		return ST_OK;
	}
	if (k->sealed) { /* the slots are the caller's messages */
		in = k->recv;
		out = (unsigned char *)(uintptr_t)k->send;
	}
	if (k->kind == COMM_BCAST)
		out = in;
	c->round++;
	if (k->bytes == 0)
		return call_backend(c, k, k->send, k->recv, 0);
	fill_slots(c, k, out, in_slot);
	if (!slots)
		rc = call_backend(c, k, k->send, k->recv, k->bytes);
	if (rc == ST_OK)
		rc = call_backend(c, k, out, in, in_slot + COMM_SEAL_BYTES);
	return rc == ST_OK ? read_slots(c, k, in, in_slot) : rc;
}

static status collective(comm *c, comm_call k)
{
	const double t0 = now_s();
	comm_wait_begin(c); /* all of the time counts as waiting for other ranks */
	const void *said = FAIL_LIE(k.send, (size_t)messages_sent(c, &k) *
						    (k.bytes + (k.sealed ? COMM_SEAL_BYTES : 0)));
	k.send = said;
	if (k.kind == COMM_BCAST)
		k.recv = (void *)(uintptr_t)k.send;
	const status rc = COMM_CALL(c, collective_checked(c, &k));
	c->collective_s += now_s() - t0;
	return comm_wait_end(c, rc);
}

status comm_bcast(comm *c, void *buf, size_t bytes, int root)
{
	return collective(c, (comm_call){ COMM_BCAST, buf, buf, bytes, .root = root });
}

status comm_gather(comm *c, const void *mine, void *all, size_t bytes, int root)
{
	return collective(c, (comm_call){ COMM_GATHER, mine, all, bytes, .root = root });
}

status comm_allgather(comm *c, const void *mine, void *all, size_t bytes)
{
	return collective(c, (comm_call){ COMM_ALLGATHER, mine, all, bytes, .root = 0 });
}

status comm_alltoall(comm *c, const void *send, void *recv, size_t bytes)
{
	return collective(c, (comm_call){ COMM_ALLTOALL, send, recv, bytes, .root = 0 });
}

status comm_allgather_sealed(comm *c, void *mine, void *all, size_t bytes)
{
	return collective(c, (comm_call){ COMM_ALLGATHER, mine, all, bytes - COMM_SEAL_BYTES,
					  .sealed = true });
}

status comm_alltoall_sealed(comm *c, void *send, void *recv, size_t bytes)
{
	return collective(c, (comm_call){ COMM_ALLTOALL, send, recv, bytes - COMM_SEAL_BYTES,
					  .sealed = true });
}

/* -------------------------------------------------------------------------------- reductions */

/* Make a word of a reduction. Of kind COMM_MEET it contains a rank's number or the answer, of kind
 * BLAME the rank whose word arrived damaged. */
static comm_word reduce_word(const comm *c, int kind, int from, uint64_t value)
{
	return word_make(kind, c->round, from, EVERYONE, value);
}

static bool is_reduce_word(const comm *c, const comm_word *w, int kind, int from)
{
	return w->sum == reduce_word(c, kind, from, w->value).sum;
}

void comm_decide(const comm *c, const comm_call *of_rank_0)
{
	const comm_word *word = of_rank_0->recv;
	comm_word *answer = of_rank_0->answer;
	uint64_t all = word->value;
	for (int i = 0; i < c->size; i++) {
		if (!is_reduce_word(c, &word[i], COMM_MEET, i)) {
			*answer = reduce_word(c, BLAME, 0, (uint64_t)i);
			return;
		}
		if (i > 0)
			all = of_rank_0->fold(all, word[i].value);
	}
	*answer = reduce_word(c, COMM_MEET, 0, all);
}

static status reduce_checked(comm *c, uint64_t mine, comm_fold *fold, uint64_t *all)
{
	comm_word own, answer;
	comm_call k = { .kind = COMM_MEET,
			.send = &own,
			.recv = c->sums,
			.bytes = sizeof own,
			.fold = fold,
			.answer = &answer };
	status rc;
	if (c->for_all)
		return ST_OK;
	c->round++;
	own = reduce_word(c, COMM_MEET, c->rank, mine);
	FAIL_FLIP(FAIL_HEARD, &own, sizeof own); /* on the way to rank 0 */
	if (c->ops->meet) {
		rc = c->ops->meet(c, &k);
	} else {
		k.kind = COMM_GATHER;
		rc = c->ops->collective(c, &k);
		if (rc == ST_OK && c->rank == 0)
			comm_decide(c, &k);
		k.kind = COMM_BCAST;
		k.send = k.recv = &answer;
		rc = rc == ST_OK ? c->ops->collective(c, &k) : rc;
	}
	if (rc != ST_OK)
		return rc;
	FAIL_FLIP(FAIL_HEARD, &answer, sizeof answer);
	*all = answer.value;
	if (is_reduce_word(c, &answer, COMM_MEET, 0))
		return ST_OK;
	return comm_note_damage(c, is_reduce_word(c, &answer, BLAME, 0) ? (int)answer.value : 0);
}

status comm_reduce(comm *c, uint64_t mine, comm_fold *fold, uint64_t *all)
{
	const uint64_t *said = FAIL_LIE(&mine, sizeof mine);
	const double t0 = now_s();
	*all = mine;
	comm_wait_begin(c);
	const status rc = COMM_CALL(c, reduce_checked(c, *said, fold, all));
	c->collective_s += now_s() - t0;
	return comm_wait_end(c, rc);
}

status comm_peer_status(comm *c, int32_t code)
{
	const bool is_status = (code >= ST_OK && code <= ST_INTERNAL) ||
			       (code > ST_SIGNAL && code < ST_SIGNAL + NSIG);
	return is_status ? (status)code : comm_noted(c, ST_PEER);
}

static uint64_t first_failed_status(uint64_t a, uint64_t b)
{
	return a != ST_OK ? a : b;
}

status comm_worst(comm *c, status mine)
{
	uint64_t first;
	const status rc = comm_reduce(c, mine, first_failed_status, &first);
	if (rc != ST_OK || mine != ST_OK)
		return rc != ST_OK ? rc : mine;
	return first <= INT32_MAX ? comm_peer_status(c, (int32_t)first) : comm_noted(c, ST_PEER);
}
