/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With --workdir, an output that is complete outlives the program like the runs do: once it is on
 * the disk and compared with the input, each rank notes in its state under which temporary name it
 * is, and count and checksum of its part. --resume reads it again as a whole, and if it still is
 * what was noted, on all ranks, only names are left to give; if not on one, all merge again. */
#include "phases.h"
#include "testing/failpoint.h"
#include "io/json.h"
#include "io/reader.h"

#include <unistd.h>

status phase_save_output(rank_env *env, files *f, workdir *work, const output_part *w)
{
	err e = { ST_OK, "" }; /* a state that cannot be written costs a merge, if ever */
	if (!work->on || w->found || f->out.is_stdout)
		return ST_OK;
	work->s.out = (output_checkpoint){ f->out.file.id, env->stats->out, env->stats->sum_out };
	if (json_write(resume_state_json(&work->s, &f->in), &work->file, true, env->o->fsync, &e) ==
	    ST_OK)
		output_keep(&f->out);
	FAIL_PHASE("complete");
	return ST_OK;
}

/* Do the ranks speak of one output, and of all of it? */
static bool fit_together(const rank_env *env, uint64_t total, const output_checkpoint *all)
{
	uint64_t sum = 0;
	for (int i = 0; i < env->c->size; i++)
		if (all[i].id == 0 || all[i].id != all[0].id ||
		    __builtin_add_overflow(sum, all[i].records, &sum))
			return false;
	return sum == total;
}

static status read_again(rank_env *env, const files *f, uint64_t recs, inspected *seen, err *e)
{
	const layout *l = &env->o->lay;
	io_fd from = { f->out.fd, -1, f->io };
	io_fd_will_read(&from, env->o->direct, f->out.offset, recs * l->record_bytes);
	const status rc = reader_inspect(&from, output_name(&f->out), f->out.offset, recs, l,
					 &env->m, seen, e);
	if (from.direct >= 0)
		close(from.direct);
	return rc;
}

/* Every byte of this rank's part is read, whatever the file's times and number are. */
static bool is_as_saved(rank_env *env, files *f, uint64_t total, const output_checkpoint *all,
			output_part *w)
{
	const layout *l = &env->o->lay;
	const output_checkpoint *own = &all[env->c->rank];
	err e = { ST_OK, "" };
	uint64_t before = 0;
	for (int i = 0; i < env->c->rank; i++)
		before += all[i].records;
	if (!output_find(&f->out, own->id, before * l->record_bytes, own->records * l->record_bytes,
			 total * l->record_bytes))
		return false;
	const size_t key = l->key_bytes;
	w->keys = mem_array(&env->m, 2, key, "keys", &e);
	if (!w->keys)
		return false;
	w->seen = (inspected){ .first_key = w->keys, .last_key = w->keys + key };
	return read_again(env, f, own->records, &w->seen, &e) == ST_OK &&
	       w->seen.sum.hi == own->sum.hi && w->seen.sum.lo == own->sum.lo;
}

static void take_over(rank_env *env, const output_checkpoint *all, share_plan *next, output_part *w)
{
	for (int i = 0; i < env->c->size; i++)
		next->out[i] = all[i].records;
	share_plan_sum_out(env, next);
	w->found = true;
	env->stats->merge_kept = true;
	env->stats->planned_out = env->stats->out = w->seen.records;
	env->stats->sum_out = w->seen.sum;
}

static void let_go(rank_env *env, output *out, const workdir *work, output_part *w)
{
	mem_free(&env->m, w->keys);
	w->keys = NULL;
	w->seen = (inspected){ 0 };
	if (work->s.out.id)
		output_drop(out);
}

status phase_load_output(rank_env *env, files *f, const workdir *work, const share_plan *s,
			 share_plan *next, output_part *w)
{
	const size_t p = (size_t)env->c->size;
	if (!work->resuming || f->out.is_stdout)
		return ST_OK;
	output_checkpoint *all = mem_array(&env->m, p, sizeof *all, "states", &env->e);
	status rc = all ? share_plan_copy(env, s, next) : ST_RESOURCE;
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = comm_allgather(env->c, &work->s.out, all, sizeof *all);
	if (rc == ST_OK) {
		/* a vote: one rank whose part is not there, and all merge again */
		const bool yes = fit_together(env, s->records, all) &&
				 is_as_saved(env, f, s->records, all, w);
		const status vote = comm_agree(env->c, yes ? ST_OK : ST_REFUSED);
		if (vote == ST_OK)
			take_over(env, all, next, w);
		else if (!atomic_load(&env->c->broken))
			let_go(env, &f->out, work, w);
		else
			rc = vote;
	}
	mem_free(&env->m, all);
	return rc;
}
