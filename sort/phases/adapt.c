/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans output shares again between reading and sampling. The new shares follow from the speed at
 * which each rank has just read and sorted, so a node that became slow writes less. At this moment
 * a new plan is cheap: no record has left its rank, and splitters are computed from the shares
 * later. Rank 0 plans. The shares change on all ranks or on none: only if the predicted gain is
 * large enough, and every rank has room in memory and on disk. Costs one gather, broadcasts of a
 * few bytes per rank, and agreements. */
#include "adapt.h"
#include "memory_plan.h"

#include <math.h>

/* A rank with less than this part of the mean work does not show its speed. */
static const double LEAST_PART = 0.1;

/* Nor does a part of the work that took less: a quota of CPU time may come in periods of 0.1 s. */
static const double LEAST_S = 1;

/* Return whether a rank did enough work, in measurable time, to show its speed. */
static bool adapt_shows_speed(const sighting *s, double mean_s)
{
	return s->work_s > 0 && s->work_s >= LEAST_PART * mean_s && s->took_s[0] > 0;
}

/* Find the present speeds, in the scale of the planned speeds. Ranks do similar work in equal
 * parts, not in equal times. So use the same part for all: the shortest last part that took each
 * rank long enough, or else all of the work. A rank that had little to do, or took no measurable
 * time, keeps its planned speed. *unit_s receives the time that a rank of speed 1 takes now for the
 * work of one second. Return false, and the planned speeds, if no rank shows a speed. */
static bool adapt_speeds(const sighting *s, const double *planned, size_t p, double *now,
			 double *unit_s)
{
	double mean = 0, expected = 0, took = 0;
	for (size_t i = 0; i < p; i++)
		mean += s[i].work_s / (double)p;
	size_t part = SIGHT_PARTS - 1;
	for (size_t i = 0; i < p; i++) /* later parts take less time */
		while (part > 0 && adapt_shows_speed(&s[i], mean) && s[i].took_s[part] < LEAST_S)
			part--;
	for (size_t i = 0; i < p; i++) {
		const double work_s = ldexp(s[i].work_s, -(int)part);
		now[i] = 0;
		if (!adapt_shows_speed(&s[i], mean))
			continue;
		now[i] = work_s / s[i].took_s[part];
		expected += work_s / planned[i];
		took += s[i].took_s[part];
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
 * disk (carries) work at the same time; their rates are in the units of the speed, or 0 if
 * unknown. */
typedef struct adapt_task {
	const settings *o;
	double send_s, speed;
	rates carries;
	uint64_t held;
	size_t p;
} adapt_task;

/* Return the seconds of the remaining work, if the rank writes `written` records. */
static double adapt_task_s(void *ctx, uint64_t written)
{
	const adapt_task *t = ctx;
	const rates one = job_time_nominal(1);
	const double work_s = (t->send_s + job_time_after_s(&one, t->o, written)) / t->speed;
	const uint64_t moved = written > t->held ? written : t->held;
	return fmax(work_s, fmax(job_time_link_s(&t->carries, t->o, moved, t->p),
				 job_time_disk_s(&t->carries, t->o, written)));
}

/* Return these seconds as a cost for the planner. A rank that writes nothing costs nothing, so that
 * the other ranks still end together. */
static double adapt_writing_s(void *ctx, uint64_t written)
{
	return written ? adapt_task_s(ctx, written) : 0;
}

/* Return the seconds until the last rank ends. */
static double adapt_left_s(adapt_task *t, size_t p, const uint64_t *share)
{
	double last = 0;
	for (size_t i = 0; i < p; i++)
		last = fmax(last, adapt_task_s(&t[i], share[i]));
	return last;
}

status adapt_plan(const adapt_query *q, mem *m, double *now, uint64_t *share, prospect *out, err *e)
{
	const rates one = job_time_nominal(1);
	const size_t p = q->p;
	double unit_s;
	uint64_t all = 0;
	*out = (prospect){ 0, 0, false };
	for (size_t i = 0; i < p; i++)
		all += share[i] = q->written[i];
	if (!adapt_speeds(q->seen, q->planned, p, now, &unit_s))
		return ST_OK;
	adapt_task *t = mem_array(m, p, sizeof *t, "a plan", e);
	if (!t)
		return ST_RESOURCE;
	for (size_t i = 0; i < p; i++)
		t[i] = (adapt_task){ .o = q->o,
				     .send_s = job_time_send_s(&one, q->o, q->seen[i].held, p),
				     .speed = now[i],
				     .carries = { .link_s = q->rate[i].link_s / unit_s,
						  .disk_s = q->rate[i].disk_s / unit_s },
				     .held = q->seen[i].held,
				     .p = p };
	const double before_s = adapt_left_s(t, p, q->written) * unit_s;
	const status rc = shares_by_costs(all, adapt_writing_s, t, sizeof *t, p, NULL, share, e);
	if (rc == ST_OK) {
		out->saved_s = before_s - adapt_left_s(t, p, share) * unit_s;
		out->gain = out->saved_s > 0 ? out->saved_s / before_s : 0;
		out->worth = out->gain >= q->o->adapt.gain && out->saved_s >= q->o->adapt.saved_s;
	}
	mem_free(m, t);
	return rc;
}

/* Return the work of this rank in reading and sorting, and the time that it took. If rank 0
 * scatters the input, other ranks wait for it while they read, so only their sorting counts, and a
 * slow rank has requested less. Rank 0 serves them, which shows no speed. */
static sighting adapt_sighting(const job *j, double planned)
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

/* Let rank 0 plan, then vote: if one rank has no room, all keep their shares. Use arrays of the
 * caller: seen[size] on rank 0, and planned[size] and now[size], for the speeds, on every rank. */
static status adapt_together(job *j, sighting *seen, double *planned, double *now)
{
	rank_env *env = &j->env;
	comm *c = env->c;
	rank_result *r = env->stats;
	const share_plan *s = &j->shares;
	share_plan *next = &j->next;
	const rates one = job_time_nominal(1);
	const uint64_t some = 1000000;
	const size_t p = (size_t)c->size;
	struct {
		double gain;
		uint64_t worth;
	} found = { 0, 0 };
	/* planned speeds in the phases after reading: rates of merging and sorting may differ */
	for (size_t i = 0; i < p; i++)
		planned[i] = job_time_after_s(&one, env->o, some) /
			     job_time_after_s(&s->rate[i], env->o, some);
	const sighting mine = adapt_sighting(j, planned[c->rank]);
	status rc = comm_gather(c, &mine, seen, sizeof mine, 0);
	if (rc == ST_OK && c->rank == 0) {
		const adapt_query q = { env->o, seen, planned, s->rate, s->out, p };
		prospect is;
		rc = adapt_plan(&q, &env->m, now, next->out, &is, &env->e);
		found.gain = is.gain;
		found.worth = is.worth;
	}
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_bcast(c, now, p * sizeof *now, 0);
	if (rc == ST_OK)
		rc = comm_bcast(c, next->out, p * sizeof *next->out, 0);
	if (rc == ST_OK)
		rc = comm_bcast(c, &found, sizeof found, 0);
	if (rc == ST_OK)
		rc = comm_agree(c, share_plan_check(env, s->records, next->out,
						    j->files.in.is_stream, "writing"));
	if (rc != ST_OK)
		return rc;
	const uint64_t own = own_share(env, next->out);
	r->planned_out_before = r->planned_out;
	r->speed_seen = now[c->rank] * (s->speed[0] / planned[0]);
	r->adapt_gain = found.gain;
	r->adapt_state = found.worth ? ADAPT_CHANGED : ADAPT_KEPT;
	/* ranks of one host may share its disk: require room for the same amount of each */
	uint64_t bytes;
	const bool room =
		own <= own_share(env, s->out) ||
		(!__builtin_mul_overflow(
			 own, (uint64_t)env->o->lay.record_bytes * j->cpus.ranks_here, &bytes) &&
		 output_has_room(&j->files.out, bytes) && memory_plan_holds(j, own));
	if (found.worth && comm_agree(c, room ? ST_OK : ST_REFUSED) != ST_OK)
		r->adapt_state = ADAPT_NO_ROOM;
	if (r->adapt_state == ADAPT_CHANGED)
		r->planned_out = own;
	else
		memcpy(next->out, s->out, p * sizeof *s->out);
	share_plan_sum_out(env, next);
	return atomic_load(&c->broken) ? ST_PEER : ST_OK;
}

status phase_adapt(job *j)
{
	rank_env *env = &j->env;
	const size_t p = (size_t)env->c->size;
	sighting *seen = mem_array(&env->m, env->c->rank ? 0 : p, sizeof *seen, "speeds", &env->e);
	double *speed = mem_array(&env->m, 2 * p, sizeof *speed, "speeds", &env->e);
	status rc = comm_agree(env->c, seen && speed ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = job_replan(j);
	if (rc == ST_OK)
		rc = adapt_together(j, seen, speed, speed + p);
	mem_free(&env->m, seen);
	mem_free(&env->m, speed);
	return rc;
}
