/* SPDX-License-Identifier: GPL-3.0-or-later */
/* programme.c - the linear programme of [S3] for given numbers of installments, constraints
 * (1)-(13) with the corrected indices, in units near 1, begun from SINGLEINST's schedule rather
 * than from nothing: some seven times fewer simplex steps. May not touch: dates (they come from the
 * replay). Costs a simplex run of about 4 m rows for each installment. */
#include <math.h>
#include <stdlib.h>

#include "chain.h"
#include "base/lp.h"

/* Each fraction is the sum of two columns: one from 0 to its value at the start, one above; so a
 * start that is no vertex is a basis all the same. */
struct programme {
	struct chain *ch;
	hetpart_schedule
		*sd;  /* start: fractions, and their dates in units near 1; then the result */
	double *unit; /* [load][proc]: columns hold fraction times unit; 0: it must be 0 */
	part_lp lp;
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
static void part_ch_basis(struct programme *pg);

static size_t row_count(size_t total, size_t m, size_t nloads)
{
	size_t messages = m > 2 ? total * (m - 1) + 2 * total * (m - 2) : m == 2 ? 2 * total : 0;

	return messages + total * m + nloads;
}

/* val for all of fraction i; times that vanish beside the makespan are left out. */
static void put_fraction(struct programme *pg, size_t row, size_t n, size_t t, size_t i, double val)
{
	double unit = pg->unit[n * pg->m + i];

	if (!(unit > 0) || fabs(val) / unit < 1e-13)
		return;
	part_lp_put(&pg->lp, row, col_low(pg, t, i), val / unit);
	part_lp_put(&pg->lp, row, col_high(pg, t, i), val / unit);
}

/* Date column after >= row: open it; if at the start it holds with equality, it gives the date. */
static size_t open_row(struct programme *pg, size_t after, double date, double least)
{
	size_t row = pg->rows++;

	part_lp_put(&pg->lp, row, after, 1);
	part_lp_least(&pg->lp, row, 0);
	if (date <= least)
		pg->giver[after - col_dates(pg)] = row;
	return row;
}

/* after, dated date, >= end of the message of installment t (of load n) over link i: (5) put in. */
static void after_message(struct programme *pg, size_t after, double date, size_t n, size_t t,
			  size_t i)
{
	size_t row = open_row(pg, after, date, pg->sd->comm_end[t * (pg->m - 1) + i]);

	part_lp_put(&pg->lp, row, col_send(pg, t, i), -1);
	for (size_t k = i + 1; k < pg->m; k++)
		put_fraction(pg, row, n, t, k, -pg->ch->comm[n * (pg->m - 1) + i]);
}

/* after, dated date, >= end of the computation of installment t on processor i: (7) put in. */
static void after_work(struct programme *pg, size_t after, double date, size_t n, size_t t,
		       size_t i)
{
	size_t row = open_row(pg, after, date, pg->sd->comp_end[t * pg->m + i]);

	part_lp_put(&pg->lp, row, col_work(pg, t, i), -1);
	put_fraction(pg, row, n, t, i, -pg->ch->comp[n * pg->m + i]);
}

static void put_messages(struct programme *pg, size_t n, size_t t)
{
	const hetpart_schedule *sd = pg->sd;
	size_t m = pg->m, l = m - 1;
	bool last = t + 1 == pg->total;

	for (size_t i = 0; i + 1 < m; i++) {
		after_message(pg, col_work(pg, t, i + 1), sd->comp_start[t * m + i + 1], n, t,
			      i); /* (6) */
		if (i + 2 < m)    /* (1) */
			after_message(pg, col_send(pg, t, i + 1), sd->comm_start[t * l + i + 1], n,
				      t, i);
		if (!last && i > 0) /* (2), (3) */
			after_message(pg, col_send(pg, t + 1, i - 1),
				      sd->comm_start[(t + 1) * l + i - 1], n, t, i);
		if (!last && m == 2)
			after_message(pg, col_send(pg, t + 1, 0), sd->comm_start[t + 1], n, t, 0);
	}
}

/* (8)-(10), (13) */
static void put_work(struct programme *pg, size_t n, size_t t)
{
	bool last = t + 1 == pg->total;

	for (size_t i = 0; i < pg->m; i++)
		after_work(pg, last ? col_makespan(pg) : col_work(pg, t + 1, i),
			   last ? pg->sd->makespan : pg->sd->comp_start[(t + 1) * pg->m + i], n, t,
			   i);
}

static void put_loads(struct programme *pg)
{
	const hetpart_schedule *sd = pg->sd;

	pg->rows = sd->nloads;
	for (size_t n = 0; n < sd->nloads; n++) {
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++) {
			for (size_t i = 0; i < pg->m; i++)
				put_fraction(pg, n, n, t, i, 1); /* (12) */
			put_messages(pg, n, t);
			put_work(pg, n, t);
		}
		part_lp_equal(&pg->lp, n, 1);
	}
	for (size_t i = 0; i < pg->m; i++)
		part_lp_bounds(&pg->lp, col_work(pg, 0, i), pg->ch->tau[i], INFINITY);
	part_lp_objective(&pg->lp, col_makespan(pg), 1);
}

/* Fraction i of installment t, of load n; what is within the solver's tolerance of 0 is 0. */
static double value(const struct programme *pg, size_t n, size_t t, size_t i)
{
	double unit = pg->unit[n * pg->m + i];
	double x = part_lp_value(&pg->lp, col_low(pg, t, i)) +
		   part_lp_value(&pg->lp, col_high(pg, t, i));

	return unit > 0 && x > 1e-9 ? x / unit : 0;
}

static void take(const struct programme *pg, hetpart_schedule *sd)
{
	for (size_t n = 0; n < sd->nloads; n++) {
		long double sum = 0;
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++)
			for (size_t i = 0; i < pg->m; i++)
				sum += sd->fraction[t * pg->m + i] = value(pg, n, t, i);
		for (size_t k = sd->first[n] * pg->m; k < sd->first[n + 1] * pg->m; k++)
			sd->fraction[k] = (double)(sd->fraction[k] / sum);
	}
}

/* Measured: what GLPK takes for 6 installments of 50 loads on 10 processors, and a quarter more. */
uint64_t part_ch_lp_bytes(size_t total, size_t m)
{
	return (UINT64_C(1) << 22) + (uint64_t)total * m * (7000 + 200 * (uint64_t)m);
}

static hetpart_status solve(void *ctx, hetpart_err *err)
{
	struct programme *pg = ctx;
	size_t m = pg->m, dates = pg->total * (2 * m - 1) + 1;
	hetpart_status rc = part_lp_open(&pg->lp, row_count(pg->total, m, pg->sd->nloads),
					 col_makespan(pg) + 1, pg->total * m * (3 * m + 16), err);

	if (rc != HETPART_OK)
		return rc;
	pg->giver = part_calloc(dates, sizeof *pg->giver);
	if (!pg->giver)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu dates", dates);
	for (size_t k = 0; k < dates; k++)
		pg->giver[k] = SIZE_MAX;
	put_loads(pg);
	part_ch_basis(pg);
	rc = part_lp_solve(&pg->lp, &pg->ch->budget, err);
	if (rc == HETPART_ETIME || rc == HETPART_ECANCEL) {
		pg->sd->stopped = rc;
		if (part_lp_feasible(&pg->lp))
			take(pg, pg->sd);
		return HETPART_OK; /* what it began with is a schedule, too */
	}
	if (rc != HETPART_OK)
		return rc;
	take(pg, pg->sd);
	pg->sd->planned = ldexp(part_lp_value(&pg->lp, col_makespan(pg)), pg->ch->shift);
	return HETPART_OK;
}

/* A unit for each fraction that makes its coefficients at most 1. Beside a makespan near 1 nobody
 * can take more than 1e-8 of a load that takes him 1e8, or that takes as long to be sent to him:
 * such fractions have unit 0 and stay 0; scaling up the rest costs 1e-8 of the makespan at most. */
static void set_units(struct programme *pg)
{
	const struct chain *ch = pg->ch;

	for (size_t n = 0; n < ch->nloads; n++) {
		double sent = 1;
		for (size_t i = 0; i < ch->m; i++) {
			int by;
			if (i > 0)
				sent = max_double(sent, ch->comm[n * (ch->m - 1) + i - 1]);
			double most = max_double(sent, ch->comp[n * ch->m + i]);
			frexp(most, &by);
			pg->unit[n * ch->m + i] = most > 1e8 ? 0 : ldexp(1, by);
		}
	}
}

/* SINGLEINST's fractions without the excluded ones, divided evenly among the installments. */
static hetpart_status spread(struct programme *pg, const hetpart_schedule *one, hetpart_err *err)
{
	hetpart_schedule *sd = pg->sd;
	size_t m = pg->m;

	for (size_t n = 0; n < sd->nloads; n++) {
		const double *from = one->fraction + n * m;
		double sum = 0, q = (double)(sd->first[n + 1] - sd->first[n]);
		for (size_t i = 0; i < m; i++)
			sum += pg->unit[n * m + i] > 0 ? from[i] : 0;
		if (!(sum > 0.5))
			return part_fail(err, HETPART_EINTERNAL, "load %zu has no start", n);
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++)
			for (size_t i = 0; i < m; i++)
				sd->fraction[t * m + i] =
					pg->unit[n * m + i] > 0 ? from[i] / sum / q : 0;
	}
	return HETPART_OK;
}

/* The start and its dates, in units of about its makespan. */
static hetpart_status start(struct programme *pg, struct chain *ch, hetpart_err *err)
{
	hetpart_schedule *one = NULL;
	hetpart_status rc = part_sd_new(&one, ch, "", err);
	struct chain near1;
	int by;

	if (rc == HETPART_OK)
		rc = part_ch_singleinst(ch, one, err);
	if (rc == HETPART_OK)
		rc = part_sd_date(one, ch, false, err);
	if (rc == HETPART_OK) {
		frexp(ldexp(one->makespan, -ch->shift), &by);
		part_ch_rescale(ch, by);
		set_units(pg);
		rc = spread(pg, one, err);
	}
	near1 = *ch;
	near1.shift = 0;
	if (rc == HETPART_OK)
		rc = part_sd_date(pg->sd, &near1, false, err);
	hetpart_schedule_free(one);
	return rc;
}

hetpart_status part_ch_lp(struct chain *ch, hetpart_schedule *sd, hetpart_err *err)
{
	struct programme pg = { .ch = ch, .sd = sd, .m = ch->m, .total = sd->total };
	hetpart_status rc = HETPART_OK;

	if (part_ch_lp_bytes(sd->total, ch->m) > ch->budget.max_mem)
		ch->budget.why = HETPART_ENOMEM;
	pg.unit = part_calloc(ch->nloads * ch->m, sizeof *pg.unit);
	rc = pg.unit ? start(&pg, ch, err)
		     : part_fail(err, HETPART_ENOMEM, "no memory for %zu loads", ch->nloads);
	if (rc == HETPART_OK && ch->budget.why == HETPART_OK)
		rc = part_lp_guard(&pg.lp, solve, &pg, err);
	else
		sd->stopped = ch->budget.why;
	free(pg.giver);
	free(pg.unit);
	part_lp_close(&pg.lp);
	return rc;
}

/* basis.c - a starting basis from a schedule: dates are basic, each held by the row that
 * gives it; fractions sit at the bound that is their value; one fraction of each load is basic for
 * the sum. Triangular in time, and feasible. May not touch: coefficients. Costs O(columns). */

static void dates(struct programme *pg)
{
	size_t first = col_dates(pg), last = col_makespan(pg);

	for (size_t col = first; col <= last; col++) {
		size_t row = pg->giver[col - first];
		part_lp_place_col(&pg->lp, col, row == SIZE_MAX ? LP_LOW : LP_BASIC);
		if (row != SIZE_MAX)
			part_lp_place_row(&pg->lp, row, LP_LOW);
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
			part_lp_place_col(&pg->lp, k, v > 0 ? LP_HIGH : LP_FIXED);
			part_lp_place_col(&pg->lp, k + pg->total * pg->m, LP_LOW);
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
		part_lp_place_col(&pg->lp, big, LP_BASIC);
		part_lp_place_row(&pg->lp, n, LP_FIXED);
	}
}

static void part_ch_basis(struct programme *pg)
{
	dates(pg);
	fractions(pg);
	sums(pg);
}
