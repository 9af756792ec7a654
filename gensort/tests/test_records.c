/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pure parts of the generator against tables of known values: generator, skew index, skew
 * prefixes. Also, a record depends only on its number, in any division of the records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gen.h"
#include "number.h"

static FILE *table(const char *name)
{
	char path[4096];
	const char *root = getenv("ROOT");
	FILE *f;
	snprintf(path, sizeof path, "%s/gensort/tests/%s", root ? root : ".", name);
	f = fopen(path, "r");
	assert_non_null(f);
	return f;
}

/* Read the next line that is not a comment. Return false at the end. */
static bool next_line(FILE *f, char *line, int size)
{
	while (fgets(line, size, f))
		if (line[0] != '#')
			return true;
	return false;
}

static bool whole(const char *s, u128 most, u128 *v)
{
	return number_digits(&s, most, v) && !*s;
}

static u128 decimal(const char *s)
{
	u128 v;
	assert_true(whole(s, ~(u128)0, &v));
	return v;
}

static const char *hex(const unsigned char *p, size_t n)
{
	static char text[2 * RECORD_BYTES + 1];
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	return text;
}

static const char *hex128(u128 v)
{
	static char text[33];
	snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)(v >> 64),
		 (unsigned long long)v);
	return text;
}

static void lcg_values(void **state)
{
	FILE *f = table("lcg.tsv");
	char line[512], n[64], x[64], x1[64];
	int rows = 0;
	(void)state;
	for (; next_line(f, line, sizeof line); rows++) {
		assert_int_equal(sscanf(line, "%63s %63s %63s", n, x, x1), 3);
		assert_string_equal(hex128(gen_lcg_at(decimal(n))), x);
		assert_string_equal(hex128(gen_lcg_at(decimal(n) + 1)), x1);
	}
	fclose(f);
	assert_int_equal(rows, 18);
}

static void lcg_walk_equals_jump(void **state)
{
	const u128 starts[] = { 0, 1, UINT64_MAX - 5, ~(u128)0 - 7, (u128)1 << 127 };
	uint64_t hi[40], lo[40];
	gen_walk w;
	(void)state;
	for (size_t s = 0; s < sizeof starts / sizeof starts[0]; s++) {
		gen_walk_start(&w, starts[s]);
		gen_walk_next(&w, 3, hi, lo);
		gen_walk_next(&w, 7, hi + 12, lo + 12);
		for (size_t i = 0; i < 40; i++) {
			u128 v = gen_lcg_at(starts[s] + i + 1);
			assert_true(hi[i] == (uint64_t)(v >> 64) && lo[i] == (uint64_t)v);
		}
	}
}

static void skew_indices(void **state)
{
	FILE *f = table("skew_index.tsv");
	char line[512], n[64];
	unsigned index;
	int rows = 0;
	(void)state;
	for (; next_line(f, line, sizeof line); rows++) {
		assert_int_equal(sscanf(line, "%63s %u", n, &index), 2);
		assert_int_equal(gen_skew_index(decimal(n)), index);
	}
	fclose(f);
	assert_int_equal(rows, 29);
}

static void skew_spans(void **state)
{
	const u128 one = 1;
	(void)state;
	/* the last record before, and the first after, each change of the index */
	for (int bit = 0; bit < 128; bit++) {
		u128 n = one << bit;
		bool changes = gen_skew_index(n - 1) != gen_skew_index(n);
		assert_int_equal(gen_skew_span(n - 1, 9), changes ? 1 : 9 < n ? 9 : (size_t)n);
		if (bit > 3)
			assert_int_equal(gen_skew_span(n - 4, 9), changes ? 4 : 9);
		assert_true(gen_skew_span(n, 1) == 1);
	}
	assert_int_equal(gen_skew_span(~(u128)0, 9), 1); /* and where numbers wrap to 0 */
	assert_int_equal(gen_skew_span(~(u128)0 - 8, 100), 9);
}

static void skew_prefixes(void **state)
{
	FILE *f = table("skew_prefix.tsv");
	char line[512], binary[64], ascii[64];
	unsigned char rec[RECORD_BYTES];
	unsigned index;
	int rows = 0;
	(void)state;
	for (; next_line(f, line, sizeof line); rows++) {
		assert_int_equal(sscanf(line, "%u %63s %63s", &index, binary, ascii), 3);
		gen_records((gen_kind){ false, false }, index, 1, rec);
		assert_string_equal(hex(rec, GEN_SKEW_BYTES), binary);
		gen_records((gen_kind){ true, false }, index, 1, rec);
		assert_string_equal(hex(rec, GEN_SKEW_BYTES), ascii);
	}
	fclose(f);
	assert_int_equal(rows, 129);
}

/* Records one by one, as the definition says it, against a run made at once. */
static void cut_anywhere(gen_kind kind, u128 first, size_t recs)
{
	unsigned char *whole = malloc(recs * RECORD_BYTES), *parts = malloc(recs * RECORD_BYTES);
	assert_non_null(whole);
	assert_non_null(parts);
	gen_records(kind, first, recs, whole);
	for (size_t i = 0, n; i < recs; i += n) {
		n = i % 7 + 1 < recs - i ? i % 7 + 1 : recs - i;
		gen_records(kind, first + i, n, parts + i * RECORD_BYTES);
	}
	assert_memory_equal(whole, parts, recs * RECORD_BYTES);
	free(whole);
	free(parts);
}

static void records_depend_only_on_their_number(void **state)
{
	const u128 one = 1;
	const u128 starts[] = {
		0, 250, (one << 60) - 300, (one << 64) - 300, (one << 124) - 300, -(u128)300
	};
	const size_t sizes[] = { 1, 2, GEN_TILE - 1, GEN_TILE, GEN_TILE + 1, 3 * GEN_TILE + 5 };
	(void)state;
	for (unsigned kind = 0; kind < 4; kind++)
		for (size_t s = 0; s < sizeof starts / sizeof starts[0]; s++)
			for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
				cut_anywhere((gen_kind){ kind & 1, kind >> 1 }, starts[s],
					     sizes[n]);
}

static void skewed_keys_follow_the_definition(void **state)
{
	const u128 first = (u128)1 << 40;
	unsigned char plain[RECORD_BYTES], skewed[RECORD_BYTES], lender[RECORD_BYTES];
	unsigned seen[64] = { 0 };
	(void)state;
	gen_records((gen_kind){ false, false }, 41, 1, lender);
	for (u128 n = first; n < first + 2000; n++) {
		unsigned bits = (unsigned)(gen_lcg_at(n + 1) >> 32) & 63;
		bits = bits > 48 ? 0 : bits;
		seen[bits]++;
		gen_records((gen_kind){ false, false }, n, 1, plain);
		gen_records((gen_kind){ false, true }, n, 1, skewed);
		for (unsigned b = 0; b < 8 * RECORD_BYTES; b++) {
			const unsigned char *from = b < bits ? lender : plain;
			assert_int_equal(skewed[b / 8] >> (7 - b % 8) & 1,
					 from[b / 8] >> (7 - b % 8) & 1);
		}
	}
	for (unsigned bits = 0; bits <= 48; bits++)
		assert_true(seen[bits] > 0);
}

static void numbers(void **state)
{
	const char *good[] = { "0", "00", "7", "255", "00000000000000000000000000255" };
	const char *bad[] = { "", "256", "1000", "-1", "+1", " 1", "1 ", "0x1", "1e2", "1k", "a" };
	u128 v;
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_true(whole(good[i], 255, &v));
	assert_true(v == 255);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_false(whole(bad[i], 255, &v));
	assert_true(whole("340282366920938463463374607431768211455", ~(u128)0, &v));
	assert_true(v == ~(u128)0);
	assert_false(whole("340282366920938463463374607431768211456", ~(u128)0, &v));
	assert_false(whole("3402823669209384634633746074317682114550", ~(u128)0, &v));
	assert_true(whole("5", 5, &v));
	assert_false(whole("6", 5, &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lcg_values),
		cmocka_unit_test(lcg_walk_equals_jump),
		cmocka_unit_test(skew_indices),
		cmocka_unit_test(skew_spans),
		cmocka_unit_test(skew_prefixes),
		cmocka_unit_test(records_depend_only_on_their_number),
		cmocka_unit_test(skewed_keys_follow_the_definition),
		cmocka_unit_test(numbers),
	};
	gen_ascii_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
