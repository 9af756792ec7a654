/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between reading and sampling: what each rank is to write is planned anew by how fast it read and
 * sorted in this run, of late: a node that turned slow in the middle is as slow as it is now. Only
 * here it costs nothing: no record has left its rank, and splitters go wherever shares say. Rank 0
 * plans, and the shares change on all ranks or on none: only if that promises enough, and if memory
 * and disk of every rank have room. One gather, broadcasts of a few bytes a rank, and agreements on
 * how that went. */
#include "adapt.h"
#include "scatter/scatter.h"
#include "model/shares.h"

#include <math.h>

/* A rank with less than this part of the mean work tells too little of its speed. */
static const double LEAST_PART = 0.1;

/* Nor does a part of it that took less: a quota of CPU time may come in periods of 0.1 s. */
static const double LEAST_S = 1;

/* What rank 0 tells the others. */
typedef struct verdict {
	int32_t state;
	double gain;
} verdict;

/* Room for one plan: at rank 0 all of it, elsewhere the shares and speeds that are broadcast. */
typedef struct draft {
	sighting *seen;
	double *planned, *speed; /* for what comes now, of a rank at nominal rates: 1 */
	uint64_t *share;
} draft;

static bool tells(const sighting *s, double mean_s)
{
	return s->work_s > 0 && s->work_s >= LEAST_PART * mean_s && s->took_s[0] > 0;
}

/* The last part that counts: ranks do alike work in the same part, not in the same time. */
static size_t part_to_judge(const sighting *s, size_t p, double mean_s)
{
	for (size_t k = SIGHT_PARTS; --k > 0;) {
		size_t i = 0;
		while (i < p && (!tells(&s[i], mean_s) || s[i].took_s[k] >= LEAST_S))
			i++;
		if (i == p)
			return k;
	}
	return 0;
}

bool adapt_speeds(const sighting *s, const double *planned, size_t p, double *now, double *unit_s)
{
	double mean = 0, expected = 0, took = 0;
	for (size_t i = 0; i < p; i++)
		mean += s[i].work_s / (double)p;
	const size_t k = part_to_judge(s, p, mean);
	for (size_t i = 0; i < p; i++) {
		const double work_s = ldexp(s[i].work_s, -(int)k);
		now[i] = 0;
		if (!tells(&s[i], mean))
			continue;
		now[i] = work_s / s[i].took_s[k];
		expected += work_s / planned[i];
		took += s[i].took_s[k];
	}
	*unit_s = expected > 0 ? took / expected : 1;
	bool told = expected > 0;
	for (size_t i = 0; i < p; i++) {
		now[i] = now[i] > 0 ? now[i] * *unit_s : planned[i];
		told = told && now[i] > 0 && isfinite(now[i]);
	}
	for (size_t i = 0; i < p && !told; i++)
		now[i] = planned[i];
	return told;
}

/* What is left to a rank: to send what it holds, whatever it writes, and to write. */
typedef struct task {
	const settings *o;
	double send_s, speed;
} task;

static double task_s(void *ctx, uint64_t written)
{
	const task *t = ctx;
	const rates one = rates_nominal(1);
	return (t->send_s + rates_after_s(&one, t->o, written)) / t->speed;
}

/* As a cost of writing: who writes nothing is not waited for, and the others still end together. */
static double writing_s(void *ctx, uint64_t written)
{
	return written ? task_s(ctx, written) : 0;
}

/* When the last rank ends. */
static double time_left_s(task *t, size_t p, const uint64_t *share)
{
	double last = 0;
	for (size_t i = 0; i < p; i++) {
		const double s = task_s(&t[i], share[i]);
		last = s > last ? s : last;
	}
	return last;
}

status adapt_plan(mem *m, const settings *o, const sighting *s, const double *planned,
		  const uint64_t *written, size_t p, double *now, uint64_t *share, prospect *out,
		  err *e)
{
	const rates one = rates_nominal(1);
	double unit_s;
	uint64_t all = 0;
	*out = (prospect){ 0, 0, false };
	for (size_t i = 0; i < p; i++)
		all += share[i] = written[i];
	if (!adapt_speeds(s, planned, p, now, &unit_s))
		return ST_OK;
	task *t = mem_array(m, p, sizeof *t, "a plan", e);
	if (!t)
		return ST_RESOURCE;
	for (size_t i = 0; i < p; i++)
		t[i] = (task){ o, rates_send_s(&one, o, s[i].held, p), now[i] };
	const double before_s = time_left_s(t, p, written) * unit_s;
	const status rc = shares_by_costs(all, writing_s, t, sizeof *t, p, share, e);
	if (rc == ST_OK) {
		out->saved_s = before_s - time_left_s(t, p, share) * unit_s;
		out->gain = out->saved_s > 0 ? out->saved_s / before_s : 0;
		out->worth = out->gain >= o->adapt.gain && out->saved_s >= o->adapt.saved_s;
	}
	mem_free(m, t);
	return rc;
}

static status decide(job *j, draft *d, verdict *v)
{
	prospect p;
	const status rc = adapt_plan(&j->m, j->o, d->seen, d->planned, j->share_out,
				     (size_t)j->c->size, d->speed, d->share, &p, &j->e);
	*v = (verdict){ rc == ST_OK && p.worth ? ADAPT_CHANGED : ADAPT_KEPT, p.gain };
	return rc;
}

/* Ranks of one host may share its disk: each leaves the others as much as it takes. */
static bool has_room(job *j, uint64_t out_recs)
{
	uint64_t bytes;
	if (out_recs <= own_share(j, j->share_out))
		return true;
	return !__builtin_mul_overflow(out_recs, (uint64_t)j->o->lay.record_bytes * j->ranks_here,
				       &bytes) &&
	       output_has_room(&j->out, bytes) && budget_holds(j, out_recs);
}

/* A vote: one rank without room, and all keep their shares. */
static status vote(job *j, const draft *d, verdict *v)
{
	const bool yes = has_room(j, own_share(j, d->share));
	const status rc = comm_agree(j->c, yes ? ST_OK : ST_REFUSED);
	if (rc != ST_OK)
		v->state = ADAPT_NO_ROOM;
	return atomic_load(&j->c->broken) ? rc : ST_OK;
}

static void note(job *j, const draft *d, const verdict *v)
{
	rank_result *r = &j->mine;
	r->planned_out_before = r->planned_out;
	r->speed_seen = d->speed[j->c->rank] * (j->speed[0] / d->planned[0]);
	r->adapt_gain = v->gain;
	r->adapt_state = v->state;
	if (v->state != ADAPT_CHANGED)
		return;
	memcpy(j->share_out, d->share, (size_t)j->c->size * sizeof *d->share);
	plan_targets(j);
	r->planned_out = own_share(j, j->share_out);
}

/* For what comes after reading: the rates may weigh merging otherwise than sorting. */
static void planned_speeds(const job *j, double *planned)
{
	const rates one = rates_nominal(1);
	const uint64_t some = 1000000;
	for (int i = 0; i < j->c->size; i++)
		planned[i] =
			rates_after_s(&one, j->o, some) / rates_after_s(&j->rate[i], j->o, some);
}

/* What reading and sorting should have taken, and what it took. Where rank 0 scatters the input,
 * the others wait for it while they read: sorting alone counts, and what they have to send is what
 * they asked for, a slow rank for less. Rank 0 itself, which serves meanwhile, tells nothing. */
static sighting own_sighting(const job *j, double planned)
{
	const rank_result *r = &j->mine;
	const bool scatters = job_scatters(j);
	rates expected = r->rate;
	if (scatters)
		expected.copy_s = 0;
	sighting s = { .work_s = rates_before_s(&expected, j->o, j->data.n) * planned,
		       .held = scatters ? 0 : j->data.n };
	if (scatters && j->c->rank == 0)
		s.work_s = 0;
	s.took_s[0] = r->phase_s[PH_SORT] + (scatters ? 0 : r->phase_s[PH_READ]);
	for (int k = 1; k < SIGHT_PARTS; k++)
		s.took_s[k] = speed_history_last_s(&j->speed_history, ldexp(1, -k));
	return s;
}

static status adapt_together(job *j, draft *d)
{
	const size_t p = (size_t)j->c->size;
	planned_speeds(j, d->planned);
	const sighting mine = own_sighting(j, d->planned[j->c->rank]);
	verdict v = { ADAPT_KEPT, 0 };
	status rc = comm_gather(j->c, &mine, d->seen, sizeof mine, 0);
	if (rc != ST_OK)
		return rc;
	rc = comm_agree(j->c, j->c->rank == 0 ? decide(j, d, &v) : ST_OK);
	if (rc == ST_OK)
		rc = comm_bcast(j->c, &v, sizeof v, 0);
	if (rc == ST_OK)
		rc = comm_bcast(j->c, d->speed, p * sizeof *d->speed, 0);
	if (rc == ST_OK)
		rc = comm_bcast(j->c, d->share, p * sizeof *d->share, 0);
	if (rc == ST_OK)
		rc = comm_agree(j->c, plan_check(j, d->share, "writing"));
	if (rc == ST_OK && v.state == ADAPT_CHANGED)
		rc = vote(j, d, &v);
	if (rc == ST_OK)
		note(j, d, &v);
	return rc;
}

status phase_adapt(job *j)
{
	const size_t p = (size_t)j->c->size;
	if (!j->o->adapt.on || j->work.resuming) /* what was not read tells no speed */
		return ST_OK;
	draft d = { mem_array(&j->m, p, sizeof *d.seen, "speeds", &j->e),
		    mem_array(&j->m, p, sizeof *d.planned, "speeds", &j->e),
		    mem_array(&j->m, p, sizeof *d.speed, "speeds", &j->e),
		    mem_array(&j->m, p, sizeof *d.share, "shares", &j->e) };
	status rc =
		comm_agree(j->c, d.seen && d.planned && d.speed && d.share ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = adapt_together(j, &d);
	mem_free(&j->m, d.seen);
	mem_free(&j->m, d.planned);
	mem_free(&j->m, d.speed);
	mem_free(&j->m, d.share);
	return rc;
}
