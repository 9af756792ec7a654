/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sort from beginning to end.
 *
 * A job is a list of steps, which all of its ranks take in the same order. A rank is a process
 * under mpirun, or a thread of this process with --ranks. It reads its share of the input, and
 * writes its share of the output, which is the records between two splitters. All ranks know all
 * splitters. Shares are proportional to the speeds of the ranks, so that all end together.
 *
 * Each step is a function of sort/phases/. It sets values of the job (see phases/job.h), and only
 * later steps read them. After each step all ranks agree on the worst status of any rank, and
 * either all take the next step, or none. So no rank waits in a collective call for a rank that has
 * given up. Only a rank that dies, or a network that fails, ends the agreement: then the comm is
 * broken, and each rank reports what it knows.
 *
 * Three kinds of jobs take different steps. Several ranks sort first, and merge the records that
 * they receive (--strategy=merge). Or they exchange first, and sort the records that they receive
 * (--strategy=distribute). A single rank writes its sorted records without an exchange, and so do
 * ranks that merge inputs that are sorted already (--merge).
 *
 * Until files get their final names, a failure leaves no output. With --workdir, sorted runs and a
 * complete output outlive a failure, so that a later job resumes with them. */
#include "base/clock.h"
#include "base/trace.h"
#include "io/target.h"
#include "phases/apply.h"
#include "phases/finish.h"
#include "phases/job_result.h"
#include "phases/memory_plan.h"
#include "phases/workdir.h"
#include "job.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>

/* The kinds of jobs that take a step. */
enum {
	MERGING = 1 << BY_MERGING,
	DISTRIBUTING = 1 << BY_DISTRIBUTING,
	SEVERAL = MERGING | DISTRIBUTING,
	SINGLE = 1 << 30, /* a single rank, or --merge */
	ALL = SEVERAL | SINGLE,
	KEEPING = MERGING | SINGLE /* may keep runs and outputs for later jobs */
};

/* When they take it. The answer is the same on all ranks. */

static bool has_workdir(const job *j)
{
	return j->work.on;
}

static bool to_file(const job *j)
{
	return !j->files.out.is_stdout;
}

/* An earlier job may have completed the output, and given it its name. */
static bool may_be_named(const job *j)
{
	return to_file(j) && has_workdir(j) && j->env.o->resume && !j->work.resuming &&
	       !j->env.o->force;
}

static bool may_be_complete(const job *j)
{
	return to_file(j) && j->work.resuming;
}

static bool is_new(const job *j)
{
	/* parts of records do not show whether the output is complete */
	return has_workdir(j) && to_file(j) && !j->part.found && !shape_cuts(&j->env.o->shape);
}

static bool adapts(const job *j)
{
	return job_adapts(j) && !j->work.resuming; /* runs that are not read show no speed */
}

static bool applies(const job *j)
{
	return j->env.o->apply && !j->apply.gathers && !j->env.o->explain;
}

static bool has_short_top(const job *j)
{
	return j->env.o->top && !j->env.o->unique && j->env.o->top <= j->shares.records / 2;
}

static bool cuts_inputs(const job *j)
{
	return j->env.o->merge && !j->apply.gathers && j->shares.records > 0 && j->env.c->size > 1;
}

static bool drops_rest(const job *j)
{
	return j->cuts.drops_rest;
}

static bool is_unique(const job *j)
{
	return j->env.o->unique;
}

static bool drops(const job *j)
{
	return settings_drops(j->env.o);
}

static bool rereads(const job *j)
{
	return j->env.o->verify == VERIFY_REREAD && to_file(j) && !j->part.found;
}

static bool learns(const job *j)
{
	return j->env.o->plan == PLAN_ONLINE && !j->files.in.is_stream && !j->work.resuming &&
	       !j->part.found;
}

typedef struct step {
	phase at;
	unsigned who;
	bool (*when)(const job *j); /* NULL: always */
	job_step *take;
	stage_kind moves; /* the stage, if the step moves all of the data */
} step;

static const step steps[] = {
	/* Agree on the settings, find the files, count the records. */
	{ PH_DESCRIBE, ALL, NULL, phase_describe, STAGE_NONE },
	/* Plan how much each rank reads, and how much it writes. */
	{ PH_PLAN, ALL, NULL, phase_plan, STAGE_NONE },
	/* Resume: take over the runs of an earlier job. */
	{ PH_PLAN, KEEPING, has_workdir, phase_resume, STAGE_NONE },
	/* Look for an output that is complete under its final name. */
	{ PH_PLAN, KEEPING, may_be_named, phase_find_output, STAGE_NONE },
	/* Decide whether to sort in memory or to spill to disk. */
	{ PH_PLAN, ALL, NULL, phase_budget, STAGE_NONE },
	/* Read which record is to be written where. */
	{ PH_PLAN, ALL, applies, phase_read_order, STAGE_NONE },
	/* Note for a later job which sort the runs will belong to. */
	{ PH_PLAN, KEEPING, has_workdir, phase_save_state, STAGE_NONE },
	/* Local sort: read records to memory or disk, in sorted runs. */
	{ PH_READ, ALL, NULL, phase_read, STAGE_READ },
	/* Look for an output of an earlier job that only lacks its final name. */
	{ PH_READ, KEEPING, may_be_complete, phase_find_output, STAGE_NONE },
	/* Adapt: let a rank that turned slow write less. */
	{ PH_PLAN, SEVERAL, adapts, phase_adapt, STAGE_NONE },
	/* Divide the records that are left after runs were folded. */
	{ PH_PLAN, ALL, is_unique, phase_plan_folded, STAGE_NONE },
	/* Assign the records beyond --top to the last rank. */
	{ PH_PLAN, MERGING, has_short_top, phase_plan_top, STAGE_NONE },
	/* Pivot sampling: estimate the splitters. */
	{ PH_SAMPLE, SEVERAL, NULL, phase_sample, STAGE_NONE },
	/* Partition: cut exactly at the planned shares, */
	{ PH_SPLIT, SEVERAL, NULL, phase_split, STAGE_SPLIT },
	/* or cut inputs that are sorted already. */
	{ PH_SPLIT, SINGLE, cuts_inputs, phase_split_inputs, STAGE_NONE },
	/* Drop the records beyond --top. */
	{ PH_SPLIT, MERGING, drops_rest, phase_drop_rest, STAGE_NONE },
	/* Move cuts so that equal keys go to one rank. */
	{ PH_SPLIT, SEVERAL, is_unique, phase_split_keys, STAGE_NONE },
	/* All-to-all exchange and merge: write records as they arrive, */
	{ PH_MERGE, MERGING, NULL, phase_merge, STAGE_WRITE },
	/* or all-to-all exchange, then sort, */
	{ PH_SORT, DISTRIBUTING, NULL, phase_distribute, STAGE_RECEIVE },
	/* or, without an exchange, write each piece at its place. */
	{ PH_MERGE, SINGLE, NULL, phase_single_rank, STAGE_WRITE },
	/* Close the gaps that dropped records leave between parts. */
	{ PH_WRITE, ALL, drops, phase_close_gaps, STAGE_NONE },
	/* Write the output to the disk. */
	{ PH_SYNC, ALL, NULL, phase_sync, STAGE_NONE },
	/* Read the output back from the disk. */
	{ PH_SYNC, ALL, rereads, phase_reread, STAGE_CHECK },
	/* Verify the output against the input. */
	{ PH_SYNC, ALL, NULL, phase_verify, STAGE_NONE },
	/* Note for a later job that only the final name is missing. */
	{ PH_SYNC, KEEPING, is_new, phase_save_output, STAGE_NONE },
	/* Give the files their final names. */
	{ PH_COMMIT, ALL, NULL, phase_commit, STAGE_NONE },
	/* Remove the runs. */
	{ PH_COMMIT, KEEPING, has_workdir, phase_drop_checkpoints, STAGE_NONE },
	/* Record the speed of the ranks for the next job. */
	{ PH_COMMIT, SEVERAL, learns, phase_update_wisdom, STAGE_NONE },
};

/* Begin the stage of a step that moves all of the data. */
static void stage_begin(job *j, stage_kind k)
{
	const settings *o = j->env.o;
	if (k == STAGE_RECEIVE && (o->partition_only || memory_plan_merges(j)))
		k = STAGE_WRITE;
	if (k == STAGE_NONE)
		return;
	/* the size of a stream is known only at its end */
	const bool known = k != STAGE_SPLIT && !(k == STAGE_READ && j->files.in.is_stream);
	const uint64_t *share = k == STAGE_READ ? j->shares.in : j->shares.out;
	assert(share); /* an earlier step has planned the shares */
	const uint64_t recs = own_share(&j->env, share);
	progress_begin(&j->env.c->progress, k, known ? recs * o->lay.record_bytes : 0,
		       job_moment(j));
}

/* Take a step and agree on its status. Measure the time that it took, and how long this rank waited
 * for others. */
static status take_step(job *j, const step *s)
{
	const double t0 = now_s(), before = job_waited_s(j), calls_s = j->env.c->collective_s;
	j->at = s->at;
	atomic_store(&j->env.c->phase, (int)s->at);
	stage_begin(j, s->moves);
	job_result_keep(j);
	trace_phase(trace_mine(), (int)s->at, t0);
	FAIL_PHASE(phase_name(s->at));
	status rc = s->take(j);
	if (rc == ST_OK && j->next.in)
		share_plan_replace(&j->shares, &j->next);
	share_plan_drop(&j->next);
	j->next = (share_plan){ 0 };
	/* Stop if SIGUSR1 asks for it. Do not stop while files are being renamed, nor after merging
	 * has begun: the merged output would be lost to save very little work. */
	const atomic_bool *stop = j->env.o->stop;
	if (rc == ST_OK && stop && atomic_load(stop) && s->at != PH_COMMIT &&
	    !(j->work.on && s->at >= PH_MERGE))
		rc = err_set(&j->env.e, (status)(ST_SIGNAL + SIGUSR1), "stopped by SIGUSR1%s",
			     j->work.on ? "; --resume continues from here" : "");
	const double t1 = now_s(), waited = job_waited_s(j) - before;
	const double in_calls_s = j->env.c->collective_s - calls_s;
	rank_progress *g = &j->env.c->progress;
	if (!g->stage[g->at].ended) /* moment_now costs a system call */
		progress_end(g, job_moment(j));
	result_phase_end(&j->mine, s->at, t1 - t0 - in_calls_s);
	trace_phase(trace_mine(), -1, t1);
	const double span = trace_begin();
	rc = comm_agree(j->env.c, rc);
	trace_end(TRACE_WAIT, span);
	const double t2 = now_s();
	j->mine.wait_s += in_calls_s + t2 - t1;
	result_span(&j->mine, &(phase_span){ (int32_t)s->at, t0 - j->begun_s, t2 - j->begun_s,
					     waited + t2 - t1 });
	if (s->at == PH_READ && rc == ST_OK)
		j->all_read_s = now_s() - j->begun_s, j->read_cpu_s = process_cpu_s();
	return rc;
}

static void job_free(job *j)
{
	mem *m = &j->env.m;
	apply_close(j); /* it may still use the records */
	sorted_share_free(m, &j->data);
	mem_free(m, j->cuts.cut);
	mem_free(m, j->cuts.target);
	mem_free(m, j->memory.lanes_used);
	splitter_search_close(&j->cuts.search);
	mem_free(m, j->part.keys);
	verified_free(m, &j->verified);
	wisdom_free(j->wisdom);
	scatter_plan_free(&j->env, &j->scatter);
	rank_speeds_free(&j->env, &j->speeds_of);
	share_plan_free(&j->shares);
	free(j->memory.tmpdir);
	output_discard(&j->files.out);
	workdir_close(j);
	for (int i = 0; i < FRAME_PIECES; i++)
		mem_free(m, j->files.frame[i].bytes);
	input_free(&j->files.in);
	numa_close(j->cpus.numa);
}

status job_execute(comm *c, const settings *o, job_result *res)
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
		const step *s = &steps[i];
		if (o->explain && s->at > PH_PLAN)
			break; /* read no data */
		/* describe may have changed the options */
		const unsigned who =
			c->size == 1 || j.env.o->merge ? (unsigned)SINGLE : 1U << o->strategy;
		/* if an earlier job has completed the output, only its final name is missing */
		if ((s->who & who) && !(j.part.found && s->at < PH_SYNC) &&
		    (!s->when || s->when(&j)))
			rc = take_step(&j, s);
	}
	if (!atomic_load(&c->broken))
		job_result_collect(&j, rc, res);
	if (!atomic_load(&c->broken)) {
		/* up to this agreement, the other ranks remove the files of a rank that dies */
		output_release(&j.files.out);
		if (j.work.on)
			target_release(&j.work.file);
		(void)comm_agree(c, ST_OK);
	}
	if (atomic_load(&c->broken)) {
		rc = job_result_own(&j, rc, res);
		unfinished_give_up(); /* remove unfinished files while their names are known */
	}
	if (c->rank == 0)
		job_result_keep(NULL);
	job_free(&j);
	progress_join(NULL);
	return rc;
}
