/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The header of a block detects any flipped bit and any other block, and the message names block
 * and ranks. */
#include "exchange/block.h"
#include "base/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { RECORDS = 7, RECORD_BYTES = 100, BYTES = sizeof(block_header) + RECORDS * RECORD_BYTES };

typedef union message {
	block_header h;
	unsigned char byte[BYTES];
} message;

static const block_header fields = {
	.from = 2, .to = 5, .record_bytes = RECORD_BYTES, .block = 12, .records = RECORDS
};

static const block_rule whole = { 0 };

static void make_message(message *m, uint64_t records)
{
	for (size_t i = 0; i < BYTES; i++)
		m->byte[i] = (unsigned char)(i * 37);
	m->h = fields;
	m->h.records = records;
	block_stamp(&m->h);
}

static void test_whole(void **state)
{
	(void)state;
	for (uint64_t n = 0; n <= RECORDS; n++) {
		message m;
		block_header wanted = fields;
		make_message(&m, n);
		wanted.records = n;
		err e = { ST_OK, "" };
		assert_int_equal(block_check(&m.h, &wanted, whole, &e), ST_OK);
		assert_int_equal(e.code, ST_OK);
	}
}

static void test_any_bit(void **state)
{
	(void)state;
	message m;
	make_message(&m, RECORDS);
	for (size_t bit = 0; bit < 8 * (size_t)BYTES; bit++) {
		err e = { ST_OK, "" };
		m.byte[bit / 8] ^= (unsigned char)(1 << bit % 8);
		assert_int_equal(block_check(&m.h, &fields, whole, &e), ST_PEER);
		assert_non_null(strstr(e.text, "rank 2"));
		assert_non_null(strstr(e.text, "block 12"));
		m.byte[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
}

/* A block of folded records may be shorter than its room, but not longer. */
static void test_shorter(void **state)
{
	const block_rule shorter = { .shorter = true };
	(void)state;
	for (uint64_t n = 0; n <= RECORDS; n++) {
		err e = { ST_OK, "" };
		block_header wanted = fields;
		message m;
		make_message(&m, n);
		assert_int_equal(block_check(&m.h, &wanted, shorter, &e), ST_OK);
		wanted.records = n - (n > 0);
		assert_int_equal(block_check(&m.h, &wanted, shorter, &e), n > 0 ? ST_PEER : ST_OK);
	}
}

/* Refuse a block that is undamaged, but not the expected one. */
static void test_another(void **state)
{
	(void)state;
	block_header other[] = { fields, fields, fields, fields, fields };
	message m;
	make_message(&m, RECORDS);
	other[0].from++;
	other[1].to++;
	other[2].record_bytes++;
	other[3].block++;
	other[4].records--;
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		err e = { ST_OK, "" };
		assert_int_equal(block_check(&m.h, &other[i], whole, &e), ST_PEER);
	}
}

/* Compute the same sum by each kind of vectors, because ranks may have different processors. */
static void test_hashes(void **state)
{
	static unsigned char bytes[10000];
	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i * i >> 5 ^ i * 61);
	for (size_t n = 0; n < 9000; n += n < 600 ? 1 : 97) {
		const unsigned char *at = bytes + n % 67;
		const uint64_t wanted = XXH3_64bits(at, n);
		assert_true(hash_long(at, n) == wanted);
#if HASH_WIDE
		if (CPU_HAS_AVX2())
			assert_true(hash_avx2(at, n) == wanted);
		if (CPU_HAS_AVX512())
			assert_true(hash_avx512(at, n) == wanted);
#endif
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),   cmocka_unit_test(test_any_bit),
		cmocka_unit_test(test_shorter), cmocka_unit_test(test_another),
		cmocka_unit_test(test_hashes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
