/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lp.h - linear programmes: rows collected as triplets, solved without any output to the terminal.
 * The caller scales its units so that coefficients are near 1. Not installed. */
#ifndef LP_H
#define LP_H

#include "part.h"

typedef struct part_lp {
	struct lp_solver *solver; /* private to lp.c */
	int *row, *col;           /* triplets, from 1 */
	double *val;
	int n, room; /* triplets used, allocated */
} part_lp;

/* Load the solver and call fn(ctx, err), which may call the functions below on lp, zeroed before.
 * Return HETPART_EMISSING if no solver is installed. GLPK prints and aborts when memory is out;
 * here that ends as HETPART_ENOMEM, and all GLPK objects of this thread are freed. Call
 * part_lp_close() whatever this returns. */
typedef hetpart_status part_lp_fn(void *ctx, hetpart_err *err);
hetpart_status part_lp_guard(part_lp *lp, part_lp_fn *fn, void *ctx, hetpart_err *err);

/* Create a programme that minimises, of rows and cols (each >= 1) with room for nonzeros. Columns
 * are >= 0, rows free. */
hetpart_status part_lp_open(part_lp *lp, size_t rows, size_t cols, size_t nonzeros,
			    hetpart_err *err);
void part_lp_close(part_lp *lp);

/* Add the coefficient of column col in row row, both from 0. Zeros are omitted. */
void part_lp_put(part_lp *lp, size_t row, size_t col, double val);

/* Demand that a row equals value, or is at least value. */
void part_lp_equal(part_lp *lp, size_t row, double value);
void part_lp_least(part_lp *lp, size_t row, double value);

/* Demand low <= column <= high. Either may be infinite; equal bounds fix the column. */
void part_lp_bounds(part_lp *lp, size_t col, double low, double high);

/* Set the coefficient of a column in the objective; the default is 0. */
void part_lp_objective(part_lp *lp, size_t col, double coef);

/* Place a row or a column in the basis that the method starts from. By default all rows are basic
 * and all columns low. */
typedef enum part_lp_place { LP_BASIC, LP_LOW, LP_HIGH, LP_FIXED } part_lp_place;
void part_lp_place_row(part_lp *lp, size_t row, part_lp_place place);
void part_lp_place_col(part_lp *lp, size_t col, part_lp_place place);

/* Solve by the primal simplex method from the basis that was set. Return HETPART_ETIME or
 * HETPART_ECANCEL at the end of the budget, HETPART_ENOSOL if there is no solution,
 * HETPART_EINTERNAL if the solver gives up. */
hetpart_status part_lp_solve(part_lp *lp, part_budget *budget, hetpart_err *err);

/* Return whether the values are a solution, though perhaps not the best. */
bool part_lp_feasible(const part_lp *lp);

/* Return the value of a column, from 0. */
double part_lp_value(const part_lp *lp, size_t col);

#endif
