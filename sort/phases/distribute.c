/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variant that sorts last: records go to their rank in the order of the input, and what a rank
 * has received is sorted and written as if it had read it. Each source has its place in the memory
 * for it, so positions there follow (rank, position), and equal keys keep the order of the input.
 * Memory: up to two copies. */
#include "base/clock.h"
#include "base/minmax.h"
#include "exchange/distribute_disk.h"
#include "job.h"
#include "kernel/gather.h"
#include "testing/failpoint.h"
#include "testing/test_sizes.h"

/* The sort that has found the cuts makes room for an entry for each record, by destination. */
static status by_destination(job *j)
{
	rank_env *env = &j->env;
	read_runs *d = &j->data;
	cuts *k = &j->cuts;
	const size_t p = (size_t)env->c->size;
	splitters g = { .lay = k->s->lay }; /* the cuts as records of this rank */
	g.raw = mem_array(&env->m, p - 1, item_bytes(&g.lay), "splitters", &env->e);
	for (size_t i = 1; g.raw && i < p && k->cut[i] < sorted_total(k->s); i++)
		k->s->ops->item(k->s, k->cut[i], splitters_item(&g, g.count++));
	uint64_t *at = mem_array(&env->m, p, sizeof *at, "counts", &env->e);
	sorted_memory_close(&d->memory);
	d->memory.e = mem_array(&env->m, d->n, sizeof *d->memory.e, "entries", &env->e);
	(void)sorted_memory_make(&d->memory, d->start, NULL);
	k->s = &d->memory.s;
	status rc = g.raw && at && d->memory.e ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		FAIL_FLIP(FAIL_ENTRIES, g.raw, g.count * item_bytes(&g.lay));
		rc = gather_misfits(
			splitters_place(&g, &d->memory.recs, 0, d->n, k->cut, at, d->memory.e),
			&env->e);
		FAIL_FLIP(FAIL_ENTRIES, d->memory.e, d->n * sizeof(entry));
	}
	mem_free(&env->m, g.raw);
	mem_free(&env->m, at);
	return rc;
}

/* One block of source s to its place; where records are only parted, it is written at once. */
static status take_block(exchange_setup *t, int s, const read_runs *to, uint64_t *at, bool *any)
{
	const size_t bytes = t->j->env.o->lay.record_bytes;
	const unsigned char *rec;
	size_t n;
	const status rc = exchange_next(t->x, s, &rec, &n);
	if (rc != ST_OK || n == 0)
		return rc;
	*any = true;
	if (t->stores)
		memcpy(to->recs + at[s] * bytes, rec, n * bytes);
	for (size_t done = 0, k; !t->stores && done < n; done += k) {
		size_t room;
		unsigned char *there = writer_room(&t->to_file, &room);
		k = size_min(n - done, room);
		memcpy(there, rec + done * bytes, k * bytes);
		writer_add(&t->to_file, k);
	}
	at[s] += n;
	progress_add(PROGRESS_RECEIVED, n * bytes);
	return ST_OK;
}

/* Block after block, the sources in turn. */
static status receive_all(exchange_setup *t, read_runs *to, uint64_t *at)
{
	const comm *c = t->j->env.c;
	status rc = ST_OK;
	bool any = true;
	for (int s = 0; s < c->size; s++) {
		at[s] = to->n;
		to->n += t->flow.recv[s];
	}
	while (rc == ST_OK && any) {
		any = false;
		for (int i = 0; rc == ST_OK && i < c->size; i++)
			rc = take_block(t, (c->rank + i) % c->size, to, at, &any);
	}
	return rc == ST_OK ? exchange_setup_drained(t) : rc;
}

static status exchange_records(job *j, const read_runs_plan *p, bool stores, read_runs *received)
{
	rank_env *env = &j->env;
	exchange_setup t = exchange_setup_of(j, stores);
	uint64_t *at = mem_array(&env->m, (size_t)env->c->size, sizeof *at, "counts", &env->e);
	status rc = at ? by_destination(j) : ST_RESOURCE;
	if (rc == ST_OK && stores)
		rc = read_runs_room(p, &env->m, (size_t)own_share(env, j->shares.out), received,
				    &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = exchange_setup_open(&t);
	if (rc == ST_OK)
		rc = receive_all(&t, received, at);
	rc = exchange_setup_close(&t, rc);
	rc = read_runs_check(&j->data, rc, &env->e);
	mem_free(&env->m, at);
	return comm_agree(env->c, rc);
}

static void next_stage(rank_progress *g, stage_kind k, uint64_t bytes)
{
	const moment now = moment_now();
	progress_end(g, now);
	progress_begin(g, k, bytes, now);
}

/* Ranks whose records spilled to disk merge; so all do, because they need streams in order. */
status phase_distribute(job *j)
{
	rank_env *env = &j->env;
	rank_progress *g = &env->c->progress;
	const bool stores = !env->o->partition_only;
	const read_runs_plan p = { .lay = env->o->lay,
				   .rank = (uint32_t)env->c->rank,
				   .threads = j->cpus.threads,
				   .sizes = test_sizes_of(env->o) };
	read_runs received = { 0 };
	uint64_t merges;
	status rc = comm_reduce(env->c, budget_merges(j), u64_max, &merges);
	if (rc != ST_OK || merges)
		return rc == ST_OK ? phase_merge(j) : rc;
	rc = exchange_records(j, &p, stores, &received);
	if (rc == ST_OK && stores) {
		/* what was read has been sent, and makes room for the sort */
		read_runs_free(&env->m, &j->data);
		next_stage(g, STAGE_SORT, 0);
		rc = comm_agree(env->c, read_runs_sort(&p, &env->m, &received, &env->e));
		next_stage(g, STAGE_WRITE, received.n * env->o->lay.record_bytes);
		if (rc == ST_OK)
			rc = single_rank_write(j, &received);
	}
	read_runs_free(&env->m, &received);
	return read_runs_check(&j->data, rc, &env->e);
}
