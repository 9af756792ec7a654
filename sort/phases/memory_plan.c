/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans the memory of each rank before any record is read. If the records do not fit, sorted runs
 * spill to disk, or the job is rejected with the memory that it needs. */
#include "base/arith.h"
#include "base/size.h"
#include "exchange/stream_merge.h"
#include "phases.h"
#include "spill/spill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GUESSED_RECS = 1 << 16,
	CONTROL_BYTES = 64 << 10,
	PEER_BYTES = 512, /* counts, places of splitters, an outgoing stream */
	BETWEEN_RECS = 64,
	LEAST_BYTES = 64 << 10, /* least memory of any job */
	SMALL_BYTES = 1 << 20,  /* less than half of what a started program uses */
};

char *memory_plan_default_tmpdir(const settings *o)
{
	const char *named = getenv("TMPDIR");
	const char *slash = o->output ? strrchr(o->output, '/') : NULL;
	if (named && *named == '/')
		return strdup(named);
	if (!o->output || output_is_stream(o->output))
		return strdup("/tmp");
	return slash ? strndup(o->output, (size_t)(slash - o->output) + 1) : strdup(".");
}

const char *const *memory_plan_tmpdirs(const job *j, size_t *n)
{
	const settings *o = j->env.o;
	*n = o->tmpdirs ? o->tmpdirs : 1;
	if (o->workdir)
		return &o->workdir;
	return o->tmpdirs ? o->tmpdir : (const char *const *)&j->memory.tmpdir;
}

/* Return the memory for sending this rank's records and writing the received ones. */
static uint64_t exchange_bytes(const job *j, const memory_plan *mp, uint64_t out_recs)
{
	const rank_env *env = &j->env;
	const uint32_t rec = env->o->lay.record_bytes;
	const bool is_stream = j->files.in.is_stream;
	const uint64_t p = (uint64_t)env->c->size;
	const uint64_t n = is_stream ? POS_MASK : own_share(env, j->shares.in);
	const uint64_t out = is_stream ? POS_MASK : out_recs;
	if (p == 1)
		return 0;
	const int peers = mp->exchange == EXCHANGE_TWO_LEVEL ? two_level_most_peers(env->c->size)
							     : env->c->size;
	return exchange_most_bytes(rec, (size_t)mp->windows_bytes, peers, env->c->size) +
	       outgoing_most_bytes(n, (uint64_t)peers) + writer_most_bytes(out, rec) +
	       CONTROL_BYTES + p * PEER_BYTES + (uint64_t)peers * sizeof(merge_stream) +
	       stream_merge_heads((uint32_t)peers) * sizeof(head);
}

/* Return the most records that a rank holds between the two steps of an exchange, if it is to write
 * out_recs. */
static uint64_t most_between(uint64_t out_recs)
{
	return out_recs + out_recs / 4 + BETWEEN_RECS;
}

/* Return whether ranks request parts of the input from rank 0, so that their shares are unknown. */
static bool is_dynamic(const rank_env *env)
{
	return env_scatters(env) && env->o->scatter == SCATTER_DYNAMIC;
}

/* Describe what this rank must hold, if it is to write out_recs records. */
static sort_plan_query memory_query(const job *j, const memory_plan *mp, uint64_t out_recs)
{
	const rank_env *env = &j->env;
	const input *in = &j->files.in;
	const uint64_t all = j->shares.records, share = own_share(env, j->shares.in);
	const uint64_t recs = is_dynamic(env) ? scatter_room(env, all, share) : share;
	const bool two = mp->exchange == EXCHANGE_TWO_LEVEL, spreads = memory_plan_spreads(j);
	const bool unsorted = env->c->size > 1 && !settings_sorts_first(env->o);
	sort_plan_query q = { .limit_bytes = mp->limit.rank_bytes,
			      .recs = recs,
			      .out_recs = two ? most_between(out_recs) : out_recs,
			      .lay = env->o->lay,
			      .threads = j->cpus.threads,
			      .ranks = (unsigned)env->c->size,
			      .distributing = two || (unsorted && !env->o->partition_only),
			      .unsorted = unsorted,
			      .drops = settings_drops(env->o),
			      .receives = spreads || env_scatters(env),
			      .exchange_bytes = exchange_bytes(j, mp, out_recs),
			      .holds = !in->is_stream && !spreads && !env_scatters(env) &&
				       !env->o->workdir,
			      .keeps = env->o->workdir && recs > 0,
			      .kept = j->work.on ? &j->work.seal.kept : NULL,
			      .test_run_recs = test_sizes_of(env->o)->run_recs };
	if (env_scatters(env)) /* the blocks of the scatter are freed before the exchange */
		q.exchange_bytes = u64_max(q.exchange_bytes, scatter_most_bytes(env, all));
	for (size_t i = 0; i < in->files; i++) {
		q.longest_recs = u64_max(q.longest_recs, in->file[i].count);
		q.sorted_files += env->o->merge && in->file[i].count > 0;
	}
	return q;
}

/* Return whether out_recs records fit. When merging or spilling, written records pass through
 * windows, so any number fits. */
bool memory_plan_holds(const job *j, uint64_t out_recs)
{
	sort_plan b;
	const sort_plan_query q = memory_query(j, &j->memory, out_recs);
	return !q.distributing || j->memory.sort.spills || (sort_plan_make(&b, &q) && !b.spills);
}

/* Make the budget for the limit in mp. Return false if this is too little memory. */
static bool memory_fits(const job *j, bool on_disk, memory_plan *mp)
{
	const uint64_t out = own_share(&j->env, j->shares.out);
	sort_plan_query q = memory_query(j, mp, out);
	if (on_disk) { /* samples only estimate what a rank receives: plan for more */
		q.recs = u64_min(out + out / 4 + GUESSED_RECS, j->shares.records);
		return sort_plan_on_disk(&mp->sort, &q);
	}
	if (!q.kept)
		return sort_plan_make(&mp->sort, &q) && !(mp->sort.spills && is_dynamic(&j->env));
	/* With less memory or fewer ranks than the earlier job, not all its runs may fit into one
	 * merge. Keep as many as possible, and make longer runs of the other records. */
	kept_runs some = *q.kept;
	lower_bound n = { .lo = 0, .hi = some.count };
	mp->kept = some.count;
	if (sort_plan_make(&mp->sort, &q))
		return true;
	q.kept = &some;
	while (lower_bound_open(&n)) {
		some.count = n.mid + 1;
		lower_bound_step(&n, sort_plan_make(&mp->sort, &q));
	}
	mp->kept = some.count = n.lo;
	return sort_plan_make(&mp->sort, &q);
}

/* Return whether this value of --memory is enough. The windows of the exchange grow with it. */
static bool memory_would_fit(const job *j, bool on_disk, uint64_t bytes)
{
	memory_plan other = j->memory;
	other.limit.rank_bytes = bytes / j->cpus.ranks_here;
	other.windows_bytes =
		exchange_setup_windows(&j->env, j->shares.records, other.limit.rank_bytes);
	if (!on_disk)
		return memory_fits(j, false, &other);
	return (memory_fits(j, false, &other) && !other.sort.spills) ||
	       memory_fits(j, true, &other);
}

/* Return the distance between values that are easy to read. */
static uint64_t step_to(uint64_t bytes)
{
	return bytes <= UINT64_C(1) << 20    ? LEAST_BYTES
	       : bytes <= UINT64_C(16) << 30 ? UINT64_C(1) << 20
					     : UINT64_C(1) << 30;
}

/* Refuse the job, and name the least value of --memory that is enough. */
static status refuse_memory(job *j, bool on_disk)
{
	rank_env *env = &j->env;
	const memory_limit *limit = &j->memory.limit;
	char least[SIZE_TEXT_BYTES]; /* as --memory takes it */
	uint64_t few = 0, enough = LEAST_BYTES;
	while (enough <= INT64_MAX && !memory_would_fit(j, on_disk, enough)) {
		few = enough;
		enough *= 2;
	}
	const bool any = enough <= INT64_MAX; /* otherwise no memory is enough */
	while (any && enough - few > step_to(enough)) {
		const uint64_t mid = few + (enough - few) / 2;
		const uint64_t at = mid / step_to(enough) * step_to(enough);
		*(memory_would_fit(j, on_disk, at) ? &enough : &few) = at;
	}
	const uint64_t step = step_to(enough), n = j->shares.records;
	const unsigned shift = step == LEAST_BYTES ? 10 : step == UINT64_C(1) << 20 ? 20 : 30;
	const bool may = any && enough / j->cpus.ranks_here <= limit->most_bytes;
	env->stats->wanted_bytes = any ? enough : 0;
	snprintf(least, sizeof least, "%" PRIu64 "%c", enough >> shift, "KMG"[shift / 10 - 1]);
	return err_set(&env->e, ST_RESOURCE,
		       "not enough memory for %" PRIu64 " record%s of %u byte%s (%s)%s%s%s%s", n,
		       plural(n), env->o->lay.record_bytes, plural(env->o->lay.record_bytes),
		       limit->text,
		       may   ? "; use --memory="
		       : any ? "; they need "
			     : "",
		       any ? least : "", may ? " or more" : "",
		       is_dynamic(env) ? "; --scatter=dynamic cannot spill to disk" : "");
}

/* Find the memory limit. The number of records is bounded by the bits of an entry, which also
 * bounds later sums. A process has one limit, whatever each of its ranks would find. */
static status find_limit(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const uint64_t n = own_share(env, j->shares.in);
	const memory_plan any = { .limit.rank_bytes = UINT64_MAX };
	const sort_plan_query q = memory_query(j, &any, own_share(env, j->shares.out));
	sort_plan b;
	/* If this rank's arrays are smaller than the memory that starting the program took, no
	 * limit of the system can matter, and reading the limits takes longer than the sort. But
	 * ranks that exchange records size their windows by the limit, and a report shows it. */
	const bool small = env->c->size == 1 && !j->files.in.is_stream && !o->merge &&
			   !settings_reports(o) && sort_plan_make(&b, &q) && !b.spills &&
			   b.core_bytes <= SMALL_BYTES;
	const memory_limit_query lq = { .root = "",
					.wish = o->memory,
					.node_ranks = j->cpus.ranks_here,
					.process_ranks = (unsigned)env->c->process_ranks,
					.wish_only = small };
	if (n > POS_MASK)
		return err_set(&env->e, ST_REFUSED, "%" PRIu64 " records are too many for one rank",
			       n);
	if (env->c->rank != 0 && env->c->process_ranks == env->c->size)
		return ST_OK; /* rank 0 finds it */
	return memory_limit_find(&lq, &j->memory.limit, &env->e);
}

/* Size the windows by the least limit of any rank. */
static status size_windows(job *j)
{
	rank_env *env = &j->env;
	memory_limit *limit = &j->memory.limit;
	uint64_t least = 0;
	status rc = env->c->process_ranks == env->c->size
			    ? comm_bcast(env->c, limit, sizeof *limit, 0)
			    : ST_OK;
	if (rc == ST_OK)
		rc = comm_reduce(env->c, limit->rank_bytes, u64_min, &least);
	if (rc == ST_OK && (!*limit->text || !memchr(limit->text, '\0', sizeof limit->text)))
		rc = err_set(&env->e, ST_PEER, "rank 0 sent an invalid memory limit");
	j->memory.windows_bytes = exchange_setup_windows(env, j->shares.records, least);
	return rc;
}

/* Name the directory for runs if the user named none. */
static status name_tmpdir(job *j)
{
	const settings *o = j->env.o;
	if (!o->tmpdirs && !o->workdir && !(j->memory.tmpdir = memory_plan_default_tmpdir(o)))
		return err_set(&j->env.e, ST_RESOURCE, "no memory for a name");
	return ST_OK;
}

/* Choose the exchange by values that are the same on all ranks. Choose two steps only if every rank
 * has memory for a second copy of its records. */
static status choose_exchange(job *j)
{
	const rank_env *env = &j->env;
	const settings *o = env->o;
	memory_plan *mp = &j->memory;
	const rates *r = &j->shares.rate[0];
	const two_level_load l = { .recs_bytes = (double)j->shares.records * o->lay.record_bytes /
						 env->c->size,
				   .ranks = env->c->size,
				   .inside = env->c->process_ranks == env->c->size,
				   .byte_s = r->merge_s + 2 * r->copy_s };
	if (env->c->size == 1 || o->merge)
		mp->exchange = EXCHANGE_NONE;
	else if (o->exchange == EXCHANGE_DIRECT)
		mp->exchange = EXCHANGE_ASKED;
	else if (!settings_sorts_first(o) || j->files.in.is_stream || o->workdir ||
		 env_scatters(env))
		mp->exchange = EXCHANGE_NO_OTHER;
	else if (o->exchange != EXCHANGE_BY_TWO_LEVELS && two_level_saves_s(&l) <= 0)
		mp->exchange = EXCHANGE_CHEAPER;
	else
		mp->exchange = EXCHANGE_TWO_LEVEL;
	if (mp->exchange != EXCHANGE_TWO_LEVEL)
		return ST_OK;
	sort_plan b;
	uint64_t any;
	const uint64_t out = own_share(env, j->shares.out);
	const sort_plan_query q = memory_query(j, mp, out);
	const bool no = !sort_plan_make(&b, &q) || b.spills || mp->other_copies_not;
	const status rc = comm_reduce(env->c, no, u64_max, &any);
	mp->other_copies_not = any != 0;
	mp->between_recs = most_between(out);
	if (any)
		mp->exchange = EXCHANGE_NO_MEMORY;
	return rc;
}

/* Make the budget for a stream. A named directory for runs is checked now. An unusable default
 * matters only if the job spills, and is reported then. */
static status make_stream_budget(job *j, const char *const *dir, size_t dirs)
{
	rank_env *env = &j->env;
	const sort_plan_query q = memory_query(j, &j->memory, 0);
	const uint64_t record = (uint64_t)env->o->lay.record_bytes * j->cpus.ranks_here;
	uint64_t bytes = 0;
	err e = { ST_OK, "" };
	const status rc = spill_dirs_room(dir, dirs, &bytes, &e);
	if (rc != ST_OK && env->o->tmpdirs)
		return err_join(&env->e, &e);
	sort_plan_stream(&j->memory.sort, &q, rc == ST_OK ? bytes / record : POS_MASK);
	return ST_OK;
}

/* Make the budget of this rank, and decide together whether received records spill. */
static status make_budget(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	memory_plan *mp = &j->memory;
	const bool spreads = memory_plan_spreads(j);
	size_t dirs;
	const char *const *dir = memory_plan_tmpdirs(j, &dirs);
	if (j->files.in.is_stream)
		return make_stream_budget(j, dir, dirs);
	bool fit = memory_fits(j, false, mp), on_disk = spreads && (!fit || mp->sort.spills);
	if (spreads) { /* in memory only if each rank's memory holds what it receives */
		uint64_t all;
		const status rc = comm_reduce(env->c, on_disk || mp->other_spills, u64_max, &all);
		/* another rank may have sent any number */
		mp->other_spills = on_disk = on_disk || all != 0;
		if (rc != ST_OK)
			return rc;
	}
	if (on_disk)
		fit = memory_fits(j, true, mp);
	if ((spreads || env_scatters(env)) && !env->c->threads_allowed)
		mp->sort.workers = 1; /* the thread that takes a run sends and receives */
	if (!fit)
		return refuse_memory(j, on_disk);
	const bool may_be_missing = o->workdir && o->explain;
	return mp->sort.spills && !may_be_missing ? spill_dirs_check(dir, dirs, &env->e) : ST_OK;
}

/* Report the budget. */
static void note_budget(job *j)
{
	const sort_plan *b = &j->memory.sort;
	rank_result *r = j->env.stats;
	/* calibration may have used more already */
	r->planned_bytes = u64_max(b->bytes, j->env.m.peak_bytes);
	r->spill_bytes = b->disk_bytes;
	r->spill_runs = b->spills ? b->runs - b->memory_runs : 0;
}

void memory_plan_ended(job *j)
{
	sort_plan_query q = memory_query(j, &j->memory, 0);
	q.recs = j->data.n;
	j->memory.sort.runs = j->data.s->count;
	sort_plan_end(&j->memory.sort, &q, j->data.disk.spill);
	note_budget(j);
}

status phase_budget(job *j)
{
	static job_step *const step[] = { name_tmpdir, find_limit, size_windows, choose_exchange };
	rank_result *r = j->env.stats;
	size_t dirs;
	status rc = job_each(j, step, sizeof step / sizeof *step);
	r->exchange = j->memory.exchange;
	if (rc == ST_OK)
		rc = make_budget(j);
	r->limit_bytes = j->memory.limit.rank_bytes;
	memcpy(r->limit_text, j->memory.limit.text, sizeof r->limit_text);
	note_budget(j);
	if (rc == ST_OK && !j->files.in.is_stream)
		plan_time(j, *memory_plan_tmpdirs(j, &dirs));
	return rc;
}

/* Plan the ranks from `first` on at rank 0: it takes the place of each rank in turn, and makes its
 * budget. Ranks that read and write as much as the rank before them have the
 * same budget. The result of a rank says why it cannot sort. */
static status plan_ranks(job *j, rank_result *all, int first)
{
	rank_env *env = &j->env;
	const share_plan *s = &j->shares;
	status rc = ST_OK;
	for (int i = first; i < env->c->size; i++) {
		rank_result *r = &all[i];
		const bool alike = i > first && s->in[i] == s->in[i - 1] &&
				   s->out[i] == s->out[i - 1] &&
				   memcmp(&s->rate[i], &s->rate[i - 1], sizeof *s->rate) == 0;
		*r = alike ? all[i - 1] : j->mine;
		if (!alike) {
			env->c->rank = i;
			env->stats = r;
			env->e = (err){ ST_OK, "" };
			env->m.peak_bytes = env->m.now_bytes;
			free(j->memory.tmpdir);
			j->memory.tmpdir = NULL;
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

status plan_for_all(job *j, rank_result *all, status rc)
{
	const memory_plan *mp = &j->memory;
	const bool spilled = mp->other_spills, copies = !mp->other_copies_not;
	for (int i = 0; i < j->env.c->size; i++)
		all[i].rank = i;
	if (!mp->limit.text[0]) /* rank 0 failed before that */
		return rc;
	const status others = plan_ranks(j, all, 1);
	if ((mp->other_spills && !spilled) || (mp->other_copies_not && copies))
		return plan_ranks(j, all, 0);
	return rc == ST_OK ? others : rc;
}
