/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding out how fast the ranks are: names, speeds and rates of all of them come to rank 0. Takes
 * no time but for --speeds=auto, which measures for a fifth of a second. */
#include "rank_speeds.h"
#include "calibrate.h"
#include "speeds.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Of the at most 0.2 s that calibrating may take; the rest goes into making the sample. */
static const double CALIBRATE_S = 0.17;

void rank_speeds_free(job *j, rank_speeds *g)
{
	mem_free(&j->m, g->placement);
	mem_free(&j->m, g->had);
	mem_free(&j->m, g->before);
	mem_free(&j->m, g->after);
	*g = (rank_speeds){ 0 };
}

static status rank_speeds_alloc(job *j, rank_speeds *g)
{
	*g = (rank_speeds){ .p = j->c->rank == 0 ? (size_t)j->c->size : 0 };
	g->placement = mem_array(&j->m, g->p, sizeof *g->placement, "hosts", &j->e);
	g->had = mem_array(&j->m, g->p, sizeof *g->had, "quotas", &j->e);
	g->before = mem_array(&j->m, g->p, sizeof *g->before, "speeds", &j->e);
	g->after = mem_array(&j->m, g->p, sizeof *g->after, "speeds", &j->e);
	return g->placement && g->had && g->before && g->after ? ST_OK : ST_RESOURCE;
}

static placement own_placement(const comm *c)
{
	placement s = { .cpus = 0 };
	cpu_set_t set;
	memcpy(s.host, c->host, sizeof s.host);
	if (sched_getaffinity(0, sizeof set, &set) == 0) {
		const long online = sysconf(_SC_NPROCESSORS_ONLN);
		s.cpus = XXH3_64bits(&set, sizeof set);
		s.count = (uint32_t)CPU_COUNT(&set);
		s.online = online > 0 ? (uint32_t)online : 0;
	}
	return s;
}

bool placement_same(const placement *a, const placement *b)
{
	return a->cpus == b->cpus && strcmp(a->host, b->host) == 0;
}

uint64_t placement_hash(const placement *s)
{
	return XXH3_64bits_withSeed(s->host, strlen(s->host), s->cpus);
}

/* All ranks measure themselves, at the same time. */
static status calibrate(job *j, allowance *had)
{
	calibration *c = NULL;
	status rc = calibrate_open(&c, &j->m, &j->o->lay, j->threads, j->c->size, &j->e);
	rc = comm_agree(j->c, rc);
	if (rc == ST_OK) {
		const quota before = quota_find("");
		j->mine.rate = calibrate_run(c, CALIBRATE_S, &had->got_cpus);
		const quota after = quota_find("");
		had->quota_cpus = after.cpus;
		had->group = XXH3_64bits_withSeed(j->c->host, strlen(j->c->host), after.group);
		had->waits = after.throttled - before.throttled;
		if (!(j->mine.rate.sort_s > 0))
			rc = err_set(&j->e, ST_INTERNAL, "the clock stood still while calibrating");
	}
	calibrate_free(c);
	return comm_agree(j->c, rc);
}

/* What was asked for, else 1 for all, as virtual ranks are; the same before and after the exchange.
 */
static status given_speeds(job *j, const rank_speeds *g)
{
	for (size_t i = 0; i < g->p; i++)
		j->speed[i] = 1;
	status rc = ST_OK;
	if (j->o->speeds && !j->o->emulate) {
		const char **name = mem_array(&j->m, g->p, sizeof *name, "host names", &j->e);
		for (size_t i = 0; name && i < g->p; i++)
			name[i] = g->placement[i].host;
		rc = name ? speeds_load(j->o->speeds, &(speeds_want){ "speed", g->p, name },
					j->speed, &j->e)
			  : ST_RESOURCE;
		mem_free(&j->m, name);
	}
	for (size_t i = 0; rc == ST_OK && i < g->p; i++) {
		g->before[i] = g->after[i] = j->speed[i];
		j->rate[i] = rates_nominal(j->speed[i]);
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

/* The rates of ranks that are alike become their mean. */
static void level(const job *j, const rank_speeds *g, size_t first)
{
	rates sum = { 0, 0, 0 };
	double n = 0;
	for (size_t i = first; i < g->p; i++)
		if (placement_same(&g->placement[i], &g->placement[first])) {
			sum.sort_s += 1 / j->rate[i].sort_s;
			sum.merge_s += 1 / j->rate[i].merge_s;
			sum.copy_s += 1 / j->rate[i].copy_s;
			n++;
		}
	const rates mean = { n / sum.sort_s, n / sum.merge_s, n / sum.copy_s };
	for (size_t i = first; i < g->p; i++)
		if (placement_same(&g->placement[i], &g->placement[first]))
			j->rate[i] = mean;
}

static bool is_first(const rank_speeds *g, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (placement_same(&g->placement[k], &g->placement[i]))
			return false;
	return true;
}

/* What is measured in a moment, at the speed that quotas allow a long run. */
static void to_quotas(const job *j, const rank_speeds *g)
{
	for (size_t i = 0; i < g->p; i++) {
		const double slower = quota_slowdown(g->had, g->p, i);
		j->rate[i].sort_s *= slower;
		j->rate[i].merge_s *= slower;
		j->rate[i].copy_s *= slower;
	}
}

/* From measured rates: how fast each is with an equal share, of the fastest. */
static void measured_speeds(const job *j, const rank_speeds *g)
{
	const uint64_t n = j->records / g->p > 1000 ? j->records / g->p : 1000;
	to_quotas(j, g);
	for (size_t i = 0; i < g->p; i++)
		if (is_first(g, i))
			level(j, g, i);
	for (size_t i = 0; i < g->p; i++) {
		const double before_s = rates_before_s(&j->rate[i], j->o, n);
		const double after_s = rates_after_s(&j->rate[i], j->o, n);
		g->before[i] = 1 / before_s;
		g->after[i] = 1 / after_s;
		j->speed[i] = 1 / (before_s + after_s);
	}
	to_fastest(g->before, g->p);
	to_fastest(g->after, g->p);
	to_fastest(j->speed, g->p);
}

static status gather_ranks(job *j, rank_speeds *g, const allowance *had)
{
	const placement mine = own_placement(j->c);
	const rates rate = j->mine.rate; /* no rank may gather into what it sends */
	status rc = comm_gather(j->c, &mine, g->placement, sizeof mine, 0);
	for (size_t i = 0; i < g->p; i++)
		g->placement[i].host[HOST_BYTES - 1] = '\0'; /* whatever was said */
	if (rc == ST_OK && j->o->calibrate)
		rc = comm_gather(j->c, had, g->had, sizeof *had, 0);
	if (rc == ST_OK)
		rc = comm_gather(j->c, &rate, j->rate, sizeof rate, 0);
	return rc;
}

/* Launchers that were told so, or do not know of each other, bind all their ranks to one processor.
 */
static void note_one_processor(job *j, const rank_speeds *g)
{
	char q[QUOTED_BYTES];
	for (size_t i = 0; i < g->p; i++) {
		const placement *s = &g->placement[i];
		size_t together = 0;
		for (size_t k = i; k < g->p && s->count == 1 && s->online > 1; k++)
			together += placement_same(s, &g->placement[k]);
		if (together > 1) {
			err_set(&j->note, ST_RESOURCE,
				"%zu ranks on %s may use one and the same of its %" PRIu32
				" processors: was the launcher told to bind them so?",
				together, err_quoted(s->host, q), s->online);
			return;
		}
	}
}

status rank_speeds_find(job *j, rank_speeds *g)
{
	allowance had = { 0, 0, 0, 0 };
	status rc = comm_agree(j->c, rank_speeds_alloc(j, g));
	if (rc == ST_OK && j->o->calibrate)
		rc = calibrate(j, &had);
	if (rc == ST_OK)
		rc = gather_ranks(j, g, &had);
	if (rc == ST_OK && g->p && j->c->processes > 1)
		note_one_processor(j, g);
	if (rc == ST_OK && g->p && j->o->calibrate)
		measured_speeds(j, g);
	else if (rc == ST_OK && g->p)
		rc = given_speeds(j, g);
	return rc;
}
