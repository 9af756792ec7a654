/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The budget of a rank: decisions of phase_budget that other phases need. */
#ifndef HETSORT_PHASES_MEMORY_PLAN_H
#define HETSORT_PHASES_MEMORY_PLAN_H

#include "job.h"

/* memory_plan_tmpdirs - return the *n directories for runs. */
const char *const *memory_plan_tmpdirs(const job *j, size_t *n);

/* memory_plan_holds - return whether this rank has enough memory to write out_recs records. */
bool memory_plan_holds(const job *j, uint64_t out_recs);

/* memory_plan_ended - update the budget when all records have arrived, so that their number is
 * known. */
void memory_plan_ended(job *j);

/* memory_plan_merges - return whether the last step is a merge of runs. */
static inline bool memory_plan_merges(const job *j)
{
	return settings_sorts_first(j->env.o) || j->memory.sort.spills;
}

#endif
