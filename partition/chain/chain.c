/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain.c - divisible loads on a chain: check, choose the method, date and report; replay of given
 * fractions. May not touch: the arithmetic of any method. Costs O(installments m) beside it. */
#include <inttypes.h>
#include <math.h>

#include "chain.h"

static const char *name_of(hetpart_chain_method m)
{
	switch (m) {
	case HETPART_CHAIN_LP:
		return "lp";
	case HETPART_CHAIN_SIMPLE:
		return "simple";
	case HETPART_CHAIN_SINGLEINST:
		return "singleinst";
	case HETPART_CHAIN_MULTIINST:
		return "multiinst";
	}
	return NULL;
}

/* The schedule takes as many installments as the caller gave. */
static hetpart_status as_given(hetpart_schedule *sd, const struct chain *ch, hetpart_err *err)
{
	size_t total = 0;

	for (size_t n = 0; n < ch->nloads; n++) {
		total += part_ch_installments(ch, n);
		sd->first[n + 1] = total;
	}
	return part_sd_grow(sd, ch, total, err);
}

static hetpart_status run(struct chain *ch, hetpart_schedule *sd, const hetpart_chain_opts *opts,
			  hetpart_err *err)
{
	hetpart_status rc;

	switch (opts->method) {
	case HETPART_CHAIN_SIMPLE:
		return part_ch_simple(ch, sd, err);
	case HETPART_CHAIN_SINGLEINST:
		return part_ch_singleinst(ch, sd, err);
	case HETPART_CHAIN_MULTIINST:
		return part_ch_multiinst(ch, sd, opts->max_installments, err);
	case HETPART_CHAIN_LP:
		break;
	}
	rc = as_given(sd, ch, err);
	return rc == HETPART_OK ? part_ch_lp(ch, sd, err) : rc;
}

static hetpart_status plan(hetpart_schedule *sd, struct chain *ch, const hetpart_chain_opts *opts,
			   hetpart_err *err)
{
	hetpart_status rc = run(ch, sd, opts, err);
	double planned = sd->planned;

	if (rc == HETPART_OK && isnan(planned)) {
		rc = part_sd_date(sd, ch, false, err);
		planned = sd->makespan;
	}
	if (rc == HETPART_OK && (ch->latency || opts->method == HETPART_CHAIN_LP))
		rc = part_sd_date(sd, ch, true, err);
	sd->planned = planned;
	sd->lower = part_ch_lower(ch);
	return rc;
}

static hetpart_status read_opts(hetpart_chain_opts *full, const hetpart_chain_opts *opts,
				hetpart_err *err)
{
	hetpart_chain_opts defaults = HETPART_CHAIN_OPTS_INIT;

	*full = defaults;
	if (part_opts_copy(full, PART_END_OF(hetpart_chain_opts, max_mem_bytes), sizeof *full, opts,
			   err) != HETPART_OK)
		return HETPART_EINVAL;
	if (!name_of(full->method))
		return part_fail(err, HETPART_EINVAL, "'%d' is not a chain method",
				 (int)full->method);
	return HETPART_OK;
}

hetpart_status hetpart_chain_create(hetpart_schedule **out, const hetpart_chain *chain,
				    const hetpart_chain_opts *opts, hetpart_err *err)
{
	hetpart_schedule *sd = NULL;
	hetpart_chain_opts full;
	struct chain ch;
	hetpart_status rc;

	if (!out)
		return part_fail(err, HETPART_EINVAL, "'out' is NULL");
	*out = NULL;
	if ((rc = read_opts(&full, opts, err)) != HETPART_OK)
		return rc;
	rc = part_ch_init(&ch, chain, err);
	if (rc == HETPART_OK)
		rc = part_budget_open(&ch.budget, full.limit_s, full.max_mem_bytes, full.stop,
				      full.stop_ctx, err);
	if (rc == HETPART_OK)
		rc = part_sd_new(&sd, &ch, name_of(full.method), err);
	if (rc == HETPART_OK)
		rc = plan(sd, &ch, &full, err);
	if (rc == HETPART_OK)
		*out = sd;
	else
		hetpart_schedule_free(sd);
	part_ch_free(&ch);
	return rc;
}

uint64_t hetpart_chain_mem_bytes(const hetpart_chain *chain, const hetpart_chain_opts *opts)
{
	uint64_t total = 0, bytes;
	hetpart_chain_opts full;
	hetpart_chain c;

	if (read_opts(&full, opts, NULL) != HETPART_OK ||
	    part_ch_check(&c, chain, NULL) != HETPART_OK)
		return UINT64_MAX;
	for (size_t n = 0; n < c.nloads; n++)
		if (full.method == HETPART_CHAIN_LP)
			total += c.installments ? c.installments[n] : 1;
		else
			total += full.method == HETPART_CHAIN_MULTIINST && full.max_installments
					 ? full.max_installments
					 : 1;
	bytes = 4096 + (uint64_t)c.nprocs * (64 + 16 * c.nloads) + 8 * (uint64_t)c.nloads;
	if (total > UINT64_MAX / 64 / c.nprocs)
		return UINT64_MAX;
	bytes += total * 48 * c.nprocs;
	if (full.method == HETPART_CHAIN_LP)
		bytes += part_ch_lp_bytes((size_t)total, c.nprocs);
	return bytes;
}

static hetpart_status check_fractions(const struct chain *ch, const double *f, hetpart_err *err)
{
	for (size_t n = 0; n < ch->nloads; n++) {
		long double sum = 0;
		for (size_t k = part_ch_installments(ch, n) * ch->m; k-- > 0; f++) {
			if (!isfinite(*f) || *f < 0)
				return part_fail(err, HETPART_EINVAL,
						 "load %zu has a fraction of '%g': want 0 or more",
						 n, *f);
			sum += *f;
		}
		if (!(fabsl(sum - 1) <= 1e-6L))
			return part_fail(err, HETPART_EINVAL,
					 "the fractions of load %zu sum to '%.9Lg': want 1", n,
					 sum);
	}
	return HETPART_OK;
}

static hetpart_status replay(hetpart_schedule *sd, const struct chain *ch, const double *fractions,
			     size_t nfractions, hetpart_err *err)
{
	hetpart_status rc = as_given(sd, ch, err);

	if (rc != HETPART_OK)
		return rc;
	if (nfractions != sd->total * ch->m)
		return part_fail(err, HETPART_EINVAL,
				 "'%zu' fractions: want %zu for %zu installments on %zu processors",
				 nfractions, sd->total * ch->m, sd->total, ch->m);
	if ((rc = check_fractions(ch, fractions, err)) != HETPART_OK)
		return rc;
	for (size_t k = 0; k < nfractions; k++)
		sd->fraction[k] = fractions[k];
	return part_sd_date(sd, ch, true, err);
}

hetpart_status hetpart_chain_replay(hetpart_schedule **out, const hetpart_chain *chain,
				    const double *fractions, size_t nfractions, hetpart_err *err)
{
	hetpart_schedule *sd = NULL;
	struct chain ch;
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || !fractions)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "fractions" : "out");
	rc = part_ch_init(&ch, chain, err);
	if (rc == HETPART_OK)
		rc = part_sd_new(&sd, &ch, "replay", err);
	if (rc == HETPART_OK)
		rc = replay(sd, &ch, fractions, nfractions, err);
	if (rc == HETPART_OK)
		*out = sd;
	else
		hetpart_schedule_free(sd);
	part_ch_free(&ch);
	return rc;
}
