/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Second phase: shares by the planner library. Two vectors, each with its own cost: the rank that
 * sorts what it reads pays n ln n for that and n for what it writes; the rank that sorts what it
 * receives the other way round. Rank 0 plans, the others take its word, so all plans are one. */
#include "scatter/scatter.h"
#include "model/history.h"
#include "model/shares.h"

#include <inttypes.h>

/* One vector, by experience where there is some and it is asked for. */
static status one_vector(job *j, const rank_speeds *g, bool before, uint64_t *share)
{
	const bool sorting = before == (j->o->strategy == BY_MERGING);
	bool known = false;
	const status rc = j->history ? history_shares(j, before, share, &known) : ST_OK;
	if (rc != ST_OK || known)
		return rc;
	return shares_by_speed(j->o->plan, sorting, j->records, before ? g->before : g->after, g->p,
			       share, &j->e);
}

/* At rank 0: both vectors. */
static status make_shares(job *j, const rank_speeds *g)
{
	status rc = ST_OK;
	if (j->o->plan == PLAN_ONLINE && !j->in.is_stdin)
		rc = history_open(j, g);
	if (rc == ST_OK && job_scatters(j))
		rc = scatter_shares(j, g);
	else if (rc == ST_OK && !j->in.per_rank)
		rc = one_vector(j, g, true, j->share_in);
	if (rc == ST_OK)
		rc = one_vector(j, g, false, j->share_out);
	return rc;
}

void plan_targets(job *j)
{
	uint64_t sum = 0;
	for (int i = 0; i < j->c->size; i++)
		j->target[i] = sum += j->share_out[i];
}

static void note_plan(job *j)
{
	plan_targets(j);
	rank_result *r = &j->mine;
	r->speed = j->speed[j->c->rank];
	r->planned_in = own_share(j, j->share_in);
	r->planned_out = own_share(j, j->share_out);
	r->rate = j->rate[j->c->rank];
	r->predicted_s = rates_before_s(&r->rate, j->o, r->planned_in) +
			 rates_after_s(&r->rate, j->o, r->planned_out);
	if (job_scatters(j)) {
		r->link_s = j->c->rank ? j->scatter.byte_s[j->c->rank] : 0;
		r->predicted_s += j->scatter.arrive_s[j->c->rank];
	}
}

/* More would be read or written than there is, less than there is would be lost. */
status plan_check(job *j, const uint64_t *share, const char *what)
{
	uint64_t sum = 0;
	bool ok = true;
	for (int i = 0; i < j->c->size; i++)
		ok &= !__builtin_add_overflow(sum, share[i], &sum);
	if (!ok || (sum != j->records && !j->in.is_stdin))
		return err_set(&j->e, ST_PEER,
			       "the shares that rank 0 has planned for %s are not those of %" PRIu64
			       " records",
			       what, j->records);
	return ST_OK;
}

/* What rank 0 found and planned to everybody. */
static status share_plan(job *j)
{
	const size_t p = (size_t)j->c->size;
	status rc = comm_bcast(j->c, j->speed, p * sizeof *j->speed, 0);
	if (rc == ST_OK)
		rc = comm_bcast(j->c, j->rate, p * sizeof *j->rate, 0);
	if (rc == ST_OK)
		rc = comm_bcast(j->c, j->share_in, p * sizeof *j->share_in, 0);
	if (rc == ST_OK)
		rc = comm_bcast(j->c, j->share_out, p * sizeof *j->share_out, 0);
	if (rc == ST_OK && job_scatters(j))
		rc = comm_bcast(j->c, j->scatter.arrive_s, p * sizeof *j->scatter.arrive_s, 0);
	if (rc == ST_OK && job_scatters(j))
		rc = comm_bcast(j->c, j->scatter.byte_s, p * sizeof *j->scatter.byte_s, 0);
	if (rc == ST_OK)
		rc = plan_check(j, j->share_in, "reading");
	return rc == ST_OK ? plan_check(j, j->share_out, "writing") : rc;
}

status phase_plan(job *j)
{
	rank_speeds g;
	status rc = rank_speeds_find(j, &g);
	if (job_scatters(j)) { /* rank 0 may have failed alone, and messages are to follow */
		rc = comm_agree(j->c, rc);
		if (rc == ST_OK)
			rc = scatter_links(j, &g);
	}
	if (rc == ST_OK && g.p)
		rc = make_shares(j, &g);
	rc = comm_agree(j->c, rc);
	if (rc == ST_OK)
		rc = share_plan(j);
	if (rc == ST_OK)
		note_plan(j);
	rank_speeds_free(j, &g);
	return rc;
}
