/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What phases have in common: steps that all ranks agree on, plans that are made again, and what
 * each rank says, gathered. */
#include "job.h"

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

void job_end_phase(job *j, status rc)
{
	if (rc == ST_OK && j->next.in)
		share_plan_replace(&j->shares, &j->next);
	share_plan_drop(&j->next);
	j->next = (share_plan){ 0 };
}

void *env_allgather(rank_env *env, const void *mine, size_t bytes, const char *name, status *rc)
{
	void *all = mem_array(&env->m, (size_t)env->c->size, bytes, name, &env->e);
	*rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	if (*rc == ST_OK)
		*rc = comm_allgather(env->c, mine, all, bytes);
	if (*rc == ST_OK)
		return all;
	mem_free(&env->m, all);
	return NULL;
}
