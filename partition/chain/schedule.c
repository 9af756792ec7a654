/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedule.c - the check of a chain problem, its times in units near 1, and the step of an
 * installment down the chain. Also schedules: their creation, dates and public calls. Must not
 * contain: how fractions are found. Costs O(m) per installment for m processors. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "chain.h"

/* -------------------------------------------------------------------------------- the problem */

static hetpart_status chain_check_array(const double *v, size_t n, const char *name, bool positive,
					hetpart_err *err)
{
	if (!v && n > 0)
		return part_is_null(err, name);
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]) || v[i] < 0 || (positive && v[i] == 0))
			return part_invalid(err, "%s[%zu] is '%g': must be a finite number%s", name,
					    i, v[i], positive ? " above 0" : ", 0 or more");
	return HETPART_OK;
}

static hetpart_status chain_check_counts(const hetpart_chain *c, hetpart_err *err)
{
	size_t total = 0;
	if (c->nprocs == 0 || c->nloads == 0)
		return part_invalid(err, "the number of %s is '0': must be at least 1",
				    c->nprocs ? "loads" : "processors");
	for (size_t n = 0; n < c->nloads && total <= CHAIN_DATES_MAX; n++) {
		const size_t q = c->installments ? c->installments[n] : 1;
		if (q == 0)
			return part_invalid(
				err,
				"the number of installments of load %zu is '0': must be at least 1",
				n);
		total = q > CHAIN_DATES_MAX ? q : total + q;
	}
	if (c->nprocs > CHAIN_DATES_MAX || total > CHAIN_DATES_MAX / c->nprocs)
		return part_fail(err, HETPART_ERANGE, "more than %d fractions are not possible",
				 CHAIN_DATES_MAX);
	return HETPART_OK;
}

hetpart_status part_chain_check(hetpart_chain *c, const hetpart_chain *given, hetpart_err *err)
{
	hetpart_status rc;
	if (!given)
		return part_is_null(err, "chain");
	*c = (hetpart_chain)HETPART_CHAIN_INIT;
	if (part_opts_copy(c, PART_END_OF(hetpart_chain, installments), sizeof *c, given, err) !=
	    HETPART_OK)
		return HETPART_EINVAL;
	if ((rc = chain_check_counts(c, err)) != HETPART_OK)
		return rc;
	const size_t m = c->nprocs, links = m - 1, nloads = c->nloads;
	if ((rc = c->w_load ? chain_check_array(c->w_load, m * nloads, "w_load", true, err)
			    : chain_check_array(c->w, m, "w", true, err)) == HETPART_OK &&
	    (rc = chain_check_array(c->release, c->release ? nloads : 0, "release", false, err)) ==
		    HETPART_OK &&
	    (rc = chain_check_array(c->weight, c->weight ? nloads : 0, "weight", true, err)) ==
		    HETPART_OK &&
	    (rc = chain_check_array(c->z, links, "z", false, err)) == HETPART_OK &&
	    (rc = chain_check_array(c->tau, c->tau ? m : 0, "tau", false, err)) == HETPART_OK &&
	    (rc = chain_check_array(c->latency, c->latency ? links : 0, "latency", false, err)) ==
		    HETPART_OK &&
	    (rc = chain_check_array(c->vcomm, nloads, "vcomm", false, err)) == HETPART_OK)
		rc = chain_check_array(c->vcomp, nloads, "vcomp", true, err);
	return rc;
}

/* Set the speeds of processors for each load. Return the time of all loads on all processors. */
static long double set_speeds(chain_problem *ch, const hetpart_chain *c)
{
	long double time = 0;
	for (size_t n = 0; n < ch->nloads; n++) {
		const double *const w = c->w_load ? c->w_load + n * ch->m : c->w;
		long double speed = 0;
		for (size_t i = 0; i < ch->m; i++)
			speed += 1 / (long double)w[i];
		for (size_t i = 0; i < ch->m; i++)
			ch->speed[n * ch->m + i] = (double)(1 / (long double)w[i] / speed);
		time += c->vcomp[n] / speed;
	}
	return time;
}

/* Return the time of all loads on one processor. */
static long double work_of(const chain_problem *ch, size_t proc)
{
	long double sum = 0;
	for (size_t n = 0; n < ch->nloads; n++)
		sum += ch->comp[n * ch->m + proc];
	return fmaxl(sum, LDBL_MIN);
}

/* Set the times in units of 2^shift, which is near the time of all loads on all processors. */
static hetpart_status chain_scale(chain_problem *ch, const hetpart_chain *c, hetpart_err *err)
{
	long double begin = INFINITY, late = 0, prices = 0;
	double most = 0;
	for (size_t n = 0; c->release && n < ch->nloads; n++)
		late = fmaxl(late, c->release[n]);
	for (size_t i = 0; i < ch->m; i++)
		begin = fminl(begin, c->tau ? c->tau[i] : 0);
	frexpl(set_speeds(ch, c) + fmaxl(begin, late), &ch->shift);
	const long double unit = ldexpl(1, -ch->shift);
	late = 0;
	for (size_t n = 0; n < ch->nloads; n++) {
		const double *const w = c->w_load ? c->w_load + n * ch->m : c->w;
		late = fmaxl(late, c->release ? c->release[n] : 0);
		ch->release[n] = (double)(late * unit);
		for (size_t i = 0; i < ch->m; i++)
			ch->comp[n * ch->m + i] = (double)(c->vcomp[n] * unit * w[i]);
		for (size_t i = 0; i + 1 < ch->m; i++)
			ch->comm[n * (ch->m - 1) + i] = (double)(c->vcomm[n] * unit * c->z[i]);
	}
	for (size_t i = 0; i < ch->m; i++)
		prices += 1 / work_of(ch, i);
	for (size_t i = 0; i < ch->m; i++) {
		ch->price[i] = (double)(1 / work_of(ch, i) / prices);
		ch->tau[i] = c->tau ? (double)(c->tau[i] * unit) : 0;
	}
	for (size_t i = 0; ch->latency && i + 1 < ch->m; i++)
		ch->latency[i] = (double)(c->latency[i] * unit);
	for (size_t k = 0; k < ch->m * ch->nloads; k++)
		most = max_double(most, max_double(ch->comp[k], ch->comm[k]));
	if (most <= 0x1p900)
		return HETPART_OK;
	return part_fail(
		err, HETPART_ERANGE,
		"%s, z, vcomm and vcomp differ too much: times beyond the range of a double",
		c->w_load ? "w_load" : "w");
}

hetpart_status part_chain_init(chain_problem *ch, const hetpart_chain *given, hetpart_err *err)
{
	hetpart_chain c;
	*ch = (chain_problem){ 0 };
	const hetpart_status rc = part_chain_check(&c, given, err);
	if (rc != HETPART_OK)
		return rc;
	ch->m = c.nprocs;
	ch->nloads = c.nloads;
	ch->given = c.installments;
	ch->weight = c.weight;
	ch->released = c.release;
	const size_t cells = ch->m * ch->nloads; /* at most CHAIN_DATES_MAX */
	if (!part_array(ch->comp, cells) || !part_array(ch->comm, cells) ||
	    !part_array(ch->tau, ch->m) || !part_array(ch->speed, cells) ||
	    !part_array(ch->release, ch->nloads) || !part_array(ch->price, ch->m) ||
	    (c.latency && !part_array(ch->latency, ch->m)))
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors and %zu loads",
				 ch->m, ch->nloads);
	return chain_scale(ch, &c, err);
}

void part_chain_free(chain_problem *ch)
{
	free(ch->comp);
	free(ch->comm);
	free(ch->tau);
	free(ch->latency);
	free(ch->speed);
	free(ch->release);
	free(ch->price);
}

void part_chain_rescale(chain_problem *ch, int by)
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
	for (size_t n = 0; n < ch->nloads; n++)
		ch->release[n] = ldexp(ch->release[n], -by);
	ch->shift += by;
}

/* Return the date at which processors that all work from `release` on have done `work`, weighted by
 * their prices. */
static long double earliest_end(const chain_problem *ch, long double work, double release)
{
	long double end = INFINITY, before;
	do { /* repeat without processors that are free only at the end or later */
		long double price = 0, late = 0;
		before = end;
		for (size_t i = 0; i < ch->m; i++) {
			const double begin = max_double(ch->tau[i], release);
			if (begin < before) {
				price += ch->price[i];
				late += (long double)ch->price[i] * begin;
			}
		}
		if (!(price > 0)) /* the work is negligible */
			break;
		end = (work + late) / price;
	} while (end < before);
	return end;
}

double part_chain_lower(const chain_problem *ch)
{
	long double work = 0, end = 0;
	for (size_t n = ch->nloads; n-- > 0;) { /* the work from load n on: on the cheapest one */
		long double least = INFINITY;
		for (size_t i = 0; i < ch->m; i++)
			least = fminl(least, (long double)ch->comp[n * ch->m + i] * ch->price[i]);
		work += least;
		if (n == 0 || ch->release[n] > ch->release[n - 1])
			end = fmaxl(end, earliest_end(ch, work, ch->release[n]));
	}
	return (double)ldexpl(end * (1 - 1e-12L), ch->shift);
}

double part_chain_flow(const chain_problem *ch, const double *end, int shift)
{
	long double flow = 0;
	for (size_t n = 0; n < ch->nloads; n++) {
		const long double release = ch->released ? ch->released[n] : 0;
		flow += (end[n] - ldexpl(release, -shift)) * (ch->weight ? ch->weight[n] : 1);
	}
	return (double)flow;
}

/* ------------------------------------------------------------------------------------ the step */

hetpart_status part_chain_start(chain_state *st, const chain_problem *ch, bool latency,
				hetpart_err *err)
{
	*st = (chain_state){ .latency = latency && ch->latency };
	if (!part_array(st->link, ch->m) || !part_array(st->proc, ch->m))
		return part_no_memory(err, ch->m, "processors");
	for (size_t i = 0; i < ch->m; i++)
		st->proc[i] = ch->tau[i];
	return HETPART_OK;
}

void part_chain_end(chain_state *st)
{
	free(st->link);
	free(st->proc);
}

void part_chain_step(const chain_problem *ch, chain_state *st, size_t load, const double *f,
		     hetpart_schedule *sd, size_t at)
{
	const size_t m = ch->m;
	double arrived = ch->release[load], rest = 0;
	for (size_t i = m; i-- > 1;)
		rest += f[i];
	for (size_t i = 0; i < m; i++) {
		const double begin = max_double(arrived, st->proc[i]);
		st->proc[i] = begin + f[i] * ch->comp[load * m + i];
		if (sd) {
			sd->comp_start[at * m + i] = begin;
			sd->comp_end[at * m + i] = st->proc[i];
		}
		if (i + 1 == m)
			break;
		const double sent = chain_send(ch, st, i, arrived);
		arrived = sent + rest * ch->comm[load * (m - 1) + i];
		if (st->latency && rest > 0)
			arrived += ch->latency[i];
		st->link[i] = arrived;
		if (sd) {
			sd->comm_start[at * (m - 1) + i] = sent;
			sd->comm_end[at * (m - 1) + i] = arrived;
		}
		rest = 0;
		for (size_t k = m; k-- > i + 2;)
			rest += f[k];
	}
}

/* -------------------------------------------------------------------------------- the schedule */

hetpart_status part_schedule_new(hetpart_schedule **out, const chain_problem *ch,
				 const char *method, hetpart_err *err)
{
	hetpart_schedule *const sd = part_calloc(1, sizeof *sd);
	*out = sd;
	if (sd) {
		sd->m = ch->m;
		sd->nloads = ch->nloads;
		sd->method = method;
		sd->planned = sd->planned_flow = sd->lower = NAN;
		sd->first = part_calloc(ch->nloads + 1, sizeof *sd->first);
		sd->end = part_calloc(ch->nloads, sizeof *sd->end);
	}
	if (sd && sd->first && sd->end)
		return HETPART_OK;
	hetpart_schedule_free(sd);
	*out = NULL;
	return part_no_memory(err, ch->nloads, "loads");
}

static bool grow_dates(double **v, size_t old, size_t new)
{
	double *const more =
		new > SIZE_MAX / sizeof **v ? NULL : realloc(*v, (new + 1) * sizeof **v);
	if (!more)
		return false;
	*v = more;
	for (size_t i = old; i < new; i++)
		more[i] = 0;
	return true;
}

hetpart_status part_schedule_grow(hetpart_schedule *sd, const chain_problem *ch, size_t count,
				  hetpart_err *err)
{
	const size_t total = sd->total + count, m = ch->m, old = sd->room;
	if (total > CHAIN_DATES_MAX / m)
		return part_fail(err, HETPART_ERANGE, "more than %d fractions are not possible",
				 CHAIN_DATES_MAX);
	sd->total = total;
	if (total <= old)
		return HETPART_OK;
	const size_t room = 2 * old < total ? total : 2 * old;
	if (!grow_dates(&sd->fraction, old * m, room * m) ||
	    !grow_dates(&sd->comp_start, old * m, room * m) ||
	    !grow_dates(&sd->comp_end, old * m, room * m) ||
	    !grow_dates(&sd->comm_start, old * (m - 1), room * (m - 1)) ||
	    !grow_dates(&sd->comm_end, old * (m - 1), room * (m - 1)))
		return part_no_memory(err, room, "installments");
	sd->room = room;
	return HETPART_OK;
}

/* Convert times from units of 2^shift to the caller's unit. Return whether all are finite. */
static bool unscale_dates(double *v, size_t n, int shift)
{
	bool ok = true;
	for (size_t i = 0; i < n; i++) {
		v[i] = ldexp(v[i], shift);
		ok = ok && isfinite(v[i]);
	}
	return ok;
}

hetpart_status part_schedule_date(hetpart_schedule *sd, const chain_problem *ch, bool latency,
				  hetpart_err *err)
{
	chain_state st;
	const hetpart_status rc = part_chain_start(&st, ch, latency, err);
	for (size_t n = 0; rc == HETPART_OK && n < ch->nloads; n++)
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++)
			part_chain_step(ch, &st, n, sd->fraction + t * ch->m, sd, t);
	part_chain_end(&st);
	if (rc != HETPART_OK)
		return rc;
	if (unscale_dates(sd->comm_start, sd->total * (ch->m - 1), ch->shift) &&
	    unscale_dates(sd->comm_end, sd->total * (ch->m - 1), ch->shift) &&
	    unscale_dates(sd->comp_start, sd->total * ch->m, ch->shift) &&
	    unscale_dates(sd->comp_end, sd->total * ch->m, ch->shift)) {
		for (size_t n = 0; n < ch->nloads; n++) {
			sd->end[n] = 0;
			for (size_t i = 0; i < ch->m; i++)
				sd->end[n] = max_double(
					sd->end[n],
					sd->comp_end[(sd->first[n + 1] - 1) * ch->m + i]);
		}
		sd->makespan = sd->end[ch->nloads - 1];
		sd->flow = part_chain_flow(ch, sd->end, 0);
		return HETPART_OK;
	}
	return part_fail(err, HETPART_ERANGE, "a start or end time is too large for a double");
}

PART_GETTER(double, hetpart_schedule_makespan, hetpart_schedule, makespan, NAN)
PART_GETTER(double, hetpart_schedule_planned_makespan, hetpart_schedule, planned, NAN)
PART_GETTER(double, hetpart_schedule_flow, hetpart_schedule, flow, NAN)
PART_GETTER(double, hetpart_schedule_planned_flow, hetpart_schedule, planned_flow, NAN)
PART_GETTER(double, hetpart_schedule_lower_bound, hetpart_schedule, lower, NAN)
PART_GETTER(hetpart_status, hetpart_schedule_stopped, hetpart_schedule, stopped, HETPART_EINVAL)
PART_GETTER(const char *, hetpart_schedule_method, hetpart_schedule, method, "")
PART_GETTER(size_t, hetpart_schedule_nprocs, hetpart_schedule, m, 0)
PART_GETTER(size_t, hetpart_schedule_nloads, hetpart_schedule, nloads, 0)

double hetpart_schedule_load_end(const hetpart_schedule *sd, size_t load)
{
	return sd && load < sd->nloads ? sd->end[load] : NAN;
}

size_t hetpart_schedule_installments(const hetpart_schedule *sd, size_t load)
{
	return sd && load < sd->nloads ? sd->first[load + 1] - sd->first[load] : 0;
}

double hetpart_schedule_fraction(const hetpart_schedule *sd, size_t load, size_t installment,
				 size_t proc)
{
	if (installment >= hetpart_schedule_installments(sd, load) || proc >= sd->m)
		return NAN;
	return sd->fraction[(sd->first[load] + installment) * sd->m + proc];
}

const double *hetpart_schedule_fractions(const hetpart_schedule *sd, size_t *count)
{
	if (sd && count)
		*count = sd->total * sd->m;
	return sd ? sd->fraction : NULL;
}

bool hetpart_schedule_comm(const hetpart_schedule *sd, size_t load, size_t installment, size_t link,
			   double *start, double *end)
{
	if (installment >= hetpart_schedule_installments(sd, load) || link + 1 >= sd->m)
		return false;
	const size_t at = (sd->first[load] + installment) * (sd->m - 1) + link;
	if (start)
		*start = sd->comm_start[at];
	if (end)
		*end = sd->comm_end[at];
	return true;
}

bool hetpart_schedule_comp(const hetpart_schedule *sd, size_t load, size_t installment, size_t proc,
			   double *start, double *end)
{
	if (installment >= hetpart_schedule_installments(sd, load) || proc >= sd->m)
		return false;
	const size_t at = (sd->first[load] + installment) * sd->m + proc;
	if (start)
		*start = sd->comp_start[at];
	if (end)
		*end = sd->comp_end[at];
	return true;
}

void hetpart_schedule_free(hetpart_schedule *sd)
{
	if (!sd)
		return;
	free(sd->first);
	free(sd->end);
	free(sd->fraction);
	free(sd->comm_start);
	free(sd->comm_end);
	free(sd->comp_start);
	free(sd->comp_end);
	free(sd);
}
