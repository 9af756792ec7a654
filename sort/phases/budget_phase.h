/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What other phases ask about the budget. */
#ifndef HETSORT_PHASES_BUDGET_PHASE_H
#define HETSORT_PHASES_BUDGET_PHASE_H

#include "values.h"
#include "spill/read_runs.h"

/* budget_default_tmpdir - where runs go if no directory is named: $TMPDIR, or the output's. NULL
 * without memory. */
char *budget_default_tmpdir(const settings *o);

/* budget_tmpdirs - where runs go, *n directories. */
const char *const *budget_tmpdirs(const rank_env *env, const memory_plan *mp, size_t *n);

/* budget_holds - would this rank's memory hold so many records to be written? */
bool budget_holds(const rank_env *env, const settled *k, uint64_t out_recs);

/* budget_ended - all that this rank holds has come: what it takes now that its size is known. k->s
 * has the shares from before. */
void budget_ended(rank_env *env, const settled *k, const read_runs *d, memory_plan *mp);

/* budget_spreads - would what exceeds the memory be exchanged first? Not what each rank or only one
 * has: it is sorted where it is, and moved while it is merged. */
static inline bool budget_spreads(const rank_env *env, const input *in)
{
	return env->c->size > 1 && !settings_strategy(env->o)->sorts_first && !in->per_rank &&
	       !env->o->from_root;
}

/* budget_merges - is the last step a merge of runs? */
static inline bool budget_merges(const rank_env *env, const memory_plan *mp)
{
	return settings_strategy(env->o)->sorts_first || mp->budget.spills;
}

#endif
