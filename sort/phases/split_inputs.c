/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --merge over several ranks: where in each of the sorted inputs a rank's records begin and end. */
#include "phases.h"
#include "spill/sorted_files.h"

#include <string.h>

/* Each rank has found where it begins; it ends where the next one does. */
static status tell_cuts(rank_env *env, const read_runs *d, uint64_t *room)
{
	const size_t count = d->s->count, bytes = count * sizeof *room;
	uint64_t *from = d->cut, *to = d->cut + count;
	status rc = ST_OK;
	memcpy(to, d->s->start + 1, bytes);
	for (int r = 1; rc == ST_OK && r < env->c->size; r++) {
		if (r == env->c->rank)
			memcpy(room, from, bytes);
		rc = comm_bcast(env->c, room, bytes, r);
		if (r == env->c->rank + 1)
			memcpy(to, room, bytes);
	}
	return rc;
}

static status count_own(rank_env *env, read_runs *d)
{
	const size_t count = d->s->count;
	d->n = 0;
	for (size_t i = 0; i < count; i++) {
		if (d->cut[i] > d->cut[count + i] || d->cut[count + i] > d->s->start[i + 1])
			return sorted_files_crossed(d->s, i, &env->e);
		d->n += (size_t)(d->cut[count + i] - d->cut[i]);
	}
	return ST_OK;
}

static status find_cuts(rank_env *env, const settled *k, read_runs *d, uint64_t *room)
{
	const uint64_t before = share_before(env, k->s->out);
	status rc = ST_OK;
	memcpy(d->cut, d->s->start, d->s->count * sizeof *d->cut);
	if (env->c->rank > 0)
		rc = sorted_files_cut(d->s, before, env->o->unique, d->cut, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = tell_cuts(env, d, room);
	return comm_agree(env->c, rc == ST_OK ? count_own(env, d) : rc);
}

/* Whole keys come to a rank, however many records have them. */
static status share_whole_keys(rank_env *env, const settled *k, const read_runs *d,
			       share_plan *next)
{
	const uint64_t mine = d->n;
	status rc = comm_agree(env->c, share_plan_copy(env, k->s, next));
	if (rc == ST_OK)
		rc = comm_allgather(env->c, &mine, next->out, sizeof mine);
	if (rc == ST_OK)
		rc = share_plan_check(env, next->records, next->out, false, "unique keys");
	if (rc != ST_OK)
		return rc;
	memcpy(next->in, next->out, (size_t)env->c->size * sizeof *next->in);
	share_plan_sum_out(env, next);
	return ST_OK;
}

status phase_split_inputs(rank_env *env, const settled *k, read_runs *d, share_plan *next)
{
	if (!env->o->merge || k->s->records == 0 || env->c->size == 1)
		return ST_OK;
	const size_t count = d->s->count;
	d->cut = mem_array(&env->m, 2 * count, sizeof *d->cut, "cuts", &env->e);
	uint64_t *room = mem_array(&env->m, count, sizeof *room, "cuts", &env->e);
	status rc = comm_agree(env->c, d->cut && room ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = find_cuts(env, k, d, room);
	mem_free(&env->m, room);
	if (rc == ST_OK && env->o->unique)
		rc = share_whole_keys(env, k, d, next);
	read_note(env, d, d->n);
	return rc;
}
