/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_work.c - the cost of a plan of very many processors, counted and not timed. It is
 * logarithms, which are called through a function of this program that counts. And its shares
 * against GSL's Lambert W. */
#define _GNU_SOURCE 1 /* RTLD_NEXT */
#include "tests/tests.h"

#include <dlfcn.h>
#include <gsl/gsl_sf_lambert.h>

static long logs;

static void *next_of(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

double log(double x)
{
	static double (*real)(double);

	if (!real)
		*(void **)&real = next_of("log");
	logs++;
	return real(x);
}

#define P 100000

static double k[P];

static hetpart_plan *plan(size_t p, uint64_t items, hetpart_method method)
{
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_cost *nlogn;
	hetpart_plan *pl;

	o.method = method;
	OK(hetpart_cost_nlogn(&nlogn, 1, &err));
	logs = 0;
	OK(hetpart_share_create(&pl, items, k, p, nlogn, &o, &err));
	hetpart_cost_free(nlogn);
	return pl;
}

/* Check that a plan needs two logarithms for each processor, one for its real and one for its
 * whole share. Those that may take one of the last items need few more. If all are alike, two are
 * enough. */
static void few_logarithms(void **state)
{
	const double widest[] = { 0, 1, 5, 30 }; /* natural logarithm of fastest to slowest */
	uint64_t seed = 5;

	(void)state;
	for (size_t w = 0; w < LEN(widest); w++) {
		for (size_t i = 0; i < P; i++)
			k[i] = exp(widest[w] * rnd_real(&seed));
		hetpart_plan_free(plan(P, UINT64_C(1) << 40, HETPART_METHOD_EXACT));
		if (logs > 4 * P)
			fail_msg("speeds over e^%g: %ld logarithms for %d processors", widest[w],
				 logs, P);
	}
}

/* Check that formulas are quick: one logarithm of a speed, two for Theorem 2. The real share, the
 * whole share and, for a few processors, the next item need one each. */
static void few_logarithms_by_formula(void **state)
{
	const struct {
		hetpart_method method;
		long most;
	} row[] = { { HETPART_METHOD_PROPORTIONAL, 4 },
		    { HETPART_METHOD_TAYLOR, 4 },
		    { HETPART_METHOD_ASYMPTOTIC, 5 } };
	const double widest[] = { 1, 2, 5 };
	uint64_t seed = 7;

	(void)state;
	for (size_t w = 0; w < LEN(widest); w++) {
		for (size_t i = 0; i < P; i++)
			k[i] = exp(widest[w] * rnd_real(&seed));
		for (size_t r = 0; r < LEN(row); r++)
			for (int bits = 27; bits <= 40; bits += 13) {
				hetpart_plan_free(plan(P, UINT64_C(1) << bits, row[r].method));
				if (logs > row[r].most * P)
					fail_msg("speeds over e^%g, method %d: %ld logarithms for "
						 "%d processors",
						 widest[w], (int)row[r].method, logs, P);
			}
	}
}

/* Check the table of [S4]: the shares of n ln n items for k = 1, 2, .. by GSL's W at the time of
 * the plan. Sizes, numbers of processors and ratios of speed vary. */
static void shares_as_gsl_has_them(void **state)
{
	const double widest[] = { 0, 1, 5, 30 };
	const size_t procs[] = { 1, 2, 16, 17, 300, 5000 };
	uint64_t seed = 6;

	(void)state;
	for (size_t w = 0; w < LEN(widest); w++)
		for (size_t j = 0; j < LEN(procs); j++)
			for (int bits = 14; bits <= 62; bits += 12) {
				for (size_t i = 0; i < procs[j]; i++)
					k[i] = exp(widest[w] * rnd_real(&seed));
				hetpart_plan *pl =
					plan(procs[j], UINT64_C(1) << bits, HETPART_METHOD_EXACT);
				double t = hetpart_plan_real_makespan(pl);
				for (size_t i = 0; i < procs[j]; i++) {
					double y = t * k[i], x = y / gsl_sf_lambert_W0(y);
					NEAR(hetpart_plan_real_share(pl, i), x, 1e-12);
				}
				hetpart_plan_free(pl);
			}
}

static long asked;

/* Return the time of n units, cheaper ones first, and count the call. */
static double counted(void *ctx, uint64_t n)
{
	const double *unit = ctx;

	asked++;
	return n > 1000000 ? *unit * (3 * (double)n - 2000000) : *unit * (double)n;
}

static hetpart_plan *unrelated(const hetpart_cost *const *costs)
{
	hetpart_opts opts = HETPART_OPTS_INIT;
	hetpart_plan *pl;

	asked = 0;
	opts.time_limit_s = INFINITY; /* on a busy machine as well */
	OK(hetpart_share_unrelated_create(&pl, UINT64_C(1) << 40, costs, P, &opts, &err));
	return pl;
}

/* Check that among neighbouring processors with the same cost object only one is bisected. The
 * others are evaluated only at the ends of the bracket and for the last items. The plan is as good
 * as in any other order. */
static void few_costs_of_groups(void **state)
{
	enum { GROUPS = 4 };
	double unit[GROUPS] = { 1, 1.5, 3, 0.01 };
	hetpart_cost *cost[GROUPS];
	const hetpart_cost **all = calloc(P, sizeof *all);

	(void)state;
	assert_non_null(all);
	for (size_t g = 0; g < GROUPS; g++)
		OK(hetpart_cost_callback(&cost[g], counted, &unit[g], true, 1, &err));
	for (size_t i = 0; i < P; i++)
		all[i] = cost[i % GROUPS];
	hetpart_plan *mixed = unrelated(all);
	for (size_t i = 0; i < P; i++)
		all[i] = cost[i * GROUPS / P];
	hetpart_plan *groups = unrelated(all);
	if (asked > 20L * P)
		fail_msg("%ld costs for %d processors", asked, P);
	assert_true(hetpart_plan_makespan(groups) <= hetpart_plan_makespan(mixed) &&
		    hetpart_plan_makespan(groups) >= hetpart_plan_makespan(mixed));
	hetpart_plan_free(mixed);
	hetpart_plan_free(groups);
	for (size_t g = 0; g < GROUPS; g++)
		hetpart_cost_free(cost[g]);
	free(all);
}

int main(void)
{
	const char *san = getenv("SANITIZER");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_logarithms),
		cmocka_unit_test(few_logarithms_by_formula),
		cmocka_unit_test(few_costs_of_groups),
		cmocka_unit_test(shares_as_gsl_has_them),
	};
	if (san && *san)
		return 77; /* they replace these functions */
	return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
