/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The speeds of ranks. Rank 0 gathers the names, speeds and rates of all ranks.
 *
 * Only measuring speeds takes time. It must last several periods of whatever slows a rank, or it
 * shows chance. A quota names its period. Nothing else does, so a rank that had to wait for its
 * processors is measured again for SLOWED_S. A job that is too short for this has equal shares. */
#include "rank_speeds.h"
#include "rank_result.h"
#include "base/limit.h"
#include "base/arith.h"
#include "base/pool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	SAMPLE_PART = 256, /* part of a share to sample; larger samples take too long to make */
	LEAST_SAMPLE_BYTES = 256 << 10
};

/* The seconds of a measurement: if nothing slows the rank, the least in a short job, if something
 * slows it, and the number of periods of a quota. */
static const double FREE_S = 0.02, LEAST_S = 0.004, SLOWED_S = 0.06, PERIODS = 3;

/* The seconds in which rank 0 measures one processor, and their largest part of the job. */
static const double MOMENT_S = 0.005, MOMENT_PART = 0.01;

/* The error of a speed that is not measured: a processor may be half as fast as a nominal one. */
static const double NOMINAL_ERROR = 1;

/* A measurement may take this part of the job's predicted time, or the second one if a quota is a
 * sign that ranks differ. */
static const double CALIBRATE_PART = 0.015, QUOTA_PART = 0.05;

/* A thread that had less of its processor than this was slowed. */
static const double FREE_SHARE = 0.97;

/* The least error of a speed. Shares that follow a smaller difference would gain little. */
static const double LEAST_ERROR = 0.025;

/* Disks whose measured rates differ by less than this factor are treated as equal. */
static const double DISKS_ALIKE = 1.25;

void rank_speeds_free(rank_env *env, rank_speeds *g)
{
	mem_free(&env->m, g->placement);
	*g = (rank_speeds){ 0 };
}

static status rank_speeds_alloc(rank_env *env, rank_speeds *g)
{
	const size_t p = env->c->rank == 0 ? (size_t)env->c->size : 0;
	const size_t bytes = sizeof *g->placement + sizeof *g->had + sizeof *g->before +
			     sizeof *g->after + sizeof *g->order + sizeof *g->like;
	*g = (rank_speeds){ .placement = mem_array(&env->m, p, bytes, "speeds", &env->e) };
	if (!g->placement)
		return ST_RESOURCE;
	g->p = p;
	g->had = (void *)(g->placement + p);
	g->before = (void *)(g->had + p);
	g->after = g->before + p;
	g->order = (void *)(g->after + p);
	g->like = g->order + p;
	return ST_OK;
}

/* --------------------------------------------------------------------------- ranks that are alike
 */

static int by_placement(const void *a, const void *b, void *placement_)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const placement *at = placement_;
	const int host = strcmp(at[x].host, at[y].host);
	if (host)
		return host;
	if (at[x].host_id != at[y].host_id)
		return at[x].host_id < at[y].host_id ? -1 : 1;
	if (at[x].cpus != at[y].cpus)
		return at[x].cpus < at[y].cpus ? -1 : 1;
	return x < y ? -1 : 1;
}

void rank_speeds_sort(rank_speeds *g)
{
	for (size_t i = 0; i < g->p; i++)
		g->order[i] = i;
	qsort_r(g->order, g->p, sizeof *g->order, by_placement, g->placement);
}

static const placement *rank_place(const rank_speeds *g, size_t i)
{
	return &g->placement[g->order[i]];
}

size_t rank_speeds_on_host(const rank_speeds *g, size_t first)
{
	size_t n = 1;
	while (first + n < g->p &&
	       rank_place(g, first + n)->host_id == rank_place(g, first)->host_id)
		n++;
	return n;
}

size_t rank_speeds_hosts(const rank_speeds *g)
{
	size_t hosts = 0;
	for (size_t i = 0; i < g->p; i += rank_speeds_on_host(g, i))
		hosts++;
	return hosts;
}

/* Return how many consecutive ranks in g->order, from `first` on, are on the same host and have the
 * same number of processors. */
static size_t count_alike(const rank_speeds *g, size_t first)
{
	size_t n = 1;
	const size_t most = rank_speeds_on_host(g, first);
	while (n < most && rank_place(g, first + n)->cpus == rank_place(g, first)->cpus)
		n++;
	return n;
}

/* Return the processors of each of n ranks that are alike. They share the processors of their
 * placement, and none uses more processors than it has threads. */
static double cpus_each(const settings *o, const placement *at, size_t n)
{
	const double cpus = (at->count ? at->count : 1) / (double)n;
	return o->threads ? fmin(cpus, o->threads) : cpus;
}

/* Note if ranks share one processor. Launchers bind ranks so if asked, or if several launchers run
 * on one host without knowing of each other. Whoever gives --threads has thought of processors. */
static void note_one_processor(rank_env *env, const rank_speeds *g)
{
	for (size_t i = 0, n; i < g->p; i += n) {
		const placement *at = rank_place(g, i);
		n = count_alike(g, i);
		if (n > 1 && at->count == 1 && at->online > 1) {
			err_set(&env->note, ST_RESOURCE,
				"%zu ranks on %s may use only one of its %" PRIu32 " processors: "
				"did the launcher bind them so?",
				n, quoted(at->host), at->online);
			return;
		}
	}
}

/* ----------------------------------------------------------------------------------- measuring */

/* Set *most to the largest value of any rank. */
static status most_seconds(rank_env *env, double value, double *most)
{
	const double ns = fmin(fmax(1e9 * value, 0), 1e18);
	uint64_t longest = 0;
	const status rc = comm_reduce(env->c, (uint64_t)ns, u64_max, &longest);
	*most = 1e-9 * (double)longest;
	return rc;
}

/* Measure for a part of the job's job_s seconds, and again if a rank was slowed. Sets *enough to
 * false if the job is too short for that. */
static status calibrate_within(rank_env *env, calibration *c, unsigned threads, double job_s,
			       calibrated *got, allowance *had, bool *enough)
{
	const quota q = quota_find("");
	double limit_s = fmax(fmin(FREE_S, CALIBRATE_PART * job_s), LEAST_S), longest_s;
	status rc = most_seconds(env, fmax(limit_s, PERIODS * q.period_s), &limit_s);
	const double part = limit_s > FREE_S ? QUOTA_PART : CALIBRATE_PART;
	const double most_s = env->o->calibrate ? INFINITY : part * job_s;
	*enough = limit_s <= most_s;
	if (rc != ST_OK || !*enough)
		return rc;
	had->quota_cpus = q.cpus;
	had->group = XXH3_64bits_withSeed(&env->c->host_id, sizeof env->c->host_id, q.group);
	had->wants_cpus = threads;
	*got = calibrate_run(c, limit_s);
	const bool waited = got->rate.cpus < FREE_SHARE * threads && !(q.cpus > 0);
	rc = most_seconds(env, waited ? SLOWED_S : 0, &longest_s);
	if (rc == ST_OK && longest_s > limit_s) {
		*enough = longest_s <= most_s;
		if (*enough)
			*got = calibrate_run(c, longest_s);
	}
	had->got_cpus = got->rate.cpus;
	/* a quota that bounds the rank gives its processors exactly */
	had->error = got->lap_error + (q.cpus > 0 && q.cpus < threads ? 0 : got->share_error);
	return rc;
}

/* Measure this rank; all ranks do so at the same time. */
static status calibrate_rank(rank_env *env, unsigned threads, double job_s, share_plan *s,
			     rates *rate, allowance *had)
{
	calibration *c = NULL;
	calibrated got = { .lap_error = 0 };
	const settings *o = env->o;
	const size_t p = (size_t)env->c->size;
	const uint64_t half = o->memory.bytes / 2 / p;
	const uint64_t share = s->records / p * o->lay.record_bytes;
	const uint64_t most = u64_max(share / SAMPLE_PART, LEAST_SAMPLE_BYTES);
	status rc =
		calibrate_open(&c, env, threads, env->c->size, half ? u64_min(half, most) : most);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = calibrate_within(env, c, threads, job_s, &got, had, &s->measured);
	if (rc == ST_OK && s->measured && !(got.rate.sort_s > 0))
		rc = err_set(&env->e, ST_INTERNAL, "the clock stood still while calibrating");
	*rate = got.rate;
	env->stats->speed_error = had->error;
	calibrate_free(c);
	return comm_agree(env->c, rc);
}

static int compare_values(const void *a, const void *b, void *value_)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const double *v = value_;
	return v[x] < v[y] ? -1 : v[x] > v[y] ? 1 : x < y ? -1 : 1;
}

/* Fill order with the indices of n values in ascending order. */
static void sort_ascending(double *value, size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof *order, compare_values, value);
}

void rank_speeds_alike(double *value, size_t *order, size_t n, double ratio)
{
	sort_ascending(value, order, n);
	for (size_t i = 0, k; i < n; i += k) {
		const double first = value[order[i]];
		double sum = first;
		for (k = 1; i + k < n && value[order[i + k]] <= first * ratio; k++)
			sum += value[order[i + k]];
		for (size_t m = i; m < i + k; m++)
			value[order[m]] = sum / (double)k;
	}
}

/* Compute the speed of each rank from its rates, for an equal share. */
static void speeds_of_rates(const settings *o, const rank_speeds *g, share_plan *s)
{
	const uint64_t n = s->records / g->p > 1000 ? s->records / g->p : 1000;
	for (size_t i = 0; i < g->p; i++) {
		const double before_s = job_time_before_s(&s->rate[i], o, n);
		const double after_s = job_time_after_s(&s->rate[i], o, n);
		g->before[i] = 1 / before_s;
		g->after[i] = 1 / after_s;
		s->speed[i] = 1 / (before_s + after_s);
	}
}

/* Return whether the speed of rank b may be at most the speed of rank a, within their errors. */
static bool may_be_equal(const rank_speeds *g, const double *speed, size_t a, size_t b)
{
	const double ea = fmax(g->had[a].error, LEAST_ERROR);
	const double eb = fmax(g->had[b].error, LEAST_ERROR);
	return speed[b] * (1 - eb) <= speed[a] * (1 + ea);
}

static void scale_to_fastest(double *speed, size_t p)
{
	double most = 0;
	for (size_t i = 0; i < p; i++)
		most = fmax(most, speed[i]);
	for (size_t i = 0; i < p; i++)
		speed[i] /= most;
}

/* From the slowest rank to the fastest, each rank that is not in a group yet becomes the first of
 * its own one, and the ranks that may be as slow join it. */
void rank_speeds_join(const settings *o, const rank_speeds *g, share_plan *s)
{
	const size_t p = g->p, none = p;
	const double *before = g->before, *after = g->after;
	speeds_of_rates(o, g, s);
	sort_ascending(s->speed, g->order, p);
	for (size_t i = 0; i < p; i++)
		g->like[i] = none;
	for (size_t i = 0; i < p; i++) {
		const size_t a = g->order[i];
		const double cpus = s->rate[a].cpus; /* each rank keeps its own */
		size_t n = 0;
		if (g->like[a] != none)
			continue;
		for (size_t k = i; k < p && may_be_equal(g, s->speed, a, g->order[k]); k++) {
			const size_t b = g->order[k];
			if (g->like[b] != none || !may_be_equal(g, before, a, b) ||
			    !may_be_equal(g, before, b, a) || !may_be_equal(g, after, a, b) ||
			    !may_be_equal(g, after, b, a))
				continue;
			g->like[b] = a;
			if (n++)
				rates_join(&s->rate[a], &s->rate[b]);
		}
		rates_scale(&s->rate[a], (double)n);
		s->rate[a].cpus = cpus;
	}
	for (size_t i = 0; i < p; i++) {
		const double cpus = s->rate[i].cpus;
		rates_copy_work(&s->rate[i], &s->rate[g->like[i]]);
		s->rate[i].cpus = cpus;
	}
	speeds_of_rates(o, g, s);
	scale_to_fastest(g->before, p);
	scale_to_fastest(g->after, p);
	scale_to_fastest(s->speed, p);
}

/* Adjust measured rates to the processors that quotas allow in a long job, and give ranks that
 * share their processors the mean of their rates. g->order must be sorted by places. */
static void adjust_rates(const rank_speeds *g, share_plan *s)
{
	for (size_t i = 0; i < g->p; i++)
		rates_scale(&s->rate[i], calibrate_slowdown(g->had, g->p, i));
	for (size_t i = 0, alike; i < g->p; i += alike) {
		rates mean = { 0 };
		double error = 0;
		alike = count_alike(g, i);
		for (size_t k = i; k < i + alike; k++) {
			rates_join(&mean, &s->rate[g->order[k]]);
			error += g->had[g->order[k]].error / (double)alike;
		}
		rates_scale(&mean, (double)alike);
		for (size_t k = i; k < i + alike; k++) {
			rates_copy_work(&s->rate[g->order[k]], &mean);
			g->had[g->order[k]].error = error;
		}
	}
}

/* --------------------------------------------------------------------------------------- given */

status rank_numbers_load(rank_env *env, const rank_speeds *g, const char *arg, const char *what,
			 double *number)
{
	const speeds_want w = { what, g->p, g->placement->host, sizeof *g->placement };
	return speeds_load(arg, &w, number, &env->e);
}

/* Measure one processor of this rank for a moment, by its processor time, unless the job is too
 * short for that or its time does not matter. Return whether *r are its rates. */
static bool own_processor(rank_env *env, double job_s, rates *r)
{
	calibration *c = NULL;
	bool known = false;
	if (env->c->processes == 1 || env->o->explain || MOMENT_S > MOMENT_PART * job_s)
		return false;
	if (calibrate_open(&c, env, 1, env->c->size, LEAST_SAMPLE_BYTES) == ST_OK) {
		*r = calibrate_run(c, MOMENT_S).rate;
		known = r->sort_s > 0;
		rates_scale(r, r->cpus);
	}
	calibrate_free(c);
	return known;
}

/* Use the speeds given by the user; for virtual ranks, all are 1. The speeds before and after the
 * exchange are the same. They are relative, so the processor of rank 0 shows what they mean; if it
 * is not measured, the fastest processor of all is taken to be a nominal one. Without speeds, all
 * processors are alike. */
static status given_speeds(rank_env *env, const rank_speeds *g, share_plan *s)
{
	const bool given = env->o->speeds && !env->o->emulate;
	const double own_cpus = g->placement->own_cpus;
	double unit = INFINITY; /* processors of a rank of speed 1 */
	rates processor = job_time_nominal(1, own_cpus);
	const double job_s = job_time_equal_s(&processor, env->o, s->records / g->p, g->p);
	for (size_t i = 0; i < g->p; i++)
		s->speed[i] = 1;
	const status rc =
		given ? rank_numbers_load(env, g, env->o->speeds, "speed", s->speed) : ST_OK;
	for (size_t i = 0; i < g->p; i++)
		unit = fmin(unit, g->placement[i].own_cpus / s->speed[i]);
	processor = job_time_nominal(1, 1);
	if (rc == ST_OK && own_processor(env, job_s, &processor))
		unit = own_cpus / s->speed[0];
	for (size_t i = 0; rc == ST_OK && i < g->p; i++) {
		const double cpus = g->placement[i].own_cpus;
		rates *r = &s->rate[i];
		g->before[i] = g->after[i] = s->speed[i];
		g->had[i].error = given ? 0 : NOMINAL_ERROR;
		*r = processor;
		rates_scale(r, 1 / (given ? s->speed[i] * unit : cpus));
		r->cpus = cpus;
		r->disk_s = g->placement[i].files.disk_s;
	}
	return rc;
}

/* Set the member at offset `at` of the rates of each rank, from the MB/s that the user gives. */
static status given_rates(rank_env *env, const rank_speeds *g, const char *arg, const char *what,
			  share_plan *s, size_t at)
{
	if (!arg)
		return ST_OK;
	double *mb_per_s = mem_array(&env->m, g->p, sizeof *mb_per_s, "rates", &env->e);
	if (!mb_per_s)
		return ST_RESOURCE;
	const status rc = rank_numbers_load(env, g, arg, what, mb_per_s);
	for (size_t i = 0; rc == ST_OK && i < g->p; i++)
		*(double *)(void *)((char *)&s->rate[i] + at) = job_time_byte_s(mb_per_s[i]);
	mem_free(&env->m, mb_per_s);
	return rc;
}

/* Replace similar measured rates of disks by their mean. */
static void join_disks(const rank_speeds *g)
{
	double *disk_s = g->before; /* has no speeds yet */
	for (size_t i = 0; i < g->p; i++)
		disk_s[i] = g->placement[i].files.disk_s;
	rank_speeds_alike(disk_s, g->order, g->p, DISKS_ALIKE);
	for (size_t i = 0; i < g->p; i++)
		g->placement[i].files.disk_s = disk_s[i];
}

static bool in_range(const double *value, size_t n, double least)
{
	bool sound = true;
	for (size_t i = 0; i < n; i++)
		sound = sound && value[i] >= least && value[i] <= 1e30;
	return sound;
}

static status invalid_rate(rank_env *env, size_t rank)
{
	return err_set(&env->e, ST_PEER, "a rank sent an invalid rate: rank %zu", rank);
}

status rank_speeds_find(rank_env *env, double cpus, const rank_storage *f, share_plan *s,
			rank_speeds *g)
{
	const settings *o = env->o;
	status rc = comm_agree(env->c, rank_speeds_alloc(env, g));
	const processors p = processors_find();
	placement mine = { .host_id = env->c->host_id,
			   .cpus = p.set_hash,
			   .count = p.count,
			   .online = p.online,
			   .files = *f,
			   .own_cpus = cpus };
	memcpy(mine.host, env->c->host, sizeof mine.host);
	if (rc == ST_OK)
		rc = comm_gather(env->c, &mine, g->placement, sizeof mine, 0);
	for (size_t i = 0; rc == ST_OK && i < g->p; i++) {
		placement *at = &g->placement[i];
		const double sent[] = { at->files.disk_s, at->files.input_s };
		at->host[HOST_BYTES - 1] = '\0'; /* a rank may send anything */
		if (!in_range(sent, 2, 0) || !in_range(&at->own_cpus, 1, 1e-30))
			rc = invalid_rate(env, i);
	}
	if (rc != ST_OK || !g->p)
		return rc;
	join_disks(g);
	rc = given_speeds(env, g, s);
	rank_speeds_sort(g);
	if (env->c->processes > 1 && !o->threads)
		note_one_processor(env, g);
	if (rc == ST_OK && !o->from_root)
		rc = given_rates(env, g, o->links, "link", s, offsetof(rates, link_s));
	if (rc == ST_OK)
		rc = given_rates(env, g, o->disks, "disk", s, offsetof(rates, disk_s));
	for (size_t i = 0; rc == ST_OK && i < g->p; i++) {
		const double input_s = g->placement[i].files.input_s;
		s->rate[i].input_s =
			input_s > 0 && s->rate[i].disk_s > 0 ? s->rate[i].disk_s : input_s;
	}
	return rc;
}

/* Return the seconds of the job by the present rates, if no disk delays it. */
static double job_seconds(const settings *o, const rank_speeds *g, const share_plan *s)
{
	double most_s = 0;
	for (size_t i = 0; i < g->p; i++) {
		rates r = s->rate[i];
		r.disk_s = 0;
		most_s = fmax(most_s, job_time_equal_s(&r, o, s->records / g->p, g->p));
	}
	return most_s;
}

status rank_speeds_measure(rank_env *env, unsigned threads, share_plan *s, rank_speeds *g)
{
	const settings *o = env->o;
	struct {
		rates rate;
		allowance had;
	} mine = { .rate = { 0 } }, *all = NULL;
	double job_s = job_seconds(o, g, s);
	status rc = comm_bcast(env->c, &job_s, sizeof job_s, 0);
	if (rc == ST_OK)
		rc = calibrate_rank(env, threads, job_s, s, &mine.rate, &mine.had);
	if (rc != ST_OK || !s->measured)
		return rc;
	all = mem_array(&env->m, g->p, sizeof *all, "speeds", &env->e);
	rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_gather(env->c, &mine, all, sizeof mine, 0);
	for (size_t i = 0; rc == ST_OK && i < g->p; i++) {
		const rates *r = &all[i].rate;
		const double work[] = { r->cpus, r->sort_s, r->merge_s, r->copy_s, r->file_s };
		const double had[] = { all[i].had.error, all[i].had.wants_cpus };
		if (!in_range(work, 5, 1e-30) || !in_range(had, 2, 0))
			rc = invalid_rate(env, i);
		rates_copy_work(&s->rate[i], r);
		g->had[i] = all[i].had;
	}
	mem_free(&env->m, all);
	if (rc == ST_OK && g->p) {
		adjust_rates(g, s);
		rank_speeds_join(o, g, s);
		rank_speeds_sort(g);
	}
	return rc;
}

/* ---------------------------------------------------------------------------- names for wisdom */

status rank_speeds_name(rank_env *env, const rank_speeds *g, wisdom *w)
{
	enum { SHOWN = 36 }; /* characters of a host's name; a hash stands for the rest */
	wisdom_rank *rank = mem_array(&env->m, g->p, sizeof *rank, "names", &env->e);
	if (!rank)
		return ST_RESOURCE;
	for (size_t i = 0, n, end = 0, several = 0; i < g->p; i += n) {
		n = count_alike(g, i);
		if (i == end) { /* the first rank of a name, which several hosts may have */
			while (end < g->p &&
			       strcmp(rank_place(g, end)->host, rank_place(g, i)->host) == 0)
				end++;
			several = rank_place(g, i)->host_id != rank_place(g, end - 1)->host_id;
		}
		for (size_t k = i; k < i + n; k++) {
			const placement *at = rank_place(g, k);
			wisdom_rank *r = &rank[g->order[k]];
			const size_t len = strlen(at->host);
			char host[HOST_BYTES];
			memcpy(host, at->host, sizeof host);
			wisdom_name(host);
			r->cpus = cpus_each(env->o, at, n);
			/* the beginning of the name, its hash, and a hash of name and processors.
			 * The number of a host changes when it starts, so it counts only if the
			 * name is not enough. */
			snprintf(r->key, sizeof r->key, "%.*s:%08" PRIx32 ":%08" PRIx32, SHOWN,
				 host, (uint32_t)XXH3_64bits_withSeed(host, len, 0),
				 (uint32_t)XXH3_64bits_withSeed(at->host, len,
								several ? at->cpus ^ at->host_id
									: at->cpus));
		}
	}
	const status rc = wisdom_set_ranks(w, rank, g->p, &env->e);
	mem_free(&env->m, rank);
	return rc;
}
