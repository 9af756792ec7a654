/* SPDX-License-Identifier: GPL-3.0-or-later */
/* affine_lp.c - [S0]'s linear programme for affine costs: minimise T subject to T >= sum_{j<=i}
 * link_j(x_j) + comp_i(x_i). It pays every startup, even for nothing, which the dynamic programmes
 * do not. May not touch: whole numbers. Costs a simplex run of 2 p + 1 rows. */
#include <math.h>

#include "base/lp.h"
#include "scatter.h"

/* Columns: y_i, the time of share i in units of tau; the port's time after i; T. tau = n / sum 1/c
 * with c = link + comp per item makes every coefficient at most 1. */
static size_t col_y(size_t i)
{
	return i;
}

static size_t col_port(const struct scatter *sc, size_t i)
{
	return sc->p + i;
}

static size_t col_end(const struct scatter *sc)
{
	return 2 * sc->p;
}

static double per_item(const struct scatter *sc, size_t i)
{
	return sc->link[i].per_item + sc->comp[i].per_item;
}

static void put_processor(struct lp *lp, const struct scatter *sc, size_t i, double tau, double sum)
{
	double c = per_item(sc, i);
	size_t port = 2 * i, end = 2 * i + 1;

	part_lp_put(lp, port, col_port(sc, i), 1);
	if (i > 0)
		part_lp_put(lp, port, col_port(sc, i - 1), -1);
	part_lp_put(lp, port, col_y(i), -sc->link[i].per_item / c);
	part_lp_equal(lp, port, sc->link[i].startup / tau);
	part_lp_put(lp, end, col_end(sc), 1);
	part_lp_put(lp, end, col_port(sc, i), -1);
	part_lp_put(lp, end, col_y(i), -sc->comp[i].per_item / c);
	part_lp_least(lp, end, sc->comp[i].startup / tau);
	part_lp_put(lp, 2 * sc->p, col_y(i), 1 / c / sum);
}

/* Begin where the linear parts alone have their optimum: those with a share end together. For
 * linear costs that is the optimum already. */
static void set_basis(struct lp *lp, const struct scatter *sc)
{
	for (size_t i = 0; i < sc->p; i++) {
		bool kept = sc->plan->real[i] > 0;
		glp_set_col_stat(lp->prob, (int)col_y(i) + 1, kept ? GLP_BS : GLP_NL);
		glp_set_col_stat(lp->prob, (int)col_port(sc, i) + 1, GLP_BS);
		glp_set_row_stat(lp->prob, (int)(2 * i) + 1, GLP_NS);
		glp_set_row_stat(lp->prob, (int)(2 * i) + 2, kept ? GLP_NL : GLP_BS);
	}
	glp_set_col_stat(lp->prob, (int)col_end(sc) + 1, GLP_BS);
	glp_set_row_stat(lp->prob, (int)(2 * sc->p) + 1, GLP_NS);
}

struct affine_lp {
	struct scatter *sc;
	struct lp lp;
	double sum; /* of 1/c */
};

static hetpart_status solve(void *ctx, hetpart_err *err)
{
	struct affine_lp *alp = ctx;
	struct scatter *sc = alp->sc;
	double tau = (double)sc->n / alp->sum;
	size_t rows = 2 * sc->p + 1;
	hetpart_status rc = part_lp_open(&alp->lp, rows, rows, 7 * sc->p, err);

	if (rc != HETPART_OK)
		return rc;
	for (size_t i = 0; i < sc->p; i++)
		put_processor(&alp->lp, sc, i, tau, alp->sum);
	part_lp_equal(&alp->lp, 2 * sc->p, 1);
	glp_set_obj_coef(alp->lp.prob, (int)col_end(sc) + 1, 1);
	part_sc_linear(sc, sc->plan->real);
	set_basis(&alp->lp, sc);
	rc = part_lp_solve(&alp->lp, 0, err);
	for (size_t i = 0; rc == HETPART_OK && i < sc->p; i++)
		sc->plan->real[i] =
			later(0, part_lp_value(&alp->lp, col_y(i))) * (tau / per_item(sc, i));
	return rc;
}

/* Make the shares sum to n to the last digit a double has. */
static void normalise(struct scatter *sc)
{
	long double sum = 0;

	for (size_t i = 0; i < sc->p; i++)
		sum += sc->plan->real[i];
	for (size_t i = 0; i < sc->p && sum > 0; i++)
		sc->plan->real[i] = (double)(sc->plan->real[i] * (sc->n / sum));
}

hetpart_status part_sc_lp(struct scatter *sc, hetpart_err *err)
{
	struct affine_lp alp = { .sc = sc };
	hetpart_status rc = HETPART_OK;

	if (!sc->affine)
		return part_fail(err, HETPART_EINVAL, "the method needs affine costs");
	sc->plan->method = "lp";
	for (size_t i = 0; i < sc->p; i++)
		alp.sum += 1 / per_item(sc, i);
	if (sc->n == 0 || !isfinite(alp.sum)) /* a processor takes any number in no time */
		part_sc_linear(sc, sc->plan->real);
	else
		rc = part_lp_guard(&alp.lp, solve, &alp, err);
	part_lp_close(&alp.lp);
	if (rc != HETPART_OK)
		return rc;
	normalise(sc);
	sc->plan->real_makespan = ldexp(part_sc_real_ends(sc, true), sc->shift);
	return part_sc_round(sc->plan->share, sc->n, sc->plan->real, sc->p, err);
}
