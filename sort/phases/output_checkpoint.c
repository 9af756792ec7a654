/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the complete output of an earlier job. With --workdir, a complete output is kept if the job
 * is killed before it has its final name. After it was synced and verified, each rank notes in its
 * state the temporary name, and the count and checksum of its part. A job with --resume reads the
 * whole output again. If all ranks find it as noted, it only gets its names; otherwise all ranks
 * merge again.
 *
 * A job may also be killed after its last rename, or lose its launcher before it reports success.
 * Then the output exists, but some or all ranks have no state. --resume reads the output and, if no
 * rank has a state, the input. If the output is in order and has the checksum of the input, the
 * sort is complete. The checksum does not show whether the sort was stable. */
#include "io/reader.h"
#include "finish.h"
#include "frame.h"
#include "open_output.h"
#include "workdir.h"
#include "testing/failpoint.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

status phase_save_output(job *j)
{
	const output_part *w = &j->part;
	err e = { ST_OK, "" }; /* not reported: without a state, a later job merges again */
	j->work.s.out = (output_checkpoint){ j->files.out.file.id, w->seen.records, w->seen.sum,
					     w->dropped.records, w->dropped.sum };
	if (run_notes_write(&j->work.notes, NULL, &e) == ST_OK)
		output_keep(&j->files.out);
	FAIL_PHASE("complete");
	return ST_OK;
}

/* Return whether these are the parts of one output, and together have all records. */
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

/* Return whether this rank's part exists and is in order. Read all of it, whatever its inode
 * says. */
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
	const uint64_t bytes = l->record_bytes;
	const output_place place = { before * bytes, own->records * bytes, total * bytes };
	if (!output_find(out, own->id, &place) || output_part_open(j, &e) != ST_OK)
		return false;
	w->dropped = (dropped){ own->dropped, own->sum_dropped };
	return frame_check(j, out->fd, &e) == ST_OK &&
	       output_read_again(j, own->records, env->o->direct, &e) == ST_OK;
}

/* Use the output of the earlier job if each rank has found its part in order, otherwise let all
 * ranks merge again. */
static status output_vote(job *j, const output_checkpoint *all, bool found)
{
	comm *c = j->env.c;
	rank_result *r = j->env.stats;
	char name[UNFINISHED_NAME_BYTES];
	j->part.found = comm_agree(c, found ? ST_OK : ST_REFUSED) == ST_OK;
	if (j->part.found) {
		for (int i = 0; i < c->size; i++)
			j->next.out[i] = all[i].records;
		share_plan_sum_out(&j->env, &j->next);
		r->merge_kept = true;
		r->planned_out = j->part.seen.records;
		return ST_OK;
	}
	if (atomic_load(&c->broken))
		return ST_PEER;
	mem_free(&j->env.m, j->part.keys);
	j->part = (output_part){ .found = false };
	if (!output_drop(&j->files.out)) {
		target_hidden_name(&j->files.out.file, TARGET_TEMP, name);
		output_note_stays(j, name);
	}
	return ST_OK;
}

/* Find out whether files with the final names are the sorted input. all receives the records that
 * each rank finds there, as checkpoints; id 0: no file. */
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
					 .direct = env->o->direct };
		rc = comm_agree(env->c, reader_sum(in, &rp, &env->m, &r->sum_in, &env->e));
		r->in = rp.n;
		r->read_bytes = rp.n * input_file_bytes(in, &env->o->lay);
	}
	if (rc != ST_OK)
		return rc;
	bool found = comm_agree(env->c, read_part(j, all) ? ST_OK : ST_REFUSED) == ST_OK;
	if (found) { /* verify it now, although phase_verify is repeated at the end */
		const err before = env->e;
		found = phase_verify(j) == ST_OK;
		verified_free(&env->m, &j->verified);
		env->e = before;
	}
	rc = output_vote(j, all, found);
	/* report it to a job that was started again, for example by a batch system */
	if (j->part.found && env->c->rank == 0)
		err_set(&env->note, ST_REFUSED, "output %s is already complete: nothing was sorted",
			quoted(env->o->output));
	return rc;
}

/* Compare the output with the states of the earlier job. With one file per rank, each rank reads
 * the part that it made. A common file is divided among the ranks in proportion to the planned
 * shares, so only the checksum of the whole output is compared. */
static status find_saved(job *j, output_checkpoint *all)
{
	comm *c = j->env.c;
	const saved_output *was = &j->work.saved;
	const share_plan *s = &j->next;
	const size_t p = (size_t)c->size;
	checksum mine = { 0 }, sum = { 0 };
	err e = { ST_OK, "" };
	uint64_t planned = 0, before = 0;
	if (was->part)
		memcpy(all, was->part, p * sizeof *all);
	for (size_t i = 0; !was->part && i < p; i++) {
		planned += s->out[i];
		const uint64_t end = s->records ? (uint64_t)((unsigned __int128)was->all.records *
							     planned / s->records)
						: 0;
		all[i] = (output_checkpoint){ .id = was->all.id, .records = end - before };
		before = end;
	}
	if (!was->part) {
		all[0].dropped = was->all.dropped;
		all[0].sum_dropped = was->all.sum_dropped;
	}
	const bool fits =
		was->all.id && (was->part || !j->files.out.per_rank) && fit_together(j, all);
	const bool found = fits && read_part(j, all);
	if (found)
		mine = j->part.seen.sum;
	checksum *of = mem_array(&j->env.m, p, sizeof *of, "checksums", &e);
	status rc = comm_agree(c, of && found ? ST_OK : ST_REFUSED);
	if (rc == ST_OK)
		rc = comm_allgather(c, &mine, of, sizeof mine);
	for (size_t i = 0; rc == ST_OK && i < p; i++)
		sum = checksum_join(sum, of[i]);
	mem_free(&j->env.m, of);
	return output_vote(j, all, rc == ST_OK && checksum_equal(sum, was->all.sum));
}

/* Look for the output, as noted in states, or under the final names. Refuse other files with these
 * names. */
status phase_find_output(job *j)
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
			env->o->order_out ? ""
			: env->o->stable  ? " (its equal keys may not be in the order of --stable)"
			: settings_drops(env->o)
				? " (it may not have the records of --unique or --top)"
				: "");
	if (j->part.found)
		progress_plan(&env->c->progress, STAGE_WRITE, (stage_plan){ 0 });
	return rc;
}
