/* SPDX-License-Identifier: GPL-3.0-or-later */
/* smooth.c - less noise than the cells' means: power laws and straight lines on segments of
 * cells. Where a segment ends is not decided but averaged: all divisions of the cells, each with
 * the weight the data give it (Bayesian information criterion), by two recursions as for a hidden
 * Markov chain. A jump starts a new segment; an uncertain one shows in part. May not
 * touch: the model. Costs O(cells^2) for the cells that hold something. */
#include <math.h>

#include "curve.h"

/* How far, as a ratio, a curve is trusted outside of the items seen. */
#define EXTRAPOLATION 1.5
/* A segment costs this many numbers: two of its curve, its border, its kind. */
#define NUMBERS 4
/* What weighs less is left out of an average. */
#define LEAST 1e-6

/* A place where the cost is asked for, and what the curves said so far. */
struct point {
	double items, ln_items, weight; /* weight: of the cell that is here */
	double ln_cost, share;          /* sums over curves, with their weights */
};

struct smoother {
	const struct cell *cell;
	size_t n;            /* cells */
	double noise, price; /* price: of a segment, to its ln_likelihood */
	struct point point[MODEL_POINTS];
	size_t npoints, at[MODEL_SEEN]; /* at: the point of each cell */
};

static void add_point(struct smoother *s, double items, double weight)
{
	if (items >= 1)
		s->point[s->npoints++] = (struct point){ items, log(items), weight, 0, 0 };
}

/* Points between two places, a ratio of about MODEL_RATIO apart, without the two; room is kept for
 * the cells to come. */
static void points_between(struct smoother *s, double from, double to, size_t cells_to_come)
{
	for (double x = from * MODEL_RATIO; x * MODEL_RATIO < to; x *= MODEL_RATIO)
		if (s->npoints + cells_to_come + 1 < MODEL_POINTS)
			add_point(s, x, LEAST);
}

/* At the cells, between them, and a little beyond at both ends. */
static void place_points(struct smoother *s)
{
	double from = s->cell[0].items / EXTRAPOLATION,
	       to = s->cell[s->n - 1].items * EXTRAPOLATION;

	add_point(s, from, LEAST);
	for (size_t i = 0; i < s->n; i++) {
		points_between(s, i ? s->cell[i - 1].items : from, s->cell[i].items, s->n - i);
		s->at[i] = s->npoints;
		add_point(s, s->cell[i].items, s->cell[i].weight);
	}
	points_between(s, s->cell[s->n - 1].items, to, 0);
	add_point(s, to, LEAST);
}

static double ln_sum(double a, double b)
{
	double most = fmax(a, b);

	return most == -INFINITY ? most : most + log1p(exp(fmin(a, b) - most));
}

static double ln_weight(const struct smoother *s, const struct curve fit[CURVES])
{
	return ln_sum(fit[CURVE_POWER].ln_likelihood, fit[CURVE_STRAIGHT].ln_likelihood) - s->price;
}

/* Forward: ln of the weight of all divisions of the cells before each. */
static void weigh_divisions(const struct smoother *s, double *before)
{
	before[0] = 0;
	for (size_t to = 1; to <= s->n; to++) {
		struct segment sum = { 0 };
		before[to] = -INFINITY;
		for (size_t from = to; from-- > 0;) {
			struct curve fit[CURVES];
			part_segment_add(&sum, &s->cell[from]);
			part_segment_fit(&sum, s->noise, fit);
			before[to] = ln_sum(before[to], before[from] + ln_weight(s, fit));
		}
	}
}

static void add_weighted(struct point *d, double ln_cost, double share)
{
	if (isfinite(ln_cost) && share > 0) {
		d->ln_cost += ln_cost * share;
		d->share += share;
	}
}

/* From point edge, the curve's last, to point end, the next curve's first: no curve is trusted
 * here, so the cost at the edge counts less and less. */
static void add_fading(struct smoother *s, size_t edge, size_t end, double ln_cost, double share)
{
	int step = end > edge ? 1 : -1;
	double whole = s->point[end].ln_items - s->point[edge].ln_items;

	for (size_t d = edge + (size_t)step; d != end; d += (size_t)step)
		add_weighted(&s->point[d], ln_cost,
			     share * (s->point[end].ln_items - s->point[d].ln_items) / whole);
}

/* Let a curve through cells [from, to) take part with its share. */
static void add_curve(struct smoother *s, size_t from, size_t to, const struct curve *c, int kind,
		      double share)
{
	size_t first = from ? s->at[from] : 0, last = to < s->n ? s->at[to - 1] : s->npoints - 1;

	for (size_t d = first; d <= last; d++)
		add_weighted(&s->point[d], part_curve_ln(c, kind, s->point[d].items), share);
	if (from > 0)
		add_fading(s, first, s->at[from - 1], part_curve_ln(c, kind, s->point[first].items),
			   share);
	if (to < s->n)
		add_fading(s, last, s->at[to], part_curve_ln(c, kind, s->point[last].items), share);
}

/* Backward: after[] as before[], for the cells from each on; so each segment has its share. */
static void average_curves(struct smoother *s, const double *before)
{
	const size_t n = s->n;
	double after[MODEL_SEEN + 1];

	after[n] = 0;
	for (size_t from = n; from-- > 0;) {
		struct segment sum = { 0 };
		after[from] = -INFINITY;
		for (size_t to = from + 1; to <= n; to++) {
			struct curve fit[CURVES];
			part_segment_add(&sum, &s->cell[to - 1]);
			part_segment_fit(&sum, s->noise, fit);
			after[from] = ln_sum(after[from], after[to] + ln_weight(s, fit));
			double rest = before[from] + after[to] - before[n] - s->price;
			for (int k = 0; k < CURVES; k++) {
				double share = exp(rest + fit[k].ln_likelihood);
				if (share > LEAST)
					add_curve(s, from, to, &fit[k], k, share);
			}
		}
	}
}

size_t part_model_smooth(const struct cell *cell, size_t n, struct cell *out)
{
	struct smoother s = { .cell = cell, .n = n, .noise = part_curve_noise(cell, n) };
	double before[MODEL_SEEN + 1], weight = 1;
	size_t points = 0;

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		weight += cell[i].weight;
	s.price = NUMBERS * log(weight) / 2;
	place_points(&s);
	weigh_divisions(&s, before);
	average_curves(&s, before);
	for (size_t d = 0; d < s.npoints; d++) {
		double cost = exp(s.point[d].ln_cost / s.point[d].share);
		if (cost > 0 && isfinite(cost))
			out[points++] =
				(struct cell){ s.point[d].items, cost, s.point[d].weight, 0 };
	}
	return points;
}
