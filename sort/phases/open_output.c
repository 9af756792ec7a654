/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of a rank: where it writes, and how its records must be ordered. */
#include "frame.h"
#include "memory_plan.h"
#include "open_output.h"
#include "io/file.h"

#include <fcntl.h>
#include <unistd.h>

inspect_order output_order(const settings *o)
{
	return o->partition_only || settings_gathers(o) ? INSPECT_ANY
	       : o->unique                              ? INSPECT_STRICT
							: INSPECT_SORTED;
}

status output_part_open(job *j, err *e)
{
	const settings *o = j->env.o;
	output_part *w = &j->part;
	w->keys = mem_array(&j->env.m, 2, o->lay.key_bytes, "keys", e);
	if (!w->keys)
		return ST_RESOURCE;
	w->seen = (inspected){ .first_key = w->keys,
			       .last_key = w->keys + o->lay.key_bytes,
			       .order = output_order(o) };
	return ST_OK;
}

static uint64_t rights_in_both(uint64_t a, uint64_t b)
{
	return a & b;
}

status output_open(job *j, io_fd *to)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const share_plan *s = &j->shares;
	output *out = &j->files.out;
	const input *in = &j->files.in;
	const uint64_t bytes = settings_out_bytes(o);
	uint64_t id = unique_number(), rights = 0777, all_rights;
	*to = (io_fd)IO_FD_NONE;
	status rc = comm_agree(env->c, output_part_open(j, &env->e));
	if (rc != ST_OK)
		return rc;
	/* rank 0 sends the number of this job's temporary files; the output gets at most the
	 * permissions that all inputs of all ranks have, except streams */
	rc = comm_bcast(env->c, &id, sizeof id, 0);
	for (size_t i = 0; i < in->files; i++)
		rights &= in->file[i].is_stream ? 0777 : in->file[i].st.st_mode;
	if (rc == ST_OK) {
		rc = comm_reduce(env->c, rights, rights_in_both, &all_rights);
		out->file.most = (mode_t)(all_rights & rights); /* even if a rank sent more */
	}
	const output_place place = { share_before(env, s->out) * bytes,
				     own_share(env, s->out) * bytes, s->records * bytes };
	if (rc == ST_OK)
		rc = output_create(out, env->c, id, &place, &env->e);
	if (rc == ST_OK)
		rc = frame_write(j, FRAME_HEADER);
	to->fd = out->fd;
	/* the page cache is faster than direct I/O, unless the records fill the memory */
	const bool direct =
		o->direct == DIRECT_ALWAYS || (o->direct == DIRECT_AUTO && j->memory.sort.spills);
	if (rc == ST_OK && !out->is_stdout && direct)
		to->direct = io_fd_open_direct(to->fd, O_WRONLY);
	to->turns = to->direct < 0 && env->c->size > 1 && file_is_in_memory(to->fd);
	return rc;
}

void output_close(const io_fd *to)
{
	if (to->direct >= 0)
		close(to->direct);
}

uint64_t output_most(const job *j)
{
	const settings *o = j->env.o;
	const uint64_t before = o->unique ? 0 : share_before(&j->env, j->shares.out);
	return !o->top ? UINT64_MAX : o->top > before ? o->top - before : 0;
}
