/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dealing out runs: properties of random jobs, and expected results of some. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arith.h"
#include "resume/states.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 12, MOST_RUNS = 64, CASES = 20000 };

typedef struct dealt {
	deal_query q;
	int32_t group[MOST_RANKS], rank_at[MOST_RANKS];
	uint64_t share[MOST_RANKS], end[MOST_RANKS];
	run_note run[MOST_RUNS];
	size_t runs;
} dealt;

static void deal_all(dealt *x)
{
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	deal d = { x->rank_at, x->end };
	x->q.group = x->group;
	x->q.share = x->share;
	assert_int_equal(deal_runs(&x->q, &m, x->run, &x->runs, &d, &e), ST_OK);
	assert_int_equal(m.now_bytes, 0);
}

/* Check that each rank has one stretch, that the stretches make up the input, and that each run is
 * in the stretch of a rank that finds it. */
static void check(const dealt *x)
{
	bool seen[MOST_RANKS] = { false };
	uint64_t before = 0;
	size_t k = 0;
	for (int i = 0; i < x->q.ranks; i++) {
		const int32_t r = x->rank_at[i];
		assert_true(r >= 0 && r < x->q.ranks && !seen[r]);
		seen[r] = true;
		assert_true(x->end[i] >= before && x->end[i] <= x->q.records);
		for (uint64_t at = before; k < x->runs && x->run[k].first < x->end[i]; k++) {
			assert_true(x->run[k].first >= at);
			at = x->run[k].first + x->run[k].recs;
			assert_true(x->run[k].recs > 0 && at <= x->end[i]);
			assert_int_equal(x->run[k].group, x->group[r]);
		}
		before = x->end[i];
	}
	assert_int_equal(before, x->q.records);
	assert_int_equal(k, x->runs);
}

static uint64_t kept(const dealt *x)
{
	uint64_t n = 0;
	for (size_t i = 0; i < x->runs; i++)
		n += x->run[i].recs;
	return n;
}

static void random_jobs(void **state)
{
	uint64_t s = 17;
	(void)state;
	for (int c = 0; c < CASES; c++) {
		dealt x = { .q = { .records = splitmix(&s) % 3000,
				   .ranks = 1 + (int)(splitmix(&s) % MOST_RANKS) } };
		const int sets = 1 + (int)(splitmix(&s) % (uint64_t)x.q.ranks);
		for (int i = 0; i < x.q.ranks; i++) {
			x.group[i] = i < sets ? i : (int32_t)(splitmix(&s) % (uint64_t)sets);
			x.share[i] = splitmix(&s) % 4 ? splitmix(&s) % 1000 : 0;
		}
		const size_t wanted = x.q.records ? splitmix(&s) % MOST_RUNS : 0;
		for (; x.runs < wanted; x.runs++) {
			const uint64_t first = splitmix(&s) % x.q.records;
			x.run[x.runs] = (run_note){
				.first = first / 50 * 50,
				.number = x.runs,
				.group = (int32_t)(splitmix(&s) % (uint64_t)sets),
			};
			run_note *n = &x.run[x.runs];
			n->recs = 1 + splitmix(&s) % (x.q.records - n->first < 100
							      ? x.q.records - n->first
							      : 100);
		}
		deal_all(&x);
		check(&x);
	}
}

/* Make runs of 10 records for each rank, of which the first `made` exist. */
static dealt job(int was, int is, uint64_t each, uint64_t made, bool own_disks)
{
	dealt x = { .q = { .records = (uint64_t)was * each, .ranks = is } };
	for (int i = 0; i < is; i++) {
		x.group[i] = own_disks ? i : 0;
		x.share[i] = x.q.records / (uint64_t)is;
	}
	for (int i = 0; i < was; i++)
		for (uint64_t at = 0; at < made; at += 10)
			x.run[x.runs++] = (run_note){ .first = (uint64_t)i * each + at,
						      .recs = 10,
						      .group = own_disks ? i : 0 };
	return x;
}

/* Check a shared directory: any number of ranks uses all runs, in equal parts. */
static void shared(void **state)
{
	(void)state;
	for (int was = 1; was <= 8; was++)
		for (int is = 1; is <= 10; is++) {
			dealt x = job(was, is, 80, 80, false);
			const uint64_t fair = x.q.records / (uint64_t)is;
			deal_all(&x);
			check(&x);
			assert_int_equal(kept(&x), x.q.records);
			for (int i = 0; i < is; i++) {
				const uint64_t from = i ? x.end[i - 1] : 0;
				assert_int_equal(x.rank_at[i], i);
				assert_true(x.end[i] - from < fair + 20);
			}
		}
}

/* Check that the same number of ranks continue with their own runs. */
static void as_before(void **state)
{
	(void)state;
	for (uint64_t made = 0; made <= 40; made += 20) {
		dealt x = job(4, 4, 40, made, true);
		deal_all(&x);
		check(&x);
		assert_int_equal(kept(&x), 4 * made);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(x.rank_at[i], i);
			if (made == 40)
				assert_int_equal(x.end[i], 40 * (i + 1));
		}
	}
}

/* Disks of hosts, whose ranks have other numbers than before. */
static void other_order(void **state)
{
	static const int32_t now[4] = { 2, 0, 3, 1 };
	(void)state;
	dealt x = job(4, 4, 40, 40, true);
	for (size_t i = 0; i < x.runs; i++)
		x.run[i].group = now[x.run[i].group];
	deal_all(&x);
	check(&x);
	assert_int_equal(kept(&x), 160);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(x.rank_at[i], now[i]);
		assert_int_equal(x.end[i], 40 * (i + 1));
	}
}

/* Check a lost host: the others keep their runs, and the ranks next to the gap share it. */
static void a_host_less(void **state)
{
	(void)state;
	dealt x = job(4, 3, 40, 40, true);
	size_t n = 0;
	for (size_t i = 0; i < x.runs; i++)
		if (x.run[i].group != 2) {
			x.run[n] = x.run[i];
			x.run[n++].group -= x.run[i].group == 3;
		}
	x.runs = n;
	deal_all(&x);
	check(&x);
	assert_int_equal(kept(&x), 120);
	assert_int_equal(x.end[0], 40);
	assert_in_range(x.end[1], 99, 101);
}

/* Another host replaces it, as the last one: it reads the missing records, nearly all of its
 * share. */
static void another_host(void **state)
{
	(void)state;
	dealt x = job(4, 4, 40, 40, true);
	size_t n = 0;
	for (size_t i = 0; i < x.runs; i++)
		if (x.run[i].group != 1) {
			x.run[n] = x.run[i];
			x.run[n++].group -= x.run[i].group > 1;
		}
	x.runs = n; /* ranks 0 to 2 find them, rank 3 finds nothing */
	deal_all(&x);
	check(&x);
	assert_int_equal(kept(&x), 120);
	assert_int_equal(x.rank_at[1], 3);
	assert_true(x.end[1] - x.end[0] >= 13);
}

/* Ranks of two hosts alternate: each of the two ranks of a host gets a stretch of its host. */
static void in_turn(void **state)
{
	(void)state;
	dealt x = job(4, 4, 40, 40, false);
	for (size_t i = 0; i < x.runs; i++)
		x.run[i].group = (int32_t)(x.run[i].first / 40 % 2);
	x.group[2] = x.group[3] = 1;
	x.group[1] = 0;
	deal_all(&x);
	/* group 1 is led by no rank of that number, which does not matter */
	check(&x);
	assert_int_equal(kept(&x), 160);
}

/* A host returns with runs of records that others have read since: no more runs are dropped than it
 * has. */
static void twice_there(void **state)
{
	(void)state;
	dealt x = job(3, 3, 40, 40, true);
	for (uint64_t at = 20; at < 60; at += 20)
		x.run[x.runs++] = (run_note){ .first = at, .recs = 20, .group = 2 };
	deal_all(&x);
	check(&x);
	assert_in_range(kept(&x), 100, 120);
}

/* Missing records cost three times as much, so a rank that has fewer to read gets more. */
static void by_cost(void **state)
{
	(void)state;
	dealt x = job(1, 2, 600, 300, false);
	deal_all(&x);
	check(&x);
	assert_in_range(x.end[0], 390, 410); /* 300 + 3 * 100 next to 3 * 200 */
}

static void too_many(void **state)
{
	(void)state;
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	int32_t group = 0, rank_at;
	uint64_t share = 1, end;
	size_t runs = 0;
	run_note run;
	deal d = { &rank_at, &end };
	const deal_query q = { UINT64_MAX / 2, 1, &group, &share };
	assert_int_equal(deal_runs(&q, &m, &run, &runs, &d, &e), ST_REFUSED);
	assert_int_equal(m.now_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_jobs), cmocka_unit_test(shared),
		cmocka_unit_test(as_before),   cmocka_unit_test(other_order),
		cmocka_unit_test(a_host_less), cmocka_unit_test(another_host),
		cmocka_unit_test(in_turn),     cmocka_unit_test(twice_there),
		cmocka_unit_test(by_cost),     cmocka_unit_test(too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
