/* SPDX-License-Identifier: GPL-3.0-or-later */
/* curve.c - curves through a segment of cells by least squares of relative errors: a power
 * law with a prior for its exponent, a straight line. May not touch: the model, where segments
 * end. Costs O(1) for a cell and for a fit. */
#include <math.h>

#include "curve.h"

/* Prior of the noise: this much, as if seen in so many repeated observations. */
#define PRIOR_NOISE  0.05
#define PRIOR_WEIGHT 4
/* Prior of the exponent: its mean and standard deviation. */
#define PRIOR_POWER  1.0
#define PRIOR_SPREAD 0.5

double part_curve_noise(const struct cell *cell, size_t n)
{
	double sum = PRIOR_WEIGHT * PRIOR_NOISE * PRIOR_NOISE, weight = PRIOR_WEIGHT;

	for (size_t i = 0; i < n; i++) {
		sum += cell[i].weight * cell[i].spread;
		weight += later(0, cell[i].weight - 1);
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

void part_segment_add(struct segment *s, const struct cell *c)
{
	line_add(&s->log, log(c->items), log(c->cost), c->weight);
	line_add(&s->lin, c->items, c->cost, c->weight / (c->cost * c->cost));
}

/* The line of slope b through the means; rest: squares of errors besides its own. */
static struct curve line_curve(const struct line *l, double b, double noise, double rest)
{
	double own = l->yy - b * (2 * l->xy - b * l->xx);

	return (struct curve){ l->y - b * l->x, b, -(later(own, 0) + rest) / (2 * noise) };
}

/* The straight line counts only where it is clearly better; a falling one is none. */
void part_segment_fit(const struct segment *s, double noise, struct curve fit[CURVES])
{
	double prior = noise / (PRIOR_SPREAD * PRIOR_SPREAD);
	double b = (s->log.xy + PRIOR_POWER * prior) / (s->log.xx + prior);
	double off = b - PRIOR_POWER;

	fit[CURVE_POWER] = line_curve(&s->log, b, noise, prior * off * off);
	fit[CURVE_STRAIGHT] = (struct curve){ 0, 0, -INFINITY };
	if (s->lin.xx > 0 && s->lin.xy > 0)
		fit[CURVE_STRAIGHT] = line_curve(&s->lin, s->lin.xy / s->lin.xx, noise, noise);
}

double part_curve_ln(const struct curve *c, int kind, double items)
{
	if (kind == CURVE_POWER)
		return c->a + c->b * log(items);
	return log(c->a + c->b * items);
}
