/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_weights.c - contiguous parts of items of unequal weight: the makespan of the dynamic
 * programme over all places to cut, zeros, extremes and refusals. */
#include "tests/tests.h"

#define MOST 40

/* Return the smallest makespan; best[j] belongs to the first j items on the processors so far. */
static double brute(const double *w, uint64_t n, const double *k, size_t p)
{
	double best[MOST + 1], next[MOST + 1];

	for (uint64_t j = 0; j <= n; j++)
		best[j] = j ? INFINITY : 0;
	for (size_t i = 0; i < p; i++) {
		for (uint64_t j = 0; j <= n; j++) {
			double sum = 0;
			next[j] = best[j];
			for (uint64_t from = j; from-- > 0;) {
				sum += w[from];
				next[j] = fmin(next[j], fmax(best[from], sum / k[i]));
			}
		}
		memcpy(best, next, sizeof best);
	}
	return best[n];
}

static void best_of_all_cuts(void **state)
{
	uint64_t seed = 41;

	(void)state;
	for (int round = 0; round < rounds(3000); round++) {
		uint64_t n = rnd_below(&seed, MOST + 1), sum = 0;
		size_t p = 1 + rnd_below(&seed, 6);
		double w[MOST], k[6], want;
		hetpart_plan *pl;
		for (uint64_t i = 0; i < n; i++)
			w[i] = round % 2 ? (double)rnd_below(&seed, 9) : rnd_real(&seed);
		for (size_t i = 0; i < p; i++)
			k[i] = round % 3 ? (double)(1 + rnd_below(&seed, 4)) : rnd_real(&seed) + .1;
		if (round % 10 == 9) /* times on slow processors exceed a double */
			for (size_t i = 0; i < p; i++)
				k[i] *= i == round % p ? 1e160 : pow(10, -160 * rnd_real(&seed));
		for (uint64_t i = 0; i < n && round % 20 == 19; i++)
			w[i] *= 1e160;
		want = brute(w, n, k, p);
		OK(hetpart_share_weights(&pl, w, n, k, p, &err));
		NEAR(hetpart_plan_makespan(pl), want, round % 2 && round % 10 < 9 ? 0 : 1e-14);
		assert_true(hetpart_plan_lower_bound(pl) == hetpart_plan_makespan(pl));
		for (size_t i = 0; i < p; i++) {
			double time = 0;
			for (uint64_t j = 0; j < hetpart_plan_share(pl, i); j++)
				time += w[sum + j];
			NEAR(hetpart_plan_time(pl, i), time / k[i], 1e-14);
			sum += hetpart_plan_share(pl, i);
		}
		assert_int_equal(sum, n);
		hetpart_plan_free(pl);
	}
}

static void refusals(void **state)
{
	const double w[] = { 1, 2, NAN }, huge[] = { 1e308, 1e308 }, k[] = { 1, 2 }, zero[] = { 0 };
	const double slow[] = { 1e-160, 0.5 };
	hetpart_plan *pl;

	(void)state;
	assert_int_equal(hetpart_share_weights(&pl, w, 3, k, 2, &err), HETPART_EINVAL);
	assert_string_equal(err.text,
			    "weight of item 2 is 'nan': must be a finite number, 0 or more");
	assert_int_equal(hetpart_share_weights(&pl, w, 2, zero, 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_weights(&pl, w, 2, k, 0, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_weights(&pl, NULL, 2, k, 2, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_weights(NULL, w, 2, k, 2, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_weights(&pl, huge, 2, slow, 2, &err), HETPART_ERANGE);
	assert_null(pl);
	assert_string_equal(err.text, "no plan ends in finite time");
	OK(hetpart_share_weights(&pl, huge, 2, k, 2,
				 &err)); /* on one processor they take too long */
	NEAR(hetpart_plan_makespan(pl), 1e308, 1e-15);
	hetpart_plan_free(pl);
	OK(hetpart_share_weights(&pl, zero, 1, k, 2, &err));
	assert_true(hetpart_plan_makespan(pl) == 0);
	hetpart_plan_free(pl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_of_all_cuts),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
