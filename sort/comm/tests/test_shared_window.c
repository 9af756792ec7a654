/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that ranks of a host share. The right ranks see each other's memory. Blocks are read in
 * place, counts reach the other side, and sleepers are woken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <string.h>
#include "comm/shared_window.h"

enum { RANKS = 4, BYTES = 1 << 16 };

typedef struct setting {
	bool inside;           /* all ranks are of one process */
	bool elsewhere[RANKS]; /* the rank is on another host of the same name */
	bool none[RANKS];      /* the rank may not share memory */
	atomic_int wrong;
} setting;

static void expect(setting *s, bool is)
{
	if (!is)
		atomic_fetch_add(&s->wrong, 1);
}

static bool see_each_other(const setting *s, int a, int b)
{
	return a != b && !s->none[a] && !s->none[b] && s->elsewhere[a] == s->elsewhere[b];
}

static unsigned char mark(int from, int to)
{
	return (unsigned char)(1 + from * RANKS + to);
}

static void pass_block(setting *s, shared_window *w, const comm *c, int other)
{
	const uint32_t looked = shared_window_look(w);
	shared_window_await(w, other);
	memset(shared_window_to(w, other), mark(c->rank, other), BYTES);
	expect(s, shared_window_send(w, other, shared_window_to(w, other), BYTES) == ST_OK);
	while (shared_window_sent(w, other) == 0)
		shared_window_sleep(w, looked, 1U << NEWS_SENT);
	const unsigned char *got = shared_window_from(w, other);
	expect(s, got[0] == mark(other, c->rank) && got[BYTES - 1] == mark(other, c->rank));
	shared_window_free(w, other, 1);
	while (shared_window_freed(w, other) == 0)
		shared_window_sleep(w, shared_window_look(w), 1U << NEWS_FREED);
}

/* Expect that all ranks whose memory is seen have freed blocks, once. */
static void expect_news(setting *s, shared_window *w, const comm *c)
{
	uint64_t who = 0, again = 0, all = 0;
	for (int i = 0; i < c->size; i++)
		if (see_each_other(s, c->rank, i))
			rank_set_add(&all, i);
	while ((who & all) != all) /* news follows the count */
		shared_window_news(w, &who);
	shared_window_news(w, &again);
	expect(s, who == all && again == 0);
}

static status on_rank(comm *c, void *setting_)
{
	setting *s = setting_;
	mem m = { 0 };
	err e = { ST_OK, "" };
	shared_window *w;
	if (s->elsewhere[c->rank])
		c->host_id = 1;
	c->shares_memory = !s->none[c->rank];
	c->process_ranks = s->inside ? c->size : 1;
	status rc = comm_agree(c, shared_window_open(&w, c, &m, BYTES, &e));
	if (rc == ST_OK)
		rc = shared_window_connect(&w, 1, &e);
	for (int i = 0; rc == ST_OK && i < c->size; i++) {
		expect(s, shared_window_with(w, i) == see_each_other(s, c->rank, i));
		if (i != c->rank && shared_window_with(w, i))
			pass_block(s, w, c, i);
		else if (i != c->rank)
			shared_window_to(w, i)[BYTES - 1] = 1;
	}
	expect_news(s, w, c);
	expect(s, rc == ST_OK && m.peak_bytes <= shared_window_most_bytes(BYTES, c->size));
	shared_window_close(w);
	expect(s, m.now_bytes == 0);
	return rc;
}

static void test_who_sees_whom(void **state)
{
	setting all[] = {
		{ .inside = true },
		{ .inside = false },
		{ .elsewhere = { true } },
		{ .elsewhere = { false, true, false, true } },
		{ .none = { false, false, true } },
		{ .none = { true, true, true, true } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		err e = { ST_OK, "" };
		assert_int_equal(comm_local_run(RANKS, on_rank, &all[i], &e), ST_OK);
		assert_int_equal(all[i].wrong, 0);
	}
}

/* Send one block at a time there and back: each rank waits for the other. */
static status take_turns(comm *c, void *turns)
{
	enum { TURNS = 20000 };
	mem m = { 0 };
	err e = { ST_OK, "" };
	shared_window *w;
	const int other = 1 - c->rank;
	status rc = comm_agree(c, shared_window_open(&w, c, &m, sizeof(uint64_t), &e));
	if (rc == ST_OK)
		rc = shared_window_connect(&w, 1, &e);
	shared_window_await(w, other);
	uint64_t seen = 0, *out = (void *)shared_window_to(w, other);
	for (uint64_t turn = 1; rc == ST_OK && turn <= TURNS; turn++) {
		if (c->rank == 0) {
			*out = turn;
			rc = shared_window_send(w, other, (unsigned char *)out, sizeof *out);
		}
		for (uint32_t looked = shared_window_look(w);
		     rc == ST_OK && shared_window_sent(w, other) < turn;
		     looked = shared_window_look(w))
			shared_window_sleep(w, looked, 1U << NEWS_SENT);
		seen += *(uint64_t *)(void *)shared_window_from(w, other) == turn;
		if (c->rank == 1 && rc == ST_OK) {
			*out = turn;
			rc = shared_window_send(w, other, (unsigned char *)out, sizeof *out);
		}
	}
	atomic_fetch_add((atomic_int *)turns, seen == TURNS);
	shared_window_close(w);
	return rc;
}

static void test_turns(void **state)
{
	atomic_int ranks_right = 0;
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(comm_local_run(2, take_turns, &ranks_right, &e), ST_OK);
	assert_int_equal(ranks_right, 2);
}

/* Read a block after its sender, a thread of the same process, has left. */
static status leave_early(comm *c, void *left_)
{
	atomic_bool *left = left_;
	mem m = { 0 };
	err e = { ST_OK, "" };
	shared_window *w;
	status rc = comm_agree(c, shared_window_open(&w, c, &m, BYTES, &e));
	if (rc == ST_OK)
		rc = shared_window_connect(&w, 1, &e);
	if (rc == ST_OK && c->rank == 0) {
		memset(shared_window_to(w, 1), 7, BYTES);
		rc = shared_window_send(w, 1, shared_window_to(w, 1), BYTES);
	}
	while (rc == ST_OK && c->rank == 1 && !atomic_load(left))
		sched_yield();
	if (rc == ST_OK && c->rank == 1 && shared_window_from(w, 0)[BYTES - 1] != 7)
		rc = ST_INTERNAL;
	shared_window_close(w);
	if (c->rank == 0)
		atomic_store(left, true);
	return rc;
}

static void test_left(void **state)
{
	atomic_bool left = false;
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(comm_local_run(2, leave_early, &left, &e), ST_OK);
}

static status ask_for_too_much(comm *c, void *none)
{
	mem m = { 0 };
	err e = { ST_OK, "" };
	shared_window *w;
	const status rc = shared_window_open(&w, c, &m, SIZE_MAX / 2, &e);
	(void)none;
	shared_window_close(w);
	return e.code == rc && m.now_bytes == 0 ? rc : ST_INTERNAL;
}

static void test_too_large(void **state)
{
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(comm_local_run(4, ask_for_too_much, NULL, &e), ST_RESOURCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_sees_whom),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_too_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
