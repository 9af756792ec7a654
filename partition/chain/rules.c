/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rules.c - a chain problem checked and brought to units near 1, and the step by which an
 * installment moves down the chain. May not touch: how fractions are found. Costs O(loads m). */
#include <math.h>
#include <stdlib.h>

#include "chain.h"

static hetpart_status check_array(const double *v, size_t n, const char *name, bool positive,
				  hetpart_err *err)
{
	if (!v && n > 0)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", name);
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]) || v[i] < 0 || (positive && v[i] == 0))
			return part_fail(err, HETPART_EINVAL,
					 "%s[%zu] is '%g': must be a finite number%s", name, i,
					 v[i], positive ? " above 0" : ", 0 or more");
	return HETPART_OK;
}

static hetpart_status check_counts(const hetpart_chain *c, hetpart_err *err)
{
	size_t total = 0;

	if (c->nprocs == 0 || c->nloads == 0)
		return part_fail(err, HETPART_EINVAL, "'0' %s: want at least 1",
				 c->nprocs ? "loads" : "processors");
	for (size_t n = 0; n < c->nloads && total <= CHAIN_DATES_MAX; n++) {
		size_t q = c->installments ? c->installments[n] : 1;
		if (q == 0)
			return part_fail(err, HETPART_EINVAL,
					 "load %zu has '0' installments: want at least 1", n);
		total = q > CHAIN_DATES_MAX ? q : total + q;
	}
	if (c->nprocs > CHAIN_DATES_MAX || total > CHAIN_DATES_MAX / c->nprocs)
		return part_fail(err, HETPART_ERANGE, "more than %d fractions are not possible",
				 CHAIN_DATES_MAX);
	return HETPART_OK;
}

hetpart_status part_ch_check(hetpart_chain *c, const hetpart_chain *given, hetpart_err *err)
{
	if (!given)
		return part_fail(err, HETPART_EINVAL, "'chain' is NULL");
	*c = (hetpart_chain)HETPART_CHAIN_INIT;
	if (part_opts_copy(c, PART_END_OF(hetpart_chain, installments), sizeof *c, given, err) !=
	    HETPART_OK)
		return HETPART_EINVAL;
	hetpart_status rc = check_counts(c, err);
	if (rc == HETPART_OK)
		rc = check_array(c->w, c->nprocs, "w", true, err);
	if (rc == HETPART_OK)
		rc = check_array(c->z, c->nprocs - 1, "z", false, err);
	if (rc == HETPART_OK && c->tau)
		rc = check_array(c->tau, c->nprocs, "tau", false, err);
	if (rc == HETPART_OK && c->latency)
		rc = check_array(c->latency, c->nprocs - 1, "latency", false, err);
	if (rc == HETPART_OK)
		rc = check_array(c->vcomm, c->nloads, "vcomm", false, err);
	if (rc == HETPART_OK)
		rc = check_array(c->vcomp, c->nloads, "vcomp", true, err);
	return rc;
}

static hetpart_status allocate(struct chain *ch, bool latency, hetpart_err *err)
{
	size_t cells = ch->m * ch->nloads; /* at most CHAIN_DATES_MAX */

	ch->comp = part_calloc(cells, sizeof *ch->comp);
	ch->comm = part_calloc(cells, sizeof *ch->comm);
	ch->tau = part_calloc(ch->m, sizeof *ch->tau);
	ch->speed = part_calloc(ch->m, sizeof *ch->speed);
	if (latency)
		ch->latency = part_calloc(ch->m, sizeof *ch->latency);
	if (ch->comp && ch->comm && ch->tau && ch->speed && (ch->latency || !latency))
		return HETPART_OK;
	return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors and %zu loads", ch->m,
			 ch->nloads);
}

/* 2^shift is near the time in which all processors together compute all loads. */
static void set_shift(struct chain *ch, const hetpart_chain *c)
{
	long double speed = 0, work = 0, begin = INFINITY;

	for (size_t i = 0; i < ch->m; i++) {
		speed += 1 / (long double)c->w[i];
		begin = fminl(begin, c->tau ? c->tau[i] : 0);
	}
	for (size_t n = 0; n < ch->nloads; n++)
		work += c->vcomp[n];
	frexpl(work / speed + begin, &ch->shift);
	for (size_t i = 0; i < ch->m; i++)
		ch->speed[i] = (double)(1 / (long double)c->w[i] / speed);
}

static hetpart_status fill_in(struct chain *ch, const hetpart_chain *c, hetpart_err *err)
{
	long double unit = ldexpl(1, -ch->shift);
	double most = 0;

	for (size_t n = 0; n < ch->nloads; n++) {
		for (size_t i = 0; i < ch->m; i++)
			ch->comp[n * ch->m + i] = (double)(c->vcomp[n] * unit * c->w[i]);
		for (size_t i = 0; i + 1 < ch->m; i++)
			ch->comm[n * (ch->m - 1) + i] = (double)(c->vcomm[n] * unit * c->z[i]);
	}
	for (size_t i = 0; i < ch->m; i++)
		ch->tau[i] = c->tau ? (double)(c->tau[i] * unit) : 0;
	for (size_t i = 0; ch->latency && i + 1 < ch->m; i++)
		ch->latency[i] = (double)(c->latency[i] * unit);
	for (size_t k = 0; k < ch->m * ch->nloads; k++)
		most = max_double(most, max_double(ch->comp[k], ch->comm[k]));
	if (most <= 0x1p900)
		return HETPART_OK;
	return part_fail(err, HETPART_ERANGE, "the times differ beyond the range of a double");
}

hetpart_status part_ch_init(struct chain *ch, const hetpart_chain *given, hetpart_err *err)
{
	hetpart_chain c;
	hetpart_status rc;

	*ch = (struct chain){ 0 };
	if ((rc = part_ch_check(&c, given, err)) != HETPART_OK)
		return rc;
	ch->m = c.nprocs;
	ch->nloads = c.nloads;
	ch->given = c.installments;
	if ((rc = allocate(ch, c.latency, err)) != HETPART_OK)
		return rc;
	set_shift(ch, &c);
	return fill_in(ch, &c, err);
}

void part_ch_free(struct chain *ch)
{
	free(ch->comp);
	free(ch->comm);
	free(ch->tau);
	free(ch->latency);
	free(ch->speed);
}

void part_ch_rescale(struct chain *ch, int by)
{
	for (size_t k = 0; k < ch->m * ch->nloads; k++) {
		ch->comp[k] = ldexp(ch->comp[k], -by);
		ch->comm[k] = ldexp(ch->comm[k], -by);
	}
	for (size_t i = 0; i < ch->m; i++) {
		ch->tau[i] = ldexp(ch->tau[i], -by);
		if (ch->latency)
			ch->latency[i] = ldexp(ch->latency[i], -by);
	}
	ch->shift += by;
}

double part_ch_lower(const struct chain *ch)
{
	long double work = 0, end = INFINITY, before;

	for (size_t n = 0; n < ch->nloads; n++)
		work += (long double)ch->comp[n * ch->m] * ch->speed[0];
	do { /* without those that begin at the end or later */
		long double speed = 0, late = 0;
		before = end;
		for (size_t i = 0; i < ch->m; i++)
			if (ch->tau[i] < before) {
				speed += ch->speed[i];
				late += (long double)ch->speed[i] * ch->tau[i];
			}
		end = (work + late) / speed;
	} while (end < before);
	return (double)ldexpl(end * (1 - 1e-12L), ch->shift);
}

size_t part_ch_installments(const struct chain *ch, size_t load)
{
	return ch->given ? ch->given[load] : 1;
}

hetpart_status part_ch_state(struct chain_state *st, const struct chain *ch, hetpart_err *err)
{
	st->link = part_calloc(ch->m, sizeof *st->link);
	st->proc = part_calloc(ch->m, sizeof *st->proc);
	if (!st->link || !st->proc)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", ch->m);
	for (size_t i = 0; i < ch->m; i++)
		st->proc[i] = ch->tau[i];
	return HETPART_OK;
}

void part_ch_state_free(struct chain_state *st)
{
	free(st->link);
	free(st->proc);
}

static void note(hetpart_schedule *sd, size_t at, size_t i, const double *comm, const double *comp)
{
	if (!sd)
		return;
	sd->comp_start[at * sd->m + i] = comp[0];
	sd->comp_end[at * sd->m + i] = comp[1];
	if (i + 1 == sd->m)
		return;
	sd->comm_start[at * (sd->m - 1) + i] = comm[0];
	sd->comm_end[at * (sd->m - 1) + i] = comm[1];
}

void part_ch_step(const struct chain *ch, struct chain_state *st, size_t load, const double *f,
		  bool latency, hetpart_schedule *sd, size_t at)
{
	double arrived = 0, rest = 0, comm[2] = { 0, 0 }, comp[2];

	for (size_t i = ch->m; i-- > 1;)
		rest += f[i];
	for (size_t i = 0; i < ch->m; i++) {
		comp[0] = max_double(arrived, st->proc[i]);
		comp[1] = st->proc[i] = comp[0] + f[i] * ch->comp[load * ch->m + i];
		if (i + 1 < ch->m) {
			comm[0] = chain_send(ch, st, i, arrived);
			arrived = comm[0] + rest * ch->comm[load * (ch->m - 1) + i];
			if (latency && ch->latency && rest > 0)
				arrived += ch->latency[i];
			comm[1] = st->link[i] = arrived;
			rest = 0;
			for (size_t k = ch->m; k-- > i + 2;)
				rest += f[k];
		}
		note(sd, at, i, comm, comp);
	}
}
