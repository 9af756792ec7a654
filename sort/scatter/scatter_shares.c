/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0 divides the input that it scatters. It uses the scatter plan of libhetpart, which
 * considers that ranks are served one after the other, or simpler rules for comparison.
 *
 * The cost of messages from rank 0 to each rank is a startup and seconds per byte. The cost is
 * given by --links, or measured with messages to one rank after the other. These messages are long
 * enough to fill buffers on the way, and to empty a token bucket that limits a link. */
#include "base/clock.h"
#include "base/arith.h"
#include "scatter_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

status scatter_plan_make(rank_env *env, scatter_plan *sp)
{
	const size_t p = (size_t)env->c->size;
	*sp = (scatter_plan){ 0 };
	if (!env_scatters(env))
		return ST_OK;
	sp->p = p;
	sp->startup_s = mem_array(&env->m, p, 3 * sizeof(double) + sizeof *sp->order,
				  "links and order of service", &env->e);
	if (!sp->startup_s)
		return ST_RESOURCE;
	sp->byte_s = sp->startup_s + p;
	sp->arrive_s = sp->byte_s + p;
	sp->order = (void *)(sp->arrive_s + p);
	return ST_OK;
}

void scatter_plan_free(rank_env *env, scatter_plan *sp)
{
	mem_free(&env->m, sp->startup_s);
}

/* ---------------------------------------------------------------------------------------- links */

enum { PINGS = 5, TAG_PING = 0, FIRST_BYTES = 64 << 10, ENOUGH_BYTES = 16 << 20 };

static const double LIMIT_S = 0.2;        /* for all links together */
static const double LEAST_LIMIT_S = 0.05; /* but at least this for each link */
static const double LEAST_BYTE_S = 1e-12; /* no link is faster than 1 TB/s */

/* A link that is being measured, at either end. */
typedef struct probe {
	comm *c;
	int to;
	unsigned char *buf;
	size_t bytes;   /* of a message */
	uint64_t most;  /* bytes to send to one rank */
	double limit_s; /* for one link */
} probe;

/* Send or receive a message, and wait until it is received. */
static status probe_message(const probe *l, void *buf, size_t bytes)
{
	comm_req r;
	double waited_s = 0;
	const status rc = l->c->rank == 0 ? comm_send(l->c, buf, bytes, l->to, TAG_PING, &r)
					  : comm_recv(l->c, buf, bytes, 0, TAG_PING, &r);
	return rc == ST_OK ? scatter_wait(l->c, &r, &waited_s) : rc;
}

/* Send PINGS messages from rank 0 to rank l->to; both call this. At rank 0, *least_s receives the
 * time of the quickest. */
static status quickest(const probe *l, size_t bytes, double *least_s)
{
	status rc = ST_OK;
	*least_s = INFINITY;
	for (int i = 0; i < PINGS && rc == ST_OK; i++) {
		const double t0 = now_s();
		rc = probe_message(l, l->buf, bytes);
		*least_s = fmin(*least_s, now_s() - t0);
	}
	return rc;
}

/* Send volleys of messages until rank 0 ends the series; each volley has twice the bytes of the
 * previous one. Measure the last volley, because a token bucket lets the first volleys run at full
 * speed. A one-byte message ends each volley. It is received only after the whole volley has
 * arrived, so a volley that is still in a buffer on the way is not timed as delivered. */
static status sustained(const probe *l, double *moving_s, uint64_t *moved)
{
	double past_s = 0; /* spent in volleys, not counting the gaps between them */
	double byte_s = 0;
	for (uint64_t bytes = FIRST_BYTES;;) {
		comm_word w = comm_word_for(l->c, bytes, l->to, TAG_PING);
		status rc = probe_message(l, &w, sizeof w);
		if (rc == ST_OK && l->c->rank != 0)
			rc = comm_word_check(l->c, &w, 0, TAG_PING);
		bytes = w.value;
		if (rc != ST_OK || bytes == 0)
			return rc;
		const double t0 = now_s();
		for (uint64_t at = 0; at < bytes && rc == ST_OK; at += l->bytes)
			rc = probe_message(l, l->buf, (size_t)u64_min(l->bytes, bytes - at));
		if (rc == ST_OK)
			rc = probe_message(l, l->buf, 1);
		if (rc != ST_OK)
			return rc;
		const double before_s = byte_s;
		*moving_s = now_s() - t0;
		*moved = bytes;
		past_s += *moving_s;
		byte_s = *moving_s / (double)bytes;
		bytes *= 2;
		const bool settled =
			bytes >= ENOUGH_BYTES && fabs(byte_s - before_s) < 0.05 * before_s;
		if (settled || past_s > l->limit_s || 2 * bytes > l->most)
			bytes = 0;
	}
}

status scatter_links(rank_env *env, const rank_speeds *g, uint64_t total, scatter_plan *sp)
{
	status rc = ST_OK;
	if (env->o->links) {
		if (g->p) /* the number of rank 0 is not used */
			rc = rank_numbers_load(env, g, env->o->links, "link", sp->byte_s);
		for (size_t i = 0; rc == ST_OK && i < g->p; i++)
			sp->byte_s[i] = 1e-6 / sp->byte_s[i];
		return comm_agree(env->c, rc);
	}
	const uint64_t share = total / (uint64_t)env->c->size + 1;
	const size_t bytes = env->o->lay.record_bytes;
	const size_t n = (size_t)u64_min(share, scatter_block_recs(env, total));
	probe l = { .c = env->c,
		    .buf = mem_array(&env->m, n, bytes, "measuring links", &env->e),
		    .bytes = n * bytes,
		    .most = share * bytes,
		    .limit_s = fmax(LIMIT_S / fmax(env->c->size - 1, 1), LEAST_LIMIT_S) };
	rc = comm_agree(env->c, l.buf ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		memset(l.buf, 1, l.bytes); /* so that page faults are not measured */
		const bool grows =
			l.most >= 4 * (uint64_t)FIRST_BYTES; /* else all is one message */
		for (l.to = 1; l.to < env->c->size && rc == ST_OK; l.to++) {
			double moving_s = 0, *startup_s = &sp->startup_s[l.to];
			uint64_t moved = l.bytes;
			if (env->c->rank != 0 && env->c->rank != l.to)
				continue;
			rc = quickest(&l, 1, startup_s);
			if (rc == ST_OK)
				rc = grows ? sustained(&l, &moving_s, &moved)
					   : quickest(&l, l.bytes, &moving_s);
			sp->byte_s[l.to] =
				fmax((moving_s - *startup_s) / (double)moved, LEAST_BYTE_S);
		}
		rc = comm_agree(env->c, rc);
	}
	mem_free(&env->m, l.buf);
	return rc;
}

/* --------------------------------------------------------------------------------------- shares */

/* The work of a rank on the records that it has received. */
typedef struct rank_work {
	const rates *rate;
	const settings *o;
} rank_work;

/* Return the seconds of a rank for n records, as a cost for the planner. */
static double work_s(void *ctx, uint64_t n)
{
	const rank_work *w = ctx;
	return job_time_before_s(w->rate, w->o, n);
}

/* The ranks in the planner's order: 1, 2, ..., and 0, the root, last. */
typedef struct view {
	rank_work *work; /* [p], like the other arrays, which are in the same allocation */
	hetpart_scatter_proc *proc, *served;
	hetpart_worker *worker;
	size_t *order;
	size_t p;
} view;

/* Return the rank at place i of the planner's order. */
static size_t view_rank(const view *v, size_t i)
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
}

/* Describe the ranks to the planner, and find the order in which rank 0 should serve them. */
static hetpart_status view_open(const settings *o, const share_plan *s, const scatter_plan *sp,
				view *v, hetpart_err *he)
{
	const size_t p = sp->p;
	*v = (view){ .p = p };
	v->work = calloc(p, sizeof *v->work + 2 * sizeof *v->proc + sizeof *v->worker +
				    sizeof *v->order);
	if (!v->work)
		return HETPART_ENOMEM;
	v->proc = (void *)(v->work + p);
	v->served = v->proc + p;
	v->worker = (void *)(v->served + p);
	v->order = (void *)(v->worker + p);
	hetpart_status st = HETPART_OK;
	for (size_t i = 0; i < p && st == HETPART_OK; i++) {
		const size_t r = view_rank(v, i);
		hetpart_cost *compute = NULL, *link = NULL;
		v->work[i] = (rank_work){ &s->rate[r], o };
		st = hetpart_cost_callback(&compute, work_s, &v->work[i], true, 1, he);
		if (st == HETPART_OK && r != 0)
			st = hetpart_cost_affine(&link, sp->startup_s[r],
						 sp->byte_s[r] * o->lay.record_bytes, 1, he);
		v->proc[i].compute = compute;
		v->proc[i].link = link;
		v->worker[i] = (hetpart_worker){ compute, link };
	}
	if (st == HETPART_OK)
		st = hetpart_scatter_order(v->order, s->records, v->proc, p, he);
	for (size_t i = 0; i < p && st == HETPART_OK; i++)
		v->served[i] = v->proc[v->order[i]];
	return st;
}

status scatter_shares(rank_env *env, const rank_speeds *g, share_plan *s, scatter_plan *sp)
{
	const settings *o = env->o;
	const bool balanced = o->scatter == SCATTER_BALANCED,
		   dynamic = o->scatter == SCATTER_DYNAMIC;
	hetpart_err he = { HETPART_OK, "no memory for the plan of a scatter" };
	hetpart_plan *plan = NULL;
	view v;
	double t = 0;
	status rc = ST_OK;
	hetpart_status st = view_open(o, s, sp, &v, &he);
	if (st == HETPART_OK && balanced)
		st = hetpart_scatter_create(&plan, s->records, v.served, v.p, NULL, &he);
	else if (st == HETPART_OK && dynamic) /* a forecast, in which rank 0 keeps no records */
		st = hetpart_farm_create(&plan, s->records, v.worker, v.p - 1,
					 HETPART_CHUNK_FACTORING,
					 scatter_least_chunk(env, s->records), &he);
	else if (st == HETPART_OK)
		rc = shares_by_speed(o->scatter == SCATTER_EQUAL
					     ? PLAN_EQUAL
					     : shares_kind(o->plan, settings_sorts_first(o)),
				     s->records, g->before, g->p, s->in, &env->e);
	const bool planned = st == HETPART_OK && rc == ST_OK;
	for (size_t i = 0; planned && i < v.p && (balanced || dynamic); i++)
		s->in[view_rank(&v, balanced ? v.order[i] : i)] =
			dynamic && i + 1 == v.p ? 0 : hetpart_plan_share(plan, i);
	/* a rank gets its share after the ranks that are served before it */
	for (size_t i = 0; planned && i < v.p; i++) {
		const size_t r = view_rank(&v, v.order[i]);
		sp->order[i] = (uint32_t)r;
		if (r)
			t += fmax(hetpart_cost_eval(v.served[i].link, s->in[r]), 0);
		sp->arrive_s[r] = dynamic ? 0 : t;
	}
	hetpart_plan_free(plan);
	view_free(&v);
	return rc != ST_OK ? rc : shares_status(st, &he, &env->e);
}
