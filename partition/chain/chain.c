/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain.c - schedules of divisible loads on a chain of processors: check, choose the method, find
 * start and end times, report. Also the schedule of given fractions (replay). The methods SIMPLE,
 * SINGLEINST and MULTIINST of [S3] make one pass over the loads. The last two find each
 * installment, the part of a load that is sent at a time, by bisection. Must not contain: the rules
 * of the chain (schedule.c), the linear programme (programme.c). Costs about 60 m operations per
 * installment for m processors. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "chain.h"

/* -------------------------------------------------------------------------------- heuristics */

#define BISECTION_STEPS  100
#define INSTALLMENTS_MAX 100000 /* of one load, if the caller sets no limit */

typedef struct chain_heuristic {
	chain_problem *ch;
	hetpart_schedule *sd;
	chain_state st;
} chain_heuristic;

/* Set the fractions f[] of an installment with `part` of the load: each processor works from the
 * first possible moment until `end`, on what those before it leave. Return whether nothing
 * remains. */
static bool ends_by(const chain_heuristic *h, size_t load, double part, double end, double *f)
{
	const chain_problem *const ch = h->ch;
	double arrived = ch->release[load], rest = part;
	for (size_t i = 0; i < ch->m; i++) {
		const double start = max_double(arrived, h->st.proc[i]);
		f[i] = max_double((end - start) / ch->comp[load * ch->m + i], 0);
		if (!(f[i] < rest))
			f[i] = rest;
		rest -= f[i];
		if (i + 1 < ch->m)
			arrived = chain_send(ch, &h->st, i, arrived) +
				  rest * ch->comm[load * (ch->m - 1) + i];
	}
	return !(rest > 0);
}

/* Set f[] to the installment with `part` of the load that ends as soon as possible. */
static void soonest_installment(const chain_heuristic *h, size_t load, double part, double *f)
{
	double hi = max_double(h->st.proc[0], h->ch->release[load]) +
		    part * h->ch->comp[load * h->ch->m];
	while (!ends_by(h, load, part, hi, f)) /* rounding can make hi too small */
		hi += hi * 1e-15 + 1e-300;
	for (int k = 0; k < 600 && ends_by(h, load, part, hi / 16, f); k++)
		hi /= 16; /* hi is too large by any factor if the first processor is slow */
	double lo = hi / 16;
	for (int k = 0; k < BISECTION_STEPS && hi - lo > 1e-16 * hi; k++) {
		const double mid = lo + (hi - lo) / 2;
		if (mid <= lo || mid >= hi)
			break;
		if (ends_by(h, load, part, mid, f))
			hi = mid;
		else
			lo = mid;
	}
	ends_by(h, load, part, hi, f);
}

/* Return whether an installment with `part` of the load, divided by speed, arrives at each
 * processor before it ends the previous installment. */
static bool arrives_in_time(const chain_heuristic *h, size_t load, double part)
{
	const chain_problem *const ch = h->ch;
	double arrived = ch->release[load], gone = 0;
	for (size_t i = 0; i + 1 < ch->m; i++) {
		gone += ch->speed[load * ch->m + i];
		const double rest = gone < 1 ? part * (1 - gone) : 0;
		arrived = chain_send(ch, &h->st, i, arrived) +
			  rest * ch->comm[load * (ch->m - 1) + i];
		if (arrived > h->st.proc[i + 1])
			return false;
	}
	return true;
}

/* Return the largest part of the load, at most rest, that arrives in time, or 0. */
static double largest_in_time(const chain_heuristic *h, size_t load, double rest)
{
	double lo = 0, hi = rest;
	if (arrives_in_time(h, load, rest))
		return rest;
	if (!arrives_in_time(h, load, 0))
		return 0;
	for (int k = 0; k < BISECTION_STEPS && hi - lo > 1e-16 * hi; k++) {
		const double mid = lo + (hi - lo) / 2;
		if (arrives_in_time(h, load, mid))
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Append an installment with `part` of a load: divided by speed, or so that it ends as soon as
 * possible. After the end of the budget, it is divided by speed. */
static hetpart_status append_installment(chain_heuristic *h, size_t load, double part,
					 bool by_speed, hetpart_err *err)
{
	chain_problem *const ch = h->ch;
	hetpart_schedule *const sd = h->sd;
	const hetpart_status rc = part_schedule_grow(sd, ch, 1, err);
	if (rc != HETPART_OK)
		return rc;
	double *const f = sd->fraction + (sd->total - 1) * ch->m;
	if (part_spend(&ch->budget, BISECTION_STEPS * ch->m) && sd->stopped == HETPART_OK)
		sd->stopped = ch->budget.why;
	if (by_speed || ch->budget.why != HETPART_OK)
		for (size_t i = 0; i < ch->m; i++)
			f[i] = part * ch->speed[load * ch->m + i];
	else
		soonest_installment(h, load, part, f);
	part_chain_step(ch, &h->st, load, f, NULL, 0);
	sd->first[load + 1] = sd->total;
	return HETPART_OK;
}

static hetpart_status chain_singleinst(chain_problem *ch, hetpart_schedule *sd, hetpart_err *err)
{
	chain_heuristic h = { .ch = ch, .sd = sd };
	hetpart_status rc = part_chain_start(&h.st, ch, false, err);
	for (size_t n = 0; rc == HETPART_OK && n < ch->nloads; n++)
		rc = append_installment(&h, n, 1, false, err);
	part_chain_end(&h.st);
	return rc;
}

/* Append the installments of one load, at most `most` unless that is 0. When the budget ends, this
 * load and those after it get one installment each, in time reserved until end_s. */
static hetpart_status append_load(chain_heuristic *h, size_t load, size_t most, double end_s,
				  hetpart_err *err)
{
	part_budget *const budget = &h->ch->budget;
	hetpart_schedule *const sd = h->sd;
	double rest = 1;
	for (size_t k = 1; rest > 0; k++) {
		const uint64_t bytes =
			part_mul_add(2 * (uint64_t)sd->room, 48 * (uint64_t)h->ch->m, 0);
		bool more = sd->stopped == HETPART_OK;
		if (more && sd->total == sd->room && bytes > budget->max_mem)
			budget->why = HETPART_ENOMEM;
		if (more && part_spend(budget, BISECTION_STEPS * h->ch->m)) {
			sd->stopped = budget->why;
			budget->why = HETPART_OK;
			budget->end_s = end_s;
			more = false;
		}
		double part = more ? largest_in_time(h, load, rest) : rest;
		const bool last = !more || k == most || (most > 0 && part <= 0);
		if (more && !most && (k > INSTALLMENTS_MAX || part < 1e-12 * rest))
			return part_fail(err, HETPART_ENOSOL,
					 "load %zu: installments that arrive in time shrink too "
					 "fast, '%g' of it is left after %zu: set max_installments",
					 load, rest, k - 1);
		if (last)
			part = rest;
		const hetpart_status rc = append_installment(h, load, part, !last, err);
		if (rc != HETPART_OK)
			return rc;
		rest -= part;
	}
	return HETPART_OK;
}

/* Return whether a processor has computed all loads before this one when it is released. */
static bool comes_late(const chain_heuristic *h, size_t load)
{
	for (size_t i = 0; i < h->ch->m; i++)
		if (h->st.proc[i] < h->ch->release[load])
			return true;
	return load == 0;
}

static hetpart_status chain_multiinst(chain_problem *ch, hetpart_schedule *sd, size_t most,
				      hetpart_err *err)
{
	chain_heuristic h = { .ch = ch, .sd = sd };
	hetpart_status rc = part_chain_start(&h.st, ch, false, err);
	const double end_s = part_budget_reserve(&ch->budget, 0.3);
	for (size_t n = 0; rc == HETPART_OK && n < ch->nloads; n++)
		rc = comes_late(&h, n) ? append_installment(&h, n, 1, false, err)
				       : append_load(&h, n, most, end_s, err);
	part_chain_end(&h.st);
	return rc;
}

/* ------------------------------------------------------------------------------- public calls */

static const char *const chain_method_name[] = {
	[HETPART_CHAIN_LP] = "lp",
	[HETPART_CHAIN_SIMPLE] = "simple",
	[HETPART_CHAIN_SINGLEINST] = "singleinst",
	[HETPART_CHAIN_MULTIINST] = "multiinst",
};

/* Append installments with fractions 0 to the schedule: the caller's number for each load. */
static hetpart_status grow_as_given(hetpart_schedule *sd, const chain_problem *ch, hetpart_err *err)
{
	size_t total = 0;
	for (size_t n = 0; n < ch->nloads; n++) {
		total += ch->given ? ch->given[n] : 1;
		sd->first[n + 1] = total;
	}
	return part_schedule_grow(sd, ch, total, err);
}

static hetpart_status find_fractions(chain_problem *ch, hetpart_schedule *sd,
				     const hetpart_chain_opts *opts, hetpart_err *err)
{
	hetpart_status rc;
	switch (opts->method) {
	case HETPART_CHAIN_SIMPLE:
		rc = part_schedule_grow(sd, ch, ch->nloads, err);
		for (size_t n = 0; rc == HETPART_OK && n < ch->nloads; n++) {
			memcpy(sd->fraction + n * ch->m, ch->speed + n * ch->m,
			       ch->m * sizeof *ch->speed);
			sd->first[n + 1] = n + 1;
		}
		return rc;
	case HETPART_CHAIN_SINGLEINST:
		return chain_singleinst(ch, sd, err);
	case HETPART_CHAIN_MULTIINST:
		return chain_multiinst(ch, sd, opts->max_installments, err);
	case HETPART_CHAIN_LP:
		break;
	}
	hetpart_schedule *one = NULL;
	rc = grow_as_given(sd, ch, err);
	if (part_chain_lp_bytes(sd->total, ch->m) > ch->budget.max_mem)
		ch->budget.why = HETPART_ENOMEM;
	if (rc == HETPART_OK && (rc = part_schedule_new(&one, ch, "", err)) == HETPART_OK &&
	    (rc = chain_singleinst(ch, one, err)) == HETPART_OK)
		rc = part_chain_lp(ch, sd, one, err);
	hetpart_schedule_free(one);
	return rc;
}

static hetpart_status chain_read_opts(hetpart_chain_opts *full, const hetpart_chain_opts *opts,
				      hetpart_err *err)
{
	*full = (hetpart_chain_opts)HETPART_CHAIN_OPTS_INIT;
	if (part_opts_copy(full, PART_END_OF(hetpart_chain_opts, max_mem_bytes), sizeof *full, opts,
			   err) != HETPART_OK)
		return HETPART_EINVAL;
	if (full->method < HETPART_CHAIN_LP || full->method > HETPART_CHAIN_MULTIINST)
		return part_invalid(err, "'%d' is not a chain method", (int)full->method);
	if (full->objective < HETPART_OBJECTIVE_MAKESPAN ||
	    full->objective > HETPART_OBJECTIVE_FLOW)
		return part_invalid(err, "'%d' is not an objective of a chain",
				    (int)full->objective);
	return HETPART_OK;
}

/* End a call: return the schedule, or free it after a failure. */
static hetpart_status chain_finish(chain_problem *ch, hetpart_schedule **out, hetpart_schedule *sd,
				   hetpart_status rc)
{
	if (rc == HETPART_OK)
		*out = sd;
	else
		hetpart_schedule_free(sd);
	part_chain_free(ch);
	return rc;
}

hetpart_status hetpart_chain_create(hetpart_schedule **out, const hetpart_chain *chain,
				    const hetpart_chain_opts *opts, hetpart_err *err)
{
	hetpart_schedule *sd = NULL;
	hetpart_chain_opts full;
	chain_problem ch;
	if (!out)
		return part_is_null(err, "out");
	*out = NULL;
	hetpart_status rc = chain_read_opts(&full, opts, err);
	if (rc != HETPART_OK)
		return rc;
	rc = part_chain_init(&ch, chain, err);
	ch.flow = full.objective == HETPART_OBJECTIVE_FLOW;
	if (rc != HETPART_OK ||
	    (rc = part_budget_open(&ch.budget, full.limit_s, full.max_mem_bytes, full.stop,
				   full.stop_ctx, err)) != HETPART_OK ||
	    (rc = part_schedule_new(&sd, &ch, chain_method_name[full.method], err)) != HETPART_OK ||
	    (rc = find_fractions(&ch, sd, &full, err)) != HETPART_OK)
		goto out;
	if ((rc = part_schedule_date(sd, &ch, false, err)) != HETPART_OK)
		goto out;
	if (isnan(sd->planned))
		sd->planned = sd->makespan;
	if (isnan(sd->planned_flow))
		sd->planned_flow = sd->flow;
	if (ch.latency)
		rc = part_schedule_date(sd, &ch, true, err);
	sd->lower = part_chain_lower(&ch);
out:
	return chain_finish(&ch, out, sd, rc);
}

uint64_t hetpart_chain_mem_bytes(const hetpart_chain *chain, const hetpart_chain_opts *opts)
{
	uint64_t total = 0;
	hetpart_chain_opts full;
	hetpart_chain c;
	if (chain_read_opts(&full, opts, NULL) != HETPART_OK ||
	    part_chain_check(&c, chain, NULL) != HETPART_OK)
		return UINT64_MAX;
	for (size_t n = 0; n < c.nloads; n++)
		if (full.method == HETPART_CHAIN_LP)
			total += c.installments ? c.installments[n] : 1;
		else
			total += full.method == HETPART_CHAIN_MULTIINST && full.max_installments
					 ? full.max_installments
					 : 1;
	if (total > UINT64_MAX / 64 / c.nprocs)
		return UINT64_MAX;
	uint64_t bytes = 4096 + (uint64_t)c.nprocs * (64 + 24 * c.nloads) + 32 * (uint64_t)c.nloads;
	bytes += total * 48 * c.nprocs;
	if (full.method == HETPART_CHAIN_LP)
		bytes += part_chain_lp_bytes((size_t)total, c.nprocs);
	return bytes;
}

hetpart_status hetpart_chain_replay(hetpart_schedule **out, const hetpart_chain *chain,
				    const double *fractions, size_t nfractions, hetpart_err *err)
{
	hetpart_schedule *sd = NULL;
	chain_problem ch;
	if (out)
		*out = NULL;
	if (!out || !fractions)
		return part_is_null(err, out ? "fractions" : "out");
	hetpart_status rc = part_chain_init(&ch, chain, err);
	if (rc != HETPART_OK || (rc = part_schedule_new(&sd, &ch, "replay", err)) != HETPART_OK ||
	    (rc = grow_as_given(sd, &ch, err)) != HETPART_OK)
		goto out;
	if (nfractions != sd->total * ch.m) {
		rc = part_invalid(
			err,
			"the number of fractions is '%zu': must be %zu for %zu installments "
			"on %zu processors",
			nfractions, sd->total * ch.m, sd->total, ch.m);
		goto out;
	}
	for (size_t n = 0; n < ch.nloads; n++) {
		long double sum = 0;
		for (size_t k = sd->first[n] * ch.m; k < sd->first[n + 1] * ch.m; k++) {
			if (!isfinite(fractions[k]) || fractions[k] < 0) {
				rc = part_invalid(
					err, "a fraction of load %zu is '%g': must be 0 or more", n,
					fractions[k]);
				goto out;
			}
			sum += fractions[k];
		}
		if (!(fabsl(sum - 1) <= 1e-6L)) {
			rc = part_invalid(err,
					  "the fractions of load %zu sum to '%.9Lg': must sum to 1",
					  n, sum);
			goto out;
		}
	}
	memcpy(sd->fraction, fractions, nfractions * sizeof *fractions);
	rc = part_schedule_date(sd, &ch, true, err);
out:
	return chain_finish(&ch, out, sd, rc);
}
