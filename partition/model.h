/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model.h - the learned cost of one phase: geometric cells of observations. Internal. */
#ifndef PART_MODEL_H
#define PART_MODEL_H

#include "part.h"

#define MODEL_RATIO  1.1  /* of one cell to the next */
#define MODEL_CELLS  460  /* ln(2^63)/ln(1.1), rounded up */
#define MODEL_WEIGHT 1e12 /* of one cell, at most */
#define MODEL_POINTS 480  /* of the fitted cost, at most */

struct cell {
	double items, cost; /* weighted means of what fell into the cell */
	double weight;      /* 0: empty */
	double spread;      /* weighted mean square of the relative error of cost/items */
};

struct hetpart_model {
	struct cell cell[MODEL_CELLS];
};

/* Where a number of items >= 1 falls. */
size_t part_model_cell(double items);

/* Add a mean with its weight (> 0) to the cell it falls into. */
void part_model_pour(hetpart_model *model, const struct cell *more);

/* Smooth n cells, in order of items, all with a cost: curves on as many stretches as the data
 * justify, as points into out (MODEL_POINTS entries); returns how many. */
size_t part_model_smooth(const struct cell *cell, size_t n, struct cell *out);

#endif
