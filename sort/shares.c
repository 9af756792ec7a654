/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sorter's one way to the planner library. Touches no rank: one plans, the others take its
 * word. */
#include "shares.h"

#include <hetpart.h>

static status from_hetpart(err *e, hetpart_status st, const hetpart_err *he)
{
	if (st == HETPART_OK)
		return ST_OK;
	const status mine = st == HETPART_ENOMEM      ? ST_RESOURCE
			    : st == HETPART_EINTERNAL ? ST_INTERNAL
						      : ST_REFUSED;
	return err_set(e, mine, "no plan: %s", he->text);
}

status shares_divide(uint64_t records, const double *speed, size_t n, bool by_nlogn,
		     uint64_t *share, err *e)
{
	hetpart_cost *cost = NULL;
	hetpart_plan *plan = NULL;
	hetpart_err he = { HETPART_OK, "" };
	hetpart_status st =
		by_nlogn ? hetpart_cost_nlogn(&cost, 1, &he) : hetpart_cost_linear(&cost, 1, &he);
	if (st == HETPART_OK)
		st = hetpart_share_create(&plan, records, speed, n, cost, NULL, &he);
	for (size_t i = 0; st == HETPART_OK && i < n; i++)
		share[i] = hetpart_plan_share(plan, i);
	hetpart_plan_free(plan);
	hetpart_cost_free(cost);
	return from_hetpart(e, st, &he);
}
