/* SPDX-License-Identifier: GPL-3.0-or-later */
/* emulate.c - process emulation [S2]: how many of M equal processes each node runs, and which M
 * fits the ratings best. The greedy rule, the next process to the smallest (m_i + 1)/r_i, is
 * optimal for every M at once. May not touch: costs. Costs O(p log p), the best M up to a limit
 * O(limit log p). */
#include <math.h>
#include <stdlib.h>

#include "base/part.h"

hetpart_status hetpart_emulate_create(hetpart_plan **out, const double *ratings, size_t nprocs,
				      uint64_t processes, hetpart_err *err)
{
	hetpart_cost *each;
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || !ratings)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "ratings" : "out");
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

struct node {
	double next; /* (m + 1)/r */
	size_t proc;
	uint64_t m;
};

static bool earlier(const struct node *a, const struct node *b)
{
	return part_compare(a->next, a->proc, b->next, b->proc) < 0;
}

static void sift(struct node *heap, size_t n, size_t at)
{
	struct node moving = heap[at];
	size_t kid;

	while ((kid = 2 * at + 1) < n) {
		if (kid + 1 < n && earlier(&heap[kid + 1], &heap[kid]))
			kid++;
		if (!earlier(&heap[kid], &moving))
			break;
		heap[at] = heap[kid];
		at = kid;
	}
	heap[at] = moving;
}

/* The smallest M <= most with the largest M/max(m_i/r_i): one process more at a time, at least one
 * and then as long as the budget lasts. */
static uint64_t best_number(struct node *heap, const double *ratings, size_t n, uint64_t most,
			    part_budget *budget)
{
	double best = 0;
	uint64_t at = 1;

	for (size_t i = n; i-- > 0;) {
		heap[i] = (struct node){ 1 / ratings[i], i, 0 };
		sift(heap, n, i);
	}
	for (uint64_t m = 1; m <= most; m++) {
		struct node *top = &heap[0];
		double speed = (double)m / top->next; /* top's time is now the largest */
		if (speed > best * (1 + 1e-12)) {
			best = speed;
			at = m;
		}
		top->next = (double)(++top->m + 1) / ratings[top->proc];
		sift(heap, n, 0);
		if (part_spend(budget, 16))
			break;
	}
	return at;
}

hetpart_status hetpart_emulate_best_within(hetpart_plan **out, const double *ratings, size_t nprocs,
					   uint64_t most, const hetpart_limits *limits,
					   hetpart_err *err)
{
	part_budget budget;
	struct node *heap;
	hetpart_status rc;
	uint64_t m;

	rc = hetpart_emulate_create(out, ratings, nprocs, 1, err); /* checks the arguments */
	if (rc != HETPART_OK)
		return rc;
	hetpart_plan_free(*out);
	*out = NULL;
	if (most == 0 || most > HETPART_EMULATE_MAX)
		return part_fail(err, HETPART_ERANGE, "'%llu' processes at most: want 1 to %llu",
				 (unsigned long long)most, (unsigned long long)HETPART_EMULATE_MAX);
	rc = part_budget_within(&budget, limits, err);
	if (rc != HETPART_OK)
		return rc;
	heap = part_calloc(nprocs, sizeof *heap);
	if (!heap)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", nprocs);
	m = best_number(heap, ratings, nprocs, most, &budget);
	free(heap);
	rc = hetpart_emulate_create(out, ratings, nprocs, m, err);
	if (rc == HETPART_OK)
		(*out)->stopped = budget.why;
	return rc;
}

hetpart_status hetpart_emulate_best(hetpart_plan **out, const double *ratings, size_t nprocs,
				    uint64_t most, hetpart_err *err)
{
	return hetpart_emulate_best_within(out, ratings, nprocs, most, &PART_NO_LIMITS, err);
}
