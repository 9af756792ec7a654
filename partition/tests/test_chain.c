/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_chain.c - several divisible loads on a chain [S3]: the figures of two processors and two
 * loads; the linear programme against heuristics and its own replay. Also the errata, the rules of
 * the dates, and every invalid argument. */
#include "chain_help.h"

#include <float.h>

/* Set up two equal processors of w = lambda, z = 1, and two loads of volume 1. */
static void two_by_two(struct instance *in, double lambda, size_t q)
{
	instance_init(in, 2, 2);
	in->w[0] = in->w[1] = lambda;
	in->q[0] = in->q[1] = q;
}

static double makespan(const struct instance *in, hetpart_chain_method m, size_t most)
{
	hetpart_schedule *sd = must(in, m, most);
	double t = hetpart_schedule_makespan(sd);

	hetpart_schedule_free(sd);
	return t;
}

static void figures_of_two_loads(void **state)
{
	struct instance in;

	(void)state;
	for (double l = 0.25; l <= 4; l *= 1.25) {
		two_by_two(&in, l, 1);
		NEAR(makespan(&in, HETPART_CHAIN_LP, 0),
		     2 * l * (l * l + l + 1) / (2 * l * l + 2 * l + 1), 1e-7);
		if (l >= (sqrt(3) + 1) / 2)
			NEAR(makespan(&in, HETPART_CHAIN_SINGLEINST, 0),
			     l * (4 * l + 3) / (2 * (2 * l + 1)), 1e-12);
	}
	two_by_two(&in, .75, 2);
	NEAR(makespan(&in, HETPART_CHAIN_LP, 0), 781. / 653 * .75, 1e-7);
	NEAR(makespan(&in, HETPART_CHAIN_MULTIINST, 0), .9, 1e-12);
	NEAR(makespan(&in, HETPART_CHAIN_MULTIINST, 2), .9, 0.05);
}

/* Check that without a cap installments shrink by lambda each: below (sqrt 17 + 1)/8 they never add
 * up. */
static void multiinst_may_have_no_solution(void **state)
{
	double edge = (sqrt(17) + 1) / 8;
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	struct instance in;
	hetpart_schedule *sd = (void *)&in;

	(void)state;
	opts.method = HETPART_CHAIN_MULTIINST;
	opts.limit_s = INFINITY;
	for (double l = .1; l < edge; l += .06) {
		two_by_two(&in, l, 1);
		assert_int_equal(hetpart_chain_create(&sd, &in.ch, &opts, &err), HETPART_ENOSOL);
		assert_null(sd);
		assert_non_null(strstr(err.text, "max_installments"));
		assert_true(isfinite(makespan(&in, HETPART_CHAIN_MULTIINST, 5)));
	}
	two_by_two(&in, edge - 1e-4, 1);
	assert_int_equal(hetpart_chain_create(&sd, &in.ch, &opts, &err), HETPART_ENOSOL);
	two_by_two(&in, edge + 1e-4, 1);
	assert_true(isfinite(makespan(&in, HETPART_CHAIN_MULTIINST, 0)));
}

/* Check that the programme never exceeds a heuristic that it could imitate, and that its replay
 * gives its own figure. */
static void programme_beats_heuristics(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(600); seed++) {
		uint64_t s = seed;
		struct instance in;
		random_instance(&in, &s);
		if (seed % 2)
			random_loads(&in, &s);
		hetpart_schedule *lp = must(&in, HETPART_CHAIN_LP, 0);
		double best = hetpart_schedule_makespan(lp);
		NEAR(best, hetpart_schedule_planned_makespan(lp), PRECISION);
		check_rules(&in, lp, false);
		replay_is_the_same(&in, lp);
		hetpart_schedule_free(lp);
		for (int m = HETPART_CHAIN_SIMPLE; m <= HETPART_CHAIN_SINGLEINST; m++) {
			hetpart_schedule *sd = must(&in, (hetpart_chain_method)m, 0);
			if (!(best <= hetpart_schedule_makespan(sd) * (1 + 1e-7)))
				fail_msg("LP %.12g above %s %.12g, seed %" PRIu64, best,
					 hetpart_schedule_method(sd), hetpart_schedule_makespan(sd),
					 seed);
			check_rules(&in, sd, false);
			replay_is_the_same(&in, sd);
			hetpart_schedule_free(sd);
		}
	}
}

/* Check that the programme with the number of installments of MULTIINST is at least as good. */
static void programme_beats_multiinst(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(200); seed++) {
		uint64_t s = seed + 777;
		struct instance in;
		random_instance(&in, &s);
		if (seed % 2)
			random_loads(&in, &s);
		hetpart_schedule *sd = must(&in, HETPART_CHAIN_MULTIINST, 4);
		check_rules(&in, sd, false);
		replay_is_the_same(&in, sd);
		for (size_t n = 0; n < in.ch.nloads; n++) {
			in.q[n] = hetpart_schedule_installments(sd, n);
			assert_in_range(in.q[n], 1, 4);
		}
		double best = makespan(&in, HETPART_CHAIN_LP, 0);
		assert_true(best <= hetpart_schedule_makespan(sd) * (1 + 1e-7));
		hetpart_schedule_free(sd);
	}
}

/* Check that one installment of a single load is optimal if all end together. */
static void singleinst_is_optimal_for_one_load(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(200); seed++) {
		uint64_t s = seed + 1996;
		struct instance in;
		random_instance(&in, &s);
		random_loads(&in, &s);
		in.ch.nloads = 1;
		in.q[0] = 1;
		NEAR(makespan(&in, HETPART_CHAIN_SINGLEINST, 0), makespan(&in, HETPART_CHAIN_LP, 0),
		     PRECISION);
	}
}

/* Check that no schedule on a grid of fractions beats the programme: two processors, two loads. */
static void programme_is_optimal_on_a_grid(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		uint64_t s = seed + 99;
		struct instance in;
		double f[4], best = INFINITY;
		two_by_two(&in, 1, 1);
		for (size_t i = 0; i < 2; i++) {
			in.w[i] = .3 + rnd_real(&s);
			in.vcomm[i] = rnd_real(&s);
			in.vcomp[i] = .3 + rnd_real(&s);
		}
		for (int a = 0; a <= 100; a++)
			for (int b = 0; b <= 100; b++) {
				hetpart_schedule *sd;
				f[0] = a / 100., f[1] = 1 - f[0], f[2] = b / 100., f[3] = 1 - f[2];
				OK(hetpart_chain_replay(&sd, &in.ch, f, 4, &err));
				best = fmin(best, hetpart_schedule_makespan(sd));
				hetpart_schedule_free(sd);
			}
		double lp = makespan(&in, HETPART_CHAIN_LP, 0);
		assert_true(lp <= best * (1 + 1e-9));
		assert_true(best <= lp * 1.03);
	}
}

/* Check the errata: (6) waits for the message from processor i - 1, (7) multiplies by the
 * computation volume, (13) looks at the last installment. With two processors the link keeps its
 * order. */
static void errata(void **state)
{
	struct instance in;
	double f[] = { 0, 1, 0, 1 }, s, e;
	hetpart_schedule *sd;

	(void)state;
	two_by_two(&in, 1, 1);
	in.vcomm[0] = 3, in.vcomm[1] = 5, in.vcomp[0] = 7, in.vcomp[1] = 11;
	OK(hetpart_chain_replay(&sd, &in.ch, f, 4, &err));
	assert_true(hetpart_schedule_comm(sd, 1, 0, 0, &s, &e));
	NEAR(s, 3, 1e-15); /* not before the first message is through */
	NEAR(e, 8, 1e-15);
	assert_true(hetpart_schedule_comp(sd, 0, 0, 1, &s, &e));
	NEAR(s, 3, 1e-15);                              /* (6) */
	NEAR(e, 10, 1e-15);                             /* (7) */
	NEAR(hetpart_schedule_makespan(sd), 21, 1e-15); /* (13) */
	hetpart_schedule_free(sd);
	/* A slow first processor: nearly all goes over the one link, twice. Without the order of
	 * (m = 2) both messages would travel at once and end at 1.5 */
	two_by_two(&in, 1e-3, 1);
	in.w[0] = 1e6;
	NEAR(makespan(&in, HETPART_CHAIN_LP, 0), 2.001, 1e-3);
}

/* Check that all units of time and volume give the same fractions, and makespans to scale. */
static void units_do_not_matter(void **state)
{
	static const double time[] = { 0x1p-900, 0x1p-30, 0x1p40, 0x1p900 };
	static const double volume[] = { 0x1p-60, 0x1p80 };

	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(40); seed++) {
		uint64_t s = seed + 5;
		struct instance in, big;
		random_instance(&in, &s);
		double one = makespan(&in, HETPART_CHAIN_LP, 0);
		for (size_t k = 0; k < LEN(time); k++)
			for (size_t v = 0; v < LEN(volume); v++) {
				s = seed + 5;
				random_instance(&big, &s);
				for (size_t i = 0; i < MAX_M; i++) {
					big.w[i] *= time[k] / volume[v];
					big.z[i] *= time[k] / volume[v];
					big.tau[i] *= time[k];
				}
				for (size_t n = 0; n < MAX_N; n++) {
					big.vcomm[n] *= volume[v];
					big.vcomp[n] *= volume[v];
				}
				NEAR(makespan(&big, HETPART_CHAIN_LP, 0), one * time[k], 1e-12);
			}
	}
}

/* Use odd units, not powers of two: 1e-12 s per unit against 1e12 units. */
static void badly_scaled_input(void **state)
{
	struct instance in, odd;

	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(60); seed++) {
		uint64_t s = seed + 31;
		random_instance(&in, &s);
		s = seed + 31;
		random_instance(&odd, &s);
		for (size_t i = 0; i < MAX_M; i++)
			odd.w[i] *= 3e-17, odd.z[i] *= 7e-9;
		for (size_t n = 0; n < MAX_N; n++)
			odd.vcomp[n] *= 1e15 / 3, odd.vcomm[n] *= 1e7 / 7;
		for (size_t i = 0; i < MAX_M; i++)
			odd.tau[i] *= 1e-2;
		NEAR(makespan(&odd, HETPART_CHAIN_LP, 0), 1e-2 * makespan(&in, HETPART_CHAIN_LP, 0),
		     1e-6);
	}
}

/* Use processors, links and volumes that differ by many powers of ten. The makespan of the dates
 * then differs from the solver's figure by its precision. */
static void wide_ranges(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(2000); seed++) {
		uint64_t s = seed + 6060;
		double wide = seed % 4 == 3 ? 60 : seed % 4 == 2 ? 3 : 8;
		struct instance in;
		random_instance(&in, &s);
		for (size_t i = 0; i < MAX_M; i++) {
			in.w[i] *= pow(10, wide * (rnd_real(&s) - .5));
			in.z[i] *= pow(10, wide * (rnd_real(&s) - .5));
		}
		for (size_t n = 0; n < MAX_N; n++) {
			in.vcomp[n] *= pow(10, 3 * rnd_real(&s));
			in.vcomm[n] *= pow(10, wide * (rnd_real(&s) - .5));
		}
		hetpart_schedule *lp = must(&in, HETPART_CHAIN_LP, 0);
		assert_true(hetpart_schedule_makespan(lp) <=
			    makespan(&in, HETPART_CHAIN_SINGLEINST, 0) * (1 + PRECISION));
		NEAR(hetpart_schedule_makespan(lp), hetpart_schedule_planned_makespan(lp),
		     PRECISION);
		hetpart_schedule_free(lp);
	}
}

static void latencies_only_delay(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(100); seed++) {
		uint64_t s = seed + 4242;
		struct instance in;
		random_instance(&in, &s);
		in.ch.latency = in.latency;
		hetpart_schedule *sd = must(&in, HETPART_CHAIN_LP, 0);
		assert_true(hetpart_schedule_makespan(sd) >=
			    hetpart_schedule_planned_makespan(sd) * (1 - 1e-7));
		check_rules(&in, sd, true);
		replay_is_the_same(&in, sd);
		hetpart_schedule_free(sd);
	}
}

static void refuse(const struct instance *in, const char *text)
{
	hetpart_schedule *sd = (void *)&err;

	assert_int_equal(hetpart_chain_create(&sd, &in->ch, NULL, &err), HETPART_EINVAL);
	assert_null(sd);
	if (!strstr(err.text, text))
		fail_msg("'%s' lacks '%s'", err.text, text);
	assert_int_equal(err.status, HETPART_EINVAL);
}

#define REFUSE(change, text)           \
	do {                           \
		struct instance in;    \
		two_by_two(&in, 1, 1); \
		change;                \
		refuse(&in, text);     \
	} while (0)

static void invalid_chains(void **state)
{
	(void)state;
	REFUSE(in.ch.nprocs = 0, "the number of processors is '0'");
	REFUSE(in.ch.nloads = 0, "the number of loads is '0'");
	REFUSE(in.ch.w = NULL, "'w' is NULL");
	REFUSE(in.ch.z = NULL, "'z' is NULL");
	REFUSE(in.ch.vcomm = NULL, "'vcomm' is NULL");
	REFUSE(in.ch.vcomp = NULL, "'vcomp' is NULL");
	REFUSE(in.w[1] = 0, "w[1] is '0'");
	REFUSE(in.w[1] = -1, "w[1] is '-1'");
	REFUSE(in.w[0] = NAN, "w[0] is 'nan'");
	REFUSE(in.w[0] = INFINITY, "w[0] is 'inf'");
	REFUSE(in.z[0] = -1, "z[0] is '-1'");
	REFUSE(in.z[0] = NAN, "z[0] is 'nan'");
	REFUSE(in.vcomm[1] = -2, "vcomm[1] is '-2'");
	REFUSE(in.vcomm[1] = INFINITY, "vcomm[1] is 'inf'");
	REFUSE(in.vcomp[1] = 0, "vcomp[1] is '0'");
	REFUSE(in.vcomp[0] = NAN, "vcomp[0] is 'nan'");
	REFUSE((in.ch.tau = in.tau, in.tau[1] = -1), "tau[1] is '-1'");
	REFUSE((in.ch.tau = in.tau, in.tau[1] = NAN), "tau[1] is 'nan'");
	REFUSE((in.ch.latency = in.latency, in.latency[0] = -1), "latency[0] is '-1'");
	REFUSE((in.ch.w_load = in.w_load, in.w_load[0] = 1), "w_load[1] is '0'");
	REFUSE((in.ch.release = in.release, in.release[1] = -1), "release[1] is '-1'");
	REFUSE((in.ch.release = in.release, in.release[0] = INFINITY), "release[0] is 'inf'");
	REFUSE((in.ch.weight = in.weight, in.weight[0] = 1), "weight[1] is '0'");
	REFUSE((in.ch.weight = in.weight, in.weight[0] = NAN), "weight[0] is 'nan'");
	REFUSE(in.q[1] = 0, "the number of installments of load 1 is '0'");
	REFUSE(in.ch.struct_size = 3, "struct_size");
}

static void invalid_options(void **state)
{
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	struct instance in;
	hetpart_schedule *sd;

	(void)state;
	two_by_two(&in, 1, 1);
	assert_int_equal(hetpart_chain_create(NULL, &in.ch, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_chain_create(&sd, NULL, NULL, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "'chain' is NULL"));
	opts.method = (hetpart_chain_method)77;
	assert_int_equal(hetpart_chain_create(&sd, &in.ch, &opts, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "'77' is not a chain method"));
	opts.method = HETPART_CHAIN_LP;
	opts.objective = (hetpart_objective)2;
	assert_int_equal(hetpart_chain_create(&sd, &in.ch, &opts, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "'2' is not an objective of a chain"));
	opts.objective = HETPART_OBJECTIVE_MAKESPAN;
	opts.limit_s = NAN;
	assert_int_equal(hetpart_chain_create(&sd, &in.ch, &opts, &err), HETPART_EINVAL);
	opts.limit_s = -1;
	assert_int_equal(hetpart_chain_create(&sd, &in.ch, &opts, NULL), HETPART_EINVAL);
	opts.limit_s = 0;
	opts.struct_size = 1;
	assert_int_equal(hetpart_chain_create(&sd, &in.ch, &opts, &err), HETPART_EINVAL);
	in.w[0] = 1e-300, in.w[1] = 1e300, in.vcomp[0] = 1e300;
	assert_int_equal(hetpart_chain_create(&sd, &in.ch, NULL, &err), HETPART_ERANGE);
	in.q[1] = SIZE_MAX;
	assert_int_equal(hetpart_chain_create(&sd, &in.ch, NULL, &err), HETPART_ERANGE);
	assert_null(sd);
}

static void invalid_replays(void **state)
{
	double good[] = { .5, .5, .25, .75 };
	static const struct {
		double f[4];
		const char *text;
	} bad[] = {
		{ { -.1, 1.1, .5, .5 }, "a fraction of load 0 is '-0.1'" },
		{ { .5, .5, NAN, .5 }, "a fraction of load 1 is 'nan'" },
		{ { .5, .5, INFINITY, .5 }, "a fraction of load 1 is 'inf'" },
		{ { .5, .4, .5, .5 }, "the fractions of load 0 sum to '0.9" },
		{ { .5, .5, .5, .50001 }, "the fractions of load 1 sum to '1.00001" },
		{ { 0, 0, .5, .5 }, "the fractions of load 0 sum to '0'" },
	};
	struct instance in;
	hetpart_schedule *sd;

	(void)state;
	two_by_two(&in, 1, 1);
	for (size_t k = 0; k < LEN(bad); k++) {
		sd = (void *)&in;
		assert_int_equal(hetpart_chain_replay(&sd, &in.ch, bad[k].f, 4, &err),
				 HETPART_EINVAL);
		assert_null(sd);
		if (!strstr(err.text, bad[k].text))
			fail_msg("'%s' lacks '%s'", err.text, bad[k].text);
	}
	assert_int_equal(hetpart_chain_replay(&sd, &in.ch, good, 3, &err), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "the number of fractions is '3': must be 4"));
	assert_int_equal(hetpart_chain_replay(&sd, &in.ch, good, 5, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_chain_replay(&sd, &in.ch, NULL, 4, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_chain_replay(NULL, &in.ch, good, 4, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_chain_replay(&sd, NULL, good, 4, &err), HETPART_EINVAL);
}

/* Check loads whose times fit a double each, but not one after the other. */
static void dates_beyond_range(void **state)
{
	double shares[] = { 1, 0, 1, 0 };
	struct instance in;
	hetpart_schedule *sd = (void *)&in;

	(void)state;
	two_by_two(&in, DBL_MAX, 1);
	assert_int_equal(hetpart_chain_replay(&sd, &in.ch, shares, 4, &err), HETPART_ERANGE);
	assert_null(sd);
	assert_non_null(strstr(err.text, "a start or end time is too large for a double"));
	in.w[0] /= 2;
	OK(hetpart_chain_replay(&sd, &in.ch, shares, 4, &err));
	NEAR(hetpart_schedule_makespan(sd), DBL_MAX, 1e-15);
	hetpart_schedule_free(sd);
}

static void accessors_know_their_bounds(void **state)
{
	struct instance in;
	hetpart_schedule *sd;
	double s = -1, e = -1;

	(void)state;
	two_by_two(&in, 1, 1);
	sd = must(&in, HETPART_CHAIN_SINGLEINST, 0);
	assert_int_equal(hetpart_schedule_nprocs(sd), 2);
	assert_int_equal(hetpart_schedule_installments(sd, 2), 0);
	assert_true(isnan(hetpart_schedule_fraction(sd, 0, 1, 0)));
	assert_true(isnan(hetpart_schedule_fraction(sd, 0, 0, 2)));
	assert_true(isnan(hetpart_schedule_load_end(sd, 2)));
	assert_false(hetpart_schedule_comm(sd, 0, 0, 1, &s, &e));
	assert_false(hetpart_schedule_comp(sd, 0, 0, 2, &s, &e));
	assert_true(s == -1 && e == -1);
	assert_true(hetpart_schedule_comp(sd, 0, 0, 1, NULL, NULL));
	hetpart_schedule_free(sd);
	hetpart_schedule_free(NULL);
	assert_true(isnan(hetpart_schedule_makespan(NULL)));
	assert_true(isnan(hetpart_schedule_planned_makespan(NULL)));
	assert_true(isnan(hetpart_schedule_flow(NULL)));
	assert_true(isnan(hetpart_schedule_planned_flow(NULL)));
	assert_true(isnan(hetpart_schedule_load_end(NULL, 0)));
	assert_string_equal(hetpart_schedule_method(NULL), "");
	assert_int_equal(hetpart_schedule_nprocs(NULL) + hetpart_schedule_nloads(NULL), 0);
	assert_null(hetpart_schedule_fractions(NULL, NULL));
	assert_int_equal(hetpart_schedule_installments(NULL, 0), 0);
	assert_false(hetpart_schedule_comm(NULL, 0, 0, 0, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_of_two_loads),
		cmocka_unit_test(multiinst_may_have_no_solution),
		cmocka_unit_test(programme_beats_heuristics),
		cmocka_unit_test(programme_beats_multiinst),
		cmocka_unit_test(singleinst_is_optimal_for_one_load),
		cmocka_unit_test(programme_is_optimal_on_a_grid),
		cmocka_unit_test(errata),
		cmocka_unit_test(units_do_not_matter),
		cmocka_unit_test(badly_scaled_input),
		cmocka_unit_test(wide_ranges),
		cmocka_unit_test(latencies_only_delay),
		cmocka_unit_test(invalid_chains),
		cmocka_unit_test(invalid_options),
		cmocka_unit_test(invalid_replays),
		cmocka_unit_test(dates_beyond_range),
		cmocka_unit_test(accessors_know_their_bounds),
	};
	return cmocka_run_group_tests_name("chain", tests, NULL, NULL);
}
