/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does by itself or with samples: read its share, estimate and find the splitters.
 * After split, places cut[d] to cut[d + 1] are those of rank d's records. */
#include "budget_phase.h"
#include "exchange/distribute_disk.h"
#include "exchange/key_borders.h"
#include "phases.h"
#include "spill/sorted_files.h"
#include "base/minmax.h"
#include "base/size.h"
#include "testing/test_sizes.h"

#include <inttypes.h>
#include <unistd.h>

static const char NO_ROOM[] = "spilling to disk takes more memory (--memory) or more "
			      "space for runs (--tmpdir)";

/* What reading goes by, and what it makes. */
typedef struct reading {
	rank_env *env;
	const settled *k;
	read_runs *d;
	share_plan *next; /* where shares show only now */
	memory_plan *mp;
} reading;

/* The size of a stream is known only now: the plan of one rank is made anew. */
static status count_stream(reading *x)
{
	rank_env *env = x->env;
	if (share_plan_copy(env, x->k->s, x->next) != ST_OK)
		return ST_RESOURCE;
	x->next->records = x->next->in[0] = x->next->out[0] = x->next->before[0] = x->d->n;
	env->stats->planned_in = env->stats->planned_out = x->d->n;
	const settled now = { .f = x->k->f,
			      .cpus = x->k->cpus,
			      .w = x->k->w,
			      .s = x->next,
			      .sp = x->k->sp,
			      .mp = x->mp };
	budget_ended(env, &now, x->d, x->mp);
	return ST_OK;
}

static run_formation_plan run_formation_plan_of(const reading *x, const read_runs_plan *p)
{
	const workdir *w = x->k->w;
	run_formation_plan sp = { .load = *p,
				  .b = &x->k->mp->budget,
				  .ranks_here = x->k->cpus->ranks_here,
				  .keep = w->on ? &w->seal : NULL,
				  .stop = w->on ? x->env->o->stop : NULL };
	sp.dir = budget_tmpdirs(x->env, x->k->mp, &sp.dirs);
	return sp;
}

/* What exceeds the memory spills to disk. */
static status spill_stream(reading *x, record_stream *from, run_formation_plan sp)
{
	rank_env *env = x->env;
	char q[QUOTED_BYTES], limit[SIZE_TEXT_BYTES];
	read_runs held = *x->d;
	*x->d = (read_runs){ 0 };
	sp.load.n = x->k->mp->budget.most_recs;
	sp.full = NO_ROOM;
	if (sp.load.n) {
		const status rc = run_formation_stream(read_runs_take, from, &held, &sp, &env->m,
						       x->d, &env->e);
		x->d->sum = from->sum;
		x->d->verify_s = from->verify_s;
		return rc;
	}
	err_set(&env->e, ST_RESOURCE,
		"input %s has more than the %zu records that %s of memory hold: %s",
		err_quoted(from->path, q), held.n, size_text(x->k->mp->limit.rank_bytes, limit),
		NO_ROOM);
	read_runs_free(&env->m, &held);
	return ST_RESOURCE;
}

static status read_stream(reading *x, const run_formation_plan *p)
{
	rank_env *env = x->env;
	const input_file *f = x->k->f->in.file;
	record_stream from = { .lay = env->o->lay, .path = f->path };
	bool ended;
	status rc = input_open(f, true, &from.fd, &env->e);
	if (rc != ST_OK)
		return rc;
	rc = read_runs_stream(&p->load, &from, &env->m, x->d, &ended, &env->e);
	if (rc == ST_OK)
		rc = ended ? read_runs_sort(&p->load, &env->m, x->d, &env->e)
			   : spill_stream(x, &from, *p);
	close(from.fd);
	return rc == ST_OK ? count_stream(x) : rc;
}

static status spread(reading *x, run_formation_plan sp)
{
	sp.load.n = x->k->mp->budget.most_recs;
	sp.full = "samples of the input did not tell how its keys are distributed";
	const distribute_plan k = { &x->k->f->in, x->k->s, x->k->mp->windows_bytes, &sp };
	const status rc = distribute_disk(x->env, &k, x->d);
	if (rc == ST_OK)
		budget_ended(x->env, x->k, x->d, x->mp);
	return rc;
}

static status receive_scattered(reading *x, const run_formation_plan *p)
{
	rank_env *env = x->env;
	const scatter_job k = { &x->k->f->in, x->k->s, x->k->sp, p };
	status rc = scatter_input(env, &k, x->d);
	if (env->o->scatter != SCATTER_DYNAMIC)
		return rc;
	const uint64_t mine = env->stats->planned_in = x->d->n;
	if (rc == ST_OK)
		rc = comm_agree(env->c, share_plan_copy(env, x->k->s, x->next));
	return rc == ST_OK ? comm_allgather(env->c, &mine, x->next->in, sizeof mine) : rc;
}

/* In memory, of records whose number shows when they end; where room doubles both are there. */
static uint64_t most_recs(const rank_env *env, const settled *k)
{
	return k->f->in.is_stream ? k->mp->budget.core_recs
				  : k->mp->limit.rank_bytes / 3 * 2 /
					    (env->o->lay.record_bytes + sizeof(entry));
}

/* For --adapt: what a record counts for when it is read, and when it is sorted. NULL: not wanted,
 * or reading means waiting for others, which shows no speed. */
static speed_history *speed_history_of(const rank_env *env, const settled *k, uint64_t n,
				       speed_history *h)
{
	const rates *r = &env->stats->rate;
	const bool waits = env_scatters(env)
				   ? env->o->scatter != SCATTER_DYNAMIC
				   : k->mp->budget.spills && budget_spreads(env, &k->f->in);
	if (!env->o->adapt.on || env->c->size == 1 || n == 0 || waits)
		return NULL;
	h->read_s = r->copy_s * env->o->lay.record_bytes;
	h->sort_s = job_time_before_s(r, env->o, n) / (double)n - h->read_s;
	return h;
}

/* What of the work with the input this rank has done. */
void read_note(rank_env *env, const read_runs *d, uint64_t in)
{
	rank_result *r = env->stats;
	const uint64_t bytes = env->o->lay.record_bytes;
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

/* --merge: what is sorted is read when it is merged. */
static status open_sorted(rank_env *env, const settled *k, read_runs *d)
{
	const comm *c = env->c;
	const size_t ranks = (size_t)((c->size - 1) / c->processes + 1);
	*d = (read_runs){ .n = (size_t)own_share(env, k->s->in) };
	const status rc = sorted_files_open(&d->files, &env->m, &k->f->in, &env->o->lay, ranks,
					    env->o->direct, k->f->io, &env->e);
	d->s = d->files;
	return rc;
}

status phase_read(rank_env *env, const settled *k, read_runs *d, speed_history *speeds,
		  share_plan *next, memory_plan *mp)
{
	const input *in = &k->f->in;
	const uint64_t n = own_share(env, k->s->in);
	const uint64_t first = in->per_rank ? 0 : workdir_first(env, k->w, k->s->in);
	const read_runs_plan p = { .first = first,
				   .n = n,
				   .lay = env->o->lay,
				   .rank = workdir_place(env, k->w),
				   .threads = k->cpus->threads,
				   .direct = env->o->direct,
				   .io = k->f->io,
				   .most_recs = most_recs(env, k),
				   .sizes = test_sizes_of(env->o),
				   .speed_history = speed_history_of(env, k, n, speeds) };
	reading x = { env, k, d, next, mp };
	const run_formation_plan sp = run_formation_plan_of(&x, &p);
	const bool spills = k->mp->budget.spills, spreads = spills && budget_spreads(env, in);
	const bool merges = env->o->merge && k->s->records > 0;
	const status rc = merges              ? open_sorted(env, k, d)
			  : in->is_stream     ? read_stream(&x, &sp)
			  : spreads           ? spread(&x, sp)
			  : env_scatters(env) ? receive_scattered(&x, &sp)
			  : spills            ? run_formation_input(in, &sp, &env->m, d, &env->e)
					      : read_runs_input(in, &p, &env->m, d, &env->e);
	read_note(env, d, spreads ? env->stats->in : d->n);
	return rc;
}

status phase_sample(rank_env *env, const share_plan *s, const read_runs *d, bool merges, cuts *k)
{
	return splitter_search_open(&k->search, env->c, &env->m, d->s, merges ? NULL : &d->r.recs,
				    s->before, (size_t)env->c->size - 1, &env->e);
}

status phase_split(rank_env *env, const read_runs *d, cuts *k)
{
	k->s = d->s;
	k->cut = mem_array(&env->m, ((size_t)env->c->size + 1) * d->s->count, sizeof *k->cut,
			   "cuts", &env->e);
	const status rc = comm_agree(env->c, k->cut ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	const status cut = splitter_search_end(&k->search, k->cut, &env->e);
	splitter_search_close(&k->search);
	return cut;
}

/* What all ranks send to this one, after the cuts have moved. */
static status count_arrivals(rank_env *env, const cuts *c, uint64_t *send, uint64_t *mine)
{
	const size_t p = (size_t)env->c->size;
	uint64_t *recv = send + p;
	for (size_t d = 0; d < p; d++)
		for (size_t k = 0; k < c->s->count; k++)
			send[d] += c->cut[(d + 1) * c->s->count + k] - c->cut[d * c->s->count + k];
	const status rc = comm_alltoall(env->c, send, recv, sizeof *recv);
	*mine = 0;
	for (size_t i = 0; i < p; i++)
		if (__builtin_add_overflow(*mine, recv[i], mine))
			return err_set(&env->e, ST_PEER, "the ranks announce too many records");
	return rc;
}

static status new_shares(rank_env *env, const settled *k, const cuts *c, share_plan *next)
{
	uint64_t mine;
	uint64_t *send =
		mem_array(&env->m, 2 * (size_t)env->c->size, sizeof *send, "counts", &env->e);
	status rc = comm_agree(env->c, send ? share_plan_copy(env, k->s, next) : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_agree(env->c, count_arrivals(env, c, send, &mine));
	if (rc == ST_OK)
		rc = comm_allgather(env->c, &mine, next->out, sizeof mine);
	mem_free(&env->m, send);
	if (rc == ST_OK)
		rc = share_plan_check(env, next->records, next->out, false, "unique keys");
	share_plan_sum_out(env, next);
	if (rc == ST_OK && !budget_holds(env, k, mine))
		rc = err_set(
			&env->e, ST_RESOURCE,
			"with all records of each key %" PRIu64
			" come to this rank, more than memory holds: --strategy=merge takes less",
			mine);
	return rc;
}

status phase_split_keys(rank_env *env, const settled *k, cuts *c, share_plan *next)
{
	if (!env->o->unique)
		return ST_OK;
	const status rc = key_borders_move(env->c, &env->m, c->s, c->cut, &env->e);
	return rc == ST_OK ? new_shares(env, k, c, next) : rc;
}
