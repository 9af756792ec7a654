/* SPDX-License-Identifier: GPL-3.0-or-later */
/* basis.c - a starting basis from a schedule: dates are basic, each held by the row that
 * gives it; fractions sit at the bound that is their value; one fraction of each load is basic for
 * the sum. Triangular in time, and feasible. May not touch: coefficients. Costs O(columns). */
#include "programme.h"

static void column(struct model *mo, size_t col, int status)
{
	glp_set_col_stat(mo->lp.prob, (int)col + 1, status);
}

static void dates(struct model *mo)
{
	size_t first = col_dates(mo), last = col_makespan(mo);

	for (int r = 1; r <= glp_get_num_rows(mo->lp.prob); r++)
		glp_set_row_stat(mo->lp.prob, r, GLP_BS);
	for (size_t col = first; col <= last; col++) {
		size_t row = mo->giver[col - first];
		column(mo, col, row == SIZE_MAX ? GLP_NL : GLP_BS);
		if (row != SIZE_MAX)
			glp_set_row_stat(mo->lp.prob, (int)row + 1, GLP_NL);
	}
}

/* Bounds and places of the fractions; the largest of each load is left to its sum. */
static void fractions(struct model *mo)
{
	const hetpart_schedule *sd = mo->sd;

	for (size_t n = 0; n < sd->nloads; n++)
		for (size_t k = sd->first[n] * mo->m; k < sd->first[n + 1] * mo->m; k++) {
			double v = sd->fraction[k] * mo->unit[n * mo->m + k % mo->m];
			glp_set_col_bnds(mo->lp.prob, (int)k + 1, v > 0 ? GLP_DB : GLP_FX, 0, v);
			column(mo, k, v > 0 ? GLP_NU : GLP_NS);
			column(mo, k + mo->total * mo->m, GLP_NL);
		}
}

static void sums(struct model *mo)
{
	const hetpart_schedule *sd = mo->sd;

	for (size_t n = 0; n < sd->nloads; n++) {
		size_t from = sd->first[n] * mo->m, to = sd->first[n + 1] * mo->m, big = from;
		for (size_t k = from; k < to; k++)
			if (sd->fraction[k] > sd->fraction[big])
				big = k;
		column(mo, big, GLP_BS);
		glp_set_row_stat(mo->lp.prob, (int)n + 1, GLP_NS);
	}
}

void part_ch_basis(struct model *mo)
{
	dates(mo);
	fractions(mo);
	sums(mo);
}
