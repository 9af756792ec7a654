/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a rank's share, in one of six ways, to sorted runs in memory or on disk. */
#include "base/minmax.h"
#include "base/size.h"
#include "exchange/distribute_disk.h"
#include "job.h"
#include "spill/sorted_files.h"
#include "testing/test_sizes.h"

#include <inttypes.h>
#include <unistd.h>

static const char NO_ROOM[] = "spilling to disk takes more memory (--memory) or more "
			      "space for runs (--tmpdir)";

/* What exceeds the memory spills to disk. */
static status spill_stream(job *j, record_stream *from, run_formation_plan sp)
{
	rank_env *env = &j->env;
	char limit[SIZE_TEXT_BYTES];
	read_runs held = j->data;
	j->data = (read_runs){ 0 };
	sp.load.n = j->memory.budget.most_recs;
	sp.full = NO_ROOM;
	if (sp.load.n) {
		const status rc = run_formation_stream(read_runs_take, from, &held, &sp, &env->m,
						       &j->data, &env->e);
		j->data.sum = from->sum;
		j->data.verify_s = from->verify_s;
		return rc;
	}
	err_set(&env->e, ST_RESOURCE,
		"input %s has more than the %zu records that %s of memory hold: %s",
		quoted(from->path), held.n, size_text(j->memory.limit.rank_bytes, limit), NO_ROOM);
	read_runs_free(&env->m, &held);
	return ST_RESOURCE;
}

/* The size of a stream is known only at its end: the plan of one rank is made again. */
static status read_stream(job *j, const run_formation_plan *p)
{
	rank_env *env = &j->env;
	const input_file *f = j->files.in.file;
	record_stream from = { .lay = env->o->lay, .path = f->path };
	bool ended;
	status rc = input_open(f, true, &from.fd, &env->e);
	if (rc != ST_OK)
		return rc;
	rc = read_runs_stream(&p->load, &from, &env->m, &j->data, &ended, &env->e);
	if (rc == ST_OK)
		rc = ended ? read_runs_sort(&p->load, &env->m, &j->data, &env->e)
			   : spill_stream(j, &from, *p);
	close(from.fd);
	if (rc == ST_OK)
		rc = job_replan(j);
	if (rc != ST_OK)
		return rc;
	share_plan *next = &j->next;
	next->records = next->in[0] = next->out[0] = next->before[0] = j->data.n;
	env->stats->planned_in = env->stats->planned_out = j->data.n;
	budget_ended(j);
	return ST_OK;
}

static status spread(job *j, run_formation_plan sp)
{
	sp.load.n = j->memory.budget.most_recs;
	sp.full = "samples of the input did not tell how its keys are distributed";
	const distribute_plan k = { &j->files.in, &j->shares, j->memory.windows_bytes, &sp };
	const status rc = distribute_disk(&j->env, &k, &j->data);
	if (rc == ST_OK)
		budget_ended(j);
	return rc;
}

static status receive_scattered(job *j, const run_formation_plan *p)
{
	rank_env *env = &j->env;
	const scatter_job k = { &j->files.in, &j->shares, &j->scatter, p };
	status rc = scatter_input(env, &k, &j->data);
	if (env->o->scatter != SCATTER_DYNAMIC)
		return rc;
	const uint64_t mine = env->stats->planned_in = j->data.n;
	if (rc == ST_OK)
		rc = job_replan(j);
	return rc == ST_OK ? comm_allgather(env->c, &mine, j->next.in, sizeof mine) : rc;
}

/* --merge: what is sorted is read when it is merged. */
static status open_sorted(job *j)
{
	rank_env *env = &j->env;
	const size_t ranks = (size_t)((env->c->size - 1) / env->c->processes + 1);
	j->data = (read_runs){ .n = (size_t)own_share(env, j->shares.in) };
	const status rc = sorted_files_open(&j->data.files, &env->m, &j->files.in, &env->o->lay,
					    ranks, env->o->direct, j->files.io, &env->e);
	j->data.s = j->data.files;
	return rc;
}

/* For --adapt: what a record counts for when it is read, and when it is sorted. NULL: not wanted,
 * or reading means waiting for others, which shows no speed. */
static speed_history *speed_history_of(job *j, uint64_t n)
{
	const rank_env *env = &j->env;
	const rates *r = &env->stats->rate;
	const bool waits = env_scatters(env) ? env->o->scatter != SCATTER_DYNAMIC
					     : j->memory.budget.spills && budget_spreads(j);
	if (!env->o->adapt.on || env->c->size == 1 || n == 0 || waits)
		return NULL;
	j->speeds.read_s = r->copy_s * env->o->lay.record_bytes;
	j->speeds.sort_s = job_time_before_s(r, env->o, n) / (double)n - j->speeds.read_s;
	return &j->speeds;
}

/* What of the work with the input this rank has done. */
void read_note(job *j, uint64_t in)
{
	rank_result *r = j->env.stats;
	const read_runs *d = &j->data;
	const uint64_t bytes = j->env.o->lay.record_bytes;
	r->in = in;
	r->kept_runs = d->runs_kept;
	r->kept_bytes = d->recs_kept * bytes;
	r->read_bytes = in * bytes - r->kept_bytes;
	r->sum_in = d->sum;
	r->verify_s += d->verify_s;
	if (d->disk.spill)
		spill_left_out(d->disk.spill, r->left_out, sizeof r->left_out, &r->runs_again);
	result_shift(r, PH_SORT, d->sort_s);
}

status phase_read(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const input *in = &j->files.in;
	const memory_plan *mp = &j->memory;
	const uint64_t n = own_share(env, j->shares.in);
	/* in memory, of records whose number shows when they end; where room doubles, both the old
	 * and the new room are there */
	const uint64_t most_recs = in->is_stream ? mp->budget.core_recs
						 : mp->limit.rank_bytes / 3 * 2 /
							   (o->lay.record_bytes + sizeof(entry));
	run_formation_plan p = { .load = { .first = in->per_rank ? 0
								 : workdir_first(j, j->shares.in),
					   .n = n,
					   .lay = o->lay,
					   .rank = workdir_place(j),
					   .threads = j->cpus.threads,
					   .direct = o->direct,
					   .io = j->files.io,
					   .most_recs = most_recs,
					   .sizes = test_sizes_of(o),
					   .speed_history = speed_history_of(j, n) },
				 .b = &mp->budget,
				 .ranks_here = j->cpus.ranks_here,
				 .keep = j->work.on ? &j->work.seal : NULL,
				 .stop = j->work.on ? o->stop : NULL };
	p.dir = budget_tmpdirs(j, &p.dirs);
	const bool spills = mp->budget.spills, spreads = spills && budget_spreads(j);
	const bool merges = o->merge && j->shares.records > 0;
	const status rc = merges              ? open_sorted(j)
			  : in->is_stream     ? read_stream(j, &p)
			  : spreads           ? spread(j, p)
			  : env_scatters(env) ? receive_scattered(j, &p)
			  : spills ? run_formation_input(in, &p, &env->m, &j->data, &env->e)
				   : read_runs_input(in, &p.load, &env->m, &j->data, &env->e);
	read_note(j, spreads ? env->stats->in : j->data.n);
	return rc;
}
