/* SPDX-License-Identifier: GPL-3.0-or-later */
/* problem.c - a scatter problem checked and brought to units near 1, and the one-port times
 * of given shares. May not touch: how shares are found. Costs O(p). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "scatter.h"

static const hetpart_cost free_cost = { .kind = COST_AFFINE, .increasing = true, .scale = 1 };

double part_sc_other(const struct sc_cost *c, uint64_t n)
{
	uint64_t items = sc_items(c, n);
	long double t = part_cost_fine(c->cost, items);

	part_spend_cost(c->budget, c->cost);
	if (t >= 0)
		return (double)(t * c->unit);
	if (!c->bad->seen)
		*c->bad = (part_bad_cost){ true, c->proc, items, (double)t };
	return INFINITY;
}

bool part_sc_has_mem(struct scatter *sc, uint64_t bytes)
{
	bool has = bytes <= sc->budget.max_mem && bytes < SIZE_MAX;

	if (!has && sc->budget.why == HETPART_OK)
		sc->budget.why = HETPART_ENOMEM;
	return has;
}

static void set_cost(struct sc_cost *c, const hetpart_cost *cost, struct scatter *sc, size_t i)
{
	*c = (struct sc_cost){ .cost = cost ? cost : &free_cost, .bad = &sc->bad, .proc = i };
	c->budget = &sc->budget;
	c->unit = 1;
	c->affine = c->cost->kind == COST_AFFINE;
}

/* Largest finite time of c at n units or, for a table, anywhere; it fixes the unit when no single
 * processor can take all items. */
static long double some_time(const struct sc_cost *c, uint64_t n)
{
	const hetpart_cost *cost = c->cost;
	long double most = 0;

	if (cost->kind != COST_TABLE) {
		long double t = part_cost_fine(cost, sc_items(c, n));
		return isfinite(t) && t > 0 ? t : 0;
	}
	for (size_t i = 0; i < cost->npoints; i++)
		if (isfinite(cost->y[i]))
			most = fmaxl(most, (long double)cost->scale * cost->y[i]);
	return most;
}

/* A power of two near the smallest time in which one processor can do it all. */
static void set_shift(struct scatter *sc)
{
	long double all = INFINITY, some = 0;

	for (size_t i = 0; i < sc->p; i++) {
		uint64_t items = sc_items(&sc->comp[i], sc->n);
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

static void scale(struct sc_cost *c, int shift)
{
	long double startup, per_item;

	c->unit = ldexpl(1, -shift);
	if (!c->affine)
		return;
	startup = c->cost->startup * (long double)c->cost->scale * c->unit;
	per_item = c->cost->per_item * (long double)c->cost->scale * c->unit;
	c->startup = (double)(startup + per_item * c->least);
	c->per_item = (double)(per_item * c->quantum);
	c->none = c->least ? c->startup : 0;
}

static void classify(struct scatter *sc)
{
	sc->comp_increasing = sc->link_increasing = true;
	sc->link_affine = sc->affine = sc->linear = true;
	for (size_t i = 0; i < sc->p; i++) {
		const hetpart_cost *l = sc->link[i].cost, *c = sc->comp[i].cost;
		sc->comp_increasing &= c->increasing;
		sc->link_increasing &= l->increasing;
		sc->link_affine &= sc->link[i].affine;
		sc->linear &= hetpart_cost_is_linear(l) && hetpart_cost_is_linear(c);
		sc->affine &= sc->link[i].affine && sc->comp[i].affine;
	}
}

static hetpart_status check(uint64_t items, const hetpart_scatter_proc *procs, size_t nprocs,
			    hetpart_err *err)
{
	if (!procs)
		return part_fail(err, HETPART_EINVAL, "'procs' is NULL");
	if (part_check_items(items, nprocs, err) != HETPART_OK)
		return nprocs ? HETPART_ERANGE : HETPART_EINVAL;
	for (size_t i = 0; i < nprocs; i++) {
		if (!procs[i].compute)
			return part_fail(err, HETPART_EINVAL,
					 "the compute cost of processor %zu is NULL", i);
		if (!procs[i].link && i + 1 < nprocs)
			return part_fail(err, HETPART_EINVAL,
					 "the link cost of processor %zu is NULL: only the root's, "
					 "the last, may be",
					 i);
	}
	return HETPART_OK;
}

/* The minimums, and what is no whole multiple of the quantum, are given; the rest are units. */
static hetpart_status set_units(struct scatter *sc, const uint64_t *mins, uint64_t quantum,
				hetpart_err *err)
{
	part_procs ps = { .n = sc->p, .mins = mins, .block = quantum > 1 ? quantum : 0 };
	uint64_t rest = sc->n % quantum;
	hetpart_status rc;

	sc->n /= quantum;
	if ((rc = part_check_mins(&ps, sc->n, err)) != HETPART_OK)
		return rc;
	for (size_t i = 0; i < sc->p; i++) {
		uint64_t min = part_min(&ps, i);
		sc->link[i].least = min * quantum + (i + 1 == sc->p ? rest : 0);
		sc->link[i].quantum = quantum;
		sc->comp[i].least = sc->link[i].least;
		sc->comp[i].quantum = quantum;
		sc->n -= min;
	}
	return HETPART_OK;
}

hetpart_status part_sc_init(struct scatter *sc, uint64_t items, const hetpart_scatter_proc *procs,
			    size_t nprocs, const hetpart_scatter_opts *opts, hetpart_err *err)
{
	hetpart_status rc;

	*sc = (struct scatter){ .p = nprocs, .n = items };
	if ((rc = check(items, procs, nprocs, err)) != HETPART_OK)
		return rc;
	if ((rc = part_budget_open(&sc->budget, opts->time_limit_s, opts->max_mem_bytes, opts->stop,
				   opts->stop_ctx, err)) != HETPART_OK)
		return rc;
	sc->link = part_calloc(nprocs, sizeof *sc->link);
	sc->comp = part_calloc(nprocs, sizeof *sc->comp);
	sc->due = part_calloc(nprocs + 1, sizeof *sc->due);
	if (!sc->link || !sc->comp || !sc->due)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", nprocs);
	for (size_t i = 0; i < nprocs; i++) {
		set_cost(&sc->link[i], procs[i].link, sc, i);
		set_cost(&sc->comp[i], procs[i].compute, sc, i);
	}
	if ((rc = set_units(sc, opts->minimums, max_u64(opts->quantum, 1), err)) != HETPART_OK)
		return rc;
	set_shift(sc);
	for (size_t i = 0; i < nprocs; i++) {
		scale(&sc->link[i], sc->shift);
		scale(&sc->comp[i], sc->shift);
	}
	classify(sc);
	return HETPART_OK;
}

void part_sc_free(struct scatter *sc)
{
	free(sc->link);
	free(sc->comp);
	free(sc->due);
}

double part_sc_ends(const struct scatter *sc, const uint64_t *share, double *time)
{
	long double port = 0, last = 0;

	for (size_t i = 0; i < sc->p; i++) {
		uint64_t items = sc_items(&sc->comp[i], share[i]);
		port += part_cost_fine(sc->link[i].cost, items);
		long double end = port + part_cost_fine(sc->comp[i].cost, items);
		if (time)
			time[i] = (double)end;
		last = fmaxl(last, end);
	}
	return (double)ldexpl(last, -sc->shift);
}
