/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_scatter_limits.c - scatters that are large or hostile. Plans are exact if processors are
 * alike or links are in order. Otherwise they are the best that time, memory and caller allow,
 * with a bound that holds. No time is judged: searches end here by memory or by the callback. */
#include "scatter_help.h"

#define MANY 1000

static hetpart_scatter_proc procs[MANY];

static hetpart_cost *power(double exponent, double scale)
{
	hetpart_cost *c;

	OK(hetpart_cost_power(&c, exponent, scale, &err));
	return c;
}

static hetpart_cost *nlogn(double scale)
{
	hetpart_cost *c;

	OK(hetpart_cost_nlogn(&c, scale, &err));
	return c;
}

static void free_procs(size_t p)
{
	for (size_t i = 0; i < p; i++) {
		hetpart_cost_free((hetpart_cost *)procs[i].compute);
		hetpart_cost_free((hetpart_cost *)procs[i].link);
	}
}

static void add(size_t i, hetpart_cost *compute, hetpart_cost *link)
{
	procs[i] = (hetpart_scatter_proc){ compute, link };
}

static uint64_t sum_of(const hetpart_plan *pl)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < hetpart_plan_nprocs(pl); i++)
		sum += hetpart_plan_share(pl, i);
	return sum;
}

/* Check that a plan is proven, and its makespan to 1e-9. */
static void exact(uint64_t n, size_t p, double want)
{
	hetpart_plan *pl;

	OK(hetpart_scatter_create(&pl, n, procs, p, NULL, &err));
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_OK);
	assert_int_equal(sum_of(pl), n);
	assert_true(hetpart_plan_lower_bound(pl) == hetpart_plan_makespan(pl));
	NEAR(hetpart_plan_makespan(pl), want, 1e-9);
	hetpart_plan_free(pl);
	free_procs(p);
}

/* Plan for equal processors: any of them may be idle, so very many plans are nearly the best. The
 * figures come from the window method if its table is possible, otherwise from the grids. */
static void equal_processors(void **state)
{
	(void)state;
	for (size_t i = 0; i < 200; i++)
		add(i, affine(0, 1e-3), affine(1, 1e-8));
	exact(10000000, 200, 141.98942607);
	for (size_t i = 0; i < 200; i++)
		add(i, nlogn(1e-6), i < 199 ? affine(0, 1e-8) : NULL);
	exact(10000000, 200, 0.592710461801);
	for (size_t i = 0; i < MANY; i++)
		add(i, nlogn(1e-6), i < MANY - 1 ? affine(0, 1e-9) : NULL);
	exact(1000000000, MANY, 14.3218308496);
	for (size_t i = 0; i < 200; i++)
		add(i, power(0.5, 1), i < 199 ? affine(0, 1e-6) : NULL);
	exact(10000000, 200, 228.688650697);
}

/* Plan with startups of seconds to days: most processors would only delay the others. */
static void latencies_of_any_length(void **state)
{
	uint64_t s = 1;
	hetpart_plan *by_grids, *by_auto;
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;

	(void)state;
	opts.method = HETPART_SCATTER_WINDOW;
	for (size_t i = 0; i < 50; i++)
		add(i, affine(0, 1e-3 * (1 + rnd_real(&s))),
		    i < 49 ? affine(pow(10, -3 + 9 * rnd_real(&s)), 1e-8) : NULL);
	OK(hetpart_scatter_create(&by_grids, 100000, procs, 50, &opts, &err));
	OK(hetpart_scatter_create(&by_auto, 100000, procs, 50, NULL, &err));
	NEAR(hetpart_plan_makespan(by_auto), hetpart_plan_makespan(by_grids), 1e-12);
	assert_true(hetpart_plan_lower_bound(by_auto) == hetpart_plan_makespan(by_auto));
	hetpart_plan_free(by_grids);
	hetpart_plan_free(by_auto);
	free_procs(50);
}

/* Plan with links in no order, with which nearly all plans are nearly the best. */
static void hostile(size_t p)
{
	uint64_t s = 1;

	for (size_t i = 0; i < p; i++)
		add(i, nlogn(1e-6 * (1 + 3 * rnd_real(&s))),
		    i < p - 1 ? affine(0, 1e-6 * (1 + 9 * rnd_real(&s))) : NULL);
}

/* Check that a plan is not proven, but its bound is right. */
static void stopped(const hetpart_plan *pl, uint64_t n, hetpart_status why, double optimum,
		    double within)
{
	assert_int_equal(hetpart_plan_stopped(pl), why);
	assert_int_equal(sum_of(pl), n);
	assert_true(hetpart_plan_lower_bound(pl) <= optimum * (1 + 1e-12));
	assert_true(hetpart_plan_makespan(pl) >= optimum * (1 - 1e-12));
	assert_true(hetpart_plan_makespan(pl) <= within * hetpart_plan_lower_bound(pl));
}

static void little_memory_makes_a_bounded_plan(void **state)
{
	static const hetpart_scatter_method methods[] = { HETPART_SCATTER_AUTO,
							  HETPART_SCATTER_WINDOW,
							  HETPART_SCATTER_DP_INCREASING,
							  HETPART_SCATTER_DP };
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	hetpart_plan *best, *pl;

	(void)state;
	hostile(20);
	opts.method = HETPART_SCATTER_WINDOW;
	OK(hetpart_scatter_create(&best, 60000, procs, 20, &opts, &err));
	opts.max_mem_bytes = 60000;
	for (size_t k = 0; k < LEN(methods); k++) {
		opts.method = methods[k];
		OK(hetpart_scatter_create(&pl, 60000, procs, 20, &opts, &err));
		stopped(pl, 60000, HETPART_ENOMEM, hetpart_plan_makespan(best), 1.1);
		assert_string_equal(hetpart_plan_method(pl), "multires");
		hetpart_plan_free(pl);
	}
	hetpart_plan_free(best);
	free_procs(20);
}

/* Stop at the call with a given number. */
struct patience {
	int calls, last;
};

static int stop_at(void *ctx)
{
	struct patience *p = ctx;

	return ++p->calls >= p->last;
}

/* End each method by the callback, at the same point on every machine. */
static void callback_cancels(void **state)
{
	static const hetpart_scatter_method methods[] = { HETPART_SCATTER_AUTO,
							  HETPART_SCATTER_WINDOW,
							  HETPART_SCATTER_DP_INCREASING,
							  HETPART_SCATTER_DP };
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	hetpart_plan *first, *again;

	(void)state;
	hostile(40);
	opts.stop = stop_at;
	opts.time_limit_s = INFINITY;
	opts.max_mem_bytes = UINT64_C(1) << 30;
	for (size_t k = 0; k < LEN(methods); k++) {
		struct patience p = { 0, 2 };
		opts.method = methods[k];
		opts.stop_ctx = &p;
		OK(hetpart_scatter_create(&first, 1000000, procs, 40, &opts, &err));
		assert_int_equal(hetpart_plan_stopped(first), HETPART_ECANCEL);
		assert_int_equal(sum_of(first), 1000000);
		assert_in_range(p.calls, 2, 4); /* the remaining work calls it again */
		p.calls = 0;
		OK(hetpart_scatter_create(&again, 1000000, procs, 40, &opts, &err));
		assert_int_equal(hetpart_plan_hash(again), hetpart_plan_hash(first));
		hetpart_plan_free(first);
		hetpart_plan_free(again);
	}
	free_procs(40);
}

/* End FILL by the callback, with the bound of its search. */
static void callback_cancels_fill(void **state)
{
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	struct patience p = { 0, 2 };
	hetpart_plan *best, *pl;

	(void)state;
	for (size_t i = 0; i < 200; i++)
		add(i, nlogn(1e-6), affine(0, 1e-9 * (double)(i + 1)));
	opts.method = HETPART_SCATTER_FILL;
	OK(hetpart_scatter_create(&best, 10000000, procs, 200, &opts, &err));
	opts.stop = stop_at;
	opts.stop_ctx = &p;
	OK(hetpart_scatter_create(&pl, 10000000, procs, 200, &opts, &err));
	stopped(pl, 10000000, HETPART_ECANCEL, hetpart_plan_makespan(best), 2);
	hetpart_plan_free(best);
	hetpart_plan_free(pl);
	free_procs(200);
}

/* Return a cost that rises and falls, at least a thousandth for each item. */
static double wave(void *ctx, uint64_t n)
{
	(void)ctx;
	return n ? (double)n * 1e-3 * (2 + sin((double)n / 997)) : 0;
}

/* Plan costs that are not increasing: only shares of whole blocks can be found in time. */
static void any_costs_make_blocks(void **state)
{
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	struct patience p = { 0, 20 };
	hetpart_cost *c;
	hetpart_plan *pl;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		OK(hetpart_cost_callback(&c, wave, NULL, false, 1 + (double)i, &err));
		add(i, c, affine(0, 1e-6));
	}
	opts.stop = stop_at;
	opts.stop_ctx = &p;
	OK(hetpart_scatter_create(&pl, 300000, procs, 4, &opts, &err));
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_ECANCEL);
	assert_string_equal(hetpart_plan_method(pl), "dp of blocks");
	assert_int_equal(sum_of(pl), 300000);
	assert_true(hetpart_plan_makespan(pl) <
		    3 * 300 / 2); /* the first by itself: 600 and more */
	assert_true(isnan(hetpart_plan_lower_bound(pl)));
	hetpart_plan_free(pl);
	free_procs(4);
}

/* Plan a table that no machine makes in time, with a very short limit. */
static void time_limit_ends_the_table(void **state)
{
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	hetpart_plan *pl;

	(void)state;
	hostile(3);
	opts.method = HETPART_SCATTER_DP;
	opts.time_limit_s = 0.05;
	opts.max_mem_bytes = UINT64_C(1) << 31;
	OK(hetpart_scatter_create(&pl, 10000000, procs, 3, &opts, &err));
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_ETIME);
	assert_int_equal(sum_of(pl), 10000000);
	assert_true(hetpart_plan_print(pl, NULL, 0) > 0);
	hetpart_plan_free(pl);
	free_procs(3);
}

static void without_a_plan_there_is_no_reason(void **state)
{
	(void)state;
	assert_int_equal(hetpart_plan_stopped(NULL), HETPART_EINVAL);
}

static int so_many(void *ctx)
{
	return --*(int *)ctx < 0;
}

/* Plan with links whose startups and times for each item have no common order. Real shares leave
 * few whole ones, so the best plan is found and proven in few steps; plans by tables are as good.
 */
static void links_in_no_order(void **state)
{
	enum { LINKS = 200 };
	static struct problem small;
	hetpart_cost *cost[2 * LINKS];
	hetpart_scatter_proc lot[LINKS];

	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		hetpart_scatter_opts o = HETPART_SCATTER_OPTS_INIT;
		hetpart_plan *pl;
		uint64_t s = seed;
		int calls = 80;
		for (size_t i = 0; i < LINKS; i++) {
			cost[2 * i] = affine(0, 1 + 9 * rnd_real(&s));
			cost[2 * i + 1] = affine(1000 * rnd_real(&s), 1e-4 + .01 * rnd_real(&s));
			lot[i] = (hetpart_scatter_proc){ cost[2 * i], cost[2 * i + 1] };
		}
		lot[LINKS - 1].link = NULL;
		o.time_limit_s = INFINITY;
		o.stop = so_many;
		o.stop_ctx = &calls;
		OK(hetpart_scatter_create(&pl, 10000000, lot, LINKS, &o, &err));
		assert_string_equal(hetpart_plan_method(pl), "multires");
		assert_int_equal(hetpart_plan_stopped(pl), HETPART_OK);
		assert_true(hetpart_plan_lower_bound(pl) == hetpart_plan_makespan(pl));
		hetpart_plan_free(pl);
		for (size_t i = 0; i < 2 * LINKS; i++)
			hetpart_cost_free(cost[i]);
	}
	for (int r = 0; r < rounds(200); r++) {
		uint64_t s = (uint64_t)r;
		double scale = pow(10, 3 * rnd_real(&s)), share = rnd_real(&s);
		hetpart_plan *pl, *other;
		small = (struct problem){ .n = 1 + rnd_below(&s, 4000) };
		for (size_t i = 0; i < 2 + (size_t)r % 9; i++)
			add_proc(&small,
				 affine(r % 3 ? 0 : scale * rnd_real(&s), 1 + 9 * rnd_real(&s)),
				 affine(scale * rnd_real(&s), share * 4 * rnd_real(&s)));
		OK(plan_by(&pl, &small, HETPART_SCATTER_MULTIRES));
		OK(plan_by(&other, &small, HETPART_SCATTER_WINDOW));
		NEAR(hetpart_plan_makespan(pl), hetpart_plan_makespan(other), 1e-12);
		hetpart_plan_free(pl);
		hetpart_plan_free(other);
		problem_free(&small);
	}
}

/* Plan for processors that slow down at different sizes, with links that leave the port idle most
 * of the time. The bounds of fill.c leave few amounts of single items, so the plan takes few steps.
 */
static void slow_beyond_some_size(void **state)
{
	const double each = 1e6;
	hetpart_scatter_opts o = HETPART_SCATTER_OPTS_INIT;
	hetpart_plan *pl;
	uint64_t s = 7;
	int calls = 80;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		double a = 1 + 3 * rnd_real(&s), at = each * (.2 + 2 * rnd_real(&s));
		const hetpart_point bend[] = { { 0, 0 }, { at, a * at }, { 2 * at, 4 * a * at } };
		hetpart_cost *c;
		OK(hetpart_cost_piecewise(&c, bend, LEN(bend), 1, &err));
		add(i, c, affine(0, 1e-4 * rnd_real(&s)));
	}
	o.time_limit_s = INFINITY;
	o.stop = so_many;
	o.stop_ctx = &calls;
	OK(hetpart_scatter_create(&pl, (uint64_t)each * MANY, procs, MANY, &o, &err));
	assert_string_equal(hetpart_plan_method(pl), "multires");
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_OK);
	assert_int_equal(sum_of(pl), (uint64_t)each * MANY);
	hetpart_plan_free(pl);
	free_procs(MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_processors),
		cmocka_unit_test(latencies_of_any_length),
		cmocka_unit_test(little_memory_makes_a_bounded_plan),
		cmocka_unit_test(callback_cancels),
		cmocka_unit_test(callback_cancels_fill),
		cmocka_unit_test(any_costs_make_blocks),
		cmocka_unit_test(time_limit_ends_the_table),
		cmocka_unit_test(without_a_plan_there_is_no_reason),
		cmocka_unit_test(links_in_no_order),
		cmocka_unit_test(slow_beyond_some_size),
	};
	return cmocka_run_group_tests_name("scatter limits", tests, NULL, NULL);
}
