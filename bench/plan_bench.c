/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan_bench.c - measure the time of the planners of shares as the problem grows, compared with
 * another algorithm. Every answer is checked before its time counts. Takes about a minute. */
#include <gsl/gsl_sf_lambert.h>

#include "bench.h"
#include "share/share.h"

enum { MOST = 200 };
#define LEAST_S 0.5 /* repeat until this much time has passed */

typedef struct plan_job {
	uint64_t items;
	size_t p;
	const double *speeds;
	const hetpart_cost *cost;
	const hetpart_cost *const *costs;
	hetpart_method method;
	double answer;
} plan_job;

typedef struct plan_figure {
	double min, median, max;
	size_t runs;
} plan_figure;

typedef bool run_fn(plan_job *job);

/* Measure at least three calls of `run` after a warm-up, or only the first call if it takes over a
 * second. End the program on a wrong answer. */
static plan_figure plan_measure(run_fn *run, plan_job *job, double want)
{
	double t[MOST], sum = 0;
	size_t n = 0;
	for (int warm = 1; n < MOST && (n < 3 || sum < LEAST_S); warm = 0) {
		double begin = bench_now_s();
		bool ok = run(job);
		double took = bench_now_s() - begin;
		if (!ok || (want > 0 && !(fabs(job->answer / want - 1) <= 1e-12)))
			bench_stop("answer %.17g, want %.17g", job->answer, want);
		if (warm && took < 1)
			continue;
		t[n++] = took;
		sum += took;
	}
	const double median = bench_median(t, n);
	return (plan_figure){ t[0], median, t[n - 1], n };
}

static void plan_print(const char *what, size_t p, uint64_t n, plan_figure f, double partner)
{
	printf("%-34s %9zu %14llu %10.6f %10.6f %10.6f %5zu", what, p, (unsigned long long)n, f.min,
	       f.median, f.max, f.runs);
	if (partner > 0)
		printf(" %8.2f", partner / f.median);
	putchar('\n');
}

static void plan_title(const char *title)
{
	printf("\n%s\n%-34s %9s %14s %10s %10s %10s %5s %8s\n", title, "", "p", "items", "min s",
	       "median s", "max s", "runs", "partner/");
}

/* ------------------------------------------------------------------------------- n ln n */

static bool plan_by_library(plan_job *j)
{
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_plan *pl;
	hetpart_status rc;
	o.method = j->method;
	o.max_mem_bytes = UINT64_MAX;
	if (j->costs)
		rc = hetpart_share_unrelated_create(&pl, j->items, j->costs, j->p, &o, NULL);
	else
		rc = hetpart_share_create(&pl, j->items, j->speeds, j->p, j->cost, &o, NULL);
	if (rc != HETPART_OK)
		return false;
	j->answer = hetpart_plan_makespan(pl);
	hetpart_plan_free(pl);
	return true;
}

/* Find only the time T at which all processors end, and the real shares. */
static bool plan_by_equal_time(plan_job *j)
{
	part_procs ps = { .n = j->p, .cost = j->cost, .speeds = j->speeds, .unit = 1 };
	double *real = malloc(2 * j->p * sizeof *real);
	long double t = 0;
	bool ok = real && part_equal_time(&ps, j->items, real, real + j->p, &t, NULL) == HETPART_OK;
	j->answer = (double)t;
	free(real);
	return ok;
}

/* Find T by Newton's method, with GSL's Lambert W for every processor in every step. The library's
 * method is compared with this one. */
static bool plan_by_gsl(plan_job *j)
{
	double n = (double)j->items, k = 0, t, was = 0;
	for (size_t i = 0; i < j->p; i++)
		k += j->speeds[i];
	t = n / k * log(n / (double)j->p);
	for (int step = 0; step < 50 && fabs(t - was) > 1e-14 * t; step++) {
		double sum = 0, slope = 0;
		was = t;
		for (size_t i = 0; i < j->p; i++) {
			gsl_sf_result w;
			if (gsl_sf_lambert_W0_e(t * j->speeds[i], &w) != 0)
				return false;
			sum += exp(w.val);
			slope += j->speeds[i] / (1 + w.val);
		}
		t -= (sum - n) / slope;
	}
	j->answer = t;
	return true;
}

static void nlogn_table(void)
{
	size_t most = 1000000;
	double *k = malloc(most * sizeof *k);
	hetpart_cost *c;
	if (!k || hetpart_cost_nlogn(&c, 1, NULL) != HETPART_OK)
		exit(1);
	for (size_t i = 0; i < most; i++)
		k[i] = 1 + (double)(i * 7919 % 3001) / 1000;
	plan_title("n ln n: the real shares, partner GSL's Lambert W for every processor");
	for (size_t p = 10; p <= most; p *= 10) {
		plan_job j = { .items = 1000 * p, .p = p, .speeds = k, .cost = c };
		plan_figure gsl = plan_measure(plan_by_gsl, &j, 0);
		double want = j.answer;
		plan_print("GSL in the loop", p, j.items, gsl, 0);
		plan_print("equal times", p, j.items, plan_measure(plan_by_equal_time, &j, want),
			   gsl.median);
	}
	plan_title("n ln n: the whole plan, rounded");
	for (size_t p = 10; p <= most; p *= 10) {
		plan_job j = { .items = 1000 * p, .p = p, .speeds = k, .cost = c };
		plan_figure exact = plan_measure(plan_by_library, &j, 0), thr;
		plan_print("exact", p, j.items, exact, 0);
		if (p > 10000)
			continue;
		double want = j.answer;
		j.method = HETPART_METHOD_THRESHOLD;
		thr = plan_measure(plan_by_library, &j, want);
		plan_print("threshold", p, j.items, thr, 0);
		printf("%-34s %72.2f\n", "threshold/exact", thr.median / exact.median);
	}
	hetpart_cost_free(c);
	free(k);
}

/* ---------------------------------------------------------------------------- unrelated */

enum { P = 10 };

static hetpart_cost *random_cost(size_t n, size_t proc, bool rising)
{
	double *t = malloc((n + 1) * sizeof *t), at = 0;
	uint64_t seed = proc + 1;
	hetpart_cost *c;
	if (!t)
		exit(1);
	for (size_t i = 0; i <= n; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		double r = (double)(seed >> 40) * 0x1p-24;
		at += r * (double)(proc + 1);
		t[i] = i ? rising ? at : (double)((proc + 1) * i) * (0.7 + 0.6 * r) : 0;
	}
	if (hetpart_cost_table(&c, t, n + 1, 1, NULL) != HETPART_OK)
		exit(1);
	free(t);
	return c;
}

static void unrelated_row(size_t n, bool rising)
{
	hetpart_cost *c[P];
	plan_job j = { .items = n, .p = P, .costs = (const hetpart_cost *const *)c };
	plan_figure dp = { 0 };
	double want = 0;
	for (size_t i = 0; i < P; i++)
		c[i] = random_cost(n, i, rising);
	if (n <= 10000) {
		j.method = HETPART_METHOD_DP;
		dp = plan_measure(plan_by_library, &j, 0);
		want = j.answer;
		plan_print("dynamic programme", P, n, dp, 0);
	}
	j.method = HETPART_METHOD_BITSET;
	plan_print("bitset", P, n, plan_measure(plan_by_library, &j, want), dp.median);
	if (rising) {
		want = j.answer;
		j.method = HETPART_METHOD_THRESHOLD;
		plan_print("threshold", P, n, plan_measure(plan_by_library, &j, want), dp.median);
	}
	for (size_t i = 0; i < P; i++)
		hetpart_cost_free(c[i]);
}

int main(void)
{
	printf("libhetpart %s; times in seconds, the last column is the partner's time over ours\n",
	       hetpart_version());
	nlogn_table();
	plan_title("a cost for each processor, increasing: partner dynamic programme");
	for (size_t n = 100; n <= 100000; n *= 10)
		unrelated_row(n, true);
	plan_title("a cost for each processor, up and down by 30 %: partner dynamic programme");
	for (size_t n = 100; n <= 10000; n *= 10)
		unrelated_row(n, false);
	return 0;
}
