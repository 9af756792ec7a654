/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --top over several ranks, in memory: what comes behind the first records is dropped before the
 * exchange, by the rank that read it. */
#include "phases.h"
#include "base/minmax.h"
#include "base/pool.h"
#include "kernel/checksum.h"
#include "kernel/gather.h"
#include "model/shares.h"

#include <stdatomic.h>

/* The first records by the speeds of all ranks but the last, which has the rest. */
static status share_top(rank_env *env, share_plan *s, uint64_t top)
{
	const size_t ranks = (size_t)env->c->size - 1;
	const bool plans = env->c->rank == 0;
	status rc = comm_agree(env->c, plans ? shares_by_speed(PLAN_LINEAR, false, top, s->speed,
							       ranks, s->out, &env->e)
					     : ST_OK);
	if (rc == ST_OK)
		rc = comm_bcast(env->c, s->out, ranks * sizeof *s->out, 0);
	s->out[ranks] = s->records - top;
	if (rc == ST_OK)
		rc = comm_agree(env->c, share_plan_check(env, s->records, s->out, false, "--top"));
	share_plan_sum_out(env, s);
	return rc;
}

status phase_plan_top(rank_env *env, const settled *k, const read_runs *d, cuts *c,
		      share_plan *next)
{
	const uint64_t top = env->o->top;
	uint64_t spilled;
	if (env->o->unique || top > k->s->records / 2)
		return ST_OK;
	status rc = comm_reduce(env->c, d->spill != NULL, u64_max, &spilled);
	if (rc != ST_OK || spilled)
		return rc;
	rc = comm_agree(env->c, share_plan_copy(env, k->s, next));
	if (rc == ST_OK)
		rc = share_top(env, next, top);
	c->drops_rest = rc == ST_OK;
	return rc;
}

enum { DROP_RECS = 1 << 14 };

/* The records that are dropped, summed up by all threads. */
typedef struct dropping {
	const runs *r;
	const uint64_t *from; /* [runs] in each to its end */
	atomic_uint_fast64_t next;
	checksum *sum; /* of each thread */
	atomic_size_t misfits;
} dropping;

static checksum sum_of_places(dropping *p, uint64_t from, uint64_t to)
{
	const records *r = &p->r->recs;
	checksum sum = { 0, 0 };
	for (uint64_t i = from; i < to; i++) {
		const entry e = runs_entry(p->r, i);
		const unsigned char *rec = record_at(r, entry_pos(&e));
		if (!entry_fits(&e, rec, &r->lay))
			atomic_fetch_add(&p->misfits, 1);
		sum = checksum_join(sum, checksum_records(rec, 1, r->lay.record_bytes));
	}
	return sum;
}

/* Places of all runs in pieces; what is kept has none in them. */
static void drop_pieces(void *dropping_, unsigned worker)
{
	dropping *p = dropping_;
	const runs *r = p->r;
	checksum sum = { 0, 0 };
	for (uint64_t at; (at = atomic_fetch_add(&p->next, DROP_RECS)) < runs_total(r);)
		for (size_t k = 0; k < r->count; k++) {
			const uint64_t from = u64_max(at, p->from[k]);
			const uint64_t to = u64_min(at + DROP_RECS, r->start[k + 1]);
			if (from < to)
				sum = checksum_join(sum, sum_of_places(p, from, to));
		}
	p->sum[worker] = sum;
}

status phase_drop_rest(rank_env *env, const settled *k, cuts *c, share_plan *next)
{
	const size_t last = (size_t)env->c->size - 1;
	if (!c->drops_rest)
		return ST_OK;
	dropping p = { .r = &c->r, .from = c->cut + last * c->r.count };
	p.sum = mem_array(&env->m, k->cpus->threads, sizeof *p.sum, "checksums", &env->e);
	const status rc =
		comm_agree(env->c, p.sum ? share_plan_copy(env, k->s, next) : ST_RESOURCE);
	if (rc != ST_OK) {
		mem_free(&env->m, p.sum);
		return rc;
	}
	pool_run(k->cpus->threads, drop_pieces, &p);
	for (unsigned i = 0; i < k->cpus->threads; i++)
		c->dropped.sum = checksum_join(c->dropped.sum, p.sum[i]);
	mem_free(&env->m, p.sum);
	for (size_t i = 0; i < c->r.count; i++) {
		c->dropped.records += c->r.start[i + 1] - p.from[i];
		c->cut[(last + 1) * c->r.count + i] = p.from[i];
	}
	next->out[last] = 0;
	share_plan_sum_out(env, next);
	return comm_agree(env->c, gather_misfits(atomic_load(&p.misfits), &env->e));
}
