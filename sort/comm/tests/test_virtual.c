/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual ranks in several processes. Every collective and every block, inside a process and
 * between two, has the same result as in a single process. All ranks leave together. If the comm of
 * a rank breaks, no other rank uses its requests any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "comm/comm.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { MOST_NODES = 4, MOST_RANKS = 64 };

static const struct nodes {
	int size, count[MOST_NODES];
} sets[] = { { 1, { 1 } },          { 1, { 4 } },       { 2, { 1, 1 } }, { 2, { 3, 1 } },
	     { 4, { 1, 2, 4, 4 } }, { 3, { 1, 5, 2 } }, { 2, { 22, 1 } } };
static const size_t lengths[] = { 0, 1, 7, 1000 };

typedef struct setting {
	const struct nodes *nodes;
	size_t bytes;
	atomic_int ranks, faults;
} setting;

/* Make the bytes from rank `from` to rank `to`. */
static void fill(unsigned char *at, size_t bytes, int from, int to)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)(i * 7 + (size_t)from * 31 + (size_t)to * 3 + 1);
}

/* Count the bytes that differ from these. */
static int wrong(const unsigned char *at, size_t bytes, int from, int to)
{
	int n = 0;
	for (size_t i = 0; i < bytes; i++)
		n += at[i] != (unsigned char)(i * 7 + (size_t)from * 31 + (size_t)to * 3 + 1);
	return n;
}

static int collectives(comm *c, size_t bytes, unsigned char *a, unsigned char *b)
{
	const int p = c->size, me = c->rank;
	int bad = 0;
	for (int root = 0; root < p; root++) {
		fill(a, bytes, me, 0);
		bad += comm_bcast(c, a, bytes, root) != ST_OK || wrong(a, bytes, root, 0);
		fill(a, bytes, me, root);
		memset(b, 0, bytes * (size_t)p);
		bad += comm_gather(c, a, me == root ? b : NULL, bytes, root) != ST_OK;
		for (int i = 0; i < p && me == root; i++)
			bad += wrong(b + (size_t)i * bytes, bytes, i, root);
	}
	fill(a, bytes, me, 5);
	bad += comm_allgather(c, a, b, bytes) != ST_OK;
	for (int i = 0; i < p; i++)
		bad += wrong(b + (size_t)i * bytes, bytes, i, 5);
	for (int i = 0; i < p; i++)
		fill(a + (size_t)i * bytes, bytes, me, i);
	bad += comm_alltoall(c, a, b, bytes) != ST_OK;
	for (int i = 0; i < p; i++)
		bad += wrong(b + (size_t)i * bytes, bytes, i, me);
	return bad;
}

static int finish(comm *c, comm_req *r, int n)
{
	int bad = 0;
	for (int i = 0; i < n; i++) {
		bool done = false;
		for (unsigned tries = 0; !done && !bad; nap(tries++))
			bad += comm_test(c, &r[i], &done) != ST_OK;
	}
	return bad;
}

/* Send a block with the first and the last tag from every rank to every other, all at once. */
static int messages(comm *c, size_t bytes, unsigned char *a, unsigned char *b)
{
	static const int tags[] = { 0, COMM_TAGS - 1 };
	comm_req send[2 * MOST_RANKS], recv[2 * MOST_RANKS];
	const int p = c->size, me = c->rank;
	int n = 0, bad = 0;
	for (int i = 0; i < p; i++)
		for (int t = 0; t < 2 && i != me; t++, n++) {
			const size_t at = (size_t)n * bytes;
			fill(a + at, bytes, me, i + t);
			memset(b + at, 0, bytes);
			bad += comm_recv(c, b + at, bytes, i, tags[t], &recv[n]) != ST_OK;
			bad += comm_send(c, a + at, bytes, i, tags[t], &send[n]) != ST_OK;
		}
	bad += finish(c, recv, n) + finish(c, send, n);
	n = 0;
	for (int i = 0; i < p; i++)
		for (int t = 0; t < 2 && i != me; t++, n++)
			bad += wrong(b + (size_t)n * bytes, bytes, i, me + t);
	return bad;
}

static status one_rank(comm *c, void *arg)
{
	setting *s = arg;
	const size_t room = s->bytes * 2 * MOST_RANKS + 1;
	unsigned char *a = malloc(room), *b = malloc(room);
	int size = 0;
	for (int i = 0; i < s->nodes->size; i++)
		size += s->nodes->count[i];
	atomic_fetch_add(&s->ranks, 1);
	int bad = !a || !b || c->size != size || c->rank >= size;
	if (!bad)
		bad = collectives(c, s->bytes, a, b) + messages(c, s->bytes, a, b);
	atomic_fetch_add(&s->faults, bad);
	const status all = comm_agree(c, c->rank == size - 1 ? ST_REFUSED : ST_OK);
	atomic_fetch_add(&s->faults, all != ST_REFUSED);
	free(a);
	free(b);
	return all;
}

static status one_node(comm *outer, void *arg)
{
	setting *s = arg;
	err e = { ST_OK, "" };
	return comm_virtual_run(outer, s->nodes->count, one_rank, s, &e);
}

static void all_calls_on_all_ranks(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(sets); i++)
		for (size_t k = 0; k < LEN(lengths); k++) {
			setting s = { .nodes = &sets[i], .bytes = lengths[k] };
			err e = { ST_OK, "" };
			int size = 0;
			for (int n = 0; n < sets[i].size; n++)
				size += sets[i].count[n];
			assert_int_equal(comm_local_run(sets[i].size, one_node, &s, &e),
					 ST_REFUSED);
			assert_int_equal(atomic_load(&s.ranks), size);
			assert_int_equal(atomic_load(&s.faults), 0);
		}
}

/* Rank 1 waits for a block from rank 0 and for one to it when its comm breaks, because a third
 * block has a wrong size. It overwrites its requests, and rank 0 starts the other sides of the
 * first two blocks. arg is the barrier of both ranks. */
static status break_rank_1(comm *c, void *arg)
{
	unsigned char a[8], b[8];
	comm_req in, out, odd;
	bool done = false;
	int bad = 0;
	memset(a, 1 + c->rank, sizeof a);
	memset(b, 0, sizeof b);
	if (c->rank == 0)
		bad += comm_send(c, a, 2, 1, 2, &odd) != ST_OK;
	pthread_barrier_wait(arg);
	if (c->rank == 1) {
		bad += comm_recv(c, b, sizeof b, 0, 0, &in) != ST_OK;
		bad += comm_send(c, a, sizeof a, 0, 1, &out) != ST_OK;
		bad += comm_recv(c, a, 1, 0, 2, &odd) == ST_OK || !atomic_load(&c->broken);
		memset(&in, 0xff, sizeof in);
		memset(&out, 0xff, sizeof out);
	}
	pthread_barrier_wait(arg);
	if (c->rank == 0) {
		bad += comm_send(c, a, sizeof a, 1, 0, &in) != ST_OK;
		bad += comm_recv(c, b, sizeof b, 1, 1, &out) != ST_OK;
		bad += comm_test(c, &in, &done) != ST_OK || done;
		bad += comm_test(c, &out, &done) != ST_OK || done;
	}
	pthread_barrier_wait(arg);
	for (size_t i = 0; i < sizeof b; i++)
		bad += b[i] != 0;
	return bad ? ST_INTERNAL : ST_OK;
}

static status break_virtual_rank_1(comm *outer, void *arg)
{
	err e = { ST_OK, "" };
	return comm_virtual_run(outer, &(int){ 2 }, break_rank_1, arg, &e);
}

static void requests_of_a_broken_comm_are_not_used(void **state)
{
	pthread_barrier_t both;
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
	assert_int_equal(comm_local_run(2, break_rank_1, &both, &e), ST_OK);
	assert_int_equal(comm_local_run(1, break_virtual_rank_1, &both, &e), ST_OK);
	pthread_barrier_destroy(&both);
}

static status never(comm *c, void *arg)
{
	(void)c, (void)arg;
	return ST_INTERNAL;
}

static status run_virtual_ranks(comm *outer, void *count)
{
	err e = { ST_OK, "" };
	const status rc = comm_virtual_run(outer, count, never, NULL, &e);
	return e.code == rc ? rc : ST_INVALID;
}

static void no_ranks_and_too_many(void **state)
{
	err e = { ST_OK, "" };
	int none = 0, most = INT_MAX;
	(void)state;
	assert_int_equal(comm_local_run(none, never, NULL, &e), ST_REFUSED);
	assert_string_equal(e.text, "cannot run 0 ranks: use at least one");
	assert_int_equal(comm_local_run(1, run_virtual_ranks, &none, &e), ST_INTERNAL);
	if (getenv("SANITIZER") && strcmp(getenv("SANITIZER"), "coverage") != 0)
		return; /* a sanitizer ends programs that ask for so much memory */
	e = (err){ ST_OK, "" };
	assert_int_equal(comm_local_run(most, never, NULL, &e), ST_RESOURCE);
	assert_string_equal(e.text, "no memory for a job of 2147483647 ranks");
	assert_int_equal(comm_local_run(1, run_virtual_ranks, &most, &e), ST_RESOURCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_ranks_and_too_many),
		cmocka_unit_test(all_calls_on_all_ranks),
		cmocka_unit_test(requests_of_a_broken_comm_are_not_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
