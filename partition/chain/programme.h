/* SPDX-License-Identifier: GPL-3.0-or-later */
/* programme.h - the columns and rows of the chain's linear programme, shared by its builder and its
 * starting basis. Not installed. [S3] */
#ifndef CHAIN_PROGRAMME_H
#define CHAIN_PROGRAMME_H

#include "chain.h"
#include "base/lp.h"

/* Each fraction is the sum of two columns: one from 0 to its value at the start, one above; so a
 * start that is no vertex is a basis all the same. */
struct model {
	const struct chain *ch;
	hetpart_schedule
		*sd; /* start: fractions, and their dates in units near 1; then the result */
	double limit_s;
	double *unit; /* [load][proc]: columns hold fraction times unit; 0: it must be 0 */
	struct lp lp;
	size_t m, total; /* processors, installments of all loads */
	size_t rows;     /* next row */
	size_t *giver;   /* for each date column, the row that holds it at the start; SIZE_MAX: none
			  */
};

/* Columns: fractions up to the start, fractions above, starts of messages, of computations, the
 * makespan. */
static inline size_t col_low(const struct model *mo, size_t t, size_t i)
{
	return t * mo->m + i;
}

static inline size_t col_high(const struct model *mo, size_t t, size_t i)
{
	return mo->total * mo->m + t * mo->m + i;
}

static inline size_t col_dates(const struct model *mo)
{
	return 2 * mo->total * mo->m;
}

static inline size_t col_send(const struct model *mo, size_t t, size_t i)
{
	return col_dates(mo) + t * (mo->m - 1) + i;
}

static inline size_t col_work(const struct model *mo, size_t t, size_t i)
{
	return col_dates(mo) + mo->total * (mo->m - 1) + t * mo->m + i;
}

static inline size_t col_makespan(const struct model *mo)
{
	return col_dates(mo) + mo->total * (2 * mo->m - 1);
}

/* Make the start the basis of the programme. */
void part_ch_basis(struct model *mo);

#endif
