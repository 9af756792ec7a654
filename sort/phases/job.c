/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of several phases: steps that all ranks agree on, and plans that are made again. */
#include "job.h"
#include "base/minmax.h"

status job_each(job *j, job_step *const *step, size_t n)
{
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < n; i++)
		rc = comm_agree(j->env.c, step[i](j));
	return rc;
}

status job_replan(job *j)
{
	if (j->next.in)
		return ST_OK;
	return comm_agree(j->env.c, share_plan_copy(&j->env, &j->shares, &j->next));
}

status job_replan_out(job *j, uint64_t mine, const char *what)
{
	share_plan *next = &j->next;
	status rc = job_replan(j);
	if (rc == ST_OK)
		rc = comm_allgather(j->env.c, &mine, next->out, sizeof mine);
	if (rc == ST_OK && what)
		rc = share_plan_check(&j->env, next->records, next->out, false, what);
	if (rc == ST_OK)
		share_plan_sum_out(&j->env, next);
	return rc;
}

uint64_t *cuts_count(job *j)
{
	const cuts *c = &j->cuts;
	const size_t p = (size_t)j->env.c->size, count = c->s->count;
	uint64_t *send = mem_array(&j->env.m, p, sizeof *send, "counts", &j->env.e);
	for (size_t i = 0; send && i < p; i++)
		for (size_t k = 0; k < count; k++)
			send[i] += c->cut[(i + 1) * count + k] - c->cut[i * count + k];
	return send;
}

enum {
	LEAST_PEER_BYTES = 1 << 20, /* for each peer; of little data, what holds all of it */
	WINDOWS_PART = 16,
	LIMIT_PART = 8
};

uint64_t exchange_setup_windows(const rank_env *env, uint64_t total, uint64_t least_limit_bytes)
{
	const uint64_t mean = total * env->o->lay.record_bytes / (uint64_t)env->c->size;
	const uint64_t part = mean / WINDOWS_PART, most = least_limit_bytes / LIMIT_PART;
	const uint64_t peers = (uint64_t)(env->c->size - 1) * LEAST_PEER_BYTES;
	const uint64_t least = u64_min(u64_min(peers, EXCHANGE_LEAST_BYTES), 2 * mean);
	return u64_min(u64_min(u64_max(least, part), EXCHANGE_MOST_BYTES), most);
}

/* Fewer threads than there are processors for them may be one of several jobs, which would all
 * begin with the same node. */
numa_place place_plan(const job *j, unsigned before)
{
	const cpu_share *c = &j->cpus;
	const bool fills = c->threads >= (unsigned)c->processors;
	return numa_plan(c->numa, c->sharing, before, c->threads,
			 j->env.o->bind == BIND_AUTO && fills);
}
