/* SPDX-License-Identifier: GPL-3.0-or-later */
/* curve.h - curves through a segment of cells, and how well each explains it. Internal. */
#ifndef PART_MODEL_CURVE_H
#define PART_MODEL_CURVE_H

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
double part_curve_noise(const struct cell *cell, size_t n);

/* Add a cell, at whichever end. */
void part_segment_add(struct segment *s, const struct cell *c);

/* The best curve of each kind. */
void part_segment_fit(const struct segment *s, double noise, struct curve fit[CURVES]);

/* ln of the cost of items on a curve; not finite where the curve has none. */
double part_curve_ln(const struct curve *c, int kind, double items);

#endif
