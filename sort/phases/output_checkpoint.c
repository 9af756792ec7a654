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
#include "io/reader.h"
#include "job.h"
#include "testing/failpoint.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

status phase_save_output(job *j)
{
	const output_part *w = &j->part;
	err e = { ST_OK, "" }; /* a state that cannot be written costs a merge, if ever */
	if (!j->work.on || j->part.found || j->files.out.is_stdout)
		return ST_OK;
	j->work.s.out = (output_checkpoint){ j->files.out.file.id, w->seen.records, w->seen.sum,
					     w->dropped.records, w->dropped.sum };
	if (run_notes_write(&j->work.notes, &e) == ST_OK)
		output_keep(&j->files.out);
	FAIL_PHASE("complete");
	return ST_OK;
}

/* Do the ranks speak of one output, and of all of it? */
static bool fit_together(const job *j, const output_checkpoint *all)
{
	uint64_t sum = 0;
	for (int i = 0; i < j->env.c->size; i++)
		if (all[i].id == 0 || all[i].id != all[0].id ||
		    __builtin_add_overflow(sum, all[i].records, &sum) ||
		    __builtin_add_overflow(sum, all[i].dropped, &sum))
			return false;
	return sum == j->next.records;
}

/* Every byte of this rank's part is read, whatever the file's times and number are. */
static bool read_part(job *j, const output_checkpoint *all)
{
	rank_env *env = &j->env;
	const layout *l = &env->o->lay;
	output *out = &j->files.out;
	output_part *w = &j->part;
	const output_checkpoint *own = &all[env->c->rank];
	err e = { ST_OK, "" };
	uint64_t before = 0, total = 0;
	for (int i = 0; i < env->c->size; i++) {
		before += i < env->c->rank ? all[i].records : 0;
		total += all[i].records;
	}
	if (!output_find(out, own->id, before * l->record_bytes, own->records * l->record_bytes,
			 total * l->record_bytes))
		return false;
	w->keys = mem_array(&env->m, 2, l->key_bytes, "keys", &e);
	if (!w->keys)
		return false;
	w->seen = (inspected){ .first_key = w->keys,
			       .last_key = w->keys + l->key_bytes,
			       .order = output_order(env->o) };
	w->dropped = (dropped){ own->dropped, own->sum_dropped };
	return frame_check(j, out->fd, &e) == ST_OK &&
	       output_read_again(j, own->records, env->o->direct, &e) == ST_OK;
}

static void take_over(job *j, const output_checkpoint *all)
{
	rank_result *r = j->env.stats;
	for (int i = 0; i < j->env.c->size; i++)
		j->next.out[i] = all[i].records;
	share_plan_sum_out(&j->env, &j->next);
	j->part.found = true;
	r->merge_kept = true;
	r->planned_out = j->part.seen.records;
}

static void let_go(job *j)
{
	char name[UNFINISHED_NAME_BYTES];
	mem_free(&j->env.m, j->part.keys);
	j->part = (output_part){ .found = false };
	if (!output_drop(&j->files.out)) {
		target_hidden_name(&j->files.out.file, TARGET_TEMP, name);
		output_note_stays(j, name);
	}
}

/* A vote of all ranks. */
static bool all_say(const job *j, bool yes)
{
	return comm_agree(j->env.c, yes ? ST_OK : ST_REFUSED) == ST_OK;
}

/* ------------------------------------------------------------------------------- without a state
 */

/* Is there the sorted input under the final names? all: room for what each rank has there, as if a
 * state spoke of it; id 0: nothing. */
static status find_final(job *j, output_checkpoint *all)
{
	enum { NO_TEMPORARY_FILE = 1 };
	rank_env *env = &j->env;
	rank_result *r = env->stats;
	const output *out = &j->files.out;
	const uint64_t bytes = env->o->lay.record_bytes;
	struct stat st;
	output_checkpoint mine = { .records = own_share(env, j->next.out) };
	if (fstatat(out->file.dirfd, out->file.base, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		mine.id = NO_TEMPORARY_FILE;
		if (out->per_rank)
			mine.records =
				((uint64_t)st.st_size - out->header_bytes - out->trailer_bytes) /
				bytes;
	}
	status rc = comm_allgather(env->c, &mine, all, sizeof *all);
	const bool judged = !env->o->stable && !settings_drops(env->o);
	if (rc != ST_OK || !judged || !fit_together(j, all))
		return rc;
	if (!j->work.resuming) {
		const input *in = &j->files.in;
		const reader_plan rp = { .first = in->per_rank ? 0 : share_before(env, j->next.in),
					 .n = own_share(env, j->next.in),
					 .lay = env->o->lay,
					 .direct = env->o->direct,
					 .io = j->files.io };
		rc = comm_agree(env->c, reader_sum(in, &rp, &env->m, &r->sum_in, &env->e));
		r->in = rp.n;
		r->read_bytes = rp.n * bytes;
	}
	if (rc != ST_OK)
		return rc;
	bool there = all_say(j, read_part(j, all));
	if (there) { /* does verification, which comes again at the end, find nothing? */
		const err before = env->e;
		there = phase_verify(j) == ST_OK;
		verified_free(&env->m, &j->verified);
		env->e = before;
	}
	if (there) {
		take_over(j, all);
		/* a job that is started again, by a batch system, say, is to see that it has
		 * nothing to do */
		if (env->c->rank == 0)
			err_set(&env->note, ST_REFUSED,
				"output %s is already complete: nothing was sorted",
				quoted(env->o->output));
	} else if (!atomic_load(&env->c->broken)) {
		let_go(j);
	}
	return ST_OK;
}

/* ---------------------------------------------------------------------------------- by a state */

/* One file for all ranks can be divided again: as the planned shares are. */
static void divide_again(const job *j, output_checkpoint *all)
{
	const output_checkpoint *was = &j->work.saved.all;
	const share_plan *s = &j->next;
	uint64_t planned = 0, before = 0;
	for (int i = 0; i < j->env.c->size; i++) {
		planned += s->out[i];
		const uint64_t end =
			s->records
				? (uint64_t)((unsigned __int128)was->records * planned / s->records)
				: 0;
		all[i] = (output_checkpoint){ .id = was->id, .records = end - before };
		before = end;
	}
	all[0].dropped = was->dropped;
	all[0].sum_dropped = was->sum_dropped;
}

/* A vote: one rank whose part is not there, or parts whose checksums are not together as noted, and
 * all merge again. Parts in files of their own belong to the ranks that have made them. */
static status find_saved(job *j, output_checkpoint *all)
{
	comm *c = j->env.c;
	const saved_output *was = &j->work.saved;
	const size_t p = (size_t)c->size;
	checksum mine = { 0, 0 }, sum = { 0, 0 };
	err e = { ST_OK, "" };
	if (was->part)
		memcpy(all, was->part, p * sizeof *all);
	else
		divide_again(j, all);
	const bool fits =
		was->all.id && (was->part || !j->files.out.per_rank) && fit_together(j, all);
	bool there = fits && read_part(j, all);
	if (there)
		mine = j->part.seen.sum;
	checksum *of = mem_array(&j->env.m, p, sizeof *of, "checksums", &e);
	status rc = comm_agree(c, of && there ? ST_OK : ST_REFUSED);
	if (rc == ST_OK)
		rc = comm_allgather(c, &mine, of, sizeof mine);
	for (size_t i = 0; rc == ST_OK && i < p; i++)
		sum = checksum_join(sum, of[i]);
	mem_free(&j->env.m, of);
	there = rc == ST_OK && checksum_equal(sum, was->all.sum);
	if (all_say(j, there))
		take_over(j, all);
	else if (!atomic_load(&c->broken))
		let_go(j);
	else
		return ST_PEER;
	return ST_OK;
}

/* Saved, where states are, or under the final names. Refuses what has these and is not known to be
 * this output. */
static status find(job *j)
{
	rank_env *env = &j->env;
	const size_t p = (size_t)env->c->size;
	status rc = job_replan(j);
	if (rc != ST_OK)
		return rc;
	output_checkpoint *all = mem_array(&env->m, p, sizeof *all, "states", &env->e);
	rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK && j->work.resuming)
		rc = find_saved(j, all);
	if (rc == ST_OK && !j->part.found)
		rc = find_final(j, all);
	mem_free(&env->m, all);
	err why = { ST_OK, "" };
	if (rc == ST_OK && !env->o->force)
		rc = output_spare_old(&j->files.out, j->part.found, &why);
	if (why.code != ST_OK)
		err_set(&env->e, rc, "%s%s", why.text,
			env->o->stable ? " (its equal keys may not be in the order of --stable)"
			: settings_drops(env->o)
				? " (it may not have the records of --unique or --top)"
				: "");
	if (j->part.found)
		progress_plan(&env->c->progress, STAGE_WRITE, (stage_plan){ 0 });
	return rc;
}

status phase_load_output(job *j)
{
	return j->work.resuming && !j->files.out.is_stdout ? find(j) : ST_OK;
}

status phase_find_output(job *j)
{
	const settings *o = j->env.o;
	const bool may = j->work.on && o->resume && !j->work.resuming && !o->force;
	return may && !j->files.out.is_stdout ? find(j) : ST_OK;
}
