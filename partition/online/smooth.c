/* SPDX-License-Identifier: GPL-3.0-or-later */
/* smooth.c - the cost as a smooth curve, with less noise than the means of the cells. A division
 * cuts the cells into segments, and each segment has a power law or a straight line. No single
 * division is chosen. The result is the average over all divisions, weighted by the Bayesian
 * information criterion. Two recursions, as for a hidden Markov chain, find these weights. The
 * result shows whether the noise is smaller than assumed; then it is computed again, and follows
 * the cells more closely. A jump of the cost starts a new segment: an uncertain jump is averaged, a
 * certain one becomes a step.
 * Costs O(cells^2) for the cells that are not empty. */
#include <math.h>

#include "model.h"

/* --------------------------------------------------------------------- curves through a segment */

/* Prior of the noise: relative, as if measured in PRIOR_WEIGHT repeated observations. */
#define PRIOR_NOISE  0.05
#define PRIOR_WEIGHT 4
/* The noise is estimated again from the errors of a curve with two numbers through more than FEW
 * cells. The estimate is increased by NOISE_MARGIN of its standard deviations, so that a curve that
 * is close by chance does not count as exact. */
#define FEW          4
#define NOISE_MARGIN 3
#define NOISE_LEAST  1e-10
/* Prior of the exponent: its mean and standard deviation. */
#define PRIOR_POWER  1.0
#define PRIOR_SPREAD 0.5

/* Weighted means and central moments, to fit a line. They avoid differences of large numbers. */
typedef struct moments {
	double w, x, y, xx, xy, yy;
} moments;

/* Moments over a segment: of logarithms, and of items and costs, weighted for relative errors. */
typedef struct segment {
	moments log, lin;
} segment;

enum { CURVE_POWER, CURVE_STRAIGHT, CURVES };

/* exp(a) n^b, or a + b n. */
typedef struct curve {
	double a, b;
	double ln_likelihood; /* of the data, up to a constant; -INFINITY: no such curve */
} curve;

/* Add a point. The weights may differ by any factor. */
static void moments_add(moments *l, double x, double y, double weight)
{
	const double dx = x - l->x, dy = y - l->y, w = l->w + weight, both = weight * (l->w / w);
	l->x += dx * (weight / w);
	l->y += dy * (weight / w);
	l->xx += both * dx * dx;
	l->xy += both * dx * dy;
	l->yy += both * dy * dy;
	l->w = w;
}

/* Add a cell, the next one at either end, to a segment. */
static void segment_add(segment *s, const model_cell *c)
{
	moments_add(&s->log, log(c->items), log(c->cost), c->weight);
	moments_add(&s->lin, c->items, c->cost, c->weight / (c->cost * c->cost));
}

/* Return the line of slope b through the means. rest is added to the sum of its squared errors. */
static curve line_curve(const moments *l, double b, double noise, double rest)
{
	const double own = l->yy - b * (2 * l->xy - b * l->xx);
	return (curve){ l->y - b * l->x, b, -(max_double(own, 0) + rest) / (2 * noise) };
}

/* Fit the best curve of each kind by least squares of relative errors. The straight line is used
 * only if it rises; its likelihood is reduced, so that it counts only if it is clearly better. */
static void segment_fit(const segment *s, double noise, curve fit[CURVES])
{
	const double prior = noise / (PRIOR_SPREAD * PRIOR_SPREAD);
	const double b = (s->log.xy + PRIOR_POWER * prior) / (s->log.xx + prior);
	const double off = b - PRIOR_POWER;
	fit[CURVE_POWER] = line_curve(&s->log, b, noise, prior * off * off);
	fit[CURVE_STRAIGHT] = (curve){ 0, 0, -INFINITY };
	if (s->lin.xx > 0 && s->lin.xy > 0)
		fit[CURVE_STRAIGHT] = line_curve(&s->lin, s->lin.xy / s->lin.xx, noise, noise);
}

/* Return the logarithm of a curve's cost of items; it is not finite if the cost is not above 0. */
static double curve_ln(const curve *c, int kind, double items)
{
	return kind == CURVE_POWER ? c->a + c->b * log(items) : log(c->a + c->b * items);
}

/* ------------------------------------------------------------------------------- the smoother */

/* The factor by which a curve extends beyond the items that were observed. */
#define EXTRAPOLATION 1.5
/* The parameters of a segment, which reduce its weight: two of its curve, its border, its kind. */
#define NUMBERS 4
/* A jump has at least the probability JUMP_CERTAIN. The cost rises more than items^JUMP_POWER, by
 * JUMP_LEAST or more (as a logarithm). If the items on both sides differ by at most a factor
 * JUMP_NEAR, its place is known well enough. */
#define JUMP_CERTAIN 0.5
#define JUMP_POWER   3
#define JUMP_LEAST   0.1
#define JUMP_NEAR    1.02
#define STEP_WIDTH   1e-9 /* relative width of a step in the result: less than an item */
/* The least share of a curve in the average; also the weight of points without data. */
#define LEAST 1e-6

/* A point of the smooth curve, and the sums over the curves added so far. */
typedef struct smooth_point {
	double items, ln_items, weight; /* weight: of the cell at this place */
	double ln_cost, share;          /* sums over curves, weighted by their shares */
} smooth_point;

typedef struct smoother {
	const model_cell *cell;
	size_t n;            /* cells */
	double noise, price; /* price: subtracted from the logarithm of a segment's likelihood */
	smooth_point point[MODEL_POINTS];
	size_t npoints, at[MODEL_SEEN]; /* at[i]: the point of cell i */
	double before[MODEL_SEEN + 1];  /* [i]: ln of the weight of all divisions of cells [0, i) */
	double after[MODEL_SEEN + 1];   /* [i]: the same for cells [i, n) */
} smoother;

static void add_point(smoother *s, double items, double weight)
{
	if (items >= 1)
		s->point[s->npoints++] =
			(smooth_point){ .items = items, .ln_items = log(items), .weight = weight };
}

/* Add points between two numbers of items, in steps of MODEL_RATIO. Leave space in the array for
 * the points of the cells to come. */
static void points_between(smoother *s, double from, double to, size_t cells_to_come)
{
	for (double x = from * MODEL_RATIO; x * MODEL_RATIO < to; x *= MODEL_RATIO)
		if (s->npoints + cells_to_come + 1 < MODEL_POINTS)
			add_point(s, x, LEAST);
}

/* Add points at the cells, between them, and a little beyond both ends. */
static void place_points(smoother *s)
{
	const double from = s->cell[0].items / EXTRAPOLATION,
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
	const double most = max_double(a, b);
	return most == -INFINITY ? most : most + log1p(exp(min_double(a, b) - most));
}

/* Return the logarithm of the weight of a segment. */
static double ln_weight(const smoother *s, const curve fit[CURVES])
{
	return ln_sum(fit[CURVE_POWER].ln_likelihood, fit[CURVE_STRAIGHT].ln_likelihood) - s->price;
}

/* Compute before[], the first recursion. */
static void weigh_divisions(smoother *s)
{
	double *const before = s->before;
	before[0] = 0;
	for (size_t to = 1; to <= s->n; to++) {
		segment sum = { 0 };
		before[to] = -INFINITY;
		for (size_t from = to; from-- > 0;) {
			curve fit[CURVES];
			segment_add(&sum, &s->cell[from]);
			segment_fit(&sum, s->noise, fit);
			before[to] = ln_sum(before[to], before[from] + ln_weight(s, fit));
		}
	}
}

static void add_weighted(smooth_point *d, double ln_cost, double share)
{
	if (isfinite(ln_cost) && share > 0) {
		d->ln_cost += ln_cost * share;
		d->share += share;
	}
}

/* Fill the gap from point edge, the last of a curve, to point end, the first of the next curve. No
 * curve covers the gap, so the cost at the edge gets a share that falls to 0 at the end. */
static void add_fading(smoother *s, size_t edge, size_t end, double ln_cost, double share)
{
	const int step = end > edge ? 1 : -1;
	const double whole = s->point[end].ln_items - s->point[edge].ln_items;
	for (size_t d = edge + (size_t)step; d != end; d += (size_t)step)
		add_weighted(&s->point[d], ln_cost,
			     share * (s->point[end].ln_items - s->point[d].ln_items) / whole);
}

/* Add a curve through cells [from, to) to the average, with its share. */
static void add_curve(smoother *s, size_t from, size_t to, const curve *c, int kind, double share)
{
	const size_t first = from ? s->at[from] : 0;
	const size_t last = to < s->n ? s->at[to - 1] : s->npoints - 1;
	for (size_t d = first; d <= last; d++)
		add_weighted(&s->point[d], curve_ln(c, kind, s->point[d].items), share);
	if (from > 0)
		add_fading(s, first, s->at[from - 1], curve_ln(c, kind, s->point[first].items),
			   share);
	if (to < s->n)
		add_fading(s, last, s->at[to], curve_ln(c, kind, s->point[last].items), share);
}

/* Compute after[], the second recursion. before[] and after[] determine the share of each segment,
 * with which its curves are added to the average. */
static void average_curves(smoother *s)
{
	const size_t n = s->n;
	const double *const before = s->before;
	double *const after = s->after;
	for (size_t d = 0; d < s->npoints; d++)
		s->point[d].ln_cost = s->point[d].share = 0;
	after[n] = 0;
	for (size_t from = n; from-- > 0;) {
		segment sum = { 0 };
		after[from] = -INFINITY;
		for (size_t to = from + 1; to <= n; to++) {
			curve fit[CURVES];
			segment_add(&sum, &s->cell[to - 1]);
			segment_fit(&sum, s->noise, fit);
			after[from] = ln_sum(after[from], after[to] + ln_weight(s, fit));
			const double rest = before[from] + after[to] - before[n] - s->price;
			for (int k = 0; k < CURVES; k++) {
				const double share = exp(rest + fit[k].ln_likelihood);
				if (share > LEAST)
					add_curve(s, from, to, &fit[k], k, share);
			}
		}
	}
}

static double cost_at(const smoother *s, size_t d)
{
	return exp(s->point[d].ln_cost / s->point[d].share);
}

/* Return the noise that the errors of the average show, or s->noise if that is less. */
static double noise_of_errors(const smoother *s)
{
	double errors = 0, freedom = -2;
	for (size_t i = 0; i < s->n; i++) {
		const double d = log(s->cell[i].cost) - log(cost_at(s, s->at[i]));
		errors += s->cell[i].weight * (d * d + s->cell[i].spread);
		freedom += s->cell[i].weight;
	}
	if (s->n <= FEW || freedom < 1)
		return s->noise;
	errors *= (1 + NOISE_MARGIN * sqrt(2 / freedom)) / freedom;
	return min_double(s->noise, max_double(errors, NOISE_LEAST));
}

/* Return whether the cost jumps between cell i and the next one. It does if a segment probably ends
 * here and the cost rises faster than JUMP_POWER allows. */
static bool jumps_after(const smoother *s, size_t i)
{
	const smooth_point *const a = &s->point[s->at[i]], *const b = &s->point[s->at[i + 1]];
	const double rise = b->ln_cost / b->share - a->ln_cost / a->share;
	return s->before[i + 1] + s->after[i + 1] - s->before[s->n] > log(JUMP_CERTAIN) &&
	       rise > JUMP_POWER * (b->ln_items - a->ln_items) + JUMP_LEAST;
}

/* The points of the result. */
typedef struct corners {
	model_cell *at;
	size_t n;
} corners;

static void add_corner(corners *out, double items, double cost, double weight)
{
	if (cost > 0 && isfinite(cost) && out->n < MODEL_POINTS)
		out->at[out->n++] = (model_cell){ items, cost, weight, 0 };
}

/* Add a step instead of the points between points a and b. At first it is half way, so that the
 * next observations narrow its place. When the place is known well enough, the step is directly
 * after a. Too few items for some processors cost little; one too many costs the whole step. */
static void add_step(const smoother *s, corners *out, size_t a, size_t b)
{
	const double from = s->point[a].items, to = s->point[b].items;
	double place = from;
	if (to > JUMP_NEAR * from) {
		place = sqrt(from * to);
		add_corner(out, place, cost_at(s, a) * (place / from), LEAST);
	}
	add_corner(out, place * (1 + STEP_WIDTH), cost_at(s, b) * (place / to), LEAST);
}

size_t part_model_smooth(const model_cell *cell, size_t n, model_cell *out)
{
	smoother s = { .cell = cell, .n = n };
	if (n == 0)
		return 0;
	/* the variance of an observation's relative error, from the cells and the prior */
	double weight = 1, spread = PRIOR_WEIGHT * PRIOR_NOISE * PRIOR_NOISE, count = PRIOR_WEIGHT;
	for (size_t i = 0; i < n; i++) {
		weight += cell[i].weight;
		spread += cell[i].weight * cell[i].spread;
		count += max_double(0, cell[i].weight - 1);
	}
	s.noise = spread / count;
	s.price = NUMBERS * log(weight) / 2;
	place_points(&s);
	weigh_divisions(&s);
	average_curves(&s);
	const double noise = noise_of_errors(&s);
	if (noise < s.noise) {
		s.noise = noise;
		weigh_divisions(&s);
		average_curves(&s);
	}
	corners to = { out, 0 };
	for (size_t d = 0, i = 0; d < s.npoints; d++) { /* i: the next cell */
		add_corner(&to, s.point[d].items, cost_at(&s, d), s.point[d].weight);
		if (i >= n || d != s.at[i])
			continue;
		size_t beyond = i; /* cells may have observations of both sides of a jump */
		while (beyond + 1 < n && jumps_after(&s, beyond))
			beyond++;
		if (beyond > i) {
			add_step(&s, &to, d, s.at[beyond]);
			d = s.at[beyond] - 1; /* continue with the point of this cell */
			i = beyond;
		} else {
			i++;
		}
	}
	return to.n;
}
