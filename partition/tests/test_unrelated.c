/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_unrelated.c - a cost for each processor: optimality by brute force for increasing and for
 * arbitrary costs, quantised shares, agreement of all methods, limits and refusals. */
#include "tests.h"

#include "base/part.h"

static double brute(uint64_t n, hetpart_cost *const *c, size_t p, const uint64_t *caps)
{
	uint64_t most = caps && *caps < n ? *caps : n;
	double best = INFINITY;

	if (p == 1)
		return most < n ? INFINITY : hetpart_cost_eval(*c, n);
	for (uint64_t e = 0; e <= most; e++) {
		double t = hetpart_cost_eval(*c, e);
		if (t < best)
			best = fmin(best,
				    fmax(t, brute(n - e, c + 1, p - 1, caps ? caps + 1 : NULL)));
	}
	return best;
}

/* Check the plan and return its makespan, or infinity if there is no plan. */
static double solve(uint64_t n, hetpart_cost *const *c, size_t p, hetpart_method m,
		    uint64_t quantum, const uint64_t *caps)
{
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_plan *pl;
	uint64_t sum = 0, broken = 0;
	double worst = 0;

	o.method = m;
	o.quantum = quantum;
	o.capacities = caps;
	hetpart_status rc =
		hetpart_share_unrelated_create(&pl, n, (const hetpart_cost *const *)c, p, &o, &err);
	if (rc == HETPART_ERANGE) {
		assert_null(pl);
		return INFINITY;
	}
	assert_int_equal(rc, HETPART_OK);
	for (size_t i = 0; i < p; i++) {
		uint64_t e = hetpart_plan_share(pl, i);
		sum += e;
		broken += quantum && e % quantum;
		worst = fmax(worst, hetpart_cost_eval(c[i], e));
		NEAR(hetpart_plan_time(pl, i), hetpart_cost_eval(c[i], e), 0);
		assert_true(!caps || e <= caps[i]);
	}
	assert_int_equal(sum, n);
	assert_true(broken <= 1);
	NEAR(hetpart_plan_makespan(pl), worst, 0);
	hetpart_plan_free(pl);
	return worst;
}

static void same(double got, double want)
{
	if (isinf(want))
		assert_true(isinf(got));
	else
		NEAR(got, want, 1e-15);
}

/* Create a random table of times: rising in steps with plateaus, or anything, with holes. */
static hetpart_cost *random_table(uint64_t *seed, size_t n, bool rising)
{
	hetpart_cost *c;
	double *t = malloc(n * sizeof *t), at = 0;

	for (size_t i = 0; i < n; i++) {
		at += (double)rnd_below(seed, 4);
		t[i] = rising ? at : (double)rnd_below(seed, 25);
		if (!rising && rnd_below(seed, 8) == 0)
			t[i] = INFINITY;
	}
	if (rnd_below(seed, 4))
		t[0] = 0;
	OK(hetpart_cost_table(&c, t, n, 1, &err));
	free(t);
	return c;
}

static void optimal_by_brute_force(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < rounds(3000); round++) {
		bool rising = round % 2;
		size_t p = 1 + rnd_below(&seed, 4);
		uint64_t n = rnd_below(&seed, 12), caps[4], *used = round % 3 ? NULL : caps;
		hetpart_cost *c[4];
		for (size_t i = 0; i < p; i++) {
			c[i] = random_table(&seed, 13, rising);
			caps[i] = n / p + rnd_below(&seed, 4) + 1;
		}
		double want = brute(n, c, p, used);
		same(solve(n, c, p, HETPART_METHOD_EXACT, 0, used), want);
		same(solve(n, c, p, HETPART_METHOD_BITSET, 0, used), want);
		same(solve(n, c, p, HETPART_METHOD_DP, 0, used), want);
		if (rising)
			same(solve(n, c, p, HETPART_METHOD_THRESHOLD, 0, used), want);
		for (size_t i = 0; i < p; i++)
			hetpart_cost_free(c[i]);
	}
}

/* Return the best of all plans in which at most one share is not a multiple of q. */
static double brute_quantised(uint64_t n, hetpart_cost *const *c, size_t p, uint64_t q, bool odd)
{
	double best = INFINITY;

	if (p == 1)
		return n % q && odd ? INFINITY : hetpart_cost_eval(*c, n);
	for (uint64_t e = 0; e <= n; e++) {
		bool breaks = e % q != 0;
		if (breaks && (odd || e % q != n % q))
			continue;
		best = fmin(best, fmax(hetpart_cost_eval(*c, e),
				       brute_quantised(n - e, c + 1, p - 1, q, odd || breaks)));
	}
	return best;
}

static void quantised(void **state)
{
	uint64_t seed = 12;

	(void)state;
	for (int round = 0; round < rounds(600); round++) {
		size_t p = 1 + rnd_below(&seed, 3);
		uint64_t n = rnd_below(&seed, 20), q = 2 + rnd_below(&seed, 5);
		hetpart_cost *c[3];
		for (size_t i = 0; i < p; i++)
			c[i] = random_table(&seed, 20, round % 2);
		double want = brute_quantised(n, c, p, q, false);
		same(solve(n, c, p, HETPART_METHOD_DP, q, NULL), want);
		same(solve(n, c, p, HETPART_METHOD_EXACT, q, NULL), want);
		for (size_t i = 0; i < p; i++)
			hetpart_cost_free(c[i]);
	}
}

static void methods_agree(void **state)
{
	uint64_t seed = 13;

	(void)state;
	for (int round = 0; round < rounds(30); round++) {
		bool rising = round % 2;
		size_t p = 2 + rnd_below(&seed, 8);
		uint64_t n = 200 + rnd_below(&seed, 500);
		hetpart_cost *c[10];
		for (size_t i = 0; i < p; i++)
			c[i] = random_table(&seed, n + 1, rising);
		double want = solve(n, c, p, HETPART_METHOD_DP, 0, NULL);
		same(solve(n, c, p, HETPART_METHOD_BITSET, 0, NULL), want);
		if (rising)
			same(solve(n, c, p, HETPART_METHOD_THRESHOLD, 0, NULL), want);
		for (size_t i = 0; i < p; i++)
			hetpart_cost_free(c[i]);
	}
}

/* Check with mixed kinds that the threshold method equals the plan by speeds, up to 2^63 - 1 items.
 */
static void costs_as_speeds(void **state)
{
	uint64_t n[] = { 5, 1000, 123456789, HETPART_ITEMS_MAX };
	double k[] = { 1, 2, 5 };

	(void)state;
	for (size_t j = 0; j < LEN(n); j++) {
		hetpart_cost *c[3], *f;
		hetpart_plan *pl;
		for (size_t i = 0; i < 3; i++)
			OK(hetpart_cost_nlogn(&c[i], 1 / k[i], &err));
		OK(hetpart_cost_nlogn(&f, 1, &err));
		OK(hetpart_share_create(&pl, n[j], k, 3, f, NULL, &err));
		NEAR(solve(n[j], c, 3, HETPART_METHOD_EXACT, 0, NULL), hetpart_plan_makespan(pl),
		     1e-14);
		hetpart_plan_free(pl);
		hetpart_cost_free(f);
		for (size_t i = 0; i < 3; i++)
			hetpart_cost_free(c[i]);
	}
}

static void memory(void **state)
{
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_cost *c;
	hetpart_plan *pl;
	double t[] = { 0, 2, 1 };

	(void)state;
	OK(hetpart_cost_table(&c, t, 3, 1, &err));
	const hetpart_cost *both[] = { c, c };
	uint64_t need = hetpart_share_unrelated_mem_bytes(4, 2, &o);
	assert_true(need > 4 * 2 * 16 && need < 4096);
	o.max_mem_bytes = 8;
	assert_int_equal(hetpart_share_unrelated_create(&pl, 4, both, 2, &o, &err), HETPART_ENOMEM);
	assert_non_null(strstr(err.text, "8 are allowed"));
	o.max_mem_bytes = need;
	OK(hetpart_share_unrelated_create(&pl, 4, both, 2, &o, &err));
	NEAR(hetpart_plan_makespan(pl), 1, 0);
	hetpart_plan_free(pl);
	o.method = HETPART_METHOD_DP;
	assert_true(hetpart_share_unrelated_mem_bytes(1000, 10, &o) >= 40000);
	assert_true(hetpart_share_unrelated_mem_bytes(HETPART_ITEMS_MAX, 10, &o) == UINT64_MAX);
	assert_true(hetpart_share_unrelated_mem_bytes(UINT64_MAX, 10, &o) == UINT64_MAX);
	o.method = HETPART_METHOD_BITSET;
	assert_true(hetpart_share_unrelated_mem_bytes(HETPART_ITEMS_MAX, SIZE_MAX, &o) ==
		    UINT64_MAX);
	o.method = HETPART_METHOD_THRESHOLD;
	assert_true(hetpart_share_unrelated_mem_bytes(HETPART_ITEMS_MAX, 10, &o) < 4096);
	hetpart_cost_free(c);
}

/* Check that increasing costs without room for a table are planned as exactly without one. */
static void memory_for_increasing_costs(void **state)
{
	static const hetpart_method methods[] = { HETPART_METHOD_BITSET, HETPART_METHOD_DP };
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_cost *c[2];
	hetpart_plan *pl, *best;

	(void)state;
	OK(hetpart_cost_nlogn(&c[0], 1, &err));
	OK(hetpart_cost_power(&c[1], 1.5, 1, &err));
	const hetpart_cost *both[] = { c[0], c[1] };
	for (size_t i = 0; i < LEN(methods); i++) {
		o.method = methods[i];
		for (o.quantum = 0; o.quantum < 16 && (o.quantum == 0 || i); o.quantum += 15) {
			o.max_mem_bytes = 0;
			OK(hetpart_share_unrelated_create(&best, 1000, both, 2, &o, &err));
			assert_int_equal(hetpart_plan_stopped(best), HETPART_OK);
			o.max_mem_bytes = 8;
			OK(hetpart_share_unrelated_create(&pl, 1000, both, 2, &o, &err));
			assert_int_equal(hetpart_plan_stopped(pl), HETPART_ENOMEM);
			assert_non_null(strstr(hetpart_plan_method(pl), "threshold"));
			NEAR(hetpart_plan_makespan(pl), hetpart_plan_makespan(best), 1e-14);
			hetpart_plan_free(best);
			hetpart_plan_free(pl);
		}
	}
	hetpart_cost_free(c[0]);
	hetpart_cost_free(c[1]);
}

static double negative(void *ctx, uint64_t n)
{
	(void)ctx;
	return -(double)n;
}

static void refusals(void **state)
{
	double t[] = { 0, 2, 1 };
	hetpart_cost *c, *neg;
	hetpart_plan *pl;
	hetpart_opts thr = HETPART_OPTS_INIT, taylor = HETPART_OPTS_INIT, q = HETPART_OPTS_INIT,
		     caps = HETPART_OPTS_INIT;
	uint64_t cap[] = { 1, 1 };

	(void)state;
	OK(hetpart_cost_table(&c, t, 3, 1, &err));
	OK(hetpart_cost_callback(&neg, negative, NULL, true, 1, &err));
	const hetpart_cost *both[] = { c, c }, *hole[] = { c, NULL }, *bad[] = { c, neg };
	thr.method = HETPART_METHOD_THRESHOLD;
	taylor.method = HETPART_METHOD_TAYLOR;
	q.method = HETPART_METHOD_BITSET;
	q.quantum = 2;
	caps.capacities = cap;
	struct {
		uint64_t n;
		const hetpart_cost *const *c;
		size_t p;
		const hetpart_opts *o;
		hetpart_status want;
		const char *says;
	} row[] = {
		{ 2, NULL, 2, NULL, HETPART_EINVAL, "'costs' is NULL" },
		{ 2, both, 0, NULL, HETPART_EINVAL, "the number of processors is '0'" },
		{ 2, hole, 2, NULL, HETPART_EINVAL, "the cost of processor 1 is NULL" },
		{ 2, bad, 2, NULL, HETPART_EINVAL, "the cost of processor 1 gives time '-1'" },
		{ 2, both, 2, &thr, HETPART_EINVAL, "needs increasing costs" },
		{ 2, both, 2, &taylor, HETPART_EINVAL, "needs one cost and speeds" },
		{ 2, both, 2, &q, HETPART_EINVAL, "does not support a quantum" },
		{ 3, both, 2, &caps, HETPART_ERANGE, "the capacities hold '2' items of 3" },
		{ 5, both, 2, NULL, HETPART_ERANGE, "no plan ends in finite time" },
		{ UINT64_MAX, both, 2, NULL, HETPART_ERANGE, "must be at most" },
	};
	for (size_t i = 0; i < LEN(row); i++) {
		pl = (hetpart_plan *)&err;
		assert_int_equal(hetpart_share_unrelated_create(&pl, row[i].n, row[i].c, row[i].p,
								row[i].o, &err),
				 row[i].want);
		assert_null(pl);
		if (!strstr(err.text, row[i].says))
			fail_msg("'%s' lacks '%s'", err.text, row[i].says);
	}
	assert_int_equal(hetpart_share_unrelated_create(NULL, 2, both, 2, NULL, &err),
			 HETPART_EINVAL);
	hetpart_cost_free(c);
	hetpart_cost_free(neg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(optimal_by_brute_force),
		cmocka_unit_test(quantised),
		cmocka_unit_test(methods_agree),
		cmocka_unit_test(costs_as_speeds),
		cmocka_unit_test(memory),
		cmocka_unit_test(memory_for_increasing_costs),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests_name("unrelated", tests, NULL, NULL);
}
