/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Summaries of all kinds of records against a plain count, joined in any grouping, and encoded and
 * decoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "crc.h"
#include "val.h"

enum { MAX = 40 };

static unsigned char recs[MAX * RECORD_BYTES];
static uint32_t seed = 1;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Make few different keys, so that ties and unordered records are common. Keys differ in any byte.
 */
static void fill(size_t n, uint32_t keys, bool sorted)
{
	uint32_t k = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char *p = recs + i * RECORD_BYTES;
		k = sorted ? k + rnd(2) : rnd(keys);
		memset(p, 'x', RECORD_BYTES);
		p[sorted ? KEY_BYTES - 1 : rnd(KEY_BYTES)] = (unsigned char)(k * 37);
		p[KEY_BYTES + rnd(RECORD_BYTES - KEY_BYTES)] = (unsigned char)rnd(256);
	}
}

static int plain_order(const unsigned char *a, const unsigned char *b, bool fold)
{
	for (int i = 0; i < KEY_BYTES; i++) {
		int x = a[i], y = b[i];
		if (fold && x >= 'A' && x <= 'Z')
			x += 'a' - 'A';
		if (fold && y >= 'A' && y <= 'Z')
			y += 'a' - 'A';
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

static val_summary plain(size_t n, bool fold)
{
	val_summary s = { .recs = n };
	for (size_t i = 0; i < n; i++) {
		unsigned char *p = recs + i * RECORD_BYTES;
		int order = i ? plain_order(p - RECORD_BYTES, p, fold) : -1;
		s.dups += order == 0;
		s.unordered += order > 0;
		if (order > 0 && s.first_unordered == 0)
			s.first_unordered = i;
		s.sum += crc_sum_library(p, 1);
		memcpy(i ? s.last : s.first, p, RECORD_BYTES);
		memcpy(s.last, p, RECORD_BYTES);
	}
	return s;
}

static void same(const val_summary *a, const val_summary *b)
{
	unsigned char x[VAL_SUMMARY_BYTES], y[VAL_SUMMARY_BYTES];
	val_encode(a, x);
	val_encode(b, y);
	assert_memory_equal(x, y, sizeof x);
}

/* Cut the records from..to at random, recursively, and join the summaries. */
static val_summary grouped(size_t from, size_t to, bool fold)
{
	val_summary a, b;
	size_t cut;
	if (to - from < 2 || rnd(6) == 0) {
		val_summarise(&a, recs + from * RECORD_BYTES, to - from, fold);
		return a;
	}
	cut = from + rnd((uint32_t)(to - from + 1)); /* a part may be empty */
	a = grouped(from, cut, fold);
	b = grouped(cut, to, fold);
	val_join(&a, &b, fold);
	return a;
}

static void any_records_any_grouping(void **state)
{
	(void)state;
	for (int round = 0; round < 3000; round++) {
		size_t n = 1 + rnd(MAX);
		bool fold = rnd(2), sorted = rnd(3) == 0;
		val_summary want, got;
		fill(n, 1 + rnd(12), sorted);
		want = plain(n, fold);
		got = grouped(0, n, fold);
		same(&got, &want);
		val_summarise(&got, recs, n, fold);
		same(&got, &want);
	}
}

static void empty_parts_change_nothing(void **state)
{
	val_summary none, a, b;
	(void)state;
	fill(9, 4, false);
	val_summarise(&none, recs, 0, false);
	val_summarise(&a, recs, 9, false);
	b = a;
	val_join(&b, &none, false);
	same(&a, &b);
	b = none;
	val_join(&b, &a, false);
	same(&a, &b);
	val_join(&none, &none, false);
	assert_true(none.recs == 0 && none.unordered == 0 && none.dups == 0);
}

static void border_cases(void **state)
{
	val_summary a, b;
	(void)state;
	memset(recs, 'm', sizeof recs);
	val_summarise(&a, recs, 3, false);
	assert_true(a.dups == 2 && a.unordered == 0 && a.first_unordered == 0);
	b = a;
	val_join(&a, &b, false); /* equal keys on both sides of the border are duplicates */
	assert_true(a.dups == 5 && a.recs == 6);
	b.first[KEY_BYTES - 1]--;
	b.first_unordered = 2, b.unordered = 1;
	val_join(&a, &b, false); /* the border comes before the records of the part */
	assert_true(a.first_unordered == 6 && a.unordered == 2);
	b.first[0] = 'z';
	val_join(&a, &b, false);
	assert_true(a.first_unordered == 6 && a.unordered == 3);
}

static void only_the_key_counts(void **state)
{
	unsigned char a[RECORD_BYTES], b[RECORD_BYTES];
	(void)state;
	memset(a, 'A', sizeof a);
	memset(b, 'A', sizeof b);
	memset(a + KEY_BYTES, 'z', 5);
	assert_int_equal(val_compare(a, b, false), 0);
	assert_int_equal(val_compare(a, b, true), 0);
	for (int i = 0; i < KEY_BYTES; i++) {
		b[i] = 'a';
		assert_true(val_compare(a, b, false) < 0 && val_compare(a, b, true) == 0);
		b[i] = 0x80; /* unsigned, and not a letter */
		assert_true(val_compare(a, b, false) < 0 && val_compare(a, b, true) < 0);
		assert_true(val_compare(b, a, false) > 0 && val_compare(b, a, true) > 0);
		a[i] = b[i] = 0; /* a zero byte does not end a key */
	}
	a[0] = '[', b[0] = 'Z'; /* between the two cases in ASCII */
	assert_true(val_compare(a, b, false) > 0 && val_compare(a, b, true) < 0);
}

/* Compare every pair of bytes at every place of the key. The other bytes would show a carry. */
static void every_pair_of_bytes(void **state)
{
	const unsigned char around[] = { 0x00, 0x41, 0x7F, 0xFF };
	unsigned char a[RECORD_BYTES], b[RECORD_BYTES];
	(void)state;
	for (unsigned v = 0; v < 256 * 256 * sizeof around; v++) {
		int at = (int)(v % 11 % KEY_BYTES);
		memset(a, around[v >> 16], sizeof a);
		memcpy(b, a, sizeof b);
		a[at] = (unsigned char)v;
		b[at] = (unsigned char)(v >> 8);
		assert_int_equal(val_compare(a, b, true), plain_order(a, b, true));
		assert_int_equal(val_compare(a, b, false), plain_order(a, b, false));
	}
}

/* Every summary of val_summarise is plausible. A summary with one impossible number is not. */
static void plausible(void **state)
{
	static const struct {
		uint64_t first_unordered, unordered, recs, dups, sum;
		bool good;
	} row[] = {
		{ 0, 0, 0, 0, 0, true },           { 0, 0, 0, 0, 1, false },
		{ 0, 0, 0, 1, 0, false },          { 0, 1, 0, 0, 0, false },
		{ 1, 0, 0, 0, 0, false },          { 0, 0, 1, 0, UINT32_MAX, true },
		{ 0, 0, 1, 1, 0, false },          { 0, 0, 1, 0, UINT64_C(1) << 32, false },
		{ 0, 0, 5, 4, 9, true },           { 0, 0, 5, 5, 9, false },
		{ 1, 4, 5, 0, 9, true },           { 1, 5, 5, 0, 9, false },
		{ 4, 1, 5, 3, 9, true },           { 4, 1, 5, 4, 9, false },
		{ 4, 2, 5, 0, 9, false },          { 5, 1, 5, 0, 9, false },
		{ 0, 1, 5, 0, 9, false },          { 2, 0, 5, 0, 9, false },
		{ 3, 2, 5, 2, 9, true },           { 3, 2, 5, 3, 9, false },
		{ 1, 1, 5, UINT64_MAX, 9, false }, { 1, UINT64_MAX, 5, UINT64_MAX, 9, false },
	};
	val_summary s;
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		s = (val_summary){ .first_unordered = row[i].first_unordered,
				   .unordered = row[i].unordered,
				   .recs = row[i].recs,
				   .dups = row[i].dups,
				   .sum = row[i].sum };
		assert_int_equal(val_plausible(&s), row[i].good);
	}
	s = (val_summary){ .recs = ~(u128)0, .sum = ~(u128)0 };
	assert_true(val_plausible(&s)); /* the checksum has overflowed */
	for (int round = 0; round < 1000; round++) {
		size_t n = 1 + rnd(MAX);
		fill(n, 1 + rnd(5), rnd(3) == 0);
		s = grouped(0, n, false);
		assert_true(val_plausible(&s));
	}
}

static void bytes_and_back(void **state)
{
	unsigned char in[VAL_SUMMARY_BYTES], out[VAL_SUMMARY_BYTES];
	val_summary s;
	(void)state;
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (unsigned char)(i * 7 + 1);
	val_decode(&s, in);
	val_encode(&s, out);
	assert_memory_equal(in, out, sizeof in);
	s.recs = (u128)1 << 64 | 2; /* high word first, each little-endian */
	val_encode(&s, out);
	assert_int_equal(out[32], 1);
	assert_int_equal(out[40], 2);
	assert_int_equal(out[39] + out[47], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_records_any_grouping),
		cmocka_unit_test(empty_parts_change_nothing),
		cmocka_unit_test(border_cases),
		cmocka_unit_test(only_the_key_counts),
		cmocka_unit_test(every_pair_of_bytes),
		cmocka_unit_test(plausible),
		cmocka_unit_test(bytes_and_back),
	};
	crc_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
