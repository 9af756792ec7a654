/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With --workdir, an output that is complete outlives the program like the runs do: once it is on
 * the disk and compared with the input, each rank notes in its state under which temporary name it
 * is, and count and checksum of its part. --resume reads it again as a whole, and if it still is
 * what was noted, on all ranks, only names are left to give; if not on one, all merge again. */
#include "job.h"
#include "testing/failpoint.h"
#include "io/json.h"
#include "spill/reread.h"

#include <unistd.h>

status phase_save_output(job *j)
{
	workdir *w = &j->work;
	err e = { ST_OK, "" }; /* a state that cannot be written costs a merge, if ever */
	if (!w->on || j->output_found || j->out.is_stdout)
		return ST_OK;
	w->s.out = (output_checkpoint){ j->out.file.id, j->mine.out, j->mine.sum_out };
	if (json_write(resume_state_json(&w->s, &j->in), &w->file, true, j->o->fsync, &e) == ST_OK)
		output_keep(&j->out);
	FAIL_PHASE("complete");
	return ST_OK;
}

/* Do the ranks speak of one output, and of all of it? */
static bool fit_together(const job *j, const output_checkpoint *all)
{
	uint64_t sum = 0;
	for (int i = 0; i < j->c->size; i++)
		if (all[i].id == 0 || all[i].id != all[0].id ||
		    __builtin_add_overflow(sum, all[i].records, &sum))
			return false;
	return sum == j->records;
}

static status read_again(job *j, uint64_t recs, err *e)
{
	const layout *l = &j->o->lay;
	io_fd f = { j->out.fd, -1, j->io };
	io_read_ahead(&f, j->o->direct, j->out.offset, recs * l->record_bytes);
	const status rc =
		reread(&f, output_name(&j->out), j->out.offset, recs, l, &j->m, &j->seen, e);
	if (f.direct >= 0)
		close(f.direct);
	return rc;
}

/* Every byte of this rank's part is read, whatever the file's times and number are. */
static bool is_as_saved(job *j, const output_checkpoint *all)
{
	const layout *l = &j->o->lay;
	const output_checkpoint *own = &all[j->c->rank];
	err e = { ST_OK, "" };
	uint64_t before = 0;
	for (int i = 0; i < j->c->rank; i++)
		before += all[i].records;
	if (!output_find(&j->out, own->id, before * l->record_bytes, own->records * l->record_bytes,
			 j->records * l->record_bytes))
		return false;
	const size_t key = l->key_bytes;
	j->seen_keys = mem_array(&j->m, 2, key, "keys", &e);
	if (!j->seen_keys)
		return false;
	j->seen = (inspected){ .first_key = j->seen_keys, .last_key = j->seen_keys + key };
	return read_again(j, own->records, &e) == ST_OK && j->seen.sum.hi == own->sum.hi &&
	       j->seen.sum.lo == own->sum.lo;
}

static void take_over(job *j, const output_checkpoint *all)
{
	for (int i = 0; i < j->c->size; i++)
		j->share_out[i] = all[i].records;
	plan_targets(j);
	j->output_found = true;
	j->mine.merge_kept = true;
	j->mine.planned_out = j->mine.out = j->seen.records;
	j->mine.sum_out = j->seen.sum;
}

static void let_go(job *j)
{
	mem_free(&j->m, j->seen_keys);
	j->seen_keys = NULL;
	j->seen = (inspected){ 0 };
	if (j->work.s.out.id)
		output_drop(&j->out);
}

/* A vote: one rank whose part is not there, and all merge again. */
static status vote(job *j, const output_checkpoint *all)
{
	const bool yes = fit_together(j, all) && is_as_saved(j, all);
	const status rc = comm_agree(j->c, yes ? ST_OK : ST_REFUSED);
	if (rc == ST_OK)
		take_over(j, all);
	else if (!atomic_load(&j->c->broken))
		let_go(j);
	return atomic_load(&j->c->broken) ? rc : ST_OK;
}

status phase_load_output(job *j)
{
	const size_t p = (size_t)j->c->size;
	if (!j->work.resuming || j->out.is_stdout)
		return ST_OK;
	output_checkpoint *all = mem_array(&j->m, p, sizeof *all, "states", &j->e);
	status rc = comm_agree(j->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_allgather(j->c, &j->work.s.out, all, sizeof *all);
	if (rc == ST_OK)
		rc = vote(j, all);
	mem_free(&j->m, all);
	return rc;
}
