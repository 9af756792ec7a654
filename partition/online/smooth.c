/* SPDX-License-Identifier: GPL-3.0-or-later */
/* smooth.c - less noise than the cells' means: power laws and straight lines on segments of
 * cells. Where a segment ends is not decided but averaged: all divisions of the cells, each with
 * the weight the data give it (Bayesian information criterion), by two recursions as for a hidden
 * Markov chain. A jump starts a new segment; an uncertain one shows in part, one that is sure as a
 * step. May not touch: the model. Costs O(cells^2) for the cells that hold something. */
#include <math.h>

#include "model.h"

/* Weighted means and central moments for a line: no cancellation. */
struct line {
	double w, x, y, xx, xy, yy;
};

/* Sums of a segment: logarithms, and items and costs with relative errors. */
struct segment {
	struct line log, lin;
};

enum { CURVE_POWER, CURVE_STRAIGHT, CURVES };

/* exp(a) n^b, or a + b n. */
struct curve {
	double a, b;
	double ln_likelihood; /* of the segment, up to a constant; -INFINITY: no such curve */
};

/* Variance of one observation: what differs within cells, and the prior. */
static double part_curve_noise(const struct cell *cell, size_t n);

/* Add a cell, at whichever end. */
static void part_segment_add(struct segment *s, const struct cell *c);

/* The best curve of each kind. */
static void part_segment_fit(const struct segment *s, double noise, struct curve fit[CURVES]);

/* ln of the cost of items on a curve; not finite where the curve has none. */
static double part_curve_ln(const struct curve *c, int kind, double items);

/* How far, as a ratio, a curve is trusted outside of the items seen. */
#define EXTRAPOLATION 1.5
/* A segment costs this many numbers: two of its curve, its border, its kind. */
#define NUMBERS 4
/* A jump: how likely, how many powers of the items it beats, and by how much (natural logarithm);
 * the ratio of items between which it is not looked for any closer. */
#define JUMP_CERTAIN 0.5
#define JUMP_POWER   3
#define JUMP_LEAST   0.1
#define JUMP_NEAR    1.02
#define STEP_WIDTH   1e-9 /* of a jump in the result, relative: less than an item */
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
	double before[MODEL_SEEN + 1];  /* ln of the weight of all divisions of the cells before */
	double after[MODEL_SEEN + 1];   /* and of those from there on */
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
	double most = max_double(a, b);

	return most == -INFINITY ? most : most + log1p(exp(min_double(a, b) - most));
}

static double ln_weight(const struct smoother *s, const struct curve fit[CURVES])
{
	return ln_sum(fit[CURVE_POWER].ln_likelihood, fit[CURVE_STRAIGHT].ln_likelihood) - s->price;
}

/* Forward: ln of the weight of all divisions of the cells before each. */
static void weigh_divisions(struct smoother *s)
{
	double *before = s->before;

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
static void average_curves(struct smoother *s)
{
	const size_t n = s->n;
	const double *before = s->before;
	double *after = s->after;

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

static double cost_at(const struct smoother *s, size_t d)
{
	return exp(s->point[d].ln_cost / s->point[d].share);
}

/* Whether the cost jumps between cell i and the next one: a segment ends here, and the cost rises
 * faster than any power of the items would let it. */
static bool jumps(const struct smoother *s, size_t i)
{
	const struct point *a = &s->point[s->at[i]], *b = &s->point[s->at[i + 1]];
	double rise = b->ln_cost / b->share - a->ln_cost / a->share;

	return s->before[i + 1] + s->after[i + 1] - s->before[s->n] > log(JUMP_CERTAIN) &&
	       rise > JUMP_POWER * (b->ln_items - a->ln_items) + JUMP_LEAST;
}

/* The cell after a jump that begins at this one, over more than one border where a cell has seen
 * both sides; cell itself if there is none. */
static size_t beyond_jump(const struct smoother *s, size_t cell)
{
	while (cell + 1 < s->n && jumps(s, cell))
		cell++;
	return cell;
}

struct corners {
	struct cell *at;
	size_t n;
};

static void add_corner(struct corners *out, double items, double cost, double weight)
{
	if (cost > 0 && isfinite(cost) && out->n < MODEL_POINTS)
		out->at[out->n++] = (struct cell){ items, cost, weight, 0 };
}

/* A step in place of the points between a and b. It is half way, so that the next run tells more
 * about its place, until that is known well enough; then before all that may lie beyond it: too few
 * items for some processors cost little, one too many costs the whole step. */
static void add_step(const struct smoother *s, struct corners *out, size_t a, size_t b)
{
	double from = s->point[a].items, to = s->point[b].items, place = from;

	if (to > JUMP_NEAR * from) {
		place = sqrt(from * to);
		add_corner(out, place, cost_at(s, a) * (place / from), LEAST);
	}
	add_corner(out, place * (1 + STEP_WIDTH), cost_at(s, b) * (place / to), LEAST);
}

static size_t collect(const struct smoother *s, struct cell *to)
{
	struct corners out = { to, 0 };
	size_t cell = 0;

	for (size_t d = 0; d < s->npoints; d++) {
		add_corner(&out, s->point[d].items, cost_at(s, d), s->point[d].weight);
		if (cell >= s->n || d != s->at[cell])
			continue;
		size_t beyond = beyond_jump(s, cell);
		if (beyond > cell) {
			add_step(s, &out, d, s->at[beyond]);
			d = s->at[beyond] - 1; /* the point of that cell is next */
			cell = beyond;
		} else {
			cell++;
		}
	}
	return out.n;
}

size_t part_model_smooth(const struct cell *cell, size_t n, struct cell *out)
{
	struct smoother s = { .cell = cell, .n = n, .noise = part_curve_noise(cell, n) };
	double weight = 1;

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		weight += cell[i].weight;
	s.price = NUMBERS * log(weight) / 2;
	place_points(&s);
	weigh_divisions(&s);
	average_curves(&s);
	return collect(&s, out);
}

/* curve.c - curves through a segment of cells by least squares of relative errors: a power
 * law with a prior for its exponent, a straight line. May not touch: the model, where segments
 * end. Costs O(1) for a cell and for a fit. */

/* Prior of the noise: this much, as if seen in so many repeated observations. */
#define PRIOR_NOISE  0.05
#define PRIOR_WEIGHT 4
/* Prior of the exponent: its mean and standard deviation. */
#define PRIOR_POWER  1.0
#define PRIOR_SPREAD 0.5

static double part_curve_noise(const struct cell *cell, size_t n)
{
	double sum = PRIOR_WEIGHT * PRIOR_NOISE * PRIOR_NOISE, weight = PRIOR_WEIGHT;

	for (size_t i = 0; i < n; i++) {
		sum += cell[i].weight * cell[i].spread;
		weight += max_double(0, cell[i].weight - 1);
	}
	return sum / weight;
}

/* Means move, moments grow by the distance between the means: weights may differ by any factor. */
static void line_add(struct line *l, double x, double y, double weight)
{
	double dx = x - l->x, dy = y - l->y, w = l->w + weight, both = weight * (l->w / w);

	l->x += dx * (weight / w);
	l->y += dy * (weight / w);
	l->xx += both * dx * dx;
	l->xy += both * dx * dy;
	l->yy += both * dy * dy;
	l->w = w;
}

static void part_segment_add(struct segment *s, const struct cell *c)
{
	line_add(&s->log, log(c->items), log(c->cost), c->weight);
	line_add(&s->lin, c->items, c->cost, c->weight / (c->cost * c->cost));
}

/* The line of slope b through the means; rest: squares of errors besides its own. */
static struct curve line_curve(const struct line *l, double b, double noise, double rest)
{
	double own = l->yy - b * (2 * l->xy - b * l->xx);

	return (struct curve){ l->y - b * l->x, b, -(max_double(own, 0) + rest) / (2 * noise) };
}

/* The straight line counts only where it is clearly better; a falling one is none. */
static void part_segment_fit(const struct segment *s, double noise, struct curve fit[CURVES])
{
	double prior = noise / (PRIOR_SPREAD * PRIOR_SPREAD);
	double b = (s->log.xy + PRIOR_POWER * prior) / (s->log.xx + prior);
	double off = b - PRIOR_POWER;

	fit[CURVE_POWER] = line_curve(&s->log, b, noise, prior * off * off);
	fit[CURVE_STRAIGHT] = (struct curve){ 0, 0, -INFINITY };
	if (s->lin.xx > 0 && s->lin.xy > 0)
		fit[CURVE_STRAIGHT] = line_curve(&s->lin, s->lin.xy / s->lin.xx, noise, noise);
}

static double part_curve_ln(const struct curve *c, int kind, double items)
{
	if (kind == CURVE_POWER)
		return c->a + c->b * log(items);
	return log(c->a + c->b * items);
}
