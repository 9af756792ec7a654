/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processors of a rank: its part of those that it shares with others, its threads, and the NUMA
 * nodes that these are bound to. */
#ifndef HETSORT_PHASES_PLACE_H
#define HETSORT_PHASES_PLACE_H

#include "values.h"

/* place_count - the rank's part of the processors, and its threads. Collective. */
status place_count(rank_env *env, cpu_share *cpus);

/* place_plan - where the threads of the rank run that has so many before it. */
numa_place place_plan(const rank_env *env, const cpu_share *c, unsigned before);

/* place_threads - look for NUMA nodes, where so many records of the job make it worth while, and
 * bind the calling thread and those that it starts. The report tells what became of it. */
void place_threads(rank_env *env, cpu_share *cpus, uint64_t recs);

#endif
