/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lp.c - linear programmes by GLPK. To use another solver, replace only this file. GLPK aborts on
 * counts below 1, on two entries for one coefficient, and on NaN. The callers avoid the first two;
 * part_lp_solve() refuses NaN. Must not contain: what the programmes mean. Takes the time of the
 * simplex method. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>

#include <glpk.h>

#include "lp.h"

#ifndef GLPK_SONAME
#	define GLPK_SONAME "libglpk.so.40" /* GLPK 4.62 to 5.0 */
#endif

/* The GLPK calls in use, without their prefix glp_. */
#define GLPK_CALLS(X)    \
	X(init_env)      \
	X(free_env)      \
	X(term_hook)     \
	X(term_out)      \
	X(error_hook)    \
	X(create_prob)   \
	X(delete_prob)   \
	X(set_obj_dir)   \
	X(set_obj_coef)  \
	X(add_rows)      \
	X(add_cols)      \
	X(set_row_bnds)  \
	X(set_col_bnds)  \
	X(set_row_stat)  \
	X(set_col_stat)  \
	X(load_matrix)   \
	X(scale_prob)    \
	X(std_basis)     \
	X(init_smcp)     \
	X(simplex)       \
	X(get_status)    \
	X(get_prim_stat) \
	X(get_col_prim)

typedef struct glpk {
	void *library;
#define GLPK_MEMBER(f) __typeof__(glp_##f) *f;
	GLPK_CALLS(GLPK_MEMBER)
#undef GLPK_MEMBER
} glpk;

typedef struct lp_solver {
	glpk call;
	glp_prob *prob;
	int term_was; /* GLPK's terminal setting of this thread before part_lp_open() */
	bool begun;   /* term_was is set */
	bool ours;    /* the thread did not use GLPK before: free its environment */
} lp_solver;

static int lp_discard_text(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
	return 1;
}

static void lp_leave(void *ctx)
{
	longjmp(*(jmp_buf *)ctx, 1);
}

/* Call fn with GLPK's hooks set. Where GLPK would abort, longjmp() returns to this function. */
static hetpart_status call_guarded(lp_solver *s, part_lp_fn *fn, void *ctx, hetpart_err *err)
{
	const glpk *const glp = &s->call;
	jmp_buf back;
	const int was = glp->init_env();
	if (was > 1)
		return part_fail(err, HETPART_ENOMEM, "no memory for the solver");
	s->ours = was == 0;
	glp->term_hook(lp_discard_text, NULL);
	glp->error_hook(lp_leave, &back);
	if (setjmp(back) != 0) {
		glp->free_env(); /* this also frees the hooks and problems */
		s->prob = NULL;
		s->begun = s->ours = false;
		return part_fail(err, HETPART_ENOMEM, "the solver has no memory left");
	}
	const hetpart_status rc = fn(ctx, err);
	glp->error_hook(NULL, NULL);
	glp->term_hook(NULL, NULL);
	return rc;
}

hetpart_status part_lp_guard(part_lp *lp, part_lp_fn *fn, void *ctx, hetpart_err *err)
{
	lp_solver *const s = lp->solver = part_calloc(1, sizeof *s);
	if (!s)
		return part_fail(err, HETPART_ENOMEM, "no memory for the solver");
	static const char *const files[] = { GLPK_SONAME, NULL };
#define GLPK_CALL(f) { "glp_" #f, &s->call.f },
	const part_loaded_call calls[] = { GLPK_CALLS(GLPK_CALL) };
#undef GLPK_CALL
	const hetpart_status rc =
		part_load(&s->call.library, files, calls, sizeof calls / sizeof calls[0],
			  "method lp needs GLPK, the others do not", err);
	return rc == HETPART_OK ? call_guarded(s, fn, ctx, err) : rc;
}

hetpart_status part_lp_open(part_lp *lp, size_t rows, size_t cols, size_t nonzeros,
			    hetpart_err *err)
{
	lp_solver *const s = lp->solver;
	s->term_was = s->call.term_out(GLP_OFF);
	s->begun = true;
	if (rows > 100000000 || cols > 100000000 || nonzeros > 500000000)
		return part_fail(err, HETPART_ENOMEM,
				 "a linear programme of %zu rows and %zu columns is too large",
				 rows, cols);
	lp->room = (int)nonzeros;
	if (!part_array(lp->row, nonzeros + 1) || !part_array(lp->col, nonzeros + 1) ||
	    !part_array(lp->val, nonzeros + 1))
		return part_no_memory(err, nonzeros, "coefficients");
	s->prob = s->call.create_prob();
	s->call.set_obj_dir(s->prob, GLP_MIN);
	s->call.add_rows(s->prob, (int)rows);
	s->call.add_cols(s->prob, (int)cols);
	for (int j = 1; j <= (int)cols; j++)
		s->call.set_col_bnds(s->prob, j, GLP_LO, 0, 0);
	return HETPART_OK;
}

void part_lp_close(part_lp *lp)
{
	lp_solver *const s = lp->solver;
	free(lp->row);
	free(lp->col);
	free(lp->val);
	if (!s)
		return;
	if (s->prob)
		s->call.delete_prob(s->prob);
	if (s->ours)
		s->call.free_env();
	else if (s->begun)
		s->call.term_out(s->term_was);
	part_unload(&s->call.library);
	free(s);
	lp->solver = NULL;
}

void part_lp_put(part_lp *lp, size_t row, size_t col, double val)
{
	if (val == 0 || lp->n >= lp->room)
		return;
	lp->n++;
	lp->row[lp->n] = (int)row + 1;
	lp->col[lp->n] = (int)col + 1;
	lp->val[lp->n] = val;
}

void part_lp_equal(part_lp *lp, size_t row, double value)
{
	lp->solver->call.set_row_bnds(lp->solver->prob, (int)row + 1, GLP_FX, value, value);
}

void part_lp_least(part_lp *lp, size_t row, double value)
{
	lp->solver->call.set_row_bnds(lp->solver->prob, (int)row + 1, GLP_LO, value, 0);
}

void part_lp_bounds(part_lp *lp, size_t col, double low, double high)
{
	const int type = !(high > low)     ? GLP_FX
			 : high < INFINITY ? (low > -INFINITY ? GLP_DB : GLP_UP)
					   : (low > -INFINITY ? GLP_LO : GLP_FR);
	lp->solver->call.set_col_bnds(lp->solver->prob, (int)col + 1, type, low, high);
}

void part_lp_objective(part_lp *lp, size_t col, double coef)
{
	lp->solver->call.set_obj_coef(lp->solver->prob, (int)col + 1, coef);
}

static int glpk_place(part_lp_place place)
{
	static const int as[] = {
		[LP_BASIC] = GLP_BS, [LP_LOW] = GLP_NL, [LP_HIGH] = GLP_NU, [LP_FIXED] = GLP_NS
	};
	return as[place];
}

void part_lp_place_row(part_lp *lp, size_t row, part_lp_place place)
{
	lp->solver->call.set_row_stat(lp->solver->prob, (int)row + 1, glpk_place(place));
}

void part_lp_place_col(part_lp *lp, size_t col, part_lp_place place)
{
	lp->solver->call.set_col_stat(lp->solver->prob, (int)col + 1, glpk_place(place));
}

/* Run the simplex method until it ends or the budget does; return GLPK's result. Only a time limit
 * can interrupt it, so if there is a callback, it runs for short times, between which the callback
 * is called. Each interruption costs a new factorisation. */
static int lp_simplex(lp_solver *s, glp_smcp *parm, part_budget *budget)
{
	double slice_s = budget->stop ? 0.05 : INFINITY;
	int rc = GLP_ETMLIM;
	while (rc == GLP_ETMLIM && !part_budget_check(budget)) {
		const double limit_s = min_double(slice_s, part_budget_left_s(budget));
		parm->tm_lim = limit_s < INT_MAX / 1000 ? (int)ceil(limit_s * 1000) : INT_MAX;
		rc = s->call.simplex(s->prob, parm);
		slice_s = min_double(2 * slice_s, 1);
	}
	return rc;
}

hetpart_status part_lp_solve(part_lp *lp, part_budget *budget, hetpart_err *err)
{
	lp_solver *const s = lp->solver;
	glp_smcp parm;
	for (int k = 1; k <= lp->n; k++)
		if (!isfinite(lp->val[k]))
			return part_fail(err, HETPART_ERANGE,
					 "a coefficient of the linear programme is beyond range");
	s->call.load_matrix(s->prob, lp->n, lp->row, lp->col, lp->val);
	s->call.init_smcp(&parm);
	parm.msg_lev = GLP_MSG_OFF;
	int rc = lp_simplex(s, &parm, budget);
	if (rc == GLP_EBADB || rc == GLP_ESING || rc == GLP_ECOND || rc == GLP_EFAIL) {
		/* The solver cannot use the basis: scale the programme, and start again from the
		 * default basis. */
		s->call.scale_prob(s->prob, GLP_SF_GM | GLP_SF_EQ | GLP_SF_2N);
		s->call.std_basis(s->prob);
		rc = lp_simplex(s, &parm, budget);
	}
	const int status = s->call.get_status(s->prob);
	if (rc == GLP_ETMLIM)
		return part_fail(err, budget->why, "the linear programme was stopped");
	if (rc == GLP_ENOPFS || (rc == 0 && status == GLP_NOFEAS))
		return part_fail(err, HETPART_ENOSOL, "the linear programme has no solution");
	if (rc == 0 && status == GLP_OPT)
		return HETPART_OK;
	return part_fail(err, HETPART_EINTERNAL, "the simplex method failed (%d, status %d)", rc,
			 status);
}

bool part_lp_feasible(const part_lp *lp)
{
	return lp->solver->call.get_prim_stat(lp->solver->prob) == GLP_FEAS;
}

double part_lp_value(const part_lp *lp, size_t col)
{
	return lp->solver->call.get_col_prim(lp->solver->prob, (int)col + 1);
}
