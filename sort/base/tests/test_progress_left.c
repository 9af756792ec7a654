/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time that is left: the plan, corrected by measured times, without the work that is done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/progress.h"

enum { MB = 1000000 };

/* Return a moment whose processor time is not known. */
static moment at(double s)
{
	return (moment){ .at_s = s };
}

static stage_plan takes(double s)
{
	return (stage_plan){ .all_s = s };
}

/* Plan 10 s to read 100 MB and 20 s to write them. */
static void plan(rank_progress *s)
{
	progress_init(s);
	progress_join(s);
	progress_plan(s, STAGE_READ, takes(10));
	progress_plan(s, STAGE_WRITE, takes(20));
}

static void near(double got, double expected)
{
	assert_true(got > 0.99 * expected - 1e-9 && got < 1.01 * expected + 1e-9);
}

static void nothing_is_known_without_a_plan(void **state)
{
	rank_progress s;
	(void)state;
	progress_init(&s);
	const progress_seen seen = progress_look(&s, at(5));
	assert_true(seen.left_s < 0);
	assert_int_equal(seen.stage, STAGE_NONE);
	assert_false(seen.open);
}

static void as_planned(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	near(progress_look(&s, at(100)).left_s, 30);
	progress_begin(&s, STAGE_READ, 100 * MB, at(100));
	near(progress_look(&s, at(100)).left_s, 30);
	progress_add(PROGRESS_IN, 50 * MB);
	const progress_seen half = progress_look(&s, at(105));
	near(half.left_s, 25);
	near(half.worked_s / half.work_s, 5.0 / 30);
	assert_int_equal(half.done, 50 * MB);
	assert_int_equal(half.all, 100 * MB);
	assert_true(half.open);
}

/* Reading takes 16 times as long as planned. So the rest of it and writing will, too. */
static void measured_times_correct_the_plan(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 50 * MB);
	const double left = progress_look(&s, at(80)).left_s;
	assert_true(left > 0.85 * (80 + 320) && left < 80 + 320);
	progress_add(PROGRESS_IN, 50 * MB);
	progress_end(&s, at(160));
	progress_end(&s, at(165));
	near(progress_look(&s, at(160)).left_s, 320);
	near(progress_look(&s, at(170)).left_s, 320); /* it waits for others */
	progress_begin(&s, STAGE_WRITE, 100 * MB, at(170));
	progress_add(PROGRESS_OUT, 90 * MB); /* as planned */
	const double rest = progress_look(&s, at(188)).left_s;
	assert_true(rest > 1.9 && rest < 5);
	progress_add(PROGRESS_OUT, 10 * MB);
	progress_end(&s, at(190));
	near(progress_look(&s, at(200)).left_s, 0);
	near(progress_look(&s, at(200)).worked_s, 30);
}

/* Reading takes a 27th of the planned time. It is a third of the planned time of both stages, so
 * writing is expected to gain the third root. A longer stage gains less. */
static void later_stages_gain_a_part_of_it(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 100 * MB);
	progress_end(&s, at(10.0 / 27));
	near(progress_look(&s, at(1)).left_s, 20.0 / 3);
	progress_plan(&s, STAGE_WRITE, takes(990));
	near(progress_look(&s, at(1)).left_s, 990 * 0.9676);
}

/* Check that the time left becomes longer if no byte moves any more. */
static void a_disk_that_hangs(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 50 * MB);
	double left = progress_look(&s, at(5)).left_s;
	for (int t = 6; t < 60; t += 6) {
		const double now = progress_look(&s, at(t)).left_s;
		assert_true(now > left);
		left = now;
	}
}

/* Records are written late: half of the stage passes before the first of them. Reading has taken
 * three times as long as planned, so the stage takes 60 s. */
static void the_first_record_is_written_late(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 100 * MB);
	const double t = 30;
	progress_end(&s, at(t));
	progress_begin(&s, STAGE_WRITE, 100 * MB, at(t));
	for (int more = 1; more <= 29; more += 7)
		near(progress_look(&s, at(t + more)).left_s, 60 - more);
	progress_add(PROGRESS_OUT, 5 * MB);
	assert_true(progress_look(&s, at(t + 32)).left_s < 2 * (60 - 32));
	assert_true(progress_look(&s, at(t + 170)).left_s >
		    0.4 * 60); /* it hangs, so some time is left */
}

/* Records are written to runs while others are read. Half of the work is done when half of the
 * records is read and written, or when all are read and none is written. */
static void runs_on_disk(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	s.spilled = 1;
	progress_add(PROGRESS_WRITTEN, 7 * MB); /* before the stage */
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 60 * MB);
	progress_add(PROGRESS_WRITTEN, 40 * MB);
	const progress_seen half = progress_look(&s, at(5));
	near(half.left_s, 25);
	assert_int_equal(half.done, 60 * MB);
	progress_add(PROGRESS_IN, 40 * MB);
	near(progress_look(&s, at(7)).worked_s, 7);
	progress_add(PROGRESS_WRITTEN, 90 * MB); /* with other data of the runs */
	near(progress_look(&s, at(10)).worked_s, 10);
}

/* Three quarters of the records stay in memory. */
static void some_runs_stay_in_memory(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	s.spilled = 0.25;
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 100 * MB);
	near(progress_look(&s, at(8)).worked_s, 8);
	progress_add(PROGRESS_WRITTEN, 25 * MB);
	near(progress_look(&s, at(10)).worked_s, 10);
}

/* Records are received, sorted when all have arrived, and then written. The time to find the
 * borders and the time to sort have no influence on the time expected for writing. */
static void received_before_it_is_sorted(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_plan(&s, STAGE_SPLIT, takes(1));
	progress_plan(&s, STAGE_RECEIVE, takes(5));
	progress_plan(&s, STAGE_SORT, takes(4));
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 100 * MB);
	progress_end(&s, at(10));
	progress_begin(&s, STAGE_SPLIT, 0, at(10));
	const progress_seen split = progress_look(&s, at(10.5));
	assert_false(split.open); /* the stage has no bytes */
	near(split.left_s, 0.5 + 5 + 4 + 20);
	progress_end(&s, at(20));
	progress_begin(&s, STAGE_RECEIVE, 80 * MB, at(20));
	progress_add(PROGRESS_RECEIVED, 40 * MB);
	const progress_seen half = progress_look(&s, at(22.5));
	assert_int_equal(half.done, 40 * MB);
	near(half.left_s, 2.5 + 4 + 20);
	near(half.worked_s / half.work_s, (11 + 2.5) / 40);
	progress_add(PROGRESS_RECEIVED, 40 * MB);
	progress_end(&s, at(25));
	progress_begin(&s, STAGE_SORT, 0, at(25));
	near(progress_look(&s, at(26)).left_s, 3 + 20);
	progress_end(&s, at(60));
	progress_begin(&s, STAGE_WRITE, 80 * MB, at(60));
	near(progress_look(&s, at(60)).left_s, 20);
}

/* Three quarters of the work of a merge are done when records are sent, which is before they are
 * written. A rank that sends no records counts those that it writes. */
static void sent_before_it_is_written(void **state)
{
	rank_progress s;
	(void)state;
	for (int sends = 0; sends <= 80 * MB; sends += 80 * MB) {
		plan(&s);
		progress_plan(&s, STAGE_WRITE, (stage_plan){ .all_s = 20, .ahead_s = 15 });
		progress_add(PROGRESS_SENT, 7 * MB); /* before the stage */
		progress_begin(&s, STAGE_WRITE, 100 * MB, at(0));
		progress_sends(&s, (uint64_t)sends);
		progress_add(PROGRESS_OUT, 40 * MB);
		progress_add(PROGRESS_SENT, 48 * MB);
		near(progress_look(&s, at(10)).worked_s, sends ? 0.75 * 12 + 0.25 * 8 : 8);
		assert_int_equal(progress_look(&s, at(10)).done, 40 * MB);
		progress_add(PROGRESS_OUT, 60 * MB);
		progress_add(PROGRESS_SENT, 40 * MB); /* with bytes other than records */
		near(progress_look(&s, at(20)).worked_s, 20);
	}
}

/* Receiving takes five times as long as planned, because it waits for other ranks. This has no
 * influence on the time expected for writing. */
static void received_late(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_plan(&s, STAGE_RECEIVE, takes(5));
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 100 * MB);
	progress_end(&s, at(10));
	progress_begin(&s, STAGE_RECEIVE, 100 * MB, at(10));
	progress_add(PROGRESS_RECEIVED, 100 * MB);
	near(progress_look(&s, at(34)).left_s, 20);
	progress_end(&s, at(35));
	near(progress_look(&s, at(35)).left_s, 20);
}

/* Of 10 s planned to read, 4 are for fresh memory and 2 for files. Reading takes 52 s, and 0.9 of
 * the processor time is the system's. So own work takes 1.3 times as long as planned, and fresh
 * memory 11 times as long. Writing is expected to be slower by the same factors. */
static void memory_that_is_slow(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_plan(&s, STAGE_READ, (stage_plan){ 10, 2, 4, 0 });
	progress_plan(&s, STAGE_WRITE, (stage_plan){ 20, 5, 3, 0 });
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 100 * MB);
	progress_end(&s, (moment){ 52, 4000, 36000, 0 }); /* of many processors */
	near(progress_look(&s, (moment){ 53, 4000, 36000, 0 }).left_s, 1.3 * 17 + 11.05 * 3);
}

/* Slow down all work by one factor, if the system takes no more than its part. The same is assumed
 * if almost no processor time was measured. */
static void all_is_slow(void **state)
{
	static const moment ended[] = { { 20, 8, 12, 0 }, { 20, 12, 8, 0 }, { 20, 0, 0.0004, 0 } };
	(void)state;
	for (size_t i = 0; i < sizeof ended / sizeof *ended; i++) {
		rank_progress s;
		plan(&s);
		progress_plan(&s, STAGE_READ, (stage_plan){ 10, 2, 4, 0 });
		progress_begin(&s, STAGE_READ, 100 * MB, at(0));
		progress_add(PROGRESS_IN, 100 * MB);
		progress_end(&s, ended[i]);
		near(progress_look(&s, ended[i]).left_s, 40);
	}
}

static void work_of_an_earlier_job_does_not_count(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_KEPT, 80 * MB);
	progress_add(PROGRESS_IN, 10 * MB);
	const progress_seen seen = progress_look(&s, at(1));
	assert_int_equal(seen.all, 20 * MB);
	near(seen.left_s, 1 + 20);
	progress_add(PROGRESS_KEPT, 20 * MB);
	assert_int_equal(progress_look(&s, at(1)).all, 0);
	near(progress_look(&s, at(1)).work_s, 20);
}

/* The length of a stream is known at its end; from then on the time left is known. */
static void a_stream(void **state)
{
	rank_progress s;
	(void)state;
	progress_init(&s);
	progress_join(&s);
	progress_begin(&s, STAGE_READ, 0, at(0));
	progress_add(PROGRESS_IN, 10 * MB);
	assert_int_equal(progress_look(&s, at(3)).done, 10 * MB);
	assert_true(progress_look(&s, at(3)).left_s < 0);
	progress_end(&s, at(3));
	progress_begin(&s, STAGE_WRITE, 10 * MB, at(3));
	progress_add(PROGRESS_OUT, 5 * MB);
	const double left = progress_look(&s, at(6)).left_s;
	assert_true(left > 2.7 && left < 3.3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_without_a_plan),
		cmocka_unit_test(as_planned),
		cmocka_unit_test(measured_times_correct_the_plan),
		cmocka_unit_test(later_stages_gain_a_part_of_it),
		cmocka_unit_test(a_disk_that_hangs),
		cmocka_unit_test(the_first_record_is_written_late),
		cmocka_unit_test(runs_on_disk),
		cmocka_unit_test(some_runs_stay_in_memory),
		cmocka_unit_test(received_before_it_is_sorted),
		cmocka_unit_test(sent_before_it_is_written),
		cmocka_unit_test(received_late),
		cmocka_unit_test(memory_that_is_slow),
		cmocka_unit_test(all_is_slow),
		cmocka_unit_test(work_of_an_earlier_job_does_not_count),
		cmocka_unit_test(a_stream),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
