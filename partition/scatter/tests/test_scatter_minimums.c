/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_scatter_minimums.c - scatters with minimums and multiples of a quantum: every exact method
 * against all plans that keep them. For larger problems FILL against MULTIRES. The best root;
 * refusals. */
#include "scatter_help.h"

struct limits {
	uint64_t min[MAX_P], quantum;
};

/* Return whether processor i may have n items: multiples of the quantum, plus the rest for the
 * root.
 */
static bool allowed(const struct problem *pr, const struct limits *l, size_t i, uint64_t e)
{
	uint64_t rest = i + 1 == pr->p ? pr->n % l->quantum : 0;

	return e >= rest && (e - rest) % l->quantum == 0 && e - rest >= l->min[i];
}

/* Return the smallest makespan of all allowed shares, or infinity if no shares are allowed. */
static double best_allowed(const struct problem *pr, const struct limits *l, uint64_t *share,
			   size_t i, uint64_t left)
{
	double best = INFINITY;

	if (i + 1 == pr->p) {
		share[i] = left;
		return allowed(pr, l, i, left) ? one_port(pr, share) : INFINITY;
	}
	for (uint64_t mine = 0; mine <= left; mine++) {
		share[i] = mine;
		if (allowed(pr, l, i, mine))
			best = fmin(best, best_allowed(pr, l, share, i + 1, left - mine));
	}
	return best;
}

static hetpart_status plan_within(hetpart_plan **pl, const struct problem *pr,
				  hetpart_scatter_method m, const struct limits *l)
{
	hetpart_scatter_opts o = HETPART_SCATTER_OPTS_INIT;

	o.method = m;
	o.minimums = l->min;
	o.quantum = l->quantum;
	return hetpart_scatter_create(pl, pr->n, pr->proc, pr->p, &o, &err);
}

static void check_kept(const struct problem *pr, const struct limits *l, const hetpart_plan *pl)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pr->p; i++) {
		assert_true(allowed(pr, l, i, hetpart_plan_share(pl, i)));
		sum += hetpart_plan_share(pl, i);
	}
	assert_int_equal(sum, pr->n);
}

/* Check a method. Return whether it accepted the problem. */
static bool check(const struct problem *pr, const struct limits *l, hetpart_scatter_method m,
		  double want, uint64_t seed)
{
	hetpart_plan *pl;
	hetpart_status rc = plan_within(&pl, pr, m, l);

	if (rc == HETPART_EINVAL)
		return false;
	if (rc == HETPART_ERANGE) {
		assert_true(isinf(want));
		return true;
	}
	OK(rc);
	check_kept(pr, l, pl);
	if (m != HETPART_SCATTER_GREEDY) {
		if (!(fabs(hetpart_plan_makespan(pl) - want) <= 1e-13 * want))
			fail_msg("%s: makespan %.17g, want %.17g, seed %" PRIu64,
				 hetpart_plan_method(pl), hetpart_plan_makespan(pl), want, seed);
		assert_true(hetpart_plan_lower_bound(pl) == hetpart_plan_makespan(pl));
	} else if (!isnan(hetpart_plan_lower_bound(pl))) {
		assert_true(hetpart_plan_lower_bound(pl) <= want * (1 + 1e-13));
	}
	hetpart_plan_free(pl);
	return true;
}

static struct limits random_limits(const struct problem *pr, uint64_t *s)
{
	struct limits l = { .quantum = rnd_below(s, 2) ? 1 : 1 + rnd_below(s, 4) };
	uint64_t kind = rnd_below(s, 3); /* a minimum for all processors, for some, for none */

	for (size_t i = 0; i < pr->p; i++)
		if (kind == 0 || (kind == 1 && rnd_below(s, 2)))
			l.min[i] = 1 + rnd_below(s, 3);
	return l;
}

static const hetpart_scatter_method exact[] = {
	HETPART_SCATTER_AUTO,   HETPART_SCATTER_DP,       HETPART_SCATTER_DP_INCREASING,
	HETPART_SCATTER_WINDOW, HETPART_SCATTER_MULTIRES, HETPART_SCATTER_FILL,
	HETPART_SCATTER_GREEDY,
};

static void best_of_all_plans(void **state)
{
	int count = rounds(2500), taken[LEN(exact)] = { 0 };

	(void)state;
	for (int r = 0; r < count; r++) {
		uint64_t s = (uint64_t)r, share[MAX_P];
		bool sorted = r % 2;
		struct problem pr = sorted ? sorted_problem(&s, 13)
					   : random_problem(&s, (enum shape)(r / 2 % 4),
							    (enum shape)(r / 8 % 4));
		struct limits l = random_limits(&pr, &s);
		double want = best_allowed(&pr, &l, share, 0, pr.n);
		for (size_t m = 0; m < LEN(exact); m++)
			taken[m] += check(&pr, &l, exact[m], want, (uint64_t)r);
		problem_free(&pr);
	}
	for (size_t m = 0; m < LEN(exact); m++)
		if (taken[m] < count / 4)
			fail_msg("method %d took %d of %d", (int)exact[m], taken[m], count);
}

/* Plan a number of items that only fast methods can: two of them agree. */
static void fast_methods_agree(void **state)
{
	(void)state;
	for (int r = 0; r < rounds(60); r++) {
		uint64_t s = (uint64_t)r;
		struct problem pr = sorted_problem(&s, 1000000);
		struct limits l = { .quantum = r % 2 ? 1 : 1 + rnd_below(&s, 1000) };
		hetpart_plan *pl, *other;
		pr.n += 1000000;
		for (size_t i = 0; i < pr.p; i++)
			l.min[i] = rnd_below(&s, 150000);
		if (plan_within(&pl, &pr, HETPART_SCATTER_FILL, &l) != HETPART_OK) {
			assert_int_equal(err.status, HETPART_EINVAL);
		} else {
			OK(plan_within(&other, &pr, HETPART_SCATTER_MULTIRES, &l));
			check_kept(&pr, &l, pl);
			check_kept(&pr, &l, other);
			NEAR(hetpart_plan_makespan(pl), hetpart_plan_makespan(other), 1e-12);
			hetpart_plan_free(pl);
			hetpart_plan_free(other);
		}
		problem_free(&pr);
	}
}

/* Give a minimum to the last processor that is served: those before it leave the port in time,
 * though each of them could continue. */
static void the_port_is_left_in_time(void **state)
{
	struct problem pr = { .n = 100 };
	struct limits l = { .min = { 0, 0, 10, 0 }, .quantum = 1 };
	hetpart_plan *pl;

	(void)state;
	add_proc(&pr, affine(0, 1), affine(0, 1));
	add_proc(&pr, affine(0, 1), affine(0, 1));
	add_proc(&pr, affine(0, 9), affine(0, 1));
	add_proc(&pr, affine(0, 1), NULL);
	OK(plan_within(&pl, &pr, HETPART_SCATTER_AUTO, &l));
	assert_string_equal(hetpart_plan_method(pl), "fill");
	assert_int_equal(hetpart_plan_share(pl, 2), 10);
	check_kept(&pr, &l, pl);
	hetpart_plan_free(pl);
	problem_free(&pr);
}

/* Check that minimums follow their processors, for any root and any order of service. */
static void root_with_minimums(void **state)
{
	enum { P = 3 };
	hetpart_scatter_opts o = HETPART_SCATTER_OPTS_INIT;
	const uint64_t min[P] = { 1, 9, 0 };
	hetpart_cost *c[P], *l[P * P];
	size_t root, order[P];
	hetpart_plan *pl;

	(void)state;
	for (size_t i = 0; i < P; i++)
		c[i] = affine(0, (double)(1 + i));
	for (size_t i = 0; i < LEN(l); i++)
		l[i] = affine(0, (double)(1 + 5 * (i % P == 0)));
	o.minimums = min;
	o.quantum = 2;
	OK(hetpart_scatter_root(&pl, &root, order, NULL, 21, (const hetpart_cost *const *)c,
				(const hetpart_cost *const *)l, NULL, P, &o, &err));
	assert_int_equal(root, 0);
	for (size_t j = 0; j < P; j++) {
		uint64_t share = hetpart_plan_share(pl, j), odd = order[j] == root;
		assert_int_equal(share % 2, odd);
		assert_true(share - odd >= min[order[j]]);
	}
	hetpart_plan_free(pl);
	assert_int_equal(hetpart_scatter_root(&pl, &root, order, NULL, 9,
					      (const hetpart_cost *const *)c,
					      (const hetpart_cost *const *)l, NULL, P, &o, &err),
			 HETPART_ERANGE);
	assert_non_null(strstr(err.text, "the minimums take more than the '4' whole multiples"));
	for (size_t i = 0; i < P; i++)
		hetpart_cost_free(c[i]);
	for (size_t i = 0; i < LEN(l); i++)
		hetpart_cost_free(l[i]);
}

static void refusals(void **state)
{
	struct problem pr = { .n = 6 };
	struct limits min = { { 3, 4 }, 1 }, quantum = { { 0 }, 2 };
	hetpart_scatter_opts o = HETPART_SCATTER_OPTS_INIT;
	hetpart_plan *pl;

	(void)state;
	add_proc(&pr, affine(0, 1), affine(0, 1));
	add_proc(&pr, affine(0, 1), NULL);
	assert_int_equal(plan_within(&pl, &pr, HETPART_SCATTER_AUTO, &min), HETPART_ERANGE);
	assert_non_null(strstr(err.text, "the minimums take more than the '6' items"));
	for (int m = HETPART_SCATTER_LP; m <= HETPART_SCATTER_TWO_PASS; m++) {
		assert_int_equal(plan_within(&pl, &pr, (hetpart_scatter_method)m, &min),
				 HETPART_EINVAL);
		assert_non_null(strstr(err.text, "does not support minimums"));
		o.method = (hetpart_scatter_method)m;
		o.quantum = quantum.quantum;
		assert_int_equal(hetpart_scatter_create(&pl, pr.n, pr.proc, pr.p, &o, &err),
				 HETPART_EINVAL);
		assert_non_null(strstr(err.text, "does not support a quantum"));
	}
	problem_free(&pr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_of_all_plans),
		cmocka_unit_test(fast_methods_agree),
		cmocka_unit_test(the_port_is_left_in_time),
		cmocka_unit_test(root_with_minimums),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests_name("scatters with minimums", tests, NULL, NULL);
}
