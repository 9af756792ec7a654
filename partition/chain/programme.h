/* SPDX-License-Identifier: GPL-3.0-or-later */
/* programme.h - the columns and rows of the chain's linear programme, shared by its builder and its
 * starting basis. Not installed. [S3] */
#ifndef CHAIN_PROGRAMME_H
#define CHAIN_PROGRAMME_H

#include "chain.h"
#include "base/lp.h"

/* Each fraction is the sum of two columns: one from 0 to its value at the start, one above; so a
 * start that is no vertex is a basis all the same. */
struct programme {
	struct chain *ch;
	hetpart_schedule
		*sd;  /* start: fractions, and their dates in units near 1; then the result */
	double *unit; /* [load][proc]: columns hold fraction times unit; 0: it must be 0 */
	struct lp lp;
	size_t m, total; /* processors, installments of all loads */
	size_t rows;     /* next row */
	size_t *giver;   /* for each date column, the row that holds it at the start; SIZE_MAX: none
			  */
};

/* Columns: fractions up to the start, fractions above, starts of messages, of computations, the
 * makespan. */
static inline size_t col_low(const struct programme *pg, size_t t, size_t i)
{
	return t * pg->m + i;
}

static inline size_t col_high(const struct programme *pg, size_t t, size_t i)
{
	return pg->total * pg->m + t * pg->m + i;
}

static inline size_t col_dates(const struct programme *pg)
{
	return 2 * pg->total * pg->m;
}

static inline size_t col_send(const struct programme *pg, size_t t, size_t i)
{
	return col_dates(pg) + t * (pg->m - 1) + i;
}

static inline size_t col_work(const struct programme *pg, size_t t, size_t i)
{
	return col_dates(pg) + pg->total * (pg->m - 1) + t * pg->m + i;
}

static inline size_t col_makespan(const struct programme *pg)
{
	return col_dates(pg) + pg->total * (2 * pg->m - 1);
}

/* Make the start the basis of the programme. */
void part_ch_basis(struct programme *pg);

#endif
