/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The remaining time that ranks in other processes have reported decreases until their next report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <time.h>
#include "comm/monitor.h"

static char host[HOST_BYTES]; /* of the last rank */

static void take(void *left_s, int rank, const rank_seen *seen)
{
	((double *)left_s)[rank] = seen->at.left_s;
	memcpy(host, seen->host, sizeof host);
}

static void time_passes(void **state)
{
	const struct timespec some = { 0, 50000000 }, long_time = { 0, 700000000 };
	const double reported[] = { 10, 0.01, -1 };
	double left_s[4] = { 0 };
	comm own = { .rank = 3, .size = 4, .host = "here" };
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(monitor_look(take, left_s), 0); /* no rank has joined */
	assert_int_equal(monitor_join(&own, 0, false, NULL, &e), ST_OK);
	for (int i = 0; i < 3; i++)
		monitor_hear(i, &(rank_seen){ .at.left_s = reported[i], .host = "n" });
	nanosleep(&some, NULL);
	assert_int_equal(monitor_look(take, left_s), 4);
	assert_true(left_s[0] <= 9.951 && left_s[0] >= 9.499);
	assert_true(left_s[1] == 0);  /* never negative */
	assert_true(left_s[2] == -1); /* unknown */
	nanosleep(&long_time, NULL);
	monitor_look(take, left_s); /* a rank that hangs does not get closer to its end */
	assert_true(left_s[0] >= 9.499 && left_s[0] <= 9.501);
	monitor_hear(0, &(rank_seen){ .at.left_s = 8, .host = "n" });
	monitor_look(take, left_s);
	assert_true(left_s[0] <= 8 && left_s[0] >= 7.499);
	assert_string_equal(host, "here");
	monitor_leave(&own);
	assert_int_equal(monitor_look(take, left_s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(time_passes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
