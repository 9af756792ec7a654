/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_model.c - learning an unknown cost: the fitted function on small cases, and the true
 * makespan, batch after batch, on four shapes of cost with noise. */
#include "tests/tests.h"

#include "learn_help.h"

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
		hetpart_point seen[40], got[960];
		size_t n = 1 + rnd_below(&seed, LEN(seen));
		double wide = 50 * rnd_real(&seed);
		for (size_t i = 0; i < n; i++)
			seen[i] = (hetpart_point){ exp(wide * rnd_real(&seed) * 0.87),
						   exp(30 * rnd_real(&seed)) };
		hetpart_model *m = model_of(seen, n);
		NEAR(hetpart_model_weight(m), (double)n, 1e-12);
		size_t corners = hetpart_model_points(m, got, LEN(got));
		assert_in_range(corners, 1, 960);
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

/* Check that after a single observation the cost is proportional to the items. Check the same
 * beyond the largest observation, even if the observed cost per item falls. */
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

/* Seconds on processors of other speeds describe one cost. */
static void seconds_and_speeds(void **state)
{
	const hetpart_point seconds[] = { { 100, 50 }, { 200, 50 }, { 400, 800 }, { 0, 1 } };
	const hetpart_point cost[] = { { 100, 100 }, { 200, 200 }, { 400, 400 } };
	const double speeds[] = { 2, 4, .5, 1 }, bad[] = { 0, -1, NAN, INFINITY };
	hetpart_model *m = model_of(NULL, 0), *want = model_of(cost, LEN(cost));
	hetpart_point got[960], wanted[960];

	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		const double two[] = { 1, bad[i] };
		assert_int_equal(hetpart_model_observe(m, seconds, two, 2, &err), HETPART_EINVAL);
		assert_non_null(strstr(err.text, "observation 1 has speed"));
	}
	const double huge[] = { 1e308 };
	assert_int_equal(hetpart_model_observe(m, seconds, huge, 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_observe(m, seconds, NULL, 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_observe(m, NULL, speeds, 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_model_observe(NULL, seconds, speeds, 1, &err), HETPART_EINVAL);
	NEAR(hetpart_model_weight(m), 0, 0); /* all or none */
	OK(hetpart_model_observe(m, NULL, NULL, 0, &err));
	OK(hetpart_model_observe(m, seconds, speeds, LEN(seconds), &err));
	const size_t n = hetpart_model_points(m, got, LEN(got));
	assert_int_equal(n, hetpart_model_points(want, wanted, LEN(wanted)));
	assert_memory_equal(got, wanted, n * sizeof *got);
	hetpart_model_free(want);
	hetpart_model_free(m);
}

/* More parts of cells than the fit looks at: whole cells do as well. */
static void seen_everywhere(void **state)
{
	hetpart_point got[960];
	hetpart_model *m = model_of(NULL, 0);
	hetpart_cost *c;
	size_t corners;

	(void)state;
	for (double x = 1; x < 0x1p62; x *= 1.02)
		OK(hetpart_model_add(m, &(hetpart_point){ x, pow(x, 1.5) }, 1, &err));
	corners = hetpart_model_points(m, got, LEN(got));
	assert_in_range(corners, 400, 960);
	OK(hetpart_model_cost(&c, m, &err));
	for (uint64_t n = 2; n < UINT64_C(1) << 61; n *= 3)
		NEAR(hetpart_cost_eval(c, n), pow((double)n, 1.5), 1e-2);
	hetpart_cost_free(c);
	hetpart_model_free(m);
}

/* Check that a step seen on both sides in one cell of ratio 1.1 stays a step. */
static void step_in_a_cell(void **state)
{
	hetpart_model *m = model_of(NULL, 0);
	hetpart_cost *c;

	(void)state;
	for (int batch = 0; batch < 20; batch++)
		for (double x = 50e3; x < 200e3; x *= 1.03)
			OK(hetpart_model_add(m, &(hetpart_point){ x, x * (x < 120e3 ? 1 : 2) }, 1,
					     &err));
	OK(hetpart_model_cost(&c, m, &err));
	for (uint64_t n = 50000; n < 200000; n += 1000)
		if (n < 115000 || n > 125000)
			NEAR(hetpart_cost_eval(c, n), (double)(n < 120000 ? n : 2 * n), 1e-2);
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

enum { SEEDS = 12 };

/* Mean over the seeds, batch by batch. */
static void study_by(learn_plan *plan, enum learn_shape shape, enum learn_noise noise,
		     double mean[LEARN_BATCHES])
{
	hetpart_cost *truth;

	OK(learn_truth(&truth, shape, &err));
	for (size_t b = 0; b < LEARN_BATCHES; b++)
		mean[b] = 0;
	for (uint64_t seed = 101; seed < 101 + SEEDS; seed++) {
		double excess[LEARN_BATCHES];
		hetpart_model *m = model_of(NULL, 0);
		OK(learn_run(truth, seed, noise, plan, m, excess, &err));
		for (size_t b = 0; b < LEARN_BATCHES; b++)
			mean[b] += excess[b] / SEEDS;
		hetpart_model_free(m);
	}
	hetpart_cost_free(truth);
}

static void study(enum learn_shape shape, enum learn_noise noise, double mean[LEARN_BATCHES])
{
	study_by(learn_by_model, shape, noise, mean);
}

static void below(const double *excess, size_t batch, double limit, enum learn_shape shape)
{
	for (size_t b = batch - 1; b < LEARN_BATCHES; b++)
		if (!(excess[b] <= limit))
			fail_msg("%s: batch %zu is %.2f %% over the optimum", learn_names[shape],
				 b + 1, 100 * excess[b]);
}

/* Noise of up to 5 %: 2 % from batch 3, 1 % from batch 11, whatever the shape. */
static void learns(void **state)
{
	(void)state;
	for (int shape = 0; shape < LEARN_JUMP; shape++) {
		double mean[LEARN_BATCHES];
		study((enum learn_shape)shape, LEARN_UNIFORM, mean);
		assert_true(mean[0] > 2 * mean[LEARN_BATCHES - 1]); /* something to learn */
		below(mean, 3, 0.02, (enum learn_shape)shape);
		below(mean, 11, 0.01, (enum learn_shape)shape);
	}
}

/* Noise with a standard deviation of 5 %: three times the variance, a few batches more. */
static void learns_from_worse(void **state)
{
	(void)state;
	for (int shape = 0; shape < LEARN_JUMP; shape++) {
		double mean[LEARN_BATCHES];
		study((enum learn_shape)shape, LEARN_NORMAL, mean);
		below(mean, 6, 0.02, (enum learn_shape)shape);
		below(mean, 11, shape == LEARN_CLIFF ? 0.015 : 0.0125, (enum learn_shape)shape);
	}
}

/* Check a cost that jumps by half: 3 % from batch 8, in the mean, with either noise. No smooth
 * curve through both sides does that, because a share on the wrong side costs half. */
static void learns_a_jump(void **state)
{
	(void)state;
	for (int noise = LEARN_UNIFORM; noise <= LEARN_NORMAL; noise++) {
		double mean[LEARN_BATCHES];
		study(LEARN_JUMP, (enum learn_noise)noise, mean);
		below(mean, 8, noise == LEARN_UNIFORM ? 0.03 : 0.05, LEARN_JUMP);
	}
}

/* Check when lines between the observations are better than the fit, as the manual says: only
 * without noise. With a standard deviation of 1 or 5 %, the fit is at least twice as good. */
static void lines_between_observations(void **state)
{
	(void)state;
	for (int noise = LEARN_NORMAL; noise <= LEARN_EXACT; noise++) {
		double fit[LEARN_BATCHES], lines[LEARN_BATCHES], fits = 0, all_lines = 0;
		study_by(learn_by_model, LEARN_NLOGN, (enum learn_noise)noise, fit);
		study_by(learn_by_lines, LEARN_NLOGN, (enum learn_noise)noise, lines);
		assert_true(fit[0] == lines[0]);
		for (size_t b = 1; b < LEARN_BATCHES; b++)
			fits += fit[b], all_lines += lines[b];
		if (noise == LEARN_EXACT) {
			below(fit, 2, 0.0006, LEARN_NLOGN);
			below(fit, 10, 0.0002, LEARN_NLOGN);
			below(lines, 2, 0.0003, LEARN_NLOGN);
			below(lines, 3, 0.00001, LEARN_NLOGN);
		} else if (!(fits < all_lines / 2)) {
			fail_msg("%s: fit %g, lines %g", learn_noise_names[noise], fits, all_lines);
		}
	}
}

/* Check that the fit is better without noise, too, if the observations are not near the shares: 3
 * to 10 of them, between 30,000 and 600,000 items. */
static void few_exact_observations(void **state)
{
	(void)state;
	for (size_t count = 3; count <= 10; count++) {
		double fit = 0, lines = 0;
		for (uint64_t seed = 0; seed < 300; seed++) {
			hetpart_point seen[10];
			hetpart_plan *pl[2];
			double speeds[LEARN_P];
			uint64_t s = seed + 1000 * count;
			for (size_t i = 0; i < count; i++) {
				const double n = floor(30000 * pow(20, rnd_real(&s)));
				seen[i] = (hetpart_point){ n, n * log(n) };
			}
			for (size_t i = 0; i < LEARN_P; i++)
				speeds[i] = 1 + 3 * rnd_real(&s);
			hetpart_model *m = model_of(seen, count);
			OK(hetpart_model_plan(&pl[0], m, LEARN_ITEMS, speeds, LEARN_P, NULL, &err));
			OK(learn_by_lines(NULL, seen, count, speeds, &pl[1], &err));
			for (int k = 0; k < 2; k++) {
				double worst = 0;
				for (size_t i = 0; i < LEARN_P; i++) {
					const double n = (double)hetpart_plan_share(pl[k], i);
					worst = fmax(worst, n > 1 ? n * log(n) / speeds[i] : 0);
				}
				*(k ? &lines : &fit) += worst;
				hetpart_plan_free(pl[k]);
			}
			hetpart_model_free(m);
		}
		assert_true(fit < lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_between_observations),
		cmocka_unit_test(few_exact_observations),
		cmocka_unit_test(nothing_seen),
		cmocka_unit_test(rising),
		cmocka_unit_test(beyond),
		cmocka_unit_test(exact_without_noise),
		cmocka_unit_test(seconds_and_speeds),
		cmocka_unit_test(seen_everywhere),
		cmocka_unit_test(step_in_a_cell),
		cmocka_unit_test(decay_and_merge),
		cmocka_unit_test(refusals),
		cmocka_unit_test(learns),
		cmocka_unit_test(learns_from_worse),
		cmocka_unit_test(learns_a_jump),
	};
	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
