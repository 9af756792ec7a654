/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0 is the only one there: it takes the place of each rank in turn, and makes its budget.
 * Ranks that read and write as much as the one before them have the same. */
#include "phases.h"
#include "place.h"

#include <stdlib.h>
#include <string.h>

static bool plans_alike(const share_plan *s, int i)
{
	return s->in[i] == s->in[i - 1] && s->out[i] == s->out[i - 1] &&
	       memcmp(&s->rate[i], &s->rate[i - 1], sizeof *s->rate) == 0;
}

/* As rank i would for itself; why it cannot stands in its result. */
static void plan_rank(rank_env *env, const settled *k, memory_plan *mp, int i, rank_result *r)
{
	env->c->rank = i;
	env->stats = r;
	env->e = (err){ ST_OK, "" };
	env->m.peak_bytes = env->m.now_bytes;
	free(mp->tmpdir);
	mp->tmpdir = NULL;
	r->predicted_s = 0;
	plan_note(env, k->s, k->sp);
	(void)phase_budget(env, k, mp);
	r->status = env->e.code;
	memcpy(r->text, env->e.text, sizeof r->text);
}

/* The ranks are threads of this process. */
static void note_place(const rank_env *env, const cpu_share *c, int i, rank_result *r)
{
	const numa_place p = place_plan(env, c, (unsigned)i);
	memcpy(r->numa_nodes, p.nodes, sizeof p.nodes);
	r->binding = (int32_t)p.binding;
}

/* From rank `first` on. */
static status plan_ranks(rank_env *env, const settled *k, memory_plan *mp, rank_result *all,
			 int first)
{
	rank_result *const own = env->stats;
	status rc = ST_OK;
	for (int i = first; i < env->c->size; i++) {
		const bool alike = i > first && plans_alike(k->s, i);
		all[i] = alike ? all[i - 1] : *own;
		if (!alike)
			plan_rank(env, k, mp, i, &all[i]);
		all[i].rank = i;
		note_place(env, k->cpus, i, &all[i]);
		rc = rc == ST_OK ? (status)all[i].status : rc;
	}
	env->c->rank = 0;
	env->stats = own;
	return rc;
}

status plan_for_all(rank_env *env, const settled *k, memory_plan *mp, rank_result *all, status rc)
{
	const bool spilled = mp->other_spills, copies = !mp->other_copies_not;
	for (int i = 0; i < env->c->size; i++)
		all[i].rank = i;
	if (!mp->limit.text[0]) /* rank 0 has not come so far */
		return rc;
	const status others = plan_ranks(env, k, mp, all, 1);
	if ((mp->other_spills && !spilled) || (mp->other_copies_not && copies))
		return plan_ranks(env, k, mp, all, 0);
	return rc == ST_OK ? others : rc;
}
