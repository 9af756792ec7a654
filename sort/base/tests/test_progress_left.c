/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time that is left: planned at first, corrected by what was seen, without what is done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/progress.h"

enum { MB = 1000000 };

/* A moment of which the processor time is not known. */
static moment at(double s)
{
	return (moment){ .at_s = s };
}

static stage_plan takes(double s)
{
	return (stage_plan){ .all_s = s };
}

/* Planned: 10 s to read 100 MB, 20 s to write them. */
static void plan(rank_progress *s)
{
	progress_init(s);
	progress_join(s);
	progress_plan(s, STAGE_READ, takes(10));
	progress_plan(s, STAGE_WRITE, takes(20));
}

static void near(double got, double wanted)
{
	assert_true(got > 0.99 * wanted - 1e-9 && got < 1.01 * wanted + 1e-9);
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

/* Reading takes 16 times as long as planned: so will the rest of it, and writing. */
static void what_is_seen_corrects_the_plan(void **state)
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
	progress_add(PROGRESS_OUT, 90 * MB); /* and this goes as planned */
	const double rest = progress_look(&s, at(188)).left_s;
	assert_true(rest > 1.9 && rest < 5);
	progress_add(PROGRESS_OUT, 10 * MB);
	progress_end(&s, at(190));
	near(progress_look(&s, at(200)).left_s, 0);
	near(progress_look(&s, at(200)).worked_s, 30);
}

/* It takes a 16th of that: writing will take an eighth. */
static void not_all_is_as_fast(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 100 * MB);
	progress_end(&s, at(0.625));
	near(progress_look(&s, at(1)).left_s, 2.5);
}

/* Nothing moves any more: what is left becomes more, not less. */
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
static void nothing_is_written_for_long(void **state)
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
		    0.4 * 60); /* it hangs: there is something left */
}

/* What is read is written to runs, behind the reading: half of the work is done when half of both
 * is, and where all is read and nothing written. */
static void runs_on_disk(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	s.spilled = 1;
	progress_add(PROGRESS_WRITTEN, 7 * MB); /* before: not of this */
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 60 * MB);
	progress_add(PROGRESS_WRITTEN, 40 * MB);
	const progress_seen half = progress_look(&s, at(5));
	near(half.left_s, 25);
	assert_int_equal(half.done, 60 * MB);
	progress_add(PROGRESS_IN, 40 * MB);
	near(progress_look(&s, at(7)).worked_s, 7);
	progress_add(PROGRESS_WRITTEN, 90 * MB); /* with what belongs to the runs */
	near(progress_look(&s, at(10)).worked_s, 10);
}

/* Three quarters of what is read stay in memory. */
static void runs_of_which_some_stay(void **state)
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

/* Records are received, sorted when all are there, and then written. How long it takes to find the
 * borders and to sort says nothing of writing. */
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
	assert_false(split.open); /* there are no bytes to tell */
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

/* Of what is merged, three quarters of the work are done when it was sent, which is ahead of what
 * is written; a rank that sends nothing counts what it writes. */
static void sent_before_it_is_written(void **state)
{
	rank_progress s;
	(void)state;
	for (int sends = 0; sends <= 80 * MB; sends += 80 * MB) {
		plan(&s);
		progress_plan(&s, STAGE_WRITE, (stage_plan){ .all_s = 20, .ahead_s = 15 });
		progress_add(PROGRESS_SENT, 7 * MB); /* before: not of this */
		progress_begin(&s, STAGE_WRITE, 100 * MB, at(0));
		progress_sends(&s, (uint64_t)sends);
		progress_add(PROGRESS_OUT, 40 * MB);
		progress_add(PROGRESS_SENT, 48 * MB);
		near(progress_look(&s, at(10)).worked_s, sends ? 0.75 * 12 + 0.25 * 8 : 8);
		assert_int_equal(progress_look(&s, at(10)).done, 40 * MB);
		progress_add(PROGRESS_OUT, 60 * MB);
		progress_add(PROGRESS_SENT, 40 * MB); /* with what is not records */
		near(progress_look(&s, at(20)).worked_s, 20);
	}
}

/* Receiving takes five times as long as planned, as it waits for others: that says nothing of what
 * is written then. */
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

/* Of 10 s to read, 4 are for fresh memory, 2 for files. It takes 52 s, and of the processor time
 * 0.9 is the system's: own work takes 1.3 times as long as planned, so the rest was for memory, 11
 * times as long, and so it is with what else is fresh. */
static void memory_that_is_slow(void **state)
{
	rank_progress s;
	(void)state;
	plan(&s);
	progress_plan(&s, STAGE_READ, (stage_plan){ 10, 2, 4, 0 });
	progress_plan(&s, STAGE_WRITE, (stage_plan){ 20, 5, 3, 0 });
	progress_begin(&s, STAGE_READ, 100 * MB, at(0));
	progress_add(PROGRESS_IN, 100 * MB);
	progress_end(&s, (moment){ 52, 4000, 36000 }); /* of many processors */
	near(progress_look(&s, (moment){ 53, 4000, 36000 }).left_s, 1.3 * 17 + 11.05 * 3);
}

/* The system took no more than its part: all is slower alike. Nor is there anything to tell from
 * next to no processor time. */
static void all_is_slow(void **state)
{
	static const moment ended[] = { { 20, 8, 12 }, { 20, 12, 8 }, { 20, 0, 0.0004 } };
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

static void what_an_earlier_job_did_is_left_out(void **state)
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

/* How long a stream is shows at its end; then what is written has a goal. */
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
		cmocka_unit_test(what_is_seen_corrects_the_plan),
		cmocka_unit_test(not_all_is_as_fast),
		cmocka_unit_test(a_disk_that_hangs),
		cmocka_unit_test(nothing_is_written_for_long),
		cmocka_unit_test(runs_on_disk),
		cmocka_unit_test(runs_of_which_some_stay),
		cmocka_unit_test(received_before_it_is_sorted),
		cmocka_unit_test(sent_before_it_is_written),
		cmocka_unit_test(received_late),
		cmocka_unit_test(memory_that_is_slow),
		cmocka_unit_test(all_is_slow),
		cmocka_unit_test(what_an_earlier_job_did_is_left_out),
		cmocka_unit_test(a_stream),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
