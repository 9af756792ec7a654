/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans how many records each rank reads and writes, by the planner library, and how long it takes.
 * Reading and writing have different costs, so there are two vectors of shares. A rank that sorts
 * the records that it reads pays n ln n for reading and n for writing. A rank that sorts received
 * records pays the reverse. Rank 0 plans, and the others receive its plan. After the budget is
 * made, each rank predicts its time; if a rate is unknown, by a nominal rate. */
#include "base/limit.h"
#include "base/arith.h"
#include "exchange/lanes.h"
#include "exchange/splitter_search.h"
#include "io/tempdir.h"
#include "memory_plan.h"
#include "work_plan.h"
#include "model/rank_speeds.h"
#include "spill/spill.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BRIEF_BYTES = 1 << 20, /* a job of less data ends before a disk or a quota slows it down */
};

/* The part by which the model may be wrong about the times of two plans. */
static const double MODEL_ERROR = 0.1;

static const double START_S = 0.02; /* to make, sync and rename files, and to start threads */

typedef enum place { ON_DISK, IN_PAGE_CACHE, ELSEWHERE } place;

/* Find where the first `bytes` of the input are, from its first file. An input of little data, and
 * one that is read by direct I/O, from several files, or from a file that a program
 * has open for writing, is ELSEWHERE unless it is on the disk. reader_map() decides by the same
 * rules for each part of a file. */
static place input_place(const job *j, uint64_t bytes)
{
	const input *f = &j->files.in;
	if (!input_is_cached(f, bytes))
		return ON_DISK;
	const bool whole = f->files && !f->file->is_stream && bytes >= BRIEF_BYTES;
	return whole && input_may_be_mapped(f, j->env.o->direct) ? IN_PAGE_CACHE : ELSEWHERE;
}

/* Return how many bytes of a rank's output the job does not wait for until they are on the disk. */
static double buffer_bytes(const job *j)
{
	const settings *o = j->env.o;
	return j->files.out.is_stdout ? INFINITY
	       : o->fsync             ? 0
				      : disk_buffer_bytes() / j->cpus.ranks_here;
}

/* Return whether the method considers links and disks. */
static bool plan_weighs(const settings *o)
{
	return o->plan == PLAN_NLOGN || o->plan == PLAN_ONLINE;
}

/* Compute the shares of reading or of writing: by wisdom if requested and available, else by
 * speed. */
static status one_vector(job *j, const rank_speeds *g, bool before, uint64_t *share)
{
	rank_env *env = &j->env;
	const uint64_t n = j->shares.records;
	const bool sorting = before == settings_sorts_first(env->o);
	bool known = false;
	const status rc = j->wisdom ? wisdom_shares(j->wisdom, before ? PART_BEFORE : PART_AFTER, n,
						    share, &known, &env->e)
				    : ST_OK;
	if (rc != ST_OK || known)
		return rc;
	return shares_by_speed(shares_kind(env->o->plan, sorting), n, before ? g->before : g->after,
			       g->p, share, &env->e);
}

bound_ranks plan_bound_ranks(const job *j)
{
	const rank_speeds *g = &j->speeds_of;
	const rank_env *env = &j->env;
	const double p = (double)g->p, here = p / (double)rank_speeds_hosts(g);
	return (bound_ranks){
		.o = env->o,
		.p = g->p,
		.records = j->shares.records,
		.rate = j->shares.rate,
		.far = p > 1 ? (p - here) / (p - 1) : 0,
		/* the disk has to write the output in any case, so no share counts on a buffer */
		.buffer_bytes = j->files.out.is_stdout ? INFINITY : 0,
		.in_fixed = env_scatters(env) || j->files.in.per_rank,
	};
}

/* Let all ranks have equal shares, unless measured speeds promise a gain that their errors cannot
 * cost. A rank that has more than an equal share may be slower than it was measured. A plan by
 * times of earlier jobs is always followed. */
static status keep_if_it_pays(job *j, const rank_speeds *g)
{
	rank_env *env = &j->env;
	share_plan *s = &j->shares;
	const size_t p = g->p;
	const uint64_t each = s->records / p, more = s->records % p;
	bound_ranks b = plan_bound_ranks(j);
	rates *slow = mem_array(&env->m, p, sizeof *slow + 2 * sizeof *s->in, "plan", &env->e);
	if (!slow)
		return ST_RESOURCE;
	uint64_t *in = (void *)(slow + p), *out = in + p;
	bool equal = true, alike = true;
	for (size_t i = 0; i < p; i++) {
		out[i] = each + (i < more);
		in[i] = b.in_fixed ? s->in[i] : out[i];
		equal = equal && in[i] == s->in[i] && out[i] == s->out[i];
		alike = alike && s->speed[i] >= 1; /* the fastest rank has 1 */
		slow[i] = s->rate[i];
		if (s->in[i] > in[i] || s->out[i] > out[i])
			rates_scale(&slow[i], 1 + g->had[i].error);
	}
	const double equal_s = shares_bound_s(&b, in, out);
	b.rate = slow;
	const bool pays = shares_bound_s(&b, s->in, s->out) < (1 - MODEL_ERROR) * equal_s;
	if (!pays) {
		memcpy(s->in, in, p * sizeof *in);
		memcpy(s->out, out, p * sizeof *out);
	}
	if (s->measured)
		env->stats->shares_by = pays && !equal ? SHARES_BY_SPEEDS
					: alike        ? SHARES_BY_EQUAL_SPEEDS
						       : SHARES_BY_DOUBT;
	else
		env->stats->shares_by = pays && !equal ? SHARES_BY_PROCESSORS : SHARES_BY_HASTE;
	mem_free(&env->m, slow);
	return ST_OK;
}

/* Note what the shares save. */
static status compare_with_equal(job *j)
{
	rank_env *env = &j->env;
	const share_plan *s = &j->shares;
	const bound_ranks b = plan_bound_ranks(j);
	uint64_t *each = mem_array(&env->m, b.p, sizeof *each, "plan", &env->e);
	if (!each)
		return ST_RESOURCE;
	for (size_t i = 0; i < b.p; i++)
		each[i] = s->records / b.p + (i < s->records % b.p);
	env->stats->both_s[0] = shares_bound_s(&b, s->in, s->out);
	env->stats->both_s[1] = shares_bound_s(&b, b.in_fixed ? s->in : each, each);
	mem_free(&env->m, each);
	return ST_OK;
}

/* Improve the shares by speed with the times of all resources. */
static status plan_improve(job *j, const rank_speeds *g)
{
	err *e = &j->env.e;
	share_plan *s = &j->shares;
	wisdom *w = j->wisdom;
	const hetpart_cost *const *before = NULL, *const *after = NULL;
	bound_ranks b = plan_bound_ranks(j);
	if (!plan_weighs(b.o) || g->p == 1 || b.o->merge)
		return ST_OK;
	status rc = w ? wisdom_costs(w, PART_BEFORE, s->records, &before, e) : ST_OK;
	if (rc == ST_OK && before)
		rc = wisdom_costs(w, PART_AFTER, s->records, &after, e);
	if (before && after) { /* costs by wisdom are used for both or for none */
		b.before_s = before;
		b.after_s = after;
	}
	return rc == ST_OK ? shares_bound(&b, s->in, s->out, e) : rc;
}

/* Compute the shares of reading and of writing, at rank 0. speeds: they were to be measured. */
static status make_shares(job *j, const rank_speeds *g, bool speeds)
{
	rank_env *env = &j->env;
	share_plan *s = &j->shares;
	status rc = ST_OK;
	if (env->o->plan == PLAN_ONLINE && !j->files.in.is_stream) {
		rc = wisdom_open(&j->wisdom, env->o, &env->note, &env->e);
		if (rc == ST_OK)
			rc = rank_speeds_name(env, g, j->wisdom);
	}
	if (rc == ST_OK && env_scatters(env))
		rc = scatter_shares(env, g, s, &j->scatter);
	else if (rc == ST_OK && !j->files.in.per_rank)
		rc = one_vector(j, g, true, s->in);
	if (rc == ST_OK)
		rc = one_vector(j, g, false, s->out);
	if (rc == ST_OK)
		rc = plan_improve(j, g);
	if (rc == ST_OK && speeds && !j->wisdom)
		rc = keep_if_it_pays(j, g);
	if (rc == ST_OK && g->p > 1)
		rc = compare_with_equal(j);
	if (rc == ST_OK && env->o->merge) /* a rank reads the records that it writes */
		memcpy(s->in, s->out, (size_t)env->c->size * sizeof *s->in);
	if (rc == ST_OK)
		share_plan_sum_out(env, s);
	return rc;
}

/* Send the plan of rank 0 to the ranks that do not share its memory. */
static status share_plan_with_all(job *j)
{
	rank_env *env = &j->env;
	share_plan *s = &j->shares;
	const scatter_plan *sp = &j->scatter;
	const bool is_stdin = j->files.in.is_stream;
	const size_t p = (size_t)env->c->size;
	const struct {
		bool wanted;
		void *at;
		size_t bytes;
	} part[] = { { !s->common, s->speed, sizeof *s->speed },
		     { !s->common, s->rate, sizeof *s->rate },
		     { !s->common, s->in, sizeof *s->in },
		     { !s->common, s->out, sizeof *s->out },
		     { env_scatters(env), sp->arrive_s, sizeof *sp->arrive_s },
		     { env_scatters(env), sp->byte_s, sizeof *sp->byte_s } };
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < sizeof part / sizeof *part; i++)
		if (part[i].wanted)
			rc = comm_bcast(env->c, part[i].at, p * part[i].bytes, 0);
	if (rc == ST_OK && p > 1)
		rc = comm_bcast(env->c, env->stats->both_s, sizeof env->stats->both_s, 0);
	if (rc == ST_OK && !s->common)
		share_plan_sum_out(env, s);
	if (rc == ST_OK)
		rc = share_plan_check(env, s->records, s->in, is_stdin, "reading");
	return rc == ST_OK ? share_plan_check(env, s->records, s->out, is_stdin, "writing") : rc;
}

numa_place plan_place(const job *j, unsigned before)
{
	const cpu_share *c = &j->cpus;
	/* do not bind a rank with fewer threads than processors: another job on the same processors
	 * would bind its threads to the same first node */
	const bool fills = c->threads >= (unsigned)c->processors;
	return numa_plan(c->numa, c->sharing, before, c->threads,
			 j->env.o->bind == BIND_AUTO && fills);
}

void plan_note(job *j)
{
	const rank_env *env = &j->env;
	const share_plan *s = &j->shares;
	rank_result *r = env->stats;
	r->speed = s->speed[env->c->rank];
	r->planned_in = own_share(env, s->in);
	r->planned_out = own_share(env, s->out);
	r->rate = s->rate[env->c->rank];
	r->links_by = env->o->links ? RATE_GIVEN : j->links_measured ? RATE_MEASURED : RATE_NOMINAL;
	if (env->o->disks)
		r->disk_by = RATE_GIVEN;
	if (env_scatters(env)) {
		r->link_s = env->c->rank ? j->scatter.byte_s[env->c->rank] : 0;
		r->predicted_s = j->scatter.arrive_s[env->c->rank];
	}
}

/* Decide what to measure: speeds with --speeds=auto, and on several hosts if shares follow from
 * speeds that the user has not given; links with --links=auto, and on several hosts if the user has
 * not given them. The result is the same on all ranks. */
static void plan_measurements(const job *j, bool *speeds, bool *links)
{
	const settings *o = j->env.o;
	const bool unknown = !o->speeds && o->plan != PLAN_EQUAL && o->plan != PLAN_ONLINE &&
			     !(o->from_root && o->scatter == SCATTER_EQUAL);
	*speeds = o->calibrate || (j->cpus.apart && unknown);
	*links = (o->calibrate || o->measure_links || j->cpus.apart) && plan_weighs(o) &&
		 !o->links && !o->merge && !o->from_root && j->cpus.apart;
}

/* Look at the files of this rank, and measure the disk of its output if shares depend on it. */
static rank_storage look_at_files(job *j, bool measures)
{
	const rank_env *env = &j->env;
	const settings *o = env->o;
	const uint64_t bytes = j->shares.records / (uint64_t)env->c->size * o->lay.record_bytes;
	const double nominal_s = job_time_byte_s(NOMINAL_DISK_MB) * j->cpus.ranks_here;
	char dir[PATH_MAX];
	double disk_s = 0;
	output_dir(o, dir);
	j->out_on_disk = disk_exists(dir);
	if (j->out_on_disk && measures && !o->disks && !o->explain)
		disk_s = disk_rate_s(&j->env.m, dir, bytes);
	env->stats->disk_by = disk_s > 0 ? RATE_MEASURED : RATE_NOMINAL;
	if (j->out_on_disk && !(disk_s > 0))
		disk_s = nominal_s;
	const bool cold = env->c->size > 1 && input_place(j, bytes) == ON_DISK;
	return (rank_storage){ .disk_s = disk_s,
			       .input_s = !cold        ? 0
					  : disk_s > 0 ? disk_s
						       : nominal_s };
}

/* Return the processors that this rank may use in a job with this number of bytes. */
static double own_cpus(const job *j, uint64_t bytes)
{
	const cpu_share *c = &j->cpus;
	const quota q = bytes < BRIEF_BYTES ? (quota){ 0, 0, 0 } : quota_find("");
	return fmin(fmin(c->processors, quota_processors(&q, INFINITY, c->ranks_here)), c->threads);
}

/* Measure the links to rank 0 if it scatters the input, or all links. */
static status measure_links(job *j, const rank_speeds *g)
{
	rank_env *env = &j->env;
	share_plan *s = &j->shares;
	if (env_scatters(env))
		return scatter_links(env, g, s->records, &j->scatter);
	double *link_s = mem_array(&env->m, g->p, sizeof *link_s, "links", &env->e);
	status rc = comm_agree(env->c, link_s ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = link_rates_measure(env, g, s, link_s);
	for (size_t i = 0; rc == ST_OK && i < g->p; i++)
		s->rate[i].link_s = link_s[i];
	mem_free(&env->m, link_s);
	return rc;
}

status phase_plan(job *j)
{
	rank_env *env = &j->env;
	share_plan *s = &j->shares;
	const uint64_t each = s->records / (uint64_t)env->c->size * env->o->lay.record_bytes;
	bool speeds, links;
	plan_measurements(j, &speeds, &links);
	const rank_storage f = look_at_files(j, speeds || links);
	rank_speeds *g = &j->speeds_of;
	status rc = rank_speeds_find(env, own_cpus(j, each), &f, s, g);
	rc = comm_agree(env->c, rc); /* only rank 0 may have failed */
	const bool nominal = j->cpus.apart && !env->o->links && !env_scatters(env);
	for (size_t i = 0; rc == ST_OK && i < g->p && nominal; i++)
		s->rate[i].link_s = job_time_byte_s(NOMINAL_LINK_MB);
	if (rc == ST_OK && (links || env_scatters(env)))
		rc = measure_links(j, g);
	s->measured = speeds;
	j->links_measured = links;
	if (rc == ST_OK && speeds)
		rc = rank_speeds_measure(env, j->cpus.threads, s, g);
	if (rc == ST_OK && g->p)
		rc = make_shares(j, g, speeds);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = share_plan_with_all(j);
	if (rc == ST_OK)
		plan_note(j);
	return rc;
}

status job_replan(job *j)
{
	if (j->next.in)
		return ST_OK;
	return comm_agree(j->env.c, share_plan_copy(&j->env, &j->shares, &j->next));
}

status job_replan_out(job *j, uint64_t mine, uint64_t gone, const char *what)
{
	rank_env *env = &j->env;
	share_plan *next = &j->next;
	const struct counts {
		uint64_t out, gone;
	} own = { mine, gone };
	status rc = job_replan(j);
	struct counts *all =
		rc == ST_OK ? env_allgather(env, &own, sizeof own, "counts", &rc) : NULL;
	uint64_t left = next->records;
	for (int i = 0; all && i < env->c->size; i++) {
		next->out[i] = all[i].out;
		left -= u64_min(left, all[i].gone);
	}
	mem_free(&env->m, all);
	if (rc == ST_OK)
		rc = share_plan_check(env, left, next->out, false, what);
	if (rc == ST_OK)
		share_plan_sum_out(env, next);
	return rc;
}

/* Predict the bytes that the search for splitters reads from runs on disk. For each splitter, a
 * round looks into each run three times: for a sample of the remaining records, and for the places
 * of two pivots. The number of records that remain after a round is the error of the samples of all
 * runs, or half of the records if there are few runs. */
static double lookup_bytes(const job *j)
{
	const size_t p = (size_t)j->env.c->size;
	const double places = splitter_search_left(j->shares.records, p);
	if (!j->memory.sort.spills || places < 2)
		return 0;
	const double of_rank = (double)j->memory.sort.runs;
	const double bits = fmax(1, log2(sqrt((double)p * of_rank) / 5));
	return (1 + log2(places) / bits) * (double)(p - 1) * of_rank * SPILL_BLOCK_BYTES;
}

/* Return the load of this rank, if it reads `in` and writes `out` records. */
static job_load own_load(const job *j, uint64_t in, uint64_t out)
{
	const settings *o = j->env.o;
	const int size = j->env.c->size;
	const sort_plan *b = &j->memory.sort;
	const uint64_t bytes = in * o->lay.record_bytes, held = b->spills ? 0 : bytes;
	return (job_load){ .in = in,
			   .out = out,
			   .all = j->shares.records,
			   .ranks = (size_t)size,
			   .lanes = j->memory.lanes > 1 ? j->memory.lanes_used[j->env.c->rank] : 1,
			   .in_place = input_place(j, bytes) == IN_PAGE_CACHE && !b->spills &&
				       !env_scatters(&j->env),
			   .spills = b->spills,
			   .buffer_bytes = o->disks || j->out_on_disk ? buffer_bytes(j) : INFINITY,
			   /* memory in addition to the records that are read */
			   .fresh_bytes = b->bytes > held ? (double)(b->bytes - held) : 0,
			   .lookup_bytes = lookup_bytes(j),
			   /* the part of the records that stays in memory */
			   .held = b->spills && bytes > b->disk_bytes
					   ? 1 - (double)b->disk_bytes / (double)bytes
					   : 0,
			   .far = size > 1 ? (double)(size - (int)j->cpus.ranks_here) / (size - 1)
					   : 0,
			   .rereads = o->verify == VERIFY_REREAD && !j->files.out.is_stdout };
}

status plan_lanes_most(job *j, unsigned *most)
{
	static const double LOAD = 0.25; /* of a thread, whose work is not even */
	rank_env *env = &j->env;
	rates r = env->stats->rate;
	job_load l = own_load(j, own_share(env, j->shares.in), own_share(env, j->shares.out));
	l.lanes = EXCHANGE_MOST_LANES;
	if (env->stats->links_by == RATE_NOMINAL) /* it may be faster */
		r.link_s = 0;
	if (env->stats->disk_by == RATE_NOMINAL)
		r.disk_s = 0;
	const job_time t = job_time_of(&r, env->o, &l);
	const double mine_s = t.total_s - t.stage[STAGE_READ].all_s;
	uint64_t longest_ns = 0;
	const status rc =
		comm_reduce(env->c, (uint64_t)fmin(1e9 * mine_s, 1e18), u64_max, &longest_ns);
	const double wanted =
		job_time_thread_s(&r, env->o, &l) / (LOAD * 1e-9 * fmax((double)longest_ns, 1));
	*most = (unsigned)fmax(fmin(ceil(wanted), EXCHANGE_MOST_LANES), 1);
	return rc;
}

double plan_read_s(const job *j, const rates *r, uint64_t n)
{
	const job_load l = own_load(j, n, 0);
	return job_time_of(r, j->env.o, &l).stage[STAGE_READ].all_s;
}

void plan_time(job *j, const char *run_dir)
{
	const settings *o = j->env.o;
	const cpu_share *cpus = &j->cpus;
	const sort_plan *b = &j->memory.sort;
	rank_result *r = j->env.stats;
	rank_progress *g = &j->env.c->progress;
	const uint64_t in = own_share(&j->env, j->shares.in);
	const uint64_t bytes = in * o->lay.record_bytes;
	rates own = r->rate;
	if (b->spills && !(own.disk_s > 0)) {
		own.disk_s = o->calibrate ? disk_rate_s(&j->env.m, run_dir, bytes) : 0;
		if (!(own.disk_s > 0))
			own.disk_s = job_time_byte_s(NOMINAL_DISK_MB) * cpus->ranks_here;
	}
	const job_load l = own_load(j, in, own_share(&j->env, j->shares.out));
	const job_time t = job_time_of(&own, o, &l);
	/* measuring is part of the time */
	r->predicted_s += START_S + r->phase_s[PH_DESCRIBE] + r->phase_s[PH_PLAN] + t.total_s;
	snprintf(r->bound_by, sizeof r->bound_by, "%s",
		 job_time_bound_name(job_time_bound_by(&own, o, &l)));
	for (int i = STAGE_READ; i < STAGES; i++)
		progress_plan(g, (stage_kind)i, t.stage[i]);
	pthread_mutex_lock(&g->lock); /* the monitor may read it */
	g->spilled = l.spills ? 1 - l.held : 0;
	pthread_mutex_unlock(&g->lock);
	r->stages = progress_times(g);
}

/* Update the history of speeds, unless the job read nothing. The output is complete, so only the
 * network can fail here. */
status phase_update_wisdom(job *j)
{
	rank_env *env = &j->env;
	const rank_result *r = env->stats;
	const double *t = r->phase_s;
	const bool first = settings_sorts_first(env->o);
	/* The merging threads know when they wait, but not what the sending threads do. So a rank
	 * takes at least the time in which its processors can do all the work. */
	const double written_s = t[PH_MERGE] + t[PH_WRITE] + (first ? 0 : t[PH_SORT]);
	const double worked_s = (process_cpu_s() - j->read_cpu_s) / env->c->process_ranks;
	const run_times mine = { .before_s = t[PH_READ] + (first ? t[PH_SORT] : 0),
				 .after_s = fmax(written_s, worked_s / r->rate.cpus),
				 .in = r->in,
				 .out = j->part.seen.records };
	const size_t p = env->c->rank == 0 ? (size_t)env->c->size : 0;
	run_times *all = mem_array(&env->m, p, sizeof *all, "times", &env->note);
	status rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		rc = comm_gather(env->c, &mine, all, sizeof mine, 0);
		if (rc == ST_OK && p) {
			wisdom_learn(j->wisdom, all);
			wisdom_save(j->wisdom, (uint64_t)time(NULL), &env->note);
		}
	} else if (!env->c->broken) {
		rc = ST_OK;
	}
	mem_free(&env->m, all);
	return rc;
}
