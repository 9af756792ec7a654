/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The context of every step of a rank: its comm, settings, memory, first failure, and its part of
 * the report. One per rank, used by its main thread. */
#ifndef HETSORT_COMM_RANK_ENV_H
#define HETSORT_COMM_RANK_ENV_H

#include "base/mem.h"
#include "base/settings.h"
#include "comm.h"

struct rank_result; /* model/rank_result.h */

typedef struct rank_env {
	comm *c;
	const settings *o;
	mem m;
	err e;
	err note; /* rank 0: a note to print, although nothing failed */
	struct rank_result *stats;
} rank_env;

/* own_share - return the share of this rank. */
static inline uint64_t own_share(const rank_env *env, const uint64_t *share)
{
	return share[env->c->rank];
}

/* share_before - return the sum of the shares of the ranks before this one. */
static inline uint64_t share_before(const rank_env *env, const uint64_t *share)
{
	uint64_t sum = 0;
	for (int i = 0; i < env->c->rank; i++)
		sum += share[i];
	return sum;
}

/* env_allgather - collective: return an array with the data of each rank, to be freed with
 * mem_free, or NULL on failure. *rc is the status. Messages call the array `name`. */
static inline void *env_allgather(rank_env *env, const void *mine, size_t bytes, const char *name,
				  status *rc)
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

#endif
