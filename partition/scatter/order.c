/* SPDX-License-Identifier: GPL-3.0-or-later */
/* order.c - in which order the root serves, and which processor should be the root. [S0]
 * May not touch: how shares are found. Costs O(p log p) for an order, p plans for a root. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scatter.h"

struct key {
	long double time;
	size_t proc;
};

static int by_time(const void *va, const void *vb)
{
	const struct key *a = va, *b = vb;

	return part_compare(a->time, a->proc, b->time, b->proc);
}

/* Time per item where all links are linear, of a message of n/p items otherwise. */
static void sort_by_link(const struct scatter *sc, size_t *order, struct key *key)
{
	uint64_t each = max_u64(sc->n / sc->p, 1);

	for (size_t i = 0; i + 1 < sc->p; i++) {
		const hetpart_cost *c = sc->link[i].cost;
		key[i].proc = i;
		key[i].time = c->kind == COST_AFFINE && c->startup == 0
				      ? (long double)c->per_item * c->scale * each
				      : part_sc_other(&sc->link[i], each) / sc->link[i].unit;
	}
	qsort(key, sc->p - 1, sizeof *key, by_time);
	for (size_t i = 0; i + 1 < sc->p; i++)
		order[i] = key[i].proc;
	order[sc->p - 1] = sc->p - 1;
}

hetpart_status hetpart_scatter_order(size_t *order, uint64_t items,
				     const hetpart_scatter_proc *procs, size_t nprocs,
				     hetpart_err *err)
{
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
	struct key *key = NULL;
	struct scatter sc;
	hetpart_status rc;

	if (!order)
		return part_fail(err, HETPART_EINVAL, "'order' is NULL");
	rc = part_sc_init(&sc, items, procs, nprocs, &opts, err);
	if (rc == HETPART_OK && !(key = part_calloc(nprocs, sizeof *key)))
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", nprocs);
	if (rc == HETPART_OK)
		sort_by_link(&sc, order, key);
	if (rc == HETPART_OK && sc.bad.seen)
		rc = part_sc_bad_cost(&sc, err);
	free(key);
	part_sc_free(&sc);
	return rc;
}

struct choice {
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
};

/* The others in the order given, then the root; then by bandwidth. */
static hetpart_status arrange(struct choice *ch, size_t root, hetpart_err *err)
{
	size_t at = 0;
	hetpart_status rc;

	for (size_t i = 0; i < ch->p; i++) {
		if (i == root)
			continue;
		ch->in[at] = (hetpart_scatter_proc){ ch->compute[i], ch->link[root * ch->p + i] };
		ch->who[at++] = i;
	}
	ch->in[at] = (hetpart_scatter_proc){ ch->compute[root], NULL };
	ch->who[at] = root;
	rc = hetpart_scatter_order(ch->order, ch->items, ch->in, ch->p, err);
	for (size_t j = 0; rc == HETPART_OK && j < ch->p; j++)
		ch->sorted[j] = ch->in[ch->order[j]];
	return rc;
}

/* The caller's options, his minimums in the order of service. */
static hetpart_scatter_opts opts_as_served(const struct choice *ch)
{
	hetpart_scatter_opts opts = ch->opts;

	if (!opts.minimums)
		return opts;
	for (size_t j = 0; j < ch->p; j++)
		ch->mins[j] = ch->opts.minimums[ch->who[ch->order[j]]];
	opts.minimums = ch->mins;
	return opts;
}

/* One candidate; *total is its time. A candidate without a plan is no failure. */
static hetpart_status candidate(struct choice *ch, size_t root, double *total, hetpart_err *err)
{
	const hetpart_cost *store = ch->store ? ch->store[root] : NULL;
	long double fetch = store ? part_cost_fine(store, ch->items) : 0;
	hetpart_scatter_opts opts;
	hetpart_plan *pl;
	hetpart_status rc = arrange(ch, root, err);

	*total = INFINITY;
	if (rc != HETPART_OK)
		return rc;
	if (!(fetch >= 0))
		return part_fail(err, HETPART_EINVAL, "the store's cost for processor %zu is '%Lg'",
				 root, fetch);
	opts = opts_as_served(ch);
	rc = hetpart_scatter_create(&pl, ch->items, ch->sorted, ch->p, &opts, err);
	if (rc != HETPART_OK)
		return rc == HETPART_ERANGE ? HETPART_OK : rc;
	fetch += pl->makespan;
	*total = (double)fetch;
	if (ch->best && !(fetch < ch->best_total)) {
		hetpart_plan_free(pl);
		return HETPART_OK;
	}
	hetpart_plan_free(ch->best);
	ch->best = pl;
	ch->best_total = fetch;
	ch->root = root;
	for (size_t j = 0; j < ch->p; j++)
		ch->best_order[j] = ch->who[ch->order[j]];
	return HETPART_OK;
}

static hetpart_status all_candidates(struct choice *ch, double *total, hetpart_err *err)
{
	double unused;

	for (size_t r = 0; r < ch->p; r++) {
		hetpart_status rc = candidate(ch, r, total ? &total[r] : &unused, err);
		if (rc != HETPART_OK)
			return rc;
	}
	return ch->best ? HETPART_OK : HETPART_ERANGE; /* err has the reason of the last one */
}

static hetpart_status check(const hetpart_cost *const *compute, const hetpart_cost *const *link,
			    size_t p, hetpart_err *err)
{
	size_t entries, bytes;

	if (!compute || !link)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", compute ? "link" : "compute");
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
	struct choice ch = { compute, link, from_store, nprocs, items, .best = NULL };
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || !root)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "root" : "out");
	if ((rc = part_check_items(items, nprocs, err)) != HETPART_OK ||
	    (rc = part_sc_opts(&ch.opts, opts, err)) != HETPART_OK ||
	    (rc = check(compute, link, nprocs, err)) != HETPART_OK)
		return rc;
	ch.in = part_calloc(nprocs, sizeof *ch.in);
	ch.sorted = part_calloc(nprocs, sizeof *ch.sorted);
	ch.who = part_calloc(nprocs, sizeof *ch.who);
	ch.order = part_calloc(nprocs, sizeof *ch.order);
	ch.best_order = part_calloc(nprocs, sizeof *ch.best_order);
	ch.mins = part_calloc(nprocs, sizeof *ch.mins);
	if (ch.mins && ch.in && ch.sorted && ch.who && ch.order && ch.best_order)
		rc = all_candidates(&ch, total, err);
	else
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", nprocs);
	if (rc == HETPART_OK) {
		*out = ch.best;
		*root = ch.root;
		ch.best = NULL;
		if (order)
			memcpy(order, ch.best_order, nprocs * sizeof *order);
	}
	hetpart_plan_free(ch.best);
	free(ch.in);
	free(ch.sorted);
	free(ch.who);
	free(ch.order);
	free(ch.best_order);
	free(ch.mins);
	return rc;
}
