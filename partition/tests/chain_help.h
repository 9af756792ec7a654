/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain_help.h - what the tests of chains share: a problem in arrays of its own, random problems,
 * and a check of all rules of [S3] on the dates of a schedule. */
#ifndef CHAIN_HELP_H
#define CHAIN_HELP_H

#include "tests.h"

#define MAX_M 8
#define MAX_N 8

struct instance {
	double w[MAX_M], z[MAX_M], tau[MAX_M], latency[MAX_M], vcomm[MAX_N], vcomp[MAX_N];
	double w_load[MAX_N * MAX_M], release[MAX_N], weight[MAX_N];
	size_t q[MAX_N];
	hetpart_chain ch;
};

static inline void instance_init(struct instance *in, size_t m, size_t nloads)
{
	hetpart_chain ch = HETPART_CHAIN_INIT;

	memset(in, 0, sizeof *in);
	for (size_t i = 0; i < MAX_M; i++)
		in->w[i] = in->z[i] = 1;
	for (size_t n = 0; n < MAX_N; n++)
		in->vcomm[n] = in->vcomp[n] = 1, in->q[n] = 1;
	in->ch = ch;
	in->ch.nprocs = m, in->ch.nloads = nloads, in->ch.w = in->w, in->ch.z = in->z;
	in->ch.vcomm = in->vcomm, in->ch.vcomp = in->vcomp, in->ch.installments = in->q;
}

static inline hetpart_schedule *must(const struct instance *in, hetpart_chain_method m, size_t most)
{
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	hetpart_schedule *sd;

	opts.method = m;
	opts.max_installments = most;
	opts.limit_s = INFINITY;
	OK(hetpart_chain_create(&sd, &in->ch, &opts, &err));
	return sd;
}

/* The manual promises about 2e-7: each of a few constraints may be off by 1e-7. */
#define PRECISION 3e-7

static inline void random_instance(struct instance *in, uint64_t *s)
{
	double ratio = pow(10, 3 * rnd_real(s) - 2);

	instance_init(in, 1 + (size_t)rnd_below(s, 5), 1 + (size_t)rnd_below(s, 4));
	for (size_t i = 0; i < MAX_M; i++) {
		in->w[i] = 1 + 9 * rnd_real(s);
		in->z[i] = rnd_below(s, 10) ? ratio * (1 + 9 * rnd_real(s)) : 0;
		in->tau[i] = rnd_below(s, 3) ? 0 : 10 * rnd_real(s);
		in->latency[i] = .01 * rnd_real(s);
	}
	for (size_t n = 0; n < MAX_N; n++) {
		in->vcomm[n] = rnd_below(s, 10) ? 5 * rnd_real(s) : 0;
		in->vcomp[n] = .1 + 5 * rnd_real(s);
		in->q[n] = 1 + (size_t)rnd_below(s, 3);
	}
	if (rnd_below(s, 2))
		in->ch.tau = in->tau;
}

/* Set random release dates, weights and speeds for each load, or leave some of them out. */
static inline void random_loads(struct instance *in, uint64_t *s)
{
	for (size_t k = 0; k < in->ch.nprocs * in->ch.nloads; k++)
		in->w_load[k] = 1 + 9 * rnd_real(s);
	for (size_t n = 0; n < MAX_N; n++) {
		in->release[n] = rnd_below(s, 3) ? 12 * rnd_real(s) : 0;
		in->weight[n] = .1 + 5 * rnd_real(s);
	}
	in->ch.w_load = rnd_below(s, 4) ? in->w_load : NULL;
	in->ch.release = rnd_below(s, 4) ? in->release : NULL;
	in->ch.weight = rnd_below(s, 4) ? in->weight : NULL;
}

/* Check all constraints on the dates of a schedule, only through the accessors. */
static inline void check_rules(const struct instance *in, const hetpart_schedule *sd, bool latency)
{
	size_t m = in->ch.nprocs, before = 0, load_before = 0;
	double s, e, prev[MAX_M], sent[MAX_M] = { 0 }, last = 0, flow = 0, tol = 1e-9;

	for (size_t i = 0; i < m; i++)
		prev[i] = in->ch.tau ? in->tau[i] : 0;
	for (size_t n = 0; n < in->ch.nloads; n++) {
		const double *w = in->ch.w_load ? in->w_load + n * m : in->w;
		const double release = in->ch.release ? in->release[n] : 0;
		double sum = 0;
		for (size_t j = 0; j < hetpart_schedule_installments(sd, n); j++, before++) {
			double arrived = release, was[MAX_M];
			memcpy(was, sent, sizeof was);
			for (size_t i = 0; i < m; i++) {
				double f = hetpart_schedule_fraction(sd, n, j, i), rest = 0;
				assert_true(f >= 0);
				sum += f;
				assert_true(hetpart_schedule_comp(sd, n, j, i, &s, &e));
				assert_true(s >= prev[i] - tol && s >= arrived - tol);
				assert_true(fabs(e - s - f * w[i] * in->vcomp[n]) < tol * (1 + e));
				prev[i] = e;
				last = fmax(last, e);
				assert_true(hetpart_schedule_comm(sd, n, j, i, &s, &e) ==
					    (i + 1 < m));
				if (i + 1 == m)
					continue;
				for (size_t k = i + 1; k < m; k++)
					rest += hetpart_schedule_fraction(sd, n, j, k);
				assert_true(s >= 0 && s >= arrived - tol && s >= was[i] - tol);
				if (i + 2 < m)
					assert_true(s >= was[i + 1] - tol);
				assert_true(fabs(e - s - rest * in->z[i] * in->vcomm[n] -
						 (latency && rest > 0 ? in->latency[i] : 0)) <
					    tol * (1 + e));
				sent[i] = arrived = e;
			}
		}
		assert_true(fabs(sum - 1) < 1e-9);
		flow += (last - release) * (in->ch.weight ? in->weight[n] : 1);
		NEAR(hetpart_schedule_load_end(sd, n), last, 1e-12);
		load_before++;
	}
	assert_int_equal(load_before, hetpart_schedule_nloads(sd));
	NEAR(hetpart_schedule_makespan(sd), last, 1e-12);
	NEAR(hetpart_schedule_flow(sd), flow, 1e-9);
}

static inline void replay_is_the_same(const struct instance *in, const hetpart_schedule *sd)
{
	struct instance again = *in;
	size_t count;
	const double *f = hetpart_schedule_fractions(sd, &count);
	hetpart_schedule *re;
	size_t q[MAX_N];

	for (size_t n = 0; n < in->ch.nloads; n++)
		q[n] = hetpart_schedule_installments(sd, n);
	again.ch.installments = q;
	OK(hetpart_chain_replay(&re, &again.ch, f, count, &err));
	NEAR(hetpart_schedule_makespan(re), hetpart_schedule_makespan(sd), 1e-12);
	assert_true(isnan(hetpart_schedule_planned_makespan(re)));
	check_rules(in, re, in->ch.latency);
	hetpart_schedule_free(re);
}

#endif
