/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter.c - shares for a scatter from one root: check, choose the method, report.
 * May not touch: the arithmetic of any method. Costs O(p) beside the method. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "scatter.h"

/* Below this many pairs of processor and amount the plain programmes are the cheapest. */
#define SMALL (UINT64_C(1) << 14)

hetpart_status part_sc_bad_cost(const struct scatter *sc, hetpart_err *err)
{
	return part_fail(err, HETPART_EINVAL,
			 "a cost of processor %zu gives time '%g' for %" PRIu64 " items",
			 sc->bad.proc, sc->bad.time, sc->bad.items);
}

static hetpart_scatter_method cheapest_exact(const struct scatter *sc)
{
	if (part_sc_can_fill(sc))
		return HETPART_SCATTER_FILL;
	if (!sc->comp_increasing || !sc->link_increasing)
		return HETPART_SCATTER_DP;
	if (part_mul_add(sc->p, sc->n + 1, 0) > SMALL)
		return HETPART_SCATTER_MULTIRES;
	return sc->link_affine ? HETPART_SCATTER_WINDOW : HETPART_SCATTER_DP_INCREASING;
}

/* The methods with real shares, which know items alone. */
static hetpart_status check_limits(const hetpart_scatter_opts *opts, hetpart_err *err)
{
	switch (opts->method) {
	case HETPART_SCATTER_LP:
	case HETPART_SCATTER_CLOSED:
	case HETPART_SCATTER_ALL_AT_ONCE:
	case HETPART_SCATTER_TWO_PASS:
		if (opts->minimums || opts->quantum > 1)
			return part_fail(err, HETPART_EINVAL, "the method does not support %s",
					 opts->minimums ? "minimums" : "a quantum");
		return HETPART_OK;
	default:
		return HETPART_OK;
	}
}

static hetpart_status run(struct scatter *sc, hetpart_scatter_method m, hetpart_err *err)
{
	if (m == HETPART_SCATTER_AUTO)
		m = cheapest_exact(sc);
	switch (m) {
	case HETPART_SCATTER_DP:
		return part_sc_dp(sc, false, err);
	case HETPART_SCATTER_DP_INCREASING:
		return part_sc_dp(sc, true, err);
	case HETPART_SCATTER_WINDOW:
		return part_sc_window(sc, err);
	case HETPART_SCATTER_MULTIRES:
		return part_sc_multires(sc, err);
	case HETPART_SCATTER_LP:
		return part_sc_lp(sc, err);
	case HETPART_SCATTER_CLOSED:
		return part_sc_closed(sc, err);
	case HETPART_SCATTER_ALL_AT_ONCE:
		return part_sc_all_at_once(sc, 1, err);
	case HETPART_SCATTER_TWO_PASS:
		return part_sc_all_at_once(sc, 2, err);
	case HETPART_SCATTER_GREEDY:
		return part_sc_greedy(sc, err);
	case HETPART_SCATTER_FILL:
		return part_sc_fill(sc, err);
	case HETPART_SCATTER_AUTO:
		break;
	}
	return part_fail(err, HETPART_EINVAL, "'%d' is not a scatter method", (int)m);
}

/* Times, makespan and the proven bound. A callback's fault is told rather than what came of it. */
static hetpart_status report(struct scatter *sc, hetpart_status rc, hetpart_err *err)
{
	hetpart_plan *pl = sc->plan;
	double *room;

	if (rc == HETPART_OK)
		part_sc_ends(sc, pl->share, pl->time);
	for (size_t i = 0; rc == HETPART_OK && i < sc->p; i++)
		pl->share[i] = sc_items(&sc->comp[i], pl->share[i]);
	if (sc->bad.seen)
		return part_sc_bad_cost(sc, err);
	if (rc == HETPART_OK)
		rc = part_plan_close(pl, err);
	if (rc != HETPART_OK)
		return rc;
	pl->lower = pl->makespan;
	if (sc->exact || sc->n == 0)
		return HETPART_OK;
	if (pl->stopped != HETPART_OK && !sc->affine) {
		pl->lower =
			sc->lower > 0 ? min_double(pl->makespan, ldexp(sc->lower, sc->shift)) : NAN;
		return HETPART_OK;
	}
	room = part_calloc(sc->p, sizeof *room);
	if (!room)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", sc->p);
	pl->lower = ldexp(max_double(sc->lower, part_sc_lower(sc, room)), sc->shift);
	pl->lower = min_double(pl->makespan, pl->lower);
	if (!sc->affine)
		pl->lower = NAN;
	free(room);
	return HETPART_OK;
}

hetpart_status part_sc_opts(hetpart_scatter_opts *full, const hetpart_scatter_opts *opts,
			    hetpart_err *err)
{
	const hetpart_scatter_opts defaults = HETPART_SCATTER_OPTS_INIT;

	*full = defaults;
	return part_opts_copy(full, PART_END_OF(hetpart_scatter_opts, max_mem_bytes), sizeof *full,
			      opts, err);
}

hetpart_status hetpart_scatter_create(hetpart_plan **out, uint64_t items,
				      const hetpart_scatter_proc *procs, size_t nprocs,
				      const hetpart_scatter_opts *opts, hetpart_err *err)
{
	hetpart_scatter_opts full;
	struct scatter sc;
	hetpart_status rc;

	if (!out)
		return part_fail(err, HETPART_EINVAL, "'out' is NULL");
	*out = NULL;
	if ((rc = part_sc_opts(&full, opts, err)) != HETPART_OK ||
	    (rc = check_limits(&full, err)) != HETPART_OK)
		return rc;
	rc = part_sc_init(&sc, items, procs, nprocs, &full, err);
	if (rc == HETPART_OK && !(sc.plan = part_plan_new(nprocs, items, "none")))
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", nprocs);
	if (rc == HETPART_OK)
		rc = report(&sc, run(&sc, full.method, err), err);
	if (rc == HETPART_OK)
		*out = sc.plan;
	else
		hetpart_plan_free(sc.plan);
	part_sc_free(&sc);
	return rc;
}

uint64_t hetpart_scatter_mem_bytes(uint64_t items, size_t nprocs, const hetpart_scatter_opts *opts)
{
	hetpart_scatter_opts full;
	uint64_t small = part_mul_add(nprocs, 512, 4096), grids;
	part_budget budget;

	if (part_sc_opts(&full, opts, NULL) != HETPART_OK || items > HETPART_ITEMS_MAX ||
	    nprocs == 0)
		return UINT64_MAX;
	if (part_budget_open(&budget, 0, full.max_mem_bytes, NULL, NULL, NULL) != HETPART_OK)
		return UINT64_MAX;
	items /= max_u64(full.quantum, 1);
	grids = part_mul_add(part_mul_add(nprocs, 8, 40), items + 1, 0);
	switch (full.method) {
	case HETPART_SCATTER_AUTO:
	case HETPART_SCATTER_MULTIRES:
		return part_mul_add(min_u64(grids, budget.max_mem), 1, small);
	case HETPART_SCATTER_DP:
	case HETPART_SCATTER_DP_INCREASING:
	case HETPART_SCATTER_WINDOW:
		return part_mul_add(min_u64(part_sc_dp_bytes(items, nprocs), budget.max_mem), 1,
				    small);
	default:
		return small;
	}
}

hetpart_status hetpart_scatter_slack(double *slack, const hetpart_scatter_proc *procs,
				     size_t nprocs, hetpart_err *err)
{
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	long double links = 0, most = 0;
	struct scatter sc;
	hetpart_status rc;

	if (!slack)
		return part_fail(err, HETPART_EINVAL, "'slack' is NULL");
	rc = part_sc_init(&sc, 1, procs, nprocs, &opts, err);
	for (size_t i = 0; rc == HETPART_OK && i < nprocs; i++) {
		long double l = part_cost_fine(sc.link[i].cost, 1);
		long double c = part_cost_fine(sc.comp[i].cost, 1);
		if (!(l >= 0) || !(c >= 0))
			rc = part_fail(err, HETPART_EINVAL,
				       "a cost of processor %zu is '%Lg' for 1 item", i,
				       l >= 0 ? c : l);
		links += l;
		most = fmaxl(most, c);
	}
	if (rc == HETPART_OK)
		*slack = (double)(links + most);
	part_sc_free(&sc);
	return rc;
}
