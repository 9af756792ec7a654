/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How rank 0 divides the input that it scatters: by libhetpart's scatter, which knows that ranks
 * are served one after the other, or by the simpler rules beside which that can be seen. */
#include "scatter.h"
#include "model/shares.h"

#include <stdlib.h>

/* What a rank does with records that have come to it. */
typedef struct rank_work {
	const rates *rate;
	const settings *o;
} rank_work;

static double work_s(void *ctx, uint64_t n)
{
	const rank_work *w = ctx;
	return job_time_before_s(w->rate, w->o, n);
}

/* The planner's view of the ranks: 1, 2, ..., and 0, the root, last. */
typedef struct view {
	rank_work *work;
	hetpart_scatter_proc *proc, *served;
	size_t *order;
	size_t p;
} view;

static size_t rank_of(const view *v, size_t i)
{
	return (i + 1) % v->p;
}

static void view_free(view *v)
{
	for (size_t i = 0; v->proc && i < v->p; i++) {
		hetpart_cost_free((hetpart_cost *)(uintptr_t)v->proc[i].compute);
		hetpart_cost_free((hetpart_cost *)(uintptr_t)v->proc[i].link);
	}
	free(v->work);
	free(v->proc);
	free(v->served);
	free(v->order);
}

static hetpart_status view_proc(const rank_env *env, const share_plan *s, const scatter_plan *sp,
				view *v, size_t i, hetpart_err *he)
{
	const size_t r = rank_of(v, i);
	hetpart_cost *compute = NULL, *link = NULL;
	v->work[i] = (rank_work){ &s->rate[r], env->o };
	hetpart_status st = hetpart_cost_callback(&compute, work_s, &v->work[i], true, 1, he);
	v->proc[i].compute = compute;
	if (st == HETPART_OK && r != 0)
		st = hetpart_cost_affine(&link, sp->startup_s[r],
					 sp->byte_s[r] * env->o->lay.record_bytes, 1, he);
	v->proc[i].link = link;
	return st;
}

static hetpart_status view_open(const rank_env *env, const share_plan *s, const scatter_plan *sp,
				view *v, hetpart_err *he)
{
	const size_t p = sp->p;
	*v = (view){ .p = p };
	v->work = calloc(p, sizeof *v->work);
	v->proc = calloc(p, sizeof *v->proc);
	v->served = calloc(p, sizeof *v->served);
	v->order = calloc(p, sizeof *v->order);
	if (!v->work || !v->proc || !v->served || !v->order)
		return HETPART_ENOMEM;
	hetpart_status st = HETPART_OK;
	for (size_t i = 0; i < p && st == HETPART_OK; i++)
		st = view_proc(env, s, sp, v, i, he);
	if (st == HETPART_OK)
		st = hetpart_scatter_order(v->order, s->records, v->proc, p, he);
	for (size_t i = 0; i < p && st == HETPART_OK; i++)
		v->served[i] = v->proc[v->order[i]];
	return st;
}

static hetpart_status balanced(share_plan *s, const view *v, hetpart_err *he)
{
	hetpart_plan *plan = NULL;
	const hetpart_status st =
		hetpart_scatter_create(&plan, s->records, v->served, v->p, NULL, he);
	for (size_t i = 0; st == HETPART_OK && i < v->p; i++)
		s->in[rank_of(v, v->order[i])] = hetpart_plan_share(plan, i);
	hetpart_plan_free(plan);
	return st;
}

/* What handing out chunks would give, the root taking none. */
static hetpart_status forecast(const rank_env *env, share_plan *s, const view *v, hetpart_err *he)
{
	hetpart_plan *plan = NULL;
	const size_t workers = v->p - 1;
	hetpart_worker *w = calloc(v->p, sizeof *w); /* one more: never none */
	if (!w)
		return HETPART_ENOMEM;
	for (size_t i = 0; i < workers; i++)
		w[i] = (hetpart_worker){ v->proc[i].compute, v->proc[i].link };
	const hetpart_status st =
		hetpart_farm_create(&plan, s->records, w, workers, HETPART_CHUNK_FACTORING,
				    scatter_least_chunk(env, s->records), he);
	s->in[0] = 0;
	for (size_t i = 0; st == HETPART_OK && i < workers; i++)
		s->in[rank_of(v, i)] = hetpart_plan_share(plan, i);
	hetpart_plan_free(plan);
	free(w);
	return st;
}

/* Each rank has its share when those before it have theirs. */
static void note_arrivals(const rank_env *env, const share_plan *s, const view *v, scatter_plan *sp)
{
	double t = 0;
	for (size_t i = 0; i < v->p; i++) {
		const size_t r = rank_of(v, v->order[i]);
		sp->order[i] = (uint32_t)r;
		t += hetpart_cost_eval(v->served[i].link, r ? s->in[r] : 0) > 0
			     ? hetpart_cost_eval(v->served[i].link, s->in[r])
			     : 0;
		sp->arrive_s[r] = env->o->scatter == SCATTER_DYNAMIC ? 0 : t;
	}
}

status scatter_shares(rank_env *env, const rank_speeds *g, share_plan *s, scatter_plan *sp)
{
	const bool sorting = job_time_sorts_reading(env->o);
	hetpart_err he = { HETPART_OK, "no memory for the plan of a scatter" };
	view v;
	status rc = ST_OK;
	hetpart_status st = view_open(env, s, sp, &v, &he);
	if (st == HETPART_OK && env->o->scatter == SCATTER_BALANCED)
		st = balanced(s, &v, &he);
	else if (st == HETPART_OK && env->o->scatter == SCATTER_DYNAMIC)
		st = forecast(env, s, &v, &he);
	else if (st == HETPART_OK)
		rc = shares_by_speed(env->o->scatter == SCATTER_EQUAL ? PLAN_EQUAL : env->o->plan,
				     sorting, s->records, g->before, g->p, s->in, &env->e);
	if (st == HETPART_OK && rc == ST_OK)
		note_arrivals(env, s, &v, sp);
	view_free(&v);
	return rc != ST_OK ? rc : shares_status(st, &he, &env->e);
}
