/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unrelated.h - whole shares for processors of any costs, and the choice between the methods. Not
 * installed. */
#ifndef UNRELATED_H
#define UNRELATED_H

#include "base/part.h"

/* Move share[] (any start within the capacities) to the plan of smallest makespan with sum items.
 * The processors have speeds and an increasing cost. Store the time of each share in time[]. Costs
 * O((p + moves) log p). *too_far: this would take too many single moves, and share[] is not that
 * plan; use part_threshold(). */
hetpart_status part_round_exact(const part_procs *ps, uint64_t items, uint64_t *share, double *time,
				bool *too_far, hetpart_err *err);

/* Complete share[] without moving what it has: add missing items to the smallest next time, or
 * remove surplus items from the largest time. Return HETPART_EINVAL if the sum is far from items.
 */
hetpart_status part_round_keep(const part_procs *ps, uint64_t items, uint64_t *share,
			       hetpart_err *err);

/* Find the best shares for increasing costs by bisection on the makespan, with O(p) memory and
 * about 100 p calls of the cost. Return HETPART_ERANGE if no finite makespan exists. If lower is
 * not NULL, it receives a time by which no plan ends, for plans that the budget of ps ended. */
hetpart_status part_threshold(const part_procs *ps, uint64_t items, uint64_t *share, double *lower,
			      hetpart_err *err);

/* Find the best shares for any costs: by sums of sets, or by a dynamic programme. Of the options
 * only the memory and the quantum count. Return HETPART_ENOMEM over that memory, HETPART_ERANGE if
 * no finite makespan exists. If the budget ends first, return budget->why; or, from part_bitset(),
 * the best plan so far with its lower bound, and HETPART_OK. */
hetpart_status part_bitset(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
			   hetpart_plan *plan, hetpart_err *err);
hetpart_status part_dp(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
		       hetpart_plan *plan, hetpart_err *err);
uint64_t part_bitset_bytes(uint64_t items, size_t nprocs);
uint64_t part_dp_bytes(uint64_t items, size_t nprocs, uint64_t quantum);

/* Choose between the three above as the options say. Set the plan's shares, its method, and what
 * stopped it. */
hetpart_status part_search(const part_procs *ps, const hetpart_opts *opts, hetpart_plan *plan,
			   hetpart_err *err);

#endif
