/* SPDX-License-Identifier: GPL-3.0-or-later */
/* smooth.c - less noise than the cells' means: power laws and straight lines on stretches of
 * cells. Where a stretch ends is not decided but averaged: all divisions of the cells, each with
 * the weight the data give it (Bayesian information criterion), by two recursions as for a hidden
 * Markov chain. A cliff or a jump starts a new stretch; one that is uncertain is half seen. May not
 * touch: the model. Costs O(cells^2) for the cells that hold something. */
#include <math.h>

#include "curve.h"

/* How far, as a ratio, a curve is trusted outside of the items seen. */
#define REACH 1.5
/* A stretch costs this many numbers: two of its curve, its border, its kind. */
#define NUMBERS 4
/* What weighs less is left out of an average. */
#define LEAST 1e-6

/* A place where the cost is asked for, and what the curves said so far. */
struct dot {
	double items, ln_items, weight; /* weight: of the cell that is here */
	double ln_cost, share;          /* sums over curves, with their weights */
};

struct sketch {
	const struct cell *cell;
	size_t n;            /* cells */
	double noise, price; /* price: of a stretch, to its ln_likelihood */
	struct dot dot[MODEL_POINTS];
	size_t dots, at[MODEL_SEEN]; /* at: the dot of each cell */
};

static void dot(struct sketch *s, double items, double weight)
{
	if (items >= 1)
		s->dot[s->dots++] = (struct dot){ items, log(items), weight, 0, 0 };
}

/* Dots between two places, a ratio of about MODEL_RATIO apart, without the two; room is kept for
 * the cells to come. */
static void dots_between(struct sketch *s, double from, double to, size_t cells_to_come)
{
	for (double x = from * MODEL_RATIO; x * MODEL_RATIO < to; x *= MODEL_RATIO)
		if (s->dots + cells_to_come + 1 < MODEL_POINTS)
			dot(s, x, LEAST);
}

/* At the cells, between them, and a little beyond at both ends. */
static void place_dots(struct sketch *s)
{
	double from = s->cell[0].items / REACH, to = s->cell[s->n - 1].items * REACH;

	dot(s, from, LEAST);
	for (size_t i = 0; i < s->n; i++) {
		dots_between(s, i ? s->cell[i - 1].items : from, s->cell[i].items, s->n - i);
		s->at[i] = s->dots;
		dot(s, s->cell[i].items, s->cell[i].weight);
	}
	dots_between(s, s->cell[s->n - 1].items, to, 0);
	dot(s, to, LEAST);
}

static double ln_sum(double a, double b)
{
	double most = fmax(a, b);

	return most == -INFINITY ? most : most + log1p(exp(fmin(a, b) - most));
}

static double ln_weight(const struct sketch *s, const struct curve fit[CURVES])
{
	return ln_sum(fit[CURVE_POWER].ln_likelihood, fit[CURVE_STRAIGHT].ln_likelihood) - s->price;
}

/* Forward: ln of the weight of all divisions of the cells before each. */
static void divide(const struct sketch *s, double *before)
{
	before[0] = 0;
	for (size_t to = 1; to <= s->n; to++) {
		struct stretch sum = { 0 };
		before[to] = -INFINITY;
		for (size_t from = to; from-- > 0;) {
			struct curve fit[CURVES];
			part_stretch_add(&sum, &s->cell[from]);
			part_stretch_fit(&sum, s->noise, fit);
			before[to] = ln_sum(before[to], before[from] + ln_weight(s, fit));
		}
	}
}

static void mix(struct dot *d, double ln_cost, double share)
{
	if (isfinite(ln_cost) && share > 0) {
		d->ln_cost += ln_cost * share;
		d->share += share;
	}
}

/* From dot edge, the curve's last, to dot end, the next curve's first: no curve is trusted here, so
 * the cost at the edge counts less and less. */
static void fade(struct sketch *s, size_t edge, size_t end, double ln_cost, double share)
{
	int step = end > edge ? 1 : -1;
	double whole = s->dot[end].ln_items - s->dot[edge].ln_items;

	for (size_t d = edge + (size_t)step; d != end; d += (size_t)step)
		mix(&s->dot[d], ln_cost,
		    share * (s->dot[end].ln_items - s->dot[d].ln_items) / whole);
}

/* Let a curve through cells [from, to) take part with its share. */
static void draw(struct sketch *s, size_t from, size_t to, const struct curve *c, int kind,
		 double share)
{
	size_t first = from ? s->at[from] : 0, last = to < s->n ? s->at[to - 1] : s->dots - 1;

	for (size_t d = first; d <= last; d++)
		mix(&s->dot[d], part_curve_ln(c, kind, s->dot[d].items), share);
	if (from > 0)
		fade(s, first, s->at[from - 1], part_curve_ln(c, kind, s->dot[first].items), share);
	if (to < s->n)
		fade(s, last, s->at[to], part_curve_ln(c, kind, s->dot[last].items), share);
}

/* Backward: after[] as before[], for the cells from each on; so each stretch has its share. */
static void average(struct sketch *s, const double *before)
{
	const size_t n = s->n;
	double after[MODEL_SEEN + 1];

	after[n] = 0;
	for (size_t from = n; from-- > 0;) {
		struct stretch sum = { 0 };
		after[from] = -INFINITY;
		for (size_t to = from + 1; to <= n; to++) {
			struct curve fit[CURVES];
			part_stretch_add(&sum, &s->cell[to - 1]);
			part_stretch_fit(&sum, s->noise, fit);
			after[from] = ln_sum(after[from], after[to] + ln_weight(s, fit));
			double rest = before[from] + after[to] - before[n] - s->price;
			for (int k = 0; k < CURVES; k++) {
				double share = exp(rest + fit[k].ln_likelihood);
				if (share > LEAST)
					draw(s, from, to, &fit[k], k, share);
			}
		}
	}
}

size_t part_model_smooth(const struct cell *cell, size_t n, struct cell *out)
{
	struct sketch s = { .cell = cell, .n = n, .noise = part_curve_noise(cell, n) };
	double before[MODEL_SEEN + 1], weight = 1;
	size_t points = 0;

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		weight += cell[i].weight;
	s.price = NUMBERS * log(weight) / 2;
	place_dots(&s);
	divide(&s, before);
	average(&s, before);
	for (size_t d = 0; d < s.dots; d++) {
		double cost = exp(s.dot[d].ln_cost / s.dot[d].share);
		if (cost > 0 && isfinite(cost))
			out[points++] = (struct cell){ s.dot[d].items, cost, s.dot[d].weight, 0 };
	}
	return points;
}
