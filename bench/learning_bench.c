/* SPDX-License-Identifier: GPL-3.0-or-later */
/* learning_bench.c - learn an unknown cost, batch by batch, and print by how much the true makespan
 * exceeds the optimum. The library is compared with a planner that knows the form of the cost, and
 * finds only its numbers by least squares. This shows what is possible with this noise. The third
 * planner draws straight lines between the observations, as in [S4] 3.3. Prints one JSON line for
 * each noise, shape, planner and batch. */
#include <hetpart.h>

#include "bench.h"
#include "online/tests/learn_help.h"

/* ------------------------- the planner that knows the form of the cost: n^b, a cliff or a jump */

typedef struct form {
	enum learn_shape shape;
	double power;       /* of n; for n ln n without the factor ln n */
	double place, jump; /* cliff: each item beyond the place costs 1 + jump; jump: with more
			     * items than that, every item does */
} form;

static double form_cost(void *ctx, uint64_t n)
{
	const form *f = ctx;
	double x = (double)n;
	if (f->shape == LEARN_CLIFF)
		return x + f->jump * fmax(0, x - f->place);
	if (f->shape == LEARN_JUMP)
		return x * (1 + (x > f->place ? f->jump : 0));
	return n ? pow(x, f->power) * (f->shape == LEARN_NLOGN ? log(x) : 1) : 0;
}

/* Fit a n^power by least squares of logarithms. */
static void fit_power(form *f, const hetpart_point *pt, size_t count)
{
	double mx = 0, my = 0, xx = 0, xy = 0;
	for (size_t i = 0; i < count; i++) {
		double x = log(pt[i].items), y = log(pt[i].time_s);
		double dx = x - mx, dy = y - (f->shape == LEARN_NLOGN ? log(x) : 0) - my;
		mx += dx / (double)(i + 1);
		my += dy / (double)(i + 1);
		xx += dx * (x - mx);
		xy += dy * (x - mx);
	}
	f->power = xy / xx;
}

/* Fit a n + c max(0, n - place) by least squares of relative errors. Return the remaining error. */
static double fit_beyond(form *f, const hetpart_point *pt, size_t count, double place)
{
	double uu = 0, uv = 0, vv = 0, u = 0, v = 0, a, c, rest = 0;
	for (size_t i = 0; i < count; i++) {
		double p = pt[i].items / pt[i].time_s;
		double q = fmax(0, pt[i].items - place) / pt[i].time_s;
		uu += p * p, uv += p * q, vv += q * q, u += p, v += q;
	}
	c = (v * uu - u * uv) / (uu * vv - uv * uv);
	c = c > 0 && isfinite(c) ? c : 0;
	a = (u - c * uv) / uu;
	for (size_t i = 0; i < count; i++) {
		double e = (a * pt[i].items + c * fmax(0, pt[i].items - place)) / pt[i].time_s - 1;
		rest += e * e;
	}
	f->jump = c / a;
	f->place = place;
	return rest;
}

/* Fit a n up to the place and b n beyond it in the same way. */
static double fit_jump(form *f, const hetpart_point *pt, size_t count, double place)
{
	double sum[2] = { 0, 0 }, squares[2] = { 0, 0 }, rest = 0, factor[2];
	for (size_t i = 0; i < count; i++) {
		double p = pt[i].items / pt[i].time_s;
		sum[pt[i].items > place] += p;
		squares[pt[i].items > place] += p * p;
	}
	for (int side = 0; side < 2; side++)
		factor[side] = squares[side] > 0 ? sum[side] / squares[side] : 0;
	for (size_t i = 0; i < count; i++) {
		double e = factor[pt[i].items > place] * pt[i].items / pt[i].time_s - 1;
		rest += e * e;
	}
	f->jump = factor[0] > 0 && factor[1] > factor[0] ? factor[1] / factor[0] - 1 : 0;
	f->place = place;
	return rest;
}

/* Plan with the fitted form of the cost; without observations, with a linear cost. */
static hetpart_status by_form(void *ctx, const hetpart_point *seen, size_t count,
			      const double *speeds, hetpart_plan **out, hetpart_err *err)
{
	form f = { *(enum learn_shape *)ctx, 1, 0, 0 };
	hetpart_cost *cost;
	hetpart_status rc;
	*out = NULL;
	if (count && (f.shape == LEARN_CLIFF || f.shape == LEARN_JUMP)) {
		form now = f;
		double least = INFINITY;
		for (double place = 20000; place <= 400000; place += 500) {
			const double rest = f.shape == LEARN_JUMP
						    ? fit_jump(&now, seen, count, place)
						    : fit_beyond(&now, seen, count, place);
			if (rest < least) {
				least = rest;
				f = now;
			}
		}
	} else if (count)
		fit_power(&f, seen, count);
	if (count)
		rc = hetpart_cost_callback(&cost, form_cost, &f, true, 1, err);
	else
		rc = hetpart_cost_linear(&cost, 1, err);
	if (rc != HETPART_OK)
		return rc;
	rc = hetpart_share_create(out, LEARN_ITEMS, speeds, LEARN_P, cost, NULL, err);
	hetpart_cost_free(cost);
	return rc;
}

/* --------------------------------------------------------------------------------- experiment */

typedef struct learning_setup {
	uint64_t first;
	size_t seeds;
	double *excess; /* seeds x LEARN_BATCHES */
	double *column; /* seeds */
} learning_setup;

static hetpart_err err; /* of the last call */

static void learning_need(hetpart_status rc)
{
	if (rc != HETPART_OK)
		bench_stop("%s", err.text);
}

enum { LIBRARY, FORM_KNOWN, LINES, PLANNERS };
static const char *const planner_names[] = { "library", "form known", "lines" };
static learn_plan *const planner[] = { learn_by_model, by_form, learn_by_lines };

static void learning_measure(const learning_setup *su, enum learn_shape shape,
			     enum learn_noise noise, int by)
{
	hetpart_cost *truth;
	learning_need(learn_truth(&truth, shape, &err));
	for (size_t i = 0; i < su->seeds; i++) {
		double *excess = su->excess + i * LEARN_BATCHES;
		hetpart_model *m;
		learning_need(hetpart_model_create(&m, &err));
		learning_need(learn_run(truth, su->first + i, noise, planner[by],
					by == FORM_KNOWN ? (void *)&shape : (void *)m, excess,
					&err));
		hetpart_model_free(m);
	}
	hetpart_cost_free(truth);
	for (size_t b = 0; b < LEARN_BATCHES; b++) {
		double sum = 0;
		for (size_t i = 0; i < su->seeds; i++)
			sum += su->column[i] = 100 * su->excess[i * LEARN_BATCHES + b];
		double middle = bench_median(su->column, su->seeds);
		printf("{\"bench\":\"learning\",\"noise\":\"%s\",\"shape\":\"%s\",\"planner\":"
		       "\"%s\",\"batch\":%zu,\"seeds\":%zu,\"mean_percent\":%.5f,"
		       "\"median_percent\":%.5f,\"p90_percent\":%.5f,\"max_percent\":%.5f}\n",
		       learn_noise_names[noise], learn_names[shape], planner_names[by], b + 1,
		       su->seeds, sum / (double)su->seeds, middle, su->column[su->seeds * 9 / 10],
		       su->column[su->seeds - 1]);
	}
}

int main(int argc, char **argv)
{
	learning_setup su = { .first = (uint64_t)bench_option(argc, argv, "--first", 101),
			      .seeds = (size_t)bench_option(argc, argv, "--seeds", 12) };
	if (argc % 2 == 0 || su.seeds < 1 || su.seeds > 100000) {
		fprintf(stderr, "usage: learning_bench [--seeds N] [--first SEED]\n");
		return 2;
	}
	su.excess = calloc(su.seeds * LEARN_BATCHES, sizeof *su.excess);
	su.column = calloc(su.seeds, sizeof *su.column);
	if (!su.excess || !su.column)
		return 1;
	printf("{\"bench\":\"learning\",\"library\":\"%s\",\"compiler\":\"%s\",\"first_seed\":"
	       "%" PRIu64 "}\n",
	       hetpart_version(), __VERSION__, su.first);
	for (int noise = 0; noise < LEARN_NOISES; noise++)
		for (int shape = 0; shape < LEARN_SHAPES; shape++)
			for (int by = 0; by < PLANNERS; by++)
				learning_measure(&su, (enum learn_shape)shape,
						 (enum learn_noise)noise, by);
	free(su.excess);
	free(su.column);
	return 0;
}
