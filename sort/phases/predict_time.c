/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the model of a run needs to know of this one. Nothing here can fail: what is not known is
 * nominal. */
#include "predict_time.h"
#include "budget_phase.h"
#include "base/minmax.h"
#include "exchange/sample.h"
#include "io/disk_rate.h"
#include "model/bottleneck.h"
#include "model/quota.h"
#include "spill/spill.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TRIAL_BYTES = 32 << 20,
	TRIAL_PART = 16, /* of what is to be written */
	LEAST_TRIAL_BYTES = 4 << 20,
};

static const double START_S = 0.02; /* files made, synced and renamed, threads started */

/* Of those that the rates are for: measured ones are of all threads, with all ranks at work, and at
 * the speed that quotas allow. */
static double processors_of(const rank_env *env, const settled *k)
{
	const quota q = quota_find("");
	const double mine =
		fmin(k->cpus->processors, quota_processors(&q, INFINITY, k->cpus->ranks_here));
	return env->o->calibrate ? 1 : fmin(mine, k->cpus->threads);
}

static bool is_cold(const input *in, uint64_t bytes)
{
	const bool is_file = in->files && !in->file->is_stream;
	const int fd = is_file ? open(in->file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		return false;
	const bool cold = !io_fd_is_cached(fd, 0, u64_min(bytes, (uint64_t)in->file->st.st_size));
	close(fd);
	return cold;
}

/* The directory of the output; "" is none. */
static void output_dir(const settings *o, char dir[PATH_MAX])
{
	const char *slash = o->output ? strrchr(o->output, '/') : NULL;
	const size_t n = slash ? (size_t)(slash - o->output) + 1 : 0;
	if (n >= PATH_MAX)
		return;
	memcpy(dir, slash ? o->output : ".", slash ? n : 1);
	dir[slash ? n : 1] = '\0';
}

static double measured_disk(rank_env *env, const settled *k, const char *run_dir, uint64_t bytes)
{
	const uint64_t most = u64_min(bytes / TRIAL_PART, TRIAL_BYTES);
	char dir[PATH_MAX] = "";
	if (env->o->disks)
		return env->stats->rate.disk_s;
	if (!env->o->calibrate || most < LEAST_TRIAL_BYTES)
		return 0;
	if (k->mp->budget.spills)
		return disk_rate_s(&env->m, run_dir, most);
	output_dir(env->o, dir);
	return disk_rate_s(&env->m, dir, most);
}

/* Of memory, beside what the records that are read take. */
static double fresh_bytes(const settled *k, uint64_t bytes)
{
	const uint64_t held = k->mp->budget.spills ? 0 : bytes, all = k->mp->budget.bytes;
	return all > held ? (double)(all - held) : 0;
}

/* Of the records of runs, which stay in memory. */
static double held_part(const settled *k, uint64_t bytes)
{
	const uint64_t disk = k->mp->budget.disk_bytes;
	return k->mp->budget.spills && bytes > disk ? 1 - (double)disk / (double)bytes : 0;
}

/* For each splitter a round of the search looks into each run three times: for a sample of what is
 * left, and for the places of two pivots. What is left then is what samples of all runs of all
 * ranks are off by; half of it, where they are few. */
static double lookup_bytes(const rank_env *env, const settled *k)
{
	const size_t p = (size_t)env->c->size;
	const double places = sample_bracket_recs(k->s->records, p);
	if (!k->mp->budget.spills || places < 2)
		return 0;
	const double of_rank = (double)k->mp->budget.runs;
	const double bits = fmax(1, log2(sqrt((double)p * of_rank) / 5));
	return 3 * (1 + log2(places) / bits) * (double)(p - 1) * of_rank * SPILL_BLOCK_BYTES;
}

void predict_time(rank_env *env, const settled *k, const char *run_dir)
{
	const uint64_t in = own_share(env, k->s->in), out = own_share(env, k->s->out);
	const uint64_t bytes = in * env->o->lay.record_bytes;
	const run_load l = { .in = in,
			     .out = out,
			     .ranks = (size_t)env->c->size,
			     .cpus = processors_of(env, k),
			     .cold = is_cold(&k->f->in, bytes),
			     .spills = k->mp->budget.spills,
			     .durable = env->o->fsync && !k->f->out.is_stdout,
			     .disk_s = measured_disk(env, k, run_dir, bytes),
			     .disk_ranks = k->cpus->ranks_here,
			     .fresh_bytes = fresh_bytes(k, bytes),
			     .lookup_bytes = lookup_bytes(env, k),
			     .spreads = k->mp->budget.spills && budget_spreads(env, &k->f->in),
			     .held = held_part(k, bytes),
			     .far = 1 - (double)k->cpus->ranks_here / env->c->size };
	rank_result *r = env->stats;
	r->predicted_s += START_S + r->phase_s[PH_DESCRIBE] + r->phase_s[PH_PLAN] +
			  run_time_s(&r->rate, env->o, &l); /* measuring is part of the time */
	const double link_s = bottleneck_link_s(&r->rate, env->o, &l);
	r->predicted_s += link_s;
	snprintf(r->bound_by, sizeof r->bound_by, "%s",
		 bottleneck_name(bottleneck_of(&r->rate, env->o, &l)));
	stages *g = &env->c->stages;
	run_parts p = run_time_parts(&r->rate, env->o, &l);
	p.write.all_s += link_s;
	stages_plan(g, STAGE_READ, p.read);
	stages_plan(g, STAGE_SPLIT, p.split);
	stages_plan(g, STAGE_RECEIVE, p.receive);
	stages_plan(g, STAGE_SORT, p.sort);
	stages_plan(g, STAGE_WRITE, p.write);
	g->spilled = l.spills ? 1 - l.held : 0;
	if (env->o->verify == VERIFY_REREAD && !k->f->out.is_stdout)
		stages_plan(g, STAGE_CHECK,
			    (stage_plan){ .all_s = run_time_reread_s(&r->rate, env->o, &l) });
}
