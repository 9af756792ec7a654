/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model.h - the learned cost of one phase: observations in geometric cells. Internal. */
#ifndef PART_MODEL_H
#define PART_MODEL_H

#include "base/part.h"

#define MODEL_RATIO  1.1                        /* of one cell to the next */
#define MODEL_PARTS  8                          /* of a cell, so that a jump inside of it shows */
#define MODEL_SEEN   460                        /* cells: ln(2^63)/ln(1.1), rounded up */
#define MODEL_CELLS  (MODEL_SEEN * MODEL_PARTS) /* parts of cells */
#define MODEL_WEIGHT 1e12                       /* the largest weight of one part */
#define MODEL_POINTS 960                        /* the most points of the fitted cost */

typedef struct model_cell {
	double items, cost; /* weighted means of the observations in the cell, or its part */
	double weight;      /* 0: empty */
	double spread;      /* weighted mean square of the relative error of cost/items */
} model_cell;

struct hetpart_model {
	model_cell cell[MODEL_CELLS];
};

/* Return the part of a cell for a number of items >= 1. */
size_t part_model_cell(double items);

/* Add a mean with its weight (> 0) to another, which may be empty. */
void part_cell_merge(model_cell *c, const model_cell *more);

/* Smooth n <= MODEL_SEEN cells, which have a cost and are in order of items. Put points of the
 * averaged curves into out[MODEL_POINTS], and return their number. */
size_t part_model_smooth(const model_cell *cell, size_t n, model_cell *out);

#endif
