/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With --workdir, an output that is complete outlives the program like the runs do: once it is on
 * the disk and compared with the input, each rank notes in its state under which temporary name it
 * is, and count and checksum of its part. --resume reads it again as a whole, and if it still is
 * what was noted, on all ranks, only names are left to give; if not on one, all merge again.
 *
 * A job may also have ended well when nobody saw it: killed after its last name, or left alone by
 * its launcher. Then the output is there, and states are not, on all ranks or some. --resume reads
 * it, and without a state the input, and if it is in order and has the input's checksum, nothing is
 * left to do. Whether a sort was stable cannot be seen from that. */
#include "frame.h"
#include "phases.h"
#include "testing/failpoint.h"
#include "io/reader.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

status phase_save_output(rank_env *env, files *f, workdir *work, const output_part *w)
{
	err e = { ST_OK, "" }; /* a state that cannot be written costs a merge, if ever */
	if (!work->on || w->found || f->out.is_stdout)
		return ST_OK;
	work->s.out = (output_checkpoint){ f->out.file.id, env->stats->out, env->stats->sum_out,
					   env->stats->dropped, env->stats->sum_dropped };
	if (run_notes_write(&work->notes, &e) == ST_OK)
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
		    __builtin_add_overflow(sum, all[i].records, &sum) ||
		    __builtin_add_overflow(sum, all[i].dropped, &sum))
			return false;
	return sum == total;
}

/* Every byte of this rank's part is read, whatever the file's times and number are. */
static bool read_part(rank_env *env, files *f, const output_checkpoint *all, output_part *w)
{
	const layout *l = &env->o->lay;
	const output_checkpoint *own = &all[env->c->rank];
	err e = { ST_OK, "" };
	uint64_t before = 0, total = 0;
	for (int i = 0; i < env->c->size; i++) {
		before += i < env->c->rank ? all[i].records : 0;
		total += all[i].records;
	}
	if (!output_find(&f->out, own->id, before * l->record_bytes, own->records * l->record_bytes,
			 total * l->record_bytes))
		return false;
	const size_t key = l->key_bytes;
	w->keys = mem_array(&env->m, 2, key, "keys", &e);
	if (!w->keys)
		return false;
	w->seen = (inspected){ .first_key = w->keys,
			       .last_key = w->keys + key,
			       .order = output_order(env->o) };
	w->dropped = (dropped){ own->dropped, own->sum_dropped };
	return frame_check(env, f, f->out.fd, &e) == ST_OK &&
	       output_read_again(env, f, own->records, env->o->direct, &w->seen, &e) == ST_OK;
}

static bool is_as_saved(rank_env *env, files *f, const output_checkpoint *all, output_part *w)
{
	const output_checkpoint *own = &all[env->c->rank];
	return read_part(env, f, all, w) && checksum_equal(w->seen.sum, own->sum);
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
	env->stats->dropped = w->dropped.records;
	env->stats->sum_dropped = w->dropped.sum;
}

static void let_go(rank_env *env, output *out, output_part *w)
{
	char name[UNFINISHED_NAME_BYTES];
	mem_free(&env->m, w->keys);
	w->keys = NULL;
	w->seen = (inspected){ 0 };
	w->dropped = (dropped){ 0 };
	if (!output_drop(out)) {
		target_hidden_name(&out->file, TARGET_TEMP, name);
		output_note_stays(env, out, name);
	}
}

/* This rank's part under its final name, as if a state spoke of it; id 0: there is none. */
static output_checkpoint part_there(const rank_env *env, const output *out, const share_plan *s)
{
	enum { NO_TEMPORARY_FILE = 1 };
	struct stat st;
	output_checkpoint c = { .records = own_share(env, s->out) };
	if (fstatat(out->file.dirfd, out->file.base, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return c;
	c.id = NO_TEMPORARY_FILE;
	if (out->per_rank)
		c.records = ((uint64_t)st.st_size - out->header_bytes - out->trailer_bytes) /
			    env->o->lay.record_bytes;
	return c;
}

static status read_input_sum(rank_env *env, const files *f, const share_plan *s)
{
	rank_result *r = env->stats;
	const reader_plan rp = { .first = f->in.per_rank ? 0 : share_before(env, s->in),
				 .n = own_share(env, s->in),
				 .lay = env->o->lay,
				 .direct = env->o->direct,
				 .io = f->io };
	const status rc = reader_sum(&f->in, &rp, &env->m, &r->sum_in, &env->e);
	r->in = rp.n;
	r->read_bytes = rp.n * env->o->lay.record_bytes;
	return rc;
}

/* Does verification, which comes again at the end, find nothing? */
static bool agrees_with_input(rank_env *env, const input *in, uint64_t total, const output_part *w)
{
	const err before = env->e;
	verified v = { .own = NULL };
	env->stats->out = w->seen.records;
	env->stats->sum_out = w->seen.sum;
	const bool yes = phase_verify(env, in, total, w, &v) == ST_OK;
	verified_free(&env->m, &v);
	env->e = before;
	return yes;
}

/* A vote of all ranks. */
static bool all_say(const rank_env *env, bool yes)
{
	return comm_agree(env->c, yes ? ST_OK : ST_REFUSED) == ST_OK;
}

/* A job that is started again, by a batch system, say, is to see that it has nothing to do. */
static void note_complete(rank_env *env)
{
	char q[QUOTED_BYTES];
	if (env->c->rank == 0)
		err_set(&env->note, ST_REFUSED, "output %s is already complete: nothing was sorted",
			err_quoted(env->o->output, q));
}

/* Is there the sorted input under the final names? all: room for what each rank has there. */
static status find_final(rank_env *env, files *f, const workdir *work, share_plan *next,
			 output_checkpoint *all, output_part *w)
{
	const output_checkpoint mine = part_there(env, &f->out, next);
	status rc = comm_allgather(env->c, &mine, all, sizeof *all);
	const bool judged = !env->o->stable && !settings_drops(env->o);
	if (rc != ST_OK || !judged || !fit_together(env, next->records, all))
		return rc;
	if (!work->resuming)
		rc = comm_agree(env->c, read_input_sum(env, f, next));
	if (rc != ST_OK)
		return rc;
	const bool there = all_say(env, read_part(env, f, all, w));
	if (there && agrees_with_input(env, &f->in, next->records, w)) {
		take_over(env, all, next, w);
		note_complete(env);
		return ST_OK;
	}
	if (!atomic_load(&env->c->broken))
		let_go(env, &f->out, w);
	return ST_OK;
}

/* One file for all ranks can be divided anew: as the planned shares are. */
static void divide_again(const rank_env *env, const saved_output *was, const share_plan *s,
			 output_checkpoint *all)
{
	const uint64_t written = was->all.records;
	uint64_t planned = 0, before = 0;
	for (int i = 0; i < env->c->size; i++) {
		planned += s->out[i];
		const uint64_t end =
			s->records ? (uint64_t)((unsigned __int128)written * planned / s->records)
				   : 0;
		all[i] = (output_checkpoint){ .id = was->all.id, .records = end - before };
		before = end;
	}
	all[0].dropped = was->all.dropped;
	all[0].sum_dropped = was->all.sum_dropped;
}

/* The parts of all ranks together. */
static bool sum_is_as_saved(rank_env *env, const saved_output *was, const output_part *w,
			    bool there)
{
	const checksum mine = there ? w->seen.sum : (checksum){ 0, 0 };
	checksum sum = { 0, 0 };
	err e = { ST_OK, "" };
	checksum *of = mem_array(&env->m, (size_t)env->c->size, sizeof *of, "checksums", &e);
	status rc = comm_agree(env->c, of ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_allgather(env->c, &mine, of, sizeof mine);
	for (int i = 0; rc == ST_OK && i < env->c->size; i++)
		sum = checksum_join(sum, of[i]);
	mem_free(&env->m, of);
	return rc == ST_OK && there && checksum_equal(sum, was->all.sum);
}

/* A vote: one rank whose part is not there, and all merge again. Parts in files of their own belong
 * to the ranks that have made them. */
static status find_saved(rank_env *env, files *f, const workdir *work, share_plan *next,
			 output_checkpoint *all, output_part *w)
{
	const saved_output *was = &work->saved;
	bool there = was->all.id && (was->part || !f->out.per_rank);
	if (there && was->part)
		memcpy(all, was->part, (size_t)env->c->size * sizeof *all);
	else if (there)
		divide_again(env, was, next, all);
	there = there && fit_together(env, next->records, all);
	if (there && was->part)
		there = is_as_saved(env, f, all, w);
	else if (there)
		there = sum_is_as_saved(env, was, w, read_part(env, f, all, w));
	if (all_say(env, there))
		take_over(env, all, next, w);
	else if (!atomic_load(&env->c->broken))
		let_go(env, &f->out, w);
	else
		return ST_PEER;
	return ST_OK;
}

/* Refuses what has the final names and is not known to be this output. */
static status spare_old(rank_env *env, output *out, bool found)
{
	err why = { ST_OK, "" };
	const status rc = output_spare_old(out, found, &why);
	if (rc == ST_OK)
		return ST_OK;
	return err_set(&env->e, rc, "%s%s", why.text,
		       env->o->stable ? " (its equal keys may not be in the order of --stable)"
		       : settings_drops(env->o)
			       ? " (it may not have the records of --unique or --top)"
			       : "");
}

/* Saved, where states are, or under the final names. */
static status find(rank_env *env, files *f, const workdir *work, share_plan *next, output_part *w)
{
	const size_t p = (size_t)env->c->size;
	output_checkpoint *all = mem_array(&env->m, p, sizeof *all, "states", &env->e);
	status rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK && work->resuming)
		rc = find_saved(env, f, work, next, all, w);
	if (rc == ST_OK && !w->found)
		rc = find_final(env, f, work, next, all, w);
	if (rc == ST_OK && !env->o->force)
		rc = spare_old(env, &f->out, w->found);
	mem_free(&env->m, all);
	return rc;
}

status phase_load_output(rank_env *env, files *f, const workdir *work, const share_plan *s,
			 share_plan *next, output_part *w)
{
	if (!work->resuming || f->out.is_stdout)
		return ST_OK;
	const status rc = comm_agree(env->c, share_plan_copy(env, s, next));
	return rc == ST_OK ? find(env, f, work, next, w) : rc;
}

status phase_find_output(rank_env *env, files *f, const workdir *work, const share_plan *s,
			 share_plan *next, output_part *w)
{
	if (!work->on || !env->o->resume || work->resuming || env->o->force || f->out.is_stdout)
		return ST_OK;
	const status rc = comm_agree(env->c, share_plan_copy(env, s, next));
	return rc == ST_OK ? find(env, f, work, next, w) : rc;
}
