/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of a rank: its notes, its place, its predicted time. */
#ifndef HETSORT_PHASES_WORK_PLAN_H
#define HETSORT_PHASES_WORK_PLAN_H

#include "job.h"

/* plan_note - copy the planned work of this rank to its result, j->env.stats. */
void plan_note(job *j);

/* plan_place - choose NUMA nodes for the threads of a rank, if `before` lower ranks share its
 * processors. */
numa_place plan_place(const job *j, unsigned before);

/* plan_bound_ranks - at rank 0, after phase_plan: return the ranks as the planner sees them. */
bound_ranks plan_bound_ranks(const job *j);

/* plan_lanes_most - collective: set *most to the lanes with which this rank does not delay the
 * slowest link, disk or rank; more would only make messages shorter. */
status plan_lanes_most(job *j, unsigned *most);

/* plan_read_s - return the seconds that this rank needs to read n records with these rates. */
double plan_read_s(const job *j, const rates *r, uint64_t n);

/* plan_time - after the budget was made, predict the time of this rank and of its stages. run_dir:
 * the directory for runs, if the rank spills. Looks whether the input is in the page cache. With
 * --speeds=auto, measures the disk if there is much to write. */
void plan_time(job *j, const char *run_dir);

#endif
