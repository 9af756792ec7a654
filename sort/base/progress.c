/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of this process and its ranks, and the time that a rank has left. Counts are relaxed
 * atomics, because readers need only an estimate. Locks hardly delay the work: `counting` is held
 * for one addition, `lock` only when a stage begins or ends, or a reader looks. Memory: 3 KB per
 * rank. */
#include "progress.h"

#include <math.h>
#include <string.h>

static atomic_uint_fast64_t ticks;

static rank_progress nobody; /* of threads that work for no rank */
static _Thread_local rank_progress *mine;

void progress_join(rank_progress *p)
{
	mine = p;
}

rank_progress *progress_mine(void)
{
	return mine ? mine : &nobody;
}

uint64_t progress_ticks(void)
{
	return atomic_load_explicit(&ticks, memory_order_relaxed);
}

void progress_add(progress_kind kind, uint64_t bytes)
{
	rank_progress *p = progress_mine();
	atomic_fetch_add_explicit(&p->bytes[kind], bytes, memory_order_relaxed);
	if (kind <= PROGRESS_SENT && p != &nobody)
		progress_move(p, kind, bytes, now_s());
	atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

void progress_hold(size_t bytes)
{
	atomic_store_explicit(&progress_mine()->held_bytes, bytes, memory_order_relaxed);
}

/* ------------------------------------------------------------------------------- activity */

static const double FIRST_STEP_S = 0.01;

void progress_record(rank_progress *p, double now)
{
	pthread_mutex_lock(&p->counting);
	p->begun_s = now;
	p->activity = (activity){ .step_s = FIRST_STEP_S };
	pthread_mutex_unlock(&p->counting);
}

void progress_move(rank_progress *p, progress_kind kind, uint64_t bytes, double now)
{
	enum { HALF = ACTIVITY_STEPS / 2 };
	pthread_mutex_lock(&p->counting);
	activity *a = &p->activity;
	while (a->step_s > 0 && now - p->begun_s >= ACTIVITY_STEPS * a->step_s) {
		for (int k = 0; k < ACTIVITY_KINDS; k++) { /* two steps become one */
			uint64_t *b = a->bytes[k];
			for (int i = 0; i < HALF; i++)
				b[i] = b[2 * i] + b[2 * i + 1];
			memset(b + HALF, 0, HALF * sizeof *b);
		}
		a->step_s *= 2;
	}
	if (a->step_s > 0) {
		const double at = (now - p->begun_s) / a->step_s;
		a->bytes[kind][at > 0 ? (int)at : 0] += bytes;
	}
	pthread_mutex_unlock(&p->counting);
}

activity progress_activity(rank_progress *p)
{
	pthread_mutex_lock(&p->counting);
	const activity seen = p->activity;
	pthread_mutex_unlock(&p->counting);
	return seen;
}

/* ----------------------------------------------------------------------------- time left */

/* In the first stage that is measured, the measured rate counts more than the plan once this part
 * of the stage is done. */
static const double FIRST_PART = 0.05;

/* In a later stage the measured rate counts more than the rates of earlier stages once this part of
 * the stage is done. A stage may last for a long time before its first record is written. */
static const double LATER_PART = 0.25;

/* Below this processor time, a few clock ticks of the system, the system's part of it is
 * uncertain. */
static const double LITTLE_S = 0.05;

/* Planned seconds per byte of a stage without a plan. Only the ratio to other stages matters. */
static const double BYTE_S = 1e-9;

void progress_init(rank_progress *s)
{
	memset(s, 0, sizeof *s);
	pthread_mutex_init(&s->counting, NULL);
	pthread_mutex_init(&s->lock, NULL);
}

static bool stage_has_bytes(stage_kind k)
{
	return k != STAGE_NONE && k != STAGE_SPLIT && k != STAGE_SORT;
}

/* Return the bytes whose movement is the progress of a stage. */
static uint64_t stage_counted(rank_progress *s, stage_kind k)
{
	static const progress_kind by[] = { [STAGE_READ] = PROGRESS_IN,
					    [STAGE_RECEIVE] = PROGRESS_RECEIVED,
					    [STAGE_WRITE] = PROGRESS_OUT,
					    [STAGE_CHECK] = PROGRESS_READ };
	return stage_has_bytes(k) ? progress_bytes(s, by[k]) : 0;
}

void progress_plan(rank_progress *s, stage_kind k, stage_plan plan)
{
	pthread_mutex_lock(&s->lock);
	s->stage[k].planned = plan;
	pthread_mutex_unlock(&s->lock);
}

void progress_begin(rank_progress *s, stage_kind k, uint64_t bytes, moment now)
{
	stage *g = &s->stage[k];
	pthread_mutex_lock(&s->lock);
	s->at = k;
	g->bytes = bytes;
	if (g->planned.all_s <= 0)
		g->planned = (stage_plan){ .all_s = BYTE_S * (double)bytes };
	g->base = stage_counted(s, k);
	g->kept_base = progress_bytes(s, PROGRESS_KEPT);
	g->written_base = progress_bytes(s, PROGRESS_WRITTEN);
	g->begun = now;
	pthread_mutex_unlock(&s->lock);
}

static moment stage_time_since(const moment *then, const moment *now)
{
	const double waited_s = fmax(now->waited_s - then->waited_s, 0); /* known at the end */
	return (moment){ .at_s = fmax(now->at_s - then->at_s - waited_s, 0),
			 .user_s = now->user_s - then->user_s,
			 .system_s = now->system_s - then->system_s };
}

void progress_end(rank_progress *s, moment now)
{
	stage *g = &s->stage[s->at];
	pthread_mutex_lock(&s->lock);
	if (!g->ended)
		g->taken = stage_time_since(&g->begun, &now);
	g->ended = true;
	pthread_mutex_unlock(&s->lock);
}

void progress_sends(rank_progress *s, uint64_t bytes)
{
	pthread_mutex_lock(&s->lock);
	s->sends = bytes;
	s->sent_base = progress_bytes(s, PROGRESS_SENT);
	pthread_mutex_unlock(&s->lock);
}

/* The part of a stage that this job executes: without the records that an earlier job has moved. */
typedef struct part {
	uint64_t done, all;
	stage_plan planned;
	double worked_s, taken_s; /* planned time of the bytes done; measured time */
	double system;            /* part of the processor time that the system took */
} part;

/* Return the bytes of a stage that are done.
 *
 * In STAGE_WRITE of several ranks, records are sent some time before they are merged and written.
 * So bytes sent count too, with the part of the work that precedes writing (ahead_s). In
 * STAGE_READ, a record that is spilled to disk is first read and later written, and each counts for
 * half of the work. */
static double stage_done(rank_progress *s, stage_kind k, const part *p)
{
	const double done = (double)p->done;
	if (k == STAGE_WRITE && s->sends && p->planned.all_s > 0) {
		const uint64_t sent = progress_bytes(s, PROGRESS_SENT) - s->sent_base;
		const double ahead = p->planned.ahead_s / p->planned.all_s;
		const double part_sent = fmin((double)sent / (double)s->sends, 1);
		return (1 - ahead) * done + ahead * part_sent * (double)p->all;
	}
	if (k != STAGE_READ || s->spilled <= 0)
		return done;
	const uint64_t written = progress_bytes(s, PROGRESS_WRITTEN) - s->stage[k].written_base;
	return (done + fmin((double)written, done * s->spilled)) / (1 + s->spilled);
}

static part stage_part(rank_progress *s, stage_kind k, const moment *now)
{
	const stage *g = &s->stage[k];
	part p = { .planned = g->planned };
	if (s->at < k)
		return p;
	const uint64_t kept = progress_bytes(s, PROGRESS_KEPT) - g->kept_base;
	p.all = g->bytes > kept ? g->bytes - kept : 0;
	p.done = stage_counted(s, k) - g->base;
	const moment taken = g->ended ? g->taken : stage_time_since(&g->begun, now);
	p.taken_s = taken.at_s;
	if (p.planned.all_s > 0) { /* as planned, until more than a little time was measured */
		const double planned = (p.planned.files_s + p.planned.fresh_s) / p.planned.all_s;
		const double cpu_s = taken.user_s + taken.system_s;
		p.system = (taken.system_s + LITTLE_S * planned) / (cpu_s + LITTLE_S);
	}
	if (p.all && p.done > p.all)
		p.done = p.all;
	if (g->bytes > 0) {
		const double own = (double)p.all / (double)g->bytes;
		p.planned.all_s *= own;
		p.planned.files_s *= own;
		p.planned.fresh_s *= own;
		p.planned.ahead_s *= own;
	}
	p.worked_s = g->ended ? p.planned.all_s
		     : p.all  ? p.planned.all_s * stage_done(s, k, &p) / (double)p.all
			      : 0;
	return p;
}

/* The factors by which work takes longer than planned: first use of memory, and all other work. */
typedef struct slowdown {
	double fresh, other;
	double planned_s; /* of the stage that was measured; 0 if none was, and the factors are 1 */
} slowdown;

/* If a stage is slower than planned by some factor, a later stage is assumed to be slower by this
 * factor, because other programs may keep the processors busy. If a stage is faster, the gain may
 * be due to this stage, for example because its files are in memory. So the later stage gains only
 * a power of the factor: the part of the planned time of both stages that was measured. */
static double slowdown_later(double factor, const slowdown *slow, double later_s)
{
	return factor < 1 ? pow(factor, slow->planned_s / (slow->planned_s + later_s)) : factor;
}

/* Return the slowdown of a stage that takes all_s in total. If the system's part of the time is
 * larger than planned, attribute the difference to the first use of memory. */
static slowdown stage_slowdown(const part *p, double all_s)
{
	const stage_plan *g = &p->planned;
	const double own_s = g->all_s - g->files_s - g->fresh_s;
	const double evenly = all_s / g->all_s;
	const double own = own_s > 0 ? all_s * (1 - p->system) / own_s : evenly;
	if (g->fresh_s <= 0 || own >= evenly)
		return (slowdown){ evenly, evenly, g->all_s };
	return (slowdown){ (all_s - own * (g->all_s - g->fresh_s)) / g->fresh_s, own, g->all_s };
}

/* Return the seconds that a stage has left, from its own rate and the slowdown of the stages before
 * it. Update the slowdown expected of later stages. */
static double stage_left_s(const part *p, stage_kind k, slowdown *slow)
{
	const stage_plan *g = &p->planned;
	if (g->all_s <= 0)
		return 0;
	const double fresh = slowdown_later(slow->fresh, slow, g->all_s);
	const double other = slowdown_later(slow->other, slow, g->all_s);
	const double slower = (fresh * g->fresh_s + other * (g->all_s - g->fresh_s)) / g->all_s;
	const double work_s = g->all_s - p->worked_s;
	if (p->taken_s <= 0)
		return slower * work_s;
	double left;
	if (slow->planned_s <= 0) {
		const double first_s = FIRST_PART * g->all_s;
		left = work_s * (p->taken_s + first_s) / (p->worked_s + first_s);
	} else {
		/* by the slowdown, but at least half of the time for the work that is left */
		const double rest_s = slower * work_s, until_s = slower * g->all_s - p->taken_s;
		const double expected_s = until_s > rest_s       ? rest_s
					  : until_s > rest_s / 2 ? until_s
								 : rest_s / 2;
		const double done = p->worked_s / g->all_s;
		const double sure = LATER_PART / (done > 0 ? done : 1);
		const double weight = done > 0 ? 1 / (1 + sure * sure) : 0;
		const double by_rate_s = done > 0 ? p->taken_s * (1 - done) / done : 0;
		left = weight * by_rate_s + (1 - weight) * expected_s;
	}
	if (k == STAGE_READ || k >= STAGE_WRITE) /* other stages have no files and wait for ranks */
		*slow = stage_slowdown(p, p->taken_s + left);
	return left;
}

progress_seen progress_look(rank_progress *s, moment now)
{
	progress_seen seen = { .left_s = -1 };
	slowdown slow = { 1, 1, 0 };
	pthread_mutex_lock(&s->lock);
	const stage *at = &s->stage[s->at];
	seen.stage = (int32_t)s->at;
	seen.open = stage_has_bytes(s->at) && !at->ended;
	for (int k = STAGE_READ; k < STAGES; k++) {
		const part p = stage_part(s, (stage_kind)k, &now);
		if ((int)s->at == k) {
			seen.done = p.done;
			seen.all = p.all;
		}
		seen.work_s += p.planned.all_s;
		seen.worked_s += p.worked_s;
		const double left = stage_left_s(&p, (stage_kind)k, &slow);
		if (seen.work_s > 0 && p.planned.all_s > p.worked_s)
			seen.left_s = (seen.left_s > 0 ? seen.left_s : 0) + left;
	}
	if (seen.open && at->bytes == 0)
		seen.left_s = -1;
	else if (seen.work_s > 0 && seen.left_s < 0)
		seen.left_s = 0;
	pthread_mutex_unlock(&s->lock);
	return seen;
}

stage_times progress_times(rank_progress *s)
{
	stage_times t;
	pthread_mutex_lock(&s->lock);
	for (int k = 0; k < STAGES; k++) {
		t.planned_s[k] = s->stage[k].planned.all_s;
		t.taken_s[k] = s->stage[k].taken.at_s;
	}
	pthread_mutex_unlock(&s->lock);
	return t;
}

const char *stage_name(stage_kind k)
{
	static const char *const name[] = {
		[STAGE_NONE] = "none",       [STAGE_READ] = "read", [STAGE_SPLIT] = "split",
		[STAGE_RECEIVE] = "receive", [STAGE_SORT] = "sort", [STAGE_WRITE] = "write",
		[STAGE_CHECK] = "check"
	};
	return name[k];
}
