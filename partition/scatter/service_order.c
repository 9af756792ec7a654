/* SPDX-License-Identifier: GPL-3.0-or-later */
/* service_order.c - in which order the root serves, and which processor should be the root. [S0]
 * Must not contain: how shares are found. Costs O(p log p) for an order, p plans for a root. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scatter.h"

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
	/* Sort by the time of an item if the link is linear, otherwise of a message of n/p items.
	 */
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
	uint64_t *mins;                    /* p entries: minimums as served */
	hetpart_scatter_proc *in, *sorted; /* p entries: as given, as served */
	size_t *who, *order; /* p entries: processor of in[], place in in[] of sorted[] */
	hetpart_plan *best;
	size_t root, *best_order;
	long double best_total;
} root_search;

/* Arrange the other processors as given, then the root; then sort them by bandwidth. */
static hetpart_status arrange_procs(root_search *rs, size_t root, hetpart_err *err)
{
	size_t at = 0;

	for (size_t i = 0; i < rs->p; i++) {
		if (i == root)
			continue;
		rs->in[at] = (hetpart_scatter_proc){ rs->compute[i], rs->link[root * rs->p + i] };
		rs->who[at++] = i;
	}
	rs->in[at] = (hetpart_scatter_proc){ rs->compute[root], NULL };
	rs->who[at] = root;
	const hetpart_status rc = hetpart_scatter_order(rs->order, rs->items, rs->in, rs->p, err);
	for (size_t j = 0; rc == HETPART_OK && j < rs->p; j++)
		rs->sorted[j] = rs->in[rs->order[j]];
	return rc;
}

/* Try one candidate and set *total to its time. A candidate without a plan is not a failure. */
static hetpart_status try_root(root_search *rs, size_t root, double *total, hetpart_err *err)
{
	const hetpart_cost *const store = rs->store ? rs->store[root] : NULL;
	long double fetch = store ? part_cost_fine(store, rs->items) : 0;
	hetpart_scatter_opts opts = rs->opts;
	hetpart_plan *pl;

	*total = INFINITY;
	hetpart_status rc = arrange_procs(rs, root, err);
	if (rc != HETPART_OK)
		return rc;
	if (!(fetch >= 0))
		return part_fail(err, HETPART_EINVAL, "the store's cost for processor %zu is '%Lg'",
				 root, fetch);
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

static hetpart_status check_root_costs(const hetpart_cost *const *compute,
				       const hetpart_cost *const *link, size_t p, hetpart_err *err)
{
	size_t entries, bytes;

	if (!compute || !link)
		return part_is_null(err, compute ? "link" : "compute");
	if (__builtin_mul_overflow(p, p, &entries) ||
	    __builtin_mul_overflow(entries, sizeof *link, &bytes))
		return part_fail(err, HETPART_EINVAL, "'%zu' processors are too many", p);
	for (size_t r = 0; r < p; r++) {
		if (!compute[r])
			return part_fail(err, HETPART_EINVAL,
					 "the compute cost of processor %zu is NULL", r);
		for (size_t i = 0; i < p; i++)
			if (i != r && !link[r * p + i])
				return part_fail(err, HETPART_EINVAL,
						 "the link from processor %zu to %zu is NULL", r,
						 i);
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
	if ((rc = part_check_items(items, nprocs, err)) != HETPART_OK ||
	    (rc = part_sc_opts(&rs.opts, opts, err)) != HETPART_OK ||
	    (rc = check_root_costs(compute, link, nprocs, err)) != HETPART_OK)
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
		rc = HETPART_ERANGE; /* err has the reason of the last candidate */
	}
	free(rs.in);
	free(rs.sorted);
	free(rs.who);
	free(rs.order);
	free(rs.best_order);
	free(rs.mins);
	return part_plan_return(out, rs.best, rc);
}
