/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table.h - the frame of the dynamic programmes over all amounts 0 .. n: tables of one
 * processor's costs, the row of those after it, and the choices. Not installed. */
#ifndef SCATTER_TABLE_H
#define SCATTER_TABLE_H

#include "scatter.h"

struct sc_table {
	size_t n;                  /* amounts 0 .. n of this row are of interest */
	const double *link, *comp; /* n + 1 entries: this processor's times */
	const double *next;        /* n + 1 entries: best time of the processors after it */
	double link_per_item;      /* affine links */
	uint32_t *scratch;         /* n + 1 entries */
	struct budget *budget;
};

/* Fill in choice[d] and row[d], d = 0 .. n, from the table; may leave off when the budget is at its
 * end. */
typedef void sc_row_fn(const struct sc_table *t, uint32_t *choice, double *row);

/* The best e for d items by looking at all of them, for any costs; *best is its time. */
uint32_t part_sc_table_one(const struct sc_table *t, size_t d, double *best);

/* The same for all d: [S0] Algorithm 1. */
sc_row_fn part_sc_row_any;

/* Run the programme from the root backwards, read the shares off the choices, set the plan.
 * bounded: costs are increasing, so the rows go no further than what a first plan shows to be of
 * use. If the budget does not suffice, the plan is that of multires.c, or, where costs are not
 * increasing, of tables in which shares are whole blocks. */
hetpart_status part_sc_table_run(struct scatter *sc, sc_row_fn *row, bool bounded,
				 hetpart_err *err);

#endif
