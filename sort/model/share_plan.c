/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making, copying and checking plans of shares. 40 bytes a rank each. */
#include "share_plan.h"

#include <inttypes.h>
#include <string.h>

static status alloc_shares(rank_env *env, share_plan *s)
{
	const size_t p = (size_t)env->c->size;
	s->in = mem_array(&env->m, p, sizeof *s->in, "shares", &env->e);
	s->out = mem_array(&env->m, p, sizeof *s->out, "shares", &env->e);
	s->before = mem_array(&env->m, p, sizeof *s->before, "shares", &env->e);
	return s->in && s->out && s->before ? ST_OK : ST_RESOURCE;
}

status share_plan_make(rank_env *env, share_plan *s)
{
	const size_t p = (size_t)env->c->size;
	*s = (share_plan){ 0 };
	s->speed = mem_array(&env->m, p, sizeof *s->speed, "speeds", &env->e);
	s->rate = mem_array(&env->m, p, sizeof *s->rate, "rates", &env->e);
	return s->speed && s->rate ? alloc_shares(env, s) : ST_RESOURCE;
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

void share_plan_drop(rank_env *env, share_plan *s)
{
	mem_free(&env->m, s->in);
	mem_free(&env->m, s->out);
	mem_free(&env->m, s->before);
}

void share_plan_replace(rank_env *env, share_plan *old, share_plan *s)
{
	share_plan_drop(env, old);
	*old = *s;
	*s = (share_plan){ 0 };
}

void share_plan_free(rank_env *env, share_plan *s)
{
	share_plan_drop(env, s);
	mem_free(&env->m, s->speed);
	mem_free(&env->m, s->rate);
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
