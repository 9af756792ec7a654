/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A wrong bit in a message, of each collective and length, or in a word. The rank that receives it
 * fails and names the sender; no other rank fails. All ranks get the result of a reduction, or the
 * name of the rank whose number arrived damaged. Ranks in different collectives fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "comm/comm.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

enum {
	SHORT = 8,
	RANKS = 3,
	HIT = 1,
	ROOT = 1,
	MOST_BYTES = 1000,
	ROOM_BYTES = MOST_BYTES + COMM_SEAL_BYTES
};
enum kind { BCAST, GATHER, ALLGATHER, ALLTOALL, SEALED_ALLGATHER, SEALED_ALLTOALL, KINDS };

typedef struct setting {
	enum kind kind;
	size_t bytes, bit;
	atomic_bool flipped;
	atomic_int failed, by; /* ranks that failed, and the rank that they blame */
} setting;

static const struct comm_ops *inner;
static setting *now;

/* Flip the chosen bit of the messages to rank HIT, once. */
static void hit(const comm *c, void *got, size_t bytes)
{
	if (c->rank != HIT || now->bit >= 8 * bytes || atomic_exchange(&now->flipped, true))
		return;
	((unsigned char *)got)[now->bit / 8] ^= (unsigned char)(1U << (now->bit % 8));
}

static status odd_collective(comm *c, const comm_call *k)
{
	const status rc = inner->collective(c, k);
	hit(c, k->recv, (k->kind == COMM_BCAST ? 1 : RANKS) * k->bytes);
	return rc;
}

static status call(comm *c, unsigned char *mine, unsigned char *all)
{
	switch (now->kind) {
	case BCAST:
		return comm_bcast(c, mine, now->bytes, 0);
	case GATHER:
		return comm_gather(c, mine, all, now->bytes, ROOT);
	case ALLGATHER:
		return comm_allgather(c, mine, all, now->bytes);
	case ALLTOALL:
		return comm_alltoall(c, mine, all, now->bytes);
	case SEALED_ALLGATHER:
		return comm_allgather_sealed(c, mine, all, now->bytes + COMM_SEAL_BYTES);
	default:
		return comm_alltoall_sealed(c, mine, all, now->bytes + COMM_SEAL_BYTES);
	}
}

static status one_rank(comm *c, void *arg)
{
	unsigned char mine[RANKS * ROOM_BYTES], all[RANKS * ROOM_BYTES];
	char why[COMM_FAILURE_BYTES];
	struct comm_ops odd = *c->ops;
	(void)arg;
	odd.collective = odd_collective;
	c->ops = &odd;
	memset(mine, 17 + c->rank, sizeof mine);
	const status rc = call(c, mine, all);
	if (rc == ST_OK)
		return atomic_load(&c->broken) ? ST_INTERNAL : ST_OK;
	atomic_fetch_add(&now->failed, 1);
	if (sscanf(comm_failure(c, why), "a message from rank %d arrived damaged", &now->by) != 1)
		now->by = -1;
	return rc == ST_PEER && c->rank == HIT && atomic_load(&c->broken) ? ST_OK : ST_INTERNAL;
}

static status learn_ops(comm *c, void *arg)
{
	(void)arg;
	inner = c->ops;
	return ST_OK;
}

static setting call_on_all_ranks(enum kind kind, size_t bytes, size_t bit)
{
	static setting s;
	err e = { ST_OK, "" };
	s = (setting){ .kind = kind, .bytes = bytes, .bit = bit };
	now = &s;
	assert_int_equal(comm_local_run(RANKS, one_rank, &s, &e), ST_OK);
	return s;
}

static void a_wrong_bit_is_found(void **state)
{
	static const size_t lengths[] = { 1, 4, 16, 17, MOST_BYTES };
	(void)state;
	for (enum kind k = BCAST; k < KINDS; k++)
		for (size_t i = 0; i < LEN(lengths); i++) {
			const size_t n = lengths[i], senders = k == BCAST ? 1 : RANKS;
			const bool in_slots = n <= 16 || k >= SEALED_ALLGATHER;
			const size_t with = in_slots ? n + 8 : n, all = 8 * senders * with;
			const size_t step = all > 800 ? 97 : 3;
			for (size_t bit = 0; bit < all; bit += step) {
				setting s = call_on_all_ranks(k, n, bit);
				assert_true(atomic_load(&s.flipped));
				assert_int_equal(atomic_load(&s.failed), 1);
				assert_int_equal(atomic_load(&s.by), bit / 8 / with);
			}
			setting s = call_on_all_ranks(k, n, SIZE_MAX);
			assert_int_equal(atomic_load(&s.failed), 0);
		}
}

static status words(comm *c, void *arg)
{
	(void)arg;
	for (unsigned bit = 0; bit < 128; bit++) {
		comm_word w = comm_word_for(c, 77, 0, 3);
		if (comm_word_check(c, &w, 0, 3) != ST_OK || w.value != 77)
			return ST_INTERNAL;
		((unsigned char *)&w)[bit / 8] ^= (unsigned char)(1U << (bit % 8));
		if (comm_word_check(c, &w, 0, 3) != ST_PEER || !atomic_exchange(&c->broken, false))
			return ST_INTERNAL;
	}
	comm_word w = comm_word_for(c, 77, 0, 3);
	return comm_word_check(c, &w, 0, 4) == ST_PEER ? ST_OK : ST_INTERNAL;
}

static void a_wrong_bit_in_a_word_is_found(void **state)
{
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(comm_local_run(1, words, NULL, &e), ST_OK);
}

/* ------------------------------------------------------------------------------- reductions */

static uint64_t append_digit(uint64_t a, uint64_t b)
{
	return 10 * a + b;
}

/* Flip a bit of the number of one rank. */
static status odd_meet(comm *c, const comm_call *k)
{
	unsigned char *word = (unsigned char *)(uintptr_t)k->send;
	if (c->rank == now->by && now->bit < 128)
		word[now->bit / 8] ^= (unsigned char)(1U << (now->bit % 8));
	return inner->meet(c, k);
}

static status two_gather(comm *c, const comm_call *k)
{
	const status rc = inner->collective(c, k);
	if (k->kind == COMM_GATHER && c->rank == k->root && now->bit < 128)
		((unsigned char *)k->recv)[(size_t)now->by * k->bytes + now->bit / 8] ^=
			(unsigned char)(1U << (now->bit % 8));
	return rc;
}

static status reduce(comm *c, void *in_two)
{
	char why[COMM_FAILURE_BYTES];
	struct comm_ops odd = *c->ops;
	uint64_t all = 0;
	int by = -1;
	odd.collective = two_gather;
	odd.meet = in_two ? NULL : odd_meet;
	c->ops = &odd;
	const status rc = comm_reduce(c, (uint64_t)c->rank + 1, append_digit, &all);
	if (now->bit >= 128)
		return rc == ST_OK && all == 123 ? ST_OK : ST_INTERNAL;
	sscanf(comm_failure(c, why), "a message from rank %d arrived damaged", &by);
	return rc == ST_PEER && by == now->by && atomic_load(&c->broken) ? ST_OK : ST_INTERNAL;
}

static void a_reduction_returns_the_result_or_names_the_damaged_rank(void **state)
{
	(void)state;
	for (int in_two = 0; in_two < 2; in_two++)
		for (int by = 0; by < RANKS; by++)
			for (size_t bit = 0; bit <= 128; bit++) {
				setting s = { .bit = bit, .by = by };
				err e = { ST_OK, "" };
				now = &s;
				assert_int_equal(
					comm_local_run(RANKS, reduce, in_two ? &s : NULL, &e),
					ST_OK);
			}
}

static status worst(comm *c, void *failing_)
{
	const int *failing = failing_;
	const status mine = c->rank >= *failing ? (status)(ST_OK + 1 + c->rank) : ST_OK;
	const status rc = comm_worst(c, mine);
	const status wanted = c->rank > *failing  ? mine
			      : *failing == RANKS ? ST_OK
						  : (status)(ST_OK + 1 + *failing);
	return rc == wanted ? ST_OK : ST_INTERNAL;
}

static void all_ranks_get_the_first_failure(void **state)
{
	err e = { ST_OK, "" };
	(void)state;
	for (int failing = 0; failing <= RANKS; failing++)
		assert_int_equal(comm_local_run(RANKS, worst, &failing, &e), ST_OK);
}

/* Let rank HIT reduce while the others gather, or gather another number of bytes. */
static status out_of_step(comm *c, void *in_bytes)
{
	unsigned char mine[2 * SHORT] = { 0 }, all[2 * SHORT * RANKS];
	const bool odd = c->rank == HIT;
	uint64_t sum;
	const status rc = odd && !*(const bool *)in_bytes
				  ? comm_reduce(c, 1, append_digit, &sum)
				  : comm_gather(c, mine, all, odd ? SHORT : 2 * SHORT, 0);
	return rc == ST_PEER ? ST_OK : ST_INTERNAL;
}

static void ranks_out_of_step_fail(void **state)
{
	(void)state;
	for (unsigned in_bytes = 0; in_bytes < 2; in_bytes++) {
		bool other = in_bytes;
		err e = { ST_OK, "" };
		assert_int_equal(comm_local_run(RANKS, out_of_step, &other, &e), ST_OK);
	}
}

int main(void)
{
	err e = { ST_OK, "" };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_bit_is_found),
		cmocka_unit_test(a_wrong_bit_in_a_word_is_found),
		cmocka_unit_test(a_reduction_returns_the_result_or_names_the_damaged_rank),
		cmocka_unit_test(all_ranks_get_the_first_failure),
		cmocka_unit_test(ranks_out_of_step_fail)
	};
	if (comm_local_run(1, learn_ops, NULL, &e) != ST_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
