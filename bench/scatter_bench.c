/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter_bench.c - measure the time to plan a scatter: all methods on the 16-processor platform of
 * [S0] (hetpart.h), and MULTIRES on large artificial platforms. Prints one JSON line with all
 * samples for each measurement. Checks that the shares of every plan sum to the items, and that all
 * exact methods find the same makespan. */
#include <hetpart.h>

#include "bench.h"

#define MAX_SAMPLES 64

/* seconds per ray: computation and communication, in the order of service of the paper */
static const struct {
	double comp, link;
	int count;
} platform[] = {
	{ .004629, 1.00e-5, 1 }, { .009365, 1.12e-5, 1 }, { .004885, 1.70e-5, 1 },
	{ .016156, 2.10e-5, 2 }, { .009677, 3.53e-5, 8 }, { .003976, 8.15e-5, 2 },
	{ .009288, 0, 1 },
};

static const char *names[] = { "auto",   "dp",          "dp-increasing", "window", "multires", "lp",
			       "closed", "all-at-once", "two-pass",      "greedy", "fill" };

typedef struct problem {
	const char *name;
	size_t p;
	uint64_t n;
	hetpart_cost **cost; /* 2 p: compute and link of each processor */
	hetpart_scatter_proc *proc;
	double (*numbers)[2]; /* 2 p: parameters of callbacks */
} problem;

static hetpart_err err; /* of the last call */

static void scatter_need(hetpart_status rc)
{
	if (rc != HETPART_OK)
		bench_stop("%s", err.text);
}

static problem problem_new(const char *name, size_t p, uint64_t n)
{
	problem pr = { name,
		       p,
		       n,
		       calloc(2 * p, sizeof *pr.cost),
		       calloc(p, sizeof *pr.proc),
		       calloc(2 * p, sizeof *pr.numbers) };
	if (!pr.cost || !pr.proc || !pr.numbers)
		exit(1);
	return pr;
}

static void problem_free(problem *pr)
{
	for (size_t i = 0; i < 2 * pr->p; i++)
		hetpart_cost_free(pr->cost[i]);
	free(pr->cost);
	free(pr->proc);
	free(pr->numbers);
}

static problem reference(uint64_t n)
{
	problem pr = problem_new("16 processors of [S0]", 16, n);
	size_t at = 0;
	for (size_t g = 0; g < LEN(platform); g++)
		for (int c = 0; c < platform[g].count; c++, at++) {
			scatter_need(hetpart_cost_affine(&pr.cost[2 * at], 0, platform[g].comp, 1,
							 &err));
			scatter_need(hetpart_cost_affine(&pr.cost[2 * at + 1], 0, platform[g].link,
							 1, &err));
		}
	return pr;
}

/* Return the time of n items, which cost three times as much beyond a place, as if memory were
 * full. */
static double cliff(void *ctx, uint64_t n)
{
	const double *c = ctx; /* slope, place */
	return (double)n <= c[1] ? c[0] * (double)n : c[0] * (3 * (double)n - 2 * c[1]);
}

/* Return the time of n items, which are computed in whole blocks. */
static double stair(void *ctx, uint64_t n)
{
	const double *c = ctx; /* slope, block */
	return c[0] * c[1] * ceil((double)n / c[1]);
}

enum kind { LINEAR, LATENCY, CLIFF, STAIR, ALL_STAIR, NO_ORDER, KINDS };
static const char *kind_names[] = { "linear", "latency",          "cliff",
				    "stair",  "stair, links too", "the same in no order" };

static problem made_up(enum kind kind, size_t p, uint64_t n)
{
	problem pr = problem_new(kind_names[kind], p, n);
	double *link = calloc(p, sizeof *link);
	uint64_t seed = 7;
	if (!link)
		exit(1);
	for (size_t i = 0; i < p; i++)
		link[i] = 1e-5 * (1 + 9 * rnd_real(&seed)) * 10 / (double)p;
	if (kind != NO_ORDER)
		qsort(link, p, sizeof *link, bench_compare);
	for (size_t i = 0; i < p; i++) {
		double a = .004 + .012 * rnd_real(&seed), b = i + 1 < p ? link[i] : 0;
		double *c = pr.numbers[2 * i], *l = pr.numbers[2 * i + 1];
		c[0] = a, l[0] = b, l[1] = 512;
		c[1] = kind == CLIFF ? (double)n / (double)p * (.2 + 2 * rnd_real(&seed)) : 4096;
		if (kind == LINEAR || kind == LATENCY)
			scatter_need(hetpart_cost_affine(&pr.cost[2 * i],
							 kind == LATENCY ? rnd_real(&seed) : 0, a,
							 1, &err));
		else
			scatter_need(hetpart_cost_callback(
				&pr.cost[2 * i], kind == CLIFF ? cliff : stair, c, true, 1, &err));
		if (kind >= ALL_STAIR)
			scatter_need(hetpart_cost_callback(&pr.cost[2 * i + 1], stair, l, true, 1,
							   &err));
		else
			scatter_need(hetpart_cost_affine(
				&pr.cost[2 * i + 1],
				kind == LATENCY && b > 0 ? 1e-2 * rnd_real(&seed) : 0, b, 1, &err));
	}
	free(link);
	return pr;
}

/* Measure at least min_runs calls, and for half a second, after one call to warm up. If min_runs is
 * 1, a first call of over half a second is the only one. Return the makespan. */
static double scatter_measure(const problem *pr, hetpart_scatter_method m, int min_runs,
			      double *median_s)
{
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	double t[MAX_SAMPLES], total = 0, span = 0, cpu = INFINITY;
	int runs = 0;
	for (size_t i = 0; i < pr->p; i++)
		pr->proc[i] = (hetpart_scatter_proc){ pr->cost[2 * i], pr->cost[2 * i + 1] };
	opts.method = m;
	opts.max_mem_bytes = UINT64_C(2) << 30;
	for (int r = -1; r < min_runs || (total < 0.5 && r < MAX_SAMPLES); r++) {
		hetpart_plan *pl;
		double t0 = bench_now_s(), c0 = cpu_s();
		hetpart_status rc =
			hetpart_scatter_create(&pl, pr->n, pr->proc, pr->p, &opts, &err);
		double dt = bench_now_s() - t0;
		cpu = fmin(cpu, cpu_s() - c0);
		scatter_need(rc);
		uint64_t sum = 0;
		for (size_t i = 0; i < pr->p; i++)
			sum += hetpart_plan_share(pl, i);
		if (sum != pr->n)
			bench_stop("the shares of '%s' do not sum to the items", pr->name);
		span = hetpart_plan_makespan(pl);
		hetpart_plan_free(pl);
		if (r < 0 && min_runs > 1)
			continue;
		t[runs++] = dt;
		total += dt;
		if (runs == MAX_SAMPLES || (min_runs == 1 && total > 0.5))
			break;
	}
	printf("{\"bench\":\"scatter\",\"platform\":\"%s\",\"p\":%zu,\"items\":%" PRIu64
	       ",\"method\":\"%s\",\"makespan\":%.10g,\"samples_s\":[",
	       pr->name, pr->p, pr->n, names[m], span);
	for (int i = 0; i < runs; i++)
		printf("%s%.3e", i ? "," : "", t[i]);
	*median_s = bench_median(t, (size_t)runs);
	printf("],\"min_s\":%.3e,\"median_s\":%.3e,\"max_s\":%.3e,\"min_cpu_s\":%.3e}\n", t[0],
	       *median_s, t[runs - 1], cpu);
	fflush(stdout);
	return span;
}

static void scatter_same(double a, double b)
{
	if (!(fabs(a - b) <= 1e-12 * b))
		bench_stop("exact methods differ: %.17g and %.17g", a, b);
}

int main(int argc, char **argv)
{
	bool quick = argc > 1 && !strcmp(argv[1], "--quick");
	problem pr = reference(817101), small = reference(20000);
	double t, best, alg1;
	if (argc > 1 && !quick) {
		fprintf(stderr, "usage: scatter_bench [--quick]\n");
		return 2;
	}
	printf("{\"bench\":\"scatter\",\"library\":\"%s\",\"compiler\":\"%s\"}\n",
	       hetpart_version(), __VERSION__);
	best = scatter_measure(&pr, HETPART_SCATTER_MULTIRES, 9, &t);
	scatter_same(scatter_measure(&pr, HETPART_SCATTER_WINDOW, 5, &t), best);
	if (!quick)
		scatter_same(scatter_measure(&pr, HETPART_SCATTER_DP_INCREASING, 1, &t), best);
	for (int m = HETPART_SCATTER_LP; m <= HETPART_SCATTER_GREEDY; m++)
		scatter_measure(&pr, (hetpart_scatter_method)m, 9, &t);
	scatter_same(scatter_measure(&small, HETPART_SCATTER_DP, 1, &alg1),
		     scatter_measure(&small, HETPART_SCATTER_MULTIRES, 9, &t));
	printf("{\"bench\":\"scatter\",\"method\":\"dp\",\"items\":817101,\"extrapolated\":true,"
	       "\"from_items\":20000,\"note\":\"not run: time at 20000 items times the square of "
	       "the ratio\",\"seconds\":%.4g}\n",
	       alg1 * (817101. / 20000) * (817101. / 20000));
	for (int k = LINEAR; k < KINDS; k++) {
		problem big = made_up((enum kind)k, 1000, UINT64_C(1000000000));
		problem mid = made_up((enum kind)k, 16, 817101);
		scatter_measure(&mid, HETPART_SCATTER_MULTIRES, 9, &t);
		if (!quick)
			scatter_measure(&big, HETPART_SCATTER_MULTIRES, 1, &t);
		problem_free(&big);
		problem_free(&mid);
	}
	problem_free(&pr);
	problem_free(&small);
	return 0;
}
