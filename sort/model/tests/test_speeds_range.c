/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges of hosts: which ranges are valid, and which hosts they contain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "model/rank_speeds.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

static void brackets_hold_numbers(void **state)
{
	static const char *const sound[] = { "",
					     "node",
					     "n]",
					     "n[1]",
					     "n[1-48]",
					     "n[1-1,7,10-20]x",
					     "r[0-9]n[01-24]",
					     "n[999999999999999999]" };
	static const char *const bad[] = { "[",      "n[",    "n[]",
					   "n[1",    "n[1-",  "n[1-]",
					   "n[-1]",  "n[1,]", "n[,1]",
					   "n[2-1]", "n[a]",  "n[1-2-3]",
					   "n[1][",  "n[1 ]", "n[1000000000000000000]" };
	(void)state;
	for (size_t i = 0; i < LEN(sound); i++)
		assert_true(speeds_range_is_sound(sound[i], strlen(sound[i])));
	for (size_t i = 0; i < LEN(bad); i++)
		assert_false(speeds_range_is_sound(bad[i], strlen(bad[i])));
	assert_true(speeds_range_is_sound("n[1]x[", 5)); /* reads only the given length */
}

static void hosts_are_in_ranges(void **state)
{
	static const struct {
		const char *range, *host;
		bool has;
	} of[] = {
		{ "node", "node", true },
		{ "node", "node1", false },
		{ "node1", "node", false },
		{ "", "", true },
		{ "n[1-48]", "n1", true },
		{ "n[1-48]", "n48", true },
		{ "n[1-48]", "n49", false },
		{ "n[1-48]", "n0", false },
		{ "n[1-48]", "n", false },
		{ "n[1-48]", "n07", false },
		{ "n[1-48]", "n7x", false },
		{ "n[1-48]", "m7", false },
		{ "n[1-48]", "n1000000000000000000000", false },
		{ "n[0-3]", "n0", true },
		{ "n[01-24]", "n07", true },
		{ "n[01-24]", "n7", false },
		{ "n[01-24]", "n007", false },
		{ "n[098-102]", "n101", true },
		{ "n[1,3-4]", "n2", false },
		{ "n[1,3-4]", "n3", true },
		{ "rack[1-2]n[01-24].edu", "rack2n24.edu", true },
		{ "rack[1-2]n[01-24].edu", "rack2n25.edu", false },
		{ "rack[1-2]n[01-24].edu", "rack2n24", false },
	};
	(void)state;
	assert_false(speeds_range_has("n\0x", 3, "n"));
	for (size_t i = 0; i < LEN(of); i++)
		assert_int_equal(speeds_range_has(of[i].range, strlen(of[i].range), of[i].host),
				 of[i].has);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(brackets_hold_numbers),
					    cmocka_unit_test(hosts_are_in_ranges) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
