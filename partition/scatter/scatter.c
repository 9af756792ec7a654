/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter.c - shares for a scatter from one root, as in [S0]: choose the method, the root, and the
 * order of service, in which the root sends the shares. Must not contain: how shares are found.
 * Takes O(p) time in addition to the method, O(p log p) for an order, and p plans for a root. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scatter.h"

/* -------------------------------------------------------------------------------- the methods */

/* Up to this number of pairs (processor, amount), a dynamic programme over all of them is
 * fastest. */
#define SMALL_TABLE (UINT64_C(1) << 14)

static hetpart_status call_method(sc_problem *sc, hetpart_scatter_method m, hetpart_err *err)
{
	if (m == HETPART_SCATTER_AUTO) { /* the cheapest exact method */
		if (part_sc_can_fill(sc))
			m = HETPART_SCATTER_FILL;
		else if (!sc->comp_increasing || !sc->link_increasing)
			m = HETPART_SCATTER_DP;
		else if (part_mul_add(sc->p, sc->n + 1, 0) > SMALL_TABLE)
			m = HETPART_SCATTER_MULTIRES;
		else
			m = sc->link_affine ? HETPART_SCATTER_WINDOW
					    : HETPART_SCATTER_DP_INCREASING;
	}
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
	return part_invalid(err, "'%d' is not a scatter method", (int)m);
}

/* Set the times, the makespan and the lower bound after a method has returned rc. If a callback has
 * returned an invalid time, report this rather than an error that follows from it. */
static hetpart_status finish_plan(sc_problem *sc, hetpart_status rc, hetpart_err *err)
{
	hetpart_plan *const pl = sc->plan;
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
	if (!sc->affine) {
		pl->lower = pl->stopped != HETPART_OK && sc->lower > 0
				    ? min_double(pl->makespan, ldexp(sc->lower, sc->shift))
				    : NAN;
		return HETPART_OK;
	}
	double *const room = part_calloc(sc->p, sizeof *room);
	if (!room)
		return part_no_memory(err, sc->p, "processors");
	pl->lower = ldexp(max_double(sc->lower, part_sc_lower(sc, room)), sc->shift);
	pl->lower = min_double(pl->makespan, pl->lower);
	free(room);
	return HETPART_OK;
}

/* ------------------------------------------------------------------------------ public calls */

/* Copy the caller's options, with defaults for members that its version does not have. */
static hetpart_status scatter_read_opts(hetpart_scatter_opts *full,
					const hetpart_scatter_opts *opts, hetpart_err *err)
{
	*full = (hetpart_scatter_opts)HETPART_SCATTER_OPTS_INIT;
	return part_opts_copy(full, PART_END_OF(hetpart_scatter_opts, max_mem_bytes), sizeof *full,
			      opts, err);
}

hetpart_status hetpart_scatter_create(hetpart_plan **out, uint64_t items,
				      const hetpart_scatter_proc *procs, size_t nprocs,
				      const hetpart_scatter_opts *opts, hetpart_err *err)
{
	hetpart_scatter_opts full;
	sc_problem sc;
	if (!out)
		return part_is_null(err, "out");
	*out = NULL;
	hetpart_status rc = scatter_read_opts(&full, opts, err);
	if (rc != HETPART_OK)
		return rc;
	const bool real_shares = full.method == HETPART_SCATTER_LP ||
				 full.method == HETPART_SCATTER_CLOSED ||
				 full.method == HETPART_SCATTER_ALL_AT_ONCE ||
				 full.method == HETPART_SCATTER_TWO_PASS;
	if (real_shares && (full.minimums || full.quantum > 1))
		return part_invalid(err, "the method does not support %s",
				    full.minimums ? "minimums" : "a quantum");
	rc = part_sc_init(&sc, items, procs, nprocs, &full, err);
	if (rc == HETPART_OK && !(sc.plan = part_plan_new(nprocs, items, "none")))
		rc = part_no_memory(err, nprocs, "processors");
	if (rc == HETPART_OK)
		rc = finish_plan(&sc, call_method(&sc, full.method, err), err);
	part_sc_free(&sc);
	return part_plan_return(out, sc.plan, rc);
}

uint64_t hetpart_scatter_mem_bytes(uint64_t items, size_t nprocs, const hetpart_scatter_opts *opts)
{
	const uint64_t small = part_mul_add(nprocs, 512, 4096);
	hetpart_scatter_opts full;
	part_budget budget;
	uint64_t bytes = 0;
	if (scatter_read_opts(&full, opts, NULL) != HETPART_OK || items > HETPART_ITEMS_MAX ||
	    nprocs == 0)
		return UINT64_MAX;
	if (part_budget_open(&budget, 0, full.max_mem_bytes, NULL, NULL, NULL) != HETPART_OK)
		return UINT64_MAX;
	items /= max_u64(full.quantum, 1);
	switch (full.method) {
	case HETPART_SCATTER_AUTO:
	case HETPART_SCATTER_MULTIRES:
		bytes = part_mul_add(part_mul_add(nprocs, 8, 40), items + 1, 0);
		break;
	case HETPART_SCATTER_DP:
	case HETPART_SCATTER_DP_INCREASING:
	case HETPART_SCATTER_WINDOW:
		bytes = part_sc_dp_bytes(items, nprocs);
		break;
	default:
		break;
	}
	return part_mul_add(min_u64(bytes, budget.max_mem), 1, small);
}

hetpart_status hetpart_scatter_slack(double *slack, const hetpart_scatter_proc *procs,
				     size_t nprocs, hetpart_err *err)
{
	const hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	long double links = 0, most = 0;
	sc_problem sc;
	if (!slack)
		return part_is_null(err, "slack");
	hetpart_status rc = part_sc_init(&sc, 1, procs, nprocs, &opts, err);
	for (size_t i = 0; rc == HETPART_OK && i < nprocs; i++) {
		const long double l = part_cost_fine(sc.link[i].cost, 1);
		const long double c = part_cost_fine(sc.comp[i].cost, 1);
		if (!(l >= 0) || !(c >= 0))
			rc = part_invalid(err, "a cost of processor %zu is '%Lg' for 1 item", i,
					  l >= 0 ? c : l);
		links += l;
		most = fmaxl(most, c);
	}
	if (rc == HETPART_OK)
		*slack = (double)(links + most);
	part_sc_free(&sc);
	return rc;
}

/* ----------------------------------------------------------------------- the order of service */

typedef struct link_time {
	long double time;
	size_t proc;
} link_time;

static int compare_link_times(const void *va, const void *vb)
{
	const link_time *const a = va, *const b = vb;
	return part_compare(a->time, a->proc, b->time, b->proc);
}

hetpart_status hetpart_scatter_order(size_t *order, uint64_t items,
				     const hetpart_scatter_proc *procs, size_t nprocs,
				     hetpart_err *err)
{
	const hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	link_time *key = NULL;
	sc_problem sc;
	if (!order)
		return part_is_null(err, "order");
	hetpart_status rc = part_sc_init(&sc, items, procs, nprocs, &opts, err);
	if (rc == HETPART_OK && !(key = part_calloc(nprocs, sizeof *key)))
		rc = part_no_memory(err, nprocs, "processors");
	if (rc != HETPART_OK)
		goto out;
	/* Sort by the time of a message of n/p items, at least 1. part_sc_init refuses 0
	 * processors. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	const uint64_t each = max_u64(sc.n / nprocs, 1);
	for (size_t i = 0; i + 1 < nprocs; i++) {
		const hetpart_cost *const c = sc.link[i].cost;
		key[i].proc = i;
		key[i].time = c->kind == COST_AFFINE && c->startup == 0
				      ? (long double)c->per_item * c->scale * each
				      : part_sc_time(&sc.link[i], each) / sc.link[i].unit;
	}
	qsort(key, nprocs - 1, sizeof *key, compare_link_times);
	for (size_t i = 0; i + 1 < nprocs; i++)
		order[i] = key[i].proc;
	order[nprocs - 1] = nprocs - 1;
	if (sc.bad.seen)
		rc = part_sc_bad_cost(&sc, err);
out:
	free(key);
	part_sc_free(&sc);
	return rc;
}

/* -------------------------------------------------------------------------------- the best root */

typedef struct root_search {
	const hetpart_cost *const *compute, *const *link, *const *store;
	size_t p;
	uint64_t items;
	hetpart_scatter_opts opts;
	uint64_t *mins; /* p entries: minimums in order of service */
	hetpart_scatter_proc *in,
		*sorted;     /* p entries: in the caller's order, in order of service */
	size_t *who, *order; /* p entries: in[i] is processor who[i], sorted[j] is in[order[j]] */
	hetpart_plan *best;
	size_t root, *best_order;
	long double best_total;
} root_search;

/* Plan with processor root as the root, and set *total to the time, infinite if it has no plan.
 * Keep the plan if it is the best so far. A root without a plan is not a failure. */
static hetpart_status try_root(root_search *rs, size_t root, double *total, hetpart_err *err)
{
	const hetpart_cost *const store = rs->store ? rs->store[root] : NULL;
	long double fetch = store ? part_cost_fine(store, rs->items) : 0;
	hetpart_scatter_opts opts = rs->opts;
	hetpart_plan *pl;
	size_t at = 0;
	*total = INFINITY;
	for (size_t i = 0; i < rs->p; i++) { /* all except the root, then the root */
		if (i == root)
			continue;
		rs->in[at] = (hetpart_scatter_proc){ rs->compute[i], rs->link[root * rs->p + i] };
		rs->who[at++] = i;
	}
	rs->in[at] = (hetpart_scatter_proc){ rs->compute[root], NULL };
	rs->who[at] = root;
	hetpart_status rc = hetpart_scatter_order(rs->order, rs->items, rs->in, rs->p, err);
	if (rc != HETPART_OK)
		return rc;
	for (size_t j = 0; j < rs->p; j++)
		rs->sorted[j] = rs->in[rs->order[j]];
	if (!(fetch >= 0))
		return part_invalid(err, "the store's cost for processor %zu is '%Lg'", root,
				    fetch);
	if (opts.minimums) {
		for (size_t j = 0; j < rs->p; j++)
			rs->mins[j] = rs->opts.minimums[rs->who[rs->order[j]]];
		opts.minimums = rs->mins;
	}
	rc = hetpart_scatter_create(&pl, rs->items, rs->sorted, rs->p, &opts, err);
	if (rc != HETPART_OK)
		return rc == HETPART_ERANGE ? HETPART_OK : rc;
	fetch += pl->makespan;
	*total = (double)fetch;
	if (rs->best && !(fetch < rs->best_total)) {
		hetpart_plan_free(pl);
		return HETPART_OK;
	}
	hetpart_plan_free(rs->best);
	rs->best = pl;
	rs->best_total = fetch;
	rs->root = root;
	for (size_t j = 0; j < rs->p; j++)
		rs->best_order[j] = rs->who[rs->order[j]];
	return HETPART_OK;
}

static hetpart_status check_root_search(uint64_t items, const hetpart_cost *const *compute,
					const hetpart_cost *const *link, size_t p, hetpart_err *err)
{
	size_t entries, bytes;
	const hetpart_status rc = part_check_items(items, p, err);
	if (rc != HETPART_OK)
		return rc;
	if (!compute || !link)
		return part_is_null(err, compute ? "link" : "compute");
	if (__builtin_mul_overflow(p, p, &entries) ||
	    __builtin_mul_overflow(entries, sizeof *link, &bytes))
		return part_invalid(err, "'%zu' processors are too many", p);
	for (size_t r = 0; r < p; r++) {
		if (!compute[r])
			return part_invalid(err, "the compute cost of processor %zu is NULL", r);
		for (size_t i = 0; i < p; i++)
			if (i != r && !link[r * p + i])
				return part_invalid(
					err, "the link from processor %zu to %zu is NULL", r, i);
	}
	return HETPART_OK;
}

hetpart_status hetpart_scatter_root(hetpart_plan **out, size_t *root, size_t *order, double *total,
				    uint64_t items, const hetpart_cost *const *compute,
				    const hetpart_cost *const *link,
				    const hetpart_cost *const *from_store, size_t nprocs,
				    const hetpart_scatter_opts *opts, hetpart_err *err)
{
	root_search rs = { compute, link, from_store, nprocs, items, .best = NULL };
	double unused;
	hetpart_status rc;
	if (out)
		*out = NULL;
	if (!out || !root)
		return part_is_null(err, out ? "root" : "out");
	if ((rc = check_root_search(items, compute, link, nprocs, err)) != HETPART_OK ||
	    (rc = scatter_read_opts(&rs.opts, opts, err)) != HETPART_OK)
		return rc;
	if (!part_array(rs.in, nprocs) || !part_array(rs.sorted, nprocs) ||
	    !part_array(rs.who, nprocs) || !part_array(rs.order, nprocs) ||
	    !part_array(rs.best_order, nprocs) || !part_array(rs.mins, nprocs))
		rc = part_no_memory(err, nprocs, "processors");
	for (size_t r = 0; rc == HETPART_OK && r < nprocs; r++)
		rc = try_root(&rs, r, total ? &total[r] : &unused, err);
	if (rc == HETPART_OK && rs.best) {
		*root = rs.root;
		if (order)
			memcpy(order, rs.best_order, nprocs * sizeof *order);
	} else if (rc == HETPART_OK) {
		rc = HETPART_ERANGE; /* err has the reason of the last root that was tried */
	}
	free(rs.in);
	free(rs.sorted);
	free(rs.who);
	free(rs.order);
	free(rs.best_order);
	free(rs.mins);
	return part_plan_return(out, rs.best, rc);
}
