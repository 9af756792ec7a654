/* SPDX-License-Identifier: GPL-3.0-or-later */
/* programme.c - the linear programme of [S3] for given numbers of installments: constraints
 * (1)-(13) with the corrected indices, in units near 1. It starts from the schedule of method
 * SINGLEINST, which saves six of seven simplex steps. Must not contain: the final dates, which
 * part_schedule_date() computes from the fractions. Costs a simplex call with about 4 m rows per
 * installment for m processors. */
#include <math.h>
#include <stdlib.h>

#include "chain.h"
#include "base/lp.h"

/* Each fraction is the sum of two columns: the part up to its value at the start, and the part
 * above. So the start is a basis even if it is not a vertex. */
typedef struct programme {
	chain_problem *ch;
	hetpart_schedule *sd; /* the start, with its dates in units near 1; then the result */
	double *unit;         /* [load][proc]: columns are fraction times unit; 0: no fraction */
	part_lp lp;
	size_t m, total; /* processors, installments of all loads */
	size_t ended;    /* the objective depends on the ends of this load and those after it */
	size_t rows;     /* next row */
	size_t *giver;   /* the row that determines each date column at the start, or SIZE_MAX */
} programme;

/* The columns, in this order: fractions up to their values at the start, fractions above these
 * values, starts of messages, starts of computations, ends of the loads in the objective. */
static inline size_t col_low(const programme *pg, size_t t, size_t i)
{
	return t * pg->m + i;
}

static inline size_t col_high(const programme *pg, size_t t, size_t i)
{
	return pg->total * pg->m + t * pg->m + i;
}

static inline size_t col_dates(const programme *pg)
{
	return 2 * pg->total * pg->m;
}

static inline size_t col_send(const programme *pg, size_t t, size_t i)
{
	return col_dates(pg) + t * (pg->m - 1) + i;
}

static inline size_t col_work(const programme *pg, size_t t, size_t i)
{
	return col_dates(pg) + pg->total * (pg->m - 1) + t * pg->m + i;
}

static inline size_t col_end(const programme *pg, size_t n)
{
	return col_dates(pg) + pg->total * (2 * pg->m - 1) + n - pg->ended;
}

/* ------------------------------------------------------------------------------- constraints */

/* Add val times fraction i of installment t to a row, unless it is negligible against the
 * makespan. */
static void put_fraction(programme *pg, size_t row, size_t n, size_t t, size_t i, double val)
{
	const double unit = pg->unit[n * pg->m + i];
	if (!(unit > 0) || fabs(val) / unit < 1e-13)
		return;
	part_lp_put(&pg->lp, row, col_low(pg, t, i), val / unit);
	part_lp_put(&pg->lp, row, col_high(pg, t, i), val / unit);
}

/* Begin a row that requires date column `after` to be at least a date, whose terms the caller adds.
 * At the start these are `date` and `least`; if they are equal, the row determines the column. */
static size_t open_row(programme *pg, size_t after, double date, double least)
{
	const size_t row = pg->rows++;
	part_lp_put(&pg->lp, row, after, 1);
	part_lp_least(&pg->lp, row, 0);
	if (date <= least)
		pg->giver[after - col_dates(pg)] = row;
	return row;
}

/* Require column `after`, which is date at the start, to be at least the end of a message,
 * expressed by (5). The message is installment t (of load n) over link i. */
static void put_after_message(programme *pg, size_t after, double date, size_t n, size_t t,
			      size_t i)
{
	const size_t row = open_row(pg, after, date, pg->sd->comm_end[t * (pg->m - 1) + i]);
	part_lp_put(&pg->lp, row, col_send(pg, t, i), -1);
	for (size_t k = i + 1; k < pg->m; k++)
		put_fraction(pg, row, n, t, k, -pg->ch->comm[n * (pg->m - 1) + i]);
}

/* Require column `after`, which is date at the start, to be at least the end of the computation of
 * installment t (of load n) on processor i, expressed by (7). */
static void put_after_work(programme *pg, size_t after, double date, size_t n, size_t t, size_t i)
{
	const size_t row = open_row(pg, after, date, pg->sd->comp_end[t * pg->m + i]);
	part_lp_put(&pg->lp, row, col_work(pg, t, i), -1);
	put_fraction(pg, row, n, t, i, -pg->ch->comp[n * pg->m + i]);
}

/* Add the rows of installment t of load n. */
static void put_installment(programme *pg, size_t n, size_t t)
{
	const hetpart_schedule *const sd = pg->sd;
	const size_t m = pg->m, l = m - 1;
	const bool last = t + 1 == pg->total;
	for (size_t i = 0; i < l; i++) {
		put_after_message(pg, col_work(pg, t, i + 1), sd->comp_start[t * m + i + 1], n, t,
				  i); /* (6) */
		if (i + 2 < m)        /* (1) */
			put_after_message(pg, col_send(pg, t, i + 1), sd->comm_start[t * l + i + 1],
					  n, t, i);
		if (!last && i > 0) /* (2), (3) */
			put_after_message(pg, col_send(pg, t + 1, i - 1),
					  sd->comm_start[(t + 1) * l + i - 1], n, t, i);
		if (!last && m == 2)
			put_after_message(pg, col_send(pg, t + 1, 0), sd->comm_start[t + 1], n, t,
					  0);
	}
	for (size_t i = 0; i < m; i++) {
		if (!last) /* (8)-(10) */
			put_after_work(pg, col_work(pg, t + 1, i), sd->comp_start[(t + 1) * m + i],
				       n, t, i);
		if (t + 1 == sd->first[n + 1] && n >= pg->ended) /* (13), for each such load */
			put_after_work(pg, col_end(pg, n), sd->end[n], n, t, i);
	}
}

/* Use the schedule that the search starts from as the first basis of the linear programme. A date,
 * which is the end of a step, is basic if a row determines it; that row is then at its bound. A
 * fraction of a load is nonbasic, with its value as its bound. Only the largest fraction of each
 * load is basic, because the fractions of a load must sum to 1. In the order of time, the basis is
 * a triangular matrix; it is feasible. */
static void place_start(programme *pg)
{
	const hetpart_schedule *const sd = pg->sd;
	for (size_t col = col_dates(pg); col < col_end(pg, sd->nloads); col++) {
		const size_t row = pg->giver[col - col_dates(pg)];
		part_lp_place_col(&pg->lp, col, row == SIZE_MAX ? LP_LOW : LP_BASIC);
		if (row != SIZE_MAX)
			part_lp_place_row(&pg->lp, row, LP_LOW);
	}
	for (size_t n = 0; n < sd->nloads; n++) {
		const size_t from = sd->first[n] * pg->m, to = sd->first[n + 1] * pg->m;
		size_t largest = from;
		for (size_t k = from; k < to; k++) {
			const double v = sd->fraction[k] * pg->unit[n * pg->m + k % pg->m];
			part_lp_bounds(&pg->lp, k, 0, v);
			part_lp_place_col(&pg->lp, k, v > 0 ? LP_HIGH : LP_FIXED);
			part_lp_place_col(&pg->lp, k + pg->total * pg->m, LP_LOW);
			if (sd->fraction[k] > sd->fraction[largest])
				largest = k;
		}
		part_lp_place_col(&pg->lp, largest, LP_BASIC);
		part_lp_place_row(&pg->lp, n, LP_FIXED);
	}
}

/* ----------------------------------------------------------------------------------- solution */

/* Read the fractions. Values within the solver's tolerance of 0 become 0. */
static void programme_read_fractions(const programme *pg, hetpart_schedule *sd)
{
	for (size_t n = 0; n < sd->nloads; n++) {
		long double sum = 0;
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++)
			for (size_t i = 0; i < pg->m; i++) {
				const double unit = pg->unit[n * pg->m + i];
				const double x = part_lp_value(&pg->lp, col_low(pg, t, i)) +
						 part_lp_value(&pg->lp, col_high(pg, t, i));
				sum += sd->fraction[t * pg->m + i] =
					unit > 0 && x > 1e-9 ? x / unit : 0;
			}
		for (size_t k = sd->first[n] * pg->m; k < sd->first[n + 1] * pg->m; k++)
			sd->fraction[k] = (double)(sd->fraction[k] / sum);
	}
}

/* Bound the first dates from below by tau and the release dates. Set the objective: the makespan,
 * or the flow divided by the sum of weights. */
static void put_bounds_and_objective(programme *pg)
{
	const chain_problem *const ch = pg->ch;
	long double sum = 0;
	for (size_t n = 0; n < ch->nloads; n++) {
		const size_t t = pg->sd->first[n];
		for (size_t i = 0; i < pg->m && (n == 0 || i == 0); i++)
			part_lp_bounds(
				&pg->lp, col_work(pg, t, i),
				max_double(n == 0 ? ch->tau[i] : 0, i == 0 ? ch->release[n] : 0),
				INFINITY);
		if (pg->m > 1)
			part_lp_bounds(&pg->lp, col_send(pg, t, 0), ch->release[n], INFINITY);
		sum += ch->weight ? ch->weight[n] : 1;
	}
	for (size_t n = pg->ended; n < ch->nloads; n++) {
		const double weight = ch->weight ? ch->weight[n] : 1;
		part_lp_objective(&pg->lp, col_end(pg, n), ch->flow ? (double)(weight / sum) : 1);
	}
}

static hetpart_status solve_programme(void *ctx, hetpart_err *err)
{
	programme *const pg = ctx;
	const size_t m = pg->m, total = pg->total, ends = pg->sd->nloads - pg->ended;
	const size_t dates = total * (2 * m - 1) + ends;
	const size_t messages = m > 2    ? total * (m - 1) + 2 * total * (m - 2)
				: m == 2 ? 2 * total
					 : 0;
	hetpart_status rc = part_lp_open(
		&pg->lp, messages + (total - 1 + ends) * m + pg->sd->nloads,
		col_end(pg, pg->sd->nloads), total * m * (3 * m + 16) + ends * m * 4, err);
	if (rc != HETPART_OK)
		return rc;
	if (!part_array(pg->giver, dates))
		return part_no_memory(err, dates, "dates");
	for (size_t k = 0; k < dates; k++)
		pg->giver[k] = SIZE_MAX;
	pg->rows = pg->sd->nloads;
	for (size_t n = 0; n < pg->sd->nloads; n++) {
		for (size_t t = pg->sd->first[n]; t < pg->sd->first[n + 1]; t++) {
			for (size_t i = 0; i < m; i++)
				put_fraction(pg, n, n, t, i, 1); /* (12) */
			put_installment(pg, n, t);
		}
		part_lp_equal(&pg->lp, n, 1);
	}
	put_bounds_and_objective(pg);
	place_start(pg);
	rc = part_lp_solve(&pg->lp, &pg->ch->budget, err);
	if (rc == HETPART_ETIME || rc == HETPART_ECANCEL) {
		pg->sd->stopped = rc;
		if (part_lp_feasible(&pg->lp))
			programme_read_fractions(pg, pg->sd);
		return HETPART_OK; /* the start is a schedule, too */
	}
	if (rc != HETPART_OK)
		return rc;
	programme_read_fractions(pg, pg->sd);
	for (size_t n = pg->ended; n < pg->sd->nloads; n++)
		pg->sd->end[n] = part_lp_value(&pg->lp, col_end(pg, n));
	const int shift = pg->ch->shift;
	if (pg->ch->flow)
		pg->sd->planned_flow = ldexp(part_chain_flow(pg->ch, pg->sd->end, shift), shift);
	else
		pg->sd->planned = ldexp(pg->sd->end[pg->sd->nloads - 1], shift);
	return HETPART_OK;
}

/* ------------------------------------------------------------------------------------ the start */

/* Set a unit for each fraction, so that its coefficients are at most 1. If a whole load takes a
 * processor or its messages more than 1e8, the fraction is at most 1e-8, because the makespan is
 * near 1. Such a fraction has unit 0 and remains 0, which costs at most 1e-8 of the makespan. */
static void set_fraction_units(programme *pg)
{
	const chain_problem *const ch = pg->ch;
	for (size_t n = 0; n < ch->nloads; n++) {
		double sent = 1;
		for (size_t i = 0; i < ch->m; i++) {
			int by;
			if (i > 0)
				sent = max_double(sent, ch->comm[n * (ch->m - 1) + i - 1]);
			const double most = max_double(sent, ch->comp[n * ch->m + i]);
			frexp(most, &by);
			pg->unit[n * ch->m + i] = most > 1e8 ? 0 : ldexp(1, by);
		}
	}
}

/* Divide the fractions of SINGLEINST evenly among the installments. Omit fractions of unit 0. */
static hetpart_status spread_fractions(programme *pg, const hetpart_schedule *one, hetpart_err *err)
{
	hetpart_schedule *const sd = pg->sd;
	const size_t m = pg->m;
	for (size_t n = 0; n < sd->nloads; n++) {
		const double *const from = one->fraction + n * m;
		const double q = (double)(sd->first[n + 1] - sd->first[n]);
		double sum = 0;
		for (size_t i = 0; i < m; i++)
			sum += pg->unit[n * m + i] > 0 ? from[i] : 0;
		if (!(sum > 0.5))
			return part_fail(err, HETPART_EINTERNAL,
					 "load %zu has no fractions to start from", n);
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++)
			for (size_t i = 0; i < m; i++)
				sd->fraction[t * m + i] =
					pg->unit[n * m + i] > 0 ? from[i] / sum / q : 0;
	}
	return HETPART_OK;
}

uint64_t part_chain_lp_bytes(size_t total, size_t m)
{
	/* Measured with GLPK: 6 installments of 50 loads on 10 processors. A quarter is added. */
	return (UINT64_C(1) << 22) + (uint64_t)total * m * (7000 + 200 * (uint64_t)m);
}

hetpart_status part_chain_lp(chain_problem *ch, hetpart_schedule *sd, hetpart_schedule *one,
			     hetpart_err *err)
{
	programme pg = { .ch = ch, .sd = sd, .m = ch->m, .total = sd->total };
	pg.ended = ch->flow ? 0 : ch->nloads - 1;
	hetpart_status rc = part_array(pg.unit, ch->nloads * ch->m)
				    ? part_schedule_date(one, ch, false, err)
				    : part_no_memory(err, ch->nloads, "loads");
	if (rc == HETPART_OK) { /* set the start and its dates, in a unit near its makespan */
		int by;
		frexp(ldexp(one->makespan, -ch->shift), &by);
		part_chain_rescale(ch, by);
		set_fraction_units(&pg);
		chain_problem near1 = *ch;
		near1.shift = 0;
		if ((rc = spread_fractions(&pg, one, err)) == HETPART_OK)
			rc = part_schedule_date(sd, &near1, false, err);
	}
	if (rc == HETPART_OK && ch->budget.why == HETPART_OK)
		rc = part_lp_guard(&pg.lp, solve_programme, &pg, err);
	else
		sd->stopped = ch->budget.why;
	free(pg.giver);
	free(pg.unit);
	part_lp_close(&pg.lp);
	return rc;
}
