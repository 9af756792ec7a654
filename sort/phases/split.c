/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts the sorted records of each rank into the parts that other ranks get. After phase_split, rank
 * d gets the records from cut[d] to cut[d + 1] of each run. With --unique, the cuts move so that
 * equal keys go to one rank. With --merge, the inputs are cut instead. Records beyond --top are
 * dropped before the exchange, by the rank that read them. */
#include "base/arith.h"
#include "base/pool.h"
#include "exchange/lanes.h"
#include "memory_plan.h"
#include "read.h"
#include "split.h"
#include "kernel/gather.h"
#include "spill/sorted_files.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

/* Sample this rank's records: from sorted runs if the last step is a merge, else as they were
 * read. */
status phase_sample(job *j)
{
	rank_env *env = &j->env;
	const size_t lanes = j->memory.lanes, splitters = (size_t)env->c->size * lanes;
	uint64_t *ends = mem_array(&env->m, splitters, sizeof *ends, "shares", &env->e);
	const status rc = comm_agree(env->c, ends ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	lanes_targets(j->shares.out, j->memory.lanes_used, (size_t)env->c->size, lanes, ends);
	j->cuts.target = ends;
	j->cuts.search =
		(splitter_search){ .c = env->c,
				   .m = &env->m,
				   .r = j->data.s,
				   .as_read =
					   memory_plan_merges(j) ? NULL : &j->data.memory.seq.recs,
				   .target = ends,
				   .each = lanes,
				   .count = splitters - 1 };
	return splitter_search_open(&j->cuts.search, &env->e);
}

status phase_split(job *j)
{
	rank_env *env = &j->env;
	cuts *k = &j->cuts;
	k->s = j->data.s;
	k->cut = mem_array(&env->m, (k->search.count + 2) * k->s->count, sizeof *k->cut, "cuts",
			   &env->e);
	status rc = comm_agree(env->c, k->cut ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		rc = splitter_search_end(&k->search, k->cut, &env->e);
		splitter_search_close(&k->search);
	}
	return rc;
}

uint64_t *cuts_count(job *j)
{
	const cuts *c = &j->cuts;
	const size_t p = (size_t)j->env.c->size, count = c->s->count;
	const size_t rank = j->memory.lanes * count; /* cuts of a rank */
	uint64_t *send = mem_array(&j->env.m, p, sizeof *send, "counts", &j->env.e);
	for (size_t i = 0; send && i < p; i++)
		for (size_t k = 0; k < count; k++)
			send[i] += c->cut[(i + 1) * rank + k] - c->cut[i * rank + k];
	return send;
}

status phase_split_keys(job *j)
{
	rank_env *env = &j->env;
	const size_t p = (size_t)env->c->size;
	uint64_t mine = 0;
	status rc =
		key_borders_move(env->c, &env->m, j->cuts.s, j->memory.lanes, j->cuts.cut, &env->e);
	if (rc != ST_OK)
		return rc;
	/* count the records that all ranks send to this one after the cuts have moved */
	uint64_t *send = cuts_count(j);
	uint64_t *recv = mem_array(&env->m, p, sizeof *recv, "counts", &env->e);
	rc = comm_agree(env->c, send && recv ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_alltoall(env->c, send, recv, sizeof *recv);
	for (size_t i = 0; rc == ST_OK && i < p; i++)
		if (__builtin_add_overflow(mine, recv[i], &mine))
			rc = err_set(&env->e, ST_PEER, "the ranks announce too many records");
	mem_free(&env->m, send);
	mem_free(&env->m, recv);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = job_replan_out(j, mine, j->cuts.dropped.records, "unique keys");
	if (rc == ST_OK && !memory_plan_holds(j, mine))
		rc = err_set(
			&env->e, ST_RESOURCE,
			"this rank must receive all records of its keys, %" PRIu64
			", but memory does not hold them; use --strategy=merge, which needs less",
			mine);
	return rc;
}

/* Find the places in each input where this rank begins; it ends where the next rank begins. */
status phase_split_inputs(job *j)
{
	rank_env *env = &j->env;
	sorted_share *d = &j->data;
	const int rank = env->c->rank;
	const size_t count = d->s->count, bytes = count * sizeof *d->cut;
	d->cut = mem_array(&env->m, 2 * count, sizeof *d->cut, "cuts", &env->e);
	status rc = comm_agree(env->c, d->cut ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		uint64_t *from = d->cut, *to = d->cut + count;
		memcpy(from, d->s->start, bytes);
		memcpy(to, d->s->start + 1, bytes);
		if (rank > 0)
			rc = sorted_files_cut(d->s, share_before(env, j->shares.out),
					      env->o->unique, from, &env->e);
		rc = comm_agree(env->c, rc);
		uint64_t *all = rc == ST_OK ? env_allgather(env, from, bytes, "cuts", &rc) : NULL;
		if (all && rank + 1 < env->c->size)
			memcpy(to, all + (size_t)(rank + 1) * count, bytes);
		mem_free(&env->m, all);
		d->n = 0;
		for (size_t i = 0; rc == ST_OK && i < count; i++) {
			if (from[i] > to[i] || to[i] > d->s->start[i + 1])
				rc = sorted_files_crossed(d->s, i, &env->e);
			d->n += (size_t)(to[i] - from[i]);
		}
		rc = comm_agree(env->c, rc);
	}
	if (rc == ST_OK && env->o->unique) {
		/* a rank receives all records of its keys, however many there are */
		rc = job_replan_out(j, d->n, 0, "unique keys");
		if (rc == ST_OK)
			memcpy(j->next.in, j->next.out, (size_t)env->c->size * sizeof *j->next.in);
	}
	read_note(j, d->n);
	return rc;
}

static uint64_t u64_add(uint64_t a, uint64_t b)
{
	return a + b;
}

/* Return the part of the first n of `all` records that are among `left` ones. */
static uint64_t scaled(uint64_t n, uint64_t left, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)n * left / all) : 0;
}

status phase_plan_folded(job *j)
{
	rank_env *env = &j->env;
	const uint64_t gone = j->data.dropped.records, all = j->shares.records;
	uint64_t folded;
	dropped_join(&j->cuts.dropped, &j->data.dropped); /* also counts that were set */
	const status rc = comm_reduce(env->c, gone, u64_add, &folded);
	if (rc != ST_OK || folded == 0)
		return rc;
	const uint64_t from = share_before(env, j->shares.out), left = all - u64_min(all, folded);
	const uint64_t to = from + own_share(env, j->shares.out);
	return job_replan_out(j, scaled(to, left, all) - scaled(from, left, all), gone,
			      "records that are left");
}

status phase_plan_top(job *j)
{
	rank_env *env = &j->env;
	const uint64_t top = env->o->top;
	const size_t ranks = (size_t)env->c->size - 1;
	share_plan *next = &j->next;
	uint64_t unseen;
	status rc = comm_reduce(env->c, !j->data.s->ops->sum, u64_max, &unseen);
	if (rc != ST_OK || unseen)
		return rc;
	rc = job_replan(j);
	if (rc != ST_OK)
		return rc;
	/* divide the first records by speed among all ranks but the last, which gets the rest */
	if (env->c->rank == 0)
		rc = shares_by_speed(PLAN_LINEAR, top, next->speed, ranks, next->out, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = comm_bcast(env->c, next->out, ranks * sizeof *next->out, 0);
	next->out[ranks] = next->records - top;
	if (rc == ST_OK)
		rc = comm_agree(env->c,
				share_plan_check(env, next->records, next->out, false, "--top"));
	share_plan_sum_out(env, next);
	j->cuts.drops_rest = rc == ST_OK;
	return rc;
}

enum { DROP_RECS = 1 << 14 };

/* The records that are dropped, by all threads together. */
typedef struct dropping {
	const sorted *s;
	const uint64_t *from; /* [runs] dropped from here to the end of each run */
	atomic_uint_fast64_t next;
	checksum *sum; /* [threads] */
	atomic_size_t misfits;
} dropping;

/* Add up the checksums of the dropped records of all runs, piece by piece. */
static void drop_pieces(void *dropping_, unsigned worker)
{
	dropping *p = dropping_;
	const sorted *s = p->s;
	checksum sum = { 0 };
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

status phase_drop_rest(job *j)
{
	rank_env *env = &j->env;
	cuts *c = &j->cuts;
	const unsigned threads = j->cpus.threads;
	const size_t last = (size_t)env->c->size - 1, lanes = j->memory.lanes;
	dropping p = { .s = c->s, .from = c->cut + last * lanes * c->s->count };
	p.sum = mem_array(&env->m, threads, sizeof *p.sum, "checksums", &env->e);
	status rc = comm_agree(env->c, p.sum ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = job_replan(j);
	if (rc == ST_OK) {
		pool_run(threads, drop_pieces, &p);
		for (unsigned i = 0; i < threads; i++)
			c->dropped.sum = checksum_join(c->dropped.sum, p.sum[i]);
		for (size_t i = 0; i < c->s->count; i++) {
			c->dropped.records += c->s->start[i + 1] - p.from[i];
			for (size_t k = 1; k <= lanes; k++)
				c->cut[(last * lanes + k) * c->s->count + i] = p.from[i];
		}
		j->next.out[last] = 0;
		share_plan_sum_out(env, &j->next);
		rc = comm_agree(env->c, gather_misfits(atomic_load(&p.misfits), &env->e));
	}
	mem_free(&env->m, p.sum);
	return rc;
}
