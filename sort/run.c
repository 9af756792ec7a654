/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sort, top to bottom. All ranks take the same steps. After each step they agree on its status,
 * and leave together if it failed on any rank. */
#include "base/clock.h"
#include "base/sysfile.h"
#include "base/trace.h"
#include "io/unfinished.h"
#include "phases/job.h"
#include "run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The ranks that take a step: several ranks, by their strategy, or a single one. Ranks that merge
 * sorted inputs take the steps of a single one. */
enum {
	MERGING = 1 << BY_MERGING,
	DISTRIBUTING = 1 << BY_DISTRIBUTING,
	SEVERAL = MERGING | DISTRIBUTING,
	SINGLE = 1 << 30,
	DROPPING = 1 << 29, /* only if records are dropped */
	TOPPED = 1 << 28    /* only with --top */
};

typedef struct step {
	phase at;
	unsigned who;
	job_step *run;
	stage_kind moves; /* the stage, if the step moves all of the data */
} step;

static const step steps[] = {
	/* Agree on the settings, find the files, count the records. */
	{ PH_DESCRIBE, SEVERAL | SINGLE, phase_describe, STAGE_NONE },
	/* Plan how much each rank reads, and how much it writes. */
	{ PH_PLAN, SEVERAL | SINGLE, phase_plan, STAGE_NONE },
	/* Resume: take over the runs of an earlier program. */
	{ PH_PLAN, MERGING | SINGLE, phase_resume, STAGE_NONE },
	/* Look for an output that is complete under its final name. */
	{ PH_PLAN, MERGING | SINGLE, phase_find_output, STAGE_NONE },
	/* Decide whether to sort in memory or to spill to disk. */
	{ PH_PLAN, SEVERAL | SINGLE, phase_budget, STAGE_NONE },
	/* Note for a later program which sort the runs will belong to. */
	{ PH_PLAN, MERGING | SINGLE, phase_save_state, STAGE_NONE },
	/* Local sort: read records to memory or disk, in sorted runs. */
	{ PH_READ, SEVERAL | SINGLE, phase_read, STAGE_READ },
	/* Look for an output of an earlier program that only lacks its final name. */
	{ PH_READ, MERGING | SINGLE, phase_load_output, STAGE_NONE },
	/* Adapt: let a rank that turned slow write less. */
	{ PH_PLAN, SEVERAL, phase_adapt, STAGE_NONE },
	/* Assign the records beyond --top to the last rank. */
	{ PH_PLAN, MERGING | TOPPED, phase_plan_top, STAGE_NONE },
	/* Pivot sampling: estimate the splitters. */
	{ PH_SAMPLE, SEVERAL, phase_sample, STAGE_NONE },
	/* Partition: cut exactly at the planned shares, */
	{ PH_SPLIT, SEVERAL, phase_split, STAGE_SPLIT },
	/* or cut inputs that are sorted already. */
	{ PH_SPLIT, SINGLE, phase_split_inputs, STAGE_NONE },
	/* Drop the records beyond --top. */
	{ PH_SPLIT, MERGING | TOPPED, phase_drop_rest, STAGE_NONE },
	/* Move cuts so that equal keys go to one rank. */
	{ PH_SPLIT, SEVERAL | DROPPING, phase_split_keys, STAGE_NONE },
	/* All-to-all exchange between groups first, if there are very many ranks. */
	{ PH_EXCHANGE, MERGING, phase_regroup, STAGE_NONE },
	/* All-to-all exchange and merge: write records as they arrive, */
	{ PH_MERGE, MERGING, phase_merge, STAGE_WRITE },
	/* or all-to-all exchange, then sort, */
	{ PH_SORT, DISTRIBUTING, phase_distribute, STAGE_RECEIVE },
	/* or, without an exchange, write each piece at its place. */
	{ PH_MERGE, SINGLE, phase_single_rank, STAGE_WRITE },
	/* Close the gaps that dropped records leave between parts. */
	{ PH_WRITE, SEVERAL | SINGLE | DROPPING, phase_close_gaps, STAGE_NONE },
	/* Write the output to the disk. */
	{ PH_SYNC, SEVERAL | SINGLE, phase_sync, STAGE_NONE },
	/* Read the output back from the disk. */
	{ PH_SYNC, SEVERAL | SINGLE, phase_reread, STAGE_CHECK },
	/* Verify the output against the input. */
	{ PH_SYNC, SEVERAL | SINGLE, phase_verify, STAGE_NONE },
	/* Note for a later program that only the final name is missing. */
	{ PH_SYNC, MERGING | SINGLE, phase_save_output, STAGE_NONE },
	/* Give the files their final names. */
	{ PH_COMMIT, SEVERAL | SINGLE, phase_commit, STAGE_NONE },
	/* Remove the runs. */
	{ PH_COMMIT, MERGING | SINGLE, phase_drop_checkpoints, STAGE_NONE },
	/* Record the speed of the ranks for the next run. */
	{ PH_COMMIT, SEVERAL, phase_update_wisdom, STAGE_NONE },
};

/* Do not stop while files are being renamed, nor after merging has begun: the merged output would
 * be lost to save very little work. */
static status stop_if_asked(job *j, const step *s)
{
	const settings *o = j->env.o;
	if (!o->stop || !atomic_load(o->stop) || s->at == PH_COMMIT ||
	    (j->work.on && s->at >= PH_MERGE))
		return ST_OK;
	return err_set(&j->env.e, (status)(ST_SIGNAL + SIGUSR1), "stopped by SIGUSR1%s",
		       j->work.on ? "; --resume goes on from here" : "");
}

/* Begin the stage of a step that moves all of the data. */
static void stage_begin(job *j, stage_kind k)
{
	const settings *o = j->env.o;
	if (k == STAGE_RECEIVE && (o->partition_only || budget_merges(j)))
		k = STAGE_WRITE;
	if (k == STAGE_NONE || (k == STAGE_CHECK && o->verify != VERIFY_REREAD))
		return;
	/* the size of a stream is known only at its end */
	const bool known = k != STAGE_SPLIT && !(k == STAGE_READ && j->files.in.is_stream);
	const uint64_t recs = own_share(&j->env, k == STAGE_READ ? j->shares.in : j->shares.out);
	progress_begin(&j->env.c->progress, k, known ? recs * o->lay.record_bytes : 0,
		       moment_now());
}

/* Return the seconds that this rank has waited so far: for blocks of other ranks, and in
 * collectives. */
static double waited_s(const job *j)
{
	return j->mine.phase_s[PH_EXCHANGE] + j->env.c->collective_s;
}

static status take_step(job *j, const step *s)
{
	const double t0 = now_s(), before = waited_s(j);
	j->at = s->at;
	atomic_store(&j->env.c->phase, (int)s->at);
	stage_begin(j, s->moves);
	trace_phase(trace_mine(), (int)s->at, t0);
	FAIL_PHASE(phase_name(s->at));
	status rc = s->run(j);
	if (rc == ST_OK && j->next.in)
		share_plan_replace(&j->shares, &j->next);
	share_plan_drop(&j->next);
	j->next = (share_plan){ 0 };
	if (rc == ST_OK)
		rc = stop_if_asked(j, s);
	const double t1 = now_s(), waited = waited_s(j) - before;
	rank_progress *g = &j->env.c->progress;
	if (!g->stage[g->at].ended) /* reading the processor time takes a call of the system */
		progress_end(g, moment_now());
	result_phase_end(&j->mine, s->at, t1 - t0);
	trace_phase(trace_mine(), -1, t1);
	const double span = trace_begin();
	rc = comm_agree(j->env.c, rc);
	trace_end(TRACE_WAIT, span);
	const double t2 = now_s();
	j->mine.wait_s += t2 - t1;
	result_span(&j->mine, &(phase_span){ (int32_t)s->at, t0 - j->begun_s, t2 - j->begun_s,
					     waited + t2 - t1 });
	if (s->at == PH_READ && rc == ST_OK)
		j->all_read_s = now_s() - j->begun_s;
	/* Bytes of the input buffer in huge pages. Reading smaps_rollup walks the page table, so
	 * skip small buffers, and a mapped file, which has none. */
	uint64_t kb = 0;
	if (s->moves == STAGE_READ && j->env.m.now_bytes >= 32 << 20 && !j->data.mapped)
		sysfile_number("", "/proc/self/smaps_rollup", "AnonHugePages", &kb);
	if (s->moves == STAGE_READ)
		j->mine.huge_bytes = kb * 1024;
	return rc;
}

/* Return whether this rank takes the step. If an output of an earlier program was found, only names
 * are missing. */
static bool is_due(const job *j, const step *s)
{
	const settings *o = j->env.o;
	const unsigned who = j->env.c->size == 1 || o->merge ? (unsigned)SINGLE : 1U << o->strategy;
	return (s->who & who) && !(j->part.found && s->at < PH_SYNC) &&
	       (!(s->who & DROPPING) || settings_drops(o)) && (!(s->who & TOPPED) || o->top);
}

static void job_free(job *j)
{
	mem *m = &j->env.m;
	read_runs_free(m, &j->data);
	mem_free(m, j->cuts.cut);
	peer_flow_free(&j->cuts.flow, m);
	splitter_search_close(&j->cuts.search);
	mem_free(m, j->part.keys);
	verified_free(m, &j->verified);
	wisdom_free(j->wisdom);
	scatter_plan_free(&j->env, &j->scatter);
	share_plan_free(&j->shares);
	free(j->memory.tmpdir);
	output_discard(&j->files.out);
	workdir_close(j);
	for (int i = 0; i < FRAME_PIECES; i++)
		mem_free(m, j->files.frame[i].bytes);
	io_backend_close(j->files.io);
	input_free(&j->files.in);
	numa_close(j->cpus.numa);
}

/* Fill in the report of this rank. */
static void fill_result(job *j)
{
	struct rusage u;
	rank_result *r = &j->mine;
	const settings *o = j->env.o;
	r->rank = j->env.c->rank;
	memcpy(r->host, j->env.c->host, sizeof r->host);
	r->pid = (int32_t)getpid();
	r->mem_peak_bytes = j->env.m.peak_bytes;
	r->threads = (int32_t)j->cpus.threads;
	r->cpus = fmin(j->cpus.processors, r->threads);
	r->used.joules = -1; /* not read */
	const bool reported = settings_reports(o);
	if (reported) {
		r->used = usage_since(&j->begun, "");
		sysfile_text("", "/proc/thread-self/status", "Cpus_allowed_list", r->processors,
			     sizeof r->processors);
		sysfile_text("", "/proc/cpuinfo", "model name", r->cpu_model, sizeof r->cpu_model);
	}
	if (getrusage(RUSAGE_THREAD, &u) == 0)
		r->rss_peak_bytes = (uint64_t)u.ru_maxrss * 1024;
	r->out = j->part.seen.records;
	r->sum_out = j->part.seen.sum;
	r->dropped = j->part.dropped.records;
	r->sum_dropped = j->part.dropped.sum;
	r->written_bytes = j->part.found ? 0 : r->out * j->env.o->lay.record_bytes;
	r->activity = progress_activity(&j->env.c->progress);
	io_backend_why(j->files.io, reported, r->io_text);
	io_backend_stats(j->files.io, false, &r->io[0]);
	io_backend_stats(j->files.io, true, &r->io[1]);
	r->stages = progress_times(&j->env.c->progress);
	r->status = j->env.e.code;
	r->phase = j->at;
	memcpy(r->text, j->env.e.text, sizeof r->text);
}

static bool ends(const char *text, size_t bytes)
{
	return memchr(text, '\0', bytes) != NULL;
}

/* Replace an invalid result by one that says so. */
static void validate_result(rank_result *r, int rank)
{
	bool sound = r->rank == rank && (unsigned)r->phase < PHASES && ends(r->host, HOST_BYTES) &&
		     ends(r->io_text, IO_TEXT_BYTES) && ends(r->limit_text, LIMIT_TEXT_BYTES) &&
		     ends(r->left_out, LEFT_OUT_TEXT_BYTES) &&
		     ends(r->bound_by, BOUND_TEXT_BYTES) && ends(r->text, ERR_TEXT_BYTES) &&
		     ends(r->processors, PROCESSORS_BYTES) && ends(r->cpu_model, CPU_MODEL_BYTES) &&
		     ends(r->numa_nodes, NUMA_TEXT_BYTES) && (unsigned)r->binding < NUMA_BINDINGS &&
		     (uint32_t)r->spans <= SPANS && (unsigned)r->adapt_state <= ADAPT_CHANGED &&
		     (unsigned)r->exchange < EXCHANGE_WAYS && isfinite(r->cpus) &&
		     isfinite(r->used.user_s) && isfinite(r->used.system_s) &&
		     isfinite(r->used.fault_s) && isfinite(r->used.joules);
	for (int i = 0; sound && i < r->spans; i++)
		sound = (unsigned)r->span[i].phase < PHASES && isfinite(r->span[i].end_s) &&
			isfinite(r->span[i].wait_s);
	for (int k = 0; k < STAGES; k++)
		sound = sound && isfinite(r->stages.planned_s[k]) && isfinite(r->stages.taken_s[k]);
	for (int i = 0; i < 2; i++)
		sound = sound && (unsigned)r->io[i].method <= IO_THREADS;
	if (!sound)
		*r = (rank_result){ .rank = rank,
				    .host = "unknown",
				    .status = ST_PEER,
				    .text = "sent an invalid result" };
}

static job_result result_of(const job *j, status rc)
{
	const comm *c = j->env.c;
	return (job_result){ .status = rc,
			     .size = c->size,
			     .job_ranks = c->size,
			     .processes = c->processes,
			     .comm_kind = c->kind,
			     .late_refused = j->files.late_refused };
}

/* Collect the results at rank 0. Results that cannot be collected are left out; the status does not
 * change. */
static void collect(job *j, status rc, job_result *res)
{
	comm *c = j->env.c;
	const int size = c->size;
	rank_result *all = NULL;
	fill_result(j);
	if (c->rank == 0)
		all = calloc((size_t)size, sizeof *all);
	status got = comm_agree(c, c->rank || all ? ST_OK : ST_RESOURCE);
	if (got == ST_OK)
		got = comm_gather(c, &j->mine, all, sizeof *all, 0);
	if (c->rank != 0)
		return;
	if (got != ST_OK) {
		free(all);
		*res = (job_result){ .status = rc, .late_refused = j->files.late_refused };
		memcpy(res->note, j->env.e.text, sizeof res->note); /* rank 0's reason at least */
		return;
	}
	if (c->for_all)
		rc = plan_for_all(j, all, rc);
	bool explained = rc == ST_OK;
	double total_s = now_s() - j->begun_s;
	for (int i = 0; i < size; i++) {
		const rank_result *r = &all[i];
		validate_result(&all[i], i);
		explained = explained || r->status != ST_OK;
		/* a rank that began before rank 0 may end later by its own clock */
		if (r->spans > 0)
			total_s = fmax(total_s, r->span[r->spans - 1].end_s);
	}
	if (!explained) {
		all->status = rc;
		snprintf(all->text, sizeof all->text,
			 "a rank reported a failure but gave no reason");
	}
	*res = result_of(j, rc);
	res->records = j->shares.records;
	res->rates_measured = j->shares.measured;
	res->out = j->verified.out;
	res->total_s = total_s;
	res->all_read_s = j->all_read_s;
	res->sum = j->verified.sum;
	res->sum_out = j->verified.sum_out;
	res->rank = all;
	memcpy(res->note, j->env.note.text, sizeof res->note);
}

/* Report what this rank knows, because the ranks can no longer agree. */
static status report_own_failure(job *j, status rc, job_result *res)
{
	char why[COMM_FAILURE_BYTES];
	if (rc == ST_OK)
		rc = ST_PEER;
	err_set(&j->env.e, rc, "%s", comm_failure(j->env.c, why));
	fill_result(j);
	free(res->rank);
	*res = result_of(j, rc);
	res->size = 1;
	if ((res->rank = malloc(sizeof *res->rank)) != NULL)
		*res->rank = j->mine;
	return rc;
}

status job_run(comm *c, const settings *o, job_result *res)
{
	job j = { .env = { .c = c, .o = o, .stats = &j.mine },
		  .begun_s = now_s(),
		  .files.out.fd = -1 };
	if (settings_reports(o))
		j.begun = usage_now("");
	FAIL_RANK(c->rank);
	progress_join(&c->progress);
	progress_record(&c->progress, j.begun_s);
	status rc = ST_OK;
	for (size_t i = 0; i < sizeof steps / sizeof *steps && rc == ST_OK; i++) {
		if (o->explain && steps[i].at > PH_PLAN)
			break; /* read no data */
		if (is_due(&j, &steps[i]))
			rc = take_step(&j, &steps[i]);
	}
	if (!atomic_load(&c->broken))
		collect(&j, rc, res);
	if (!atomic_load(&c->broken)) {
		/* until the agreement, the other ranks remove the files of a rank that dies */
		output_release(&j.files.out);
		if (j.work.on)
			target_release(&j.work.file);
		(void)comm_agree(c, ST_OK);
	}
	if (atomic_load(&c->broken)) {
		rc = report_own_failure(&j, rc, res);
		unfinished_give_up(); /* while this rank still knows the names */
	}
	job_free(&j);
	progress_join(NULL);
	return rc;
}
