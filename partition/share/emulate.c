/* SPDX-License-Identifier: GPL-3.0-or-later */
/* emulate.c - process emulation [S2]: how many of M equal processes each node runs, and which M
 * fits the ratings best. If node i has m_i processes and rating r_i, the next process goes to the
 * node with the smallest (m_i + 1)/r_i. This is optimal for each M. Must not contain: costs. Costs
 * O(p log p); the best M up to a limit costs O(limit log p). */
#include <stdlib.h>

#include "share.h"

hetpart_status hetpart_emulate_create(hetpart_plan **out, const double *ratings, size_t nprocs,
				      uint64_t processes, hetpart_err *err)
{
	hetpart_cost *each;
	if (out)
		*out = NULL;
	if (!out || !ratings)
		return part_is_null(err, out ? "ratings" : "out");
	hetpart_status rc = part_check_numbers(ratings, nprocs, false, "rating of processor", err);
	if (rc == HETPART_OK)
		rc = hetpart_cost_linear(&each, 1, err);
	if (rc != HETPART_OK)
		return rc;
	rc = hetpart_share_create(out, processes, ratings, nprocs, each, NULL, err);
	hetpart_cost_free(each);
	if (rc == HETPART_OK)
		(*out)->method = "process emulation";
	return rc;
}

double hetpart_emulate_efficiency(const hetpart_plan *plan, const double *ratings)
{
	long double sum = 0, worst = 0;
	if (!plan || !ratings)
		return NAN;
	for (size_t i = 0; i < plan->nprocs; i++) {
		sum += ratings[i];
		worst = fmaxl(worst, plan->share[i] / (long double)ratings[i]);
	}
	return (double)(plan->items / (sum * worst));
}

hetpart_status hetpart_emulate_best_within(hetpart_plan **out, const double *ratings, size_t nprocs,
					   uint64_t most, const hetpart_limits *limits,
					   hetpart_err *err)
{
	part_budget budget;
	/* check the arguments */
	hetpart_status rc = hetpart_emulate_create(out, ratings, nprocs, 1, err);
	if (rc != HETPART_OK)
		return rc;
	hetpart_plan_free(*out);
	*out = NULL;
	if (most == 0 || most > HETPART_EMULATE_MAX)
		return part_fail(err, HETPART_ERANGE,
				 "the limit of processes is '%llu': must be 1 to %llu",
				 (unsigned long long)most, (unsigned long long)HETPART_EMULATE_MAX);
	rc = part_budget_within(&budget, limits, err);
	if (rc != HETPART_OK)
		return rc;
	part_turn *const heap = part_calloc(nprocs, sizeof *heap);
	if (!heap)
		return part_no_memory(err, nprocs, "processors");
	/* Add one process at a time until the budget ends. Keep the first M with the largest
	 * speed. */
	double fastest = 0;
	uint64_t best = 1;
	for (size_t i = nprocs; i-- > 0;) {
		heap[i] = (part_turn){ 1 / ratings[i], i, 0 };
		part_turn_sift(heap, nprocs, i);
	}
	for (uint64_t m = 1; m <= most; m++) {
		part_turn *const top = &heap[0];
		const double speed = (double)m / top->key; /* top now needs the longest time */
		if (speed > fastest * (1 + 1e-12)) {
			fastest = speed;
			best = m;
		}
		top->key = (double)(++top->count + 1) / ratings[top->proc];
		part_turn_sift(heap, nprocs, 0);
		if (part_spend(&budget, 16))
			break;
	}
	free(heap);
	rc = hetpart_emulate_create(out, ratings, nprocs, best, err);
	if (rc == HETPART_OK)
		(*out)->stopped = budget.why;
	return rc;
}

hetpart_status hetpart_emulate_best(hetpart_plan **out, const double *ratings, size_t nprocs,
				    uint64_t most, hetpart_err *err)
{
	return hetpart_emulate_best_within(out, ratings, nprocs, most, &PART_NO_LIMITS, err);
}
