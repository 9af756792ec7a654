/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First phase: the ranks find out whether they fit together, look at their files, and count the
 * records. Refuses; touches no data. */
#include "alias_check.h"
#include "base/minmax.h"
#include "base/size.h"
#include "handshake.h"
#include "frame.h"
#include "io/manifest.h"
#include "phases.h"
#include "place.h"
#include "same_input.h"
#include "stream_copy.h"
#include "testing/test_sizes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Where streams go: a single rank reads the only input as it comes; otherwise they are copied
 * first, which other processes than rank 0's know nothing of. */
static status check_streams(rank_env *env, files *f)
{
	char q[QUOTED_BYTES];
	const input *in = &f->in;
	const bool ends = in->frame.trailer_bytes || in->frame.records; /* as its size says */
	f->in.is_stream =
		in->streams == 1 && in->files == 1 && env->c->size == 1 && !env->o->merge && !ends;
	if (env->c->size > 1 && env->o->merge && in->per_rank)
		return err_set(&env->e, ST_REFUSED,
			       "--merge: all ranks read each input, so those without a manifest "
			       "have no %%r in their names");
	if (env->c->size > 1 && env->o->output && f->out.is_stdout)
		return err_set(&env->e, ST_REFUSED,
			       "output %s is a stream: these need a single rank, not %d",
			       err_quoted(env->o->output, q), env->c->size);
	if (in->streams && env->o->explain)
		return err_set(&env->e, ST_REFUSED,
			       "--explain cannot know the size of standard input and other "
			       "streams");
	if (in->streams && env->c->processes > 1 && !in->per_rank && !env->o->from_root)
		return err_set(&env->e, ST_REFUSED,
			       "standard input and other streams lead to rank 0 alone: "
			       "--source=root has it hand on what it reads");
	return ST_OK;
}

/* As rank 0 sees it: a manifest lies where it runs. */
static status find_parts(rank_env *env, bool *all_parts)
{
	*all_parts = false;
	status rc =
		env->c->rank == 0 ? parts_find(env->o, env->c->size, all_parts, &env->e) : ST_OK;
	rc = comm_agree(env->c, rc);
	uint8_t all = *all_parts; /* not every byte that may come is a bool */
	if (rc == ST_OK)
		rc = comm_bcast(env->c, &all, sizeof all, 0);
	*all_parts = all != 0;
	return rc;
}

static status look_at_files(rank_env *env, bool all_parts, files *f)
{
	const bool mine = env->c->rank == 0 || !env->o->from_root;
	status rc = mine ? input_describe(&f->in, env->o, env->c->rank, all_parts, &env->e) : ST_OK;
	if (rc == ST_OK && env->o->output)
		rc = output_describe(&f->out, env->o, env->c->rank, &env->e);
	return rc == ST_OK ? check_streams(env, f) : rc;
}

static void note_lines(rank_env *env, const input *in)
{
	char q[QUOTED_BYTES];
	for (size_t i = 0; i < in->files; i++)
		if (in->file[i].head == HEAD_LINES)
			err_set(&env->note, ST_REFUSED,
				"input %s looks like lines of text: they are cut into records of "
				"%u byte%s, sort(1) sorts lines",
				err_quoted(in->file[i].path, q), env->o->lay.record_bytes,
				plural(env->o->lay.record_bytes));
}

/* Files that every rank reads; how many of its fellow ranks share its host shows whether numbers of
 * files are enough. */
static status compare_views(rank_env *env, const input *in, const cpu_share *cpus)
{
	if (env->c->size == 1 || env->o->from_root || in->per_rank)
		return ST_OK;
	return same_input(env, in, !env->o->explain && cpus->ranks_here < (unsigned)env->c->size);
}

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static status count_all(rank_env *env, uint64_t mine, share_plan *s)
{
	status rc = comm_gather(env->c, &mine, s->in, sizeof mine, 0);
	if (rc == ST_OK)
		rc = comm_reduce(env->c, mine, add, &s->records);
	if (rc == ST_OK && s->records == UINT64_MAX)
		return err_set(&env->e, ST_REFUSED, "too many records");
	return rc;
}

/* What the input says of itself: at rank 0 s->in where files belong to ranks, and the total. */
static status count_records(rank_env *env, const input *in, share_plan *s)
{
	uint64_t mine = in->records;
	if (env->o->from_root && comm_bcast(env->c, &mine, sizeof mine, 0) != ST_OK)
		return ST_PEER;
	if (in->per_rank)
		return count_all(env, mine, s);
	s->records = mine;
	const status rc = comm_bcast(env->c, &s->records, sizeof s->records, 0);
	if (rc == ST_OK && s->records != mine)
		return err_set(&env->e, ST_PEER,
			       "the input has %" PRIu64 " records here, but %" PRIu64
			       " on rank 0: is it the same file?",
			       mine, s->records);
	return rc;
}

static status check_totals(rank_env *env, uint64_t total)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(total, env->o->lay.record_bytes, &bytes) || bytes > INT64_MAX)
		return err_set(&env->e, ST_REFUSED,
			       "%" PRIu64 " records are more than a file can hold", total);
	return ST_OK;
}

/* Why there is no io_uring is an error if it was asked for, else a line of the report. */
static status choose_io_backend(rank_env *env, io_backend **io)
{
	err why = { ST_OK, "" };
	const status rc = io_backend_open(
		io, env->o->io, test_sizes_of(env->o)->uring_segment_bytes, &why, &env->e);
	memcpy(env->stats->io_text, why.text, sizeof env->stats->io_text - 1);
	return rc;
}

void output_note_stays(rank_env *env, const output *out, const char *name)
{
	char q[QUOTED_BYTES], qo[QUOTED_BYTES];
	err_set(&env->note, ST_REFUSED,
		"%s next to %s stays, because nothing proves that hetsort made it",
		err_quoted(name, q), err_quoted(output_name(out), qo));
}

/* With files of its own, a rank may read what another one would remove as left by a killed job. */
static status gather_reads(rank_env *env, input *in)
{
	const bool apart = env->c->size > 1 && (in->per_rank || env->o->from_root);
	uint64_t most = in->files;
	status rc = apart ? comm_reduce(env->c, most, u64_max, &most) : ST_OK;
	if (rc != ST_OK || most == 0)
		return rc;
	const size_t n = (size_t)most, ranks = apart ? (size_t)env->c->size : 1;
	file_number *mine = calloc(n, sizeof *mine);
	in->reads.file = calloc(n, ranks * sizeof *mine);
	if (!mine || !in->reads.file)
		rc = err_set(&env->e, ST_RESOURCE, "no memory for the names of %zu files", n);
	for (size_t i = 0; rc == ST_OK && i < in->files; i++)
		mine[i] = (file_number){ in->file[i].st.st_dev, in->file[i].st.st_ino };
	if (apart)
		rc = comm_agree(env->c, rc);
	if (rc == ST_OK && apart)
		rc = comm_allgather(env->c, mine, in->reads.file, n * sizeof *mine);
	else if (rc == ST_OK)
		memcpy(in->reads.file, mine, n * sizeof *mine);
	in->reads.files = rc == ST_OK ? n * ranks : 0;
	free(mine);
	return rc;
}

static status lock_output(rank_env *env, const input *in, output *out, const workdir *w)
{
	unsigned removed;
	const bool fits = !out->per_rank || w->saved.part; /* files of as many ranks */
	out->file.reads = out->manifest.reads = &in->reads;
	const status rc = output_lock(out, env->c, fits ? w->saved.all.id : 0,
				      workdir_patience_s(env), &removed, &env->note, &env->e);
	if (rc == ST_OK)
		output_sweep_parts(out);
	if (rc == ST_OK && out->file.stays)
		output_note_stays(env, out, out->file.stays_name);
	env->stats->leftovers += removed;
	return rc;
}

status phase_describe(rank_env *env, files *f, cpu_share *cpus, workdir *w, share_plan *s,
		      scatter_plan *sp)
{
	bool all_parts;
	status rc = handshake(env);
	if (rc != ST_OK)
		return rc;
	rc = share_plan_make(env, s);
	if (rc == ST_OK)
		rc = comm_agree(env->c, scatter_plan_make(env, sp));
	if (rc != ST_OK)
		return rc;
	rc = place_count(env, cpus);
	if (rc == ST_OK)
		rc = comm_agree(env->c, choose_io_backend(env, &f->io));
	if (rc == ST_OK)
		rc = find_parts(env, &all_parts);
	if (rc == ST_OK)
		rc = comm_agree(env->c, look_at_files(env, all_parts, f));
	if (rc == ST_OK)
		note_lines(env, &f->in);
	if (rc == ST_OK)
		rc = compare_views(env, &f->in, cpus);
	if (rc == ST_OK)
		rc = comm_agree(env->c, alias_check(env, &f->late_refused));
	if (rc == ST_OK && !env->o->explain)
		rc = comm_agree(env->c, gather_reads(env, &f->in));
	if (rc == ST_OK)
		rc = comm_agree(env->c, workdir_open(env, &f->in, w));
	if (rc == ST_OK && !env->o->explain)
		rc = comm_agree(env->c, lock_output(env, &f->in, &f->out, w));
	if (rc == ST_OK && !env->o->explain)
		rc = output_share_lock(&f->out, env->c);
	if (rc == ST_OK)
		rc = comm_agree(env->c, copy_streams(env, &f->in));
	if (rc == ST_OK)
		rc = frame_read(env, f);
	if (rc == ST_OK && !f->in.is_stream)
		rc = count_records(env, &f->in, s);
	if (rc == ST_OK && !f->in.is_stream)
		rc = check_totals(env, s->records);
	if (rc == ST_OK)
		place_threads(env, cpus, f->in.is_stream ? UINT64_MAX : s->records);
	return rc;
}
