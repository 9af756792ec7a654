/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_wide.c - speeds, scales, exponents and capacities over the whole range of their types. The
 * planner that starts from real shares, the one that bisects on the makespan, and the two for any
 * costs share only the cost. They must find the same makespan and the same refusals. */
#include "tests.h"

/* Draw a number that is uniform in the logarithm. */
static double wide(uint64_t *seed, double most)
{
	return exp(most * (2 * rnd_real(seed) - 1));
}

static double random_speed(uint64_t *seed, uint64_t kind)
{
	switch (kind) {
	case 0:
		return 1 + 3 * rnd_real(seed);
	case 1:
		return wide(seed, 690);
	case 2:
		return wide(seed, 10);
	default:
		return ldexp(1, -(int)rnd_below(seed, 1070)); /* down to subnormal numbers */
	}
}

static hetpart_cost *random_points(uint64_t *seed, bool plateaus)
{
	hetpart_point pt[5];
	hetpart_cost *c;
	double x = 0, y = 0;

	for (size_t i = 0; i < LEN(pt); i++) {
		x += exp(20 * rnd_real(seed));
		y += plateaus && rnd_below(seed, 2) ? 0 : exp(20 * rnd_real(seed));
		pt[i] = (hetpart_point){ x, y };
	}
	OK(hetpart_cost_piecewise(&c, pt, LEN(pt), wide(seed, 100), &err));
	return c;
}

static hetpart_cost *random_cost(uint64_t *seed)
{
	double scale = wide(seed, 600);
	hetpart_cost *c = NULL;

	switch (rnd_below(seed, 8)) {
	case 0:
		OK(hetpart_cost_linear(&c, scale, &err));
		break;
	case 1:
		OK(hetpart_cost_nlogn(&c, scale, &err));
		break;
	case 2:
		OK(hetpart_cost_nlog2n1(&c, scale, &err));
		break;
	case 3:
		OK(hetpart_cost_power(&c, wide(seed, 4), 1, &err));
		break;
	case 4:
		OK(hetpart_cost_affine(&c, wide(seed, 30), wide(seed, 30), 1, &err));
		break;
	case 5:
		return random_points(seed, false);
	case 6:
		return random_points(seed, true);
	default:
		OK(hetpart_cost_affine(&c, 1, 0, scale, &err));
	}
	return c;
}

/* Check that real shares sum to the items, and are no worse than whole ones. */
static void check_real(const hetpart_plan *pl, uint64_t n)
{
	double t = hetpart_plan_real_makespan(pl), whole = hetpart_plan_makespan(pl);
	long double sum = 0;

	if (isnan(t))
		return;
	for (size_t i = 0; i < hetpart_plan_nprocs(pl); i++)
		sum += hetpart_plan_real_share(pl, i);
	NEAR((double)sum, (double)n, 1e-9);
	if (whole > 1e-290 && !(t <= whole * (1 + 1e-9)))
		fail_msg("%.17g before rounding, %.17g after", t, whole);
}

/* Check the methods that tabulate all times, which they store as doubles: they find the plan of
 * makespan t if t fits a double. */
static void check_tables(uint64_t n, const double *k, size_t p, const hetpart_cost *c,
			 hetpart_opts o, double t)
{
	const hetpart_method method[] = { HETPART_METHOD_BITSET, HETPART_METHOD_DP };
	hetpart_plan *pl;

	for (size_t i = 0; i < LEN(method); i++) {
		o.method = method[i];
		hetpart_status rc = hetpart_share_create(&pl, n, k, p, c, &o, &err);
		if (isinf(t)) {
			assert_true(rc == HETPART_ERANGE || isinf(hetpart_plan_makespan(pl)));
		} else {
			if (rc != HETPART_OK)
				fail_msg("makespan %.17g is refused: %s", t, err.text);
			NEAR(hetpart_plan_makespan(pl), t, 2e-15);
		}
		hetpart_plan_free(pl);
	}
}

static void one(uint64_t *seed)
{
	size_t p = 1 + rnd_below(seed, rnd_below(seed, 50) ? 8 : 300);
	uint64_t n = rnd(seed) >> (1 + rnd_below(seed, 63)), kind = rnd_below(seed, 4), caps[300];
	uint64_t room = 0;
	double k[300];
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_plan *a, *b;
	hetpart_cost *c = random_cost(seed);

	for (size_t i = 0; i < p; i++) {
		k[i] = random_speed(seed, kind);
		caps[i] = rnd(seed) >> rnd_below(seed, 64);
		room = caps[i] > UINT64_MAX - room ? UINT64_MAX : room + caps[i];
	}
	if (rnd_below(seed, 2)) {
		o.capacities = caps;
		n = n < room ? n : room;
	}
	if (rnd_below(seed, 4) == 0) { /* each processor has to take items, however slow it is */
		p = 1 + p % 5;
		n = p + rnd_below(seed, 30);
		for (size_t i = 0; i < p; i++)
			caps[i] = n / p + (i < n % p) + rnd_below(seed, 2);
		o.capacities = caps;
	}
	hetpart_status rc = hetpart_share_create(&a, n, k, p, c, &o, &err);
	o.method = HETPART_METHOD_THRESHOLD;
	assert_int_equal(hetpart_share_create(&b, n, k, p, c, &o, &err), rc);
	if (rc == HETPART_OK) {
		double x = hetpart_plan_makespan(a), y = hetpart_plan_makespan(b);
		if (!isinf(x) || !isinf(y))
			NEAR(x, y, 2e-15);
		check_real(a, n);
		if (n < 40 && p < 9)
			check_tables(n, k, p, c, o, x);
	} else {
		assert_int_equal(rc, HETPART_ERANGE); /* a power beyond every type */
	}
	hetpart_plan_free(a);
	hetpart_plan_free(b);
	hetpart_cost_free(c);
}

static void same_by_both(void **state)
{
	uint64_t seed = 41;

	(void)state;
	for (int round = 0; round < rounds(4000); round++)
		one(&seed);
}

/* Break the promise to rise: any plan, or a refusal, is a valid answer. */
static double liar(void *ctx, uint64_t n)
{
	uint64_t *seed = ctx, mixed = *seed ^ n;
	double r = rnd_real(&mixed);

	if (r < 0.01)
		return (double[]){ NAN, -1, INFINITY }[n % 3];
	return r * (double)n;
}

static void liars(void **state)
{
	uint64_t seed = 42;
	int plans = 0, refused = 0;

	(void)state;
	for (int round = 0; round < rounds(400); round++) {
		size_t p = 1 + rnd_below(&seed, 6);
		uint64_t n = rnd(&seed) >> (1 + rnd_below(&seed, 63)), luck = rnd(&seed), sum = 0;
		double k[6];
		hetpart_cost *c;
		hetpart_plan *pl;
		hetpart_opts o = HETPART_OPTS_INIT;
		hetpart_method method[] = { HETPART_METHOD_EXACT, HETPART_METHOD_PROPORTIONAL,
					    HETPART_METHOD_BITSET, HETPART_METHOD_DP };
		for (size_t i = 0; i < p; i++)
			k[i] = 1 + rnd_real(&seed);
		o.method = method[rnd_below(&seed, 4)];
		if (o.method > HETPART_METHOD_PROPORTIONAL)
			n %= 300;
		OK(hetpart_cost_callback(&c, liar, &luck, true, 1, &err));
		if (hetpart_share_create(&pl, n, k, p, c, &o, &err) == HETPART_OK) {
			for (size_t i = 0; i < p; i++) {
				sum += hetpart_plan_share(pl, i);
				assert_true(hetpart_plan_time(pl, i) >= 0);
			}
			assert_true(sum == n);
			plans++;
		} else {
			assert_null(pl);
			assert_true(err.status == HETPART_EINVAL || err.status == HETPART_ERANGE);
			refused++;
		}
		hetpart_plan_free(pl);
		hetpart_cost_free(c);
	}
	assert_true(plans > 0 && refused > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(same_by_both),
					    cmocka_unit_test(liars) };
	return cmocka_run_group_tests_name("wide", tests, NULL, NULL);
}
