/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model.h - the learned cost: observations in cells, whose numbers of items grow by a factor.
 * Internal. */
#ifndef PART_MODEL_H
#define PART_MODEL_H

#include "base/part.h"

#define MODEL_RATIO  1.1 /* of items from one cell to the next */
#define MODEL_PARTS  8   /* parts of a cell, so that a jump inside it is visible */
#define MODEL_SEEN   460 /* cells: ln(2^63)/ln(1.1), rounded up */
#define MODEL_CELLS  (MODEL_SEEN * MODEL_PARTS) /* all parts of cells */
#define MODEL_WEIGHT 1e12                       /* the largest weight of a part */
#define MODEL_POINTS 960                        /* the most points of the fitted cost */

typedef struct model_cell {
	double items, cost; /* weighted means of the observations in a part of a cell */
	double weight;      /* 0: empty */
	double spread;      /* weighted mean square of the relative error of cost/items */
} model_cell;

struct hetpart_model {
	model_cell cell[MODEL_CELLS];
};

/* Return the index of the part to which a number of items >= 1 belongs. */
size_t part_model_cell(double items);

/* Add the observations of *more, which is not empty, to *c, which may be empty. */
void part_cell_merge(model_cell *c, const model_cell *more);

/* Smooth n <= MODEL_SEEN cells, which have a cost and are in the order of items. Set
 * out[MODEL_POINTS] to points of the smooth curve, and return their number. */
size_t part_model_smooth(const model_cell *cell, size_t n, model_cell *out);

#endif
