/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the summaries of ranks after writing, and their verification. All ranks refuse an output
 * that differs from the input, with a message that says how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "phases/finish.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { RANKS = 4, KEY = 3 };

typedef struct part {
	uint64_t in, out, sum_in, sum_out;
	const char *first, *last;
	uint64_t dropped, sum_dropped;
} part;

/* Ten records in, ten out; one rank reads nothing and one writes nothing. */
static const part good[RANKS] = { { 4, 3, 100, 1, "aaa", "bbb", 0, 0 },
				  { 0, 5, 0, 300, "bbb", "bbc", 0, 0 },
				  { 5, 0, 200, 0, "zzz", "aaa", 0, 0 },
				  { 1, 2, 1, 0, "bbc", "ccc", 0, 0 } };

typedef struct trial {
	const part *part;
	bool unique;
	uint64_t top;
	status rc[RANKS];
	char said[RANKS][ERR_TEXT_BYTES];
	bool kept; /* rank 0 keeps the values for the manifest */
} trial;

static bool are_kept(const verified *v, const layout *lay, const part *p)
{
	bool same = v->sum.lo == 301 && v->sum.hi == 0;
	for (int i = 0; i < RANKS; i++) {
		const unsigned char *first;
		const part_summary c = part_summary_at(v->part_summaries, i, lay, &first);
		same = same && c.out == p[i].out && c.sum_out.lo == p[i].sum_out &&
		       (!c.out || (memcmp(first, p[i].first, KEY) == 0 &&
				   memcmp(first + KEY, p[i].last, KEY) == 0));
	}
	return same;
}

static status verify(comm *c, void *trial_)
{
	trial *t = trial_;
	const part *p = &t->part[c->rank];
	const settings o = { .lay = LAYOUT_BYTES(10, 0, KEY), .unique = t->unique, .top = t->top };
	unsigned char keys[2 * KEY];
	memcpy(keys, p->out ? p->first : "???", KEY);
	memcpy(keys + KEY, p->out ? p->last : "???", KEY);
	job j = { .env = { .c = c, .o = &o, .stats = &j.mine },
		  .mine.in = p->in,
		  .shares.records = 10,
		  .part = {
			  .seen = { .records = p->out, .first_key = keys, .last_key = keys + KEY },
			  .dropped.records = p->dropped } };
	j.mine.sum_in.lo = p->sum_in;
	j.part.seen.sum.lo = p->sum_out;
	j.part.dropped.sum.lo = p->sum_dropped;
	t->rc[c->rank] = phase_verify(&j);
	memcpy(t->said[c->rank], j.env.e.text, ERR_TEXT_BYTES);
	if (c->rank == 0)
		t->kept = are_kept(&j.verified, &o.lay, t->part);
	verified_free(&j.env.m, &j.verified);
	return j.env.m.now_bytes == 0 ? ST_OK : ST_INTERNAL;
}

static trial run(trial t)
{
	err e = { ST_OK, "" };
	assert_int_equal(comm_local_run(RANKS, verify, &t, &e), ST_OK);
	return t;
}

static trial of(const part *p)
{
	return run((trial){ .part = p });
}

static void correct_sums_are_kept(void **state)
{
	(void)state;
	const trial t = of(good);
	for (int i = 0; i < RANKS; i++)
		assert_int_equal(t.rc[i], ST_OK);
	assert_true(t.kept);
}

static void all_ranks_refuse_wrong_sums(void **state)
{
	static const struct {
		int rank;
		part is;
		const char *why;
	} wrong[] = {
		{ 0,
		  { 3, 3, 100, 1, "aaa", "bbb", 0, 0 },
		  "10 records were planned, 9 read and 10 written" },
		{ 3,
		  { 2, 2, 1, 0, "bbc", "ccc", 0, 0 },
		  "10 records were planned, 11 read and 10 written" },
		{ 1,
		  { 0, 4, 0, 300, "bbb", "bbc", 0, 0 },
		  "10 records were planned, 10 read and 9 written" },
		{ 2,
		  { 5, 1, 200, 0, "bbc", "bbc", 0, 0 },
		  "10 records were planned, 10 read and 11 written" },
		{ 1,
		  { 0, 5, 0, 299, "bbb", "bbc", 0, 0 },
		  "the output's checksum 0000000000000000000000000000012c is not the input's, "
		  "0000000000000000000000000000012d" },
		{ 1,
		  { 0, 5, 0, 300, "bba", "bbc", 0, 0 },
		  "rank 1's first key is smaller than the last key before it" },
		{ 3,
		  { 1, 2, 1, 0, "bbb", "ccc", 0, 0 },
		  "rank 3's first key is smaller than the last key before it" },
	};
	(void)state;
	for (size_t k = 0; k < LEN(wrong); k++) {
		part p[RANKS];
		memcpy(p, good, sizeof p);
		p[wrong[k].rank] = wrong[k].is;
		const trial t = of(p);
		for (int i = 0; i < RANKS; i++)
			assert_int_equal(t.rc[i], ST_INVALID);
		assert_string_equal(t.said[0], wrong[k].why);
	}
}

/* The sum of the counts of two ranks equals the plan only modulo 2^64. */
static void counts_do_not_wrap(void **state)
{
	const uint64_t half = UINT64_C(1) << 63;
	(void)state;
	for (int written = 0; written < 2; written++) {
		part p[RANKS];
		memcpy(p, good, sizeof p);
		*(written ? &p[0].out : &p[0].in) += half;
		*(written ? &p[1].out : &p[1].in) += half;
		const trial t = of(p);
		for (int i = 0; i < RANKS; i++)
			assert_int_equal(t.rc[i], ST_INVALID);
		assert_string_equal(t.said[0],
				    "ranks 0 to 1 report more records than are possible");
	}
}

/* Ten records in, six out and four dropped, as their checksums show. */
static void dropped_records_count(void **state)
{
	static const part fit[RANKS] = { { 4, 2, 100, 1, "aaa", "bbb", 1, 9 },
					 { 0, 2, 0, 200, "bbc", "bbd", 3, 90 },
					 { 5, 0, 200, 0, "", "", 0, 0 },
					 { 1, 2, 1, 1, "bbe", "ccc", 0, 0 } };
	static const struct {
		part first; /* of rank 0 */
		const char *why;
	} wrong[] = {
		{ { 4, 2, 100, 1, "aaa", "bbb", 0, 9 },
		  "10 records were planned, 10 read, 6 written and 3 dropped" },
		{ { 4, 2, 100, 1, "aaa", "bbb", 1, 8 },
		  "the output's checksum (with the dropped records) "
		  "0000000000000000000000000000012c is not the input's, "
		  "0000000000000000000000000000012d" },
		{ { 4, 2, 100, 1, "aaa", "bbc", 1, 9 },
		  "rank 1's first key is the same as the last key before it" },
	};
	(void)state;
	assert_int_equal(run((trial){ .part = fit, .unique = true }).rc[0], ST_OK);
	assert_int_equal(run((trial){ .part = fit, .top = 6 }).rc[0], ST_OK);
	assert_string_equal(run((trial){ .part = fit, .top = 7 }).said[0],
			    "10 records were planned, 10 read, 6 written and 4 dropped");
	assert_string_equal(of(fit).said[0], "10 records were planned, 10 read and 6 written");
	for (size_t k = 0; k < LEN(wrong); k++) {
		part p[RANKS];
		memcpy(p, fit, sizeof p);
		p[0] = wrong[k].first;
		const trial t = run((trial){ .part = p, .unique = true });
		for (int i = 0; i < RANKS; i++)
			assert_int_equal(t.rc[i], ST_INVALID);
		assert_string_equal(t.said[0], wrong[k].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(correct_sums_are_kept),
		cmocka_unit_test(all_ranks_refuse_wrong_sums),
		cmocka_unit_test(counts_do_not_wrap),
		cmocka_unit_test(dropped_records_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
