/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_scatter_args.c - arguments that the scatter calls refuse, and why; callbacks that misbehave;
 * estimates of memory. */
#include "scatter_help.h"

static double lying(void *ctx, uint64_t n)
{
	return n == 3 ? *(const double *)ctx : (double)n;
}

static void callbacks_that_misbehave(void **state)
{
	double bad[] = { NAN, -1, -INFINITY };
	hetpart_plan *pl = (void *)bad;

	(void)state;
	for (size_t k = 0; k < LEN(bad); k++)
		for (int m = HETPART_SCATTER_AUTO; m <= HETPART_SCATTER_MULTIRES; m++) {
			struct problem pr = { .n = 3 };
			hetpart_cost *c;
			OK(hetpart_cost_callback(&c, lying, &bad[k], true, 1, &err));
			add_proc(&pr, c, affine(0, 0));
			add_proc(&pr, affine(0, 1), NULL);
			assert_int_equal(plan_by(&pl, &pr, (hetpart_scatter_method)m),
					 HETPART_EINVAL);
			assert_null(pl);
			assert_non_null(strstr(err.text, "a cost of processor 0 gives time '"));
			problem_free(&pr);
		}
}

/* Break the promise to rise. */
static double restless(void *ctx, uint64_t n)
{
	uint64_t s = *(const uint64_t *)ctx * 1000 + n;

	return n && rnd_below(&s, 50) ? (double)rnd_below(&s, 100) : n ? INFINITY : 0;
}

/* Check that a broken promise costs the optimum, but never the sum of the shares or a wild access.
 */
static void broken_promises(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(600); seed++) {
		uint64_t s = seed, ctx[8];
		struct problem pr = { .n = rnd_below(&s, 300) };
		for (size_t i = 0; i < 8; i++) {
			hetpart_cost *comp, *link;
			ctx[i] = seed * 8 + i;
			OK(hetpart_cost_callback(&comp, restless, &ctx[i], true, 1, &err));
			if (seed % 2)
				link = affine(1, .5);
			else
				OK(hetpart_cost_callback(&link, restless, &ctx[7 - i], true, 1,
							 &err));
			add_proc(&pr, comp, link);
		}
		for (int m = HETPART_SCATTER_DP; m <= HETPART_SCATTER_GREEDY; m++) {
			hetpart_plan *pl;
			uint64_t sum = 0;
			hetpart_status rc = plan_by(&pl, &pr, (hetpart_scatter_method)m);
			if (rc != HETPART_OK) {
				assert_null(pl);
				assert_true(rc == HETPART_ERANGE || rc == HETPART_EINVAL);
				continue;
			}
			for (size_t i = 0; i < pr.p; i++)
				sum += hetpart_plan_share(pl, i);
			assert_int_equal(sum, pr.n);
			hetpart_plan_free(pl);
		}
		problem_free(&pr);
	}
}

static void falls(struct problem *pr)
{
	double v[] = { 0, 5, 1, 2 };
	hetpart_cost *c;

	OK(hetpart_cost_table(&c, v, 4, 1, &err));
	*pr = (struct problem){ .n = 3 };
	add_proc(pr, c, affine(0, 1));
	OK(hetpart_cost_table(&c, v, 4, 1, &err));
	add_proc(pr, affine(0, 1), c);
}

static void costs_must_fit_the_method(void **state)
{
	static const struct {
		hetpart_scatter_method m;
		const char *text;
	} bad[] = {
		{ HETPART_SCATTER_DP_INCREASING, "needs increasing costs" },
		{ HETPART_SCATTER_WINDOW, "needs affine link and increasing compute costs" },
		{ HETPART_SCATTER_MULTIRES, "needs increasing costs" },
		{ HETPART_SCATTER_LP, "needs affine costs" },
		{ HETPART_SCATTER_CLOSED, "needs linear costs" },
		{ HETPART_SCATTER_ALL_AT_ONCE, "needs affine costs" },
		{ HETPART_SCATTER_TWO_PASS, "needs affine costs" },
		{ HETPART_SCATTER_GREEDY, "needs increasing costs" },
		{ (hetpart_scatter_method)55, "'55' is not a scatter method" },
	};
	struct problem pr;
	hetpart_plan *pl;

	(void)state;
	falls(&pr);
	for (size_t k = 0; k < LEN(bad); k++) {
		assert_int_equal(plan_by(&pl, &pr, bad[k].m), HETPART_EINVAL);
		if (!strstr(err.text, bad[k].text))
			fail_msg("'%s' lacks '%s'", err.text, bad[k].text);
	}
	OK(plan_by(&pl, &pr, HETPART_SCATTER_AUTO));
	assert_string_equal(hetpart_plan_method(pl), "dp");
	hetpart_plan_free(pl);
	problem_free(&pr);
}

static void invalid_arguments(void **state)
{
	struct problem pr = s0_problem(false, 1);
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	hetpart_scatter_proc broken[2] = { pr.proc[0], pr.proc[1] };
	hetpart_plan *pl;

	(void)state;
	assert_int_equal(hetpart_scatter_create(NULL, 1, pr.proc, 16, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_scatter_create(&pl, 1, NULL, 16, NULL, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "'procs' is NULL"));
	assert_int_equal(hetpart_scatter_create(&pl, 1, pr.proc, 0, NULL, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "the number of processors is '0'"));
	assert_int_equal(hetpart_scatter_create(&pl, UINT64_MAX, pr.proc, 16, NULL, &err),
			 HETPART_ERANGE);
	broken[0].link = NULL;
	assert_int_equal(hetpart_scatter_create(&pl, 1, broken, 2, NULL, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "the link cost of processor 0 is NULL"));
	broken[1].compute = NULL;
	broken[0].link = pr.proc[0].link;
	assert_int_equal(hetpart_scatter_create(&pl, 1, broken, 2, NULL, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "the compute cost of processor 1 is NULL"));
	opts.struct_size = 4;
	assert_int_equal(hetpart_scatter_create(&pl, 1, pr.proc, 16, &opts, &err), HETPART_EINVAL);
	opts.struct_size = sizeof opts;
	opts.method = HETPART_SCATTER_DP;
	assert_int_equal(hetpart_scatter_create(&pl, UINT64_C(1) << 32, pr.proc, 16, &opts, &err),
			 HETPART_ERANGE);
	assert_non_null(strstr(err.text, "must be at most 2^32 - 2"));
	opts.time_limit_s = -1;
	assert_int_equal(hetpart_scatter_create(&pl, 1, pr.proc, 16, &opts, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "the time limit is '-1'"));
	opts.time_limit_s = NAN;
	assert_int_equal(hetpart_scatter_create(&pl, 1, pr.proc, 16, &opts, &err), HETPART_EINVAL);
	problem_free(&pr);
}

static void invalid_small_calls(void **state)
{
	struct problem pr = s0_problem(false, 1);
	const hetpart_cost *comp[2] = { pr.cost[0], pr.cost[2] };
	const hetpart_cost *link[4] = { NULL, pr.cost[1], NULL, NULL };
	double real[2] = { 1, 2 }, slack;
	size_t order[16], root;
	uint64_t n[2];
	hetpart_plan *pl;

	(void)state;
	assert_int_equal(hetpart_scatter_order(NULL, 1, pr.proc, 16, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_scatter_order(order, 1, NULL, 16, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_scatter_slack(NULL, pr.proc, 16, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_scatter_slack(&slack, pr.proc, 0, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_scatter_round(NULL, 3, real, 2, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_scatter_round(n, 3, NULL, 2, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_scatter_round(n, 3, real, 0, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_scatter_round(n, 5, real, 2, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "the real shares sum to '3': must be 5 items"));
	real[0] = -1;
	assert_int_equal(hetpart_scatter_round(n, 1, real, 2, &err), HETPART_EINVAL);
	real[0] = NAN;
	assert_int_equal(hetpart_scatter_round(n, 1, real, 2, &err), HETPART_EINVAL);
	assert_int_equal(
		hetpart_scatter_root(NULL, &root, NULL, NULL, 1, comp, link, NULL, 2, NULL, &err),
		HETPART_EINVAL);
	assert_int_equal(
		hetpart_scatter_root(&pl, NULL, NULL, NULL, 1, comp, link, NULL, 2, NULL, &err),
		HETPART_EINVAL);
	assert_int_equal(
		hetpart_scatter_root(&pl, &root, NULL, NULL, 1, comp, link, NULL, 2, NULL, &err),
		HETPART_EINVAL);
	assert_non_null(strstr(err.text, "the link from processor 1 to 0 is NULL"));
	assert_null(pl);
	link[2] = pr.cost[3], comp[1] = NULL;
	assert_int_equal(
		hetpart_scatter_root(&pl, &root, NULL, NULL, 1, comp, link, NULL, 2, NULL, &err),
		HETPART_EINVAL);
	assert_non_null(strstr(err.text, "the compute cost of processor 1 is NULL"));
	problem_free(&pr);
}

static double never(void *ctx, uint64_t n)
{
	return n ? *(const double *)ctx : 0;
}

/* Check what hetpart_scatter_root() refuses before it plans, invalid costs, and roots of which none
 * has a plan that ends. */
static void roots_that_cannot_be(void **state)
{
	double inf = INFINITY, nan = NAN;
	hetpart_cost *one = affine(0, 1), *endless, *odd;
	hetpart_plan *pl = (void *)&inf;
	size_t root;

	(void)state;
	OK(hetpart_cost_callback(&endless, never, &inf, true, 1, &err));
	OK(hetpart_cost_callback(&odd, never, &nan, true, 1, &err));
	const hetpart_cost *good[2] = { one, one }, *link[4] = { NULL, one, one, NULL };
	const hetpart_cost *bad[2] = { endless, endless }, *store[2] = { NULL, odd };
	const struct {
		const hetpart_cost *const *compute, *const *link, *const *store;
		size_t p;
		hetpart_status want;
		const char *says;
	} row[] = {
		{ NULL, link, NULL, 2, HETPART_EINVAL, "'compute' is NULL" },
		{ good, NULL, NULL, 2, HETPART_EINVAL, "'link' is NULL" },
		{ good, link, NULL, 0, HETPART_EINVAL, "the number of processors is '0'" },
		{ good, link, NULL, SIZE_MAX / 2, HETPART_EINVAL, "processors are too many" },
		{ good, link, NULL, SIZE_MAX / 8 + 1, HETPART_EINVAL, "processors are too many" },
		{ bad, link, NULL, 2, HETPART_ERANGE, "no plan ends in finite time" },
		{ good, link, store, 2, HETPART_EINVAL, "the store's cost for processor 1 is '" },
	};
	for (size_t i = 0; i < LEN(row); i++) {
		pl = (void *)&inf;
		assert_int_equal(hetpart_scatter_root(&pl, &root, NULL, NULL, 3, row[i].compute,
						      row[i].link, row[i].store, row[i].p, NULL,
						      &err),
				 row[i].want);
		assert_null(pl);
		if (!strstr(err.text, row[i].says))
			fail_msg("'%s' lacks '%s'", err.text, row[i].says);
	}
	hetpart_cost_free(one);
	hetpart_cost_free(endless);
	hetpart_cost_free(odd);
}

/* Refuse a bound for an item that has no valid time, and more items to round than possible. */
static void bounds_that_are_refused(void **state)
{
	double nan = NAN, slack = 7, real[1] = { 1 };
	hetpart_cost *one = affine(0, 1), *odd;
	uint64_t n;

	(void)state;
	OK(hetpart_cost_callback(&odd, never, &nan, true, 1, &err));
	const hetpart_scatter_proc procs[2] = { { one, odd }, { one, NULL } };
	assert_int_equal(hetpart_scatter_slack(&slack, procs, 2, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "a cost of processor 0 is '"));
	assert_true(slack == 7);
	assert_int_equal(hetpart_scatter_round(&n, UINT64_MAX, real, 1, &err), HETPART_ERANGE);
	assert_non_null(strstr(err.text, "must be at most"));
	hetpart_cost_free(one);
	hetpart_cost_free(odd);
}

static void memory_is_told(void **state)
{
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;

	(void)state;
	for (int m = HETPART_SCATTER_AUTO; m <= HETPART_SCATTER_GREEDY; m++) {
		opts.method = (hetpart_scatter_method)m;
		uint64_t bytes = hetpart_scatter_mem_bytes(1000, 16, &opts);
		assert_in_range(bytes, 1000, 2000000);
		assert_true(hetpart_scatter_mem_bytes(1000, 0, &opts) == UINT64_MAX);
		assert_true(hetpart_scatter_mem_bytes(UINT64_MAX, 1, &opts) == UINT64_MAX);
	}
	opts.method = HETPART_SCATTER_WINDOW;
	assert_in_range(hetpart_scatter_mem_bytes(817101, 16, &opts), 817101 * 60, 817101 * 120);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callbacks_that_misbehave),  cmocka_unit_test(broken_promises),
		cmocka_unit_test(costs_must_fit_the_method), cmocka_unit_test(invalid_arguments),
		cmocka_unit_test(invalid_small_calls),       cmocka_unit_test(roots_that_cannot_be),
		cmocka_unit_test(bounds_that_are_refused),   cmocka_unit_test(memory_is_told),
	};
	return cmocka_run_group_tests_name("scatter arguments", tests, NULL, NULL);
}
