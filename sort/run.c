/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sort, top to bottom. Each rank takes the same steps; at the border of a phase all ranks agree
 * on how it went, and leave together if it went wrong anywhere. */
#include "scatter/scatter.h"
#include "model/history.h"
#include "phases/part_summary.h"
#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct step {
	phase at;
	status (*run)(job *j);
} step;

static const step by_merging[] = {
	{ PH_DESCRIBE, phase_describe }, /* agree on options, find the files, count the records */
	{ PH_PLAN, phase_plan },         /* how much each rank reads, and how much it writes */
	{ PH_PLAN, phase_resume },       /* go on with the runs of an earlier program */
	{ PH_PLAN, phase_budget },       /* in memory, or by way of the disk */
	{ PH_PLAN, phase_save_state },   /* for a later program, whose the runs are */
	{ PH_READ, phase_read },         /* records to memory, in sorted runs */
	{ PH_READ, phase_load_output },  /* is the output there, but for its name? */
	{ PH_PLAN, phase_adapt },        /* if a rank turned slow, it is to write less */
	{ PH_SAMPLE, phase_sample },     /* estimate the splitters */
	{ PH_SPLIT, phase_split },       /* cut exactly at the planned shares */
	{ PH_MERGE, phase_merge },      /* records to their rank, merged and written as they come */
	{ PH_SYNC, phase_sync },        /* to the disk */
	{ PH_SYNC, phase_verify },      /* what went in came out */
	{ PH_SYNC, phase_save_output }, /* for a later program, that only the name is missing */
	{ PH_COMMIT, phase_commit },    /* final names */
	{ PH_COMMIT, phase_drop_checkpoints }, /* runs are done with */
	{ PH_COMMIT, phase_update_wisdom },    /* tell the next run */
};

static const step by_distributing[] = {
	{ PH_DESCRIBE, phase_describe },
	{ PH_PLAN, phase_plan },
	{ PH_PLAN, phase_budget },
	{ PH_READ, phase_read },
	{ PH_PLAN, phase_adapt },
	{ PH_SAMPLE, phase_sample },
	{ PH_SPLIT, phase_split },
	{ PH_SORT, phase_distribute }, /* the last step is a sort
					*/
	{ PH_SYNC, phase_sync },
	{ PH_SYNC, phase_verify },
	{ PH_COMMIT, phase_commit },
	{ PH_COMMIT, phase_update_wisdom },
};

static const step by_one_rank[] = {
	{ PH_DESCRIBE, phase_describe },
	{ PH_PLAN, phase_plan },
	{ PH_PLAN, phase_resume },
	{ PH_PLAN, phase_budget },
	{ PH_PLAN, phase_save_state },
	{ PH_READ, phase_read },
	{ PH_READ, phase_load_output },
	{ PH_MERGE, phase_single_rank }, /* each piece to its place */
	{ PH_SYNC, phase_sync },
	{ PH_SYNC, phase_verify },
	{ PH_SYNC, phase_save_output },
	{ PH_COMMIT, phase_commit },
	{ PH_COMMIT, phase_drop_checkpoints },
};

/* Not once final names may be there, nor where what was merged would be lost for the little that is
 * left to do. */
static bool may_stop(const job *j, const step *s)
{
	return s->run != phase_commit && s->run != phase_drop_checkpoints &&
	       s->run != phase_update_wisdom && !(j->work.on && s->at >= PH_MERGE);
}

static status stop_if_asked(job *j, const step *s)
{
	if (!j->o->stop || !atomic_load(j->o->stop) || !may_stop(j, s))
		return ST_OK;
	return err_set(&j->e, (status)(ST_SIGNAL + SIGUSR1), "stopped by SIGUSR1%s",
		       j->work.on ? "; --resume goes on from here" : "");
}

static status take_step(job *j, const step *s)
{
	const double t0 = now_s();
	j->at = s->at;
	atomic_store(&j->c->phase, (int)s->at);
	FAIL_PHASE(phase_name(s->at));
	status rc = s->run(j);
	if (rc == ST_OK)
		rc = stop_if_asked(j, s);
	const double t1 = now_s();
	j->mine.phase_s[s->at] += t1 - t0;
	rc = comm_agree(j->c, rc);
	j->mine.wait_s += now_s() - t1;
	if (s->at == PH_READ && rc == ST_OK)
		j->all_read_s = now_s() - j->begun_s;
	return rc;
}

#define STEPS(list) (*n = sizeof(list) / sizeof *(list), (list))

static const step *steps_of(const job *j, size_t *n)
{
	if (j->c->size == 1)
		return STEPS(by_one_rank);
	return j->o->strategy == BY_MERGING ? STEPS(by_merging) : STEPS(by_distributing);
}

static status take_steps(job *j)
{
	size_t n;
	const step *s = steps_of(j, &n);
	if (j->o->explain)
		for (n = 0; s[n].at <= PH_PLAN;)
			n++; /* no data is touched */
	status rc = ST_OK;
	for (size_t i = 0; i < n && rc == ST_OK; i++)
		if (!j->output_found || s[i].at >= PH_SYNC)
			rc = take_step(j, &s[i]);
	return rc;
}

const char *phase_name(phase p)
{
	static const char *const name[PHASES] = { "describe", "plan",  "read",     "sort",
						  "sample",   "split", "exchange", "merge",
						  "write",    "sync",  "commit" };
	return (unsigned)p < PHASES ? name[p] : "unknown"; /* another rank may have said it */
}

static void job_free(job *j)
{
	mem_free(&j->m, j->by_destination);
	loaded_runs_free(&j->m, &j->data);
	mem_free(&j->m, j->seen_keys);
	mem_free(&j->m, j->part_summaries);
	history_free(j->history);
	scatter_plan_free(j);
	brackets_free(&j->m, &j->brackets);
	mem_free(&j->m, j->speed);
	mem_free(&j->m, j->rate);
	mem_free(&j->m, j->share_in);
	mem_free(&j->m, j->share_out);
	mem_free(&j->m, j->target);
	mem_free(&j->m, j->cut);
	mem_free(&j->m, j->recv);
	free(j->tmpdir);
	output_discard(&j->out);
	workdir_close(&j->work);
	io_backend_close(j->io);
	input_free(&j->in);
}

/* What this rank has to say for the report. */
static void fill_result(job *j)
{
	struct rusage u;
	rank_result *r = &j->mine;
	r->rank = j->c->rank;
	memcpy(r->host, j->c->host, sizeof r->host);
	r->pid = (int32_t)getpid();
	r->mem_peak_bytes = j->m.peak_bytes;
	if (getrusage(RUSAGE_SELF, &u) == 0)
		r->rss_peak_bytes = (uint64_t)u.ru_maxrss * 1024;
	io_backend_stats(j->io, false, &r->io[0]);
	io_backend_stats(j->io, true, &r->io[1]);
	r->status = j->e.code;
	r->phase = j->at;
	memcpy(r->text, j->e.text, sizeof r->text);
}

static bool ends(const char *text, size_t bytes)
{
	return memchr(text, '\0', bytes) != NULL;
}

/* Where a rank's words make no sense, that is all there is to tell of it. */
static void validate_result(rank_result *r, int rank)
{
	bool sound = r->rank == rank && (unsigned)r->phase < PHASES && ends(r->host, HOST_BYTES) &&
		     ends(r->io_text, IO_TEXT_BYTES) && ends(r->limit_text, LIMIT_TEXT_BYTES) &&
		     ends(r->text, ERR_TEXT_BYTES) && (unsigned)r->adapt_state <= ADAPT_CHANGED;
	for (int i = 0; i < 2; i++)
		sound = sound && (unsigned)r->io[i].method <= IO_THREADS;
	if (!sound)
		*r = (rank_result){ .rank = rank,
				    .host = "unknown",
				    .status = ST_PEER,
				    .text = "what it told of itself makes no sense" };
}

/* No rank that told of a failure has said which? Then that is the failure. */
static void explain(rank_result *all, int size, status rc)
{
	for (int i = 0; i < size; i++)
		if (all[i].status != ST_OK)
			return;
	if (rc == ST_OK)
		return;
	all->status = rc;
	snprintf(all->text, sizeof all->text, "a rank told of a failure, and of none that it has");
}

/* Rank 0 collects; what cannot be collected is left out, the status stands. */
static void collect(job *j, status rc, job_result *res)
{
	rank_result *all = NULL;
	fill_result(j);
	if (j->c->rank == 0)
		all = calloc((size_t)j->c->size, sizeof *all);
	const status there = comm_agree(j->c, j->c->rank || all ? ST_OK : ST_RESOURCE);
	if (there == ST_OK && comm_gather(j->c, &j->mine, all, sizeof *all, 0) == ST_OK) {
		if (all) {
			for (int i = 0; i < j->c->size; i++)
				validate_result(&all[i], i);
			explain(all, j->c->size, rc);
			*res = (job_result){ .status = rc,
					     .records = j->records,
					     .total_s = now_s() - j->begun_s,
					     .all_read_s = j->all_read_s,
					     .sum = j->sum,
					     .size = j->c->size,
					     .comm_kind = j->c->kind,
					     .rank = all };
			memcpy(res->note, j->note.text, sizeof res->note);
		}
		return;
	}
	free(all);
	if (j->c->rank == 0) {
		*res = (job_result){ .status = rc };
		memcpy(res->note, j->e.text, sizeof res->note); /* its own reason at least */
	}
}

/* The network is gone: nobody can be agreed with. Say what is known here. */
static status tell_without_ranks(job *j, status rc, job_result *res)
{
	if (rc == ST_OK)
		rc = ST_PEER;
	err_set(&j->e, rc, "the other ranks cannot be reached any more");
	fill_result(j);
	free(res->rank);
	*res = (job_result){ .status = rc, .size = 1, .comm_kind = j->c->kind };
	res->rank = malloc(sizeof *res->rank);
	if (res->rank)
		*res->rank = j->mine;
	return rc;
}

status job_run(comm *c, const settings *o, job_result *res)
{
	job j = { .c = c, .o = o, .begun_s = now_s(), .out = { .fd = -1 }, .to = IO_FD_NONE };
	FAIL_RANK(c->rank);
	status rc = take_steps(&j);
	if (!atomic_load(&c->broken))
		collect(&j, rc, res);
	if (atomic_load(&c->broken))
		rc = tell_without_ranks(&j, rc, res);
	job_free(&j);
	return rc;
}
