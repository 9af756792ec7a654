/* SPDX-License-Identifier: GPL-3.0-or-later */
/* problem.c - a scatter problem: check it, scale its times to near 1, and compute when processors
 * end with given shares. Must not contain: how shares are found. Takes O(p) time for p
 * processors. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "scatter.h"

hetpart_status part_sc_bad_cost(const sc_problem *sc, hetpart_err *err)
{
	return part_invalid(err, "a cost of processor %zu gives time '%g' for %" PRIu64 " items",
			    sc->bad.proc, sc->bad.time, sc->bad.items);
}

double part_sc_time(const sc_cost *c, uint64_t n)
{
	const uint64_t items = sc_items(c, n);
	const long double t = part_cost_fine(c->cost, items);
	part_spend_cost(c->budget, c->cost);
	if (t >= 0)
		return (double)(t * c->unit);
	if (!c->bad->seen)
		*c->bad = (part_bad_cost){ true, c->proc, items, (double)t };
	return INFINITY;
}

bool part_sc_has_mem(sc_problem *sc, uint64_t bytes)
{
	const bool has = bytes <= sc->budget.max_mem && bytes < SIZE_MAX;
	if (!has && sc->budget.why == HETPART_OK)
		sc->budget.why = HETPART_ENOMEM;
	return has;
}

/* Return the time of n units or, for a table, its largest finite time; 0 if that is not positive
 * and finite. It replaces the time of all items if no single processor can do them. */
static long double some_time(const sc_cost *c, uint64_t n)
{
	const hetpart_cost *const cost = c->cost;
	long double most = 0;
	if (cost->kind != COST_TABLE) {
		const long double t = part_cost_fine(cost, sc_items(c, n));
		return isfinite(t) && t > 0 ? t : 0;
	}
	for (size_t i = 0; i < cost->npoints; i++)
		if (isfinite(cost->y[i]))
			most = fmaxl(most, (long double)cost->scale * cost->y[i]);
	return most;
}

/* Set sc->shift so that 2^shift is near the smallest time in which one processor can do all the
 * work. */
static void choose_shift(sc_problem *sc)
{
	long double all = INFINITY, some = 0;
	for (size_t i = 0; i < sc->p; i++) {
		const uint64_t items = sc_items(&sc->comp[i], sc->n);
		long double t = part_cost_fine(sc->link[i].cost, items);
		t += part_cost_fine(sc->comp[i].cost, items);
		if (t > 0)
			all = fminl(all, t);
		some = fmaxl(some, some_time(&sc->link[i], sc->n));
		some = fmaxl(some, some_time(&sc->comp[i], sc->n));
	}
	if (!isfinite(all))
		all = some;
	if (all > 0)
		frexpl(all, &sc->shift);
}

static void scale_cost(sc_cost *c, int shift)
{
	c->unit = ldexpl(1, -shift);
	if (!c->affine)
		return;
	const long double startup = c->cost->startup * (long double)c->cost->scale * c->unit;
	const long double per_item = c->cost->per_item * (long double)c->cost->scale * c->unit;
	c->startup = (double)(startup + per_item * c->least);
	c->per_item = (double)(per_item * c->quantum);
	c->none = c->least ? c->startup : 0;
}

static hetpart_status check_procs(uint64_t items, const hetpart_scatter_proc *procs, size_t nprocs,
				  hetpart_err *err)
{
	if (!procs)
		return part_is_null(err, "procs");
	const hetpart_status rc = part_check_items(items, nprocs, err);
	if (rc != HETPART_OK)
		return rc;
	for (size_t i = 0; i < nprocs; i++) {
		if (!procs[i].compute)
			return part_invalid(err, "the compute cost of processor %zu is NULL", i);
		if (!procs[i].link && i + 1 < nprocs)
			return part_invalid(
				err,
				"the link cost of processor %zu is NULL: only the root's, "
				"the last, may be",
				i);
	}
	return HETPART_OK;
}

static void set_cost(sc_cost *c, const hetpart_cost *cost, sc_problem *sc, size_t i)
{
	static const hetpart_cost free_cost = { .kind = COST_AFFINE,
						.increasing = true,
						.scale = 1 };
	*c = (sc_cost){ .cost = cost ? cost : &free_cost,
			.unit = 1,
			.bad = &sc->bad,
			.budget = &sc->budget,
			.proc = i };
	c->affine = c->cost->kind == COST_AFFINE;
}

hetpart_status part_sc_init(sc_problem *sc, uint64_t items, const hetpart_scatter_proc *procs,
			    size_t nprocs, const hetpart_scatter_opts *opts, hetpart_err *err)
{
	hetpart_status rc;
	*sc = (sc_problem){ .p = nprocs, .n = items };
	if ((rc = check_procs(items, procs, nprocs, err)) != HETPART_OK)
		return rc;
	if ((rc = part_budget_open(&sc->budget, opts->time_limit_s, opts->max_mem_bytes, opts->stop,
				   opts->stop_ctx, err)) != HETPART_OK)
		return rc;
	if (!part_array(sc->link, nprocs) || !part_array(sc->comp, nprocs) ||
	    !part_array(sc->due, nprocs + 1))
		return part_no_memory(err, nprocs, "processors");
	for (size_t i = 0; i < nprocs; i++) {
		set_cost(&sc->link[i], procs[i].link, sc, i);
		set_cost(&sc->comp[i], procs[i].compute, sc, i);
	}
	/* Count only units that a method can distribute. Every processor has its minimum, and the
	 * root also the rest of the division by the quantum. */
	const uint64_t quantum = max_u64(opts->quantum, 1), rest = items % quantum;
	const part_procs ps = { .n = nprocs,
				.mins = opts->minimums,
				.block = quantum > 1 ? quantum : 0 };
	sc->n = items / quantum;
	if ((rc = part_check_mins(&ps, sc->n, err)) != HETPART_OK)
		return rc;
	for (size_t i = 0; i < nprocs; i++) {
		const uint64_t min = part_min(&ps, i);
		sc->link[i].least = min * quantum + (i + 1 == nprocs ? rest : 0);
		sc->comp[i].least = sc->link[i].least;
		sc->link[i].quantum = sc->comp[i].quantum = quantum;
		sc->n -= min;
	}
	choose_shift(sc);
	sc->comp_increasing = sc->link_increasing = true;
	sc->link_affine = sc->affine = sc->linear = true;
	for (size_t i = 0; i < nprocs; i++) {
		sc_cost *const l = &sc->link[i], *const c = &sc->comp[i];
		scale_cost(l, sc->shift);
		scale_cost(c, sc->shift);
		sc->comp_increasing &= c->cost->increasing;
		sc->link_increasing &= l->cost->increasing;
		sc->link_affine &= l->affine;
		sc->affine &= l->affine && c->affine;
		sc->linear &= hetpart_cost_is_linear(l->cost) && hetpart_cost_is_linear(c->cost);
	}
	return HETPART_OK;
}

void part_sc_free(sc_problem *sc)
{
	free(sc->link);
	free(sc->comp);
	free(sc->due);
}

double part_sc_ends(const sc_problem *sc, const uint64_t *share, double *time)
{
	long double port = 0, last = 0;
	for (size_t i = 0; i < sc->p; i++) {
		const uint64_t items = sc_items(&sc->comp[i], share[i]);
		port += part_cost_fine(sc->link[i].cost, items);
		const long double end = port + part_cost_fine(sc->comp[i].cost, items);
		if (time)
			time[i] = (double)end;
		last = fmaxl(last, end);
	}
	return (double)ldexpl(last, -sc->shift);
}
