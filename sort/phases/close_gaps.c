/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much a rank drops shows when it has merged, and by then others have written behind it. So
 * parts of one file move up to where the part before them ends, one rank after the other, and files
 * end where their records do. Costs a read and a write of what moves, by the page cache. Memory:
 * 4 MiB. */
#include "phases.h"
#include "base/minmax.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum { PIECE_BYTES = 4 << 20 };

/* Towards the front of the file: what is overwritten has been read. */
static status move(rank_env *env, const output *o, uint64_t from, uint64_t to, uint64_t bytes)
{
	const char *path = output_name(o);
	unsigned char *room = mem_array(&env->m, PIECE_BYTES, 1, "moving records", &env->e);
	status rc = room ? ST_OK : ST_RESOURCE;
	for (uint64_t at = 0; rc == ST_OK && at < bytes; at += PIECE_BYTES) {
		const size_t n = (size_t)u64_min(PIECE_BYTES, bytes - at);
		rc = file_read_at(o->fd, room, n, from + at, path, &env->e);
		if (rc == ST_OK)
			rc = file_write_at(o->fd, room, n, to + at, path, &env->e);
	}
	mem_free(&env->m, room);
	return rc;
}

/* Of what was written only the first records are wanted, as ranks before this one have the others
 * of --top: the rest counts as dropped. */
static status cut_off(rank_env *env, const files *f, uint64_t recs, output_part *w)
{
	const inspected all = w->seen;
	w->seen.records = 0;
	w->seen.sum = (checksum){ 0, 0 };
	const status rc = output_read_again(env, f, recs, env->o->direct, &w->seen, &env->e);
	if (rc == ST_INVALID)
		return err_set(&env->e, rc, "the output is not in order when it is read again");
	w->dropped.records += all.records - w->seen.records;
	w->dropped.sum = checksum_join(w->dropped.sum, checksum_without(all.sum, w->seen.sum));
	return rc;
}

/* What each rank has written becomes its share. */
static status gather_shares(rank_env *env, const output_part *w, share_plan *next)
{
	const status rc = comm_allgather(env->c, &w->seen.records, next->out, sizeof *next->out);
	share_plan_sum_out(env, next);
	return rc;
}

/* Each rank by itself may have written as many as all are to. */
static status cap(rank_env *env, const files *f, share_plan *next, output_part *w)
{
	const uint64_t top = env->o->top, before = share_before(env, next->out);
	if (!top || next->before[env->c->size - 1] <= top)
		return ST_OK;
	const uint64_t mine = before < top ? u64_min(top - before, w->seen.records) : 0;
	const status rc = mine < w->seen.records ? cut_off(env, f, mine, w) : ST_OK;
	return comm_agree(env->c, rc) == ST_OK ? gather_shares(env, w, next) : rc;
}

/* In the order of ranks, each where the one before it ends now. */
static status move_all(rank_env *env, output *o, const share_plan *old, const share_plan *next)
{
	const uint64_t bytes = env->o->lay.record_bytes;
	status rc = ST_OK;
	for (int r = 1; rc == ST_OK && r < env->c->size; r++) {
		const uint64_t to = o->header_bytes + next->before[r - 1] * bytes;
		if (old->before[r - 1] == next->before[r - 1] || next->out[r] == 0)
			continue; /* all ranks know that it stays */
		if (r == env->c->rank) {
			rc = move(env, o, o->offset, to, next->out[r] * bytes);
			o->offset = to;
		}
		rc = comm_agree(env->c, rc);
	}
	return rc;
}

static status cut_file(rank_env *env, const output *o, const share_plan *next)
{
	char q[QUOTED_BYTES];
	const uint64_t recs =
		o->per_rank ? own_share(env, next->out) : next->before[env->c->size - 1];
	const uint64_t bytes = o->header_bytes + recs * env->o->lay.record_bytes + o->trailer_bytes;
	if (o->owner && ftruncate(o->fd, (off_t)bytes) != 0)
		return err_sys(&env->e, errno, "cannot set the size of %s",
			       err_quoted(output_name(o), q));
	return ST_OK;
}

status phase_close_gaps(rank_env *env, files *f, const share_plan *s, share_plan *next,
			output_part *w)
{
	output *o = &f->out;
	status rc = comm_agree(env->c, share_plan_copy(env, s, next));
	if (rc == ST_OK)
		rc = gather_shares(env, w, next);
	if (rc == ST_OK && !o->is_stdout)
		rc = cap(env, f, next, w);
	if (rc == ST_OK && !o->is_stdout && !o->per_rank)
		rc = move_all(env, o, s, next);
	if (rc == ST_OK && !o->is_stdout)
		rc = cut_file(env, o, next);
	exchange_setup_written(env, w);
	return rc;
}
