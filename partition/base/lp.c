/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lp.c - linear programmes through GLPK. Everything GLPK would abort on (counts below 1, double
 * entries, NaN) is kept from it by the callers' construction and the checks here.
 * May not touch: what the programmes mean. Costs what the simplex method costs. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>

#include "lp.h"

static int say_nothing(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
	return 1;
}

static void leave(void *ctx)
{
	longjmp(*(jmp_buf *)ctx, 1);
}

hetpart_status part_lp_guard(struct lp *lp, lp_fn *fn, void *ctx, hetpart_err *err)
{
	jmp_buf back;
	hetpart_status rc;

	int was = glp_init_env();
	if (was > 1)
		return part_fail(err, HETPART_ENOMEM, "no memory for the solver");
	lp->ours = was == 0;
	glp_term_hook(say_nothing, NULL);
	glp_error_hook(leave, &back);
	if (setjmp(back) != 0) {
		glp_free_env(); /* hooks and problems with it */
		lp->prob = NULL;
		lp->begun = lp->ours = false;
		return part_fail(err, HETPART_ENOMEM, "the solver has no memory left");
	}
	rc = fn(ctx, err);
	glp_error_hook(NULL, NULL);
	glp_term_hook(NULL, NULL);
	return rc;
}

hetpart_status part_lp_open(struct lp *lp, size_t rows, size_t cols, size_t nonzeros,
			    hetpart_err *err)
{
	lp->term_was = glp_term_out(GLP_OFF);
	lp->begun = true;
	if (rows > 100000000 || cols > 100000000 || nonzeros > 500000000)
		return part_fail(err, HETPART_ENOMEM,
				 "a linear programme of %zu rows and %zu columns is too large",
				 rows, cols);
	lp->room = (int)nonzeros;
	lp->row = part_calloc(nonzeros + 1, sizeof *lp->row);
	lp->col = part_calloc(nonzeros + 1, sizeof *lp->col);
	lp->val = part_calloc(nonzeros + 1, sizeof *lp->val);
	if (!lp->row || !lp->col || !lp->val)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu coefficients", nonzeros);
	lp->prob = glp_create_prob();
	glp_set_obj_dir(lp->prob, GLP_MIN);
	glp_add_rows(lp->prob, (int)rows);
	glp_add_cols(lp->prob, (int)cols);
	for (int j = 1; j <= (int)cols; j++)
		glp_set_col_bnds(lp->prob, j, GLP_LO, 0, 0);
	return HETPART_OK;
}

void part_lp_close(struct lp *lp)
{
	if (lp->prob)
		glp_delete_prob(lp->prob);
	free(lp->row);
	free(lp->col);
	free(lp->val);
	if (lp->ours)
		glp_free_env();
	else if (lp->begun)
		glp_term_out(lp->term_was);
}

void part_lp_put(struct lp *lp, size_t row, size_t col, double val)
{
	if (val == 0 || lp->n >= lp->room)
		return;
	lp->n++;
	lp->row[lp->n] = (int)row + 1;
	lp->col[lp->n] = (int)col + 1;
	lp->val[lp->n] = val;
}

void part_lp_equal(struct lp *lp, size_t row, double value)
{
	glp_set_row_bnds(lp->prob, (int)row + 1, GLP_FX, value, value);
}

void part_lp_least(struct lp *lp, size_t row, double value)
{
	glp_set_row_bnds(lp->prob, (int)row + 1, GLP_LO, value, 0);
}

static hetpart_status verdict(int rc, int status, const struct budget *budget, hetpart_err *err)
{
	if (rc == GLP_ETMLIM)
		return part_fail(err, budget->why, "the linear programme was stopped");
	if (rc == GLP_ENOPFS || (rc == 0 && status == GLP_NOFEAS))
		return part_fail(err, HETPART_ENOSOL, "the linear programme has no solution");
	if (rc == 0 && status == GLP_OPT)
		return HETPART_OK;
	return part_fail(err, HETPART_EINTERNAL, "the simplex method failed (%d, status %d)", rc,
			 status);
}

/* The simplex method until the budget ends. It can be stopped by time alone, so that a callback
 * wants it to pause and go on; each pause costs a new factorisation. */
static int simplex(struct lp *lp, glp_smcp *parm, struct budget *budget)
{
	double slice_s = budget->stop ? 0.05 : INFINITY;
	int rc = GLP_ETMLIM;

	while (rc == GLP_ETMLIM && !part_budget_look(budget)) {
		double limit_s = sooner(slice_s, part_budget_left_s(budget));
		parm->tm_lim = limit_s < INT_MAX / 1000 ? (int)ceil(limit_s * 1000) : INT_MAX;
		rc = glp_simplex(lp->prob, parm);
		slice_s = sooner(2 * slice_s, 1);
	}
	return rc;
}

/* The solver cannot use the basis: scale, and start again from the rows. */
static int again(struct lp *lp, glp_smcp *parm, struct budget *budget)
{
	glp_scale_prob(lp->prob, GLP_SF_GM | GLP_SF_EQ | GLP_SF_2N);
	glp_std_basis(lp->prob);
	return simplex(lp, parm, budget);
}

hetpart_status part_lp_solve(struct lp *lp, struct budget *budget, hetpart_err *err)
{
	glp_smcp parm;
	int rc;

	for (int k = 1; k <= lp->n; k++)
		if (!isfinite(lp->val[k]))
			return part_fail(err, HETPART_ERANGE,
					 "a coefficient of the linear programme is beyond range");
	glp_load_matrix(lp->prob, lp->n, lp->row, lp->col, lp->val);
	glp_init_smcp(&parm);
	parm.msg_lev = GLP_MSG_OFF;
	rc = simplex(lp, &parm, budget);
	if (rc == GLP_EBADB || rc == GLP_ESING || rc == GLP_ECOND || rc == GLP_EFAIL)
		rc = again(lp, &parm, budget);
	return verdict(rc, glp_get_status(lp->prob), budget, err);
}

bool part_lp_feasible(const struct lp *lp)
{
	return glp_get_prim_stat(lp->prob) == GLP_FEAS;
}

double part_lp_value(const struct lp *lp, size_t col)
{
	return glp_get_col_prim(lp->prob, (int)col + 1);
}
