/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter_window.c - [S0]'s programme in O(p n) for increasing compute and affine link costs: the
 * crossing E(d) = min{e : comp(e) >= next(d - e)} moves by at most one as d grows, and below it
 * link(e) + next(d - e) is a minimum over a sliding window (monotone queue of k = d - e).
 * May not touch: cost kinds. Costs O(1) amortised for each processor and amount. */
#include <math.h>

#include "scatter_table.h"

struct queue {
	uint32_t *k; /* candidates, rising; the first is the best */
	size_t head, tail;
};

/* Add k at the back: those that are no better now never will be, as all gain per_item alike. */
static void push(struct queue *q, const struct sc_table *t, size_t k)
{
	while (q->tail > q->head) {
		size_t b = q->k[q->tail - 1];
		if (t->next[b] + t->link_per_item * (double)(k - b) < t->next[k])
			break;
		q->tail--;
	}
	q->k[q->tail++] = (uint32_t)k;
}

static void row_window(const struct sc_table *t, uint32_t *choice, double *row)
{
	struct queue q = { t->scratch, 0, 0 };
	size_t cross = 0; /* E(d) */

	for (size_t d = 0; d <= t->n; d++) {
		if (d > 0)
			push(&q, t, d - 1);
		while (cross <= d && t->comp[cross] < t->next[d - cross])
			cross++;
		while (q.head < q.tail && q.k[q.head] + cross <= d)
			q.head++;
		double best = cross <= d ? t->link[cross] + t->comp[cross] : INFINITY;
		size_t at = cross <= d ? cross : 0;
		if (cross > 0 && t->link[0] + t->next[d] < best) {
			best = t->link[0] + t->next[d];
			at = 0;
		}
		if (q.head < q.tail) {
			size_t k = q.k[q.head];
			double v = t->link[d - k] + t->next[k];
			if (v < best) {
				best = v;
				at = d - k;
			}
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
	return part_sc_table_run(sc, row_window, err);
}
