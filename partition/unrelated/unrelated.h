/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unrelated.h - whole shares for processors of any costs, and the choice between the methods. Not
 * installed. */
#ifndef UNRELATED_H
#define UNRELATED_H

#include "base/part.h"

/* Move share[] (any start within the capacities) to the plan of smallest makespan with sum items;
 * costs must be increasing. O((p + moves) log p). *too_far: by single moves this would take too
 * long, and share[] is not that plan; part_threshold() finds it. time, not NULL, wants speeds: it
 * receives the time of each share. */
hetpart_status part_round_exact(const part_procs *ps, uint64_t items, uint64_t *share,
				double *time, bool *too_far, hetpart_err *err);

/* Keeps what share[] has: only adds what lacks to the smallest next time, or takes what is too much
 * from the largest time. HETPART_EINVAL if share[] is far from items. */
hetpart_status part_round_keep(const part_procs *ps, uint64_t items, uint64_t *share,
			       hetpart_err *err);

/* Best shares for increasing costs by bisection on the makespan. O(p) memory, about 100 p calls of
 * the cost. HETPART_ERANGE when no finite makespan exists. lower, if not NULL: a time by which no
 * plan ends, for plans that the budget of ps ended. */
hetpart_status part_threshold(const part_procs *ps, uint64_t items, uint64_t *share,
			      double *lower, hetpart_err *err);

/* The same in multiples of a quantum, one processor having the rest on top. */
hetpart_status part_threshold_blocks(const part_procs *ps, uint64_t items, uint64_t quantum,
				     uint64_t *share, double *lower, hetpart_err *err);

/* Best shares for any costs: sums of sets, dynamic programme; of the options only the memory, and
 * the quantum, count. HETPART_ENOMEM over that memory, HETPART_ERANGE when no finite makespan
 * exists. Where the budget ends before: budget->why; or, of bitset, the best plan so far with its
 * lower bound, and HETPART_OK. */
hetpart_status part_bitset(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
			   hetpart_plan *plan, hetpart_err *err);
hetpart_status part_dp(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
		       hetpart_plan *plan, hetpart_err *err);
uint64_t part_bitset_bytes(uint64_t items, size_t nprocs);
uint64_t part_dp_bytes(uint64_t items, size_t nprocs, uint64_t quantum);

/* What to do where a method needs more memory than the options allow. */
#define QUANTUM_ADVICE "set a quantum"

/* The three above and the choice between them, as the options say; fills in plan's shares, method
 * and what stopped it. */
hetpart_status part_search(const part_procs *ps, const hetpart_opts *opts, hetpart_plan *plan,
			   hetpart_err *err);

#endif
