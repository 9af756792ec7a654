/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_share.c - shares for processors of known speed: reference values, optimality by brute force,
 * independence of scale and order, extremes, and every argument that must be refused. */
#include "tests.h"

static hetpart_cost *nlogn, *linear;

static int setup(void **state)
{
	(void)state;
	return hetpart_cost_nlogn(&nlogn, 1, NULL) != HETPART_OK ||
	       hetpart_cost_linear(&linear, 1, NULL) != HETPART_OK;
}

static int teardown(void **state)
{
	(void)state;
	hetpart_cost_free(nlogn);
	hetpart_cost_free(linear);
	return 0;
}

/* The print gives the next item to the smallest (n + 1)/k for every cost: 1.648 here. */
static void greedy_uses_the_cost(void **state)
{
	double k[] = { 1, 2 };
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_share_create(&pl, 4, k, 2, nlogn, NULL, &err));
	assert_int_equal(hetpart_plan_share(pl, 0), 2);
	assert_int_equal(hetpart_plan_share(pl, 1), 2);
	NEAR(hetpart_plan_makespan(pl), 1.3862943611198906, 1e-14);
	hetpart_plan_free(pl);
	OK(hetpart_share_create(&pl, UINT64_C(9223372036854775807), k, 2, linear, NULL, &err));
	assert_int_equal(hetpart_plan_share(pl, 0), UINT64_C(3074457345618258602));
	assert_int_equal(hetpart_plan_share(pl, 1), UINT64_C(6148914691236517205));
	hetpart_plan_free(pl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greedy_uses_the_cost),
	};
	return cmocka_run_group_tests_name("share", tests, setup, teardown);
}
