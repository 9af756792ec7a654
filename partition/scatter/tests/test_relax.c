/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_relax.c - affine links in no order, with minimums: the curves of real shares omit no amount
 * of a best plan of whole shares. Plans by them are as good as by tables of all amounts. Small
 * whole numbers make ties; startups of 1e6 with times of 1e-6 make rounding hard. */
#include "scatter/scatter.h"

#include "scatter_help.h"

/* Draw a time of one of the kinds: whole numbers, or powers of ten apart. */
static double some_time(uint64_t *s, bool hard)
{
	if (!hard)
		return (double)rnd_below(s, 7);
	if (rnd_below(s, 40) == 0)
		return 1e-310;
	return rnd_below(s, 8) ? pow(10, (double)rnd_below(s, 13) - 6) * (1 + rnd_real(s)) : 0;
}

/* Create a problem. In every other one about half of the processors have a minimum. */
static struct problem affine_problem(uint64_t *s, uint64_t max_n, uint64_t *least)
{
	struct problem pr = { .n = 1 + rnd_below(s, max_n) };
	size_t p = 1 + (size_t)rnd_below(s, 6);
	bool hard = rnd_below(s, 2), mins = rnd_below(s, 2);

	for (size_t i = 0; i < p; i++) {
		add_proc(&pr, affine(some_time(s, hard), (double)!hard + some_time(s, hard)),
			 affine(some_time(s, hard), some_time(s, hard)));
		least[i] = mins && rnd_below(s, 2) ? rnd_below(s, pr.n / p + 1) : 0;
	}
	return pr;
}

static void plan_with(hetpart_plan **pl, const struct problem *pr, const uint64_t *least,
		      hetpart_scatter_method method)
{
	hetpart_scatter_opts o = HETPART_SCATTER_OPTS_INIT;

	o.method = method;
	o.minimums = least;
	OK(hetpart_scatter_create(pl, pr->n, pr->proc, pr->p, &o, &err));
	assert_true(hetpart_plan_lower_bound(*pl) == hetpart_plan_makespan(*pl));
}

/* Check that the best plan is within the amounts up to its end or a later time. Check its shares
 * against the bounds of fill.c. Return the number of amounts, 0 if these costs make no curves. */
static uint64_t check_kept(const struct problem *pr, const uint64_t *least, const hetpart_plan *pl,
			   double later_by, int seed)
{
	hetpart_scatter_opts o = HETPART_SCATTER_OPTS_INIT;
	sc_interval amounts[MAX_P];
	uint64_t share[MAX_P], most[MAX_P], left, count = 0;
	sc_relaxation *rx;
	sc_problem sc;
	double end, tol;

	o.minimums = least;
	OK(part_sc_init(&sc, pr->n, pr->proc, pr->p, &o, &err));
	for (size_t i = 0; i < pr->p; i++)
		share[i] = hetpart_plan_share(pl, i) - least[i];
	end = part_sc_ends(&sc, share, NULL) * later_by;
	tol = part_sc_relax_tolerance(&sc);
	assert_true(part_sc_each_most(&sc, end * (1 + tol), most));
	for (size_t i = 0; i < pr->p; i++)
		if (share[i] > most[i])
			fail_msg("seed %d: %" PRIu64 " to %zu, at most %" PRIu64, seed, share[i], i,
				 most[i]);
	rx = part_sc_relax(&sc, end * (1 + 2 * tol));
	if (rx) {
		assert_true(part_sc_relax_amounts(rx, end * (1 + tol), amounts));
		left = sc.n;
		for (size_t i = 0; i < pr->p; left -= share[i++]) {
			count += amounts[i].hi - amounts[i].lo + 1;
			if (left < amounts[i].lo || left > amounts[i].hi)
				fail_msg("seed %d: %" PRIu64 " before %zu, kept %" PRIu64
					 " to %" PRIu64,
					 seed, left, i, amounts[i].lo, amounts[i].hi);
		}
	}
	part_sc_relax_free(rx);
	part_sc_free(&sc);
	return count;
}

static void no_amount_of_a_best_plan_is_left_out(void **state)
{
	uint64_t kept = 0, all = 0;

	(void)state;
	for (int r = 0; r < rounds(300); r++) {
		uint64_t s = (uint64_t)r, least[MAX_P];
		struct problem pr = affine_problem(&s, 60, least);
		hetpart_plan *by[3];
		plan_with(&by[0], &pr, least, HETPART_SCATTER_DP);
		plan_with(&by[1], &pr, least, HETPART_SCATTER_WINDOW);
		plan_with(&by[2], &pr, least, HETPART_SCATTER_MULTIRES);
		for (size_t m = 0; m < LEN(by); m++) {
			NEAR(hetpart_plan_makespan(by[m]), hetpart_plan_makespan(by[0]), 1e-13);
			kept += check_kept(&pr, least, by[m], 1, r);
			all += pr.p * (pr.n + 1);
			check_kept(&pr, least, by[m], 1.5, r);
		}
		for (size_t m = 0; m < LEN(by); m++)
			hetpart_plan_free(by[m]);
		problem_free(&pr);
	}
	assert_in_range(kept, 1, all / 2); /* and others are */
}

/* Plan with enough items that the amounts near the first plan are not all. */
static void plans_are_as_good_as_by_tables(void **state)
{
	(void)state;
	for (int r = 0; r < rounds(300); r++) {
		uint64_t s = (uint64_t)r + 1000, least[MAX_P];
		struct problem pr = affine_problem(&s, 2000, least);
		hetpart_plan *table, *real;
		plan_with(&table, &pr, least, HETPART_SCATTER_WINDOW);
		plan_with(&real, &pr, least, HETPART_SCATTER_MULTIRES);
		NEAR(hetpart_plan_makespan(real), hetpart_plan_makespan(table), 1e-13);
		check_kept(&pr, least, table, 1, r);
		hetpart_plan_free(table);
		hetpart_plan_free(real);
		problem_free(&pr);
	}
}

/* Plan the example of the manual page, where filling each processor in turn takes 17. */
static void to_fill_in_turn_is_not_best(void **state)
{
	struct problem pr = { .n = 5 };
	const uint64_t least[] = { 0, 0, 0 };
	hetpart_plan *pl;

	(void)state;
	add_proc(&pr, affine(0, 1), affine(0, 9));
	add_proc(&pr, affine(0, 1), affine(0, 1));
	add_proc(&pr, affine(0, 100), NULL);
	assert_int_equal(plan_by(&pl, &pr, HETPART_SCATTER_FILL), HETPART_EINVAL);
	plan_with(&pl, &pr, least, HETPART_SCATTER_AUTO);
	NEAR(hetpart_plan_makespan(pl), 10, 0);
	assert_int_equal(hetpart_plan_share(pl, 1), 5);
	hetpart_plan_free(pl);
	plan_with(&pl, &pr, least, HETPART_SCATTER_MULTIRES);
	NEAR(hetpart_plan_makespan(pl), 10, 0);
	hetpart_plan_free(pl);
	NEAR(one_port(&pr, (const uint64_t[]){ 1, 4, 0 }), 17, 0);
	problem_free(&pr);
}

/* Check that times that no plan of all items meets have no corners; with them there would be 16
 * times more. */
static void curves_are_of_times_that_a_plan_can_meet(void **state)
{
	hetpart_scatter_opts o = HETPART_SCATTER_OPTS_INIT;
	struct problem pr = { .n = 100000000 };
	sc_interval amounts[MAX_P];
	sc_relaxation *rx;
	sc_problem sc;
	hetpart_plan *pl;
	uint64_t s = 7;

	(void)state;
	for (size_t i = 0; i < MAX_P; i++)
		add_proc(&pr, affine(rnd_real(&s), .004 + .012 * rnd_real(&s)),
			 affine(.01 * rnd_real(&s), 1e-5 * rnd_real(&s)));
	OK(plan_by(&pl, &pr, HETPART_SCATTER_MULTIRES));
	OK(part_sc_init(&sc, pr.n, pr.proc, pr.p, &o, &err));
	const double end = ldexp(hetpart_plan_makespan(pl), -sc.shift);
	sc.budget.steps = 0; /* 16 for each corner */
	rx = part_sc_relax(&sc, end * (1 + 2 * part_sc_relax_tolerance(&sc)));
	assert_non_null(rx);
	assert_true(part_sc_relax_amounts(rx, end * (1 + part_sc_relax_tolerance(&sc)), amounts));
	assert_in_range(sc.budget.steps, 16, 16 * 32 * MAX_P);
	part_sc_relax_free(rx);
	part_sc_free(&sc);
	hetpart_plan_free(pl);
	problem_free(&pr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_amount_of_a_best_plan_is_left_out),
		cmocka_unit_test(plans_are_as_good_as_by_tables),
		cmocka_unit_test(to_fill_in_turn_is_not_best),
		cmocka_unit_test(curves_are_of_times_that_a_plan_can_meet),
	};
	return cmocka_run_group_tests_name("real shares", tests, NULL, NULL);
}
