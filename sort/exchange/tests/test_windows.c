/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Windows fit in the given memory. They have at least two blocks, so that one can arrive while the
 * other is read, unless blocks would be very short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "exchange/block.h"

enum { RECORD = 100 };

static size_t bytes_of(const windows *w, int ranks)
{
	const size_t block = sizeof(block_header) + w->block_recs * RECORD;
	return (2 * w->blocks * (size_t)(ranks - 1) + 1) * block;
}

static void test_windows_fit_in_memory(void **state)
{
	(void)state;
	for (size_t bytes = 1 << 20; bytes <= 256 << 20; bytes *= 2)
		for (int ranks = 2; ranks <= 5000; ranks = ranks * 3 / 2) {
			const windows w = windows_divide(bytes, RECORD, ranks, false, UINT64_MAX);
			assert_in_range(w.blocks, 1, 4);
			if (w.block_recs > 1)
				assert_true(bytes_of(&w, ranks) <= bytes);
		}
}

static void test_blocks(void **state)
{
	(void)state;
	const size_t gb_windows = 62500000; /* of 1 GB per rank */
	assert_int_equal(windows_divide(gb_windows, RECORD, 4, false, UINT64_MAX).blocks, 4);
	assert_int_equal(windows_divide(gb_windows, RECORD, 64, false, UINT64_MAX).blocks, 4);
	assert_int_equal(windows_divide(gb_windows, RECORD, 256, false, UINT64_MAX).blocks, 2);
	assert_int_equal(windows_divide(gb_windows, RECORD, 1024, false, UINT64_MAX).blocks, 2);
	assert_int_equal(windows_divide(gb_windows, RECORD, 4096, false, UINT64_MAX).blocks, 1);
	assert_int_equal(windows_divide(2000000, RECORD, 1000, false, UINT64_MAX).blocks, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_windows_fit_in_memory),
					    cmocka_unit_test(test_blocks) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
