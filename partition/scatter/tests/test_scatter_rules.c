/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_scatter_rules.c - the scatter methods that round real shares, with certified bounds; the
 * affine shares of [S2]; order and root; the printed rules that are wrong. */
#include "scatter_help.h"

static struct problem linear_problem(uint64_t *s, uint64_t max_n, size_t max_p, double spread)
{
	struct problem pr = { .n = rnd_below(s, max_n) };
	size_t p = 1 + (size_t)rnd_below(s, max_p);

	for (size_t i = 0; i < p; i++)
		add_proc(&pr, affine(0, pow(10, spread * rnd_real(s))),
			 affine(0, pow(10, spread * (rnd_real(s) - 1.5))));
	return pr;
}

static double shares_sum(const hetpart_plan *pl)
{
	double sum = 0;

	for (size_t i = 0; i < hetpart_plan_nprocs(pl); i++) {
		assert_true(hetpart_plan_real_share(pl, i) >= 0);
		sum += hetpart_plan_real_share(pl, i);
	}
	return sum;
}

/* Check that rounded plans lie between the proven bound and that bound plus sum link(1) + max
 * compute(1). The closed form is the programme's optimum, including dropped processors. */
static void bound_is_never_broken(void **state)
{
	hetpart_scatter_method m[] = { HETPART_SCATTER_CLOSED, HETPART_SCATTER_LP };

	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(1500); seed++) {
		uint64_t s = seed;
		struct problem pr = linear_problem(&s, seed % 2 ? 400 : 30, 12, 1 + seed % 3);
		hetpart_plan *pl, *best;
		double slack, real[2];
		OK(hetpart_scatter_slack(&slack, pr.proc, pr.p, &err));
		OK(plan_by(&best, &pr, HETPART_SCATTER_WINDOW));
		double opt = hetpart_plan_makespan(best);
		for (int k = 0; k < 2; k++) {
			OK(plan_by(&pl, &pr, m[k]));
			double got = hetpart_plan_makespan(pl);
			real[k] = hetpart_plan_real_makespan(pl);
			NEAR(shares_sum(pl), (double)pr.n, 1e-12);
			assert_true(hetpart_plan_lower_bound(pl) <= opt);
			assert_true(real[k] <= opt * (1 + 1e-9));
			assert_true(got >= opt * (1 - 1e-12));
			assert_true(got <= opt + slack * (1 + 1e-9));
			NEAR(hetpart_plan_lower_bound(pl), real[k], 1e-7);
			hetpart_plan_free(pl);
		}
		NEAR(real[0], real[1], 1e-7);
		hetpart_plan_free(best);
		problem_free(&pr);
	}
}

/* Check affine costs: unlike the exact methods, the programme pays each startup even at 0 items. So
 * its figure may be above the optimum, and the proven bound comes from the linear parts. */
static void programme_pays_constants(void **state)
{
	struct problem pr = { .n = 10 };
	hetpart_plan *lp, *best;

	(void)state;
	add_proc(&pr, affine(1000, 1), affine(50, 1));
	add_proc(&pr, affine(0, 1), affine(0, 0));
	OK(plan_by(&lp, &pr, HETPART_SCATTER_LP));
	OK(plan_by(&best, &pr, HETPART_SCATTER_AUTO));
	assert_int_equal(hetpart_plan_share(best, 0), 0);
	NEAR(hetpart_plan_makespan(best), 10, 0);
	assert_true(hetpart_plan_real_makespan(lp) >= 1050);
	assert_true(hetpart_plan_lower_bound(lp) <= 10);
	hetpart_plan_free(lp);
	hetpart_plan_free(best);
	problem_free(&pr);
	for (uint64_t seed = 0; seed < (uint64_t)rounds(300); seed++) {
		uint64_t s = seed;
		pr = random_problem(&s, AFFINE, AFFINE);
		OK(plan_by(&lp, &pr, HETPART_SCATTER_LP));
		double opt = optimum(&pr);
		assert_true(hetpart_plan_lower_bound(lp) <= opt);
		assert_true(hetpart_plan_makespan(lp) >= opt);
		assert_true(hetpart_plan_makespan(lp) <=
			    hetpart_plan_real_makespan(lp) + 16 + 8 * (double)pr.p);
		hetpart_plan_free(lp);
		problem_free(&pr);
	}
}

/* Check that the last share is n_k - e. Here e = .4 - .3 before it: the paper's n_k + e sums to
 * 11.2. */
static void last_rounding_subtracts(void **state)
{
	double real[] = { 3.3, 3.4, 3.3 };
	uint64_t n[3];

	(void)state;
	OK(hetpart_scatter_round(n, 10, real, 3, &err));
	assert_int_equal(n[0] + n[1] + n[2], 10);
	for (int i = 0; i < 3; i++)
		assert_true(fabs((double)n[i] - real[i]) < 1);
}

/* Check that |n_i - x_i| < 1, also for every leading sum in the order of rounding, and that whole
 * shares stay. */
static void rounding_moves_less_than_one(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(20000); seed++) {
		uint64_t s = seed, n[40], total = 0;
		size_t p = 1 + (size_t)rnd_below(&s, 40);
		double real[40], sum = 0;
		uint64_t items = rnd_below(&s, seed % 3 ? 1000 : 12);
		for (size_t i = 0; i < p; i++)
			sum += real[i] = rnd_below(&s, 4) ? rnd_real(&s) : 0;
		for (size_t i = 0; i < p; i++)
			real[i] = sum > 0 ? real[i] / sum * (double)items : 0;
		if (!(sum > 0))
			real[0] = (double)items;
		OK(hetpart_scatter_round(n, items, real, p, &err));
		for (size_t i = 0; i < p; i++) {
			total += n[i];
			assert_true(fabs((double)n[i] - real[i]) < 1 + 1e-9);
			if (real[i] == 0)
				assert_true(n[i] <= 1);
		}
		assert_int_equal(total, items);
	}
}

static void rounding_of_huge_numbers(void **state)
{
	double real[3] = { 0x1p61, 0x1p61 + 0x1p60, 0x1p61 };
	uint64_t n[3], items = (UINT64_C(7) << 60) + 12345;

	(void)state;
	OK(hetpart_scatter_round(n, items, real, 3, &err));
	assert_true(n[0] + n[1] + n[2] == items);
	real[1] = 0, real[2] = 1e-300;
	OK(hetpart_scatter_round(n, UINT64_C(1) << 61, real, 3, &err));
	assert_true(n[0] == UINT64_C(1) << 61 && n[1] == 0 && n[2] == 0);
}

/* Check that the drop rule uses D of the processors kept after i, not of all after it. Processor 1
 * is dropped (b = 5 > D = 2); if it counted, D would be 4.98 and processor 0 be kept with b = 3. */
static void drop_rule_counts_kept_only(void **state)
{
	struct problem pr = { .n = 1000 };
	hetpart_plan *pl;

	(void)state;
	add_proc(&pr, affine(0, 1), affine(0, 3));
	add_proc(&pr, affine(0, .01), affine(0, 5));
	add_proc(&pr, affine(0, 2), affine(0, 0));
	OK(plan_by(&pl, &pr, HETPART_SCATTER_CLOSED));
	assert_int_equal(hetpart_plan_share(pl, 0), 0);
	assert_int_equal(hetpart_plan_share(pl, 1), 0);
	NEAR(hetpart_plan_real_makespan(pl), 2000, 1e-12);
	hetpart_plan_free(pl);
	OK(plan_by(&pl, &pr, HETPART_SCATTER_WINDOW));
	NEAR(hetpart_plan_makespan(pl), 2000, 1e-12);
	hetpart_plan_free(pl);
	problem_free(&pr);
}

/* Show that Theorem 3 needs real shares: with whole ones another order may beat the order by
 * bandwidth. */
static void theorem_3_is_not_for_whole_shares(void **state)
{
	int better = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 4000 && !better; seed++) {
		uint64_t s = seed;
		struct problem pr = { .n = 1 + rnd_below(&s, 6) }, other = { .n = pr.n };
		double a[3], b[3] = { 0, 0, 0 };
		size_t order[3];
		for (int i = 0; i < 3; i++) {
			a[i] = 1 + (double)rnd_below(&s, 9);
			b[i] = i < 2 ? 1 + (double)rnd_below(&s, 4) : 0;
			add_proc(&pr, affine(0, a[i]), affine(0, b[i]));
		}
		OK(hetpart_scatter_order(order, pr.n, pr.proc, 3, &err));
		assert_true(b[order[0]] <= b[order[1]]);
		assert_int_equal(order[2], 2);
		struct problem best = { .n = pr.n, .p = 3 };
		for (int i = 0; i < 3; i++) {
			best.proc[i] = pr.proc[order[i]];
			other.proc[i] = pr.proc[i < 2 ? order[1 - i] : 2];
		}
		other.p = 3;
		better = optimum(&other) < optimum(&best);
		problem_free(&pr);
	}
	assert_true(better);
}

/* Check that for real shares of linear costs no order beats the order by bandwidth. */
static void order_is_best_for_real_shares(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(500); seed++) {
		uint64_t s = seed;
		struct problem pr = linear_problem(&s, 1000, 6, 2), sorted = { .n = pr.n };
		size_t order[6], seen = 0;
		hetpart_plan *a, *b;
		OK(hetpart_scatter_order(order, pr.n, pr.proc, pr.p, &err));
		for (size_t i = 0; i < pr.p; i++) {
			sorted.proc[i] = pr.proc[order[i]];
			seen |= (size_t)1 << order[i];
		}
		sorted.p = pr.p;
		assert_int_equal(seen, ((size_t)1 << pr.p) - 1);
		assert_int_equal(order[pr.p - 1], pr.p - 1);
		OK(plan_by(&a, &pr, HETPART_SCATTER_CLOSED));
		OK(plan_by(&b, &sorted, HETPART_SCATTER_CLOSED));
		assert_true(hetpart_plan_real_makespan(b) <=
			    hetpart_plan_real_makespan(a) * (1 + 1e-12));
		hetpart_plan_free(a);
		hetpart_plan_free(b);
		problem_free(&pr);
	}
}

/* Check d_i = (D + sum l_j/c_j - l_i sum 1/c_j) / (c_i sum 1/c_j), c = a + b, if every processor
 * has items. */
static void all_at_once_formula(void **state)
{
	double a[] = { 3, 4, 5 }, b[] = { .5, .25, 0 }, l[] = { 7, 2, 0 }, inv = 0, lc = 0;
	struct problem pr = { .n = 1000 };
	hetpart_plan *pl;

	(void)state;
	for (int i = 0; i < 3; i++) {
		add_proc(&pr, affine(0, a[i]), affine(l[i], b[i]));
		inv += 1 / (a[i] + b[i]);
		lc += l[i] / (a[i] + b[i]);
	}
	OK(plan_by(&pl, &pr, HETPART_SCATTER_ALL_AT_ONCE));
	for (size_t i = 0; i < 3; i++)
		NEAR(hetpart_plan_real_share(pl, i),
		     (1000 + lc - l[i] * inv) / ((a[i] + b[i]) * inv), 1e-12);
	hetpart_plan_free(pl);
	problem_free(&pr);
}

/* Check water filling: a processor that starts at T or later gets nothing, all others end at the
 * same time. One of infinite speed takes the items that others cannot do before it starts. */
static void water_filling(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(1000); seed++) {
		uint64_t s = seed;
		struct problem pr = { .n = rnd_below(&s, 50) };
		size_t p = 1 + (size_t)rnd_below(&s, 10);
		double l[10], c[10], t = 0;
		hetpart_plan *pl;
		for (size_t i = 0; i < p; i++) {
			l[i] = 100 * rnd_real(&s) * (double)rnd_below(&s, 2);
			c[i] = rnd_below(&s, 15) ? 1 + 9 * rnd_real(&s) : 0;
			add_proc(&pr, affine(l[i], c[i]), i + 1 < p ? affine(0, 0) : NULL);
		}
		OK(plan_by(&pl, &pr, HETPART_SCATTER_ALL_AT_ONCE));
		NEAR(shares_sum(pl), (double)pr.n, 1e-12);
		for (size_t i = 0; i < p; i++)
			if (hetpart_plan_real_share(pl, i) > 0)
				t = fmax(t, l[i] + c[i] * hetpart_plan_real_share(pl, i));
		for (size_t i = 0; i < p && pr.n > 0; i++) {
			double d = hetpart_plan_real_share(pl, i);
			assert_true(d > 0 ? fabs(l[i] + c[i] * d - t) <= 1e-9 * t
					  : l[i] >= t * (1 - 1e-9) ||
						    (c[i] == 0 && l[i] >= t * (1 - 1e-9)));
		}
		hetpart_plan_free(pl);
		problem_free(&pr);
	}
}

/* Check that on the platform of [S0] the second pass removes most of the cost of the stair. */
static void two_passes_correct_the_stair(void **state)
{
	struct problem pr = s0_problem(false, 1);
	hetpart_plan *once, *twice;

	(void)state;
	OK(plan_by(&once, &pr, HETPART_SCATTER_ALL_AT_ONCE));
	OK(plan_by(&twice, &pr, HETPART_SCATTER_TWO_PASS));
	assert_true(hetpart_plan_makespan(once) > 420);
	assert_true(hetpart_plan_makespan(twice) < 404.1);
	assert_true(hetpart_plan_makespan(twice) >= hetpart_plan_lower_bound(twice));
	NEAR(hetpart_plan_lower_bound(twice), 403.9730150, 1e-9);
	hetpart_plan_free(once);
	hetpart_plan_free(twice);
	problem_free(&pr);
}

/* Find real shares x with which start_i + c_i x_i are equal, by bisection on that time. */
static void level(const double *start, const double *c, size_t p, double n, double *x)
{
	double lo = 0, hi = 1e18;

	for (int step = 0; step < 200; step++) {
		double t = lo + (hi - lo) / 2, sum = 0;
		for (size_t i = 0; i < p; i++)
			sum += x[i] = fmax(0, (t - start[i]) / c[i]);
		*(sum < n ? &lo : &hi) = t;
	}
}

/* Return the makespan of real shares. */
static double one_port_real(const double *startup, const double *a, const double *b, size_t p,
			    const double *x)
{
	double port = 0, last = 0;

	for (size_t i = 0; i < p; i++)
		if (x[i] > 0) {
			port += startup[i] + b[i] * x[i];
			last = fmax(last, port + a[i] * x[i]);
		}
	return last;
}

/* Check that the first pass counts startups, unlike [S2]. Short startups make hardly any
 * difference; with long ones a processor that is too far away to get items delays no other. */
static void first_pass_counts_startups(void **state)
{
	const int count = rounds(1000);
	double ours = 0, without = 0;

	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)count; seed++) {
		uint64_t s = seed;
		size_t p = 2 + (size_t)rnd_below(&s, 15);
		struct problem pr = { .n = 10000 };
		double a[16], b[16], c[16], l[16], start[16] = { 0 }, x[16], sum = 0, port = 0;
		hetpart_plan *pl;
		for (size_t i = 0; i < p; i++) {
			a[i] = 1 + 3 * rnd_real(&s);
			b[i] = i + 1 < p ? 1e-3 + 1e-2 * rnd_real(&s) : 0;
			c[i] = a[i] + b[i];
			sum += 1 / c[i];
		}
		for (size_t i = 0; i < p; i++) {
			l[i] = i + 1 < p ? 1e4 / sum * pow(10, 6 * rnd_real(&s) - 4) : 0;
			add_proc(&pr, affine(0, a[i]), affine(l[i], b[i]));
		}
		OK(plan_by(&pl, &pr, HETPART_SCATTER_TWO_PASS));
		ours += hetpart_plan_real_makespan(pl) * sum;
		level(start, c, p, 1e4, x);
		for (size_t i = 0; i < p; i++) {
			start[i] = l[i] + port;
			port += l[i] + b[i] * x[i];
		}
		level(start, c, p, 1e4, x);
		without += one_port_real(l, a, b, p, x) * sum;
		hetpart_plan_free(pl);
		problem_free(&pr);
	}
	assert_true(ours < without / 2);
}

static double apart(const struct problem *pr, const uint64_t *share)
{
	double last = 0;

	for (size_t i = 0; i < pr->p; i++) {
		double l = pr->proc[i].link ? hetpart_cost_eval(pr->proc[i].link, share[i]) : 0;
		last = fmax(last, l + hetpart_cost_eval(pr->proc[i].compute, share[i]));
	}
	return last;
}

/* Compare with the minimising algorithm: give items one by one to the processor that ends soonest
 * with one more. */
static void greedy_is_item_by_item(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(1000); seed++) {
		uint64_t s = seed, share[MAX_P] = { 0 };
		struct problem pr =
			random_problem(&s, seed % 2 ? AFFINE : RISING, seed % 3 ? AFFINE : RISING);
		hetpart_plan *pl;
		for (uint64_t n = 0; n < pr.n; n++) {
			size_t best = 0;
			double soonest = INFINITY;
			for (size_t i = 0; i < pr.p; i++) {
				double t = hetpart_cost_eval(pr.proc[i].compute, share[i] + 1);
				if (pr.proc[i].link)
					t += hetpart_cost_eval(pr.proc[i].link, share[i] + 1);
				if (t < soonest)
					soonest = t, best = i;
			}
			share[best]++;
		}
		hetpart_status rc = plan_by(&pl, &pr, HETPART_SCATTER_GREEDY);
		if (apart(&pr, share) == INFINITY) {
			assert_int_equal(rc, HETPART_ERANGE);
		} else {
			assert_int_equal(rc, HETPART_OK);
			assert_true(apart(&pr, hetpart_plan_shares(pl)) == apart(&pr, share));
			hetpart_plan_free(pl);
		}
		problem_free(&pr);
	}
}

/* Compare with all candidates by hand: fetch, order, plan. */
static void root_is_the_best_candidate(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(200); seed++) {
		uint64_t s = seed;
		size_t p = 1 + (size_t)rnd_below(&s, 4), root, order[4], who[4], sorted[4];
		hetpart_cost *cost[24];
		const hetpart_cost *comp[4], *link[16], *store[4];
		double total[4], best = INFINITY;
		hetpart_plan *pl, *one;
		uint64_t n = rnd_below(&s, 40);
		for (size_t i = 0; i < p * (p + 2); i++)
			cost[i] = random_cost(&s, AFFINE, n);
		for (size_t i = 0; i < p; i++)
			comp[i] = cost[i], store[i] = cost[p + i];
		for (size_t i = 0; i < p * p; i++)
			link[i] = i % (p + 1) ? cost[2 * p + i] : NULL;
		OK(hetpart_scatter_root(&pl, &root, order, total, n, comp, link,
					seed % 2 ? store : NULL, p, NULL, &err));
		for (size_t r = 0; r < p; r++) {
			hetpart_scatter_proc in[4], by[4];
			size_t at = 0;
			for (size_t i = 0; i < p; i++)
				if (i != r)
					who[at] = i,
					in[at++] =
						(hetpart_scatter_proc){ comp[i], link[r * p + i] };
			who[at] = r, in[at] = (hetpart_scatter_proc){ comp[r], NULL };
			OK(hetpart_scatter_order(sorted, n, in, p, &err));
			for (size_t j = 0; j < p; j++)
				by[j] = in[sorted[j]];
			OK(hetpart_scatter_create(&one, n, by, p, NULL, &err));
			double t = hetpart_plan_makespan(one) +
				   (seed % 2 ? hetpart_cost_eval(store[r], n) : 0);
			NEAR(total[r], t, 1e-14);
			if (t < best)
				best = t;
			if (r == root) {
				assert_int_equal(hetpart_plan_hash(one), hetpart_plan_hash(pl));
				for (size_t j = 0; j < p; j++)
					assert_int_equal(order[j], who[sorted[j]]);
			}
			hetpart_plan_free(one);
		}
		assert_true(total[root] == best);
		hetpart_plan_free(pl);
		for (size_t i = 0; i < p * (p + 2); i++)
			hetpart_cost_free(cost[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bound_is_never_broken),
		cmocka_unit_test(programme_pays_constants),
		cmocka_unit_test(last_rounding_subtracts),
		cmocka_unit_test(rounding_moves_less_than_one),
		cmocka_unit_test(rounding_of_huge_numbers),
		cmocka_unit_test(drop_rule_counts_kept_only),
		cmocka_unit_test(theorem_3_is_not_for_whole_shares),
		cmocka_unit_test(order_is_best_for_real_shares),
		cmocka_unit_test(all_at_once_formula),
		cmocka_unit_test(water_filling),
		cmocka_unit_test(two_passes_correct_the_stair),
		cmocka_unit_test(first_pass_counts_startups),
		cmocka_unit_test(greedy_is_item_by_item),
		cmocka_unit_test(root_is_the_best_candidate),
	};
	return cmocka_run_group_tests_name("scatter rules", tests, NULL, NULL);
}
