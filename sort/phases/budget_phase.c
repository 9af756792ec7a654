/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Third phase: may the records stay in memory? Otherwise they go by way of sorted runs on disk, or
 * the job is refused with the figure that it takes; nothing has been read by then. */
#include "scatter/scatter.h"
#include "exchange_setup.h"
#include "base/memory_limit.h"
#include "spill/spill.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	FORCED_RUNS = 64, /* of standard input, for tests */
	GUESSED_RECS = 1 << 16,
	/* batches of outgoing streams: of a sixteenth of the entries, twice, some twice as long */
	BATCHES_BYTES = 8 << 20,
	BATCH_BYTES = 4,              /* for a record */
	LEAST_BATCH_BYTES = 16 << 10, /* for a rank, but no more than its entries twice: */
	ENTRIES_BYTES = 32,
	BUFFERS_BYTES = 6 << 20, /* of the writer */
	CONTROL_BYTES = 64 << 10,
	PEER_BYTES = 3 << 10, /* heads of its stream, counts, requests */
};

/* The directories for runs: those named, else $TMPDIR, else the output's. */
static status choose_tmpdirs(job *j)
{
	const char *env = getenv("TMPDIR"), *out = j->o->output ? j->o->output : "-";
	const char *slash = strrchr(out, '/');
	if (j->o->tmpdirs || j->o->workdir)
		return ST_OK;
	if (env && *env == '/')
		j->tmpdir = strdup(env);
	else if (strcmp(out, "-") == 0)
		j->tmpdir = strdup("/tmp");
	else
		j->tmpdir = slash ? strndup(out, (size_t)(slash - out) + 1) : strdup(".");
	return j->tmpdir ? ST_OK : err_set(&j->e, ST_RESOURCE, "no memory for a name");
}

const char *const *job_tmpdirs(const job *j, size_t *n)
{
	*n = j->o->tmpdirs ? j->o->tmpdirs : 1;
	if (j->o->workdir)
		return &j->o->workdir;
	return j->o->tmpdirs ? j->o->tmpdir : (const char *const *)&j->tmpdir;
}

static status check_spilling(job *j)
{
	size_t dirs;
	const status rc = choose_tmpdirs(j);
	if (rc != ST_OK)
		return rc;
	if (job_scatters(j) && j->o->scatter == SCATTER_DYNAMIC)
		return err_set(&j->e, ST_RESOURCE,
			       "%" PRIu64 " bytes of memory are not enough for %" PRIu64
			       " records: it takes %" PRIu64
			       "; --scatter=dynamic cannot go by way of the disk",
			       j->limit.rank_bytes, own_share(j, j->share_in),
			       j->budget.core_bytes);
	const char *const *dir = job_tmpdirs(j, &dirs);
	if (j->o->workdir && j->o->explain)
		return ST_OK; /* it may not be there yet */
	return spill_dirs_check(dir, dirs, &j->e);
}

static status find_limit(job *j)
{
	const memory_limit_query lq = { .root = "",
					.wish = j->o->memory,
					.node_ranks = j->ranks_here,
					.process_ranks = (unsigned)j->c->process_ranks };
	return memory_limit_find(&lq, &j->limit, &j->e);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What it takes to send this rank's records and to write what comes. */
static uint64_t exchange_bytes(job *j, uint64_t out_recs)
{
	const uint64_t rec = j->o->lay.record_bytes, p = (uint64_t)j->c->size;
	const uint64_t n = j->in.is_stdin ? POS_MASK : own_share(j, j->share_in);
	const uint64_t out = lesser(j->in.is_stdin ? POS_MASK : out_recs, BUFFERS_BYTES);
	if (p == 1)
		return 0;
	return exchange_most_bytes(rec, (size_t)j->windows_bytes, j->c->size) +
	       lesser(BATCHES_BYTES, n * BATCH_BYTES) +
	       lesser(p * LEAST_BATCH_BYTES, n * ENTRIES_BYTES) +
	       lesser(BUFFERS_BYTES, 3 * out * rec) + CONTROL_BYTES + p * PEER_BYTES;
}

static budget_query query_of(job *j, uint64_t out_recs)
{
	return (budget_query){ .limit_bytes = j->limit.rank_bytes,
			       .recs = own_share(j, j->share_in),
			       .out_recs = out_recs,
			       .lay = j->o->lay,
			       .threads = j->threads,
			       .ranks = (unsigned)j->c->size,
			       .distributing = j->c->size > 1 && j->o->strategy == BY_DISTRIBUTING,
			       .receives = job_spreads(j) || job_scatters(j),
			       .exchange_bytes = exchange_bytes(j, out_recs),
			       .keeps = j->o->workdir && own_share(j, j->share_in) > 0,
			       .run_recs = j->work.found ? j->work.s.run_recs : 0,
			       .stride = j->work.found ? j->work.s.stride : 0 };
}

/* By merging, and by way of the disk, what is written passes through windows. */
bool budget_holds(job *j, uint64_t out_recs)
{
	budget b;
	err e = { ST_OK, "" };
	const budget_query q = query_of(j, out_recs);
	return !q.distributing || j->budget.spills ||
	       (budget_make(&b, &q, &e) == ST_OK && !b.spills);
}

/* For standard input. Where runs go is looked at now if somebody said it; if it need not be used,
 * a default that cannot be used is no trouble. */
static status make_stream_budget(job *j)
{
	budget_query q = query_of(j, 0);
	size_t dirs;
	uint64_t bytes = 0;
	err e = { ST_OK, "" };
	status rc = choose_tmpdirs(j);
	if (rc != ST_OK)
		return rc;
	const char *const *dir = job_tmpdirs(j, &dirs);
	rc = spill_room(dir, dirs, j->ranks_here, &bytes, &e);
	if (rc != ST_OK && j->o->tmpdirs)
		return err_set(&j->e, rc, "%s", e.text);
	if (j->o->spill_recs) {
		q.recs = j->o->spill_recs * FORCED_RUNS;
		budget_force(&j->budget, &q, j->o->spill_recs);
		j->budget.spills = false;
	} else {
		/* one that cannot be used says so when it is */
		budget_stream(&j->budget, &q,
			      rc == ST_OK ? bytes / j->o->lay.record_bytes : POS_MASK);
	}
	return ST_OK;
}

/* All ranks exchange in the same way: *any is so on one of them. Collective. */
static status agree_to_spill(job *j, bool *any)
{
	const size_t p = (size_t)j->c->size;
	bool mine = *any, *all = mem_array(&j->m, p, sizeof *all, "answers", &j->e);
	status rc = comm_agree(j->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_allgather(j->c, &mine, all, sizeof *all);
	for (size_t i = 0; rc == ST_OK && i < p; i++)
		*any |= all[i];
	mem_free(&j->m, all);
	return rc;
}

/* Where samples alone say what comes to a rank: more than its share, to be safe. */
static uint64_t most_to_come(const job *j)
{
	const uint64_t share = own_share(j, j->share_out), most = share + share / 4 + GUESSED_RECS;
	return most < j->records ? most : j->records;
}

/* In memory only if that of all ranks holds what comes. */
static status make_spread_budget(job *j)
{
	budget_query q = query_of(j, own_share(j, j->share_out));
	err no_room = { ST_OK, "" };
	bool any = budget_make(&j->budget, &q, &no_room) != ST_OK || j->budget.spills ||
		   (j->o->spill_recs && j->records > 0);
	const status rc = agree_to_spill(j, &any);
	if (rc != ST_OK || !any)
		return rc;
	q.recs = most_to_come(j);
	if (!j->o->spill_recs)
		return budget_disk(&j->budget, &q, &j->e);
	budget_force(&j->budget, &q, j->o->spill_recs);
	return ST_OK;
}

static status make_budget(job *j)
{
	if (j->in.is_stdin)
		return make_stream_budget(j);
	const budget_query bq = query_of(j, own_share(j, j->share_out));
	status rc = ST_OK;
	if (job_spreads(j))
		rc = make_spread_budget(j);
	else if (j->o->spill_recs && bq.recs > 0)
		budget_force(&j->budget, &bq, bq.run_recs ? bq.run_recs : j->o->spill_recs);
	else
		rc = budget_make(&j->budget, &bq, &j->e);
	if (job_spreads(j) || job_scatters(j))
		if (!j->c->threads_allowed)
			j->budget.workers = 1; /* who takes a run talks to other ranks */
	if (rc == ST_OK && j->budget.spills)
		rc = check_spilling(j);
	return rc;
}

/* The windows by the rank that has least: collective. */
static status size_windows(job *j)
{
	const size_t p = (size_t)j->c->size;
	uint64_t least = UINT64_MAX, *all = mem_array(&j->m, p, sizeof *all, "limits", &j->e);
	status rc = comm_agree(j->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_allgather(j->c, &j->limit.rank_bytes, all, sizeof *all);
	for (size_t i = 0; rc == ST_OK && i < p; i++)
		least = all[i] < least ? all[i] : least;
	j->windows_bytes = exchange_setup_windows(j, least);
	mem_free(&j->m, all);
	return rc;
}

static void note_budget(job *j)
{
	rank_result *r = &j->mine;
	r->planned_bytes = j->budget.bytes;
	r->spill_bytes = j->budget.disk_bytes;
	r->spill_runs = j->budget.spills ? j->budget.runs : 0;
}

void budget_ended(job *j)
{
	budget_query q = query_of(j, 0);
	q.recs = j->data.n;
	j->budget.runs = j->data.r.count;
	if (j->data.spill)
		budget_settle(&j->budget, &q);
	note_budget(j);
}

status phase_budget(job *j)
{
	status rc = comm_agree(j->c, find_limit(j));
	if (rc == ST_OK)
		rc = size_windows(j);
	if (rc == ST_OK)
		rc = make_budget(j);
	j->mine.limit_bytes = j->limit.rank_bytes;
	memcpy(j->mine.limit_text, j->limit.text, sizeof j->mine.limit_text);
	note_budget(j);
	return rc;
}
