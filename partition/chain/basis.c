/* SPDX-License-Identifier: GPL-3.0-or-later */
/* basis.c - a starting basis from a schedule: dates are basic, each held by the row that
 * gives it; fractions sit at the bound that is their value; one fraction of each load is basic for
 * the sum. Triangular in time, and feasible. May not touch: coefficients. Costs O(columns). */
#include "programme.h"

static void column(struct programme *pg, size_t col, int status)
{
	glp_set_col_stat(pg->lp.prob, (int)col + 1, status);
}

static void dates(struct programme *pg)
{
	size_t first = col_dates(pg), last = col_makespan(pg);

	for (int r = 1; r <= glp_get_num_rows(pg->lp.prob); r++)
		glp_set_row_stat(pg->lp.prob, r, GLP_BS);
	for (size_t col = first; col <= last; col++) {
		size_t row = pg->giver[col - first];
		column(pg, col, row == SIZE_MAX ? GLP_NL : GLP_BS);
		if (row != SIZE_MAX)
			glp_set_row_stat(pg->lp.prob, (int)row + 1, GLP_NL);
	}
}

/* Bounds and places of the fractions; the largest of each load is left to its sum. */
static void fractions(struct programme *pg)
{
	const hetpart_schedule *sd = pg->sd;

	for (size_t n = 0; n < sd->nloads; n++)
		for (size_t k = sd->first[n] * pg->m; k < sd->first[n + 1] * pg->m; k++) {
			double v = sd->fraction[k] * pg->unit[n * pg->m + k % pg->m];
			glp_set_col_bnds(pg->lp.prob, (int)k + 1, v > 0 ? GLP_DB : GLP_FX, 0, v);
			column(pg, k, v > 0 ? GLP_NU : GLP_NS);
			column(pg, k + pg->total * pg->m, GLP_NL);
		}
}

static void sums(struct programme *pg)
{
	const hetpart_schedule *sd = pg->sd;

	for (size_t n = 0; n < sd->nloads; n++) {
		size_t from = sd->first[n] * pg->m, to = sd->first[n + 1] * pg->m, big = from;
		for (size_t k = from; k < to; k++)
			if (sd->fraction[k] > sd->fraction[big])
				big = k;
		column(pg, big, GLP_BS);
		glp_set_row_stat(pg->lp.prob, (int)n + 1, GLP_NS);
	}
}

void part_ch_basis(struct programme *pg)
{
	dates(pg);
	fractions(pg);
	sums(pg);
}
