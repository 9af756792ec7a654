/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which ranks share the processors of a host, how many threads each starts, and where these run. */
#include "place.h"
#include "base/processors.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { LEAST_PLACED_BYTES = 32 << 20 }; /* of a rank */

/* Where a rank runs: sums of the host's name, and of the processors. */
typedef struct rank_site {
	uint64_t host, set;
} rank_site;

/* Those of the same host, and of these the ones with the same processors. */
static void count_neighbours(const rank_site *site, int size, int rank, cpu_share *cpus)
{
	const rank_site mine = site[rank];
	for (int i = 0; i < size; i++) {
		const bool here = site[i].host == mine.host;
		const bool shares = here && site[i].set == mine.set;
		cpus->ranks_here += here;
		cpus->sharing += shares;
		cpus->before += shares && i < rank;
	}
}

static status find_neighbours(rank_env *env, uint64_t set, cpu_share *cpus)
{
	const size_t p = (size_t)env->c->size;
	*cpus = (cpu_share){ .ranks_here = (unsigned)p,
			     .sharing = (unsigned)p,
			     .before = (unsigned)env->c->rank };
	if (env->c->process_ranks == env->c->size)
		return ST_OK;
	const rank_site mine = { XXH3_64bits(env->c->host, strlen(env->c->host)), set };
	rank_site *site = mem_array(&env->m, p, sizeof *site, "hosts", &env->e);
	status rc = comm_agree(env->c, site ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_allgather(env->c, &mine, site, sizeof mine);
	if (rc == ST_OK) {
		*cpus = (cpu_share){ 0 };
		count_neighbours(site, env->c->size, env->c->rank, cpus);
	}
	mem_free(&env->m, site);
	return rc;
}

/* Ranks of one host share its processors, or those of the job, unless the launcher has divided
 * them. */
status place_count(rank_env *env, cpu_share *cpus)
{
	const processors cpu = processors_find();
	const status rc = find_neighbours(env, cpu.set_hash, cpus);
	cpus->processors = (double)processors_usable(&cpu) / cpus->sharing;
	const unsigned mine = (unsigned)cpus->processors;
	cpus->threads = env->o->threads ? env->o->threads : mine ? mine : 1;
	return rc;
}

/* Fewer threads than there are processors for them may be one of several jobs, which would all
 * begin with the same node. */
numa_place place_plan(const rank_env *env, const cpu_share *c, unsigned before)
{
	const bool fills = c->threads >= (unsigned)c->processors;
	return numa_plan(c->numa, c->sharing, before, c->threads,
			 env->o->bind == BIND_AUTO && fills);
}

/* Before memory is touched. Looking for nodes takes as long as a short sort. */
void place_threads(rank_env *env, cpu_share *cpus, uint64_t recs)
{
	const settings *o = env->o;
	if (!o->explain && recs / (uint64_t)env->c->size * o->lay.record_bytes < LEAST_PLACED_BYTES)
		return;
	cpus->numa = numa_open(o->explain);
	numa_place p = place_plan(env, cpus, cpus->before);
	if (p.binding != NUMA_UNBOUND && !o->explain && !numa_bind(cpus->numa))
		p = numa_plan(cpus->numa, cpus->sharing, cpus->before, cpus->threads, false);
	memcpy(env->stats->numa_nodes, p.nodes, sizeof p.nodes);
	env->stats->binding = (int32_t)p.binding;
}
