/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans output shares again between reading and sampling, from the speed at which each rank has
 * just read and sorted, so a node that became slow counts as slow. At this moment it is cheap: no
 * record has left its rank, and splitters follow the shares. Rank 0 plans. The shares change on all
 * ranks or on none, only if the predicted gain is large enough and every rank has room in memory
 * and on disk. Costs one gather, broadcasts of a few bytes per rank, and agreements. */
#include "adapt.h"
#include "job.h"

#include <math.h>

/* A rank with less than this part of the mean work does not show its speed. */
static const double LEAST_PART = 0.1;

/* A part of the work that took less shows no speed either: a quota of CPU time may come in periods
 * of 0.1 s. */
static const double LEAST_S = 1;

static bool shows_speed(const sighting *s, double mean_s)
{
	return s->work_s > 0 && s->work_s >= LEAST_PART * mean_s && s->took_s[0] > 0;
}

/* Return the last part that every rank spent enough time on. Ranks do similar work in the same
 * part, not in the same time. */
static size_t part_to_judge(const sighting *s, size_t p, double mean_s)
{
	for (size_t k = SIGHT_PARTS; --k > 0;) {
		size_t i = 0;
		while (i < p && (!shows_speed(&s[i], mean_s) || s[i].took_s[k] >= LEAST_S))
			i++;
		if (i == p)
			return k;
	}
	return 0;
}

/* Find the present speeds in the scale of the planned ones, from the last part of the work that
 * took each rank long enough, or else from all of it. A rank that had little to do, or took no
 * measurable time, keeps its planned speed. *unit_s receives the time in which a rank of speed 1
 * does a second's work. Return false, and the planned speeds, if no rank shows a speed. */
static bool find_speeds(const sighting *s, const double *planned, size_t p, double *now,
			double *unit_s)
{
	double mean = 0, expected = 0, took = 0;
	for (size_t i = 0; i < p; i++)
		mean += s[i].work_s / (double)p;
	const size_t k = part_to_judge(s, p, mean);
	for (size_t i = 0; i < p; i++) {
		const double work_s = ldexp(s[i].work_s, -(int)k);
		now[i] = 0;
		if (!shows_speed(&s[i], mean))
			continue;
		now[i] = work_s / s[i].took_s[k];
		expected += work_s / planned[i];
		took += s[i].took_s[k];
	}
	*unit_s = expected > 0 ? took / expected : 1;
	bool known = expected > 0;
	for (size_t i = 0; i < p; i++) {
		now[i] = now[i] > 0 ? now[i] * *unit_s : planned[i];
		known = known && now[i] > 0 && isfinite(now[i]);
	}
	for (size_t i = 0; i < p && !known; i++)
		now[i] = planned[i];
	return known;
}

/* The remaining work of a rank: to send the records that it holds, and to write. Its link and its
 * disk, if known, work at the same time; their rates are in the same units. */
typedef struct task {
	const settings *o;
	double send_s, speed;
	rates carries;
	uint64_t held;
	size_t p;
} task;

static double task_s(void *ctx, uint64_t written)
{
	const task *t = ctx;
	const rates one = job_time_nominal(1);
	const double work_s = (t->send_s + job_time_after_s(&one, t->o, written)) / t->speed;
	const uint64_t moved = written > t->held ? written : t->held;
	return fmax(work_s, fmax(job_time_link_s(&t->carries, t->o, moved, t->p),
				 job_time_disk_s(&t->carries, t->o, written)));
}

/* Return the cost of writing. A rank that writes nothing costs nothing, so that the others still
 * end together. */
static double writing_s(void *ctx, uint64_t written)
{
	return written ? task_s(ctx, written) : 0;
}

/* Return the time at which the last rank ends. */
static double time_left_s(task *t, size_t p, const uint64_t *share)
{
	double last = 0;
	for (size_t i = 0; i < p; i++)
		last = fmax(last, task_s(&t[i], share[i]));
	return last;
}

status adapt_plan(mem *m, const settings *o, const sighting *s, const double *planned,
		  const rates *rate, const uint64_t *written, size_t p, double *now,
		  uint64_t *share, prospect *out, err *e)
{
	const rates one = job_time_nominal(1);
	double unit_s;
	uint64_t all = 0;
	*out = (prospect){ 0, 0, false };
	for (size_t i = 0; i < p; i++)
		all += share[i] = written[i];
	if (!find_speeds(s, planned, p, now, &unit_s))
		return ST_OK;
	task *t = mem_array(m, p, sizeof *t, "a plan", e);
	if (!t)
		return ST_RESOURCE;
	for (size_t i = 0; i < p; i++)
		t[i] = (task){ .o = o,
			       .send_s = job_time_send_s(&one, o, s[i].held, p),
			       .speed = now[i],
			       .carries = { .link_s = rate[i].link_s / unit_s,
					    .disk_s = rate[i].disk_s / unit_s },
			       .held = s[i].held,
			       .p = p };
	const double before_s = time_left_s(t, p, written) * unit_s;
	const status rc = shares_by_costs(all, writing_s, t, sizeof *t, p, NULL, share, e);
	if (rc == ST_OK) {
		out->saved_s = before_s - time_left_s(t, p, share) * unit_s;
		out->gain = out->saved_s > 0 ? out->saved_s / before_s : 0;
		out->worth = out->gain >= o->adapt.gain && out->saved_s >= o->adapt.saved_s;
	}
	mem_free(m, t);
	return rc;
}

/* The plan of rank 0 for a rank, which it broadcasts. */
typedef struct finding {
	double speed; /* relative to a rank at nominal rates, for the phases to come */
	uint64_t share;
	double gain; /* of all ranks */
	uint64_t worth;
} finding;

/* Return whether this rank has room. Ranks of one host may share its disk, so each leaves as much
 * to the others as it takes. */
static bool has_room(const job *j, uint64_t out_recs)
{
	uint64_t bytes;
	if (out_recs <= own_share(&j->env, j->shares.out))
		return true;
	return !__builtin_mul_overflow(out_recs,
				       (uint64_t)j->env.o->lay.record_bytes * j->cpus.ranks_here,
				       &bytes) &&
	       output_has_room(&j->files.out, bytes) && budget_holds(j, out_recs);
}

/* Compare the time that reading and sorting should have taken with the time that it took. If rank 0
 * scatters the input, the other ranks wait for it while they read, so only sorting counts, and a
 * slow rank has requested less. Rank 0 serves them, which shows no speed. */
static sighting own_sighting(const job *j, double planned)
{
	const rank_env *env = &j->env;
	const rank_result *r = env->stats;
	const bool scatters = env_scatters(env);
	rates expected = r->rate;
	if (scatters)
		expected.copy_s = 0;
	sighting s = { .work_s = job_time_before_s(&expected, env->o, j->data.n) * planned,
		       .held = scatters ? 0 : j->data.n };
	if (scatters && env->c->rank == 0)
		s.work_s = 0;
	s.took_s[0] = r->phase_s[PH_SORT] + (scatters ? 0 : r->phase_s[PH_READ]);
	for (int k = 1; k < SIGHT_PARTS; k++)
		s.took_s[k] = speed_history_last_s(&j->speeds, ldexp(1, -k));
	return s;
}

/* Plan at rank 0 from the sightings of all ranks. planned: speeds. */
static status plan_again(job *j, const sighting *seen, const double *planned, finding *f)
{
	rank_env *env = &j->env;
	const size_t p = (size_t)env->c->size;
	prospect is = { 0, 0, false };
	double *now = mem_array(&env->m, p, sizeof *now, "speeds", &env->e);
	uint64_t *share = mem_array(&env->m, p, sizeof *share, "shares", &env->e);
	const status rc = now && share ? adapt_plan(&env->m, env->o, seen, planned, j->shares.rate,
						    j->shares.out, p, now, share, &is, &env->e)
				       : ST_RESOURCE;
	for (size_t i = 0; rc == ST_OK && i < p; i++)
		f[i] = (finding){ now[i], share[i], is.gain, is.worth };
	mem_free(&env->m, now);
	mem_free(&env->m, share);
	return rc;
}

/* Let rank 0 plan, then vote: if one rank has no room, all keep their shares. */
static status adapt_together(job *j, sighting *seen, double *planned, finding *f)
{
	rank_env *env = &j->env;
	rank_result *r = env->stats;
	const share_plan *s = &j->shares;
	const rates one = job_time_nominal(1);
	const uint64_t some = 1000000;
	const int p = env->c->size;
	/* for the phases after reading: the rates of merging and sorting may differ */
	for (int i = 0; i < p; i++)
		planned[i] = job_time_after_s(&one, env->o, some) /
			     job_time_after_s(&s->rate[i], env->o, some);
	const sighting mine = own_sighting(j, planned[env->c->rank]);
	status rc = comm_gather(env->c, &mine, seen, sizeof mine, 0);
	if (rc != ST_OK)
		return rc;
	rc = comm_agree(env->c, env->c->rank == 0 ? plan_again(j, seen, planned, f) : ST_OK);
	if (rc == ST_OK)
		rc = comm_bcast(env->c, f, (size_t)p * sizeof *f, 0);
	if (rc == ST_OK)
		rc = job_replan(j);
	if (rc != ST_OK)
		return rc;
	const finding own = f[env->c->rank];
	for (int i = 0; i < p; i++)
		j->next.out[i] = f[i].share;
	rc = comm_agree(env->c, share_plan_check(env, s->records, j->next.out,
						 j->files.in.is_stream, "writing"));
	if (rc != ST_OK)
		return rc;
	r->planned_out_before = r->planned_out;
	r->speed_seen = own.speed * (s->speed[0] / planned[0]);
	r->adapt_gain = own.gain;
	r->adapt_state = own.worth ? ADAPT_CHANGED : ADAPT_KEPT;
	if (own.worth && comm_agree(env->c, has_room(j, own.share) ? ST_OK : ST_REFUSED) != ST_OK)
		r->adapt_state = ADAPT_NO_ROOM;
	if (r->adapt_state == ADAPT_CHANGED)
		r->planned_out = own.share;
	else
		memcpy(j->next.out, s->out, (size_t)p * sizeof *s->out);
	share_plan_sum_out(env, &j->next);
	return atomic_load(&env->c->broken) ? ST_PEER : ST_OK;
}

status phase_adapt(job *j)
{
	rank_env *env = &j->env;
	const size_t p = (size_t)env->c->size;
	if (!env->o->adapt.on || j->work.resuming) /* runs that were not read show no speed */
		return ST_OK;
	sighting *seen = mem_array(&env->m, p, sizeof *seen, "speeds", &env->e);
	double *planned = mem_array(&env->m, p, sizeof *planned, "speeds", &env->e);
	finding *f = mem_array(&env->m, p, sizeof *f, "speeds", &env->e);
	status rc = comm_agree(env->c, seen && planned && f ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = adapt_together(j, seen, planned, f);
	mem_free(&env->m, seen);
	mem_free(&env->m, planned);
	mem_free(&env->m, f);
	return rc;
}
