/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_share_limits.c - shares by the slow exact methods, processes and farms end where the caller
 * or the time says so. They have the best plan so far and a bound that holds. No time is judged:
 * searches end by the callback, or by a limit too short for any machine. */
#include "tests.h"

#include <time.h>

#include "base/part.h"

/* Stop at the call with a given number. */
struct patience {
	int calls, last;
};

static int stop_at(void *ctx)
{
	struct patience *p = ctx;

	return ++p->calls >= p->last;
}

/* Return a cost that rises and falls from each number to the next. */
static double wave(void *ctx, uint64_t n)
{
	(void)ctx;
	return n ? (double)n * 1e-3 * (2 + sin((double)n * (double)n)) : 0;
}

static double rising(void *ctx, uint64_t n)
{
	(void)ctx;
	return (double)n * (double)n;
}

#define P 3

static const double speeds[P] = { 1, 2, 5 };

static hetpart_opts opts_of(hetpart_method m, struct patience *p)
{
	hetpart_opts o = HETPART_OPTS_INIT;

	o.method = m;
	o.time_limit_s = INFINITY;
	o.stop = stop_at;
	o.stop_ctx = p;
	return o;
}

static double optimum(uint64_t n, const hetpart_cost *c)
{
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_plan *pl;
	double best;

	o.method = HETPART_METHOD_BITSET;
	o.time_limit_s = INFINITY;
	OK(hetpart_share_create(&pl, n, speeds, P, c, &o, &err));
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_OK);
	best = hetpart_plan_makespan(pl);
	hetpart_plan_free(pl);
	return best;
}

static uint64_t sum_of(const hetpart_plan *pl)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < hetpart_plan_nprocs(pl); i++)
		sum += hetpart_plan_share(pl, i);
	return sum;
}

/* Check that BITSET has a plan wherever the callback stops it, and that its bounds close in on the
 * optimum. */
static void bitset_ends_with_a_bound(void **state)
{
	const uint64_t n = 20000;
	hetpart_cost *c;
	hetpart_plan *pl;
	double best;
	int bounded = 0, blocks = 0, step = rounds(100) < 100 ? 80 : 20;

	(void)state;
	OK(hetpart_cost_callback(&c, wave, NULL, false, 1, &err));
	best = optimum(n, c);
	for (int last = 1;; last += step) {
		struct patience p = { 0, last };
		hetpart_opts o = opts_of(HETPART_METHOD_BITSET, &p);
		hetpart_status why;
		OK(hetpart_share_create(&pl, n, speeds, P, c, &o, &err));
		assert_int_equal(sum_of(pl), n);
		assert_true(hetpart_plan_makespan(pl) >= best);
		why = hetpart_plan_stopped(pl);
		if (why == HETPART_OK)
			break;
		assert_int_equal(why, HETPART_ECANCEL);
		if (strstr(hetpart_plan_method(pl), "blocks")) {
			blocks++;
			assert_true(isnan(hetpart_plan_lower_bound(pl)));
			assert_true(hetpart_plan_makespan(pl) < 1.2 * best);
		} else {
			bounded++;
			assert_true(hetpart_plan_lower_bound(pl) <= best);
		}
		hetpart_plan_free(pl);
	}
	assert_true(hetpart_plan_makespan(pl) == best && bounded > 0 && blocks > 0);
	hetpart_plan_free(pl);
	hetpart_cost_free(c);
}

struct gaps {
	int calls;
	double last_s, sum_s, most_s;
};

/* Measure the processor time from one call to the next; the last call cancels. */
static int measure_gap(void *ctx)
{
	struct gaps *g = ctx;
	struct timespec t;
	double now_s, gap_s;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	now_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
	gap_s = g->calls ? now_s - g->last_s : 0;
	g->last_s = now_s;
	g->sum_s += g->calls < 40 ? gap_s : 0;
	g->most_s = fmax(g->most_s, gap_s);
	return ++g->calls == 60;
}

/* Check with a million items that the callback is called as often while they are put in order as
 * while costs are evaluated: 48 times. */
static void bitset_asks_all_the_time(void **state)
{
	enum { N = 1000000 };
	double *values = calloc(N + 1, sizeof *values);
	struct gaps g = { 0, 0, 0, 0 };
	struct patience none = { 0, 0 };
	hetpart_opts o = opts_of(HETPART_METHOD_BITSET, &none);
	uint64_t seed = 4;
	hetpart_cost *c;
	hetpart_plan *pl;

	(void)state;
	assert_non_null(values);
	for (size_t i = 1; i <= N; i++)
		values[i] = (double)i * (0.5 + rnd_real(&seed));
	OK(hetpart_cost_table(&c, values, N + 1, 1, &err));
	o.stop = measure_gap;
	o.stop_ctx = &g;
	OK(hetpart_share_create(&pl, N, speeds, P, c, &o, &err));
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_ECANCEL);
	if (g.most_s > g.sum_s)
		fail_msg("%g s without a call, %g s for 40 before", g.most_s, g.sum_s);
	hetpart_plan_free(pl);
	hetpart_cost_free(c);
	free(values);
}

/* Check that increasing costs reach their optimum by another method. */
static void increasing_costs_have_their_optimum(void **state)
{
	static const hetpart_method methods[] = { HETPART_METHOD_BITSET, HETPART_METHOD_DP };
	hetpart_cost *c;
	hetpart_plan *pl;
	double best;

	(void)state;
	OK(hetpart_cost_callback(&c, rising, NULL, true, 1, &err));
	best = optimum(5000, c);
	for (size_t k = 0; k < LEN(methods); k++) {
		struct patience p = { 0, 2 };
		hetpart_opts o = opts_of(methods[k], &p);
		OK(hetpart_share_create(&pl, 5000, speeds, P, c, &o, &err));
		assert_int_equal(hetpart_plan_stopped(pl), HETPART_ECANCEL);
		assert_int_equal(p.calls, 2);
		assert_string_equal(hetpart_plan_method(pl), "threshold");
		assert_true(hetpart_plan_makespan(pl) == best);
		assert_true(hetpart_plan_lower_bound(pl) == best);
		hetpart_plan_free(pl);
	}
	hetpart_cost_free(c);
}

/* Stop the exact method for increasing costs at each of its checks in turn. All plans add up, and
 * the optimum is between their bound and their makespan, which comes near. */
static void threshold_is_stopped(void **state)
{
	double best, off = INFINITY;
	hetpart_cost *c;
	int stops = 0;

	(void)state;
	OK(hetpart_cost_callback(&c, rising, NULL, true, 1, &err));
	best = optimum(5000, c);
	for (bool ended = true; ended; stops++) {
		struct patience p = { 0, stops + 1 };
		hetpart_opts o = opts_of(HETPART_METHOD_EXACT, &p);
		hetpart_plan *pl;
		OK(hetpart_share_create(&pl, 5000, speeds, P, c, &o, &err));
		ended = hetpart_plan_stopped(pl) == HETPART_ECANCEL;
		assert_int_equal(hetpart_plan_stopped(pl), ended ? HETPART_ECANCEL : HETPART_OK);
		assert_int_equal(p.calls >= stops + 1, ended);
		assert_int_equal(sum_of(pl), 5000);
		assert_true(hetpart_plan_lower_bound(pl) <= best);
		assert_true(hetpart_plan_makespan(pl) >= best);
		if (ended)
			off = hetpart_plan_makespan(pl) / best - 1;
		else
			assert_true(hetpart_plan_lower_bound(pl) == best);
		hetpart_plan_free(pl);
	}
	assert_true(stops > 2 && off < 1);
	hetpart_cost_free(c);
}

/* Plan a problem that would take hours, with a very short limit. */
static void time_ends_the_dynamic_programme(void **state)
{
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_cost *c;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_cost_power(&c, 1.5, 1, &err));
	const hetpart_cost *costs[P] = { c, c, c };
	o.method = HETPART_METHOD_DP;
	o.time_limit_s = 0.01;
	OK(hetpart_share_unrelated_create(&pl, 5000000, costs, P, &o, &err));
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_ETIME);
	assert_int_equal(sum_of(pl), 5000000);
	hetpart_plan_free(pl);
	o.quantum = 7;
	OK(hetpart_share_unrelated_create(&pl, 5000000, costs, P, &o, &err));
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_ETIME);
	assert_string_equal(hetpart_plan_method(pl), "threshold, quantised");
	hetpart_plan_free(pl);
	o.time_limit_s = NAN;
	assert_int_equal(hetpart_share_unrelated_create(&pl, 5, costs, P, &o, &err),
			 HETPART_EINVAL);
	o = (hetpart_opts)HETPART_OPTS_INIT;
	o.time_limit_s = -1;
	assert_int_equal(hetpart_share_create(&pl, 5, speeds, P, c, &o, &err), HETPART_EINVAL);
	hetpart_cost_free(c);
}

/* Allow one division of 30000 items, which no blocks make. */
static double one_way(void *ctx, uint64_t n)
{
	(void)ctx;
	return n == 0 || n == 12345 || n == 17655 ? (double)n : INFINITY;
}

static void no_plan_in_time_is_told(void **state)
{
	struct patience p = { 0, 1 };
	hetpart_opts o = opts_of(HETPART_METHOD_BITSET, &p);
	hetpart_cost *c;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_cost_callback(&c, one_way, NULL, false, 1, &err));
	assert_int_equal(hetpart_share_create(&pl, 30000, speeds, 2, c, &o, &err), HETPART_ECANCEL);
	assert_null(pl);
	assert_non_null(strstr(err.text, "before there was any plan"));
	hetpart_cost_free(c);
}

/* Check that a stopped search gives the best of the numbers up to another one. */
static void numbers_of_processes(void **state)
{
	const double ratings[] = { 1, sqrt(2), sqrt(5) };
	struct patience p = { 0, 2 };
	hetpart_limits limits = HETPART_LIMITS_INIT;
	hetpart_plan *pl;

	(void)state;
	limits.time_limit_s = INFINITY;
	limits.stop = stop_at;
	limits.stop_ctx = &p;
	OK(hetpart_emulate_best_within(&pl, ratings, 3, HETPART_EMULATE_MAX, &limits, &err));
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_ECANCEL);
	assert_int_equal(p.calls, 2);
	assert_in_range(hetpart_plan_items(pl), 100, BUDGET_STRIDE);
	assert_true(hetpart_emulate_efficiency(pl, ratings) > 0.999);
	hetpart_plan_free(pl);
	OK(hetpart_emulate_best_within(&pl, ratings, 3, 100, NULL, &err));
	assert_int_equal(hetpart_plan_stopped(pl), HETPART_OK);
	hetpart_plan_free(pl);
	limits.time_limit_s = -1;
	assert_int_equal(hetpart_emulate_best_within(&pl, ratings, 3, 9, &limits, &err),
			 HETPART_EINVAL);
	assert_null(pl);
	limits.struct_size = 1;
	assert_int_equal(hetpart_emulate_best_within(&pl, ratings, 3, 9, &limits, &err),
			 HETPART_EINVAL);
}

/* Stop farms of a thousand million chunks. */
static void farms(void **state)
{
	struct patience p = { 0, 3 };
	hetpart_limits limits = HETPART_LIMITS_INIT;
	hetpart_worker worker = { NULL, NULL };
	hetpart_cost *c;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_cost_linear(&c, 1, &err));
	worker.compute = c;
	limits.stop = stop_at;
	limits.stop_ctx = &p;
	limits.time_limit_s = INFINITY;
	assert_int_equal(hetpart_farm_trace_within(&pl, 1000000000, &worker, 1, HETPART_CHUNK_FIXED,
						   1, NULL, NULL, &limits, &err),
			 HETPART_ECANCEL);
	assert_null(pl);
	limits.stop = NULL;
	limits.time_limit_s = 0.01;
	assert_int_equal(hetpart_farm_trace_within(&pl, 1000000000, &worker, 1, HETPART_CHUNK_FIXED,
						   1, NULL, NULL, &limits, &err),
			 HETPART_ETIME);
	hetpart_cost_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bitset_ends_with_a_bound),
		cmocka_unit_test(bitset_asks_all_the_time),
		cmocka_unit_test(increasing_costs_have_their_optimum),
		cmocka_unit_test(threshold_is_stopped),
		cmocka_unit_test(time_ends_the_dynamic_programme),
		cmocka_unit_test(no_plan_in_time_is_told),
		cmocka_unit_test(numbers_of_processes),
		cmocka_unit_test(farms),
	};
	return cmocka_run_group_tests_name("share limits", tests, NULL, NULL);
}
