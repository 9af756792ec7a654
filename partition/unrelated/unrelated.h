/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unrelated.h - whole shares for processors with any costs; the choice of a method. Internal. */
#ifndef UNRELATED_H
#define UNRELATED_H

#include "base/part.h"

/* Change share[], which has any start within the capacities, to the plan of `items` items with the
 * smallest makespan. The processors have speeds and one increasing cost. Store the time of each
 * share in time[]. Costs O((p + moves) log p). If too many moves of single items would be needed,
 * set *too_far: share[] is then not this plan, so use part_threshold(). */
hetpart_status part_round_exact(const part_procs *ps, uint64_t items, uint64_t *share, double *time,
				bool *too_far, hetpart_err *err);

/* Change the sum of share[] to items: add missing items where they end first, or remove surplus
 * items from the processors that end last. Return HETPART_EINVAL if the sum is far from items. */
hetpart_status part_round_keep(const part_procs *ps, uint64_t items, uint64_t *share,
			       hetpart_err *err);

/* Find the best shares for increasing costs by bisection on the makespan, with O(p) memory and
 * about 100 p calls of the cost. Return HETPART_ERANGE if no finite makespan exists. Unless lower
 * is NULL, set *lower to a time that no plan beats, in case the budget of ps ends first. */
hetpart_status part_threshold(const part_procs *ps, uint64_t items, uint64_t *share, double *lower,
			      hetpart_err *err);

/* Find the best shares for any costs: by sums of sets, or by a dynamic programme. Only the options
 * for memory and quantum are used. Return HETPART_ENOMEM if more memory is needed, HETPART_ERANGE
 * if no finite makespan exists. If the budget ends first, return budget->why. If part_bitset() has
 * then found plans, it sets the best one with a lower bound, and returns HETPART_OK. */
hetpart_status part_bitset(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
			   hetpart_plan *plan, hetpart_err *err);
hetpart_status part_dp(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
		       hetpart_plan *plan, hetpart_err *err);
uint64_t part_bitset_bytes(uint64_t items, size_t nprocs);
uint64_t part_dp_bytes(uint64_t items, size_t nprocs, uint64_t quantum);

/* Choose one of these three methods by the options. Set the plan's shares, method and `stopped`. */
hetpart_status part_search(const part_procs *ps, const hetpart_opts *opts, hetpart_plan *plan,
			   hetpart_err *err);

#endif
