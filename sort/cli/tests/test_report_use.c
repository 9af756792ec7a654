/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests sums over processes and hosts that several ranks share, and the bound of made-up jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "cli/report.h"

#include <string.h>

static const settings of_100_bytes = { .lay.record_bytes = 100 };

/* A rank with 2 processors in a job of 10 s and 1 GB: core-seconds used, seconds waited. */
static rank_result rank_of(char host, int pid, double core_s, double wait_s)
{
	rank_result k = { .host = "localhost", /* of all hosts */
			  .host_id = (uint64_t)host,
			  .pid = pid,
			  .cpus = 2,
			  .spans = 1,
			  .span[0] = { .wait_s = wait_s },
			  .used = { .user_s = core_s / 2, .system_s = core_s / 2, .joules = -1 } };
	return k;
}

static report_use use_of(rank_result *k, int n)
{
	const job_result r = { .records = 10000000, .total_s = 10, .size = n, .rank = k };
	return report_use_of(&r, &of_100_bytes);
}

static void processes_and_hosts_count_once(void **state)
{
	(void)state;
	rank_result k[] = { rank_of('a', 1, 8, 0), rank_of('a', 1, 8, 0), rank_of('a', 2, 4, 0),
			    rank_of('b', 1, 6, 0) };
	for (int i = 0; i < 4; i++)
		k[i].used.joules = i < 3 ? 100 : 50;
	const report_use u = use_of(k, 4);
	assert_float_equal(u.core_s, 18, 1e-9);
	assert_float_equal(u.core_s_per_gb, 18, 1e-9);
	assert_float_equal(u.processors, 8, 1e-9);
	assert_float_equal(u.busy, 18.0 / 80, 1e-9);
	assert_float_equal(u.joules, 150, 1e-9);
	assert_float_equal(u.joules_per_gb, 150, 1e-9);
	k[3].used.joules = -1; /* one host cannot be read */
	assert_true(use_of(k, 4).joules < 0);
	const job_result none = { .size = 0 };
	assert_string_equal(report_use_of(&none, &of_100_bytes).bound, "");
}

static void the_bound_is_the_resource_that_was_used_up(void **state)
{
	(void)state;
	rank_result one = rank_of('a', 1, 18, 0);
	assert_string_equal(use_of(&one, 1).bound, "processor");
	one.used.minor_faults = 20000000;
	one.used.fault_s = 0.5e-6;
	assert_string_equal(use_of(&one, 1).bound, "memory");
	assert_float_equal(use_of(&one, 1).fault_s, 10, 1e-9);
	one = rank_of('a', 1, 8, 0);
	assert_string_equal(use_of(&one, 1).bound, "processor"); /* others use the processors */
	one.used.disk_bytes = 1000000000;
	assert_string_equal(use_of(&one, 1).bound, "disk");

	rank_result two[] = { rank_of('a', 1, 8, 7), rank_of('b', 1, 6, 8) };
	two[0].used.disk_bytes = two[1].used.disk_bytes = 1000000000;
	assert_string_equal(use_of(two, 2).bound, "network"); /* both waited */
	two[1].host_id = 'a';
	assert_string_equal(use_of(two, 2).bound, "disk"); /* but not for a network */
	two[1].host_id = 'b';
	two[0] = rank_of('a', 1, 18, 0.1); /* the other one waited for its processors */
	assert_string_equal(use_of(two, 2).bound, "processor");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_and_hosts_count_once),
		cmocka_unit_test(the_bound_is_the_resource_that_was_used_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
