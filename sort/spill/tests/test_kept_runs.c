/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kept runs and the new runs between them are the whole share. The plan limits their number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arith.h"
#include "spill/sort_plan.h"

enum { MOST = 40, CASES = 5000, MANY = 2000 };

static void pieces(void **state)
{
	uint64_t s = 5;
	(void)state;
	for (int c = 0; c < CASES; c++) {
		run_note run[MOST];
		kept_runs k = { .run = run, .first = splitmix(&s) % 100 };
		const size_t wanted = splitmix(&s) % MOST;
		uint64_t at = k.first, n = 0;
		for (; k.count < wanted; k.count++) {
			const uint64_t gap = splitmix(&s) % 3 ? 0 : splitmix(&s) % 50;
			run[k.count] = (run_note){ .first = at + gap,
						   .recs = 1 + splitmix(&s) % 30,
						   .stride = UINT64_C(1) << splitmix(&s) % 5 };
			at += gap + run[k.count].recs;
		}
		const uint64_t last = splitmix(&s) % 3 ? 0 : splitmix(&s) % 50;
		k.recs = at + last - k.first;
		const uint64_t each = 1 + splitmix(&s) % 20;
		size_t next = 0;
		kept_piece p = { 0 };
		for (uint64_t end = 0; kept_runs_next(&k, each, &p); end = p.first + p.recs, n++) {
			assert_int_equal(p.first, end);
			assert_true(p.recs > 0 && p.first + p.recs <= k.recs);
			if (p.run)
				assert_ptr_equal(p.run, &run[next++]);
			else
				assert_true(p.recs <= each);
			assert_true(!p.run ||
				    (p.run->first == k.first + p.first && p.run->recs == p.recs));
		}
		assert_int_equal(p.first + p.recs, k.recs);
		assert_int_equal(next, k.count);
		assert_int_equal(n, kept_runs_pieces(&k, each));
		for (size_t i = 0; i < k.count; i++)
			assert_int_equal(kept_runs_stride(&k) % run[i].stride, 0);
	}
}

/* Refuse a plan with more runs than a merge can read. */
static void too_many(void **state)
{
	static run_note run[MANY];
	(void)state;
	kept_runs k = { .run = run, .recs = (uint64_t)MANY * 1000000 };
	sort_plan_query q = { .limit_bytes = UINT64_C(8) << 30,
			      .recs = k.recs,
			      .out_recs = k.recs,
			      .lay = { .record_bytes = 100, .key_bytes = 10 },
			      .threads = 2,
			      .streams = 1,
			      .keeps = true,
			      .kept = &k };
	for (size_t i = 0; i < MANY; i++)
		run[i] = (run_note){ .first = i * 1000000, .recs = 1000000, .stride = 512 };
	for (k.count = 0; k.count <= MANY; k.count += 250) {
		sort_plan b;
		if (!sort_plan_make(&b, &q)) {
			assert_true(k.count > 750);
			continue;
		}
		assert_true(k.count < 1000);
		assert_int_equal(b.runs, kept_runs_pieces(&k, b.run_recs));
		assert_true(b.runs <= SORT_PLAN_MOST_RUNS && b.bytes <= q.limit_bytes);
		assert_true(k.count == 0 || b.stride == 512);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(pieces), cmocka_unit_test(too_many) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
