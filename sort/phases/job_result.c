/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a job: each rank fills in its own, and rank 0 collects and checks them. Costs a
 * gather of one rank_result per rank. A result that another rank sent may contain any bytes, so it
 * is validated before it is used. */
#include "base/clock.h"
#include "base/sysfile.h"
#include "exchange/lanes.h"
#include "job_result.h"
#include "work_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Fill in the resources that the process has used, and its processors. */
static void fill_machine(rank_result *r, const usage_moment *begun)
{
	r->used = usage_since(begun, "");
	sysfile_text("", "/proc/thread-self/status", "Cpus_allowed_list", r->processors,
		     sizeof r->processors);
	sysfile_text("", "/proc/cpuinfo", "model name", r->cpu_model, sizeof r->cpu_model);
}

static void fill_result(job *j)
{
	struct rusage u;
	rank_result *r = &j->mine;
	r->rank = j->env.c->rank;
	memcpy(r->host, j->env.c->host, sizeof r->host);
	r->host_id = j->env.c->host_id;
	r->pid = (int32_t)getpid();
	r->mem_peak_bytes = j->env.m.peak_bytes;
	r->threads = (int32_t)j->cpus.threads;
	r->cpus = fmin(j->cpus.processors, r->threads);
	r->used.joules = -1; /* not read */
	if (getrusage(RUSAGE_THREAD, &u) == 0)
		r->rss_peak_bytes = (uint64_t)u.ru_maxrss * 1024;
	r->out = j->part.seen.records;
	r->sum_out = j->part.seen.sum;
	r->dropped = j->part.dropped.records;
	r->sum_dropped = j->part.dropped.sum;
	r->written_bytes = j->part.found ? 0 : r->out * settings_out_bytes(j->env.o);
	r->activity = progress_activity(&j->env.c->progress);
	r->stages = progress_times(&j->env.c->progress);
	r->status = j->env.e.code;
	r->phase = j->at;
	memcpy(r->text, j->env.e.text, sizeof r->text);
}

/* The texts in a result. */
static const struct {
	size_t at, bytes;
} result_texts[] = {
	{ offsetof(rank_result, host), HOST_BYTES },
	{ offsetof(rank_result, limit_text), LIMIT_TEXT_BYTES },
	{ offsetof(rank_result, lanes_why), LANES_TEXT_BYTES },
	{ offsetof(rank_result, left_out), LEFT_OUT_TEXT_BYTES },
	{ offsetof(rank_result, bound_by), BOUND_TEXT_BYTES },
	{ offsetof(rank_result, text), ERR_TEXT_BYTES },
	{ offsetof(rank_result, processors), PROCESSORS_BYTES },
	{ offsetof(rank_result, cpu_model), CPU_MODEL_BYTES },
	{ offsetof(rank_result, numa_nodes), NUMA_TEXT_BYTES },
};

/* Replace an invalid result by one that says so. */
static void validate_result(rank_result *r, int rank)
{
	const double reals[] = { r->cpus,         r->used.user_s, r->used.system_s,
				 r->used.fault_s, r->used.joules, r->speed_error };
	const struct {
		int32_t value;
		uint32_t values;
	} words[] = { { r->phase, PHASES },
		      { r->binding, NUMA_BINDINGS },
		      { r->spans, SPANS + 1 },
		      { r->adapt_state, ADAPT_CHANGED + 1 },
		      { r->lanes, EXCHANGE_MOST_LANES + 1 },
		      { r->shares_by, SHARES_ORIGINS },
		      { r->links_by, RATE_ORIGINS },
		      { r->disk_by, RATE_ORIGINS } };
	bool sound = r->rank == rank;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		sound = sound && (uint32_t)words[i].value < words[i].values;
	for (size_t i = 0; i < sizeof result_texts / sizeof *result_texts; i++)
		sound = sound &&
			memchr((const char *)r + result_texts[i].at, '\0', result_texts[i].bytes);
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		sound = sound && isfinite(reals[i]);
	for (int i = 0; sound && i < r->spans; i++)
		sound = (unsigned)r->span[i].phase < PHASES && isfinite(r->span[i].end_s) &&
			isfinite(r->span[i].wait_s);
	for (int k = 0; k < STAGES; k++)
		sound = sound && isfinite(r->stages.planned_s[k]) && isfinite(r->stages.taken_s[k]);
	if (!sound)
		*r = (rank_result){ .rank = rank,
				    .host = "unknown",
				    .status = ST_PEER,
				    .text = "sent an invalid result" };
}

/* Return the result of the job, without the results of ranks. */
static job_result result_of(const job *j, status rc)
{
	const comm *c = j->env.c;
	return (job_result){ .status = rc,
			     .size = c->size,
			     .job_ranks = c->size,
			     .processes = c->processes,
			     .comm_kind = c->kind,
			     .late_refused = j->files.late_refused,
			     .records = j->shares.records,
			     .rates_measured = j->shares.measured,
			     .all_read_s = j->all_read_s,
			     .total_s = now_s() - j->begun_s };
}

/* Plan the other ranks, on rank 0, which acts as each rank in turn and makes its budget.
 * A rank that reads and writes as much as the preceding rank has the same budget. If a rank cannot
 * sort, its result contains the reason. Return the first failure. */
static status plan_ranks(job *j, rank_result *all)
{
	rank_env *env = &j->env;
	const share_plan *s = &j->shares;
	status rc = ST_OK;
	for (int i = 1; i < env->c->size; i++) {
		rank_result *r = &all[i];
		const rates *x = &s->rate[i];
		/* Equal bytes are meant. NOLINTNEXTLINE(*-memory-comparison,cert-*) */
		const bool alike = i > 1 && memcmp(x, x - 1, sizeof *x) == 0 &&
				   s->in[i] == s->in[i - 1] && s->out[i] == s->out[i - 1];
		*r = alike ? all[i - 1] : j->mine;
		if (!alike) {
			env->c->rank = i;
			env->stats = r;
			env->e = (err){ ST_OK, "" };
			env->m.peak_bytes = env->m.now_bytes;
			r->predicted_s = 0;
			plan_note(j);
			(void)phase_budget(j);
			r->status = env->e.code;
			memcpy(r->text, env->e.text, sizeof r->text);
		}
		r->rank = i;
		/* the ranks are threads of this process */
		const numa_place p = plan_place(j, (unsigned)i);
		memcpy(r->numa_nodes, p.nodes, sizeof p.nodes);
		r->binding = (int32_t)p.binding;
		rc = rc == ST_OK ? (status)r->status : rc;
	}
	env->c->rank = 0;
	env->stats = &j->mine;
	return rc;
}

/* Report only what this rank knows of a failure, and no rank after a success. */
static void report_own(job *j, status rc, job_result *res)
{
	if (rc != ST_OK && j->env.e.code == ST_OK)
		err_set(&j->env.e, rc, "no memory for the reasons of other ranks");
	fill_result(j);
	if (settings_reports(j->env.o))
		fill_machine(&j->mine, &j->begun);
	*res = result_of(j, rc);
	res->own = j->mine;
	res->rank = rc != ST_OK ? &res->own : NULL;
	res->size = rc != ST_OK;
}

void job_result_collect(job *j, status rc, job_result *res)
{
	comm *c = j->env.c;
	const memory_plan *mp = &j->memory;
	const int size = c->size, rank = c->rank;
	rank_result *all = NULL;
	fill_result(j);
	if (settings_reports(j->env.o))
		fill_machine(&j->mine, &j->begun);
	if (rank == 0)
		all = calloc((size_t)size, sizeof *all);
	status got = comm_agree(c, rank || all ? ST_OK : ST_RESOURCE);
	if (got == ST_OK)
		got = comm_gather(c, &j->mine, all, sizeof *all, 0);
	if (rank != 0)
		return;
	if (got != ST_OK || !all) {
		free(all);
		report_own(j, rc, res);
		return;
	}
	/* If rank 0 plans for all ranks, the results are copies of its own result. Plan the other
	 * ranks, unless rank 0 has failed before it had a memory limit. */
	for (int i = 0; c->for_all && i < size; i++)
		all[i].rank = i;
	if (c->for_all && mp->limit.text[0]) {
		const status others = plan_ranks(j, all);
		rc = rc == ST_OK ? others : rc;
	}
	bool explained = rc == ST_OK;
	double total_s = now_s() - j->begun_s;
	for (int i = 0; i < size; i++) {
		const rank_result *r = &all[i];
		validate_result(&all[i], i);
		explained = explained || r->status != ST_OK;
		/* a rank that began before rank 0 may have taken longer than rank 0 */
		if (r->spans > 0)
			total_s = fmax(total_s, r->span[r->spans - 1].end_s);
	}
	if (!explained) {
		all->status = rc;
		snprintf(all->text, sizeof all->text,
			 "a rank reported a failure but gave no reason");
	}
	*res = result_of(j, rc);
	res->out = j->verified.out;
	res->total_s = total_s;
	res->sum = j->verified.sum;
	res->sum_out = j->verified.sum_file;
	res->rank = all;
	memcpy(res->note, j->env.note.text, sizeof res->note);
}

status job_result_own(job *j, status rc, job_result *res)
{
	char why[COMM_FAILURE_BYTES];
	if (rc == ST_OK)
		rc = ST_PEER;
	err_set(&j->env.e, rc, "%s", comm_failure(j->env.c, why));
	job_result_free(res);
	report_own(j, rc, res);
	return rc;
}

/* ----------------------------------------------------------------- without the other ranks */

static struct {
	pthread_mutex_t lock; /* guards the other members */
	job_result res;       /* with `own` */
	usage_moment begun;
	double begun_s;
	comm *c; /* NULL: the job has not begun, or has ended */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

void job_result_keep(job *j)
{
	const settings *o = j ? j->env.o : NULL;
	if (o && (j->env.c->rank != 0 || !(o->report || o->html || o->trace)))
		return;
	if (j)
		fill_result(j);
	pthread_mutex_lock(&kept.lock);
	kept.c = j ? j->env.c : NULL;
	if (j) {
		kept.res = result_of(j, ST_OK);
		kept.res.own = j->mine;
		kept.begun = j->begun;
		kept.begun_s = j->begun_s;
	}
	pthread_mutex_unlock(&kept.lock);
}

void job_result_kept(job_result *res)
{
	pthread_mutex_lock(&kept.lock);
	*res = kept.res;
	res->size = kept.c != NULL;
	res->rank = kept.c ? &res->own : NULL;
	if (kept.c) {
		res->total_s = now_s() - kept.begun_s;
		res->own.phase = atomic_load(&kept.c->phase);
		res->own.activity = progress_activity(&kept.c->progress);
		res->own.stages = progress_times(&kept.c->progress);
		fill_machine(&res->own, &kept.begun);
	}
	pthread_mutex_unlock(&kept.lock);
}

typedef struct widening {
	rank_result *all;
	int size;
	double timeout_s;
	bool stuck;
} widening;

static void widen_rank(void *widening_, int rank, const rank_seen *seen)
{
	widening *w = widening_;
	rank_result *k = &w->all[rank];
	const double most = 0.8; /* its last heartbeat came some time before its alarm */
	if (rank >= w->size || !k->partial)
		return;
	memcpy(k->host, seen->host, sizeof k->host);
	k->phase = seen->phase;
	if (w->timeout_s > 0 && !seen->waiting && seen->idle_s > most * w->timeout_s) {
		w->stuck = true;
		k->status = ST_PEER;
		snprintf(k->text, sizeof k->text,
			 "no progress for %.1f s, after %" PRIu64 " pieces of work", seen->idle_s,
			 seen->ticks);
	}
}

bool job_result_widen(job_result *res, int (*look)(monitor_take *take, void *to), double timeout_s)
{
	widening w = { .size = res->job_ranks, .timeout_s = timeout_s };
	if (res->rank != &res->own || !(w.all = calloc((size_t)w.size, sizeof *w.all)))
		return false;
	w.all[0] = res->own;
	for (int i = 1; i < w.size; i++)
		w.all[i] = (rank_result){ .rank = i, .partial = 1, .used.joules = -1 };
	(void)look(widen_rank, &w);
	res->rank = w.all;
	res->size = w.size;
	return w.stuck;
}
