/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every method for the CRC32 of records, of generator and validator, against the definition, bit by
 * bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "crc.h"
#include "tool.h"

typedef uint64_t sum_fn(const unsigned char *, size_t);

enum { RECS = 300 };

static uint32_t by_definition(const unsigned char *p, size_t n)
{
	uint32_t v = 0xFFFFFFFF;
	for (size_t i = 0; i < 8 * n; i++) {
		uint32_t bit = (v ^ p[i / 8] >> i % 8) & 1;
		v = v >> 1 ^ (bit ? 0xEDB88320 : 0);
	}
	return ~v;
}

static void check(const unsigned char *p, size_t recs)
{
	sum_fn *methods[] = { crc_sum, crc_sum_library, crc_has_clmul() ? crc_sum_clmul : crc_sum,
			      crc_has_clmul256() ? crc_sum_clmul256 : crc_sum };
	uint64_t sum = 0;
	for (size_t i = 0; i < recs; i++)
		sum += by_definition(p + i * RECORD_BYTES, RECORD_BYTES);
	for (size_t w = 0; w < sizeof methods / sizeof methods[0]; w++)
		assert_true(methods[w](p, recs) == sum);
}

static void known_value(void **state)
{
	(void)state;
	assert_int_equal(by_definition((const unsigned char *)"123456789", 9), 0xCBF43926);
}

/* The CRC is linear. If it is right for each single bit and for none, it is right for every record.
 */
static void each_single_bit(void **state)
{
	unsigned char p[RECORD_BYTES] = { 0 };
	(void)state;
	check(p, 1);
	for (int b = 0; b < 8 * RECORD_BYTES; b++) {
		p[b / 8] = (unsigned char)(1 << b % 8);
		check(p, 1);
		p[b / 8] = 0;
	}
	memset(p, 0xFF, sizeof p);
	check(p, 1);
}

static void many_records_at_any_address(void **state)
{
	static unsigned char p[RECS * RECORD_BYTES + 16];
	uint64_t v = 88172645463325252;
	(void)state;
	for (size_t i = 0; i < sizeof p; i++) {
		v ^= v << 13;
		v ^= v >> 7;
		v ^= v << 17;
		p[i] = (unsigned char)v;
	}
	for (size_t at = 0; at < 16; at++)
		check(p + at, RECS);
	for (size_t recs = 0; recs < 12; recs++)
		check(p, recs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_value),
		cmocka_unit_test(each_single_bit),
		cmocka_unit_test(many_records_at_any_address),
	};
	crc_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
