/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding out how fast the ranks are: names, speeds and rates of all of them come to rank 0. Takes
 * no time but for --speeds=auto, which measures for a fifth of a second. */
#include "rank_speeds.h"
#include "base/limit.h"
#include "base/processors.h"
#include "calibrate.h"
#include "speeds.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Of the at most 0.2 s that calibrating may take; the rest goes into making the sample. */
static const double CALIBRATE_S = 0.17;

void rank_speeds_free(rank_env *env, rank_speeds *g)
{
	mem_free(&env->m, g->placement);
	mem_free(&env->m, g->had);
	mem_free(&env->m, g->before);
	mem_free(&env->m, g->after);
	*g = (rank_speeds){ 0 };
}

static status rank_speeds_alloc(rank_env *env, rank_speeds *g)
{
	*g = (rank_speeds){ .p = env->c->rank == 0 ? (size_t)env->c->size : 0 };
	g->placement = mem_array(&env->m, g->p, sizeof *g->placement, "hosts", &env->e);
	g->had = mem_array(&env->m, g->p, sizeof *g->had, "quotas", &env->e);
	g->before = mem_array(&env->m, g->p, sizeof *g->before, "speeds", &env->e);
	g->after = mem_array(&env->m, g->p, sizeof *g->after, "speeds", &env->e);
	return g->placement && g->had && g->before && g->after ? ST_OK : ST_RESOURCE;
}

static placement own_placement(const comm *c)
{
	placement s = { .cpus = 0 };
	const processors p = processors_find();
	memcpy(s.host, c->host, sizeof s.host);
	if (p.count) {
		s.cpus = p.set_hash;
		s.count = p.count;
		s.online = p.online;
	}
	return s;
}

/* All ranks measure themselves, at the same time. */
static status calibrate(rank_env *env, unsigned threads, rates *rate, allowance *had)
{
	calibration *c = NULL;
	const uint64_t half = env->o->memory.bytes / 2 / (uint64_t)env->c->size;
	status rc = calibrate_open(&c, &env->m, &env->o->lay, threads, env->c->size,
				   half ? half : UINT64_MAX, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK) {
		const quota before = quota_find("");
		*rate = calibrate_run(c, CALIBRATE_S, &had->got_cpus);
		const quota after = quota_find("");
		had->quota_cpus = after.cpus;
		had->group = XXH3_64bits_withSeed(env->c->host, strlen(env->c->host), after.group);
		had->waits = after.throttled - before.throttled;
		if (!(rate->sort_s > 0))
			rc = err_set(&env->e, ST_INTERNAL,
				     "the clock stood still while calibrating");
	}
	calibrate_free(c);
	return comm_agree(env->c, rc);
}

status rank_numbers_load(rank_env *env, const rank_speeds *g, const char *arg, const char *what,
			 double *number)
{
	const speeds_want w = { what, g->p, g->placement->host, sizeof *g->placement };
	return speeds_load(arg, &w, number, &env->e);
}

/* What was asked for, else 1 for all, as virtual ranks are; the same before and after the exchange.
 */
static status given_speeds(rank_env *env, const rank_speeds *g, share_plan *s)
{
	for (size_t i = 0; i < g->p; i++)
		s->speed[i] = 1;
	status rc = ST_OK;
	if (env->o->speeds && !env->o->emulate)
		rc = rank_numbers_load(env, g, env->o->speeds, "speed", s->speed);
	for (size_t i = 0; rc == ST_OK && i < g->p; i++) {
		g->before[i] = g->after[i] = s->speed[i];
		s->rate[i] = job_time_nominal(s->speed[i]);
	}
	return rc;
}

static void to_fastest(double *speed, size_t n)
{
	double most = 0;
	for (size_t i = 0; i < n; i++)
		most = fmax(most, speed[i]);
	for (size_t i = 0; i < n; i++)
		speed[i] /= most;
}

static int by_placement(const void *a_, const void *b_)
{
	const placement *const *a = a_, *const *b = b_;
	if ((*a)->cpus != (*b)->cpus)
		return (*a)->cpus < (*b)->cpus ? -1 : 1;
	const int host = strcmp((*a)->host, (*b)->host);
	return host ? host : *a < *b ? -1 : 1; /* all of one array */
}

/* Pointers to all placements, those that are the same side by side; NULL without memory. */
static const placement **in_groups(rank_env *env, const rank_speeds *g)
{
	const placement **at = mem_array(&env->m, g->p, sizeof *at, "hosts", &env->e);
	for (size_t i = 0; at && i < g->p; i++)
		at[i] = &g->placement[i];
	if (at)
		qsort(at, g->p, sizeof *at, by_placement);
	return at;
}

/* How many, from `first` on, are the same. */
static size_t group_size(const placement *const *at, size_t first, size_t p)
{
	size_t n = 1;
	while (first + n < p && at[first + n]->cpus == at[first]->cpus &&
	       strcmp(at[first + n]->host, at[first]->host) == 0)
		n++;
	return n;
}

/* The rates of ranks that are alike, n of them, become their mean. */
static void to_mean(const rank_speeds *g, const placement *const *alike, size_t n, rates *rate)
{
	rates sum = { 0 };
	for (size_t i = 0; i < n; i++) {
		const rates *r = &rate[alike[i] - g->placement];
		sum.sort_s += 1 / r->sort_s;
		sum.merge_s += 1 / r->merge_s;
		sum.copy_s += 1 / r->copy_s;
	}
	const double k = (double)n;
	const rates mean = { .sort_s = k / sum.sort_s,
			     .merge_s = k / sum.merge_s,
			     .copy_s = k / sum.copy_s };
	for (size_t i = 0; i < n; i++)
		rate[alike[i] - g->placement] = mean;
}

/* What is measured in a moment, at the speed that quotas allow a long run. */
static void to_quotas(const rank_speeds *g, rates *rate)
{
	for (size_t i = 0; i < g->p; i++) {
		const double slower = calibrate_slowdown(g->had, g->p, i);
		rate[i].sort_s *= slower;
		rate[i].merge_s *= slower;
		rate[i].copy_s *= slower;
	}
}

/* From measured rates: how fast each is with an equal share, of the fastest. */
static void measured_speeds(const settings *o, const rank_speeds *g, const placement *const *alike,
			    share_plan *s)
{
	const uint64_t n = s->records / g->p > 1000 ? s->records / g->p : 1000;
	to_quotas(g, s->rate);
	for (size_t i = 0, k; i < g->p; i += k)
		to_mean(g, alike + i, k = group_size(alike, i, g->p), s->rate);
	for (size_t i = 0; i < g->p; i++) {
		const double before_s = job_time_before_s(&s->rate[i], o, n);
		const double after_s = job_time_after_s(&s->rate[i], o, n);
		g->before[i] = 1 / before_s;
		g->after[i] = 1 / after_s;
		s->speed[i] = 1 / (before_s + after_s);
	}
	to_fastest(g->before, g->p);
	to_fastest(g->after, g->p);
	to_fastest(s->speed, g->p);
}

static status gather_ranks(rank_env *env, const rates *rate, const allowance *had, rank_speeds *g,
			   rates *all)
{
	const placement mine = own_placement(env->c);
	status rc = comm_gather(env->c, &mine, g->placement, sizeof mine, 0);
	for (size_t i = 0; i < g->p; i++)
		g->placement[i].host[HOST_BYTES - 1] = '\0'; /* whatever was said */
	if (rc == ST_OK && env->o->calibrate)
		rc = comm_gather(env->c, had, g->had, sizeof *had, 0);
	if (rc == ST_OK)
		rc = comm_gather(env->c, rate, all, sizeof *all, 0);
	return rc;
}

/* Launchers that are asked to, or do not know of each other, bind all their ranks to one processor.
 */
static void note_one_processor(rank_env *env, size_t p, const placement *const *alike)
{
	char q[QUOTED_BYTES];
	for (size_t i = 0, together; i < p; i += together) {
		const placement *s = alike[i];
		together = group_size(alike, i, p);
		if (together > 1 && s->count == 1 && s->online > 1) {
			err_set(&env->note, ST_RESOURCE,
				"%zu ranks on %s may use one and the same of its %" PRIu32
				" processors: was the launcher told to bind them so?",
				together, err_quoted(s->host, q), s->online);
			return;
		}
	}
}

/* MB/s as given, to seconds of a byte. */
static status given_rates(rank_env *env, const rank_speeds *g, const char *arg, const char *what,
			  share_plan *s, size_t at)
{
	double *mb_per_s =
		arg ? mem_array(&env->m, g->p, sizeof *mb_per_s, "rates", &env->e) : NULL;
	if (!mb_per_s)
		return arg ? ST_RESOURCE : ST_OK;
	const status rc = rank_numbers_load(env, g, arg, what, mb_per_s);
	for (size_t i = 0; rc == ST_OK && i < g->p; i++)
		*(double *)((char *)&s->rate[i] + at) = job_time_byte_s(mb_per_s[i]);
	mem_free(&env->m, mb_per_s);
	return rc;
}

static double mean_cpus(const settings *o, const rank_speeds *g, const placement *const *alike)
{
	double sum = 0;
	for (size_t i = 0, together; i < g->p; i += together) {
		together = group_size(alike, i, g->p);
		const double count = alike[i]->count ? alike[i]->count : 1, n = (double)together;
		sum += o->threads ? fmin(count, o->threads * n) : count;
	}
	return o->calibrate ? 1 : sum / (double)g->p;
}

/* At rank 0. */
static status find_speeds(rank_env *env, rank_speeds *g, share_plan *s)
{
	const placement **alike = in_groups(env, g);
	if (!alike)
		return ST_RESOURCE;
	if (env->c->processes > 1)
		note_one_processor(env, g->p, alike);
	if (env->o->calibrate)
		measured_speeds(env->o, g, alike, s);
	g->cpus = mean_cpus(env->o, g, alike);
	mem_free(&env->m, alike);
	status rc = env->o->calibrate ? ST_OK : given_speeds(env, g, s);
	if (rc == ST_OK && !env->o->from_root)
		rc = given_rates(env, g, env->o->links, "link", s, offsetof(rates, link_s));
	if (rc == ST_OK)
		rc = given_rates(env, g, env->o->disks, "disk", s, offsetof(rates, disk_s));
	return rc;
}

status rank_speeds_find(rank_env *env, unsigned threads, share_plan *s, rank_speeds *g)
{
	allowance had = { 0, 0, 0, 0 };
	rates rate = { 0 }; /* not in s: no rank may gather into what it sends */
	status rc = comm_agree(env->c, rank_speeds_alloc(env, g));
	if (rc == ST_OK && env->o->calibrate)
		rc = calibrate(env, threads, &rate, &had);
	if (rc == ST_OK)
		rc = gather_ranks(env, &rate, &had, g, s->rate);
	if (rc == ST_OK && g->p)
		rc = find_speeds(env, g, s);
	return rc;
}

/* A host's name, a hash of all of it, and a hash of the name and the processors. */
static void key_of(const placement *s, char key[WISDOM_KEY_BYTES])
{
	enum { SHOWN = 36 }; /* characters of the name; the hash stands for the rest */
	const size_t len = strlen(s->host);
	char host[HOST_BYTES];
	memcpy(host, s->host, sizeof host);
	for (char *c = host; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_')
			*c = '-';
	snprintf(key, WISDOM_KEY_BYTES, "%.*s:%08" PRIx32 ":%08" PRIx32, SHOWN, host,
		 (uint32_t)XXH3_64bits_withSeed(host, len, 0),
		 (uint32_t)XXH3_64bits_withSeed(s->host, len, s->cpus));
}

/* Ranks in the same place share its processors; none uses more than it has threads. */
status rank_speeds_name(rank_env *env, const rank_speeds *g, wisdom *w)
{
	const placement **at = in_groups(env, g);
	wisdom_rank *rank = mem_array(&env->m, g->p, sizeof *rank, "names", &env->e);
	status rc = at && rank ? ST_OK : ST_RESOURCE;
	for (size_t i = 0, n; rc == ST_OK && i < g->p; i += n) {
		n = group_size(at, i, g->p);
		double cpus = (at[i]->count ? at[i]->count : 1) / (double)n;
		if (env->o->threads)
			cpus = fmin(cpus, env->o->threads);
		for (size_t k = i; k < i + n; k++) {
			wisdom_rank *r = &rank[at[k] - g->placement];
			r->cpus = cpus;
			key_of(at[k], r->key);
		}
	}
	if (rc == ST_OK)
		rc = wisdom_set_ranks(w, rank, g->p, &env->e);
	mem_free(&env->m, at);
	mem_free(&env->m, rank);
	return rc;
}
