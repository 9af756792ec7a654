/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams between all ranks or some of them arrive whole and in order. They use memory of one
 * process, memory of one host, messages, or both, and 0 to 2 threads. They have no block, one, or
 * many more than a window holds. Ranks of one process send no messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange.h"

enum { MANY = 200, FEW = 5, RECORD = 24, LEAST_BUDGET = 1 };

typedef struct setting {
	int ranks;
	unsigned threads;
	bool inside, messages, mixed; /* mixed: odd ranks are on another host */
	bool some;                    /* only some ranks exchange with each other */
	uint64_t most;                /* records of a stream */
	atomic_int wrong;
} setting;

typedef struct test_record {
	uint64_t from, to, at;
} test_record;

/* Return the number of records between two ranks; for some pairs it is 0. */
static uint64_t count_of(const setting *s, int from, int to)
{
	return (uint64_t)(from * 7 + to * 3) % (s->most + 1);
}

static bool exchange_with(const setting *s, int a, int b)
{
	return !s->some || a == b || (a + b) % 3 == 0 || abs(a - b) == 1;
}

/* The streams between a rank and its peers. */
typedef struct streams {
	const comm *c;
	peer_list peers;
	int *rank;
	uint64_t *send, *recv;
} streams;

static status streams_open(streams *t, const setting *s, const comm *c)
{
	const size_t p = (size_t)c->size;
	*t = (streams){ .c = c,
			.rank = calloc(p, sizeof *t->rank),
			.send = calloc(p, sizeof *t->send),
			.recv = calloc(p, sizeof *t->recv) };
	if (!t->rank || !t->send || !t->recv)
		return ST_RESOURCE;
	for (int i = 0; i < c->size; i++) {
		if (!exchange_with(s, c->rank, i))
			continue;
		if (i == c->rank)
			t->peers.own = t->peers.count;
		t->send[t->peers.count] = count_of(s, c->rank, i);
		t->recv[t->peers.count] = count_of(s, i, c->rank);
		t->rank[t->peers.count++] = i;
	}
	t->peers.rank = t->rank;
	if (!s->some)
		t->peers = peers_all(c);
	return ST_OK;
}

static void streams_free(streams *t)
{
	free(t->rank);
	free(t->send);
	free(t->recv);
}

static void fill(void *outgoing, int to, uint64_t skip, size_t n, unsigned char *buf)
{
	const streams *t = outgoing;
	const uint64_t rank = (uint64_t)peers_rank(&t->peers, to);
	for (size_t i = 0; i < n; i++) {
		const test_record r = { (uint64_t)t->c->rank, rank, skip + i };
		memcpy(buf + i * RECORD, &r, RECORD);
	}
}

/* Count the messages of all ranks. All ranks use the same backend. */
static _Atomic(const struct comm_ops *) real_ops;
static atomic_int started;

static status start(comm *c, comm_req *req)
{
	atomic_fetch_add(&started, 1);
	return atomic_load(&real_ops)->start(c, req);
}

static status read_stream(setting *s, exchange *x, const streams *t, int peer)
{
	const comm *c = t->c;
	const int from = peers_rank(&t->peers, peer);
	uint64_t at = 0;
	for (;;) {
		const unsigned char *recs;
		size_t n;
		const status rc = exchange_next(x, peer, &recs, &n);
		if (rc != ST_OK || n == 0) {
			atomic_fetch_add(&s->wrong, at != count_of(s, from, c->rank));
			return rc;
		}
		for (size_t i = 0; i < n; i++, at++) {
			const test_record r = { (uint64_t)from, (uint64_t)c->rank, at };
			atomic_fetch_add(&s->wrong, memcmp(recs + i * RECORD, &r, RECORD) != 0);
		}
	}
}

static status move(setting *s, comm *c, streams *t, err *e)
{
	mem m = { 0 };
	exchange *x = NULL;
	exchange_times times;
	const exchange_plan p = { .c = c,
				  .m = &m,
				  .record_bytes = RECORD,
				  .fill = fill,
				  .outgoing = t,
				  .peers = t->peers,
				  .most_peers = c->size,
				  .send = t->send,
				  .recv = t->recv,
				  .threads = s->threads,
				  .budget_bytes = LEAST_BUDGET,
				  .total = (uint64_t)s->ranks * s->most };
	status rc = comm_agree(c, exchange_open(&x, &p, e));
	if (rc == ST_OK)
		rc = exchange_start(x);
	for (int i = 0; rc == ST_OK && i < t->peers.count; i++)
		rc = read_stream(s, x, t, (t->peers.own + i) % t->peers.count);
	if (rc == ST_OK)
		rc = exchange_finish(x, &times, e);
	atomic_fetch_add(&s->wrong, m.peak_bytes > exchange_most_bytes(RECORD, LEAST_BUDGET,
								       t->peers.count, c->size));
	exchange_free(x);
	atomic_fetch_add(&s->wrong, m.now_bytes != 0);
	return rc;
}

static status on_rank(comm *c, void *setting_)
{
	setting *s = setting_;
	err e = { ST_OK, "" };
	streams t;
	struct comm_ops ops = *c->ops;
	const struct comm_ops *real = c->ops;
	c->shares_memory = !s->messages;
	c->process_ranks = s->inside ? c->size : 1;
	if (s->mixed && c->rank % 2)
		c->host_id = 1;
	atomic_store(&real_ops, real);
	ops.start = start;
	status rc = comm_agree(c, streams_open(&t, s, c));
	c->ops = &ops;
	if (rc == ST_OK)
		rc = move(s, c, &t, &e);
	c->ops = real;
	streams_free(&t);
	return rc;
}

static void run(setting *s)
{
	err e = { ST_OK, "" };
	for (s->threads = 0; s->threads <= 2; s->threads++) {
		s->wrong = started = 0;
		assert_int_equal(comm_local_run(s->ranks, on_rank, s, &e), ST_OK);
		assert_int_equal(s->wrong, 0);
		if (s->inside)
			assert_int_equal(started, 0);
		else if (s->messages || s->mixed)
			assert_true(started > 0);
	}
}

static void test_inside(void **state)
{
	(void)state;
	run(&(setting){ .ranks = 1, .inside = true, .most = 3 });
	run(&(setting){ .ranks = 2, .inside = true, .most = 3000 });
	run(&(setting){ .ranks = FEW, .inside = true, .most = 1000 });
}

static void test_many(void **state)
{
	(void)state;
	run(&(setting){ .ranks = MANY, .inside = true, .most = 2 });
}

static void test_host(void **state)
{
	(void)state;
	run(&(setting){ .ranks = 2, .most = 3000 });
	run(&(setting){ .ranks = FEW, .most = 1000 });
}

static void test_messages(void **state)
{
	(void)state;
	run(&(setting){ .ranks = FEW, .messages = true, .most = 50 });
	run(&(setting){ .ranks = 70, .messages = true, .most = 2 });
}

static void test_mixed(void **state)
{
	(void)state;
	run(&(setting){ .ranks = FEW, .mixed = true, .most = 50 });
}

static void test_some(void **state)
{
	(void)state;
	run(&(setting){ .ranks = 17, .some = true, .inside = true, .most = 300 });
	run(&(setting){ .ranks = 17, .some = true, .most = 300 });
	run(&(setting){ .ranks = 17, .some = true, .messages = true, .most = 20 });
	run(&(setting){ .ranks = 17, .some = true, .mixed = true, .most = 20 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inside), cmocka_unit_test(test_many),
		cmocka_unit_test(test_host),   cmocka_unit_test(test_messages),
		cmocka_unit_test(test_mixed),  cmocka_unit_test(test_some),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
