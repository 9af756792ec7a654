/* SPDX-License-Identifier: GPL-3.0-or-later */
/* programme.c - the linear programme of [S3] for given numbers of installments, constraints
 * (1)-(13) with the corrected indices, in units near 1, begun from SINGLEINST's schedule rather
 * than from nothing: some seven times fewer simplex steps. May not touch: dates (they come from the
 * replay). Costs a simplex run of about 4 m rows for each installment. */
#include <math.h>
#include <stdlib.h>

#include "programme.h"

static size_t row_count(size_t total, size_t m, size_t nloads)
{
	size_t messages = m > 2 ? total * (m - 1) + 2 * total * (m - 2) : m == 2 ? 2 * total : 0;

	return messages + total * m + nloads;
}

/* val for all of fraction i; times that vanish beside the makespan are left out. */
static void put_fraction(struct model *mo, size_t row, size_t n, size_t t, size_t i, double val)
{
	double unit = mo->unit[n * mo->m + i];

	if (!(unit > 0) || fabs(val) / unit < 1e-13)
		return;
	part_lp_put(&mo->lp, row, col_low(mo, t, i), val / unit);
	part_lp_put(&mo->lp, row, col_high(mo, t, i), val / unit);
}

/* Date column after >= row: open it; if at the start it holds with equality, it gives the date. */
static size_t open_row(struct model *mo, size_t after, double date, double least)
{
	size_t row = mo->rows++;

	part_lp_put(&mo->lp, row, after, 1);
	part_lp_least(&mo->lp, row, 0);
	if (date <= least)
		mo->giver[after - col_dates(mo)] = row;
	return row;
}

/* after, dated date, >= end of the message of installment t (of load n) over link i: (5) put in. */
static void after_message(struct model *mo, size_t after, double date, size_t n, size_t t, size_t i)
{
	size_t row = open_row(mo, after, date, mo->sd->comm_end[t * (mo->m - 1) + i]);

	part_lp_put(&mo->lp, row, col_send(mo, t, i), -1);
	for (size_t k = i + 1; k < mo->m; k++)
		put_fraction(mo, row, n, t, k, -mo->ch->comm[n * (mo->m - 1) + i]);
}

/* after, dated date, >= end of the computation of installment t on processor i: (7) put in. */
static void after_work(struct model *mo, size_t after, double date, size_t n, size_t t, size_t i)
{
	size_t row = open_row(mo, after, date, mo->sd->comp_end[t * mo->m + i]);

	part_lp_put(&mo->lp, row, col_work(mo, t, i), -1);
	put_fraction(mo, row, n, t, i, -mo->ch->comp[n * mo->m + i]);
}

static void put_messages(struct model *mo, size_t n, size_t t)
{
	const hetpart_schedule *sd = mo->sd;
	size_t m = mo->m, l = m - 1;
	bool last = t + 1 == mo->total;

	for (size_t i = 0; i + 1 < m; i++) {
		after_message(mo, col_work(mo, t, i + 1), sd->comp_start[t * m + i + 1], n, t,
			      i); /* (6) */
		if (i + 2 < m)    /* (1) */
			after_message(mo, col_send(mo, t, i + 1), sd->comm_start[t * l + i + 1], n,
				      t, i);
		if (!last && i > 0) /* (2), (3) */
			after_message(mo, col_send(mo, t + 1, i - 1),
				      sd->comm_start[(t + 1) * l + i - 1], n, t, i);
		if (!last && m == 2)
			after_message(mo, col_send(mo, t + 1, 0), sd->comm_start[t + 1], n, t, 0);
	}
}

/* (8)-(10), (13) */
static void put_work(struct model *mo, size_t n, size_t t)
{
	bool last = t + 1 == mo->total;

	for (size_t i = 0; i < mo->m; i++)
		after_work(mo, last ? col_makespan(mo) : col_work(mo, t + 1, i),
			   last ? mo->sd->makespan : mo->sd->comp_start[(t + 1) * mo->m + i], n, t,
			   i);
}

static void put_loads(struct model *mo)
{
	const hetpart_schedule *sd = mo->sd;

	mo->rows = sd->nloads;
	for (size_t n = 0; n < sd->nloads; n++) {
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++) {
			for (size_t i = 0; i < mo->m; i++)
				put_fraction(mo, n, n, t, i, 1); /* (12) */
			put_messages(mo, n, t);
			put_work(mo, n, t);
		}
		part_lp_equal(&mo->lp, n, 1);
	}
	for (size_t i = 0; i < mo->m; i++)
		glp_set_col_bnds(mo->lp.prob, (int)col_work(mo, 0, i) + 1, GLP_LO, mo->ch->tau[i],
				 0);
	glp_set_obj_coef(mo->lp.prob, (int)col_makespan(mo) + 1, 1);
}

/* Fraction i of installment t, of load n; what is within the solver's tolerance of 0 is 0. */
static double value(const struct model *mo, size_t n, size_t t, size_t i)
{
	double unit = mo->unit[n * mo->m + i];
	double x = part_lp_value(&mo->lp, col_low(mo, t, i)) +
		   part_lp_value(&mo->lp, col_high(mo, t, i));

	return unit > 0 && x > 1e-9 ? x / unit : 0;
}

static void take(const struct model *mo, hetpart_schedule *sd)
{
	for (size_t n = 0; n < sd->nloads; n++) {
		long double sum = 0;
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++)
			for (size_t i = 0; i < mo->m; i++)
				sum += sd->fraction[t * mo->m + i] = value(mo, n, t, i);
		for (size_t k = sd->first[n] * mo->m; k < sd->first[n + 1] * mo->m; k++)
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
	struct model *mo = ctx;
	size_t m = mo->m, dates = mo->total * (2 * m - 1) + 1;
	hetpart_status rc = part_lp_open(&mo->lp, row_count(mo->total, m, mo->sd->nloads),
					 col_makespan(mo) + 1, mo->total * m * (3 * m + 16), err);

	if (rc != HETPART_OK)
		return rc;
	mo->giver = part_calloc(dates, sizeof *mo->giver);
	if (!mo->giver)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu dates", dates);
	for (size_t k = 0; k < dates; k++)
		mo->giver[k] = SIZE_MAX;
	put_loads(mo);
	part_ch_basis(mo);
	rc = part_lp_solve(&mo->lp, mo->limit_s, err);
	if (rc != HETPART_OK)
		return rc;
	take(mo, mo->sd);
	mo->sd->planned = ldexp(part_lp_value(&mo->lp, col_makespan(mo)), mo->ch->shift);
	return HETPART_OK;
}

/* A unit for each fraction that makes its coefficients at most 1. Beside a makespan near 1 nobody
 * can take more than 1e-8 of a load that takes him 1e8, or that takes as long to be sent to him:
 * such fractions have unit 0 and stay 0; scaling up the rest costs 1e-8 of the makespan at most. */
static void set_units(struct model *mo)
{
	const struct chain *ch = mo->ch;

	for (size_t n = 0; n < ch->nloads; n++) {
		double sent = 1;
		for (size_t i = 0; i < ch->m; i++) {
			int by;
			if (i > 0)
				sent = fmax(sent, ch->comm[n * (ch->m - 1) + i - 1]);
			double most = fmax(sent, ch->comp[n * ch->m + i]);
			frexp(most, &by);
			mo->unit[n * ch->m + i] = most > 1e8 ? 0 : ldexp(1, by);
		}
	}
}

/* SINGLEINST's fractions without the excluded ones, divided evenly among the installments. */
static hetpart_status spread(struct model *mo, const hetpart_schedule *one, hetpart_err *err)
{
	hetpart_schedule *sd = mo->sd;
	size_t m = mo->m;

	for (size_t n = 0; n < sd->nloads; n++) {
		const double *from = one->fraction + n * m;
		double sum = 0, q = (double)(sd->first[n + 1] - sd->first[n]);
		for (size_t i = 0; i < m; i++)
			sum += mo->unit[n * m + i] > 0 ? from[i] : 0;
		if (!(sum > 0.5))
			return part_fail(err, HETPART_EINTERNAL, "load %zu has no start", n);
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++)
			for (size_t i = 0; i < m; i++)
				sd->fraction[t * m + i] =
					mo->unit[n * m + i] > 0 ? from[i] / sum / q : 0;
	}
	return HETPART_OK;
}

/* The start and its dates, in units of about its makespan. */
static hetpart_status start(struct model *mo, struct chain *ch, hetpart_err *err)
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
		set_units(mo);
		rc = spread(mo, one, err);
	}
	near1 = *ch;
	near1.shift = 0;
	if (rc == HETPART_OK)
		rc = part_sd_date(mo->sd, &near1, false, err);
	hetpart_schedule_free(one);
	return rc;
}

hetpart_status part_ch_lp(struct chain *ch, hetpart_schedule *sd, const hetpart_chain_opts *opts,
			  hetpart_err *err)
{
	struct model mo = { .ch = ch, .sd = sd, .m = ch->m, .total = sd->total };
	hetpart_status rc = part_check_bytes(part_ch_lp_bytes(sd->total, ch->m),
					     opts->max_mem_bytes, "take another method", err);

	mo.limit_s = opts->limit_s;
	mo.unit = part_calloc(ch->nloads * ch->m, sizeof *mo.unit);
	if (rc == HETPART_OK && !mo.unit)
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu loads", ch->nloads);
	if (rc == HETPART_OK)
		rc = start(&mo, ch, err);
	if (rc == HETPART_OK)
		rc = part_lp_guard(&mo.lp, solve, &mo, err);
	free(mo.giver);
	free(mo.unit);
	part_lp_close(&mo.lp);
	return rc;
}
