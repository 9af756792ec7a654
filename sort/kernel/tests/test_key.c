/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of fields: their texts, their one form, and that all ways to compare records by them agree
 * with an oracle, also in sorts in memory. HETSORT_LONG=1: more keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/bucket_sort.h"
#include "kernel/inspect.h"
#include "kernel/radix.h"
#include "key_layout.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

static int sign(int c)
{
	return (c > 0) - (c < 0);
}

/* ------------------------------------------------------------------------------------- texts */

static void same_key(const char *given, uint32_t record, const char *is, bool fields)
{
	char text[KEY_TEXT_BYTES];
	layout l, again;
	err e = { ST_OK, "" };
	if (layout_parse(&l, record, given, &e) != ST_OK)
		fail_msg("%s: %s", given, e.text);
	assert_string_equal(layout_key_text(&l, text), is);
	assert_int_equal(l.fields > 0, fields);
	assert_int_equal(layout_parse(&again, record, text, NULL), ST_OK);
	assert_memory_equal(&l, &again, sizeof l);
	assert_true(layout_restore(&again, record, l.key_off, l.key_bytes,
				   layout_fields_text(&l, text)));
	assert_true(layout_equal(&l, &again));
}

static void test_texts(void **state)
{
	(void)state;
	same_key("0,10", 100, "0,10", false);
	same_key("5,65531", 65536, "5,65531", false);
	same_key("0,10,bytes", 100, "0,10", false);
	same_key("0,4 4,4 8,u8", 100, "0,9", false);
	same_key("2,8,u64be", 100, "2,8", false);
	same_key("2,u64be 10,u16be", 100, "2,10", false);
	same_key("2,u64le,desc", 100, "2,8,u64le,desc", true);
	same_key("0,4,desc 4,4,desc", 8, "0,8,desc", true);
	same_key("0,4,desc 4,4", 8, "0,4,desc 4,4", true);
	same_key("4,4 0,4", 8, "4,4 0,4", true);
	same_key("0,i8 0,1", 8, "0,1,i8 0,1", true);
	same_key("0,f32be 4,f64le,desc", 12, "0,4,f32be 4,8,f64le,desc", true);
	same_key("0,0016,bytes", 16, "0,16", false);
	same_key("0,f64le,nan-last", 8, "0,8,f64le,nan-last", true);
	same_key("1,f16be,desc,nan-last", 4, "1,2,f16be,nan-last,desc", true);
	same_key("0,i32le,nan-last", 4, "0,4,i32le,nan-last", true);
	same_key("0,i64le,nan-last,desc", 8, "0,8,i64le,desc", true);
	same_key("0,c64be", 8, "0,4,f32be 4,4,f32be", true);
	same_key("1,c128le,nan-last 0,u8", 17, "1,16,c128le,nan-last 0,1", true);
#if __BYTE_ORDER == __LITTLE_ENDIAN
	same_key("0,i64", 8, "0,8,i64le", true);
	same_key("0,8,u64", 8, "0,8,u64le", true);
#else
	same_key("0,i64", 8, "0,8,i64be", true);
	same_key("0,8,u64", 8, "0,8", false);
#endif
}

static void refused(const char *key, uint32_t record, const char *why)
{
	layout l;
	err e = { ST_OK, "" };
	assert_int_equal(layout_parse(&l, record, key, &e), ST_REFUSED);
	if (!strstr(e.text, why))
		fail_msg("'%s': '%s' does not say '%s'", key, e.text, why);
}

static void test_refused(void **state)
{
	static const char *const malformed[] = {
		"",
		" ",
		"0",
		"0,",
		",8",
		"0,8,",
		"0,0",
		"-1,8",
		"0,-8",
		"0x1,8",
		"0, 8",
		"0,8 ",
		"0,8  8,8",
		"0,bytes",
		"0,desc",
		"0,8,desc,",
		"0,8,desc,u64",
		"0,8,asc",
		"0,8,u64ne",
		"0,8,bytesle",
		"0,8,u64,le",
		"0,8,8",
		"65536,1",
		"0,u128",
		"0,f24",
		"0,c32",
		"0,8,nan-last",
		"0,u64,nan-last",
		"0,f64,nan-last,nan-last",
		"0,f64,nan",
		"0,f64,desc,",
		"0,8,U64",
		"0,65537",
		"99999999,8",
		"0,u64,desc,desc",
	};
	(void)state;
	for (size_t i = 0; i < LEN(malformed); i++)
		refused(malformed[i], 65536, "invalid key");
	refused("0,3,u64", 100, "the length does not match the type");
	refused("0,8,f32", 100, "the length does not match the type");
	refused("0,8,utf8", 100, "a type is one of bytes, u8 to u64");
	refused("0,8,c128", 100, "the length does not match the type");
	refused("0,u32,nan-last", 100, "nan-last requires a type that has NaN or NaT");
	refused("85,c128", 100, "field 2 of the key, bytes 93 to 100, does not fit");
	refused("96,8", 100, "the key, bytes 96 to 103, does not fit a record of 100 bytes");
	refused("0,4 93,i64", 100,
		"field 2 of the key, bytes 93 to 100, does not fit a record of 100 bytes");
	refused("0,200 100,57", 300, "the key has 257 bytes");
	refused("0,257,desc", 300, "the key has 257 bytes");
	refused("0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1", 100,
		"at most 16 fields");
}

/* Check that the values in a file must fit together. */
static void test_restore(void **state)
{
	layout l;
	(void)state;
	assert_true(layout_restore(&l, 100, 90, 10, NULL));
	assert_false(layout_restore(&l, 100, 91, 10, NULL));
	assert_false(layout_restore(&l, 100, -1, 10, NULL));
	assert_false(layout_restore(&l, 0, 0, 0, NULL));
	assert_false(layout_restore(&l, 65537, 0, 1, NULL));
	assert_false(layout_restore(&l, 100, 0, INT64_C(1) << 32, NULL));
	assert_true(layout_restore(&l, 100, 4, 8, "4,u64le"));
	assert_false(layout_restore(&l, 100, 3, 8, "4,u64le"));
	assert_false(layout_restore(&l, 100, 4, 9, "4,u64le"));
	assert_false(layout_restore(&l, 10, 4, 8, "4,u64le"));
}

/* Check that a key that is reversed twice is the same. */
static void test_reverse(void **state)
{
	char text[KEY_TEXT_BYTES];
	layout l = LAYOUT_BYTES(100, 3, 10);
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(layout_settle(&l, true, &e), ST_OK);
	assert_string_equal(layout_key_text(&l, text), "3,10,desc");
	assert_int_equal(layout_settle(&l, true, &e), ST_OK);
	assert_string_equal(layout_key_text(&l, text), "3,10");
	assert_int_equal(l.fields, 0);
	l.key_bytes = 0;
	assert_int_equal(layout_settle(&l, true, &e), ST_REFUSED);
	assert_string_equal(e.text, "the key has no bytes");
}

/* ------------------------------------------------------------------------------- comparisons */

static uint64_t window(const layout *l, uint32_t from, const unsigned char *rec)
{
	const uint32_t left = l->key_bytes - from;
	const key_window w =
		key_window_at(l, from, left < KEY_WINDOW_BYTES ? left : KEY_WINDOW_BYTES);
	return key_window_read(l, &w, rec);
}

/* Check that all ways to compare a and b give c. */
static void same_order(const layout *l, const unsigned char *a, const unsigned char *b, int c)
{
	unsigned char x[KEY_FIELDS_BYTES_MAX], y[KEY_FIELDS_BYTES_MAX];
	const records ra = { .base = a, .lay = *l }, rb = { .base = b, .lay = *l };
	const entry ea = entry_make(a, l, 0), eb = entry_make(b, l, 0);
	union {
		item it;
		unsigned char room[sizeof(item) + KEY_FIELDS_BYTES_MAX];
	} ia, ib;
	item_of(&ia.it, &ea, &ra);
	item_of(&ib.it, &eb, &rb);
	key_copy(l, x, a);
	key_copy(l, y, b);
	assert_int_equal(sign(key_compare(l, a, b)), c);
	assert_int_equal(sign(key_copies_compare(l, x, y)), c);
	assert_int_equal(sign(key_copy_compare(l, x, b)), c);
	assert_int_equal(sign(item_cmp(&ia.it, &ib.it, l)), c);
	assert_int_equal(sign(entry_item_key_cmp(&ea, &ib.it, &ra)), c);
	const uint32_t same = key_shared_bytes(l, a, b);
	assert_int_equal(same == l->key_bytes, c == 0);
	if (c)
		assert_int_equal(x[same] < y[same] ? -1 : 1, c);
	assert_int_equal(sign(key_part_compare(l, a, b, same / 2, l->key_bytes)), c);
	for (uint32_t from = 0; from < l->key_bytes && l->record_bytes >= KEY_WINDOW_BYTES;
	     from++) {
		const uint64_t u = window(l, from, a), v = window(l, from, b);
		const int part = memcmp(x + from, y + from,
					l->key_bytes - from < 8 ? l->key_bytes - from : 8);
		assert_int_equal((u > v) - (u < v), sign(part));
	}
}

enum { RECORDS = 12 };

/* Compare every pair of some records as the oracle does, which has a total order. None is above the
 * greatest key. */
static void one_key(uint64_t seed)
{
	uint64_t s = seed;
	const oracle o = oracle_draw(&s);
	const layout l = oracle_layout(&o, &s);
	unsigned char *recs = malloc((size_t)(RECORDS + 1) * o.record_bytes);
	assert_non_null(recs);
	unsigned char *greatest = recs + (size_t)RECORDS * o.record_bytes;
	key_greatest(&l, greatest);
	for (size_t i = 0; i < RECORDS; i++)
		oracle_record(&o, &s, i % 2, recs + i * o.record_bytes);
	for (size_t i = 0; i < RECORDS; i++) {
		const unsigned char *a = recs + i * o.record_bytes;
		for (size_t k = 0; k < RECORDS; k++) {
			const unsigned char *b = recs + k * o.record_bytes;
			same_order(&l, a, b, oracle_compare(&o, a, b));
		}
		if (o.fields == 1)
			assert_true(oracle_compare(&o, a, greatest) <= 0);
	}
	free(recs);
}

static void test_order(void **state)
{
	const uint64_t keys = getenv("HETSORT_LONG") ? 20000 : 1000;
	(void)state;
	for (uint64_t seed = 1; seed <= keys; seed++) {
		one_key(seed);
		if (seed == 1)
			print_message("# keys from the seeds 1 to %llu\n",
				      (unsigned long long)keys);
	}
}

/* Check a field of each type, order and direction, with all values at which code breaks. */
static void special_values(const char *kind, unsigned bytes, unsigned flags)
{
	enum { VALUES = 100, BIG = 1, DESC = 2, LAST = 4 };
	oracle o = { .record_bytes = 17,
		     .fields = 1,
		     .field = { { 1, bytes, *kind, flags & BIG, flags & DESC, flags & LAST } } };
	uint64_t s = 5;
	const layout l = oracle_layout(&o, &s);
	unsigned char recs[VALUES][17] = { { 0 } };
	for (size_t i = 0; i < VALUES; i++)
		oracle_special_field(&o.field[0], &s, recs[i]);
	for (size_t i = 0; i < VALUES; i++)
		for (size_t k = 0; k < VALUES; k++)
			same_order(&l, recs[i], recs[k], oracle_compare(&o, recs[i], recs[k]));
}

static void test_special_values(void **state)
{
	(void)state;
	for (unsigned flags = 0; flags < 8; flags++) {
		for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
			if (flags < 4)
				special_values("u", bytes, flags);
			special_values("i", bytes, flags);
			if (bytes > 1)
				special_values("f", bytes, flags);
		}
		special_values("c", 8, flags);
		special_values("c", 16, flags);
	}
}

/* Check the order of floats that the manual describes. */
static void test_float_order(void **state)
{
	static const uint64_t rising[] = {
		UINT64_C(0xffffffffffffffff),
		UINT64_C(0xfff8000000000000),
		UINT64_C(0xfff0000000000001),
		UINT64_C(0xfff0000000000000), /* -inf */
		UINT64_C(0xbff0000000000000),
		UINT64_C(0x8000000000000001),
		UINT64_C(0x8000000000000000),
		0,
		1, /* -0, +0, the least above */
		UINT64_C(0x3ff0000000000000),
		UINT64_C(0x7ff0000000000000),
		UINT64_C(0x7ff0000000000001),
		UINT64_C(0x7fffffffffffffff),
	};
	layout l;
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(layout_parse(&l, 8, "0,f64", &e), ST_OK);
	for (size_t i = 0; i + 1 < LEN(rising); i++)
		same_order(&l, (const unsigned char *)&rising[i],
			   (const unsigned char *)&rising[i + 1], -1);
}

/* ----------------------------------------------------------------------------------- sorting */

/* As shipped; so small that every way is taken; with few large buckets, split at most once. */
static const bucket_sort_sizes SIZED[] = {
	{ 16384, { 8000, 32768, 6 }, 8 << 20 },
	{ 16, { 100, 300, 6 }, 0 },
	{ 100, { 1000, 20, 1 }, 0 },
};

static void sorts(const oracle *o, const layout *l, const unsigned char *in, size_t n,
		  uint64_t seed)
{
	const records r = { .base = in, .lay = *l };
	const size_t bytes = o->record_bytes;
	unsigned char *want = oracle_answer(o, in, n), *room = malloc(n * bytes + 2);
	mem m = { 0 };
	err e = { ST_OK, "" };
	assert_true(want && room);
	for (size_t v = 0; v < 2 * LEN(SIZED); v++) {
		unsigned char *out = room + v % 2; /* aligned and not */
		const bucket_sort_task t = { &m, &r, n, out, 1 + (unsigned)seed % 3, &SIZED[v / 2],
					     &e };
		assert_int_equal(bucket_sort_sized(&t), ST_OK);
		if (memcmp(out, want, n * bytes) != 0)
			fail_msg("seed %llu, sizes %zu: another order", (unsigned long long)seed,
				 v / 2);
	}
	assert_int_equal(inspect_unordered(l, want, n), 0);
	free(want);
	free(room);
}

static void one_sort(uint64_t seed)
{
	uint64_t s = seed;
	oracle o = oracle_draw(&s);
	o.record_bytes = o.record_bytes % 150 + 1;
	for (unsigned i = 0; i < o.fields; i++)
		o.field[i] = oracle_draw_field(&s, o.record_bytes);
	const layout l = oracle_layout(&o, &s);
	const size_t n = 1 + oracle_below(&s, 4000);
	const unsigned narrow = oracle_below(&s, 3);
	unsigned char *in = malloc(n * o.record_bytes);
	assert_non_null(in);
	for (size_t i = 0; i < n; i++)
		oracle_record(&o, &s, oracle_below(&s, 2) < narrow, in + i * o.record_bytes);
	sorts(&o, &l, in, n, seed);
	free(in);
}

static void test_sorts(void **state)
{
	const uint64_t keys = getenv("HETSORT_LONG") ? 2000 : 60;
	(void)state;
	for (uint64_t seed = 1; seed <= keys; seed++)
		one_sort(seed);
}

/* Records that are one number: sorted as such, and written back. */
static void test_numbers_alone(void **state)
{
	enum { N = 3000 };
	static const char kinds[] = { 'u', 'i', 'f' };
	uint64_t s = 7, numbers[N];
	(void)state;
	for (unsigned v = 0; v < 8 * LEN(kinds); v++) {
		const char kind = kinds[v / 8];
		const oracle o = { .record_bytes = 8,
				   .fields = 1,
				   .field = {
					   { 0, 8, kind, v & 1, v & 2, kind != 'u' && v & 4 } } };
		const layout l = oracle_layout(&o, &s);
		for (size_t i = 0; i < N; i++)
			oracle_record(&o, &s, false, (unsigned char *)&numbers[i]);
		sorts(&o, &l, (const unsigned char *)numbers, N, v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),          cmocka_unit_test(test_refused),
		cmocka_unit_test(test_restore),        cmocka_unit_test(test_reverse),
		cmocka_unit_test(test_special_values), cmocka_unit_test(test_float_order),
		cmocka_unit_test(test_order),          cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_numbers_alone),
	};
	return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
