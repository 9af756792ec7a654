/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Second phase: shares by the planner library. Two vectors, each with its own cost: the rank that
 * sorts what it reads pays n ln n for that and n for what it writes; the rank that sorts what it
 * receives the other way round. Rank 0 plans, the others take its word, so all plans are one. */
#include "phases.h"
#include "model/bottleneck.h"
#include "model/link_rates.h"
#include "model/shares.h"

#include <string.h>

/* One vector, by experience where there is some and it is asked for. */
static status one_vector(rank_env *env, const rank_speeds *g, history *h, bool before,
			 const share_plan *s, uint64_t *share)
{
	const bool sorting = before == settings_strategy(env->o)->sorts_first;
	bool known = false;
	const status rc = h ? history_shares(env, h, before, s->records, share, &known) : ST_OK;
	if (rc != ST_OK || known)
		return rc;
	return shares_by_speed(env->o->plan, sorting, s->records, before ? g->before : g->after,
			       g->p, share, &env->e);
}

/* Where links or disks are known, shares by speed alone are where that starts. */
static status weigh(rank_env *env, const input *in, const rank_speeds *g, history *h, share_plan *s)
{
	rank_costs *before = NULL, *after = NULL;
	bound_ranks b = { .o = env->o,
			  .ranks = g->p,
			  .p = g->p,
			  .rate = s->rate,
			  .cpus = g->cpus,
			  .in_fixed = env_scatters(env) || in->per_rank };
	const bool wanted = env->o->plan == PLAN_NLOGN || env->o->plan == PLAN_ONLINE;
	if (!wanted || g->p == 1 || env->o->merge || !bound_ranks_known(s->rate, g->p))
		return ST_OK;
	status rc = h ? history_costs(env, h, true, s->records, &before) : ST_OK;
	if (rc == ST_OK && before)
		rc = history_costs(env, h, false, s->records, &after);
	if (before && after) { /* else by the rates: what is seen of one part fits no other rate */
		b.before_s = rank_costs_all(before);
		b.after_s = rank_costs_all(after);
	}
	if (rc == ST_OK)
		rc = bound_shares(&b, s->in, s->out, &env->e);
	rank_costs_free(before);
	rank_costs_free(after);
	return rc;
}

/* At rank 0: both vectors. */
static status make_shares(rank_env *env, const input *in, const rank_speeds *g, history **h,
			  share_plan *s, scatter_plan *sp)
{
	status rc = ST_OK;
	if (env->o->plan == PLAN_ONLINE && !in->is_stream)
		rc = history_open(env, g, h);
	if (rc == ST_OK && env_scatters(env))
		rc = scatter_shares(env, g, s, sp);
	else if (rc == ST_OK && !in->per_rank)
		rc = one_vector(env, g, *h, true, s, s->in);
	if (rc == ST_OK)
		rc = one_vector(env, g, *h, false, s, s->out);
	if (rc == ST_OK)
		rc = weigh(env, in, g, *h, s);
	if (rc == ST_OK && env->o->merge) /* a rank reads what it writes */
		memcpy(s->in, s->out, (size_t)env->c->size * sizeof *s->in);
	if (rc == ST_OK)
		share_plan_sum_out(env, s);
	return rc;
}

void plan_note(rank_env *env, const share_plan *s, const scatter_plan *sp)
{
	rank_result *r = env->stats;
	r->speed = s->speed[env->c->rank];
	r->planned_in = own_share(env, s->in);
	r->planned_out = own_share(env, s->out);
	r->rate = s->rate[env->c->rank];
	if (env_scatters(env)) {
		r->link_s = env->c->rank ? sp->byte_s[env->c->rank] : 0;
		r->predicted_s = sp->arrive_s[env->c->rank];
	}
}

/* Rank 0's plan to those who do not have it in common with it. */
static status tell_shares(rank_env *env, share_plan *s)
{
	const size_t p = (size_t)env->c->size;
	if (s->common)
		return ST_OK;
	status rc = comm_bcast(env->c, s->speed, p * sizeof *s->speed, 0);
	if (rc == ST_OK)
		rc = comm_bcast(env->c, s->rate, p * sizeof *s->rate, 0);
	if (rc == ST_OK)
		rc = comm_bcast(env->c, s->in, p * sizeof *s->in, 0);
	if (rc == ST_OK)
		rc = comm_bcast(env->c, s->out, p * sizeof *s->out, 0);
	if (rc == ST_OK)
		share_plan_sum_out(env, s);
	return rc;
}

/* What rank 0 found and planned to everybody. */
static status tell_plan(rank_env *env, bool is_stdin, share_plan *s, scatter_plan *sp)
{
	const size_t p = (size_t)env->c->size;
	status rc = tell_shares(env, s);
	if (rc == ST_OK && env_scatters(env))
		rc = comm_bcast(env->c, sp->arrive_s, p * sizeof *sp->arrive_s, 0);
	if (rc == ST_OK && env_scatters(env))
		rc = comm_bcast(env->c, sp->byte_s, p * sizeof *sp->byte_s, 0);
	if (rc == ST_OK)
		rc = share_plan_check(env, s->records, s->in, is_stdin, "reading");
	return rc == ST_OK ? share_plan_check(env, s->records, s->out, is_stdin, "writing") : rc;
}

/* Not where there is nothing to be gained by it. */
static bool measures_links(const rank_env *env)
{
	const settings *o = env->o;
	const bool wanted = o->calibrate || o->measure_links || o->plan == PLAN_ONLINE;
	const bool weighed = o->plan == PLAN_NLOGN || o->plan == PLAN_ONLINE;
	return wanted && weighed && !o->links && !o->merge && !o->from_root && env->c->size > 1 &&
	       env->c->processes > 1 && !env->c->for_all;
}

/* All ranks. */
static status find_links(rank_env *env, const rank_speeds *g, share_plan *s)
{
	double *link_s = mem_array(&env->m, g->p, sizeof *link_s, "links", &env->e);
	status rc = comm_agree(env->c, link_s ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = link_rates_measure(env, g, link_s);
	for (size_t i = 0; rc == ST_OK && i < g->p; i++)
		s->rate[i].link_s = link_s[i];
	mem_free(&env->m, link_s);
	return rc;
}

status phase_plan(rank_env *env, const files *f, const cpu_share *cpus, share_plan *s,
		  scatter_plan *sp, history **h)
{
	rank_speeds g;
	status rc = rank_speeds_find(env, cpus->threads, s, &g);
	if (env_scatters(env) || measures_links(env)) {
		rc = comm_agree(env->c, rc); /* rank 0 may have failed alone */
		if (rc == ST_OK)
			rc = env_scatters(env) ? scatter_links(env, &g, s->records, sp)
					       : find_links(env, &g, s);
	}
	if (rc == ST_OK && g.p)
		rc = make_shares(env, &f->in, &g, h, s, sp);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = tell_plan(env, f->in.is_stream, s, sp);
	if (rc == ST_OK)
		plan_note(env, s, sp);
	rank_speeds_free(env, &g);
	return rc;
}

static run_times own_times(const rank_env *env)
{
	const rank_result *r = env->stats;
	const double *t = r->phase_s;
	const bool first = settings_strategy(env->o)->sorts_first;
	return (run_times){ .before_s = t[PH_READ] + (first ? t[PH_SORT] : 0),
			    .after_s = t[PH_MERGE] + t[PH_WRITE] + (first ? 0 : t[PH_SORT]),
			    .in = r->in,
			    .out = r->out };
}

/* The output stands already: only the network can fail here. */
status phase_update_wisdom(rank_env *env, bool worth, history *h)
{
	const size_t p = env->c->rank == 0 ? (size_t)env->c->size : 0;
	const run_times mine = own_times(env);
	if (env->o->plan != PLAN_ONLINE || !worth)
		return ST_OK;
	run_times *all = mem_array(&env->m, p, sizeof *all, "times", &env->note);
	status rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		rc = comm_gather(env->c, &mine, all, sizeof mine, 0);
		if (rc == ST_OK && p)
			history_add(h, all, &env->note);
	} else if (!env->c->broken) {
		rc = ST_OK;
	}
	mem_free(&env->m, all);
	return rc;
}
