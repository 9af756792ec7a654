/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes over time: when steps become longer, no byte is lost, and each keeps its time. */
#include "base/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t sum(const activity *a, progress_kind k)
{
	uint64_t all = 0;
	for (int i = 0; i < ACTIVITY_STEPS; i++)
		all += a->bytes[k][i];
	return all;
}

static void nothing_before_it_begins(void **state)
{
	rank_progress log = { .counting = PTHREAD_MUTEX_INITIALIZER };
	(void)state;
	progress_move(&log, PROGRESS_READ, 7, 3);
	const activity a = progress_activity(&log);
	assert_true(a.step_s == 0);
	assert_int_equal(sum(&a, PROGRESS_READ), 0);
}

static void steps_become_longer(void **state)
{
	rank_progress log = { .counting = PTHREAD_MUTEX_INITIALIZER };
	(void)state;
	progress_record(&log, 100);
	progress_move(&log, PROGRESS_SENT, 5, 99); /* clocks of other processors */
	progress_move(&log, PROGRESS_READ, 1, 100.005);
	progress_move(&log, PROGRESS_READ, 2, 100.015);
	progress_move(&log, PROGRESS_WRITTEN, 4, 100.595);
	activity a = progress_activity(&log);
	const double first = a.step_s;
	assert_true(first * ACTIVITY_STEPS < 1);
	assert_int_equal(a.bytes[PROGRESS_READ][0], 1);
	assert_int_equal(a.bytes[PROGRESS_READ][1], 2);
	assert_int_equal(a.bytes[PROGRESS_WRITTEN][ACTIVITY_STEPS - 1], 4);
	assert_int_equal(a.bytes[PROGRESS_SENT][0], 5);
	progress_move(&log, PROGRESS_WRITTEN, 8, 100 + 1000);
	a = progress_activity(&log);
	assert_true(a.step_s * ACTIVITY_STEPS > 1000 && a.step_s * ACTIVITY_STEPS <= 2000.1);
	assert_int_equal(a.bytes[PROGRESS_READ][0], 3);
	assert_int_equal(a.bytes[PROGRESS_WRITTEN][0], 4);
	assert_int_equal(a.bytes[PROGRESS_WRITTEN][(int)(1000 / a.step_s)], 8);
	assert_int_equal(sum(&a, PROGRESS_READ), 3);
	assert_int_equal(sum(&a, PROGRESS_WRITTEN), 12);
	assert_int_equal(sum(&a, PROGRESS_SENT), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_before_it_begins),
		cmocka_unit_test(steps_become_longer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
