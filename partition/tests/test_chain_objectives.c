/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_chain_objectives.c - chains with a speed for each load, release dates, and the objectives
 * makespan and flow ([S3] section 5). The programme of the library is compared with constraints
 * (1)-(13) as they are printed, with a column for every date, and with a dense dual simplex method
 * of this file. Also known values, and callers that were compiled before these members existed. */
#include "chain_help.h"

/* ------------------------------------------------------------------ a dense linear programme */

#define MAX_COLS 128
#define MAX_ROWS 320
#define TINY     1e-12L

/* Minimise sum of cost[j] x[j] over x >= 0, with cost >= 0 and rows "sum of a[j] x[j] >= low". In
 * each row, the basic variable is rhs[r] plus the row times the nonbasic variables. */
struct dense {
	int rows, cols;
	long double a[MAX_ROWS][MAX_COLS], rhs[MAX_ROWS], cost[MAX_COLS], value;
	int basic[MAX_ROWS], nonbasic[MAX_COLS];
};

static void pivot(struct dense *d, int r, int j)
{
	long double by = d->a[r][j];

	for (int k = 0; k < d->cols; k++)
		d->a[r][k] = k == j ? 1 / by : -d->a[r][k] / by;
	d->rhs[r] = -d->rhs[r] / by;
	for (int i = 0; i <= d->rows; i++) {
		long double *row = i < d->rows ? d->a[i] : d->cost;
		long double *rhs = i < d->rows ? &d->rhs[i] : &d->value, f = row[j];
		if (i == r || f == 0)
			continue;
		for (int k = 0; k < d->cols; k++)
			row[k] = (k == j ? 0 : row[k]) + f * d->a[r][k];
		*rhs += f * d->rhs[r];
	}
	int out = d->basic[r];
	d->basic[r] = d->nonbasic[j];
	d->nonbasic[j] = out;
}

/* Return the minimum by the dual simplex method with the rule of Bland, which never cycles. */
static double dense_minimum(struct dense *d)
{
	d->value = 0;
	for (int j = 0; j < d->cols; j++)
		d->nonbasic[j] = j;
	for (int r = 0; r < d->rows; r++)
		d->basic[r] = d->cols + r;
	for (int steps = 0; steps < 100000; steps++) {
		int r = -1, j = -1;
		for (int i = 0; i < d->rows; i++)
			if (d->rhs[i] < -TINY && (r < 0 || d->basic[i] < d->basic[r]))
				r = i;
		if (r < 0)
			return (double)d->value;
		for (int k = 0; k < d->cols; k++) {
			if (d->a[r][k] <= 1e-10L)
				continue;
			long double ratio = d->cost[k] / d->a[r][k];
			long double best = j < 0 ? INFINITY : d->cost[j] / d->a[r][j];
			if (ratio < best - TINY ||
			    (ratio < best + TINY && d->nonbasic[k] < d->nonbasic[j]))
				j = k;
		}
		if (j < 0)
			break;
		pivot(d, r, j);
	}
	fail_msg("the dense programme has no solution");
	return NAN;
}

/* Begin a row that requires its sum to be at least `low`. */
static long double *at_least(struct dense *d, double low)
{
	assert_true(d->rows < MAX_ROWS);
	d->rhs[d->rows] = -(long double)low;
	return d->a[d->rows++];
}

/* Require x[later] >= x[earlier]. */
static void in_order(struct dense *d, int later, int earlier)
{
	long double *row = at_least(d, 0);

	row[later] = 1;
	row[earlier] = -1;
}

/* Require x[end] = x[start] + sum of factor x[k] over `count` columns from `first` on. */
static void takes(struct dense *d, int end, int start, double factor, int first, int count)
{
	for (int sign = -1; sign <= 1; sign += 2) {
		long double *row = at_least(d, 0);
		row[end] = sign;
		row[start] = -sign;
		for (int k = first; k < first + count; k++)
			row[k] = -sign * (long double)factor;
	}
}

/* ------------------------------------------------------------- the constraints as they are printed
 */

/* Return the optimum of the constraints. */
static double printed_optimum(const struct instance *in, bool flow)
{
	static struct dense d;
	const hetpart_chain *c = &in->ch;
	int m = (int)c->nprocs, loads = (int)c->nloads, total = 0, t = 0;
	double offset = 0;

	memset(&d, 0, sizeof d);
	for (int n = 0; n < loads; n++)
		total += (int)in->q[n];
/* The columns of installment t and processor or link i. */
#define GAMMA(t, i)      ((t)*m + (i))
#define COMM_START(t, i) (total * m + (t)*m + (i))
#define COMM_END(t, i)   (2 * total * m + (t)*m + (i))
#define COMP_START(t, i) (3 * total * m + (t)*m + (i))
#define COMP_END(t, i)   (4 * total * m + (t)*m + (i))
#define END(n)           (5 * total * m + (n))
	d.cols = END(loads);
	assert_true(d.cols <= MAX_COLS);
	for (int n = 0; n < loads; n++) {
		const double *w = c->w_load ? c->w_load + n * m : c->w;
		const double release = c->release ? c->release[n] : 0;
		const double weight = c->weight ? c->weight[n] : 1;
		int first = t;
		for (size_t j = 0; j < in->q[n]; j++, t++) {
			for (int i = 0; i + 1 < m; i++) {
				if (i + 2 < m) /* (1) */
					in_order(&d, COMM_START(t, i + 1), COMM_END(t, i));
				if (t > 0 && i + 2 < m) /* (2), (3) */
					in_order(&d, COMM_START(t, i), COMM_END(t - 1, i + 1));
				if (t > 0 && m == 2)
					in_order(&d, COMM_START(t, i), COMM_END(t - 1, i));
				takes(&d, COMM_END(t, i), COMM_START(t, i), in->z[i] * in->vcomm[n],
				      GAMMA(t, i + 1), m - i - 1);                  /* (5) */
				in_order(&d, COMP_START(t, i + 1), COMM_END(t, i)); /* (6) */
			}
			for (int i = 0; i < m; i++) {
				takes(&d, COMP_END(t, i), COMP_START(t, i), w[i] * in->vcomp[n],
				      GAMMA(t, i), 1); /* (7) */
				if (t > 0)             /* (8), (9) */
					in_order(&d, COMP_START(t, i), COMP_END(t - 1, i));
				else if (c->tau) /* (10) */
					at_least(&d, c->tau[i])[COMP_START(t, i)] = 1;
				if (j + 1 == in->q[n]) /* (13) */
					in_order(&d, END(n), COMP_END(t, i));
			}
		}
		at_least(&d, release)[COMP_START(first, 0)] = 1;
		if (m > 1)
			at_least(&d, release)[COMM_START(first, 0)] = 1;
		for (int sign = -1; sign <= 1; sign += 2) { /* (12) */
			long double *row = at_least(&d, sign);
			for (int k = first * m; k < t * m; k++)
				row[k] = sign;
		}
		if (flow || n + 1 == loads)
			d.cost[END(n)] = flow ? weight : 1;
		offset += flow ? weight * release : 0;
	}
	return dense_minimum(&d) - offset;
}

/* Draw at most 3 processors, 3 loads and 2 installments. */
static void small_instance(struct instance *in, uint64_t *s)
{
	random_instance(in, s);
	in->ch.nprocs = 1 + (size_t)rnd_below(s, 3);
	in->ch.nloads = 1 + (size_t)rnd_below(s, 3);
	for (size_t n = 0; n < MAX_N; n++)
		in->q[n] = 1 + (size_t)rnd_below(s, 2);
	random_loads(in, s);
}

static hetpart_schedule *least_flow(const struct instance *in)
{
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	hetpart_schedule *sd;

	opts.objective = HETPART_OBJECTIVE_FLOW;
	OK(hetpart_chain_create(&sd, &in->ch, &opts, &err));
	return sd;
}

/* Check both objectives against the constraints: the optimum, and that its fractions reach it. */
static void optimum_of_the_print(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(500); seed++) {
		uint64_t s = seed + 2007;
		const bool flow = seed % 2;
		struct instance in;
		small_instance(&in, &s);
		const double want = printed_optimum(&in, flow);
		hetpart_schedule *sd = flow ? least_flow(&in) : must(&in, HETPART_CHAIN_LP, 0);
		double tol = PRECISION * hetpart_schedule_makespan(sd), weights = 0;
		for (size_t n = 0; n < in.ch.nloads; n++)
			weights += in.ch.weight ? in.weight[n] : 1;
		if (flow)
			tol *= weights;
		const double planned = flow ? hetpart_schedule_planned_flow(sd)
					    : hetpart_schedule_planned_makespan(sd);
		const double dated =
			flow ? hetpart_schedule_flow(sd) : hetpart_schedule_makespan(sd);
		if (!(fabs(planned - want) <= tol && fabs(dated - want) <= tol))
			fail_msg("%s %.12g, dated %.12g, want %.12g, seed %" PRIu64,
				 flow ? "flow" : "makespan", planned, dated, want, seed);
		assert_true(hetpart_schedule_lower_bound(sd) <= hetpart_schedule_makespan(sd));
		check_rules(&in, sd, false);
		hetpart_schedule_free(sd);
	}
}

/* Use speeds, weights, release dates and volumes that differ by many powers of ten. LP starts from
 * SINGLEINST, so its objective is at most as large, to the precision of the solver. */
static void wide_ranges(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(1000); seed++) {
		uint64_t s = seed + 1066;
		const double wide = seed % 3 == 2 ? 30 : seed % 3 == 1 ? 12 : 4;
		struct instance in;
		double weights = 0;
		random_instance(&in, &s);
		random_loads(&in, &s);
		for (size_t k = 0; k < MAX_M * MAX_N; k++)
			in.w_load[k] *= pow(10, wide * (rnd_real(&s) - .5));
		for (size_t n = 0; n < MAX_N; n++) {
			in.release[n] *= pow(10, wide * (rnd_real(&s) - .5));
			in.weight[n] *= pow(10, wide * (rnd_real(&s) - .5));
			in.vcomm[n] *= pow(10, wide * (rnd_real(&s) - .5));
			weights += n >= in.ch.nloads ? 0 : in.ch.weight ? in.weight[n] : 1;
		}
		hetpart_schedule *lp = least_flow(&in);
		hetpart_schedule *single = must(&in, HETPART_CHAIN_SINGLEINST, 0);
		const double flow = hetpart_schedule_flow(lp);
		const double planned = hetpart_schedule_planned_flow(lp);
		const double other = hetpart_schedule_flow(single);
		const double tol = PRECISION * weights * hetpart_schedule_makespan(single);
		if (!(flow <= other + tol && fabs(flow - planned) <= tol))
			fail_msg("flow %.12g, planned %.12g, singleinst %.12g, tolerance %g, "
				 "seed %" PRIu64,
				 flow, planned, other, tol, seed);
		assert_true(hetpart_schedule_makespan(lp) >= hetpart_schedule_lower_bound(lp));
		hetpart_schedule_free(lp);
		hetpart_schedule_free(single);
	}
}

/* ---------------------------------------------------------------------------------- known values
 */

/* Check one processor, which computes one load after the other. */
static void one_processor(void **state)
{
	struct instance in;

	(void)state;
	instance_init(&in, 1, 3);
	in.w_load[0] = 2, in.w_load[1] = 1, in.w_load[2] = 3;
	in.release[0] = 1, in.release[1] = 0, in.release[2] = 10;
	in.weight[0] = 4, in.weight[1] = 1, in.weight[2] = 2;
	in.ch.w_load = in.w_load, in.ch.release = in.release, in.ch.weight = in.weight;
	in.ch.w = NULL;
	for (int m = HETPART_CHAIN_LP; m <= HETPART_CHAIN_MULTIINST; m++) {
		hetpart_schedule *sd = must(&in, (hetpart_chain_method)m, 0);
		NEAR(hetpart_schedule_load_end(sd, 0), 3, 1e-6);
		NEAR(hetpart_schedule_load_end(sd, 1), 4, 1e-6);
		NEAR(hetpart_schedule_load_end(sd, 2), 13, 1e-6);
		NEAR(hetpart_schedule_flow(sd), 4 * 2 + 4 + 2 * 3, 1e-6);
		NEAR(hetpart_schedule_planned_flow(sd), 18, 1e-6);
		NEAR(hetpart_schedule_lower_bound(sd), 13, 1e-6);
		hetpart_schedule_free(sd);
	}
}

/* Check that the objectives differ: a long load before a short one with a large weight. */
static void objectives_differ(void **state)
{
	struct instance in;

	(void)state;
	instance_init(&in, 2, 2);
	in.vcomp[0] = 4, in.weight[0] = 100, in.weight[1] = 1;
	in.ch.weight = in.weight;
	hetpart_schedule *makespan = must(&in, HETPART_CHAIN_LP, 0), *flow = least_flow(&in);
	assert_true(hetpart_schedule_flow(flow) < hetpart_schedule_flow(makespan) * .99);
	assert_true(hetpart_schedule_makespan(flow) > hetpart_schedule_makespan(makespan) * 1.01);
	NEAR(hetpart_schedule_load_end(flow, 0), 20. / 9, 1e-6); /* 4 (1 - x) = x + 4 x */
	hetpart_schedule_free(makespan);
	hetpart_schedule_free(flow);
}

/* Check that equal speeds of loads are the speeds of the processors, and that a common delay of all
 * dates changes ends, but no flow. */
static void delays_and_equal_speeds(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)rounds(50); seed++) {
		uint64_t s = seed + 88;
		struct instance in;
		random_instance(&in, &s);
		random_loads(&in, &s);
		in.ch.w_load = NULL;
		in.ch.release = in.release, in.ch.tau = in.tau;
		hetpart_schedule *sd = least_flow(&in);
		const double flow = hetpart_schedule_planned_flow(sd);
		const double end = hetpart_schedule_makespan(sd);
		hetpart_schedule_free(sd);
		for (size_t n = 0; n < in.ch.nloads; n++)
			memcpy(in.w_load + n * in.ch.nprocs, in.w, in.ch.nprocs * sizeof *in.w);
		in.ch.w_load = in.w_load;
		sd = least_flow(&in);
		assert_true(hetpart_schedule_planned_flow(sd) == flow);
		hetpart_schedule_free(sd);
		for (size_t k = 0; k < MAX_N; k++)
			in.release[k] += 5, in.tau[k] += 5;
		sd = least_flow(&in);
		assert_true(fabs(hetpart_schedule_planned_flow(sd) - flow) <=
			    PRECISION * 25 * (end + 5)); /* at most 4 weights of at most 5.1 */
		hetpart_schedule_free(sd);
	}
}

/* Check a caller whose structures end before the members of this test. */
static void earlier_callers(void **state)
{
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	hetpart_schedule *sd;
	struct instance in;

	(void)state;
	instance_init(&in, 2, 2);
	in.release[0] = 100;
	in.ch.release = in.release;
	in.ch.struct_size = offsetof(hetpart_chain, w_load);
	opts.objective = (hetpart_objective)77;
	opts.struct_size = offsetof(hetpart_chain_opts, objective);
	OK(hetpart_chain_create(&sd, &in.ch, &opts, &err));
	NEAR(hetpart_schedule_makespan(sd), 6. / 5, 1e-6);
	hetpart_schedule_free(sd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wide_ranges),     cmocka_unit_test(optimum_of_the_print),
		cmocka_unit_test(one_processor),   cmocka_unit_test(objectives_differ),
		cmocka_unit_test(earlier_callers), cmocka_unit_test(delays_and_equal_speeds),
	};
	return cmocka_run_group_tests_name("chain objectives", tests, NULL, NULL);
}
