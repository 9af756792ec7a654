/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_model.c - learning an unknown cost: the fitted function on small cases, and the true
 * makespan, batch after batch, on four shapes of cost with noise. */
#include "tests.h"

static hetpart_model *model_of(const hetpart_point *pt, size_t n)
{
	hetpart_model *m;

	OK(hetpart_model_create(&m, &err));
	OK(hetpart_model_add(m, pt, n, &err));
	return m;
}

static void nothing_seen(void **state)
{
	double k[] = { 1, 3 };
	hetpart_model *m = model_of(NULL, 0);
	hetpart_plan *pl;

	(void)state;
	NEAR(hetpart_model_weight(m), 0, 0);
	assert_int_equal(hetpart_model_points(m, NULL, 0), 0);
	OK(hetpart_model_plan(&pl, m, 400, k, 2, NULL, &err));
	assert_int_equal(hetpart_plan_share(pl, 0), 100);
	hetpart_plan_free(pl);
	hetpart_model_free(m);
	hetpart_model_free(NULL);
}

/* Corners rise in items and in time, whatever was seen; points go no further than room. */
static void rising(void **state)
{
	uint64_t seed = 21;

	(void)state;
	for (int round = 0; round < rounds(300); round++) {
		hetpart_point seen[40], got[600];
		size_t n = 1 + rnd_below(&seed, LEN(seen));
		double wide = 50 * rnd_real(&seed);
		for (size_t i = 0; i < n; i++)
			seen[i] = (hetpart_point){ exp(wide * rnd_real(&seed) * 0.87),
						   exp(30 * rnd_real(&seed)) };
		hetpart_model *m = model_of(seen, n);
		NEAR(hetpart_model_weight(m), (double)n, 1e-12);
		size_t corners = hetpart_model_points(m, got, LEN(got));
		assert_in_range(corners, 1, 480);
		for (size_t i = 0; i < corners; i++) {
			assert_true(got[i].items > (i ? got[i - 1].items : 0));
			assert_true(got[i].time_s > (i ? got[i - 1].time_s : 0));
		}
		got[1].items = -7;
		assert_int_equal(hetpart_model_points(m, got, 1), corners);
		NEAR(got[1].items, -7, 0);
		hetpart_cost *c;
		OK(hetpart_model_cost(&c, m, &err));
		assert_true(hetpart_cost_increasing(c));
		hetpart_cost_free(c);
		hetpart_model_free(m);
	}
}

/* Without noise the fitted cost is the true one, between what was seen and a little beyond. */
static void exact_without_noise(void **state)
{
	double exponent[] = { 0.7, 1, 1.5, 2 };

	(void)state;
	for (size_t e = 0; e < LEN(exponent); e++) {
		hetpart_point seen[12];
		hetpart_cost *c;
		for (size_t i = 0; i < LEN(seen); i++)
			seen[i] = (hetpart_point){ 1000 * (double)(i + 1),
						   pow(1000 * (double)(i + 1), exponent[e]) };
		hetpart_model *m = model_of(seen, LEN(seen));
		OK(hetpart_model_cost(&c, m, &err));
		for (uint64_t n = 800; n < 16000; n += 100)
			NEAR(hetpart_cost_eval(c, n), pow((double)n, exponent[e]), 1e-2);
		hetpart_cost_free(c);
		hetpart_model_free(m);
	}
}

/* One observation, or the same one again: in proportion, for want of better knowledge. Beyond all
 * that was seen a slope that falls is not trusted. */
static void beyond(void **state)
{
	hetpart_point seen[] = { { 100, 90 }, { 1000, 100 } }, free_[] = { { 10, 0 } },
		      one[] = { { 100, 50 } };
	hetpart_model *m = model_of(seen, 2);
	hetpart_cost *c;

	(void)state;
	OK(hetpart_model_cost(&c, m, &err));
	double far = hetpart_cost_eval(c, 2000000) / hetpart_cost_eval(c, 1000000);
	NEAR(far, 2, 0.01);
	hetpart_cost_free(c);
	hetpart_model_free(m);
	m = model_of(one, 1);
	OK(hetpart_model_cost(&c, m, &err));
	NEAR(hetpart_cost_eval(c, 10), 5, 1e-12);
	NEAR(hetpart_cost_eval(c, 1000), 500, 1e-12);
	hetpart_cost_free(c);
	hetpart_model_free(m);
	m = model_of(free_, 1); /* a clock too coarse: as if nothing was seen */
	OK(hetpart_model_cost(&c, m, &err));
	NEAR(hetpart_cost_eval(c, 7), 7, 0);
	hetpart_cost_free(c);
	hetpart_model_free(m);
}

static void decay_and_merge(void **state)
{
	hetpart_point old[] = { { 100, 10 }, { 100, 10 } }, now[] = { { 100, 40 } };
	hetpart_cost *c;
	hetpart_model *a = model_of(old, 2), *b = model_of(now, 1);

	(void)state;
	OK(hetpart_model_decay(a, 0.25, &err));
	NEAR(hetpart_model_weight(a), 0.5, 1e-15);
	OK(hetpart_model_merge(a, b, &err));
	OK(hetpart_model_cost(&c, a, &err));
	NEAR(hetpart_cost_eval(c, 100), 30, 1e-12);
	hetpart_cost_free(c);
	NEAR(hetpart_model_weight(a), 1.5, 1e-15);
	OK(hetpart_model_merge(a, a, &err));
	NEAR(hetpart_model_weight(a), 3, 1e-15);
	for (int i = 0; i < 40; i++)
		OK(hetpart_model_decay(a, 0.5, &err));
	NEAR(hetpart_model_weight(a), 0, 0);
	hetpart_model_free(a);
	hetpart_model_free(b);
}

static void refusals(void **state)
{
	hetpart_point bad[] = { { 0.5, 1 },  { -1, 1 }, { NAN, 1 }, { INFINITY, 1 },
				{ 1e19, 1 }, { 5, -1 }, { 5, NAN }, { 5, INFINITY } };
	double factor[] = { 0, -1, 1.01, NAN, INFINITY }, k[] = { 1 };
	hetpart_model *m = model_of(NULL, 0);
	hetpart_plan *pl;
	hetpart_cost *c;

	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		hetpart_point two[] = { { 5, 5 }, bad[i] };
		err.text[0] = 0;
		assert_int_equal(hetpart_model_add(m, two, 2, &err), HETPART_EINVAL);
		assert_non_null(strstr(err.text, "observation 1"));
		NEAR(hetpart_model_weight(m), 0, 0); /* all or none */
	}
	for (size_t i = 0; i < LEN(factor); i++)
		assert_int_equal(hetpart_model_decay(m, factor[i], &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_add(NULL, bad, 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_add(m, NULL, 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_decay(NULL, 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_merge(NULL, m, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_merge(m, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_create(NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_cost(NULL, m, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_cost(&c, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_plan(NULL, m, 1, k, 1, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_plan(&pl, NULL, 1, k, 1, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_plan(&pl, m, 1, NULL, 1, NULL, &err), HETPART_EINVAL);
	hetpart_model_free(m);
}

/* ------------------------------------------------------------------------- does it learn? */

enum { P = 8, N = 1000000, BATCHES = 30, SEEDS = 12, SHAPES = 4 };

/* Beyond a limit each item takes three times as long. */
static double cliff(void *ctx, uint64_t n)
{
	(void)ctx;
	return (double)n + (n > 120000 ? 2 * ((double)n - 120000) : 0);
}

static double gauss(uint64_t *seed)
{
	double r = sqrt(-2 * log(1 - rnd_real(seed)));
	return r * cos(2 * M_PI * rnd_real(seed));
}

static double noise(uint64_t *seed, bool normal)
{
	return 1 + 0.05 * (normal ? gauss(seed) : 2 * rnd_real(seed) - 1);
}

/* Excess of the true makespan over the optimum, added up batch by batch. */
static void learn(const hetpart_cost *truth, uint64_t seed, bool normal, double *excess)
{
	double k[P], best;
	hetpart_model *m = model_of(NULL, 0);
	hetpart_plan *pl;

	for (size_t i = 0; i < P; i++)
		k[i] = 1 + 3 * rnd_real(&seed);
	OK(hetpart_share_create(&pl, N, k, P, truth, NULL, &err));
	best = hetpart_plan_makespan(pl);
	hetpart_plan_free(pl);
	for (size_t b = 0; b < BATCHES; b++) {
		hetpart_point seen[P];
		double worst = 0;
		OK(hetpart_model_plan(&pl, m, N, k, P, NULL, &err));
		for (size_t i = 0; i < P; i++) {
			uint64_t n = hetpart_plan_share(pl, i);
			double f = hetpart_cost_eval(truth, n);
			worst = fmax(worst, f / k[i]);
			seen[i] = (hetpart_point){ (double)n, f * noise(&seed, normal) };
		}
		excess[b] += worst / best - 1;
		OK(hetpart_model_add(m, seen, P, &err));
		hetpart_plan_free(pl);
	}
	hetpart_model_free(m);
}

/* Mean over the seeds, shape by shape, and over all. */
static void study(bool normal, double mean[SHAPES][BATCHES], double all[BATCHES])
{
	hetpart_cost *truth[SHAPES];

	OK(hetpart_cost_nlogn(&truth[0], 1e-8, &err));
	OK(hetpart_cost_power(&truth[1], 1.5, 1e-8, &err));
	OK(hetpart_cost_power(&truth[2], 0.7, 1e-8, &err));
	OK(hetpart_cost_callback(&truth[3], cliff, NULL, true, 1e-8, &err));
	for (size_t c = 0; c < SHAPES; c++) {
		for (uint64_t seed = 101; seed < 101 + SEEDS; seed++)
			learn(truth[c], seed, normal, mean[c]);
		for (size_t b = 0; b < BATCHES; b++) {
			mean[c][b] /= SEEDS;
			all[b] += mean[c][b] / SHAPES;
		}
		hetpart_cost_free(truth[c]);
	}
}

static void below(const double *excess, size_t batch, double limit, const char *what)
{
	for (size_t b = batch - 1; b < BATCHES; b++)
		if (!(excess[b] <= limit))
			fail_msg("%s: batch %zu is %.2f %% over the optimum", what, b + 1,
				 100 * excess[b]);
}

/* Noise of up to 5 %: 2 % from batch 3, 1 % from batch 11. A cliff has to be found first. */
static void learns(void **state)
{
	double mean[SHAPES][BATCHES] = { { 0 } }, all[BATCHES] = { 0 };

	(void)state;
	study(false, mean, all);
	assert_true(all[0] > 0.1); /* there was something to learn */
	for (size_t c = 0; c < SHAPES; c++) {
		const char *what[] = { "n ln n", "n^1.5", "n^0.7", "cliff" };
		below(mean[c], 3, c == 3 ? 0.025 : 0.02, what[c]);
		below(mean[c], 11, c == 3 ? 0.0125 : 0.01, what[c]);
	}
	below(all, 3, 0.02, "all");
	below(all, 11, 0.01, "all");
}

/* Noise with a standard deviation of 5 %: three times the variance, a few batches more. */
static void learns_from_worse(void **state)
{
	double mean[SHAPES][BATCHES] = { { 0 } }, all[BATCHES] = { 0 };

	(void)state;
	study(true, mean, all);
	below(all, 6, 0.02, "all");
	below(all, 11, 0.0125, "all");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_seen),    cmocka_unit_test(rising),
		cmocka_unit_test(beyond),          cmocka_unit_test(exact_without_noise),
		cmocka_unit_test(decay_and_merge), cmocka_unit_test(refusals),
		cmocka_unit_test(learns),          cmocka_unit_test(learns_from_worse),
	};
	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
