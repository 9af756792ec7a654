/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making, copying and checking plans of shares. 56 bytes a rank; the ranks of a process that holds
 * all of them have the first plan together. It is counted as nobody's memory. */
#include "share_plan.h"
#include "comm/process_pointer.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Stands before its arrays. */
struct share_arrays {
	atomic_int holders;
	size_t ranks; /* so many uint64_t, double or rates follow */
};

static share_arrays *alloc_arrays(rank_env *env, size_t bytes_a_rank)
{
	const size_t p = (size_t)env->c->size;
	size_t bytes;
	share_arrays *a = NULL;
	if (size_mul(p, bytes_a_rank, &bytes))
		a = calloc(1, sizeof *a + bytes);
	if (a)
		*a = (share_arrays){ .holders = 1, .ranks = p };
	else
		err_set(&env->e, ST_RESOURCE, "no memory for the shares of %zu ranks", p);
	return a;
}

/* The last one frees them. */
static void let_go(share_arrays *a)
{
	if (a && atomic_fetch_sub(&a->holders, 1) == 1)
		free(a);
}

static void find_shares(share_plan *s)
{
	s->in = (void *)(s->shares + 1);
	s->out = s->in + s->shares->ranks;
	s->before = s->out + s->shares->ranks;
}

static status alloc_shares(rank_env *env, share_plan *s)
{
	s->shares = alloc_arrays(env, sizeof *s->in + sizeof *s->out + sizeof *s->before);
	if (!s->shares)
		return ST_RESOURCE;
	find_shares(s);
	return ST_OK;
}

static status alloc_all(rank_env *env, share_plan *s)
{
	s->speeds = alloc_arrays(env, sizeof *s->speed + sizeof *s->rate);
	return s->speeds ? alloc_shares(env, s) : ST_RESOURCE;
}

/* Rank 0's arrays are those of all. */
static status share(rank_env *env, share_plan *s)
{
	process_pointer both[] = { process_pointer_to(s->speeds), process_pointer_to(s->shares) };
	const status rc = comm_bcast(env->c, both, sizeof both, 0);
	if (rc != ST_OK || env->c->rank == 0)
		return rc;
	if (!process_pointer_is_whole(&both[0]) || !process_pointer_is_whole(&both[1]))
		return err_set(&env->e, ST_PEER,
			       "what rank 0 told of where the shares are makes no sense");
	s->speeds = both[0].at;
	s->shares = both[1].at;
	atomic_fetch_add(&s->speeds->holders, 1);
	atomic_fetch_add(&s->shares->holders, 1);
	find_shares(s);
	return ST_OK;
}

status share_plan_make(rank_env *env, share_plan *s)
{
	*s = (share_plan){ .common = env->c->process_ranks == env->c->size };
	const bool own = !s->common || env->c->rank == 0;
	status rc = comm_agree(env->c, own ? alloc_all(env, s) : ST_OK);
	if (rc == ST_OK && s->common)
		rc = comm_agree(env->c, share(env, s)); /* before rank 0 may let go */
	if (rc == ST_OK) {
		s->speed = (void *)(s->speeds + 1);
		s->rate = (void *)(s->speed + s->speeds->ranks);
	}
	return rc;
}

status share_plan_copy(rank_env *env, const share_plan *old, share_plan *s)
{
	const size_t bytes = (size_t)env->c->size * sizeof *s->in;
	*s = (share_plan){ .records = old->records, .speed = old->speed, .rate = old->rate };
	if (alloc_shares(env, s) != ST_OK)
		return ST_RESOURCE;
	memcpy(s->in, old->in, bytes);
	memcpy(s->out, old->out, bytes);
	memcpy(s->before, old->before, bytes);
	return ST_OK;
}

void share_plan_drop(share_plan *s)
{
	let_go(s->shares);
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
	let_go(s->speeds);
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
			       "the shares that rank 0 has planned for %s are not those of %" PRIu64
			       " records",
			       what, records);
	return ST_OK;
}
