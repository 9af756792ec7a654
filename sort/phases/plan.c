/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Second phase: shares by the planner library. Two vectors, each with its own cost: the rank that
 * sorts what it reads pays n ln n for that and n for what it writes; the rank that sorts what it
 * receives the other way round. Rank 0 plans, the others receive its plan, so all plans are one.
 * When the budget is made, each rank predicts its time: nothing of that can fail, and rates that
 * are not known are nominal. */
#include "budget_phase.h"
#include "phases.h"
#include "base/minmax.h"
#include "exchange/splitter_search.h"
#include "io/tempdir.h"
#include "model/link_rates.h"
#include "base/cgroup.h"
#include "spill/spill.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	TRIAL_BYTES = 32 << 20,
	TRIAL_PART = 16, /* of what is to be written */
	LEAST_TRIAL_BYTES = 4 << 20,
};

static const double START_S = 0.02; /* files made, synced and renamed, threads started */

/* One vector, by experience where there is some and it is asked for. */
static status one_vector(rank_env *env, const rank_speeds *g, wisdom *w, bool before,
			 const share_plan *s, uint64_t *share)
{
	const bool sorting = before == job_time_sorts_reading(env->o);
	bool known = false;
	const run_part of = before ? PART_BEFORE : PART_AFTER;
	const status rc = w ? wisdom_shares(w, of, s->records, share, &known, &env->e) : ST_OK;
	if (rc != ST_OK || known)
		return rc;
	return shares_by_speed(env->o->plan, sorting, s->records, before ? g->before : g->after,
			       g->p, share, &env->e);
}

/* Where links or disks are known, shares by speed alone are where that starts. */
static status weigh(rank_env *env, const input *in, const rank_speeds *g, wisdom *w, share_plan *s)
{
	const hetpart_cost *const *before = NULL, *const *after = NULL;
	bound_ranks b = { .o = env->o,
			  .p = g->p,
			  .rate = s->rate,
			  .cpus = g->cpus,
			  .in_fixed = env_scatters(env) || in->per_rank };
	const bool wanted = env->o->plan == PLAN_NLOGN || env->o->plan == PLAN_ONLINE;
	if (!wanted || g->p == 1 || env->o->merge || !shares_bound_known(s->rate, g->p))
		return ST_OK;
	status rc = w ? wisdom_costs(w, PART_BEFORE, s->records, &before, &env->e) : ST_OK;
	if (rc == ST_OK && before)
		rc = wisdom_costs(w, PART_AFTER, s->records, &after, &env->e);
	if (before && after) { /* else by the rates: what is seen of one part fits no other rate */
		b.before_s = before;
		b.after_s = after;
	}
	return rc == ST_OK ? shares_bound(&b, s->in, s->out, &env->e) : rc;
}

/* At rank 0: both vectors. */
static status make_shares(rank_env *env, const input *in, const rank_speeds *g, wisdom **w,
			  share_plan *s, scatter_plan *sp)
{
	status rc = ST_OK;
	if (env->o->plan == PLAN_ONLINE && !in->is_stream) {
		rc = wisdom_open(w, env->o, &env->note, &env->e);
		if (rc == ST_OK)
			rc = rank_speeds_name(env, g, *w);
	}
	if (rc == ST_OK && env_scatters(env))
		rc = scatter_shares(env, g, s, sp);
	else if (rc == ST_OK && !in->per_rank)
		rc = one_vector(env, g, *w, true, s, s->in);
	if (rc == ST_OK)
		rc = one_vector(env, g, *w, false, s, s->out);
	if (rc == ST_OK)
		rc = weigh(env, in, g, *w, s);
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
		  scatter_plan *sp, wisdom **w)
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
		rc = make_shares(env, &f->in, &g, w, s, sp);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = tell_plan(env, f->in.is_stream, s, sp);
	if (rc == ST_OK)
		plan_note(env, s, sp);
	rank_speeds_free(env, &g);
	return rc;
}

/* Of those that the rates are for: measured ones are of all threads, with all ranks at work, and at
 * the speed that quotas allow. */
static double processors_of(const rank_env *env, const settled *k)
{
	const quota q = quota_find("");
	const double mine =
		fmin(k->cpus->processors, quota_processors(&q, INFINITY, k->cpus->ranks_here));
	return env->o->calibrate ? 1 : fmin(mine, k->cpus->threads);
}

static bool is_cold(const input *in, uint64_t bytes)
{
	const bool is_file = in->files && !in->file->is_stream;
	const int fd = is_file ? open(in->file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		return false;
	const bool cold = !io_fd_is_cached(fd, 0, u64_min(bytes, (uint64_t)in->file->st.st_size));
	close(fd);
	return cold;
}

/* The directory of the output; "" is none. */
static void output_dir(const settings *o, char dir[PATH_MAX])
{
	const char *slash = o->output ? strrchr(o->output, '/') : NULL;
	const size_t n = slash ? (size_t)(slash - o->output) + 1 : 0;
	if (n >= PATH_MAX)
		return;
	memcpy(dir, slash ? o->output : ".", slash ? n : 1);
	dir[slash ? n : 1] = '\0';
}

static double measured_disk(rank_env *env, const settled *k, const char *run_dir, uint64_t bytes)
{
	const uint64_t most = u64_min(bytes / TRIAL_PART, TRIAL_BYTES);
	char dir[PATH_MAX] = "";
	if (env->o->disks)
		return env->stats->rate.disk_s;
	if (!env->o->calibrate || most < LEAST_TRIAL_BYTES)
		return 0;
	if (k->mp->budget.spills)
		return disk_rate_s(&env->m, run_dir, most);
	output_dir(env->o, dir);
	return disk_rate_s(&env->m, dir, most);
}

/* Of memory, beside what the records that are read take. */
static double fresh_bytes(const settled *k, uint64_t bytes)
{
	const uint64_t held = k->mp->budget.spills ? 0 : bytes, all = k->mp->budget.bytes;
	return all > held ? (double)(all - held) : 0;
}

/* Of the records of runs, which stay in memory. */
static double held_part(const settled *k, uint64_t bytes)
{
	const uint64_t disk = k->mp->budget.disk_bytes;
	return k->mp->budget.spills && bytes > disk ? 1 - (double)disk / (double)bytes : 0;
}

/* For each splitter a round of the search looks into each run three times: for a sample of what is
 * left, and for the places of two pivots. What is left then is what samples of all runs of all
 * ranks are off by; half of it, where they are few. */
static double lookup_bytes(const rank_env *env, const settled *k)
{
	const size_t p = (size_t)env->c->size;
	const double places = splitter_search_left(k->s->records, p);
	if (!k->mp->budget.spills || places < 2)
		return 0;
	const double of_rank = (double)k->mp->budget.runs;
	const double bits = fmax(1, log2(sqrt((double)p * of_rank) / 5));
	return 3 * (1 + log2(places) / bits) * (double)(p - 1) * of_rank * SPILL_BLOCK_BYTES;
}

static job_load load_of(rank_env *env, const settled *k, const char *run_dir)
{
	const uint64_t in = own_share(env, k->s->in), out = own_share(env, k->s->out);
	const uint64_t bytes = in * env->o->lay.record_bytes;
	return (job_load){ .in = in,
			   .out = out,
			   .ranks = (size_t)env->c->size,
			   .cpus = processors_of(env, k),
			   .cold = is_cold(&k->f->in, bytes),
			   .spills = k->mp->budget.spills,
			   .durable = env->o->fsync && !k->f->out.is_stdout,
			   .disk_s = measured_disk(env, k, run_dir, bytes),
			   .disk_ranks = k->cpus->ranks_here,
			   .fresh_bytes = fresh_bytes(k, bytes),
			   .lookup_bytes = lookup_bytes(env, k),
			   .spreads = k->mp->budget.spills && budget_spreads(env, &k->f->in),
			   .held = held_part(k, bytes),
			   .far = 1 - (double)k->cpus->ranks_here / env->c->size,
			   .rereads = env->o->verify == VERIFY_REREAD && !k->f->out.is_stdout };
}

void plan_time(rank_env *env, const settled *k, const char *run_dir)
{
	rank_result *r = env->stats;
	rank_progress *g = &env->c->progress;
	const job_load l = load_of(env, k, run_dir);
	const job_time t = job_time_of(&r->rate, env->o, &l);
	/* measuring is part of the time */
	r->predicted_s += START_S + r->phase_s[PH_DESCRIBE] + r->phase_s[PH_PLAN] + t.total_s;
	snprintf(r->bound_by, sizeof r->bound_by, "%s",
		 job_time_bound_name(job_time_bound_by(&r->rate, env->o, &l)));
	for (int i = STAGE_READ; i < STAGES; i++)
		progress_plan(g, (stage_kind)i, t.stage[i]);
	g->spilled = l.spills ? 1 - l.held : 0;
	r->stages = progress_times(g);
}

static run_times own_times(const rank_env *env)
{
	const rank_result *r = env->stats;
	const double *t = r->phase_s;
	const bool first = job_time_sorts_reading(env->o);
	return (run_times){ .before_s = t[PH_READ] + (first ? t[PH_SORT] : 0),
			    .after_s = t[PH_MERGE] + t[PH_WRITE] + (first ? 0 : t[PH_SORT]),
			    .in = r->in,
			    .out = r->out };
}

/* The output stands already: only the network can fail here. */
status phase_update_wisdom(rank_env *env, bool worth, wisdom *w)
{
	const size_t p = env->c->rank == 0 ? (size_t)env->c->size : 0;
	const run_times mine = own_times(env);
	if (env->o->plan != PLAN_ONLINE || !worth)
		return ST_OK;
	run_times *all = mem_array(&env->m, p, sizeof *all, "times", &env->note);
	status rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		rc = comm_gather(env->c, &mine, all, sizeof mine, 0);
		if (rc == ST_OK && p) {
			wisdom_learn(w, all);
			wisdom_save(w, (uint64_t)time(NULL), &env->note);
		}
	} else if (!env->c->broken) {
		rc = ST_OK;
	}
	mem_free(&env->m, all);
	return rc;
}
