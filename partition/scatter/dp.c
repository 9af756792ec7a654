/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dp.c - the dynamic programmes of [S0]: Algorithm 1 for any costs, Algorithm 2 for
 * increasing ones. cost[d,i] = min over e of link_i(e) + max(comp_i(e), cost[d-e,i+1]).
 * May not touch: cost kinds. Costs O(p n^2) time at worst, 4 p n bytes. */
#include <math.h>
#include <stdlib.h>

#include "table.h"

/* Smallest e <= d with comp(e) >= next(d - e); d + 1 if there is none. */
static size_t crossing(const struct sc_table *t, size_t d)
{
	struct bisection s = { 0, d + 1, 0 };

	while (first_step(&s))
		first_told(&s, t->comp[s.mid] >= t->next[d - s.mid]);
	return s.lo;
}

/* Algorithm 2: from the crossing downwards, until what the others need is too much alone. */
static uint32_t increasing_cost(const struct sc_table *t, size_t d, double *best)
{
	size_t e = crossing(t, d), at = e <= d ? e : 0;

	*best = e <= d ? t->link[e] + t->comp[e] : INFINITY;
	while (e-- > 0) {
		part_spend(t->budget, 1);
		double v = t->link[e] + t->next[d - e];
		if (v < *best) {
			*best = v;
			at = e;
		} else if (t->next[d - e] >= *best) {
			break;
		}
	}
	return (uint32_t)at;
}

static void row_increasing(const struct sc_table *t, uint32_t *choice, double *row)
{
	for (size_t d = 0; d <= t->n && !part_spend(t->budget, 1); d++)
		choice[d] = increasing_cost(t, d, &row[d]);
}

hetpart_status part_sc_dp(struct scatter *sc, bool increasing, hetpart_err *err)
{
	if (increasing && !(sc->comp_increasing && sc->link_increasing))
		return part_fail(err, HETPART_EINVAL, "the method needs increasing costs");
	sc->plan->method = increasing ? "dp-increasing" : "dp";
	return part_sc_table_run(sc, increasing ? row_increasing : part_sc_row_any, false, err);
}
