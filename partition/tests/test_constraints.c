/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_constraints.c - minimums, capacities and multiples of a quantum together: every exact
 * method against all plans that keep them. By speeds and with a cost each; refusals. */
#include "tests.h"

#define P 3

struct limits {
	uint64_t min[P], cap[P], quantum;
};

/* Return whether a processor may have n items, with the rest included or not. */
static bool allowed(const struct limits *l, size_t i, uint64_t e, uint64_t rest, bool with_rest)
{
	uint64_t whole = with_rest ? e - rest : e;

	return e <= l->cap[i] && (!with_rest || e >= rest) && whole % l->quantum == 0 &&
	       whole >= l->min[i];
}

/* Return the best makespan of processors i and up; rest: items that one of them has in addition. */
static double brute(uint64_t n, hetpart_cost *const *c, const double *k, const struct limits *l,
		    size_t i, uint64_t rest)
{
	double best = INFINITY;

	if (i == P)
		return n || rest ? INFINITY : 0;
	for (uint64_t e = 0; e <= n; e++) {
		double t = hetpart_cost_eval(c[i], e) / k[i];
		if (allowed(l, i, e, rest, false))
			best = fmin(best, fmax(t, brute(n - e, c, k, l, i + 1, rest)));
		if (rest && allowed(l, i, e, rest, true))
			best = fmin(best, fmax(t, brute(n - e, c, k, l, i + 1, 0)));
	}
	return best;
}

static void compare(hetpart_status rc, hetpart_plan *pl, uint64_t n, const struct limits *l,
		    double want)
{
	uint64_t sum = 0, odd = 0;

	if (rc == HETPART_ERANGE) {
		assert_true(isinf(want));
		return;
	}
	assert_int_equal(rc, HETPART_OK);
	for (size_t i = 0; i < P; i++) {
		uint64_t e = hetpart_plan_share(pl, i);
		assert_in_range(e, l->min[i], l->cap[i]);
		odd += e % l->quantum != 0;
		sum += e;
	}
	assert_true(odd <= 1);
	assert_int_equal(sum, n);
	NEAR(hetpart_plan_makespan(pl), want, 1e-13);
	hetpart_plan_free(pl);
}

static hetpart_cost *some_cost(uint64_t *seed, bool rising)
{
	hetpart_point line[] = { { 3, 1 }, { 5, 7 }, { 9, 8 } };
	double t[40], at = 0;
	hetpart_cost *c;

	for (size_t i = 0; i < LEN(t); i++)
		t[i] = rising ? (at += (double)rnd_below(seed, 4)) : (double)rnd_below(seed, 25);
	switch (rising ? rnd_below(seed, 6) : 0) {
	case 0:
		OK(hetpart_cost_table(&c, t, LEN(t), 1, &err));
		break;
	case 1:
		OK(hetpart_cost_nlogn(&c, 1, &err));
		break;
	case 2:
		OK(hetpart_cost_linear(&c, 1, &err));
		break;
	case 3:
		OK(hetpart_cost_power(&c, .5 + 2 * rnd_real(seed), 1, &err));
		break;
	case 4:
		OK(hetpart_cost_piecewise(&c, line, LEN(line), 1, &err));
		break;
	default:
		OK(hetpart_cost_nlog2n1(&c, 1, &err));
	}
	return c;
}

/* Check every method that fits, with a cost each, or with one cost and speeds. */
static void check(uint64_t n, hetpart_cost *const *c, const double *k, bool rising,
		  const struct limits *l)
{
	static const hetpart_method methods[] = { HETPART_METHOD_EXACT, HETPART_METHOD_DP,
						  HETPART_METHOD_THRESHOLD, HETPART_METHOD_BITSET };
	bool one = c[0] == c[1];
	double want = brute(n, c, k, l, 0, n % l->quantum);

	for (size_t m = 0; m < LEN(methods); m++) {
		hetpart_opts o = HETPART_OPTS_INIT;
		hetpart_plan *pl;
		hetpart_status rc;
		o.method = methods[m];
		o.capacities = l->cap;
		o.minimums = l->min;
		o.quantum = l->quantum;
		if ((o.method == HETPART_METHOD_THRESHOLD && !rising) ||
		    (o.method == HETPART_METHOD_BITSET && o.quantum > 1))
			continue;
		rc = one ? hetpart_share_create(&pl, n, k, P, c[0], &o, &err)
			 : hetpart_share_unrelated_create(&pl, n, (const hetpart_cost *const *)c, P,
							  &o, &err);
		compare(rc, pl, n, l, want);
	}
}

static void best_of_all_plans(void **state)
{
	uint64_t seed = 31;

	(void)state;
	for (int round = 0; round < rounds(3000); round++) {
		struct limits l = { .quantum = round % 2 ? 1 : 2 + rnd_below(&seed, 5) };
		bool rising = round % 4 < 3, one = rnd_below(&seed, 2);
		uint64_t n = rnd_below(&seed, 30);
		hetpart_cost *c[P];
		double k[P];
		for (size_t i = 0; i < P; i++) {
			l.min[i] = rnd_below(&seed, 2) ? rnd_below(&seed, n / 2 + 1) : 0;
			l.cap[i] = l.min[i] + (rnd_below(&seed, 2) ? rnd_below(&seed, 20) : 40);
			k[i] = one ? 1 + 8 * rnd_real(&seed) : 1;
			c[i] = one && i ? c[0] : some_cost(&seed, rising);
		}
		check(n, c, k, rising, &l);
		for (size_t i = 0; i < (one ? 1 : P); i++)
			hetpart_cost_free(c[i]);
	}
}

/* Plan for enough processors, most of them at their minimum, that the initial rounding is used. */
static void many_processors(void **state)
{
	enum { MANY = 5000 };
	static double k[MANY];
	static uint64_t min[MANY];
	uint64_t seed = 7, n = 1000000;
	hetpart_opts o = HETPART_OPTS_INIT, by = HETPART_OPTS_INIT;
	hetpart_plan *pl, *other;
	hetpart_cost *c;

	(void)state;
	OK(hetpart_cost_nlogn(&c, 1, &err));
	for (size_t i = 0; i < MANY; i++) {
		k[i] = 1 + 99 * rnd_real(&seed);
		min[i] = 100 + rnd_below(&seed, 50);
	}
	o.minimums = by.minimums = min;
	by.method = HETPART_METHOD_THRESHOLD;
	OK(hetpart_share_create(&pl, n, k, MANY, c, &o, &err));
	OK(hetpart_share_create(&other, n, k, MANY, c, &by, &err));
	NEAR(hetpart_plan_makespan(pl), hetpart_plan_makespan(other), 1e-13);
	for (size_t i = 0; i < MANY; i++)
		assert_true(hetpart_plan_share(pl, i) >= min[i]);
	hetpart_plan_free(pl);
	hetpart_plan_free(other);
	hetpart_cost_free(c);
}

/* Check that the others still end together if one processor's minimum decides the makespan. */
static void the_others_end_together(void **state)
{
	const double k[] = { 1, 2, 2 };
	const uint64_t min[] = { 500, 0, 0 };
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_cost *c;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_cost_linear(&c, 1, &err));
	o.minimums = min;
	for (o.method = HETPART_METHOD_EXACT; o.method <= HETPART_METHOD_THRESHOLD;
	     o.method += HETPART_METHOD_THRESHOLD) {
		OK(hetpart_share_create(&pl, 900, k, 3, c, &o, &err));
		assert_int_equal(hetpart_plan_share(pl, 0), 500);
		assert_int_equal(hetpart_plan_share(pl, 1), 200);
		hetpart_plan_free(pl);
	}
	hetpart_cost_free(c);
}

static void refusals(void **state)
{
	const double k[] = { 1, 2 };
	const uint64_t min[] = { 3, 4 }, cap[] = { 2, 9 };
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_cost *c;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_cost_nlogn(&c, 1, &err));
	o.minimums = min;
	assert_int_equal(hetpart_share_create(&pl, 6, k, 2, c, &o, &err), HETPART_ERANGE);
	assert_non_null(strstr(err.text, "the minimums take more than the '6' items"));
	o.quantum = 4;
	assert_int_equal(hetpart_share_create(&pl, 7, k, 2, c, &o, &err), HETPART_ERANGE);
	assert_non_null(strstr(err.text, "the '1' whole multiples of the quantum"));
	o.quantum = 0;
	o.capacities = cap;
	assert_int_equal(hetpart_share_create(&pl, 8, k, 2, c, &o, &err), HETPART_ERANGE);
	assert_non_null(strstr(err.text, "minimum of processor 0 is more than its capacity"));
	o.capacities = NULL;
	for (int m = HETPART_METHOD_TAYLOR; m <= HETPART_METHOD_PROPORTIONAL; m++) {
		o.method = (hetpart_method)m;
		assert_int_equal(hetpart_share_create(&pl, 9, k, 2, c, &o, &err), HETPART_EINVAL);
		assert_non_null(strstr(err.text, "does not support minimums"));
	}
	hetpart_cost_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_of_all_plans),
		cmocka_unit_test(many_processors),
		cmocka_unit_test(the_others_end_together),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests_name("constraints", tests, NULL, NULL);
}
