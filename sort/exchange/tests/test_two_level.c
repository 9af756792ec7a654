/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two steps bring each rank its records. Sender and receiver agree on each count, and no record is
 * lost between the steps. Between them no rank has more than its share and the largest cell. If all
 * cells are similar, peers are few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/arith.h"
#include "exchange/two_level.h"

enum { MOST = 150 };

static const char *const kinds[] = { "alike", "random", "few", "in order", "of one", "to one" };

typedef struct setting {
	int ranks, kind;
	uint64_t largest, room; /* of the parts; records that a rank may have between steps */
	uint64_t part[MOST][MOST], out[MOST], before[MOST];
	uint64_t sent[2][MOST][MOST], recv[2][MOST][MOST];
	uint64_t between[MOST];
	int most_peers;
	bool asked, pays;
} setting;

static setting s;

static uint64_t part_of(int from, int to, uint64_t *seed)
{
	const uint64_t r = splitmix(seed);
	switch (s.kind) {
	case 0:
		return 20 + r % 3;
	case 1:
		return r % 100;
	case 2:
		return r % 10 ? 0 : r / 10 % 100;
	case 3:
		return from == to ? 1000 : 0;
	case 4:
		return from == s.ranks / 3 ? r % 50 : 0;
	default:
		return to == s.ranks / 2 ? r % 50 : 0;
	}
}

static void draw(uint64_t seed)
{
	uint64_t sum = 0;
	s.largest = 0;
	for (int to = 0; to < s.ranks; to++) {
		s.out[to] = 0;
		for (int from = 0; from < s.ranks; from++) {
			s.part[from][to] = part_of(from, to, &seed);
			s.out[to] += s.part[from][to];
			if (s.part[from][to] > s.largest)
				s.largest = s.part[from][to];
			s.sent[0][from][to] = s.sent[1][from][to] = 0;
			s.recv[0][from][to] = s.recv[1][from][to] = 0;
		}
		s.before[to] = sum += s.out[to];
	}
}

static status on_rank(comm *c, void *unused)
{
	mem m = { 0 };
	err e = { ST_OK, "" };
	two_level t;
	const two_level_query q = { s.part[c->rank], s.out, s.before, s.room, s.asked };
	const status rc = two_level_plan(&t, c, &m, &q, &e);
	(void)unused;
	for (int k = 0; rc == ST_OK && t.pays && k < 2; k++)
		for (int i = 0; i < t.step[k].peers.count; i++) {
			const int other = peers_rank(&t.step[k].peers, i);
			s.sent[k][c->rank][other] = t.step[k].send[i];
			s.recv[k][other][c->rank] = t.step[k].recv[i];
		}
	s.between[c->rank] = t.recs;
	if (c->rank == 0) {
		s.pays = t.pays;
		s.most_peers = t.most_peers;
	}
	two_level_free(&t, &m);
	return rc == ST_OK && m.now_bytes ? ST_INTERNAL : rc;
}

static void check_flows(void)
{
	for (int r = 0; r < s.ranks; r++) {
		uint64_t has = 0, come = 0, go = 0, end = 0;
		for (int i = 0; i < s.ranks; i++) {
			for (int k = 0; k < 2; k++)
				assert_int_equal(s.sent[k][i][r], s.recv[k][i][r]);
			has += s.sent[0][r][i] - s.part[r][i]; /* modulo 2^64: 0 at last */
			come += s.sent[0][i][r];
			go += s.sent[1][r][i];
			end += s.sent[1][i][r];
		}
		assert_int_equal(has, 0);
		assert_int_equal(come, s.between[r]);
		assert_int_equal(go, s.between[r]);
		assert_int_equal(end, s.out[r]);
		assert_true(come <= s.out[r] + s.largest);
	}
}

static void plan(int ranks, int kind, uint64_t seed)
{
	err e = { ST_OK, "" };
	s.ranks = ranks;
	s.kind = kind;
	draw(seed);
	assert_int_equal(comm_local_run(ranks, on_rank, NULL, &e), ST_OK);
}

static void test_flows(void **state)
{
	static const int ranks[] = { 1, 2, 3, 4, 5, 7, 11, 16, 17, 64, 97, MOST };
	(void)state;
	s.asked = true;
	s.room = UINT64_MAX;
	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
		for (int kind = 0; kind < (int)(sizeof kinds / sizeof *kinds); kind++) {
			printf("# %d ranks, parts %s\n", ranks[i], kinds[kind]);
			plan(ranks[i], kind, i * 100 + (uint64_t)kind);
			assert_true(s.pays);
			check_flows();
			if (kind == 0)
				assert_true(s.most_peers <= two_level_most_peers(ranks[i]));
		}
}

/* Use one step if a rank would have too many records, or few ranks have records for each other. */
static void test_one_step(void **state)
{
	(void)state;
	s.asked = true;
	s.room = 10;
	plan(64, 0, 1);
	assert_false(s.pays);
	s.asked = false;
	s.room = UINT64_MAX;
	plan(64, 3, 1);
	assert_false(s.pays);
	plan(64, 0, 1);
	assert_true(s.pays);
}

static void test_model(void **state)
{
	(void)state;
	two_level_load l = { 1e6, 1000, true, 1.15e-9 };
	assert_true(two_level_saves_s(&l) > 0);
	l.ranks = 4;
	assert_true(two_level_saves_s(&l) < 0);
	l = (two_level_load){ 1e9, 1000, true, 1.15e-9 };
	assert_true(two_level_saves_s(&l) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_flows),
					    cmocka_unit_test(test_one_step),
					    cmocka_unit_test(test_model) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
