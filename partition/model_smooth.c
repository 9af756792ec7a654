/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_smooth.c - less noise than the cells' means: power laws and straight lines on as many
 * stretches of cells as the data justify (Bayesian information criterion, the best of all divisions
 * by dynamic programming). A cliff or a jump starts a new stretch.
 * May not touch: the model. Costs O(cells^2) for the cells that hold something. */
#include <math.h>

#include "model.h"

/* Before there are repeated observations, believe in this much noise as if it came from so many. */
#define PRIOR_NOISE  0.03
#define PRIOR_WEIGHT 4
/* Before there is anything to tell the exponent: 1, give or take. */
#define PRIOR_POWER 1.0
#define PRIOR_GIVE  0.5
/* How far, as a ratio, a curve is trusted outside of the items seen. */
#define REACH 1.5

/* Weighted means and central moments for the line through a stretch of cells: no cancellation. */
struct line {
	double w, x, y, xx, xy, yy;
};

/* Cost as a function of items on one stretch: exp(a) n^b, or a + b n. */
struct curve {
	bool straight;
	double a, b, rest; /* rest: squares of relative errors */
};

static void line_add(struct line *l, double x, double y, double weight)
{
	double dx = x - l->x, dy = y - l->y, w = l->w + weight;

	l->x += dx * weight / w;
	l->y += dy * weight / w;
	l->xx += weight * dx * (x - l->x);
	l->xy += weight * dx * (y - l->y);
	l->yy += weight * dy * (y - l->y);
	l->w = w;
}

/* The line of slope b through the means. */
static struct curve line_curve(const struct line *l, double b, bool straight)
{
	double rest = l->yy - b * (2 * l->xy - b * l->xx);

	return (struct curve){ straight, l->y - b * l->x, b, rest > 0 ? rest : 0 };
}

/* Both lines of a stretch, growing to the left. */
struct stretch {
	struct line log, lin;
};

static void stretch_add(struct stretch *s, const struct cell *c)
{
	line_add(&s->log, log(c->items), log(c->cost), c->weight);
	line_add(&s->lin, c->items, c->cost, c->weight / (c->cost * c->cost));
}

/* The better of the two, the straight line only where clearly so; a falling line is none. */
static struct curve stretch_curve(const struct stretch *s, double noise)
{
	double belief = noise / (PRIOR_GIVE * PRIOR_GIVE);
	double b = (s->log.xy + PRIOR_POWER * belief) / (s->log.xx + belief);
	struct curve power = line_curve(&s->log, b, false), straight;

	if (!(s->lin.xx > 0 && s->lin.xy > 0))
		return power;
	straight = line_curve(&s->lin, s->lin.xy / s->lin.xx, true);
	straight.rest += noise;
	return straight.rest < power.rest ? straight : power;
}

static double curve_at(const struct curve *c, double items)
{
	return c->straight ? c->a + c->b * items : exp(c->a + c->b * log(items));
}

/* Variance of one observation: what differs within cells, and a little belief. */
static double noise_of(const struct cell *cell, size_t n)
{
	double sum = PRIOR_WEIGHT * PRIOR_NOISE * PRIOR_NOISE, weight = PRIOR_WEIGHT;

	for (size_t i = 0; i < n; i++) {
		sum += cell[i].weight * cell[i].spread;
		weight += fmax(0, cell[i].weight - 1);
	}
	return sum / weight;
}

/* Best division of the cells: from[to] is where the stretch that ends before to begins. */
static void divide(const struct cell *cell, size_t n, double noise, size_t *from)
{
	double best[MODEL_CELLS + 1], price, weight = 1;

	for (size_t i = 0; i < n; i++)
		weight += cell[i].weight;
	price = 3 * noise * log(weight); /* a curve has two numbers and a border */
	best[0] = 0;
	for (size_t to = 1; to <= n; to++) {
		struct stretch s = { 0 };
		best[to] = INFINITY;
		for (size_t at = to; at-- > 0;) {
			stretch_add(&s, &cell[at]);
			double sum = best[at] + stretch_curve(&s, noise).rest + price;
			if (sum < best[to] || from[to] == to) {
				best[to] = sum;
				from[to] = at;
			}
		}
	}
}

struct pen {
	struct cell *out;
	size_t n;
	const struct curve *curve;
};

static void dot(struct pen *p, double items, double weight)
{
	double cost = curve_at(p->curve, items);

	if (items >= 1 && cost > 0 && isfinite(cost) && p->n < MODEL_POINTS)
		p->out[p->n++] = (struct cell){ items, cost, weight, 0 };
}

/* Points between two items, a ratio of about MODEL_RATIO apart, without the two. */
static void dots(struct pen *p, double from, double to)
{
	for (double x = from * MODEL_RATIO; x * MODEL_RATIO < to; x *= MODEL_RATIO)
		dot(p, x, 1e-6);
}

/* The points of cells [from, to), and a little beyond at both ends of all n. */
static void draw(struct pen *p, const struct cell *cell, size_t from, size_t to, size_t n)
{
	if (from == 0) {
		dot(p, cell[0].items / REACH, 1e-6);
		dots(p, cell[0].items / REACH, cell[0].items);
	}
	for (size_t i = from; i < to; i++) {
		if (i > from)
			dots(p, cell[i - 1].items, cell[i].items);
		dot(p, cell[i].items, cell[i].weight);
	}
	if (to == n) {
		dots(p, cell[n - 1].items, cell[n - 1].items * REACH);
		dot(p, cell[n - 1].items * REACH, 1e-6);
	}
}

size_t part_model_smooth(const struct cell *cell, size_t n, struct cell *out)
{
	size_t from[MODEL_CELLS + 1], first[MODEL_CELLS + 1], stretches = 0;
	double noise = noise_of(cell, n);
	struct pen pen = { out, 0, NULL };

	for (size_t i = 0; i <= n; i++)
		from[i] = i;
	divide(cell, n, noise, from);
	for (size_t to = n; to > 0; to = from[to])
		first[stretches++] = to;
	while (stretches-- > 0) {
		size_t to = first[stretches];
		struct stretch s = { 0 };
		for (size_t i = to; i-- > from[to];)
			stretch_add(&s, &cell[i]);
		struct curve c = stretch_curve(&s, noise);
		pen.curve = &c;
		draw(&pen, cell, from[to], to, n);
	}
	return pen.n;
}
