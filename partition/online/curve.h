/* SPDX-License-Identifier: GPL-3.0-or-later */
/* curve.h - curves through a stretch of cells, and how well each explains it. Internal. */
#ifndef PART_MODEL_CURVE_H
#define PART_MODEL_CURVE_H

#include "model.h"

/* Weighted means and central moments for a line: no cancellation. */
struct line {
	double w, x, y, xx, xy, yy;
};

/* Sums of a stretch: logarithms, and items and costs with relative errors. */
struct stretch {
	struct line log, lin;
};

enum { CURVE_POWER, CURVE_STRAIGHT, CURVES };

/* exp(a) n^b, or a + b n. */
struct curve {
	double a, b;
	double ln_likelihood; /* of the stretch, up to a constant; -INFINITY: no such curve */
};

/* Variance of one observation: what differs within cells, and a little belief. */
double part_curve_noise(const struct cell *cell, size_t n);

/* Add a cell, at whichever end. */
void part_stretch_add(struct stretch *s, const struct cell *c);

/* The best curve of each kind. */
void part_stretch_fit(const struct stretch *s, double noise, struct curve fit[CURVES]);

/* ln of the cost of items on a curve; not finite where the curve has none. */
double part_curve_ln(const struct curve *c, int kind, double items);

#endif
