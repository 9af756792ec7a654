/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_affine_lp.c - the linear programme for affine costs, against GLPK in rational numbers,
 * for all magnitudes. HETSORT_LONG=1: more of them. */
#include <glpk.h>

#include "scatter_help.h"

struct line {
	double startup, per_item;
};

struct platform {
	size_t p;
	uint64_t n;
	struct line comp[10], link[10];
};

static void put(int *row, int *col, double *val, int *k, int r, int c, double v)
{
	if (v == 0)
		return;
	++*k;
	row[*k] = r;
	col[*k] = c;
	val[*k] = v;
}

/* Minimise T, which is column p + 1, over real shares. For each i, T - sum_{j<=i} b_j x_j - a_i x_i
 * must be at least the sum of the startup times of links 1 to i and of processor i. */
static double exact_optimum(const struct platform *f)
{
	glp_prob *lp = glp_create_prob();
	int row[200], col[200], k = 0, p = (int)f->p;
	double val[200], best;
	long double started = 0;

	glp_term_out(GLP_OFF);
	glp_add_rows(lp, p + 1);
	glp_add_cols(lp, p + 1);
	for (int i = 1; i <= p; i++) {
		started += f->link[i - 1].startup;
		for (int j = 1; j < i; j++)
			put(row, col, val, &k, i, j, -f->link[j - 1].per_item);
		put(row, col, val, &k, i, i, -(f->link[i - 1].per_item + f->comp[i - 1].per_item));
		put(row, col, val, &k, i, p + 1, 1);
		glp_set_row_bnds(lp, i, GLP_LO, (double)(started + f->comp[i - 1].startup), 0);
		put(row, col, val, &k, p + 1, i, 1);
		glp_set_col_bnds(lp, i, GLP_LO, 0, 0);
	}
	glp_set_row_bnds(lp, p + 1, GLP_FX, (double)f->n, (double)f->n);
	glp_set_col_bnds(lp, p + 1, GLP_LO, 0, 0);
	glp_set_obj_coef(lp, p + 1, 1);
	glp_load_matrix(lp, k, row, col, val);
	assert_int_equal(glp_exact(lp, NULL), 0);
	assert_int_equal(glp_get_status(lp), GLP_OPT);
	best = glp_get_obj_val(lp);
	glp_delete_prob(lp);
	return best;
}

static void check(const struct platform *f, uint64_t seed)
{
	struct problem pr = { .n = f->n };
	hetpart_plan *pl;
	double want = exact_optimum(f), sum = 0;

	for (size_t i = 0; i < f->p; i++)
		add_proc(&pr, affine(f->comp[i].startup, f->comp[i].per_item),
			 affine(f->link[i].startup, f->link[i].per_item));
	if (plan_by(&pl, &pr, HETPART_SCATTER_LP) != HETPART_OK)
		fail_msg("seed %" PRIu64 ": %s", seed, err.text);
	for (size_t i = 0; i < f->p; i++) {
		assert_true(hetpart_plan_real_share(pl, i) >= 0);
		sum += hetpart_plan_real_share(pl, i);
	}
	NEAR(sum, (double)f->n, 1e-12);
	if (!(fabs(hetpart_plan_real_makespan(pl) - want) <= 1e-9 * want))
		fail_msg("seed %" PRIu64 ": %.17g, want %.17g", seed,
			 hetpart_plan_real_makespan(pl), want);
	hetpart_plan_free(pl);
	problem_free(&pr);
}

static void magnitudes_that_scaling_cannot_help(void **state)
{
	const struct platform f = {
		.p = 4,
		.n = 10,
		.comp = { { 1e-5, 4e-4 }, { 60, 3e-9 }, { 0, 2e-7 }, { 3e-5, 1 } },
		.link = { { 0, 5e-4 }, { 1e-4, 2e-9 }, { 3e-4, 2e-10 }, { 0, 0 } },
	};

	(void)state;
	check(&f, 0);
}

static double number(uint64_t *s, double from, double to)
{
	return rnd_below(s, 4) == 0 ? 0 : pow(10, from + (to - from) * rnd_real(s));
}

static struct platform random_platform(uint64_t seed)
{
	uint64_t s = seed;
	struct platform f = { .p = 1 + (size_t)rnd_below(&s, 10) };
	double wide = seed % 2 ? 9 : 2;

	f.n = rnd_below(&s, seed % 3 ? 1000 : 100000000);
	for (size_t i = 0; i < f.p; i++) {
		bool equal = i > 0 && seed % 5 == 0;
		f.comp[i] = equal ? f.comp[0]
				  : (struct line){ number(&s, -5, 2), number(&s, -wide, 0) };
		f.link[i] = equal ? f.link[0]
				  : (struct line){ number(&s, -4, -4 + wide / 2),
						   number(&s, -wide, -wide / 3) };
	}
	return f;
}

static void as_in_rational_numbers(void **state)
{
	const int count = rounds(getenv("HETSORT_LONG") ? 20000 : 2000);

	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)count; seed++) {
		struct platform f = random_platform(seed);
		check(&f, seed);
	}
}

/* Plan for a thousand processors: those with a share end together, or wait for one with a long
 * startup. */
static void many_processors(void **state)
{
	hetpart_scatter_proc procs[1000];
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	uint64_t s = 7;
	hetpart_plan *pl;
	double sum = 0;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		procs[i] = (hetpart_scatter_proc){ affine(10 * rnd_real(&s), 1 + rnd_real(&s)),
						   affine(rnd_real(&s), 1e-3 * rnd_real(&s)) };
	opts.method = HETPART_SCATTER_LP;
	OK(hetpart_scatter_create(&pl, 1000000, procs, 1000, &opts, &err));
	for (size_t i = 0; i < 1000; i++)
		sum += hetpart_plan_real_share(pl, i);
	NEAR(sum, 1e6, 1e-12);
	assert_true(hetpart_plan_real_makespan(pl) >= hetpart_plan_lower_bound(pl));
	assert_true(hetpart_plan_makespan(pl) <= hetpart_plan_real_makespan(pl) + 3);
	hetpart_plan_free(pl);
	for (size_t i = 0; i < 1000; i++) {
		hetpart_cost_free((hetpart_cost *)procs[i].compute);
		hetpart_cost_free((hetpart_cost *)procs[i].link);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(magnitudes_that_scaling_cannot_help),
		cmocka_unit_test(as_in_rational_numbers),
		cmocka_unit_test(many_processors),
	};
	return cmocka_run_group_tests_name("affine programme", tests, NULL, NULL);
}
