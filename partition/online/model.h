/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model.h - the learned cost of one phase: geometric cells of observations. Internal. */
#ifndef PART_MODEL_H
#define PART_MODEL_H

#include "base/part.h"

#define MODEL_RATIO  1.1                        /* of one cell to the next */
#define MODEL_PARTS  8                          /* of a cell, so that a jump inside of it shows */
#define MODEL_SEEN   460                        /* ln(2^63)/ln(1.1), rounded up: cells */
#define MODEL_CELLS  (MODEL_SEEN * MODEL_PARTS) /* parts of cells */
#define MODEL_WEIGHT 1e12                       /* of one part, at most */
#define MODEL_POINTS 960                        /* of the fitted cost, at most */

struct cell {
	double items, cost; /* weighted means of what fell into the cell, or its part */
	double weight;      /* 0: empty */
	double spread;      /* weighted mean square of the relative error of cost/items */
};

struct hetpart_model {
	struct cell cell[MODEL_CELLS];
};

/* The part a number of items >= 1 falls into. */
size_t part_model_cell(double items);

/* Add a mean with its weight (> 0) to another, weight 0: none yet. */
void part_cell_merge(struct cell *c, const struct cell *more);

/* Smooth n <= MODEL_SEEN cells, in order of items, all with a cost: the average of curves on as
 * many segments as the data justify, as points into out[MODEL_POINTS]; returns their number. */
size_t part_model_smooth(const struct cell *cell, size_t n, struct cell *out);

#endif
