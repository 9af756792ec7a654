/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_proportional.c - shares by speed before rounding, N k/K within capacities. They are
 * compared with a reference in long double, which has more range and digits than the planner's
 * doubles. Also with values from a computation in rational numbers. */
#include "tests/tests.h"

#include <float.h>

#include "base/part.h"

enum { MOST = 1000 };

/* Compute N k/K. Processors over their capacity get it and leave, until none is over. */
static void reference(uint64_t n, const double *k, size_t p, const uint64_t *caps, long double *x)
{
	bool full[MOST] = { false }, again = true;

	while (again) {
		long double rest = n, sum = 0, fastest = 0;
		again = false;
		for (size_t i = 0; i < p; i++)
			if (full[i])
				rest -= caps[i];
			else
				fastest = fmaxl(fastest, k[i]);
		if (rest <= 0)
			return; /* what the others have is less than a digit of it */
		for (size_t i = 0; i < p; i++)
			sum += full[i] ? 0 : k[i] / fastest;
		for (size_t i = 0; i < p; i++) {
			x[i] = full[i] ? caps[i] : rest * (k[i] / fastest / sum);
			if (!full[i] && caps && x[i] >= caps[i]) {
				x[i] = caps[i];
				full[i] = again = true;
			}
		}
	}
}

/* Check that a share is as near as a double can be. */
static void near_double(double got, long double want, const char *what)
{
	if (!(fabsl(got - want) <= 2 * DBL_EPSILON * want + 0x1p-1074L))
		fail_msg("%s is %.17g, want %.17Lg", what, got, want);
}

static uint64_t draw_items(uint64_t *seed)
{
	return 1 + (rnd(seed) >> (1 + rnd_below(seed, 60)));
}

/* Draw capacities that bind, that hold exactly all, or that leave hardly anything to the others. */
static void draw_caps(uint64_t *seed, uint64_t n, size_t p, uint64_t *caps)
{
	uint64_t room = 0;

	for (size_t i = 0; i < p; i++) {
		switch (rnd_below(seed, 4)) {
		case 0:
			caps[i] = n / p + rnd_below(seed, 2);
			break;
		case 1:
			caps[i] = rnd_below(seed, n) + 1;
			break;
		case 2:
			caps[i] = rnd_below(seed, 3);
			break;
		default:
			caps[i] = n - rnd_below(seed, n < 1000 ? n : 1000);
		}
		room = add_capped(room, caps[i], n);
	}
	if (room < n)
		caps[rnd_below(seed, p)] = n;
}

static void one_plan(uint64_t *seed, double decades, size_t p, bool capped, bool linear)
{
	static double k[MOST];
	static long double x[MOST];
	static uint64_t caps[MOST];
	hetpart_opts o = HETPART_OPTS_INIT;
	uint64_t n = draw_items(seed);
	double a = linear ? 1 : 0.25 + 2 * rnd_real(seed);
	long double sum = 0, worst = 0;
	hetpart_cost *cost;
	hetpart_plan *pl;

	for (size_t i = 0; i < p; i++)
		k[i] = pow(10, decades * (rnd_real(seed) - 0.5));
	if (capped)
		draw_caps(seed, n, p, caps);
	o.capacities = capped ? caps : NULL;
	o.method = HETPART_METHOD_PROPORTIONAL;
	reference(n, k, p, o.capacities, x);
	OK(hetpart_cost_power(&cost, a, 1, &err));
	OK(hetpart_share_create(&pl, n, k, p, cost, &o, &err));
	for (size_t i = 0; i < p; i++) {
		near_double(hetpart_plan_real_share(pl, i), x[i], "a share");
		sum += hetpart_plan_real_share(pl, i);
		worst = fmaxl(worst, powl(x[i], a) / k[i]);
	}
	near_double((double)sum, n, "the sum");
	if (worst < DBL_MAX && worst > DBL_MIN)
		NEAR(hetpart_plan_real_makespan(pl), (double)worst, 1e-13);
	hetpart_plan_free(pl);
	hetpart_cost_free(cost);
}

static void against_the_reference(void **state)
{
	const double decades[] = { 0, 0.5, 6, 60, 300, 600 };
	uint64_t seed = 8;

	(void)state;
	for (int round = 0; round < rounds(40); round++)
		for (size_t d = 0; d < LEN(decades); d++)
			for (int way = 0; way < 4; way++)
				one_plan(&seed, decades[d],
					 round % 10 ? 1 + rnd_below(&seed, 60)
						    : MOST - rnd_below(&seed, 2),
					 way & 1, way & 2);
}

/* Check that a linear cost's exact plan has the same real shares. */
static void in_rational_numbers(void **state)
{
	const struct {
		uint64_t n;
		double k[4];
		uint64_t caps[4];
		double share[4];
	} row[] = {
		{ 9007199254740991,
		  { 5.132904304699632e-224, 1e-10, 1.2813521733480387e+93, 1e-320 },
		  { 0 },
		  { 3.6081487033455555e-301, 7.0294486106861042e-88, 9007199254740991, 0 } },
		{ 9223372036854775806,
		  { 3e-149, 8.5e+299, 1, 2e-320 },
		  { 2945227402992642078, 2945227402992642078, 2945227402992642078,
		    HETPART_ITEMS_MAX },
		  { 2.945227402992642e+18, 2.945227402992642e+18, 2.945227402992642e+18,
		    3.876898278768496e+17 } },
		{ 1000000,
		  { 1e-300, 1e+300, 1e-20, 1e-320 },
		  { 1000000, 999999, 1000000, 0 },
		  { 1.0000000000000001e-280, 999999, 1, 0 } },
		{ 12345678901,
		  { 0.1, 0.2, 0.7, 1e-290 },
		  { 0 },
		  { 1234567890.1000001, 2469135780.2000003, 8641975230.6999989,
		    1.2345678901000001e-280 } },
	};
	const hetpart_method method[] = { HETPART_METHOD_PROPORTIONAL, HETPART_METHOD_EXACT };
	hetpart_cost *linear;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_cost_linear(&linear, 1, &err));
	for (size_t r = 0; r < LEN(row); r++)
		for (size_t m = 0; m < LEN(method); m++) {
			hetpart_opts o = HETPART_OPTS_INIT;
			o.method = method[m];
			o.capacities = row[r].caps[0] ? row[r].caps : NULL;
			OK(hetpart_share_create(&pl, row[r].n, row[r].k, 4, linear, &o, &err));
			for (size_t i = 0; i < 4; i++)
				NEAR(hetpart_plan_real_share(pl, i), row[r].share[i], DBL_EPSILON);
			hetpart_plan_free(pl);
		}
	hetpart_cost_free(linear);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_the_reference),
		cmocka_unit_test(in_rational_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
