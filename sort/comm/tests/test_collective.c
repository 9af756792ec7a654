/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One wrong bit in what a rank receives, in each collective, short and long: that rank is told of
 * it, with the sender, and no other; and words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "comm/comm.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { RANKS = 3, HIT = 1, ROOT = 1, MOST_BYTES = 1000 };
enum kind { BCAST, GATHER, ALLGATHER, ALLTOALL, KINDS };

typedef struct setting {
	enum kind kind;
	size_t bytes, bit;
	atomic_bool flipped;
	atomic_int told, by; /* ranks that failed, and whom they blame */
} setting;

static const struct comm_ops *inner;
static setting *now;

/* Flips the bit in the call of the backend that has so many, if the rank is to be hit. */
static void hit(const comm *c, void *got, size_t bytes)
{
	if (c->rank != HIT || now->bit >= 8 * bytes || atomic_exchange(&now->flipped, true))
		return;
	((unsigned char *)got)[now->bit / 8] ^= (unsigned char)(1U << (now->bit % 8));
}

static status odd_bcast(comm *c, void *buf, size_t bytes, int root)
{
	const status rc = inner->bcast(c, buf, bytes, root);
	hit(c, buf, bytes);
	return rc;
}

static status odd_gather(comm *c, const void *mine, void *all, size_t bytes, int root)
{
	const status rc = inner->gather(c, mine, all, bytes, root);
	hit(c, all, RANKS * bytes);
	return rc;
}

static status odd_allgather(comm *c, const void *mine, void *all, size_t bytes)
{
	const status rc = inner->allgather(c, mine, all, bytes);
	hit(c, all, RANKS * bytes);
	return rc;
}

static status odd_alltoall(comm *c, const void *send, void *recv, size_t bytes)
{
	const status rc = inner->alltoall(c, send, recv, bytes);
	hit(c, recv, RANKS * bytes);
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
	default:
		return comm_alltoall(c, mine, all, now->bytes);
	}
}

static status one_rank(comm *c, void *arg)
{
	unsigned char mine[RANKS * MOST_BYTES], all[RANKS * MOST_BYTES];
	char why[COMM_FAILURE_BYTES];
	struct comm_ops odd = *c->ops;
	(void)arg;
	odd.bcast = odd_bcast;
	odd.gather = odd_gather;
	odd.allgather = odd_allgather;
	odd.alltoall = odd_alltoall;
	c->ops = &odd;
	memset(mine, 17 + c->rank, sizeof mine);
	const status rc = call(c, mine, all);
	if (rc == ST_OK)
		return atomic_load(&c->broken) ? ST_INTERNAL : ST_OK;
	atomic_fetch_add(&now->told, 1);
	if (sscanf(comm_failure(c, why), "a message of rank %d came damaged", &now->by) != 1)
		now->by = -1;
	return rc == ST_PEER && c->rank == HIT && atomic_load(&c->broken) ? ST_OK : ST_INTERNAL;
}

static status learn_ops(comm *c, void *arg)
{
	(void)arg;
	inner = c->ops;
	return ST_OK;
}

static setting run(enum kind kind, size_t bytes, size_t bit)
{
	static setting s;
	err e = { ST_OK, "" };
	s = (setting){ .kind = kind, .bytes = bytes, .bit = bit };
	now = &s;
	assert_int_equal(comm_local_run(RANKS, 1000, one_rank, &s, &e), ST_OK);
	return s;
}

static void a_wrong_bit_is_found(void **state)
{
	static const size_t lengths[] = { 1, 4, 16, 17, MOST_BYTES };
	(void)state;
	for (enum kind k = BCAST; k < KINDS; k++)
		for (size_t i = 0; i < LEN(lengths); i++) {
			const size_t n = lengths[i], senders = k == BCAST ? 1 : RANKS;
			const size_t with = n <= 16 ? n + 8 : n, all = 8 * senders * with;
			for (size_t bit = 0; bit<all; bit += all> 800 ? 97 : 3) {
				setting s = run(k, n, bit);
				assert_true(atomic_load(&s.flipped));
				assert_int_equal(atomic_load(&s.told), 1);
				assert_int_equal(atomic_load(&s.by), bit / 8 / with);
			}
			setting s = run(k, n, SIZE_MAX);
			assert_int_equal(atomic_load(&s.told), 0);
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
	assert_int_equal(comm_local_run(1, 1000, words, NULL, &e), ST_OK);
}

int main(void)
{
	err e = { ST_OK, "" };
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_wrong_bit_is_found),
					    cmocka_unit_test(a_wrong_bit_in_a_word_is_found) };
	if (comm_local_run(1, 1, learn_ops, NULL, &e) != ST_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
