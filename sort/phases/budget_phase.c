/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Third phase: may the records stay in memory? Otherwise sorted runs spill to disk, or the job is
 * refused with the memory that it takes. Nothing has been read by then. */
#include "budget_phase.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "exchange/stream_merge.h"
#include "phases.h"
#include "base/memory_limit.h"
#include "base/size.h"
#include "spill/spill.h"
#include "testing/test_sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GUESSED_RECS = 1 << 16,
	CONTROL_BYTES = 64 << 10,
	PEER_BYTES = 512, /* counts, places of splitters, its outgoing stream */
	BETWEEN_RECS = 64,
	LEAST_BYTES = 64 << 10, /* of memory, for any job */
};

char *budget_default_tmpdir(const settings *o)
{
	const char *named = getenv("TMPDIR");
	const char *slash = o->output ? strrchr(o->output, '/') : NULL;
	if (named && *named == '/')
		return strdup(named);
	if (!o->output || output_is_stream(o->output))
		return strdup("/tmp");
	return slash ? strndup(o->output, (size_t)(slash - o->output) + 1) : strdup(".");
}

/* The directories for runs: those named, else the default. */
static status choose_tmpdirs(rank_env *env, memory_plan *mp)
{
	if (env->o->tmpdirs || env->o->workdir)
		return ST_OK;
	mp->tmpdir = budget_default_tmpdir(env->o);
	return mp->tmpdir ? ST_OK : err_set(&env->e, ST_RESOURCE, "no memory for a name");
}

const char *const *budget_tmpdirs(const rank_env *env, const memory_plan *mp, size_t *n)
{
	*n = env->o->tmpdirs ? env->o->tmpdirs : 1;
	if (env->o->workdir)
		return &env->o->workdir;
	return env->o->tmpdirs ? env->o->tmpdir : (const char *const *)&mp->tmpdir;
}

static status check_spilling(rank_env *env, memory_plan *mp)
{
	size_t dirs;
	const status rc = choose_tmpdirs(env, mp);
	if (rc != ST_OK)
		return rc;
	const char *const *dir = budget_tmpdirs(env, mp, &dirs);
	if (env->o->workdir && env->o->explain)
		return ST_OK; /* it may not be there yet */
	return spill_dirs_check(dir, dirs, &env->e);
}

/* One process has one limit, whatever each of its ranks would find at its moment. */
static status tell_limit(rank_env *env, memory_limit *limit)
{
	return env->c->process_ranks == env->c->size ? comm_bcast(env->c, limit, sizeof *limit, 0)
						     : ST_OK;
}

static status find_limit(rank_env *env, const cpu_share *cpus, memory_limit *limit)
{
	if (env->c->rank != 0 && env->c->process_ranks == env->c->size)
		return ST_OK; /* rank 0 does */
	const memory_limit_query lq = { .root = "",
					.wish = env->o->memory,
					.node_ranks = cpus->ranks_here,
					.process_ranks = (unsigned)env->c->process_ranks };
	return memory_limit_find(&lq, limit, &env->e);
}

/* What it takes to send this rank's records and to write what comes. */
static uint64_t exchange_bytes(const rank_env *env, const settled *k, const memory_plan *mp,
			       uint64_t out_recs)
{
	const uint32_t rec = env->o->lay.record_bytes;
	const uint64_t p = (uint64_t)env->c->size;
	const uint64_t n = k->f->in.is_stream ? POS_MASK : own_share(env, k->s->in);
	const uint64_t out = k->f->in.is_stream ? POS_MASK : out_recs;
	if (p == 1)
		return 0;
	const int peers = mp->exchange == EXCHANGE_TWO_LEVEL ? two_level_most_peers(env->c->size)
							     : env->c->size;
	return exchange_most_bytes(rec, (size_t)mp->windows_bytes, peers, env->c->size) +
	       outgoing_most_bytes(n, (uint64_t)peers) + writer_most_bytes(out, rec) +
	       CONTROL_BYTES + p * PEER_BYTES + (uint64_t)peers * sizeof(merge_stream) +
	       stream_merge_heads((uint32_t)peers) * sizeof(head);
}

/* --merge: inputs with records. */
static size_t sorted_files_of(const rank_env *env, const input *in)
{
	size_t n = 0;
	for (size_t i = 0; env->o->merge && i < in->files; i++)
		n += in->file[i].count > 0;
	return n;
}

static uint64_t longest_of(const input *in)
{
	uint64_t most = 0;
	for (size_t i = 0; i < in->files; i++)
		most = u64_max(most, in->file[i].count);
	return most;
}

/* What may come to a rank between two steps of an exchange, if it is to write so many records. */
static uint64_t most_between(uint64_t out_recs)
{
	return out_recs + out_recs / 4 + BETWEEN_RECS;
}

static budget_query query_of(const rank_env *env, const settled *k, const memory_plan *mp,
			     uint64_t out_recs)
{
	const bool two = mp->exchange == EXCHANGE_TWO_LEVEL;
	const bool unsorted = env->c->size > 1 && !settings_strategy(env->o)->sorts_first;
	const input *in = &k->f->in;
	return (budget_query){ .sorted_files = sorted_files_of(env, in),
			       .longest_recs = longest_of(in),
			       .limit_bytes = mp->limit.rank_bytes,
			       .recs = own_share(env, k->s->in),
			       .out_recs = two ? most_between(out_recs) : out_recs,
			       .lay = env->o->lay,
			       .threads = k->cpus->threads,
			       .ranks = (unsigned)env->c->size,
			       .distributing = two || (unsorted && !env->o->partition_only),
			       .unsorted = unsorted,
			       .drops = settings_drops(env->o),
			       .receives = budget_spreads(env, &k->f->in) || env_scatters(env),
			       .exchange_bytes = exchange_bytes(env, k, mp, out_recs),
			       .holds = !in->is_stream && !budget_spreads(env, in) &&
					!env_scatters(env) && !env->o->workdir,
			       .keeps = env->o->workdir && own_share(env, k->s->in) > 0,
			       .kept = k->w->on ? &k->w->seal.kept : NULL,
			       .test_run_recs = test_sizes_of(env->o)->run_recs };
}

/* By merging, and where runs spill to disk, what is written passes through windows. */
bool budget_holds(const rank_env *env, const settled *k, uint64_t out_recs)
{
	const memory_plan *mp = k->mp;
	budget b;
	const budget_query q = query_of(env, k, mp, out_recs);
	return !q.distributing || mp->budget.spills || (budget_make(&b, &q) && !b.spills);
}

/* For a stream. A folder for runs that was named is looked at now; a default that cannot be
 * used matters only once it is needed. */
static status make_stream_budget(rank_env *env, const settled *k, memory_plan *mp)
{
	const budget_query q = query_of(env, k, mp, 0);
	size_t dirs;
	uint64_t bytes = 0;
	err e = { ST_OK, "" };
	status rc = choose_tmpdirs(env, mp);
	if (rc != ST_OK)
		return rc;
	const char *const *dir = budget_tmpdirs(env, mp, &dirs);
	rc = spill_dirs_room(dir, dirs, &bytes, &e);
	if (rc != ST_OK && env->o->tmpdirs)
		return err_set(&env->e, rc, "%s", e.text);
	/* one that cannot be used says so when it is */
	const uint64_t record = (uint64_t)env->o->lay.record_bytes * k->cpus->ranks_here;
	budget_stream(&mp->budget, &q, rc == ST_OK ? bytes / record : POS_MASK);
	return ST_OK;
}

/* All ranks exchange in the same way: *any is so on one of them. Collective. */
static status agree_to_spill(rank_env *env, memory_plan *mp, bool *any)
{
	uint64_t all;
	const status rc = comm_reduce(env->c, *any || mp->other_spills, u64_max, &all);
	*any |= all != 0; /* what another rank sends need be no bool */
	mp->other_spills = *any;
	return rc;
}

/* Where only samples show what comes to a rank: more than its share, to be safe. */
static uint64_t most_to_come(const rank_env *env, const share_plan *s)
{
	const uint64_t share = own_share(env, s->out), most = share + share / 4 + GUESSED_RECS;
	return u64_min(most, s->records);
}

/* Other memory than when they were made, or fewer ranks, may not be able to merge all runs that are
 * there: as many as there can be, and longer ones in place of the others. */
static bool fits_kept(const budget_query *q, memory_plan *mp)
{
	kept_runs some = *q->kept;
	budget_query with = *q;
	lower_bound n = { .lo = 0, .hi = some.count };
	mp->kept = some.count;
	if (budget_make(&mp->budget, q))
		return true;
	with.kept = &some;
	while (lower_bound_open(&n)) {
		some.count = n.mid + 1;
		lower_bound_step(&n, budget_make(&mp->budget, &with));
	}
	mp->kept = some.count = n.lo;
	return budget_make(&mp->budget, &with);
}

static bool is_dynamic(const rank_env *env)
{
	return env_scatters(env) && env->o->scatter == SCATTER_DYNAMIC;
}

/* Make the budget for the limit in mp. False: too little memory. */
static bool fits(const rank_env *env, const settled *k, bool on_disk, memory_plan *mp)
{
	budget_query q = query_of(env, k, mp, own_share(env, k->s->out));
	if (on_disk) {
		q.recs = most_to_come(env, k->s);
		return budget_disk(&mp->budget, &q);
	}
	if (q.kept)
		return fits_kept(&q, mp);
	return budget_make(&mp->budget, &q) && !(mp->budget.spills && is_dynamic(env));
}

/* Would this value of --memory do? The windows of the exchange grow with it. */
static bool would_fit(const rank_env *env, const settled *k, bool on_disk, const memory_plan *mp,
		      uint64_t bytes)
{
	memory_plan other = *mp;
	other.limit.rank_bytes = bytes / k->cpus->ranks_here;
	other.windows_bytes = exchange_setup_windows(env, k->s->records, other.limit.rank_bytes);
	if (!on_disk)
		return fits(env, k, false, &other);
	return (fits(env, k, false, &other) && !other.budget.spills) || fits(env, k, true, &other);
}

/* Between values that are easy to read. */
static uint64_t step_to(uint64_t bytes)
{
	return bytes <= UINT64_C(1) << 20    ? LEAST_BYTES
	       : bytes <= UINT64_C(16) << 30 ? UINT64_C(1) << 20
					     : UINT64_C(1) << 30;
}

/* The least value of --memory that would do; 0: none. */
static uint64_t least_memory(const rank_env *env, const settled *k, bool on_disk,
			     const memory_plan *mp)
{
	uint64_t few = 0, enough = LEAST_BYTES;
	while (!would_fit(env, k, on_disk, mp, enough)) {
		few = enough;
		enough *= 2;
		if (enough > INT64_MAX)
			return 0;
	}
	while (enough - few > step_to(enough)) {
		const uint64_t mid = few + (enough - few) / 2;
		const uint64_t at = mid / step_to(enough) * step_to(enough);
		*(would_fit(env, k, on_disk, mp, at) ? &enough : &few) = at;
	}
	return enough;
}

/* As --memory takes it. */
static void memory_text(uint64_t bytes, char text[SIZE_TEXT_BYTES])
{
	const uint64_t step = step_to(bytes);
	const uint64_t unit = step == LEAST_BYTES ? 1 << 10 : step;
	snprintf(text, SIZE_TEXT_BYTES, "%" PRIu64 "%c", bytes / unit,
		 unit == 1 << 10   ? 'K'
		 : unit == 1 << 20 ? 'M'
				   : 'G');
}

static status refuse_memory(rank_env *env, const settled *k, bool on_disk, const memory_plan *mp)
{
	char least[SIZE_TEXT_BYTES];
	const uint64_t bytes = least_memory(env, k, on_disk, mp);
	const bool may = bytes && bytes / k->cpus->ranks_here <= mp->limit.most_bytes;
	const uint64_t n = k->s->records;
	env->stats->wanted_bytes = bytes;
	memory_text(bytes, least);
	return err_set(&env->e, ST_RESOURCE,
		       "not enough memory for %" PRIu64 " record%s of %u byte%s (%s)%s%s%s%s", n,
		       plural(n), env->o->lay.record_bytes, plural(env->o->lay.record_bytes),
		       mp->limit.text,
		       may     ? "; use --memory="
		       : bytes ? "; it takes "
			       : "",
		       bytes ? least : "", may ? " or more" : "",
		       is_dynamic(env) ? "; --scatter=dynamic cannot spill to disk" : "");
}

static status make_budget(rank_env *env, const settled *k, memory_plan *mp)
{
	const bool spreads = budget_spreads(env, &k->f->in);
	if (k->f->in.is_stream)
		return make_stream_budget(env, k, mp);
	bool fit = fits(env, k, false, mp), on_disk = spreads && (!fit || mp->budget.spills);
	if (spreads) { /* in memory only if that of all ranks holds what comes */
		const status rc = agree_to_spill(env, mp, &on_disk);
		if (rc != ST_OK)
			return rc;
	}
	if (on_disk)
		fit = fits(env, k, true, mp);
	if ((spreads || env_scatters(env)) && !env->c->threads_allowed)
		mp->budget.workers = 1; /* who takes a run talks to other ranks */
	if (!fit)
		return refuse_memory(env, k, on_disk, mp);
	return mp->budget.spills ? check_spilling(env, mp) : ST_OK;
}

/* Is there another way than to send records to where they belong? */
static exchange_way way_by_options(const rank_env *env, const input *in)
{
	const settings *o = env->o;
	if (env->c->size == 1 || o->merge)
		return EXCHANGE_NONE;
	if (o->exchange == EXCHANGE_DIRECT)
		return EXCHANGE_ASKED;
	if (!settings_strategy(o)->sorts_first || in->is_stream || o->workdir || env_scatters(env))
		return EXCHANGE_NO_OTHER;
	return EXCHANGE_TWO_LEVEL;
}

/* The same on all ranks: by what they have in common. */
static exchange_way choose_way(const rank_env *env, const settled *k)
{
	const exchange_way way = way_by_options(env, &k->f->in);
	const rates *r = &k->s->rate[0];
	const two_level_load l = { .recs_bytes = (double)k->s->records * env->o->lay.record_bytes /
						 env->c->size,
				   .ranks = env->c->size,
				   .inside = env->c->process_ranks == env->c->size,
				   .byte_s = r->merge_s + 2 * r->copy_s };
	if (way != EXCHANGE_TWO_LEVEL || env->o->exchange == EXCHANGE_BY_TWO_LEVELS)
		return way;
	return two_level_saves_s(&l) > 0 ? way : EXCHANGE_CHEAPER;
}

/* Two steps need a second copy of what a rank has, on each of them: collective. */
static status choose_exchange(rank_env *env, const settled *k, memory_plan *mp)
{
	mp->exchange = choose_way(env, k);
	if (mp->exchange != EXCHANGE_TWO_LEVEL)
		return ST_OK;
	budget b;
	uint64_t any;
	const uint64_t out = own_share(env, k->s->out);
	const budget_query q = query_of(env, k, mp, out);
	const bool no = !budget_make(&b, &q) || b.spills || mp->other_copies_not;
	const status rc = comm_reduce(env->c, no, u64_max, &any);
	mp->other_copies_not = any != 0;
	mp->between_recs = most_between(out);
	if (any)
		mp->exchange = EXCHANGE_NO_MEMORY;
	return rc;
}

/* The windows by the rank that has least: collective. */
static status size_windows(rank_env *env, uint64_t total, memory_plan *mp)
{
	uint64_t least;
	const status rc = comm_reduce(env->c, mp->limit.rank_bytes, u64_min, &least);
	mp->windows_bytes = exchange_setup_windows(env, total, least);
	return rc;
}

static void note_budget(rank_env *env, const memory_plan *mp)
{
	rank_result *r = env->stats;
	/* calibrating may have taken more already */
	r->planned_bytes = u64_max(mp->budget.bytes, env->m.peak_bytes);
	r->spill_bytes = mp->budget.disk_bytes;
	r->spill_runs = mp->budget.spills ? mp->budget.runs - mp->budget.memory_runs : 0;
}

void budget_ended(rank_env *env, const settled *k, const read_runs *d, memory_plan *mp)
{
	budget_query q = query_of(env, k, mp, 0);
	q.recs = d->n;
	mp->budget.runs = d->s->count;
	budget_end(&mp->budget, &q, d->disk.spill);
	note_budget(env, mp);
}

/* What an entry has bits for. It bounds what is computed below, too. */
static status check_count(rank_env *env, const share_plan *s)
{
	const uint64_t n = own_share(env, s->in);
	return n <= POS_MASK ? ST_OK
			     : err_set(&env->e, ST_REFUSED,
				       "%" PRIu64 " records are too many for one rank", n);
}

status phase_budget(rank_env *env, const settled *k, memory_plan *mp)
{
	size_t dirs;
	status rc = check_count(env, k->s);
	rc = comm_agree(env->c, rc == ST_OK ? find_limit(env, k->cpus, &mp->limit) : rc);
	if (rc == ST_OK)
		rc = tell_limit(env, &mp->limit);
	if (rc == ST_OK)
		rc = size_windows(env, k->s->records, mp);
	if (rc == ST_OK)
		rc = choose_exchange(env, k, mp);
	env->stats->exchange = mp->exchange;
	if (rc == ST_OK)
		rc = make_budget(env, k, mp);
	env->stats->limit_bytes = mp->limit.rank_bytes;
	memcpy(env->stats->limit_text, mp->limit.text, sizeof env->stats->limit_text);
	note_budget(env, mp);
	if (rc == ST_OK && !k->f->in.is_stream)
		plan_time(env, k, *budget_tmpdirs(env, mp, &dirs));
	return rc;
}
