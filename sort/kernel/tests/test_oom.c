/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts in memory with each of their allocations failing in turn: ST_RESOURCE with a message, and
 * nothing leaks. Keys, records and sizes are such that each sorter allocates all that it can. */
#include "../../../scripts/shim.h"

#ifndef SHIM_CANNOT

#	include <setjmp.h>
#	include <stdarg.h>
#	include <cmocka.h>

#	include <string.h>

#	include "base/arith.h"
#	include "kernel/bucket_sort.h"

#	define LEN(a) (sizeof(a) / sizeof(a)[0])

enum { RECORDS = 4099, MOST_BYTES = 100, MOST_ALLOCATIONS = 10000 };

static unsigned char unsorted[RECORDS * MOST_BYTES], sorted[RECORDS * MOST_BYTES];
static unsigned char expected[RECORDS * MOST_BYTES];

/* Up to its last 2 bytes, a key consists of 0 with this probability in a hundred. */
static void fill(const layout *l, unsigned zero)
{
	uint64_t s = 1;
	for (size_t i = 0; i < RECORDS; i++) {
		unsigned char *rec = unsorted + i * l->record_bytes;
		for (size_t k = 0; k < l->record_bytes; k++)
			rec[k] = (unsigned char)splitmix(&s);
		if (splitmix(&s) % 100 < zero)
			memset(rec + l->key_off, 0, l->key_bytes - 2);
	}
}

static void each_in_turn(void **state)
{
	/* 8 bytes: word_sort, if the processor has the instructions; up to 39: short_sort */
	static const layout layouts[] = { LAYOUT_BYTES(100, 0, 10), LAYOUT_BYTES(16, 3, 9),
					  LAYOUT_BYTES(8, 0, 8) };
	/* so small that every way is taken; with few large buckets, split at most once, or never */
	static const bucket_sort_sizes sizes[] = { { 16, { 100, 300, 6 }, 0 },
						   { 100, { 1000, 20, 1 }, 0 },
						   { 100, { 100, 80, 0 }, 0 } };
	(void)state;
	for (size_t l = 0; l < LEN(layouts); l++)
		for (size_t k = 0; k < LEN(sizes) * 2; k++) {
			const records in = { .base = unsorted, .lay = layouts[l] };
			const size_t bytes = (size_t)RECORDS * in.lay.record_bytes;
			mem m = { 0 };
			err e = { 0 };
			const bucket_sort_task t = { &m,        &in,           RECORDS, sorted,
						     k % 2 + 1, &sizes[k / 2], &e };
			fill(&in.lay, k % 2 ? 60 : 1);
			assert_int_equal(bucket_sort_sized(&t), ST_OK);
			memcpy(expected, sorted, bytes);
			long n = 0, failed = 0;
			for (bool met = true; met; n++) {
				const long live = shim.live;
				e = (err){ 0 };
				shim.until = n;
				const status rc = bucket_sort_sized(&t);
				met = shim.until < 0;
				shim.until = -1;
				assert_int_equal(e.code, rc);
				/* a pool that has no memory for threads runs one: no failure */
				if (rc == ST_OK) {
					assert_memory_equal(sorted, expected, bytes);
				} else {
					assert_true(met && rc == ST_RESOURCE);
					assert_memory_equal(e.text, "no memory for ", 14);
					failed++;
				}
				assert_int_equal(shim.live, live);
				assert_int_equal(m.now_bytes, 0);
				assert_true(n < MOST_ALLOCATIONS);
			}
			assert_true(failed > 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_in_turn) };
	SHIM_OURS;
	shim.until = -1;
	return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
#endif
