/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variant that sorts last: records go to their rank in the order of the input, and what a rank
 * has received is sorted and written as if it had read it. Each source has its place in the memory
 * for it, so positions there follow (rank, position), and equal keys keep the order of the input.
 * Memory: up to two copies. */
#include "budget_phase.h"
#include "phases.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "exchange/distribute_disk.h"
#include "kernel/gather.h"
#include "testing/failpoint.h"
#include "testing/test_sizes.h"

/* The cuts as records of this rank. */
static status find_splitters(rank_env *env, const cuts *k, splitters *g)
{
	sorted *s = k->s;
	const size_t p = (size_t)env->c->size;
	*g = (splitters){ .lay = s->lay };
	g->raw = mem_array(&env->m, p - 1, item_bytes(&s->lay), "splitters", &env->e);
	for (size_t d = 1; g->raw && d < p && k->cut[d] < sorted_total(s); d++)
		s->ops->item(s, k->cut[d], splitters_item(g, g->count++));
	return g->raw ? ST_OK : ST_RESOURCE;
}

/* The sort that has found the cuts makes room for an entry for each record, by destination. */
static status by_destination(rank_env *env, read_runs *d, cuts *k)
{
	splitters g;
	status rc = find_splitters(env, k, &g);
	uint64_t *at = mem_array(&env->m, (size_t)env->c->size, sizeof *at, "counts", &env->e);
	sorted_demand_close(&d->demand);
	d->entries = mem_array(&env->m, d->n, sizeof *d->entries, "entries", &env->e);
	d->r.e = d->entries;
	sorted_memory_make(&d->r, 1, d->start);
	k->s = d->s = &d->r.s;
	if (rc == ST_OK)
		rc = at && d->entries ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		FAIL_FLIP(FAIL_ENTRIES, g.raw, g.count * item_bytes(&g.lay));
		rc = gather_misfits(
			splitters_place(&g, &d->r.recs, 0, d->n, k->cut, at, d->entries), &env->e);
		FAIL_FLIP(FAIL_ENTRIES, d->entries, d->n * sizeof(entry));
	}
	mem_free(&env->m, g.raw);
	mem_free(&env->m, at);
	return rc;
}

/* Room for all that comes; where it is only parted, it is written at once. */
static status make_room(const exchange_setup *t, read_runs *received, uint64_t **at)
{
	rank_env *env = t->env;
	const read_runs_plan p = { .lay = env->o->lay, .rank = (uint32_t)env->c->rank };
	*at = mem_array(&env->m, (size_t)env->c->size, sizeof **at, "counts", &env->e);
	if (!*at)
		return ST_RESOURCE;
	return t->stores ? read_runs_room(&p, &env->m, (size_t)own_share(env, t->k->s->out),
					  received, &env->e)
			 : ST_OK;
}

static void write_block(writer *w, const unsigned char *rec, size_t n, size_t bytes)
{
	while (n > 0) {
		size_t room;
		unsigned char *to = writer_room(w, &room);
		const size_t k = size_min(n, room);
		memcpy(to, rec, k * bytes);
		writer_add(w, k);
		rec += k * bytes;
		n -= k;
	}
}

/* One block of source s to its place. */
static status take_block(exchange_setup *t, int s, const read_runs *to, uint64_t *at, bool *any)
{
	const size_t bytes = t->env->o->lay.record_bytes;
	const unsigned char *rec;
	size_t n;
	const status rc = exchange_next(t->x, s, &rec, &n);
	if (rc != ST_OK || n == 0)
		return rc;
	*any = true;
	if (t->stores)
		memcpy(to->recs + at[s] * bytes, rec, n * bytes);
	else
		write_block(&t->to_file, rec, n, bytes);
	at[s] += n;
	progress_add(PROGRESS_RECEIVED, n * bytes);
	return ST_OK;
}

/* Block after block, the sources in turn. */
static status receive_all(exchange_setup *t, read_runs *to, uint64_t *at)
{
	const rank_env *env = t->env;
	status rc = ST_OK;
	bool any = true;
	for (int s = 0; s < env->c->size; s++) {
		at[s] = to->n;
		to->n += t->recv[s];
	}
	while (rc == ST_OK && any) {
		any = false;
		for (int i = 0; rc == ST_OK && i < env->c->size; i++)
			rc = take_block(t, (env->c->rank + i) % env->c->size, to, at, &any);
	}
	return rc == ST_OK ? exchange_setup_drained(t) : rc;
}

static status exchange_records(exchange_setup *t, read_runs *read, cuts *k, read_runs *received)
{
	rank_env *env = t->env;
	uint64_t *at = NULL;
	status rc = by_destination(env, read, k);
	rc = comm_agree(env->c, rc == ST_OK ? make_room(t, received, &at) : rc);
	if (rc == ST_OK)
		rc = exchange_setup_open(t);
	if (rc == ST_OK)
		rc = receive_all(t, received, at);
	rc = exchange_setup_close(t, rc);
	rc = read_runs_check(read, rc, &env->e);
	mem_free(&env->m, at);
	return comm_agree(env->c, rc);
}

static void next_stage(rank_progress *g, stage_kind k, uint64_t bytes)
{
	const moment now = moment_now();
	progress_end(g, now);
	progress_begin(g, k, bytes, now);
}

/* What was read has been sent, and makes room for the sort. */
static status sort_and_write(const exchange_setup *t, read_runs *read, read_runs *received)
{
	rank_env *env = t->env;
	rank_progress *g = &env->c->progress;
	const read_runs_plan p = { .lay = env->o->lay,
				   .rank = (uint32_t)env->c->rank,
				   .threads = t->k->cpus->threads,
				   .sizes = test_sizes_of(env->o) };
	read_runs_free(&env->m, read);
	next_stage(g, STAGE_SORT, 0);
	const status rc = comm_agree(env->c, read_runs_sort(&p, &env->m, received, &env->e));
	next_stage(g, STAGE_WRITE, received->n * env->o->lay.record_bytes);
	return rc == ST_OK ? phase_single_rank(env, t->k, t->f, received, t->w) : rc;
}

/* Ranks whose records spilled to disk merge; so all do, because they need streams in order. */
status phase_distribute(exchange_setup *t, read_runs *read, cuts *k)
{
	rank_env *env = t->env;
	read_runs received = { 0 };
	uint64_t merges;
	status rc = comm_reduce(env->c, budget_merges(env, t->k->mp), u64_max, &merges);
	if (rc != ST_OK || merges)
		return rc == ST_OK ? phase_merge(t) : rc;
	t->stores = !env->o->partition_only;
	rc = exchange_records(t, read, k, &received);
	if (rc == ST_OK && t->stores)
		rc = sort_and_write(t, read, &received);
	read_runs_free(&env->m, &received);
	return rc;
}
