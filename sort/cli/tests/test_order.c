/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of keys in --check is compared with an oracle that shares no code with it, for random
 * keys. And the check of consecutive records finds the first disorder. */
#include "cli/check_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "kernel/tests/key_layout.h"

enum { KEYS = 300, RECORDS = 24, ROW = 40 };

static int sign(int c)
{
	return (c > 0) - (c < 0);
}

static void every_pair_as_the_oracle(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= KEYS; seed++) {
		uint64_t s = seed;
		const oracle o = oracle_draw(&s);
		const layout l = oracle_layout(&o, &s);
		unsigned char *recs = malloc((size_t)RECORDS * o.record_bytes);
		assert_non_null(recs);
		for (unsigned i = 0; i < RECORDS; i++)
			oracle_record(&o, &s, i % 2, recs + i * o.record_bytes);
		for (unsigned i = 0; i < RECORDS * RECORDS; i++) {
			const unsigned char *a = recs + i / RECORDS * o.record_bytes;
			const unsigned char *b = recs + i % RECORDS * o.record_bytes;
			if (sign(order_compare(&l, a, b)) != oracle_compare(&o, a, b))
				fail_msg("seed %ju: records %u and %u", (uintmax_t)seed,
					 i / RECORDS, i % RECORDS);
		}
		free(recs);
	}
}

/* Check rows of each length, with a step down at each place, and equal keys before it. */
static void the_first_step_down_is_found(void **state)
{
	(void)state;
	const layout l = LAYOUT_BYTES(2, 1, 1);
	for (size_t n = 0; n <= ROW; n++)
		for (size_t at = 1; at <= n; at++) {
			unsigned char recs[2 * ROW] = { 0 };
			for (size_t i = 0; i < n; i++)
				recs[2 * i + 1] = (unsigned char)(i < at ? 100 + i / 2 : i);
			const order_seen seen = order_look(&l, recs, n, false);
			assert_int_equal(seen.wrong, at);
			assert_int_equal(seen.equal, at / 2);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair_as_the_oracle),
		cmocka_unit_test(the_first_step_down_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
