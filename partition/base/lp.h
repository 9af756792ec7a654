/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lp.h - linear programmes. Coefficients are collected as triplets (row, column, value). Solving
 * prints nothing. The caller chooses units in which coefficients are near 1. Not installed. */
#ifndef LP_H
#define LP_H

#include "part.h"

typedef struct part_lp {
	struct lp_solver *solver; /* private to lp.c */
	int *row, *col;           /* triplets, in entries 1 to n; rows and columns from 1 */
	double *val;
	int n, room; /* triplets used, allocated */
} part_lp;

/* Load the solver and call fn(ctx, err), which may call the functions below on lp. The caller
 * zeroes *lp first. Return HETPART_EMISSING if no solver is installed, otherwise the result of fn.
 * When memory is out, GLPK would print and abort; instead this returns HETPART_ENOMEM, and all GLPK
 * objects of this thread are freed. Always call part_lp_close() afterwards. */
typedef hetpart_status part_lp_fn(void *ctx, hetpart_err *err);
hetpart_status part_lp_guard(part_lp *lp, part_lp_fn *fn, void *ctx, hetpart_err *err);

/* Create a programme that minimises its objective. It has rows and cols, each at least 1, and at
 * most nonzeros coefficients. At first columns are >= 0, and rows have no bounds. */
hetpart_status part_lp_open(part_lp *lp, size_t rows, size_t cols, size_t nonzeros,
			    hetpart_err *err);
void part_lp_close(part_lp *lp);

/* Add the coefficient of column col in row row, both counted from 0. Zeros are omitted. */
void part_lp_put(part_lp *lp, size_t row, size_t col, double val);

/* Require that a row is equal to value, or at least value. */
void part_lp_equal(part_lp *lp, size_t row, double value);
void part_lp_least(part_lp *lp, size_t row, double value);

/* Require low <= column <= high. Each bound may be infinite; equal bounds fix the column. */
void part_lp_bounds(part_lp *lp, size_t col, double low, double high);

/* Set the coefficient of a column in the objective; the default is 0. */
void part_lp_objective(part_lp *lp, size_t col, double coef);

/* Choose the state of a row or a column in the starting basis: basic, or at its lower, upper or
 * fixed bound. By default all rows are basic and all columns are at their lower bounds. */
typedef enum part_lp_place { LP_BASIC, LP_LOW, LP_HIGH, LP_FIXED } part_lp_place;
void part_lp_place_row(part_lp *lp, size_t row, part_lp_place place);
void part_lp_place_col(part_lp *lp, size_t col, part_lp_place place);

/* Solve by the primal simplex method from the basis that was set. Failures: HETPART_ETIME or
 * HETPART_ECANCEL if the budget ends; HETPART_ENOSOL: there is no solution; HETPART_ERANGE: a
 * coefficient is not finite; HETPART_EINTERNAL: the solver gave up. */
hetpart_status part_lp_solve(part_lp *lp, part_budget *budget, hetpart_err *err);

/* Return whether the values satisfy all constraints, even if they are not optimal. */
bool part_lp_feasible(const part_lp *lp);

/* Return the value of column col, counted from 0. */
double part_lp_value(const part_lp *lp, size_t col);

#endif
