/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nothing here takes a lock in the way of work: what work counts is atomic, and the lock is for the
 * few moments when a stage begins or ends. */
#include "stages.h"

#include <string.h>

/* What is seen of a stage counts in full once more than this part of its planned time is done. */
static const double FIRST_PART = 0.05;

/* For what nobody has planned: only its ratio to other stages matters. */
static const double BYTE_S = 1e-9;

void stages_init(stages *s)
{
	memset(s, 0, sizeof *s);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->count.activity.lock, NULL);
}

static uint64_t counted(stages *s, stage_kind k)
{
	static const progress_kind by[] = { [STAGE_READ] = PROGRESS_IN,
					    [STAGE_WRITE] = PROGRESS_OUT,
					    [STAGE_CHECK] = PROGRESS_READ };
	return progress_bytes(&s->count, by[k]);
}

void stages_plan(stages *s, stage_kind k, double planned_s)
{
	pthread_mutex_lock(&s->lock);
	s->stage[k].planned_s = planned_s;
	pthread_mutex_unlock(&s->lock);
}

void stages_begin(stages *s, stage_kind k, uint64_t bytes, double now)
{
	stage *g = &s->stage[k];
	pthread_mutex_lock(&s->lock);
	s->at = k;
	g->bytes = bytes;
	if (g->planned_s <= 0)
		g->planned_s = BYTE_S * (double)bytes;
	g->base = counted(s, k);
	g->kept_base = progress_bytes(&s->count, PROGRESS_KEPT);
	g->begun_s = now;
	pthread_mutex_unlock(&s->lock);
}

void stages_end(stages *s, double now)
{
	stage *g = &s->stage[s->at];
	pthread_mutex_lock(&s->lock);
	if (!g->ended)
		g->taken_s = now - g->begun_s;
	g->ended = true;
	pthread_mutex_unlock(&s->lock);
}

/* Of a stage: bytes to move, without what an earlier program has done, and those that are moved. */
typedef struct part {
	uint64_t done, all;
	double planned_s, worked_s, taken_s;
} part;

static part part_of(stages *s, stage_kind k, double now)
{
	const stage *g = &s->stage[k];
	part p = { .planned_s = g->planned_s };
	if (s->at < k)
		return p;
	const uint64_t kept = progress_bytes(&s->count, PROGRESS_KEPT) - g->kept_base;
	p.all = g->bytes > kept ? g->bytes - kept : 0;
	p.done = counted(s, k) - g->base;
	p.taken_s = g->ended ? g->taken_s : now - g->begun_s;
	if (p.all && p.done > p.all)
		p.done = p.all;
	if (g->bytes > 0)
		p.planned_s *= (double)p.all / (double)g->bytes;
	p.worked_s = g->ended ? p.planned_s
		     : p.all  ? p.planned_s * (double)p.done / (double)p.all
			      : 0;
	return p;
}

/* How much longer than planned it takes, if it was `before` until now. */
static double slowdown(double before, double taken_s, double worked_s, double planned_s)
{
	const double first_s = FIRST_PART * planned_s;
	return worked_s + first_s > 0 ? (taken_s + before * first_s) / (worked_s + first_s)
				      : before;
}

stages_seen stages_look(stages *s, double now)
{
	stages_seen seen = { .left_s = -1 };
	double slower = 1;
	pthread_mutex_lock(&s->lock);
	const stage *at = &s->stage[s->at];
	seen.stage = (int32_t)s->at;
	seen.open = s->at != STAGE_NONE && !at->ended;
	for (int k = STAGE_READ; k < STAGES; k++) {
		const part p = part_of(s, (stage_kind)k, now);
		if ((int)s->at == k) {
			seen.done = p.done;
			seen.all = p.all;
		}
		seen.work_s += p.planned_s;
		seen.worked_s += p.worked_s;
		if (p.taken_s > 0)
			slower = slowdown(slower, p.taken_s, p.worked_s, p.planned_s);
		if (seen.work_s > 0 && p.planned_s > p.worked_s)
			seen.left_s = (seen.left_s > 0 ? seen.left_s : 0) +
				      slower * (p.planned_s - p.worked_s);
	}
	if (seen.open && at->bytes == 0)
		seen.left_s = -1;
	else if (seen.work_s > 0 && seen.left_s < 0)
		seen.left_s = 0;
	pthread_mutex_unlock(&s->lock);
	return seen;
}
