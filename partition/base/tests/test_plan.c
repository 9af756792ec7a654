/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_plan.c - the result object: accessors, also for NULL, hash, and printed text. */
#include "tests/tests.h"

static hetpart_plan *plan(uint64_t n, size_t p, double second)
{
	double k[100];
	hetpart_cost *c;
	hetpart_plan *pl;

	for (size_t i = 0; i < p; i++)
		k[i] = i == 1 ? second : 1;
	OK(hetpart_cost_linear(&c, 2, &err));
	OK(hetpart_share_create(&pl, n, k, p, c, NULL, &err));
	hetpart_cost_free(c);
	return pl;
}

static void accessors(void **state)
{
	hetpart_plan *pl = plan(100, 2, 3);

	(void)state;
	assert_int_equal(hetpart_plan_nprocs(pl), 2);
	assert_int_equal(hetpart_plan_items(pl), 100);
	assert_int_equal(hetpart_plan_share(pl, 1), 75);
	assert_int_equal(hetpart_plan_shares(pl)[0], 25);
	NEAR(hetpart_plan_time(pl, 0), 50, 1e-15);
	NEAR(hetpart_plan_makespan(pl), 50, 1e-15);
	NEAR(hetpart_plan_real_makespan(pl), 50, 1e-15);
	assert_int_equal(hetpart_plan_share(pl, 2), 0);
	assert_true(isnan(hetpart_plan_time(pl, 2)));
	assert_true(isnan(hetpart_plan_real_share(pl, 2)));
	hetpart_plan_free(pl);
}

static void about_nothing(void **state)
{
	char buf[4] = "abc";

	(void)state;
	assert_int_equal(hetpart_plan_nprocs(NULL), 0);
	assert_int_equal(hetpart_plan_items(NULL), 0);
	assert_int_equal(hetpart_plan_share(NULL, 0), 0);
	assert_null(hetpart_plan_shares(NULL));
	assert_true(isnan(hetpart_plan_time(NULL, 0)));
	assert_true(isnan(hetpart_plan_makespan(NULL)));
	assert_true(isnan(hetpart_plan_real_makespan(NULL)));
	assert_string_equal(hetpart_plan_method(NULL), "");
	assert_int_equal(hetpart_plan_hash(NULL), 0);
	assert_int_equal(hetpart_plan_print(NULL, buf, sizeof buf), 0);
	assert_string_equal(buf, "");
	hetpart_plan_free(NULL);
}

static void hash(void **state)
{
	hetpart_plan *a = plan(100, 2, 3), *b = plan(100, 2, 3), *c = plan(100, 2, 4),
		     *d = plan(100, 3, 3), *e = plan(100, 2, 1.0 / 3);

	(void)state;
	assert_int_equal(hetpart_plan_hash(a), hetpart_plan_hash(b));
	assert_int_not_equal(hetpart_plan_hash(a), hetpart_plan_hash(c));
	assert_int_not_equal(hetpart_plan_hash(a), hetpart_plan_hash(d));
	assert_int_not_equal(hetpart_plan_hash(a),
			     hetpart_plan_hash(e)); /* the same shares, exchanged */
	/* the value is part of the interface: ranks on unlike machines compare it */
	assert_true(hetpart_plan_hash(a) == UINT64_C(0x811ae14f790380c0));
	hetpart_plan_free(a);
	hetpart_plan_free(b);
	hetpart_plan_free(c);
	hetpart_plan_free(d);
	hetpart_plan_free(e);
}

static void text(void **state)
{
	const char *want = "100 items over 2 processors, method exact, D'Hondt\n"
			   "makespan 50 (50 before rounding), processors busy 100.00 % of it\n"
			   "processor                items        before rounding           time"
			   "    share\n"
			   "        0                   25                 25.000             50"
			   "  25.00 %\n"
			   "        1                   75                 75.000             50"
			   "  75.00 %\n";
	hetpart_plan *pl = plan(100, 2, 3);
	char buf[1000];
	size_t len;

	(void)state;
	len = hetpart_plan_print(pl, buf, sizeof buf);
	assert_string_equal(buf, want);
	assert_int_equal(len, strlen(want));
	assert_int_equal(hetpart_plan_print(pl, NULL, 0), len);
	for (size_t size = 1; size < len; size++) { /* cut short, always terminated */
		memset(buf, 'x', sizeof buf);
		assert_int_equal(hetpart_plan_print(pl, buf, size), len);
		assert_int_equal(strlen(buf), size - 1);
		assert_memory_equal(buf, want, size - 1);
		assert_int_equal(buf[size], 'x');
	}
	hetpart_plan_free(pl);
	pl = plan(3, 100, 3);
	char *big = malloc(20000);
	hetpart_plan_print(pl, big, 20000);
	assert_non_null(strstr(big, ", 99 without items"));
	assert_non_null(strstr(big, "... and 36 more\n"));
	hetpart_plan_free(pl);
	pl = plan(1, 1, 1);
	hetpart_plan_print(pl, big, 20000);
	assert_memory_equal(big, "1 item over 1 processor, ", 25);
	free(big);
	hetpart_plan_free(pl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accessors),
		cmocka_unit_test(about_nothing),
		cmocka_unit_test(hash),
		cmocka_unit_test(text),
	};
	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
