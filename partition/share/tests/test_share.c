/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_share.c - shares for processors of known speed: reference values, optimality by brute
 * force, independence of scale and order, extremes, and every invalid argument. */
#include "tests/tests.h"

#include <gsl/gsl_sf_lambert.h>

#include "base/part.h"

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

/* Show that the greedy rule uses the cost; the paper gives the next item to the smallest (n + 1)/k
 * for every cost: 1.648 here. */
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

static double makespan(uint64_t n, const double *k, size_t p, const hetpart_cost *c,
		       const hetpart_opts *o)
{
	hetpart_plan *pl;
	uint64_t sum = 0;
	double worst = 0;

	OK(hetpart_share_create(&pl, n, k, p, c, o, &err));
	assert_int_equal(hetpart_plan_nprocs(pl), p);
	for (size_t i = 0; i < p; i++) {
		uint64_t share = hetpart_plan_share(pl, i);
		double t = hetpart_cost_eval(c, share) / k[i];
		NEAR(hetpart_plan_time(pl, i), t, 1e-14);
		if (o && o->capacities)
			assert_true(share <= o->capacities[i]);
		sum += share;
		worst = fmax(worst, t);
	}
	assert_int_equal(sum, n);
	NEAR(hetpart_plan_makespan(pl), worst, 1e-14);
	hetpart_plan_free(pl);
	return worst;
}

/* Check by how many percent the makespan of each approximate method exceeds the exact one, for real
 * shares, to the digits of the reference table. */
static void excess_table(void **state)
{
	double four[] = { 1, 1, 1, 1, 1.5, 1.5, 1.5, 1.5 }, pow2[] = { 1, 2, 4, 8 },
	       pow10[] = { 1, 10, 100 };
	struct {
		const double *k;
		size_t p;
		uint64_t n;
		const char *excess[3];
	} rows[] = {
		{ four, 8, 1000, { "3.48", "0.57", "0.0005" } },
		{ four, 8, 1000000, { "1.41", "0.116", "0.023" } },
		{ pow2, 4, 1000000, { "4.26", "0.21", "0.070" } },
		{ pow10, 3, 1000000, { "2.22", "0.24", "0.039" } },
	};
	hetpart_method method[] = { HETPART_METHOD_PROPORTIONAL, HETPART_METHOD_TAYLOR,
				    HETPART_METHOD_ASYMPTOTIC };

	(void)state;
	for (size_t r = 0; r < LEN(rows); r++)
		for (size_t m = 0; m < 3; m++) {
			hetpart_opts o = HETPART_OPTS_INIT;
			hetpart_plan *exact, *other;
			char got[32];
			const char *want = rows[r].excess[m];
			o.method = method[m];
			OK(hetpart_share_create(&exact, rows[r].n, rows[r].k, rows[r].p, nlogn,
						NULL, &err));
			OK(hetpart_share_create(&other, rows[r].n, rows[r].k, rows[r].p, nlogn, &o,
						&err));
			double e = hetpart_plan_real_makespan(other) /
					   hetpart_plan_real_makespan(exact) -
				   1;
			snprintf(got, sizeof got, "%.*f", (int)strlen(want) - 2, 100 * e);
			assert_string_equal(got, want);
			hetpart_plan_free(exact);
			hetpart_plan_free(other);
		}
}

/* Check that an exact plan is its own lower bound, and that no other plan has one. */
static void lower_bounds(void **state)
{
	const hetpart_method method[] = { HETPART_METHOD_EXACT, HETPART_METHOD_THRESHOLD,
					  HETPART_METHOD_BITSET, HETPART_METHOD_DP };
	const double k[] = { 1, 2.5, 7 };
	const hetpart_cost *costs[] = { nlogn, linear, nlogn };
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_plan *pl;

	(void)state;
	for (size_t i = 0; i < LEN(method); i++) {
		o.method = method[i];
		OK(hetpart_share_create(&pl, 100, k, 3, nlogn, &o, &err));
		NEAR(hetpart_plan_lower_bound(pl), hetpart_plan_makespan(pl), 0);
		hetpart_plan_free(pl);
		OK(hetpart_share_unrelated_create(&pl, 100, costs, 3, &o, &err));
		NEAR(hetpart_plan_lower_bound(pl), hetpart_plan_makespan(pl), 0);
		hetpart_plan_free(pl);
	}
	OK(hetpart_emulate_create(&pl, k, 3, 10, &err));
	NEAR(hetpart_plan_lower_bound(pl), hetpart_plan_makespan(pl), 0);
	hetpart_plan_free(pl);
	o.method = HETPART_METHOD_PROPORTIONAL;
	OK(hetpart_share_create(&pl, 100, k, 3, nlogn, &o, &err));
	assert_true(isnan(hetpart_plan_lower_bound(pl)));
	hetpart_plan_free(pl);
	o.method = HETPART_METHOD_DP;
	o.quantum = 10;
	OK(hetpart_share_create(&pl, 100, k, 3, nlogn, &o, &err));
	assert_true(isnan(hetpart_plan_lower_bound(pl)));
	hetpart_plan_free(pl);
}

/* Show that with speeds 1 and 1.5 an equal split is 24.9 % above the optimum, shares by speed 1.06
 * %. So most of the paper's gain of n ln n over the equal split is the gain of using speeds. */
static void equal_split_is_no_partner(void **state)
{
	double k[] = { 1, 1.5 };
	hetpart_opts o = HETPART_OPTS_INIT;
	uint64_t n = 10000000;

	(void)state;
	double best = makespan(n, k, 2, nlogn, NULL);
	o.method = HETPART_METHOD_PROPORTIONAL;
	NEAR(100 * (hetpart_cost_eval(nlogn, n / 2) / best - 1), 24.9, 0.002);
	NEAR(100 * (makespan(n, k, 2, nlogn, &o) / best - 1), 1.06, 0.01);
}

static double brute(uint64_t n, const double *k, size_t p, const hetpart_cost *c,
		    const uint64_t *caps)
{
	uint64_t most = caps && *caps < n ? *caps : n;
	double best = INFINITY;

	if (p == 1)
		return most < n ? INFINITY : hetpart_cost_eval(c, n) / *k;
	for (uint64_t e = 0; e <= most; e++) {
		double t = hetpart_cost_eval(c, e) / *k;
		if (t < best)
			best = fmin(best,
				    fmax(t, brute(n - e, k + 1, p - 1, c, caps ? caps + 1 : NULL)));
	}
	return best;
}

static double stairs(void *ctx, uint64_t n)
{
	uint64_t *step = ctx;
	return (double)((n + *step - 1) / *step);
}

enum { NCOSTS = 12 };

/* Create a cost of every kind, all increasing except the last one. */
static void make_costs(hetpart_cost *c[NCOSTS], uint64_t *seed)
{
	static uint64_t step = 3;
	hetpart_point pts[3];
	double tab[40], t = 0;

	for (size_t i = 0; i < 3; i++)
		pts[i] = (hetpart_point){ 2.5 * (double)(i + 1), t += rnd_real(seed) + 0.01 };
	OK(hetpart_cost_linear(&c[0], 1, &err));
	OK(hetpart_cost_nlogn(&c[1], 1, &err));
	OK(hetpart_cost_nlog2n1(&c[2], 3, &err));
	OK(hetpart_cost_power(&c[3], 0.7, 1, &err));
	OK(hetpart_cost_power(&c[4], 1.5, 1e-9, &err));
	OK(hetpart_cost_affine(&c[5], rnd_real(seed) * 4, rnd_real(seed) + 0.1, 1, &err));
	OK(hetpart_cost_affine(&c[6], 2, 0, 1, &err));
	OK(hetpart_cost_piecewise(&c[7], pts, 3, 1, &err));
	OK(hetpart_cost_callback(&c[8], stairs, &step, true, 1, &err));
	for (size_t i = 0; i < LEN(tab); i++)
		tab[i] = t += (double)rnd_below(seed, 3);
	OK(hetpart_cost_table(&c[9], tab, LEN(tab), 1, &err));
	pts[0] = (hetpart_point){ 0, rnd_real(seed) }; /* paid without items, too; then a plateau */
	pts[1].time_s = pts[0].time_s;
	pts[2].time_s = pts[0].time_s + 1;
	OK(hetpart_cost_piecewise(&c[10], pts, 3, 1, &err));
	for (size_t i = 0; i < LEN(tab); i++)
		tab[i] = (double)rnd_below(seed, 20);
	tab[39] = 0; /* never increasing */
	tab[38] = 1;
	OK(hetpart_cost_table(&c[11], tab, LEN(tab), 1, &err));
}

static void free_costs(hetpart_cost *c[NCOSTS])
{
	for (size_t i = 0; i < NCOSTS; i++)
		hetpart_cost_free(c[i]);
}

static void optimal_by_brute_force(void **state)
{
	hetpart_method method[] = { HETPART_METHOD_EXACT, HETPART_METHOD_THRESHOLD,
				    HETPART_METHOD_BITSET, HETPART_METHOD_DP };
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < rounds(1500); round++) {
		hetpart_cost *c[NCOSTS];
		size_t p = 1 + rnd_below(&seed, 4);
		uint64_t n = rnd_below(&seed, 13), caps[4], room = 0;
		double k[4];
		for (size_t i = 0; i < p; i++) {
			k[i] = round % 2 ? 1 + (double)rnd_below(&seed, 4)
					 : exp(6 * rnd_real(&seed));
			room += caps[i] = rnd_below(&seed, 8);
		}
		if (room < n)
			caps[0] += n - room;
		make_costs(c, &seed);
		for (size_t i = 0; i < NCOSTS; i++)
			for (size_t m = 0; m < LEN(method); m++) {
				hetpart_opts o = HETPART_OPTS_INIT;
				o.method = method[m];
				if (i == NCOSTS - 1 && m == 1)
					continue;
				NEAR(makespan(n, k, p, c[i], &o), brute(n, k, p, c[i], NULL),
				     1e-14);
				o.capacities = caps;
				NEAR(makespan(n, k, p, c[i], &o), brute(n, k, p, c[i], caps),
				     1e-14);
			}
		free_costs(c);
	}
}

static void methods_agree(void **state)
{
	hetpart_method method[] = { HETPART_METHOD_THRESHOLD, HETPART_METHOD_BITSET,
				    HETPART_METHOD_DP };
	uint64_t seed = 2;

	(void)state;
	for (int round = 0; round < rounds(getenv("HETSORT_LONG") ? 16 : 6); round++) {
		hetpart_cost *c[NCOSTS];
		size_t p = 2 + rnd_below(&seed, 9);
		uint64_t n = 100 + rnd_below(&seed, 400), caps[10];
		double k[10];
		for (size_t i = 0; i < p; i++) {
			k[i] = exp(3 * rnd_real(&seed));
			caps[i] = n / p + 1 + rnd_below(&seed, n);
		}
		make_costs(c, &seed);
		for (size_t i = 0; i < 9; i++)
			for (size_t m = 0; m < LEN(method); m++) {
				hetpart_opts o = HETPART_OPTS_INIT;
				o.capacities = round % 2 ? caps : NULL;
				double exact = makespan(n, k, p, c[i], &o);
				o.method = method[m];
				NEAR(makespan(n, k, p, c[i], &o), exact, 1e-14);
			}
		free_costs(c);
	}
	for (int round = 0; round < rounds(getenv("HETSORT_LONG") ? 16 : 6); round++) {
		hetpart_cost *c[NCOSTS];
		size_t p = 1 + rnd_below(&seed, 600);
		uint64_t n = rnd(&seed) >> rnd_below(&seed, 63);
		double *k = malloc(p * sizeof *k);
		n &= INT64_MAX;
		for (size_t i = 0; i < p; i++)
			k[i] = exp(5 * rnd_real(&seed));
		make_costs(c, &seed);
		for (size_t i = 0; i < 9; i++) {
			hetpart_opts o = HETPART_OPTS_INIT;
			double exact = makespan(n, k, p, c[i], &o);
			o.method = HETPART_METHOD_THRESHOLD;
			NEAR(makespan(n, k, p, c[i], &o), exact, 1e-14);
		}
		free_costs(c);
		free(k);
	}
}

/* Check real equal-time shares: T by its definition, each share by Lambert's W. */
static void equal_times(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int round = 0; round < rounds(200); round++) {
		size_t p = 1 + rnd_below(&seed, 40);
		uint64_t n = p + 1 + (rnd(&seed) >> (2 + rnd_below(&seed, 58))), left = n;
		double k[40], sum = 0, spread = round % 3 ? 3 : 30;
		hetpart_plan *pl;
		for (size_t i = 0; i < p; i++)
			k[i] = exp(spread * rnd_real(&seed));
		OK(hetpart_share_create(&pl, n, k, p, nlogn, NULL, &err));
		double t = hetpart_plan_real_makespan(pl);
		for (size_t i = 0; i < p; i++) {
			double x = hetpart_plan_real_share(pl, i);
			NEAR(x, exp(gsl_sf_lambert_W0(t * k[i])), 1e-12);
			sum += x;
			left -= (uint64_t)x;
		}
		NEAR(sum, (double)n, 1e-13);
		if (n < UINT64_C(1) << 40)
			assert_true(left < p); /* at most p - 1 items are left to round */
		assert_true(t <= hetpart_plan_makespan(pl) * (1 + 1e-13));
		hetpart_plan_free(pl);
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Find the shares for speeds times scale, reversed in order if requested, and sort them. */
static void sorted_shares(uint64_t n, const double *k, size_t p, double scale, bool reversed,
			  const hetpart_cost *c, uint64_t *share)
{
	double *scaled = malloc(p * sizeof *scaled);
	hetpart_plan *pl;

	for (size_t i = 0; i < p; i++)
		scaled[i] = scale * k[reversed ? p - 1 - i : i];
	OK(hetpart_share_create(&pl, n, scaled, p, c, NULL, &err));
	memcpy(share, hetpart_plan_shares(pl), p * sizeof *share);
	qsort(share, p, sizeof *share, by_size);
	hetpart_plan_free(pl);
	free(scaled);
}

static void scale_and_order_are_free(void **state)
{
	double scales[] = { 1e-300, 0x1p-900, 1e-7, 3, 1e10, 1e300 };
	uint64_t seed = 4;

	(void)state;
	for (int round = 0; round < rounds(40); round++) {
		hetpart_cost *c[NCOSTS];
		uint64_t n = rnd(&seed) >> (24 + rnd_below(&seed, 30)), want[32], got[32];
		size_t p = 1 + rnd_below(&seed, 32);
		double k[32];
		for (size_t i = 0; i < p; i++)
			k[i] = 1 + (double)rnd_below(&seed, round % 2 ? 5 : 1 << 20);
		make_costs(c, &seed);
		for (size_t i = 0; i < 6; i++) {
			sorted_shares(n, k, p, 1, false, c[i], want);
			sorted_shares(n, k, p, 1, true, c[i], got);
			assert_memory_equal(got, want, p * sizeof *got);
			for (size_t s = 0; s < LEN(scales); s++) {
				if (i == 0 && scales[s] != 0x1p-900 && scales[s] != 3)
					continue; /* ties of n/k move with the last bit of k */
				if (scales[s] != 0x1p-900 && round % 2)
					continue;
				sorted_shares(n, k, p, scales[s], round & 1, c[i], got);
				assert_memory_equal(got, want, p * sizeof *got);
			}
		}
		free_costs(c);
	}
}

/* Check the certificate of an optimal plan: no item could be placed below the makespan. */
static void certify(uint64_t n, const double *k, size_t p, const hetpart_cost *c)
{
	hetpart_plan *pl;
	double next = INFINITY;
	uint64_t sum = 0;

	OK(hetpart_share_create(&pl, n, k, p, c, NULL, &err));
	for (size_t i = 0; i < p; i++) {
		uint64_t share = hetpart_plan_share(pl, i);
		sum += share;
		next = fmin(next, hetpart_cost_eval(c, share + 1) / k[i]);
	}
	assert_int_equal(sum, n);
	assert_true(next >= hetpart_plan_makespan(pl) * (1 - 1e-15));
	hetpart_plan_free(pl);
}

static void extremes(void **state)
{
	uint64_t n[] = { 0,
			 1,
			 2,
			 3,
			 999,
			 1000,
			 1001,
			 UINT64_C(1) << 32,
			 UINT64_C(1) << 53,
			 (UINT64_C(1) << 62) + 1,
			 HETPART_ITEMS_MAX - 1,
			 HETPART_ITEMS_MAX };
	double wide[] = { 1e300, 1e-300, 1, 1e150 }, *k;
	size_t p = 1000, many = getenv("HETSORT_LONG") ? 1000000 : (size_t)rounds(100000);
	hetpart_cost *c[NCOSTS];
	uint64_t seed = 5;

	(void)state;
	k = malloc(many * sizeof *k);
	make_costs(c, &seed);
	for (size_t i = 0; i < many; i++)
		k[i] = 1 + 3 * rnd_real(&seed);
	for (size_t j = 0; j < LEN(n); j++)
		for (size_t i = 0; i < 9; i++) {
			certify(n[j], k, p, c[i]);
			certify(n[j], k, 1, c[i]);
			certify(n[j], k, 3, c[i]);
			if (i < 5)
				certify(n[j], wide, 4, c[i]);
		}
	for (size_t i = 0; i < 4; i++) {
		certify(HETPART_ITEMS_MAX, k, many, c[i]);
		certify(many, k, many, c[i]);
		certify(many + 1, k, many, c[i]);
		certify(many / 3, k, many, c[i]);
		certify(1000 * many, k, many, c[i]);
	}
	free_costs(c);
	free(k);
}

/* Check that f(1) = 0 gives every processor an item, however slow; n log2(n + 1) does not. */
static void slow_processors(void **state)
{
	double k[] = { 1, 1e-200, 1e-9 };
	hetpart_cost *log2;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_share_create(&pl, 1000, k, 3, nlogn, NULL, &err));
	assert_int_equal(hetpart_plan_share(pl, 1), 1);
	assert_int_equal(hetpart_plan_share(pl, 2), 1);
	hetpart_plan_free(pl);
	OK(hetpart_cost_nlog2n1(&log2, 1, &err));
	OK(hetpart_share_create(&pl, 1000, k, 3, log2, NULL, &err));
	assert_int_equal(hetpart_plan_share(pl, 0), 1000);
	hetpart_plan_free(pl);
	hetpart_cost_free(log2);
	OK(hetpart_share_create(&pl, 2, k, 3, nlogn, NULL, &err));
	NEAR(hetpart_plan_makespan(pl), 0, 0);
	assert_int_equal(hetpart_plan_share(pl, 0) + hetpart_plan_share(pl, 2), 2);
	hetpart_plan_free(pl);
}

/* Compare with the largest remainder, which gives (2, 1, 7) and ends at 1.43 instead of 1.11. */
static void dhondt(void **state)
{
	double k[] = { 1.4, 1.4, 7.2 };
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_share_create(&pl, 10, k, 3, linear, NULL, &err));
	assert_int_equal(hetpart_plan_share(pl, 0), 1);
	assert_int_equal(hetpart_plan_share(pl, 1), 1);
	assert_int_equal(hetpart_plan_share(pl, 2), 8);
	assert_string_equal(hetpart_plan_method(pl), "exact, D'Hondt");
	hetpart_plan_free(pl);
}

/* Check Theorem 1: real shares are proportional to k^(1/a). */
static void multiplicative(void **state)
{
	double k[] = { 1, 4, 9 };
	hetpart_cost *square;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_cost_power(&square, 2, 5, &err));
	OK(hetpart_share_create(&pl, 600, k, 3, square, NULL, &err));
	NEAR(hetpart_plan_real_share(pl, 0), 100, 1e-14);
	NEAR(hetpart_plan_real_share(pl, 2), 300, 1e-14);
	NEAR(hetpart_plan_real_makespan(pl), 50000, 1e-14);
	assert_int_equal(hetpart_plan_share(pl, 1), 200);
	hetpart_plan_free(pl);
	hetpart_cost_free(square);
}

static void capacities(void **state)
{
	double k[] = { 1, 2, 4 };
	uint64_t caps[] = { 100, 100, 50 }, small[] = { 10, 20, 30 };
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_plan *pl;

	(void)state;
	o.capacities = caps;
	OK(hetpart_share_create(&pl, 140, k, 3, linear, &o, &err));
	assert_int_equal(hetpart_plan_share(pl, 0), 30);
	assert_int_equal(hetpart_plan_share(pl, 1), 60);
	assert_int_equal(hetpart_plan_share(pl, 2), 50);
	NEAR(hetpart_plan_real_share(pl, 0), 30, 1e-14);
	NEAR(hetpart_plan_real_share(pl, 2), 50, 0);
	hetpart_plan_free(pl);
	o.capacities = small;
	OK(hetpart_share_create(&pl, 60, k, 3, nlogn, &o, &err));
	hetpart_plan_free(pl);
	assert_int_equal(hetpart_share_create(&pl, 61, k, 3, nlogn, &o, &err), HETPART_ERANGE);
	assert_null(pl);
	assert_string_equal(err.text, "the capacities hold '60' items of 61: 1 too few");
}

static void rounding(void **state)
{
	double k[] = { 1, 2 }, real[] = { 1.5, 2.5 }, bad[] = { 1.5, 4.5 }, nan_[] = { NAN, 4 };
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_share_round(&pl, 4, real, k, 2, nlogn, &err));
	assert_int_equal(hetpart_plan_share(pl, 0), 2); /* f(2)/1 = 1.386 < f(3)/2 = 1.648 */
	NEAR(hetpart_plan_real_share(pl, 1), 2.5, 0);
	hetpart_plan_free(pl);
	assert_int_equal(hetpart_share_round(&pl, 4, bad, k, 2, nlogn, &err), HETPART_EINVAL);
	assert_string_equal(err.text, "the shares sum to '6', not to 4");
	assert_int_equal(hetpart_share_round(&pl, 4, nan_, k, 2, nlogn, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_round(&pl, 4, NULL, k, 2, nlogn, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_round(&pl, 4, real, NULL, 2, nlogn, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_round(&pl, 4, real, k, 2, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_round(&pl, 4, real, k, 0, nlogn, &err), HETPART_EINVAL);
}

/* Use formulas and rounding on costs that they do not fit. */
static void wrong_costs(void **state)
{
	double k[] = { 1, 2 }, tab[] = { 0, 1, 2, 5 }, down[] = { 0, 3, 1 }, real[] = { 1, 2 };
	uint64_t step = 2;
	hetpart_opts prop = HETPART_OPTS_INIT, q = HETPART_OPTS_INIT;
	hetpart_cost *table, *falling, *call;
	hetpart_plan *pl;

	(void)state;
	prop.method = q.method = HETPART_METHOD_PROPORTIONAL;
	q.quantum = 4;
	OK(hetpart_cost_table(&table, tab, 4, 1, &err));
	OK(hetpart_cost_table(&falling, down, 3, 1, &err));
	OK(hetpart_cost_callback(&call, stairs, &step, true, 1, &err));
	OK(hetpart_share_create(&pl, 4, k, 2, table, &prop, &err));
	NEAR(hetpart_plan_makespan(pl), 2, 1e-15); /* 4/3 and 8/3 by speed, then 2 and 2 */
	NEAR(hetpart_plan_real_makespan(pl), (2 + 2.0 / 3 * 3) / 2, 1e-14);
	hetpart_plan_free(pl);
	OK(hetpart_share_create(&pl, 40, k, 2, call, &prop, &err));
	assert_true(isnan(hetpart_plan_real_makespan(pl)));
	hetpart_plan_free(pl);
	assert_int_equal(hetpart_share_create(&pl, 7, k, 2, table, &prop, &err), HETPART_ERANGE);
	assert_int_equal(hetpart_share_create(&pl, 3, k, 2, falling, &prop, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_create(&pl, 3, k, 2, table, &q, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_share_round(&pl, 3, real, k, 2, falling, &err), HETPART_EINVAL);
	hetpart_cost_free(table);
	hetpart_cost_free(falling);
	hetpart_cost_free(call);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greedy_uses_the_cost),
		cmocka_unit_test(lower_bounds),
		cmocka_unit_test(excess_table),
		cmocka_unit_test(equal_split_is_no_partner),
		cmocka_unit_test(optimal_by_brute_force),
		cmocka_unit_test(methods_agree),
		cmocka_unit_test(equal_times),
		cmocka_unit_test(scale_and_order_are_free),
		cmocka_unit_test(extremes),
		cmocka_unit_test(slow_processors),
		cmocka_unit_test(dhondt),
		cmocka_unit_test(multiplicative),
		cmocka_unit_test(capacities),
		cmocka_unit_test(rounding),
		cmocka_unit_test(wrong_costs),
	};
	return cmocka_run_group_tests_name("share", tests, setup, teardown);
}
