/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_scatter.c - the exact scatter methods: optimal by brute force, equal to each other on
 * larger problems, independent of the unit of time. Also the figures of [S0]'s platform.
 * HETSORT_LONG=1: more of the problems that take long. */
#include "scatter_help.h"

static const struct {
	hetpart_scatter_method m;
	enum shape comp, link; /* the widest costs it takes */
	const char *name;
} exact[] = {
	{ HETPART_SCATTER_DP, ANY, ANY, "dp" },
	{ HETPART_SCATTER_DP_INCREASING, RISING, RISING, "dp-increasing" },
	{ HETPART_SCATTER_WINDOW, RISING, AFFINE, "window" },
	{ HETPART_SCATTER_MULTIRES, RISING, RISING, "multires" },
	{ HETPART_SCATTER_AUTO, ANY, ANY, "auto" },
	{ HETPART_SCATTER_FILL, RISING, AFFINE, "fill" },
};

static uint64_t sum_of(const hetpart_plan *pl)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < hetpart_plan_nprocs(pl); i++)
		sum += hetpart_plan_share(pl, i);
	return sum;
}

static void check_exact(const struct problem *pr, size_t k, double want, uint64_t seed)
{
	hetpart_plan *pl;
	hetpart_status rc = plan_by(&pl, pr, exact[k].m);

	if (exact[k].m == HETPART_SCATTER_FILL && rc == HETPART_EINVAL)
		return; /* the links are in another order */
	if (want == INFINITY) {
		assert_int_equal(rc, HETPART_ERANGE);
		return;
	}
	if (rc != HETPART_OK)
		fail_msg("%s: %s, seed %" PRIu64, exact[k].name, err.text, seed);
	assert_int_equal(sum_of(pl), pr->n);
	if (hetpart_plan_makespan(pl) != want || one_port(pr, hetpart_plan_shares(pl)) != want ||
	    hetpart_plan_lower_bound(pl) != want)
		fail_msg("%s: makespan %g, want %g, seed %" PRIu64 ", p %zu, n %" PRIu64,
			 exact[k].name, hetpart_plan_makespan(pl), want, seed, pr->p, pr->n);
	hetpart_plan_free(pl);
}

static void optimal_by_brute_force(void **state)
{
	int count = rounds(1000);

	(void)state;
	for (size_t k = 0; k < LEN(exact); k++)
		for (enum shape comp = LINEAR; comp <= exact[k].comp; comp++)
			for (enum shape link = LINEAR; link <= exact[k].link; link++)
				for (int r = 0; r < count; r++) {
					uint64_t seed = (uint64_t)r * 64 + k * 16 + comp * 4 + link;
					uint64_t s = seed;
					struct problem pr = random_problem(&s, comp, link);
					check_exact(&pr, k, optimum(&pr), seed);
					problem_free(&pr);
				}
}

/* Compare the method that needs an order with brute force. */
static void fill_is_optimal(void **state)
{
	int count = rounds(1500), taken = 0;

	(void)state;
	for (int r = 0; r < count; r++) {
		uint64_t s = (uint64_t)r;
		struct problem pr = sorted_problem(&s, 12);
		hetpart_plan *pl;
		double want = optimum(&pr);
		hetpart_status rc = plan_by(&pl, &pr, HETPART_SCATTER_FILL);
		if (rc == HETPART_OK) {
			taken++;
			assert_int_equal(sum_of(pl), pr.n);
			if (!(fabs(hetpart_plan_makespan(pl) - want) <= 1e-13 * want))
				fail_msg("makespan %.17g, want %.17g, seed %d",
					 hetpart_plan_makespan(pl), want, r);
			hetpart_plan_free(pl);
		} else {
			assert_int_equal(rc, HETPART_EINVAL);
		}
		problem_free(&pr);
	}
	assert_true(taken > count / 2);
}

static hetpart_cost *real_cost(uint64_t *s, bool link)
{
	double c = link ? rnd_real(s) * pow(10, -3 * rnd_real(s)) : 1 + 9 * rnd_real(s);
	hetpart_point pt[4];
	hetpart_cost *cost;

	switch (rnd_below(s, 5)) {
	case 0:
		return affine(0, c);
	case 1:
		return affine(c * 100 * rnd_real(s), c);
	case 2:
		OK(hetpart_cost_nlog2n1(&cost, c / 8, &err));
		return cost;
	case 3:
		OK(hetpart_cost_power(&cost, 0.5 + rnd_real(s), c, &err));
		return cost;
	default:
		for (int i = 0; i < 4; i++) {
			pt[i].items = (i ? pt[i - 1].items : 0) + 1 + floor(300 * rnd_real(s));
			pt[i].time_s = (i ? pt[i - 1].time_s : 0) + 300 * c * rnd_real(s);
		}
		OK(hetpart_cost_piecewise(&cost, pt, 4, 1, &err));
		return cost;
	}
}

static struct problem real_problem(uint64_t *s, uint64_t max_n, size_t max_p, bool affine_links)
{
	struct problem pr = { .n = rnd_below(s, max_n) };
	size_t p = 1 + (size_t)rnd_below(s, max_p);

	for (size_t i = 0; i < p; i++)
		add_proc(&pr, real_cost(s, false),
			 affine_links ? affine(rnd_real(s) * (double)rnd_below(s, 50),
					       rnd_real(s) * rnd_real(s))
				      : real_cost(s, true));
	return pr;
}

/* Compare every exact method that takes the costs with Algorithm 2. */
static void agree(struct problem *pr, hetpart_scatter_method m, uint64_t seed)
{
	hetpart_plan *a, *b;

	OK(plan_by(&a, pr, HETPART_SCATTER_DP_INCREASING));
	OK(plan_by(&b, pr, m));
	if (!(fabs(hetpart_plan_makespan(a) - hetpart_plan_makespan(b)) <=
	      1e-12 * hetpart_plan_makespan(a)))
		fail_msg("%s: %.17g, %s: %.17g, seed %" PRIu64 ", p %zu, n %" PRIu64,
			 hetpart_plan_method(a), hetpart_plan_makespan(a), hetpart_plan_method(b),
			 hetpart_plan_makespan(b), seed, pr->p, pr->n);
	hetpart_plan_free(a);
	hetpart_plan_free(b);
}

static void exact_methods_agree(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(250); seed++) {
		uint64_t s = seed + 12345;
		struct problem pr = real_problem(&s, 1200, 16, seed % 2);
		agree(&pr, HETPART_SCATTER_MULTIRES, seed);
		agree(&pr, HETPART_SCATTER_AUTO, seed);
		if (seed % 2)
			agree(&pr, HETPART_SCATTER_WINDOW, seed);
		if (seed % 16 < 2)
			agree(&pr, HETPART_SCATTER_DP, seed);
		problem_free(&pr);
	}
}

/* Plan where the kept amounts are widest: nearly equal processors, links as slow as the processors,
 * many idle processors. */
static void exact_on_degenerate_platforms(void **state)
{
	const int count = rounds(getenv("HETSORT_LONG") ? 60 : 8);

	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)count; seed++) {
		uint64_t s = seed;
		struct problem pr = { .n = 1000 + rnd_below(&s, 3000) };
		size_t p = 2 + (size_t)rnd_below(&s, 40);
		for (size_t i = 0; i < p; i++) {
			double a = seed % 3 == 0 ? 1 : pow(10, -6 * rnd_real(&s));
			double b = seed % 2 ? 1 : 1e-3;
			add_proc(&pr, affine(seed % 5 == 0 ? 40 : 0, a),
				 affine(seed % 7 == 0 ? 3 : 0, b));
		}
		agree(&pr, HETPART_SCATTER_MULTIRES, seed);
		agree(&pr, HETPART_SCATTER_WINDOW, seed);
		problem_free(&pr);
	}
}

/* Check that multiplying all times by a power of two changes only the unit. */
static void unit_of_time_does_not_matter(void **state)
{
	static const double scale[] = { 0x1p-996, 0x1p-300, 0x1p300, 0x1p990 };

	(void)state;
	for (int m = HETPART_SCATTER_DP_INCREASING; m <= HETPART_SCATTER_FILL; m++) {
		struct problem one = s0_problem(false, 1);
		hetpart_plan *a, *b;
		one.n = 3000;
		OK(plan_by(&a, &one, (hetpart_scatter_method)m));
		for (size_t k = 0; k < LEN(scale); k++) {
			struct problem pr = s0_problem(false, scale[k]);
			pr.n = 3000;
			OK(plan_by(&b, &pr, (hetpart_scatter_method)m));
			assert_int_equal(hetpart_plan_hash(a), hetpart_plan_hash(b));
			NEAR(hetpart_plan_makespan(b), hetpart_plan_makespan(a) * scale[k], 1e-14);
			NEAR(hetpart_plan_lower_bound(b), hetpart_plan_lower_bound(a) * scale[k],
			     1e-14);
			hetpart_plan_free(b);
			problem_free(&pr);
		}
		hetpart_plan_free(a);
		problem_free(&one);
	}
}

/* Plan with costs at both ends of the range in one problem. */
static void extreme_ratios(void **state)
{
	struct problem pr = { .n = 1000000 };
	hetpart_plan *pl;

	(void)state;
	add_proc(&pr, affine(0, 1e-300), affine(0, 1e-301));
	add_proc(&pr, affine(0, 1e300), affine(0, 1e290));
	add_proc(&pr, affine(0, 1e-300), affine(0, 1e-301));
	OK(plan_by(&pl, &pr, HETPART_SCATTER_MULTIRES));
	assert_int_equal(hetpart_plan_share(pl, 1), 0);
	assert_int_equal(sum_of(pl), pr.n);
	NEAR(hetpart_plan_makespan(pl), 5.76e-295, 0.01);
	hetpart_plan_free(pl);
	problem_free(&pr);
}

static void many_items(void **state)
{
	struct problem pr = s0_problem(false, 1);
	hetpart_plan *pl;

	(void)state;
	pr.n = HETPART_ITEMS_MAX;
	OK(plan_by(&pl, &pr, HETPART_SCATTER_MULTIRES));
	assert_int_equal(sum_of(pl), pr.n);
	NEAR(hetpart_plan_makespan(pl), 403.9730150 / 817101 * 9223372036854775807., 1e-8);
	hetpart_plan_free(pl);
	OK(plan_by(&pl, &pr, HETPART_SCATTER_CLOSED));
	assert_int_equal(sum_of(pl), pr.n);
	hetpart_plan_free(pl);
	problem_free(&pr);
}

/* Check uniform shares, rational optimum, whole optimum, and the order by ascending bandwidth. */
static void reference_platform(void **state)
{
	struct problem down = s0_problem(false, 1), up = s0_problem(true, 1);
	double port = 0, first = INFINITY, last = 0;
	hetpart_plan *pl;

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		double each = 817101 / 16.;
		port += each * s0_platform[i].link;
		first = fmin(first, port + each * s0_platform[i].comp);
		last = fmax(last, port + each * s0_platform[i].comp);
	}
	NEAR(first, 225.7, 2e-4);
	NEAR(last, 829.2, 1e-4);
	OK(plan_by(&pl, &down, HETPART_SCATTER_CLOSED));
	NEAR(hetpart_plan_real_makespan(pl), 403.9730150, 1e-9);
	hetpart_plan_free(pl);
	OK(plan_by(&pl, &down, HETPART_SCATTER_LP));
	NEAR(hetpart_plan_real_makespan(pl), 403.9730150, 1e-9);
	NEAR(hetpart_plan_makespan(pl), 403.9752296, 1e-9);
	hetpart_plan_free(pl);
	OK(plan_by(&pl, &down, HETPART_SCATTER_AUTO));
	assert_string_equal(hetpart_plan_method(pl), "fill");
	NEAR(hetpart_plan_makespan(pl), 403.9752296, 1e-9);
	hetpart_plan_free(pl);
	OK(plan_by(&pl, &down, HETPART_SCATTER_MULTIRES));
	NEAR(hetpart_plan_makespan(pl), 403.9752296, 1e-9);
	hetpart_plan_free(pl);
	OK(plan_by(&pl, &up, HETPART_SCATTER_AUTO));
	NEAR(hetpart_plan_makespan(pl), 414.3858595, 1e-9);
	hetpart_plan_free(pl);
	OK(plan_by(&pl, &up, HETPART_SCATTER_WINDOW));
	NEAR(hetpart_plan_makespan(pl), 414.3858595, 1e-9);
	hetpart_plan_free(pl);
	problem_free(&down);
	problem_free(&up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(optimal_by_brute_force),
		cmocka_unit_test(fill_is_optimal),
		cmocka_unit_test(exact_methods_agree),
		cmocka_unit_test(exact_on_degenerate_platforms),
		cmocka_unit_test(unit_of_time_does_not_matter),
		cmocka_unit_test(extreme_ratios),
		cmocka_unit_test(many_items),
		cmocka_unit_test(reference_platform),
	};
	return cmocka_run_group_tests_name("scatter", tests, NULL, NULL);
}
