/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the text of the progress line, and its width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "cli/progress_line.h"
#include "model/rank_result.h"

static const uint64_t GB = 1000000000;

static rank_seen rank(phase p, stage_kind k, uint64_t done, uint64_t all, double left_s)
{
	return (rank_seen){ .at = { .done = done,
				    .all = all,
				    .worked_s = 3,
				    .work_s = 12,
				    .left_s = left_s,
				    .stage = k,
				    .open = k != STAGE_NONE },
			    .phase = p,
			    .host = "node17" };
}

static const char *line(const rank_seen *r, int n, double rate, double elapsed_s)
{
	static char text[PROGRESS_TEXT_BYTES];
	progress_sum s = { .left_s = -1 };
	for (int i = 0; i < n; i++)
		progress_take(&s, i, &r[i]);
	return progress_text(&s, rate, elapsed_s, text);
}

static void one_rank(void **state)
{
	const rank_seen r = rank(PH_READ, STAGE_READ, 3210000000U, 10 * GB, 61);
	(void)state;
	assert_string_equal(line(&r, 1, 812e6, 4.9),
			    "read 3.2 of 10.0 GB 32%, job 25%, 812 MB/s, 0:04, 1:01 left");
	assert_string_equal(line(&r, 1, -1, 4.9),
			    "read 3.2 of 10.0 GB 32%, job 25%, 0:04, 1:01 left");
}

/* Records that are sorted after they have all arrived: the exchange comes first. */
static void records_that_come(void **state)
{
	rank_seen r = rank(PH_SORT, STAGE_RECEIVE, GB, 4 * GB, 61);
	(void)state;
	assert_string_equal(line(&r, 1, 812e6, 4.9),
			    "exchange 1.00 of 4.00 GB 25%, job 25%, 812 MB/s, 0:04, 1:01 left");
	r.at.stage = STAGE_WRITE;
	assert_string_equal(line(&r, 1, 812e6, 4.9),
			    "sort 1.00 of 4.00 GB 25%, job 25%, 812 MB/s, 0:04, 1:01 left");
}

static void several_ranks(void **state)
{
	const rank_seen r[] = { rank(PH_MERGE, STAGE_WRITE, GB, 4 * GB, 100),
				rank(PH_MERGE, STAGE_WRITE, GB / 2, 4 * GB, 4000),
				rank(PH_MERGE, STAGE_WRITE, GB, 2 * GB, 80) };
	(void)state;
	assert_string_equal(line(r, 3, 1e9, 3600),
			    "merge 2.5 of 10.0 GB 25%, job 25%, 1.00 GB/s, 1:00:00, 1:06:40 left, "
			    "slowest 1 node17");
}

/* A rank that waits for another one is not the slowest. */
static void ranks_that_wait(void **state)
{
	rank_seen r[] = { rank(PH_MERGE, STAGE_WRITE, GB, 4 * GB, 100),
			  rank(PH_MERGE, STAGE_WRITE, GB, 4 * GB, 70) };
	(void)state;
	r[0].waiting = 1;
	assert_string_equal(
		line(r, 2, -1, 1),
		"merge 2.00 of 8.00 GB 25%, job 25%, 0:01, 1:40 left, slowest 1 node17");
}

/* Other ranks were heard while they read, or not at all. */
static void ranks_that_were_not_heard(void **state)
{
	const rank_seen late[] = { rank(PH_MERGE, STAGE_WRITE, GB, 4 * GB, 100),
				   rank(PH_READ, STAGE_READ, 4 * GB, 4 * GB, 110) };
	const rank_seen none[] = { rank(PH_READ, STAGE_READ, GB, 4 * GB, 100), { .phase = 0 } };
	(void)state;
	assert_string_equal(
		line(late, 2, -1, 9),
		"merge 1.00 of 4.00 GB 25%, job 25%, 0:09, 1:50 left, slowest 1 node17");
	assert_string_equal(line(none, 2, -1, 9),
			    "read 1.00 of 4.00 GB 25%, job 25%, 0:09, 1:40 left, "
			    "1 of 2 ranks heard");
}

static void unknown_values_are_omitted(void **state)
{
	const rank_seen plan = rank(PH_PLAN, STAGE_NONE, 0, 0, -1);
	const rank_seen stream = rank(PH_READ, STAGE_READ, 5 * GB, 0, -1);
	(void)state;
	assert_string_equal(line(&plan, 1, -1, 0.4), "plan, 0:00");
	assert_string_equal(line(&stream, 1, 1e8, 50), "read 5.00 GB, 100 MB/s, 0:50");
}

/* The text before the slowest rank fits 79 columns, with any numbers. */
static void it_fits_80_columns(void **state)
{
	static const double seconds[] = { 0, 59, 3599, 35999, 1e9 };
	uint64_t all = 1;
	(void)state;
	for (int i = 0; i < 60; i++, all = all * 2 + all / 3)
		for (size_t k = 0; k < sizeof seconds / sizeof *seconds; k++) {
			const rank_seen r = rank(PH_MERGE, STAGE_WRITE, all, all, seconds[k]);
			const char *text = line(&r, 1, (double)all, seconds[k]);
			assert_true(strlen(text) <= 79);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_rank),
		cmocka_unit_test(records_that_come),
		cmocka_unit_test(several_ranks),
		cmocka_unit_test(ranks_that_wait),
		cmocka_unit_test(ranks_that_were_not_heard),
		cmocka_unit_test(unknown_values_are_omitted),
		cmocka_unit_test(it_fits_80_columns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
