/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams between all ranks arrive whole and in order, in one to three exchanges at the same time.
 * They use memory of one process, memory of one host, messages, or both, with and without threads,
 * and also if only the main thread may use the comm. They have no block, one, or many more than a
 * window holds. Ranks of one process send no messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange.h"

enum { MANY = 200, FEW = 5, RECORD = 24, LEAST_BUDGET = 1, MOST_LANES = 3 };

typedef struct setting {
	int ranks;
	bool threads;
	bool inside, messages, mixed; /* mixed: odd ranks are on another host */
	bool driven;                  /* only the main thread may move messages */
	uint64_t most;                /* records of a stream */
	uint64_t every;               /* of which only every such record is left, by folding */
	atomic_int wrong;
} setting;

typedef struct test_record {
	uint64_t from, to, at;
} test_record;

/* Return the number of records between two ranks; for some pairs it is 0. */
static uint64_t count_of(const setting *s, int from, int to, size_t lane)
{
	return (uint64_t)(from * 7 + to * 3 + (int)lane) % (s->most + 1);
}

/* The streams of a rank in a lane. */
typedef struct streams {
	setting *s;
	comm *c;
	size_t lane;
	uint64_t *send, *recv, *filled;
	exchange *x;
	exchange_times times;
	atomic_int *readers;
	status rc;
	err e;
} streams;

static status streams_open(streams *t, setting *s, comm *c, size_t lane)
{
	const size_t p = (size_t)c->size;
	*t = (streams){ .s = s, .c = c, .lane = lane, .send = calloc(p, 3 * sizeof *t->send) };
	if (!t->send)
		return ST_RESOURCE;
	t->recv = t->send + p;
	t->filled = t->recv + p;
	for (int i = 0; i < c->size; i++) {
		t->send[i] = count_of(s, c->rank, i, lane);
		t->recv[i] = count_of(s, i, c->rank, lane);
	}
	return ST_OK;
}

static size_t fill(void *outgoing, int to, size_t n, unsigned char *buf)
{
	const streams *t = outgoing;
	size_t done = 0;
	while (done < n && t->filled[to] < t->send[to]) {
		const test_record r = { (uint64_t)t->c->rank, (uint64_t)to, t->filled[to]++ };
		if (r.at % t->s->every == 0)
			memcpy(buf + done++ * RECORD, &r, RECORD);
	}
	return done;
}

/* Count the messages of all ranks. All ranks use the same backend. With `driven`, the main thread
 * of each rank starts them when it drives. */
static _Atomic(const struct comm_ops *) real_ops;
static atomic_int started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static comm_req *listed[MANY];
static pthread_t main_of[MANY];

static status start(comm *c, comm_req *req)
{
	atomic_fetch_add(&started, 1);
	return atomic_load(&real_ops)->start(c, req);
}

static status list(comm *c, comm_req *req)
{
	pthread_mutex_lock(&lock);
	req->next = listed[c->rank];
	listed[c->rank] = req;
	pthread_mutex_unlock(&lock);
	return ST_OK;
}

static status drive(comm *c, bool *moved)
{
	pthread_mutex_lock(&lock);
	comm_req *r = listed[c->rank], *next;
	listed[c->rank] = NULL;
	pthread_mutex_unlock(&lock);
	status rc = pthread_equal(pthread_self(), main_of[c->rank]) ? ST_OK : ST_INTERNAL;
	for (; r && rc == ST_OK; r = next) {
		next = r->next;
		*moved = true;
		rc = start(c, r);
	}
	return rc;
}

static void read_stream(streams *t, int from)
{
	setting *s = t->s;
	uint64_t at = 0;
	for (size_t n = 1; t->rc == ST_OK && n > 0;) {
		const unsigned char *recs;
		t->rc = exchange_next(t->x, from, &recs, &n);
		for (size_t i = 0; t->rc == ST_OK && i < n; i++, at += s->every) {
			const test_record r = { (uint64_t)from, (uint64_t)t->c->rank, at };
			atomic_fetch_add(&s->wrong, memcmp(recs + i * RECORD, &r, RECORD) != 0);
		}
	}
	const uint64_t left = (t->recv[from] + s->every - 1) / s->every;
	atomic_fetch_add(&s->wrong, at != left * s->every);
	if (from != t->c->rank)
		atomic_fetch_add(&s->wrong, exchange_received(t->x, from) != left);
}

static void *read_all(void *streams_)
{
	streams *t = streams_;
	for (int i = 0; t->rc == ST_OK && i < t->c->size; i++)
		read_stream(t, (t->c->rank + i) % t->c->size);
	if (t->rc == ST_OK)
		t->rc = exchange_finish(t->x, &t->times, &t->e);
	atomic_fetch_sub(t->readers, 1);
	return NULL;
}

static status move(setting *s, comm *c, streams *t, size_t lanes, err *e)
{
	mem m = { 0 };
	exchange *x[MOST_LANES] = { NULL };
	pthread_t thread[MOST_LANES];
	atomic_int readers = (int)lanes;
	status rc = ST_OK;
	for (size_t k = 0; rc == ST_OK && k < lanes; k++) {
		const exchange_plan p = { .c = c,
					  .m = &m,
					  .record_bytes = RECORD,
					  .fill = fill,
					  .outgoing = &t[k],
					  .send = t[k].send,
					  .recv = t[k].recv,
					  .folds = s->every > 1,
					  .threads = s->threads,
					  .lane = (unsigned)k,
					  .budget_bytes = LEAST_BUDGET,
					  .total = (uint64_t)s->ranks * s->most };
		rc = exchange_open(&x[k], &p, e);
		t[k].x = x[k];
		t[k].readers = &readers;
	}
	atomic_fetch_add(&s->wrong,
			 m.peak_bytes > lanes * exchange_most_bytes(RECORD, LEAST_BUDGET, c->size,
								    comm_is_inside(c)));
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = exchange_start(x, lanes, e);
	const bool drives = rc == ST_OK && lanes > 1 && exchange_needs_caller(x);
	for (size_t k = drives ? 0 : 1; rc == ST_OK && k < lanes; k++)
		rc = pthread_create(&thread[k], NULL, read_all, &t[k]) ? ST_RESOURCE : ST_OK;
	if (rc == ST_OK && drives)
		rc = exchange_drive(x, lanes, &readers, 0);
	else if (rc == ST_OK)
		(void)read_all(&t[0]);
	for (size_t k = drives ? 0 : 1; rc == ST_OK && k < lanes; k++)
		rc = pthread_join(thread[k], NULL) ? ST_RESOURCE : ST_OK;
	for (size_t k = 0; k < lanes && rc == ST_OK; k++)
		rc = t[k].rc;
	rc = comm_agree(c, rc);
	for (size_t k = 0; k < lanes; k++)
		exchange_free(x[k]);
	atomic_fetch_add(&s->wrong, m.now_bytes != 0);
	return rc;
}

static status on_rank(comm *c, void *setting_)
{
	setting *s = setting_;
	err e = { ST_OK, "" };
	struct comm_ops ops = *c->ops;
	const struct comm_ops *real = c->ops;
	c->shares_memory = !s->messages;
	c->process_ranks = s->inside ? c->size : 1;
	if (s->mixed && c->rank % 2)
		c->host_id = 1;
	atomic_store(&real_ops, real);
	ops.start = s->driven ? list : start;
	ops.drive = s->driven ? drive : NULL;
	c->threads_allowed = !s->driven;
	main_of[c->rank] = pthread_self();
	status rc = ST_OK;
	for (size_t lanes = 1; rc == ST_OK && lanes <= MOST_LANES; lanes++) {
		streams t[MOST_LANES];
		for (size_t k = 0; k < lanes && rc == ST_OK; k++)
			rc = streams_open(&t[k], s, c, k);
		rc = comm_agree(c, rc);
		c->ops = &ops;
		if (rc == ST_OK && (s->threads || lanes == 1 || !s->driven))
			rc = move(s, c, t, lanes, &e);
		c->ops = real;
		for (size_t k = 0; k < lanes; k++)
			free(t[k].send);
	}
	return rc;
}

static void run(setting *s)
{
	err e = { ST_OK, "" };
	for (int k = 0; k < 4; k++) {
		s->threads = k % 2;
		s->every = k < 2 ? 1 : 3;
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

static void test_driven(void **state)
{
	(void)state;
	run(&(setting){ .ranks = FEW, .messages = true, .driven = true, .most = 50 });
	run(&(setting){ .ranks = FEW, .mixed = true, .driven = true, .most = 50 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inside), cmocka_unit_test(test_many),
		cmocka_unit_test(test_host),   cmocka_unit_test(test_messages),
		cmocka_unit_test(test_mixed),  cmocka_unit_test(test_driven),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
