/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processors of machines of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tool.h"

static size_t least_bytes; /* of a set that the kernel accepts; 0: the call fails */
static unsigned calls;

/* Replace the C library's function: there are four processors, and the last one is the last that
 * fits the set. */
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	assert_int_equal(pid, 0);
	calls++;
	errno = least_bytes ? EINVAL : ENOSYS;
	if (least_bytes == 0 || bytes < least_bytes)
		return -1;
	memset(set, 0, bytes);
	for (size_t i = 0; i < 3; i++)
		CPU_SET_S(i, bytes, set);
	CPU_SET_S(8 * least_bytes - 1, bytes, set);
	return 0;
}

static void found(size_t bytes, unsigned count, unsigned after)
{
	least_bytes = bytes;
	calls = 0;
	assert_int_equal(tool_processors(), count);
	assert_int_equal(calls, after);
}

static void a_small_machine_is_asked_once(void **state)
{
	(void)state;
	found(8, 4, 1);
	found(128, 4, 1);
}

static void a_set_grows_to_the_machine(void **state)
{
	(void)state;
	found(256, 4, 2);
	found(1024, 4, 4);
	found(TOOL_MOST_CPUS / 8, 4, 11);
}

static void without_an_answer_there_is_one(void **state)
{
	(void)state;
	found(0, 1, 1);
	found(TOOL_MOST_CPUS / 8 + 1, 1, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_machine_is_asked_once),
		cmocka_unit_test(a_set_grows_to_the_machine),
		cmocka_unit_test(without_an_answer_there_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
