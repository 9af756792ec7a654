/* SPDX-License-Identifier: GPL-3.0-or-later */
/* window.c - [S0]'s programme in O(p n) for increasing compute and affine link costs: the
 * crossing E(d) = min{e : comp(e) >= next(d - e)} moves by at most one as d grows, and below it
 * link(e) + next(d - e) is a minimum over a sliding window (monotone queue of k = d - e).
 * May not touch: cost kinds. Costs O(1) amortised for each processor and amount. */
#include <math.h>

#include "table.h"

/* Candidates k, rising; the first is the best. A new one is added at the back: those before it that
 * are no better now never will be, as all gain step alike. Returns the new tail. */
static inline size_t push(uint32_t *restrict q, size_t head, size_t tail, size_t k,
			  const double *restrict next, double step)
{
	double mine = next[k];

	while (tail > head && next[q[tail - 1]] + step * (double)(k - q[tail - 1]) >= mine)
		tail--;
	q[tail] = (uint32_t)k;
	return tail + 1;
}

static void row_window(const struct sc_table *t, uint32_t *restrict choice, double *restrict row)
{
	const double *restrict link = t->link, *restrict comp = t->comp, *restrict next = t->next;
	uint32_t *restrict q = t->scratch;
	size_t head = 0, tail = 0, cross = 0; /* E(d) */

	for (size_t d = 0; d <= t->n; d++) {
		if (d % BUDGET_STRIDE == BUDGET_STRIDE - 1 && part_spend(t->budget, BUDGET_STRIDE))
			return;
		double best = INFINITY, v = next[d] + link[0];
		size_t at = 0;
		if (d > 0)
			tail = push(q, head, tail, d - 1, next, t->link_per_item);
		/* each by one at most; without a branch, which would be unpredictable */
		cross += (cross <= d) &
			 (comp[cross <= d ? cross : d] < next[cross <= d ? d - cross : 0]);
		head += (head < tail) & (q[head] + cross <= d);
		if (cross <= d) {
			best = link[cross] + comp[cross];
			at = cross;
		}
		if (cross > 0 && v < best) {
			best = v;
			at = 0;
		}
		if (head < tail && (v = link[d - q[head]] + next[q[head]]) < best) {
			best = v;
			at = d - q[head];
		}
		choice[d] = (uint32_t)at;
		row[d] = best;
	}
}

hetpart_status part_sc_window(struct scatter *sc, hetpart_err *err)
{
	if (!sc->link_affine || !sc->comp_increasing)
		return part_fail(err, HETPART_EINVAL,
				 "the method needs affine link and increasing compute costs");
	sc->plan->method = "window";
	return part_sc_table_run(sc, row_window, true, err);
}
