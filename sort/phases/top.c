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
	uint64_t unseen;
	if (env->o->unique || top > k->s->records / 2)
		return ST_OK;
	status rc = comm_reduce(env->c, !d->s->ops->sum, u64_max, &unseen);
	if (rc != ST_OK || unseen)
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
	const sorted *s;
	const uint64_t *from; /* [runs] in each to its end */
	atomic_uint_fast64_t next;
	checksum *sum; /* of each thread */
	atomic_size_t misfits;
} dropping;

/* Places of all runs in pieces; what is kept has none in them. */
static void drop_pieces(void *dropping_, unsigned worker)
{
	dropping *p = dropping_;
	const sorted *s = p->s;
	checksum sum = { 0, 0 };
	size_t misfits = 0;
	for (uint64_t at; (at = atomic_fetch_add(&p->next, DROP_RECS)) < sorted_total(s);)
		for (size_t k = 0; k < s->count; k++) {
			const uint64_t from = u64_max(at, p->from[k]);
			const uint64_t to = u64_min(at + DROP_RECS, s->start[k + 1]);
			if (from < to)
				sum = checksum_join(sum, s->ops->sum(s, from, to, &misfits));
		}
	p->sum[worker] = sum;
	atomic_fetch_add(&p->misfits, misfits);
}

status phase_drop_rest(rank_env *env, const settled *k, cuts *c, share_plan *next)
{
	const size_t last = (size_t)env->c->size - 1;
	if (!c->drops_rest)
		return ST_OK;
	dropping p = { .s = c->s, .from = c->cut + last * c->s->count };
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
	for (size_t i = 0; i < c->s->count; i++) {
		c->dropped.records += c->s->start[i + 1] - p.from[i];
		c->cut[(last + 1) * c->s->count + i] = p.from[i];
	}
	next->out[last] = 0;
	share_plan_sum_out(env, next);
	return comm_agree(env->c, gather_misfits(atomic_load(&p.misfits), &env->e));
}
