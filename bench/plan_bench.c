/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan_bench.c - how long the planners of shares take, beside a named partner in the same run, and
 * how that grows. Every answer is checked before its time counts.
 * May not touch: anything but the library. Costs about a minute. */
#include <gsl/gsl_sf_lambert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "share/share.h"

enum { MOST = 200 };
#define LEAST_S 0.5 /* repeat until this much time has passed */

struct job {
	uint64_t items;
	size_t p;
	const double *speeds;
	const hetpart_cost *cost;
	const hetpart_cost *const *costs;
	hetpart_method method;
	double answer;
};

struct figure {
	double min, median, max;
	size_t runs;
};

typedef bool run_fn(struct job *job);

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* One run to warm up, then at least three; ends the program on a wrong answer. */
static struct figure measure(run_fn *run, struct job *job, double want)
{
	double t[MOST], sum = 0;
	size_t n = 0;

	for (int warm = 1; n < MOST && (n < 3 || sum < LEAST_S); warm = 0) {
		double begin = now_s();
		bool ok = run(job);
		double took = now_s() - begin;
		if (!ok || (want > 0 && !(fabs(job->answer / want - 1) <= 1e-12))) {
			fprintf(stderr, "plan_bench: answer %.17g, want %.17g\n", job->answer,
				want);
			exit(1);
		}
		if (warm && took < 1)
			continue;
		t[n++] = took;
		sum += took;
	}
	qsort(t, n, sizeof *t, by_value);
	double median = n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
	return (struct figure){ t[0], median, t[n - 1], n };
}

static void show(const char *what, size_t p, uint64_t n, struct figure f, double partner)
{
	printf("%-34s %9zu %14llu %10.6f %10.6f %10.6f %5zu", what, p, (unsigned long long)n, f.min,
	       f.median, f.max, f.runs);
	if (partner > 0)
		printf(" %8.2f", partner / f.median);
	putchar('\n');
}

static void head(const char *title)
{
	printf("\n%s\n%-34s %9s %14s %10s %10s %10s %5s %8s\n", title, "", "p", "items", "min s",
	       "median s", "max s", "runs", "partner/");
}

/* ------------------------------------------------------------------------------- n ln n */

static bool by_plan(struct job *j)
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

/* The equal time T and the real shares alone. */
static bool by_equal_time(struct job *j)
{
	part_procs ps = { .n = j->p, .cost = j->cost, .speeds = j->speeds, .unit = 1 };
	double *real = malloc(2 * j->p * sizeof *real);
	long double t = 0;
	bool ok = real && part_equal_time(&ps, j->items, real, real + j->p, &t, NULL) == HETPART_OK;

	j->answer = (double)t;
	free(real);
	return ok;
}

/* The partner: Newton on T with GSL's Lambert function for every processor in every step. */
static bool by_gsl(struct job *j)
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
	head("n ln n: the real shares, partner GSL's Lambert W for every processor");
	for (size_t p = 10; p <= most; p *= 10) {
		struct job j = { .items = 1000 * p, .p = p, .speeds = k, .cost = c };
		struct figure gsl = measure(by_gsl, &j, 0);
		double want = j.answer;
		show("GSL in the loop", p, j.items, gsl, 0);
		show("equal times", p, j.items, measure(by_equal_time, &j, want), gsl.median);
	}
	head("n ln n: the whole plan, rounded");
	for (size_t p = 10; p <= most; p *= 10) {
		struct job j = { .items = 1000 * p, .p = p, .speeds = k, .cost = c };
		struct figure exact = measure(by_plan, &j, 0), thr;
		show("exact", p, j.items, exact, 0);
		if (p > 10000)
			continue;
		double want = j.answer;
		j.method = HETPART_METHOD_THRESHOLD;
		thr = measure(by_plan, &j, want);
		show("threshold", p, j.items, thr, 0);
		printf("%-34s %72.2f\n", "threshold/exact", thr.median / exact.median);
	}
	hetpart_cost_free(c);
	free(k);
}

/* ---------------------------------------------------------------------------- unrelated */

enum { P = 10 };

static hetpart_cost *table(size_t n, size_t proc, bool rising)
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
	struct job j = { .items = n, .p = P, .costs = (const hetpart_cost *const *)c };
	struct figure dp = { 0 };
	double want = 0;

	for (size_t i = 0; i < P; i++)
		c[i] = table(n, i, rising);
	if (n <= 10000) {
		j.method = HETPART_METHOD_DP;
		dp = measure(by_plan, &j, 0);
		want = j.answer;
		show("dynamic programme", P, n, dp, 0);
	}
	j.method = HETPART_METHOD_BITSET;
	show("bitset", P, n, measure(by_plan, &j, want), dp.median);
	if (rising) {
		want = j.answer;
		j.method = HETPART_METHOD_THRESHOLD;
		show("threshold", P, n, measure(by_plan, &j, want), dp.median);
	}
	for (size_t i = 0; i < P; i++)
		hetpart_cost_free(c[i]);
}

int main(void)
{
	printf("libhetpart %s; times in seconds, the last column is the partner's time over ours\n",
	       hetpart_version());
	nlogn_table();
	head("a cost for each processor, increasing: partner dynamic programme");
	for (size_t n = 100; n <= 100000; n *= 10)
		unrelated_row(n, true);
	head("a cost for each processor, up and down by 30 %: partner dynamic programme");
	for (size_t n = 100; n <= 10000; n *= 10)
		unrelated_row(n, false);
	return 0;
}
