/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sort, top to bottom. Each rank takes the same steps; at the border of a phase all ranks agree
 * on how it went, and leave together if it went wrong anywhere. */
#include "base/clock.h"
#include "base/sysfile.h"
#include "base/trace.h"
#include "io/unfinished.h"
#include "phases/budget_phase.h"
#include "phases/frame.h"
#include "phases/phases.h"
#include "run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* One sort on one rank: a value for each thing that a phase makes for those after it. Only the
 * steps below see all of them; each shows which ones its phase reads, and which it makes. */
typedef struct job {
	rank_env env;
	rank_result mine;
	phase at;
	double begun_s, all_read_s; /* by the clock; since then, when all ranks had read */
	files files;
	cpu_share cpus;
	workdir work;
	wisdom *wisdom; /* rank 0, with --plan=online */
	share_plan shares;
	scatter_plan scatter;
	memory_plan memory;
	read_runs data;
	speed_history speeds; /* of reading and sorting, with --adapt */
	cuts cuts;
	output_part part;
	verified verified;
} job;

static settled settled_of(const job *j)
{
	return (settled){ .f = &j->files,
			  .cpus = &j->cpus,
			  .w = &j->work,
			  .s = &j->shares,
			  .sp = &j->scatter,
			  .mp = &j->memory };
}

/* A phase has planned anew: its plan takes the place of the old one. */
static status replan(job *j, share_plan *next, status rc)
{
	if (rc == ST_OK && next->in)
		share_plan_replace(&j->shares, next);
	share_plan_drop(next);
	return rc;
}

/* Agree on the settings, find the files, count the records. */
static status describe(job *j)
{
	return phase_describe(&j->env, &j->files, &j->cpus, &j->work, &j->shares, &j->scatter);
}

/* How much each rank reads, and how much it writes. */
static status plan(job *j)
{
	return phase_plan(&j->env, &j->files, &j->cpus, &j->shares, &j->scatter, &j->wisdom);
}

/* Go on with the runs of an earlier program. */
static status resume(job *j)
{
	share_plan next = { 0 };
	return replan(j, &next, phase_resume(&j->env, &j->files.in, &j->work, &j->shares, &next));
}

/* In memory, or spilled to disk. */
static status plan_memory(job *j)
{
	const settled k = settled_of(j);
	return phase_budget(&j->env, &k, &j->memory);
}

/* For a later program: what the runs to come belong to. */
static status save_state(job *j)
{
	const settled k = settled_of(j);
	return phase_save_state(&j->env, &k, &j->work);
}

/* Records to memory or disk, in sorted runs. */
static status read_input(job *j)
{
	const settled k = settled_of(j);
	share_plan next = { 0 };
	memory_plan mp = j->memory;
	const status rc = phase_read(&j->env, &k, &j->data, &j->speeds, &next, &mp);
	j->memory = mp;
	return replan(j, &next, rc);
}

/* Is the output there, but for its name? */
static status load_output(job *j)
{
	share_plan next = { 0 };
	const status rc =
		phase_load_output(&j->env, &j->files, &j->work, &j->shares, &next, &j->part);
	if (j->part.found)
		progress_plan(&j->env.c->progress, STAGE_WRITE, (stage_plan){ 0 });
	return replan(j, &next, rc);
}

/* Did an earlier program end well, and nobody saw it? */
static status find_output(job *j)
{
	share_plan next = { 0 };
	return replan(j, &next,
		      phase_find_output(&j->env, &j->files, &j->work, &j->shares, &next, &j->part));
}

/* A rank that turned slow is to write less. */
static status adapt(job *j)
{
	const settled k = settled_of(j);
	share_plan next = { 0 };
	return replan(j, &next, phase_adapt(&j->env, &k, &j->data, &j->speeds, &next));
}

/* What --top leaves out is nobody's. */
static status plan_top(job *j)
{
	const settled k = settled_of(j);
	share_plan next = { 0 };
	return replan(j, &next, phase_plan_top(&j->env, &k, &j->data, &j->cuts, &next));
}

static status drop_rest(job *j)
{
	const settled k = settled_of(j);
	share_plan next = { 0 };
	return replan(j, &next, phase_drop_rest(&j->env, &k, &j->cuts, &next));
}

/* Estimate the splitters. */
static status sample(job *j)
{
	return phase_sample(&j->env, &j->shares, &j->data, budget_merges(&j->env, &j->memory),
			    &j->cuts);
}

/* Cut exactly at the planned shares. */
static status split(job *j)
{
	return phase_split(&j->env, &j->data, &j->cuts);
}

/* Each rank's records of inputs that are sorted already. */
static status split_inputs(job *j)
{
	const settled k = settled_of(j);
	share_plan next = { 0 };
	return replan(j, &next, phase_split_inputs(&j->env, &k, &j->data, &next));
}

/* Equal keys to one rank. */
static status split_keys(job *j)
{
	const settled k = settled_of(j);
	share_plan next = { 0 };
	return replan(j, &next, phase_split_keys(&j->env, &k, &j->cuts, &next));
}

static exchange_setup setup_of(job *j, const settled *k)
{
	return (exchange_setup){ .env = &j->env,
				 .k = k,
				 .cuts = &j->cuts,
				 .f = &j->files,
				 .w = &j->part,
				 .to = IO_FD_NONE };
}

/* Among very many ranks records go to their group first. */
static status regroup(job *j)
{
	const settled k = settled_of(j);
	return phase_regroup(&j->env, &k, &j->data, &j->cuts);
}

/* Records to their rank, merged and written as they come. */
static status merge(job *j)
{
	const settled k = settled_of(j);
	exchange_setup t = setup_of(j, &k);
	return read_runs_check(&j->data, phase_merge(&t), &j->env.e);
}

/* Records to their rank; the last step is a sort. */
static status distribute(job *j)
{
	const settled k = settled_of(j);
	exchange_setup t = setup_of(j, &k);
	return read_runs_check(&j->data, phase_distribute(&t, &j->data, &j->cuts), &j->env.e);
}

/* The only rank, or one that reads what it writes: each piece to its place. */
static status merge_single_rank(job *j)
{
	const settled k = settled_of(j);
	return phase_single_rank(&j->env, &k, &j->files, &j->data, &j->part);
}

/* Parts lie beside each other again. */
static status close_gaps(job *j)
{
	share_plan next = { 0 };
	return replan(j, &next, phase_close_gaps(&j->env, &j->files, &j->shares, &next, &j->part));
}

/* To the disk. */
static status sync_output(job *j)
{
	return phase_sync(&j->env, &j->files, &j->part);
}

/* And from there. */
static status reread(job *j)
{
	return phase_reread(&j->env, &j->files, &j->part);
}

/* What went in came out. */
static status verify(job *j)
{
	return phase_verify(&j->env, &j->files.in, j->shares.records, &j->part, &j->verified);
}

/* For a later program: that only the name is missing. */
static status save_output(job *j)
{
	return phase_save_output(&j->env, &j->files, &j->work, &j->part);
}

/* Final names. */
static status commit(job *j)
{
	return phase_commit(&j->env, &j->files, &j->verified);
}

/* Runs are done with. */
static status drop_checkpoints(job *j)
{
	return phase_drop_checkpoints(&j->env, &j->work);
}

/* What was not read takes no time, so it teaches nothing. */
static status update_wisdom(job *j)
{
	return phase_update_wisdom(
		&j->env, !j->files.in.is_stream && !j->work.resuming && !j->part.found, j->wisdom);
}

/* Who takes a step: several ranks, by their strategy, or a single one, and those that merge sorted
 * inputs, which do as if alone. */
enum {
	MERGING = 1 << BY_MERGING,
	DISTRIBUTING = 1 << BY_DISTRIBUTING,
	SEVERAL = MERGING | DISTRIBUTING,
	SINGLE = 1 << 30,
	DROPPING = 1 << 29, /* none of them but where records are dropped, */
	TOPPED = 1 << 28    /* by --top */
};

typedef struct step {
	phase at;
	unsigned who;
	bool naming; /* final names may be there */
	status (*run)(job *j);
	stage_kind moves; /* what moves all of the data */
} step;

static const step steps[] = {
	{ PH_DESCRIBE, SEVERAL | SINGLE, false, describe, STAGE_NONE },
	{ PH_PLAN, SEVERAL | SINGLE, false, plan, STAGE_NONE },
	{ PH_PLAN, MERGING | SINGLE, false, resume, STAGE_NONE },
	{ PH_PLAN, MERGING | SINGLE, false, find_output, STAGE_NONE },
	{ PH_PLAN, SEVERAL | SINGLE, false, plan_memory, STAGE_NONE },
	{ PH_PLAN, MERGING | SINGLE, false, save_state, STAGE_NONE },
	{ PH_READ, SEVERAL | SINGLE, false, read_input, STAGE_READ },
	{ PH_READ, MERGING | SINGLE, false, load_output, STAGE_NONE },
	{ PH_PLAN, SEVERAL, false, adapt, STAGE_NONE },
	{ PH_PLAN, MERGING | TOPPED, false, plan_top, STAGE_NONE },
	{ PH_SAMPLE, SEVERAL, false, sample, STAGE_NONE },
	{ PH_SPLIT, SEVERAL, false, split, STAGE_SPLIT },
	{ PH_SPLIT, SINGLE, false, split_inputs, STAGE_NONE },
	{ PH_SPLIT, MERGING | TOPPED, false, drop_rest, STAGE_NONE },
	{ PH_SPLIT, SEVERAL | DROPPING, false, split_keys, STAGE_NONE },
	{ PH_EXCHANGE, MERGING, false, regroup, STAGE_NONE },
	{ PH_MERGE, MERGING, false, merge, STAGE_WRITE },
	{ PH_SORT, DISTRIBUTING, false, distribute, STAGE_RECEIVE },
	{ PH_MERGE, SINGLE, false, merge_single_rank, STAGE_WRITE },
	{ PH_WRITE, SEVERAL | SINGLE | DROPPING, false, close_gaps, STAGE_NONE },
	{ PH_SYNC, SEVERAL | SINGLE, false, sync_output, STAGE_NONE },
	{ PH_SYNC, SEVERAL | SINGLE, false, reread, STAGE_CHECK },
	{ PH_SYNC, SEVERAL | SINGLE, false, verify, STAGE_NONE },
	{ PH_SYNC, MERGING | SINGLE, false, save_output, STAGE_NONE },
	{ PH_COMMIT, SEVERAL | SINGLE, true, commit, STAGE_NONE },
	{ PH_COMMIT, MERGING | SINGLE, true, drop_checkpoints, STAGE_NONE },
	{ PH_COMMIT, SEVERAL, true, update_wisdom, STAGE_NONE },
};

/* Not where final names may be, nor where what was merged would be lost for the little that is left
 * to do. */
static status stop_if_asked(job *j, const step *s)
{
	const settings *o = j->env.o;
	if (!o->stop || !atomic_load(o->stop) || s->naming || (j->work.on && s->at >= PH_MERGE))
		return ST_OK;
	return err_set(&j->env.e, (status)(ST_SIGNAL + SIGUSR1), "stopped by SIGUSR1%s",
		       j->work.on ? "; --resume goes on from here" : "");
}

/* What a step moves in this job. */
static stage_kind stage_of(const job *j, const step *s)
{
	if (s->moves == STAGE_RECEIVE &&
	    (j->env.o->partition_only || budget_merges(&j->env, &j->memory)))
		return STAGE_WRITE;
	if (s->moves == STAGE_CHECK && j->env.o->verify != VERIFY_REREAD)
		return STAGE_NONE;
	return s->moves;
}

static void stage_begin(job *j, stage_kind k, moment now)
{
	const share_plan *s = &j->shares;
	const uint64_t bytes = j->env.o->lay.record_bytes;
	rank_progress *g = &j->env.c->progress;
	if (k == STAGE_READ) /* how long a stream is shows at its end */
		progress_begin(g, k, j->files.in.is_stream ? 0 : own_share(&j->env, s->in) * bytes,
			       now);
	else if (k == STAGE_SPLIT)
		progress_begin(g, k, 0, now);
	else if (k != STAGE_NONE)
		progress_begin(g, k, own_share(&j->env, s->out) * bytes, now);
}

/* Return the bytes of the input buffer in huge pages. Reading smaps_rollup walks the page table, so
 * skip small buffers, and a mapped file, which has none. */
static uint64_t huge_bytes(const job *j)
{
	uint64_t kb = 0;
	if (j->env.m.now_bytes >= 32 << 20 && !j->data.mapped)
		sysfile_number("", "/proc/self/smaps_rollup", "AnonHugePages", &kb);
	return kb * 1024;
}

/* Seconds that this rank has waited so far, for blocks of other ranks and in collectives. */
static double waited_s(const job *j)
{
	return j->mine.phase_s[PH_EXCHANGE] + j->env.c->collective_s;
}

static status take_step(job *j, const step *s)
{
	const double t0 = now_s(), before = waited_s(j);
	j->at = s->at;
	atomic_store(&j->env.c->phase, (int)s->at);
	stage_begin(j, stage_of(j, s), moment_now());
	trace_phase(trace_mine(), (int)s->at, t0);
	FAIL_PHASE(phase_name(s->at));
	status rc = s->run(j);
	if (rc == ST_OK)
		rc = stop_if_asked(j, s);
	const double t1 = now_s(), waited = waited_s(j) - before;
	progress_end(&j->env.c->progress, moment_now());
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
	if (s->moves == STAGE_READ)
		j->mine.huge_bytes = huge_bytes(j);
	return rc;
}

/* With an output of an earlier program only names are left to give. */
static bool is_due(const job *j, const step *s)
{
	const settings *o = j->env.o;
	const unsigned who = j->env.c->size == 1 || o->merge ? (unsigned)SINGLE : 1U << o->strategy;
	return (s->who & who) && !(j->part.found && s->at < PH_SYNC) &&
	       (!(s->who & DROPPING) || settings_drops(o)) && (!(s->who & TOPPED) || o->top);
}

static status take_steps(job *j)
{
	status rc = ST_OK;
	for (size_t i = 0; i < sizeof steps / sizeof *steps && rc == ST_OK; i++) {
		if (j->env.o->explain && steps[i].at > PH_PLAN)
			break; /* no data is touched */
		if (is_due(j, &steps[i]))
			rc = take_step(j, &steps[i]);
	}
	return rc;
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
	workdir_close(&j->env, &j->work);
	frame_free(&j->env, &j->files);
	io_backend_close(j->files.io);
	input_free(&j->files.in);
	numa_close(j->cpus.numa);
}

/* Fill what this rank reports. */
static void fill_result(job *j)
{
	struct rusage u;
	rank_result *r = &j->mine;
	r->rank = j->env.c->rank;
	memcpy(r->host, j->env.c->host, sizeof r->host);
	r->pid = (int32_t)getpid();
	r->mem_peak_bytes = j->env.m.peak_bytes;
	r->threads = (int32_t)j->cpus.threads;
	sysfile_text("", "/proc/thread-self/status", "Cpus_allowed_list", r->processors,
		     sizeof r->processors);
	sysfile_text("", "/proc/cpuinfo", "model name", r->cpu_model, sizeof r->cpu_model);
	if (getrusage(RUSAGE_THREAD, &u) == 0)
		r->rss_peak_bytes = (uint64_t)u.ru_maxrss * 1024;
	r->activity = progress_activity(&j->env.c->progress);
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

/* A result that makes no sense is replaced by one that says so. */
static void validate_result(rank_result *r, int rank)
{
	bool sound = r->rank == rank && (unsigned)r->phase < PHASES && ends(r->host, HOST_BYTES) &&
		     ends(r->io_text, IO_TEXT_BYTES) && ends(r->limit_text, LIMIT_TEXT_BYTES) &&
		     ends(r->left_out, LEFT_OUT_TEXT_BYTES) &&
		     ends(r->bound_by, BOUND_TEXT_BYTES) && ends(r->text, ERR_TEXT_BYTES) &&
		     ends(r->processors, PROCESSORS_BYTES) && ends(r->cpu_model, CPU_MODEL_BYTES) &&
		     ends(r->numa_nodes, NUMA_TEXT_BYTES) && (unsigned)r->binding < NUMA_BINDINGS &&
		     (uint32_t)r->spans <= SPANS && (unsigned)r->adapt_state <= ADAPT_CHANGED &&
		     (unsigned)r->exchange < EXCHANGE_WAYS;
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
				    .text = "what it told of itself makes no sense" };
}

/* Report a failure that no rank has explained. */
static void explain(rank_result *all, int size, status rc)
{
	bool explained = rc == ST_OK;
	for (int i = 0; i < size; i++)
		explained = explained || all[i].status != ST_OK;
	if (explained)
		return;
	all->status = rc;
	snprintf(all->text, sizeof all->text, "a rank reported a failure but gave no reason");
}

/* Each rank counts from its own beginning, and one that began before rank 0 ends later by its
 * clock. */
static double longest_s(const rank_result *all, int size, double own_s)
{
	for (int i = 0; i < size; i++)
		if (all[i].spans > 0)
			own_s = fmax(own_s, all[i].span[all[i].spans - 1].end_s);
	return own_s;
}

/* Rank 0 collects; what cannot be collected is left out, the status stands. */
static void collect(job *j, status rc, job_result *res)
{
	rank_result *all = NULL;
	const settled k = settled_of(j);
	fill_result(j);
	if (j->env.c->rank == 0)
		all = calloc((size_t)j->env.c->size, sizeof *all);
	const status there = comm_agree(j->env.c, j->env.c->rank || all ? ST_OK : ST_RESOURCE);
	if (there == ST_OK && comm_gather(j->env.c, &j->mine, all, sizeof *all, 0) == ST_OK) {
		if (all) {
			if (j->env.c->for_all)
				rc = plan_for_all(&j->env, &k, &j->memory, all, rc);
			for (int i = 0; i < j->env.c->size; i++)
				validate_result(&all[i], i);
			explain(all, j->env.c->size, rc);
			*res = (job_result){ .status = rc,
					     .records = j->shares.records,
					     .out = j->verified.out,
					     .total_s = longest_s(all, j->env.c->size,
								  now_s() - j->begun_s),
					     .all_read_s = j->all_read_s,
					     .sum = j->verified.sum,
					     .sum_out = j->verified.sum_out,
					     .size = j->env.c->size,
					     .job_ranks = j->env.c->size,
					     .processes = j->env.c->processes,
					     .comm_kind = j->env.c->kind,
					     .late_refused = j->files.late_refused,
					     .rank = all };
			memcpy(res->note, j->env.note.text, sizeof res->note);
		}
		return;
	}
	free(all);
	if (j->env.c->rank == 0) {
		*res = (job_result){ .status = rc, .late_refused = j->files.late_refused };
		memcpy(res->note, j->env.e.text, sizeof res->note); /* its own reason at least */
	}
}

/* The network is gone and no agreement possible: report what is known here. */
static status tell_without_ranks(job *j, status rc, job_result *res)
{
	char why[COMM_FAILURE_BYTES];
	if (rc == ST_OK)
		rc = ST_PEER;
	err_set(&j->env.e, rc, "%s", comm_failure(j->env.c, why));
	fill_result(j);
	free(res->rank);
	*res = (job_result){ .status = rc,
			     .size = 1,
			     .job_ranks = j->env.c->size,
			     .processes = j->env.c->processes,
			     .comm_kind = j->env.c->kind,
			     .late_refused = j->files.late_refused };
	if ((res->rank = malloc(sizeof *res->rank)) != NULL)
		*res->rank = j->mine;
	return rc;
}

status job_run(comm *c, const settings *o, job_result *res)
{
	job j = { .env = { .c = c, .o = o, .stats = &j.mine },
		  .begun_s = now_s(),
		  .files.out.fd = -1 };
	FAIL_RANK(c->rank);
	progress_join(&c->progress);
	progress_record(&c->progress, j.begun_s);
	status rc = take_steps(&j);
	if (!atomic_load(&c->broken))
		collect(&j, rc, res);
	if (!atomic_load(&c->broken)) {
		/* what a rank leaves that dies before this the others remove */
		output_release(&j.files.out);
		workdir_release(&j.work);
		(void)comm_agree(c, ST_OK);
	}
	if (atomic_load(&c->broken)) {
		rc = tell_without_ranks(&j, rc, res);
		unfinished_give_up(); /* while this rank still knows the names */
	}
	job_free(&j);
	progress_join(NULL);
	return rc;
}
