/* SPDX-License-Identifier: GPL-3.0-or-later */
/* heuristic.c - SIMPLE, SINGLEINST and MULTIINST of [S3]: one pass over the loads, a
 * bisection for each installment. May not touch: the rules of the chain (rules.c). Costs some
 * 60 m operations for each installment. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"

#define STEPS 100

/* Largest number of installments of one load where the caller sets no limit. */
#define MANY 100000

hetpart_status part_ch_simple(const struct chain *ch, hetpart_schedule *sd, hetpart_err *err)
{
	hetpart_status rc = part_sd_grow(sd, ch, ch->nloads, err);

	for (size_t n = 0; rc == HETPART_OK && n < ch->nloads; n++) {
		memcpy(sd->fraction + n * ch->m, ch->speed, ch->m * sizeof *ch->speed);
		sd->first[n + 1] = n + 1;
	}
	return rc;
}

/* Let every processor work up to end from the moment it can, on what those before it leave of part
 * of the load; whether nothing is left. */
static bool all_by(const struct chain *ch, const struct chain_state *st, size_t load, double part,
		   double end, double *f)
{
	double arrived = 0, rest = part;

	for (size_t i = 0; i < ch->m; i++) {
		double start = max_double(arrived, st->proc[i]);
		double take = (end - start) / ch->comp[load * ch->m + i];
		f[i] = max_double(take, 0);
		if (!(f[i] < rest))
			f[i] = rest;
		rest -= f[i];
		if (i + 1 < ch->m)
			arrived = chain_send(ch, st, i, arrived) +
				  rest * ch->comm[load * (ch->m - 1) + i];
	}
	return !(rest > 0);
}

/* One installment with part of the load that ends everywhere as soon as possible. */
static void single(const struct chain *ch, const struct chain_state *st, size_t load, double part,
		   double *f)
{
	double lo, hi = st->proc[0] + part * ch->comp[load * ch->m];

	while (!all_by(ch, st, load, part, hi, f)) /* rounding alone */
		hi += hi * 1e-15 + 1e-300;
	for (int k = 0; k < 600 && all_by(ch, st, load, part, hi / 16, f); k++)
		hi /= 16; /* the first processor may be slower by any factor */
	lo = hi / 16;
	for (int k = 0; k < STEPS && hi - lo > 1e-16 * hi; k++) {
		double mid = lo + (hi - lo) / 2;
		if (mid <= lo || mid >= hi)
			break;
		if (all_by(ch, st, load, part, mid, f))
			hi = mid;
		else
			lo = mid;
	}
	all_by(ch, st, load, part, hi, f);
}

/* Whether an installment of part of the load, divided by speed, arrives everywhere before the one
 * before is computed. */
static bool in_time(const struct chain *ch, const struct chain_state *st, size_t load, double part)
{
	double arrived = 0, gone = 0;

	for (size_t i = 0; i + 1 < ch->m; i++) {
		gone += ch->speed[i];
		double rest = gone < 1 ? part * (1 - gone) : 0;
		arrived = chain_send(ch, st, i, arrived) + rest * ch->comm[load * (ch->m - 1) + i];
		if (arrived > st->proc[i + 1])
			return false;
	}
	return true;
}

/* Largest part, at most rest, that arrives in time; 0 if none does. */
static double largest(const struct chain *ch, const struct chain_state *st, size_t load,
		      double rest)
{
	double lo = 0, hi = rest;

	if (in_time(ch, st, load, rest))
		return rest;
	if (!in_time(ch, st, load, 0))
		return 0;
	for (int k = 0; k < STEPS && hi - lo > 1e-16 * hi; k++) {
		double mid = lo + (hi - lo) / 2;
		if (in_time(ch, st, load, mid))
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* One more installment of load: part by speed, or as single() has it while the budget lasts. */
static hetpart_status append(struct chain *ch, struct chain_state *st, hetpart_schedule *sd,
			     size_t load, double part, bool by_speed, hetpart_err *err)
{
	hetpart_status rc = part_sd_grow(sd, ch, 1, err);
	double *f;

	if (rc != HETPART_OK)
		return rc;
	f = sd->fraction + (sd->total - 1) * ch->m;
	if (part_spend(&ch->budget, STEPS * ch->m) && sd->stopped == HETPART_OK)
		sd->stopped = ch->budget.why;
	if (by_speed || ch->budget.why != HETPART_OK)
		for (size_t i = 0; i < ch->m; i++)
			f[i] = part * ch->speed[i];
	else
		single(ch, st, load, part, f);
	part_ch_step(ch, st, load, f, false, NULL, 0);
	sd->first[load + 1] = sd->total;
	return HETPART_OK;
}

hetpart_status part_ch_singleinst(struct chain *ch, hetpart_schedule *sd, hetpart_err *err)
{
	struct chain_state st;
	hetpart_status rc = part_ch_state(&st, ch, err);

	for (size_t n = 0; rc == HETPART_OK && n < ch->nloads; n++)
		rc = append(ch, &st, sd, n, 1, false, err);
	part_ch_state_free(&st);
	return rc;
}

static hetpart_status no_solution(size_t load, size_t count, double rest, hetpart_err *err)
{
	return part_fail(err, HETPART_ENOSOL,
			 "load %zu: installments that arrive in time shrink too fast, '%g' of it "
			 "is left after %zu: set max_installments",
			 load, rest, count);
}

/* Whether the budget allows for more installments than one of each load. When it ends the first
 * time, the time that was set aside is for those. */
static bool may_divide(struct chain *ch, hetpart_schedule *sd, double end_s)
{
	uint64_t room = part_mul_add(2 * (uint64_t)sd->room, 48 * (uint64_t)ch->m, 0);

	if (sd->stopped != HETPART_OK)
		return false;
	if (sd->total == sd->room && room > ch->budget.max_mem)
		ch->budget.why = HETPART_ENOMEM;
	if (!part_spend(&ch->budget, STEPS * ch->m))
		return true;
	sd->stopped = ch->budget.why;
	ch->budget.why = HETPART_OK;
	ch->budget.end_s = end_s;
	return false;
}

static hetpart_status multi(struct chain *ch, struct chain_state *st, hetpart_schedule *sd,
			    size_t load, size_t most, double end_s, hetpart_err *err)
{
	double rest = 1;

	for (size_t k = 1; rest > 0; k++) {
		bool more = may_divide(ch, sd, end_s);
		double part = more ? largest(ch, st, load, rest) : rest;
		bool last = !more || k == most || (most > 0 && part <= 0);
		if (more && !most && (k > MANY || part < 1e-12 * rest))
			return no_solution(load, k - 1, rest, err);
		if (last)
			part = rest;
		hetpart_status rc = append(ch, st, sd, load, part, !last, err);
		if (rc != HETPART_OK)
			return rc;
		rest -= part;
	}
	return HETPART_OK;
}

hetpart_status part_ch_multiinst(struct chain *ch, hetpart_schedule *sd, size_t most,
				 hetpart_err *err)
{
	struct chain_state st;
	hetpart_status rc = part_ch_state(&st, ch, err);
	double end_s = part_budget_reserve(&ch->budget, 0.3);

	if (rc == HETPART_OK)
		rc = append(ch, &st, sd, 0, 1, false, err);
	for (size_t n = 1; rc == HETPART_OK && n < ch->nloads; n++)
		rc = multi(ch, &st, sd, n, most, end_s, err);
	part_ch_state_free(&st);
	return rc;
}
