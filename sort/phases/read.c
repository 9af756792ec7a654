/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does by itself or with samples: read its share, sort its entries, estimate and find
 * the splitters. After split, order[cut[d] .. cut[d + 1]) are the entries of rank d's records. */
#include "scatter/scatter.h"
#include "distribute.h"

#include <inttypes.h>

static const char NO_ROOM[] = "to go on by way of the disk it takes more memory (--memory) or more "
			      "space for runs (--tmpdir)";

/* Standard input tells its size only now: the plan of one rank is corrected. */
static void count_stdin(job *j)
{
	j->records = j->share_in[0] = j->share_out[0] = j->target[0] = j->data.n;
	j->mine.planned_in = j->mine.planned_out = j->data.n;
	budget_ended(j);
}

static run_formation_plan run_formation_plan_of(const job *j, const read_runs_plan *p)
{
	const bool keep = j->work.on;
	run_formation_plan sp = { .load = *p,
				  .b = &j->budget,
				  .ranks_here = j->ranks_here,
				  .keep = keep ? &j->work.seal : NULL,
				  .stop = keep ? j->o->stop : NULL };
	sp.dir = job_tmpdirs(j, &sp.dirs);
	return sp;
}

/* What exceeds the memory goes on by way of the disk. */
static status spool_stdin(job *j, run_formation_plan sp)
{
	layout lay = sp.load.lay;
	loaded_runs held = j->data;
	j->data = (loaded_runs){ 0 };
	sp.load.n = j->budget.most_recs;
	sp.full = NO_ROOM;
	if (sp.load.n)
		return run_formation_stream(read_runs_take, &lay, &held, &sp, &j->m, &j->data,
					    &j->e);
	err_set(&j->e, ST_RESOURCE,
		"standard input is more than the %zu records that %" PRIu64
		" bytes of memory hold: %s",
		held.n, j->limit.rank_bytes, NO_ROOM);
	loaded_runs_free(&j->m, &held);
	return ST_RESOURCE;
}

static status read_stdin(job *j, const run_formation_plan *p)
{
	bool ended;
	status rc = read_runs_stream(&p->load, &j->m, &j->data, &ended, &j->e);
	if (rc != ST_OK)
		return rc;
	rc = ended ? read_runs_sort(&p->load, &j->m, &j->data, &j->e) : spool_stdin(j, *p);
	if (rc == ST_OK)
		count_stdin(j);
	return rc;
}

static status spread(job *j, run_formation_plan sp)
{
	sp.load.n = j->budget.most_recs;
	sp.full = "samples of the input did not tell how its keys are distributed";
	const status rc = distribute_disk(j, &sp);
	if (rc == ST_OK)
		budget_ended(j);
	return rc;
}

/* In memory, of records whose number shows when they end; where room doubles both are there. */
static uint64_t most_recs(const job *j)
{
	return j->in.is_stdin
		       ? j->budget.core_recs
		       : j->limit.rank_bytes / 3 * 2 / (j->o->lay.record_bytes + sizeof(entry));
}

/* For --adapt: what a record counts for when it is read, and when it is sorted. NULL: nobody asks,
 * or reading is waiting for others, which tells nothing of this rank. */
static speed_history *speed_history_of(job *j, uint64_t n, bool sort)
{
	const rates *r = &j->mine.rate;
	const bool waits = job_scatters(j) ? j->o->scatter != SCATTER_DYNAMIC
					   : j->budget.spills && job_spreads(j);
	if (!j->o->adapt.on || j->c->size == 1 || n == 0 || waits)
		return NULL;
	j->speed_history.read_s = r->copy_s * j->o->lay.record_bytes;
	j->speed_history.sort_s =
		sort ? rates_before_s(r, j->o, n) / (double)n - j->speed_history.read_s : 0;
	return &j->speed_history;
}

status phase_read(job *j)
{
	const layout *l = &j->o->lay;
	const uint64_t n = own_share(j, j->share_in);
	const uint64_t first = j->in.per_rank ? 0 : share_before(j, j->share_in);
	if (n > POS_MASK)
		return err_set(&j->e, ST_REFUSED, "%" PRIu64 " records are too many for one rank",
			       n);
	const bool sort = j->c->size == 1 || j->o->strategy == BY_MERGING;
	const read_runs_plan p = { .first = first,
				   .n = n,
				   .lay = *l,
				   .rank = (uint32_t)j->c->rank,
				   .threads = j->threads,
				   .direct = j->o->direct,
				   .io = j->io,
				   .most_recs = most_recs(j),
				   .least_run = j->o->least_run,
				   .sort = sort,
				   .speed_history = speed_history_of(j, n, sort) };
	const run_formation_plan sp = run_formation_plan_of(j, &p);
	const bool spreads = j->budget.spills && job_spreads(j);
	const status rc = j->in.is_stdin    ? read_stdin(j, &sp)
			  : spreads         ? spread(j, sp)
			  : job_scatters(j) ? scatter_input(j, &sp)
			  : j->budget.spills
				  ? run_formation_input(&j->in, &sp, &j->m, &j->data, &j->e)
				  : read_runs_input(&j->in, &p, &j->m, &j->data, &j->e);
	j->r = j->data.r;
	j->recs = j->data.r.recs;
	j->mine.in = spreads ? n : j->data.n;
	j->mine.kept_runs = j->data.runs_kept;
	j->mine.kept_bytes = j->data.recs_kept * l->record_bytes;
	j->mine.read_bytes = j->mine.in * (uint64_t)l->record_bytes - j->mine.kept_bytes;
	j->mine.sum_in = j->data.sum;
	j->mine.verify_s += j->data.verify_s;
	j->mine.phase_s[PH_SORT] += j->data.sort_s / j->threads;
	j->mine.phase_s[PH_READ] -= j->data.sort_s / j->threads;
	return rc;
}

status phase_sample(job *j)
{
	return sample_brackets(j->c, &j->m, &j->r, job_merges(j), j->target, &j->brackets, &j->e);
}

/* Entries move to an array of their own, and the old one is free for sorting the received. */
static status split_by_dealing(job *j)
{
	j->by_destination =
		mem_array(&j->m, j->data.n, sizeof *j->by_destination, "entries", &j->e);
	const status rc = comm_agree(j->c, j->by_destination ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	j->by_destination_start[1] = j->data.n;
	j->r = (runs){ .recs = j->recs,
		       .e = j->by_destination,
		       .count = 1,
		       .start = j->by_destination_start };
	return split_unsorted(j->c, &j->m, &j->recs, j->data.entries, j->by_destination, j->data.n,
			      j->target, &j->brackets, j->cut, &j->e);
}

status phase_split(job *j)
{
	j->cut = mem_array(&j->m, ((size_t)j->c->size + 1) * j->r.count, sizeof *j->cut, "cuts",
			   &j->e);
	const status rc = comm_agree(j->c, j->cut ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	if (!job_merges(j))
		return split_by_dealing(j);
	return split_sorted(j->c, &j->m, &j->r, j->target, &j->brackets, j->cut, &j->e);
}
