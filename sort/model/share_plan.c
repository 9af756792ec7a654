/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of shares. Rank 0 finds the shares, the other ranks receive them.
 *
 * A plan takes 80 bytes per rank. If one process has all ranks, they share the arrays of the first
 * plan. The memory of a plan counts for no rank. */
#include "shares.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The header of arrays in one block of memory. */
struct share_arrays {
	atomic_int holders; /* plans that use the arrays; the last one frees them */
	size_t ranks;       /* entries of each array */
};

static share_arrays *share_arrays_alloc(rank_env *env, size_t bytes_a_rank)
{
	const size_t p = (size_t)env->c->size;
	share_arrays *a = calloc(1, sizeof *a + p * bytes_a_rank);
	if (a)
		*a = (share_arrays){ .holders = 1, .ranks = p };
	else
		err_set(&env->e, ST_RESOURCE, "no memory for the shares of %zu ranks", p);
	return a;
}

static void share_arrays_release(share_arrays *a)
{
	if (a && atomic_fetch_sub(&a->holders, 1) == 1)
		free(a);
}

static void share_plan_set_arrays(share_plan *s)
{
	s->in = (void *)(s->shares + 1);
	s->out = s->in + s->shares->ranks;
	s->before = s->out + s->shares->ranks;
}

static status share_plan_alloc(rank_env *env, share_plan *s)
{
	s->shares = share_arrays_alloc(env, sizeof *s->in + sizeof *s->out + sizeof *s->before);
	if (!s->shares)
		return ST_RESOURCE;
	share_plan_set_arrays(s);
	return ST_OK;
}

/* Let all ranks use the arrays of rank 0. */
static status share_plan_join(rank_env *env, share_plan *s)
{
	process_pointer both[] = { process_pointer_to(s->speeds), process_pointer_to(s->shares) };
	const status rc = comm_bcast(env->c, both, sizeof both, 0);
	if (rc != ST_OK || env->c->rank == 0)
		return rc;
	if (!process_pointer_is_whole(&both[0]) || !process_pointer_is_whole(&both[1]))
		return err_set(&env->e, ST_PEER, "rank 0 sent invalid addresses of the shares");
	s->speeds = both[0].at;
	s->shares = both[1].at;
	atomic_fetch_add(&s->speeds->holders, 1);
	atomic_fetch_add(&s->shares->holders, 1);
	share_plan_set_arrays(s);
	return ST_OK;
}

status share_plan_make(rank_env *env, share_plan *s)
{
	status rc = ST_OK;
	*s = (share_plan){ .common = env->c->process_ranks == env->c->size };
	if (!s->common || env->c->rank == 0) {
		s->speeds = share_arrays_alloc(env, sizeof *s->speed + sizeof *s->rate);
		rc = s->speeds ? share_plan_alloc(env, s) : ST_RESOURCE;
	}
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK && s->common)
		rc = comm_agree(env->c, share_plan_join(env, s)); /* all join before any frees */
	if (rc == ST_OK) {
		s->speed = (void *)(s->speeds + 1);
		s->rate = (void *)(s->speed + s->speeds->ranks);
	}
	return rc;
}

status share_plan_copy(rank_env *env, const share_plan *old, share_plan *s)
{
	const size_t bytes = (size_t)env->c->size * sizeof *s->in;
	*s = (share_plan){ .records = old->records,
			   .measured = old->measured,
			   .speed = old->speed,
			   .rate = old->rate };
	if (share_plan_alloc(env, s) != ST_OK)
		return ST_RESOURCE;
	memcpy(s->in, old->in, bytes);
	memcpy(s->out, old->out, bytes);
	memcpy(s->before, old->before, bytes);
	return ST_OK;
}

void share_plan_drop(share_plan *s)
{
	share_arrays_release(s->shares);
}

void share_plan_replace(share_plan *old, share_plan *s)
{
	share_plan_drop(old);
	s->speeds = old->speeds;
	*old = *s;
	*s = (share_plan){ 0 };
}

void share_plan_free(share_plan *s)
{
	share_plan_drop(s);
	share_arrays_release(s->speeds);
}

void share_plan_sum_out(const rank_env *env, share_plan *s)
{
	uint64_t sum = 0;
	for (int i = 0; i < env->c->size; i++)
		s->before[i] = sum += s->out[i];
}

status share_plan_check(rank_env *env, uint64_t records, const uint64_t *share, bool is_stdin,
			const char *what)
{
	uint64_t sum = 0;
	bool ok = true;
	for (int i = 0; i < env->c->size; i++)
		ok &= !__builtin_add_overflow(sum, share[i], &sum);
	if (!ok || (sum != records && !is_stdin))
		return err_set(&env->e, ST_PEER,
			       "the shares that rank 0 has planned for %s do not add up to %" PRIu64
			       " records",
			       what, records);
	return ST_OK;
}
