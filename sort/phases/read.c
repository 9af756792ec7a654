/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a rank's share, in one of five ways (read_share), to sorted runs in memory or on disk. */
#include "apply.h"
#include "memory_plan.h"
#include "read.h"
#include "workdir.h"
#include "base/size.h"
#include "base/sysfile.h"
#include "base/usage.h"
#include "spill/record_stream.h"

#include <unistd.h>

/* Return what a stream that exceeds the plan needs. */
static const char *no_room(const memory_plan *mp)
{
	return mp->out_in_memory ? "its output is in memory; use an output on a disk"
	       : mp->memory_dirs ? "its runs are in memory; use a --tmpdir on a disk"
				 : "spilling to disk needs more memory (--memory) or more space "
				   "for runs (--tmpdir)";
}

/* Read the only stream to its end, spill it to disk if it exceeds the memory, and plan again with
 * its size. */
static status read_only_stream(job *j, run_formation_plan *p)
{
	rank_env *env = &j->env;
	sorted_share *d = &j->data;
	const input_file *f = j->files.in.file;
	record_stream from = { .lay = env->o->lay, .shape = &j->files.in.shape, .path = f->path };
	char limit[SIZE_TEXT_BYTES];
	bool ended;
	from.raw = mem_array(&env->m, record_stream_raw_bytes(&from), 1, "records", &env->e);
	status rc = from.raw ? input_open(f, true, &from.fd, &env->e) : ST_RESOURCE;
	if (rc != ST_OK)
		return rc;
	rc = record_stream_load(&from, &p->load, &env->m, d, &ended, &env->e);
	if (rc == ST_OK && ended)
		rc = memory_share_sort(&p->load, &env->m, d, &env->e);
	p->load.n = j->memory.sort.most_recs;
	p->full = no_room(&j->memory);
	if (rc == ST_OK && !ended && p->load.n) {
		rc = run_formation_stream(record_stream_take, &from, p, &env->m, d, &env->e);
		d->sum = from.sum;
		d->verify_s = from.verify_s;
	} else if (rc == ST_OK && !ended) {
		rc = err_set(&env->e, ST_RESOURCE,
			     "input %s has more than the %zu records that %s of memory hold: %s",
			     quoted(f->path), d->n, size_text(j->memory.limit.rank_bytes, limit),
			     no_room(&j->memory));
	}
	close(from.fd);
	mem_free(&env->m, from.raw);
	if (rc == ST_OK)
		rc = job_replan(j);
	if (rc != ST_OK)
		return rc;
	share_plan *next = &j->next;
	next->records = next->in[0] = next->out[0] = next->before[0] = sorted_share_read(d);
	env->stats->planned_in = env->stats->planned_out = next->records;
	memory_plan_ended(j);
	return ST_OK;
}

void read_note(job *j, uint64_t in)
{
	rank_result *r = j->env.stats;
	const sorted_share *d = &j->data;
	const uint64_t bytes = j->env.o->lay.record_bytes;
	r->in = in;
	r->kept_runs = d->disk.kept;
	r->kept_bytes = d->disk.kept_recs * bytes;
	r->read_bytes = (in - d->disk.kept_recs) * input_file_bytes(&j->files.in, &j->env.o->lay);
	r->sum_in = d->sum;
	r->verify_s += d->verify_s;
	if (d->disk.spill && d->dropped.records)
		r->spill_bytes = spill_disk_bytes(d->disk.spill);
	if (d->disk.spill)
		spill_left_out(d->disk.spill, r->left_out, sizeof r->left_out, &r->runs_again);
	result_shift(r, PH_SORT, d->sort_s);
}

/* Read the share of this rank in the way that the plan requires. */
static status read_share(job *j, run_formation_plan *p)
{
	rank_env *env = &j->env;
	const input *in = &j->files.in;
	const bool spills = j->memory.sort.spills;
	if (j->apply.gathers)
		return apply_read(j);
	if (env->o->merge &&
	    j->shares.records > 0) { /* sorted inputs are read when they are merged */
		const size_t ranks = ((size_t)env->c->size - 1) / (size_t)env->c->processes + 1;
		j->data = (sorted_share){ .n = (size_t)own_share(env, j->shares.in) };
		const reader_plan rp = { .lay = env->o->lay, .direct = env->o->direct };
		const status rc =
			sorted_files_open(&j->data.files, &env->m, in, &rp, ranks, &env->e);
		j->data.s = j->data.files;
		return rc;
	}
	if (in->is_stream)
		return read_only_stream(j, p);
	if (env_scatters(env)) {
		const scatter_job k = { in, &j->shares, &j->scatter, p };
		status rc = scatter_input(env, &k, &j->data);
		if (env->o->scatter != SCATTER_DYNAMIC)
			return rc;
		const uint64_t mine = env->stats->planned_in = sorted_share_read(&j->data);
		if (rc == ST_OK)
			rc = job_replan(j);
		return rc == ST_OK ? comm_allgather(env->c, &mine, j->next.in, sizeof mine) : rc;
	}
	return spills ? run_formation_input(in, p, &env->m, &j->data, &env->e)
		      : memory_share_input(in, &p->load, &env->m, &j->data, &env->e);
}

status phase_read(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const input *in = &j->files.in;
	const memory_plan *mp = &j->memory;
	const uint64_t n = own_share(env, j->shares.in);
	/* a rank that waits for others while it reads shows no speed */
	const bool waits = env_scatters(env) && o->scatter != SCATTER_DYNAMIC;
	const bool measures = job_adapts(j) && env->c->size > 1 && n > 0 && !waits;
	/* the most records in memory, if their number is known only at their end: a buffer that
	 * grows exists twice for a while */
	const uint64_t most_recs = in->is_stream ? mp->sort.core_recs
						 : mp->limit.rank_bytes / 3 * 2 /
							   (o->lay.record_bytes + sizeof(entry));
	run_formation_plan p = { .load = { .first = in->per_rank ? 0
								 : workdir_first(j, j->shares.in),
					   .n = n,
					   .lay = o->lay,
					   .rank = workdir_place(j),
					   .threads = j->cpus.threads,
					   .direct = o->direct,
					   .most_recs = most_recs,
					   .sizes = test_sizes_of(o),
					   .speed_history = measures ? &j->speeds : NULL },
				 .b = &mp->sort,
				 .ranks_here = j->cpus.ranks_here,
				 .folds = o->unique,
				 .keep = j->work.on ? &j->work.seal : NULL,
				 .stop = j->work.on ? o->stop : NULL };
	j->speeds.clock_s = usage_runnable_s;
	p.dir = memory_plan_tmpdirs(j, &p.dirs);
	const status rc = read_share(j, &p);
	read_note(j, sorted_share_read(&j->data));
	/* Find how much of the input buffer is in huge pages. Reading smaps_rollup walks the page
	 * table, so skip small buffers, and mapped files, which have no huge pages. */
	uint64_t kb = 0;
	if (env->m.now_bytes >= 32 << 20 && !j->data.memory.mapped)
		sysfile_number("", "/proc/self/smaps_rollup", "AnonHugePages", &kb);
	env->stats->huge_bytes = kb * 1024;
	return rc;
}
