/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lp.h - linear programmes: rows gathered as triplets, solved without a word on the terminal.
 * Units are the caller's duty: coefficients near 1. Not installed. */
#ifndef LP_H
#define LP_H

#include "budget.h"
#include "part.h"

struct lp {
	struct lp_solver *solver; /* its own */
	int *row, *col;           /* triplets, from 1 */
	double *val;
	int n, room; /* triplets used, allocated */
};

/* Load the solver and run fn(ctx, err), which may call the functions below on lp (zeroed before).
 * HETPART_EMISSING if no solver is installed. GLPK prints and aborts where it lacks memory; here
 * that ends as HETPART_ENOMEM, all of this thread's GLPK objects gone. End with part_lp_close()
 * whatever it returns. */
typedef hetpart_status lp_fn(void *ctx, hetpart_err *err);
hetpart_status part_lp_guard(struct lp *lp, lp_fn *fn, void *ctx, hetpart_err *err);

/* A programme that minimises, of rows and cols (each >= 1), columns >= 0, rows free, with room for
 * nonzeros. */
hetpart_status part_lp_open(struct lp *lp, size_t rows, size_t cols, size_t nonzeros,
			    hetpart_err *err);
void part_lp_close(struct lp *lp);

/* Coefficient of column col in row row; both from 0. Zeros are left out. */
void part_lp_put(struct lp *lp, size_t row, size_t col, double val);

/* Row = value, row >= value. */
void part_lp_equal(struct lp *lp, size_t row, double value);
void part_lp_least(struct lp *lp, size_t row, double value);

/* low <= column <= high, either of them infinite; equal: it is that. */
void part_lp_bounds(struct lp *lp, size_t col, double low, double high);

/* What a column adds to what is minimised; 0 unless said. */
void part_lp_objective(struct lp *lp, size_t col, double coef);

/* Where a row or a column is in the basis that the method begins with; all rows are basic and all
 * columns low, unless said. */
enum lp_place { LP_BASIC, LP_LOW, LP_HIGH, LP_FIXED };
void part_lp_row_place(struct lp *lp, size_t row, enum lp_place place);
void part_lp_col_place(struct lp *lp, size_t col, enum lp_place place);

/* Solve by the primal simplex method from the basis that is set (the rows, if none). HETPART_ETIME
 * or HETPART_ECANCEL at the end of the budget, HETPART_ENOSOL if there is no solution,
 * HETPART_EINTERNAL if the solver gives up. */
hetpart_status part_lp_solve(struct lp *lp, struct budget *budget, hetpart_err *err);

/* Whether the values are those of a solution, if not the best. */
bool part_lp_feasible(const struct lp *lp);

/* Value of a column, from 0. */
double part_lp_value(const struct lp *lp, size_t col);

#endif
