/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ranks in other processes have told of the time that is left, as it is a moment later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>
#include "comm/board.h"

static void take(void *left_s, int rank, const rank_seen *seen)
{
	((double *)left_s)[rank] = seen->at.left_s;
}

static void time_passes(void **state)
{
	const struct timespec some = { 0, 50000000 }, long_time = { 0, 700000000 };
	const double told[] = { 10, 0.01, -1 };
	double left_s[3] = { 0 };
	(void)state;
	board_open(3);
	for (int i = 0; i < 3; i++)
		board_tell(i, &(rank_seen){ .at.left_s = told[i], .host = "n" });
	nanosleep(&some, NULL);
	assert_int_equal(board_look(take, left_s), 3);
	assert_true(left_s[0] <= 9.951 && left_s[0] >= 9.499);
	assert_true(left_s[1] == 0);  /* no less than that */
	assert_true(left_s[2] == -1); /* nobody knows */
	nanosleep(&long_time, NULL);
	board_look(take, left_s); /* one that hangs does not come nearer to its end */
	assert_true(left_s[0] >= 9.499 && left_s[0] <= 9.501);
	board_tell(0, &(rank_seen){ .at.left_s = 8, .host = "n" });
	board_look(take, left_s);
	assert_true(left_s[0] <= 8 && left_s[0] >= 7.499);
	board_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(time_passes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
