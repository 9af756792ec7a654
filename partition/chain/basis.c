/* SPDX-License-Identifier: GPL-3.0-or-later */
/* basis.c - a starting basis from a schedule: dates are basic, each held by the row that
 * gives it; fractions sit at the bound that is their value; one fraction of each load is basic for
 * the sum. Triangular in time, and feasible. May not touch: coefficients. Costs O(columns). */
#include "programme.h"

static void dates(struct programme *pg)
{
	size_t first = col_dates(pg), last = col_makespan(pg);

	for (size_t col = first; col <= last; col++) {
		size_t row = pg->giver[col - first];
		part_lp_col_place(&pg->lp, col, row == SIZE_MAX ? LP_LOW : LP_BASIC);
		if (row != SIZE_MAX)
			part_lp_row_place(&pg->lp, row, LP_LOW);
	}
}

/* Bounds and places of the fractions; the largest of each load is left to its sum. */
static void fractions(struct programme *pg)
{
	const hetpart_schedule *sd = pg->sd;

	for (size_t n = 0; n < sd->nloads; n++)
		for (size_t k = sd->first[n] * pg->m; k < sd->first[n + 1] * pg->m; k++) {
			double v = sd->fraction[k] * pg->unit[n * pg->m + k % pg->m];
			part_lp_bounds(&pg->lp, k, 0, v);
			part_lp_col_place(&pg->lp, k, v > 0 ? LP_HIGH : LP_FIXED);
			part_lp_col_place(&pg->lp, k + pg->total * pg->m, LP_LOW);
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
		part_lp_col_place(&pg->lp, big, LP_BASIC);
		part_lp_row_place(&pg->lp, n, LP_FIXED);
	}
}

void part_ch_basis(struct programme *pg)
{
	dates(pg);
	fractions(pg);
	sums(pg);
}
