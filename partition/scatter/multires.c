/* SPDX-License-Identifier: GPL-3.0-or-later */
/* multires.c - exact shares for increasing costs by ever finer grids of 2^s items. On each grid:
 * a plan of whole blocks (upper bound), lower bounds of the cost of d items on the processors from
 * i on and of the port time before i; only amounts d whose two bounds sum to less than the best
 * plan are looked at on the next grid. On grid 1 the bounds are exact.
 *
 * The first grid contains only amounts that follow from the most that each processor can take
 * (upper.c). Unless the port is busy for most of the time, they are so few that the first grid is
 * grid 1. Otherwise, if costs are affine, real shares (relax.c) leave few amounts as a rule.
 * May not touch: cost kinds. Costs O(p W) for each grid, W blocks kept, some p at best. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "relax.h"

/* Largest m <= hi blocks whose message and computation end by the upper bound when the port is
 * free at start at the earliest; UINT64_MAX if there is none. */
static uint64_t most_blocks(const struct grid *gr, size_t i, double start, uint64_t hi)
{
	part_bisection s = { 0, hi, 0 };

	if (start + grid_link(gr, i, 0) + grid_comp(gr, i, 0) > gr->upper)
		return UINT64_MAX;
	while (bisect_last_step(&s))
		bisect_last_narrow(&s, start + grid_link(gr, i, s.mid) + grid_comp(gr, i, s.mid) <=
					       gr->upper);
	return s.lo;
}

/* A straight line at or below the link's time of 1 .. most blocks: *at for one, *step for each
 * further one. */
static void line_below(const struct grid *gr, size_t i, uint64_t most, double *at, double *step)
{
	double first = grid_link(gr, i, 1), gap = 0;

	*at = first;
	*step = ldexp(gr->sc->link[i].per_item, (int)gr->s);
	if (gr->sc->link[i].affine || most < 2)
		return;
	*step = (grid_link(gr, i, most) - first) / (double)(most - 1);
	if (!isfinite(*step))
		*step = 0;
	for (uint64_t m = 2; m < most; m++)
		gap = min_double(gap, grid_link(gr, i, m) - (first + *step * (double)(m - 1)));
	*at += gap - 1e-15 * (first + *step * (double)most);
}

/* Port times before processor i + 1 from those before i: P'(j) = min over k >= j, k - j <= most, of
 * P(k) + link(k - j). A window that slides down, minima in a monotone queue. */
static void port_row(struct grid *gr, size_t i, const struct interval *from,
		     const struct interval *to, uint64_t most)
{
	uint64_t *q = gr->queue, head = 0, tail = 0, add = from->hi + 1;
	double at, step, still = grid_link(gr, i, 0);

	line_below(gr, i, most, &at, &step);
	for (uint64_t j = to->hi + 1; j-- > to->lo;) {
		while (add > from->lo && add > j + 1) {
			double p = gr->port[--add - from->lo];
			while (tail > head && gr->port[q[tail - 1] - from->lo] +
							      step * (double)(q[tail - 1] - add) >=
						      p)
				tail--;
			q[tail++] = add;
		}
		while (head < tail && q[head] - j > most)
			head++;
		double v =
			j >= from->lo && j <= from->hi ? gr->port[j - from->lo] + still : INFINITY;
		if (head < tail)
			v = min_double(v, gr->port[q[head] - from->lo] + at +
						  step * (double)(q[head] - j - 1));
		gr->port2[j - to->lo] = v;
	}
}

/* Cut the interval to the amounts that may belong to a better plan; false if there are none. */
static bool cut(struct grid *gr, size_t i, struct interval *to)
{
	uint64_t lo = to->lo, hi = to->hi;
	double below = gr->upper * (1 - gr->tol);

	while (lo <= hi && !(gr->port2[lo - to->lo] + grid_at(gr, i, lo) < below))
		lo++;
	if (lo > hi)
		return false;
	while (!(gr->port2[hi - to->lo] + grid_at(gr, i, hi) < below))
		hi--;
	memmove(gr->port2, gr->port2 + (lo - to->lo), (size_t)(hi - lo + 1) * sizeof *gr->port2);
	*to = (struct interval){ lo, hi };
	return true;
}

/* Forward pass: kept[i] becomes the amounts before processor i worth keeping. */
static bool prune(struct grid *gr)
{
	gr->kept[0] = gr->amounts[0];
	gr->port[0] = 0;
	for (size_t i = 0; i + 1 < gr->sc->p; i++) {
		struct interval from = gr->kept[i], to = gr->amounts[i + 1];
		double start = INFINITY, *swap = gr->port;
		for (uint64_t k = from.lo; k <= from.hi; k++)
			start = min_double(start, gr->port[k - from.lo]);
		to.hi = min_u64(to.hi, from.hi);
		if (to.lo > to.hi)
			return false;
		uint64_t most = most_blocks(gr, i, start, from.hi - to.lo);
		if (most == UINT64_MAX || part_spend(&gr->sc->budget, to.hi - to.lo))
			return false;
		port_row(gr, i, &from, &to, most);
		if (!cut(gr, i + 1, &to))
			return false;
		gr->kept[i + 1] = to;
		gr->port = gr->port2;
		gr->port2 = swap;
	}
	return true;
}

/* Amounts never grow along the processors; rows rise only where none begins before a later one.
 * False if that leaves no amount before some processor. */
static bool descend(struct interval *amounts, size_t p)
{
	for (size_t i = p - 1; i-- > 0;)
		amounts[i].lo = max_u64(amounts[i].lo, amounts[i + 1].lo);
	for (size_t i = 0; i < p; i++)
		if (amounts[i].lo > amounts[i].hi)
			return false;
	return true;
}

/* The kept amounts on the grid of half the size. */
static bool refine(struct grid *gr)
{
	size_t p = gr->sc->p;

	if (!descend(gr->kept, p))
		return false;
	gr->s--;
	for (size_t i = 0; i < p; i++) {
		uint64_t all = gr->sc->n >> gr->s;
		gr->amounts[i].lo = 2 * gr->kept[i].lo;
		gr->amounts[i].hi = min_u64(2 * gr->kept[i].hi + 1, all);
	}
	gr->amounts[0].lo = gr->amounts[0].hi;
	return true;
}

/* A plan of whole blocks, where it is worth its time: the first plan is often the best already, and
 * rows that do not grow from grid to grid show that it is good enough to cut them. */
static void try_plan(struct grid *gr, size_t entries_before)
{
	double before = gr->upper;

	if (gr->s > 0 && (entries_before == 0 ||
			  (!gr->helped && gr->entries <= entries_before + entries_before / 8)))
		return;
	if (part_grid_fill(gr, GRID_UPPER))
		part_grid_take(gr);
	gr->helped = gr->upper < before;
}

/* One grid; whether a finer one is needed. Grid 1 and grids that the budget ends on need none. */
static bool on_grid(struct grid *gr)
{
	size_t entries_before = gr->entries;
	double bound;

	if (!part_grid_rows(gr))
		return false;
	try_plan(gr, entries_before);
	if (gr->s == 0 || !part_grid_fill(gr, GRID_LOWER))
		return false;
	bound = grid_at(gr, 0, gr->amounts[0].lo);
	gr->lower = max_double(gr->lower, min_double(bound, gr->upper) * (1 - gr->tol));
	return bound < gr->upper * (1 - gr->tol) && prune(gr) && refine(gr);
}

/* Make the blocks so large that there are few of them in these items. */
static void coarsen(struct grid *gr, uint64_t items)
{
	for (gr->s = 0; items >> gr->s > 4 * (uint64_t)gr->sc->p + 16;)
		gr->s++;
}

/* Set the amounts that can belong to a better plan, on a grid of few of them: at least what the
 * processors before processor i must leave, at most what it and those after it can take. False if
 * no plan is better. */
static bool first_amounts(struct grid *gr)
{
	const struct scatter *sc = gr->sc;
	uint64_t taken = 0, left = 0, widest = 0;

	if (!part_sc_each_most(sc, gr->upper * (1 + 2 * gr->tol), gr->path))
		return false;
	for (size_t i = sc->p; i-- > 0;)
		gr->amounts[i].hi = left = add_capped(left, gr->path[i], sc->n);
	for (size_t i = 0; i < sc->p; i++) {
		struct interval *a = &gr->amounts[i];
		a->lo = sc->n - taken;
		widest = max_u64(widest, a->hi - a->lo);
		taken = add_capped(taken, gr->path[i], sc->n);
	}
	coarsen(gr, widest);
	for (size_t i = 0; i < sc->p; i++) {
		gr->amounts[i].lo >>= gr->s;
		gr->amounts[i].hi >>= gr->s;
	}
	return true;
}

/* The amounts near those of the best plan so far. */
static void around_plan(struct grid *gr, uint64_t reach)
{
	const struct scatter *sc = gr->sc;
	uint64_t left = sc->n;

	for (size_t i = 0; i < sc->p; i++) {
		uint64_t k = left >> gr->s;
		gr->amounts[i].lo = k > reach ? k - reach : 0;
		gr->amounts[i].hi = add_capped(k, reach, sc->n >> gr->s);
		left -= sc->plan->share[i];
	}
	gr->amounts[0].lo = gr->amounts[0].hi = sc->n >> gr->s;
}

/* The budget ended before the best plan was proven: grids that are finer and finer, but narrow,
 * find a better one as a rule. */
static void polish(struct grid *gr)
{
	uint64_t reach = min_u64(512, (1 << 19) / gr->sc->p + 4);

	coarsen(gr, gr->sc->n);
	for (gr->s++; gr->s-- > 0;) {
		around_plan(gr, reach);
		if (!part_grid_rows(gr) || !part_grid_fill(gr, GRID_UPPER))
			return;
		part_grid_take(gr);
	}
}

#define MOST_ENTRIES (UINT64_C(1) << 24) /* of single items at once: less than a second */

/* Look at all amounts, of single items; false if they are too many. */
static bool on_items(struct grid *gr)
{
	const struct scatter *sc = gr->sc;
	uint64_t total = 0;

	for (size_t i = 0; i < sc->p; i++)
		total = part_mul_add(gr->amounts[i].hi - gr->amounts[i].lo + 1, 1, total);
	if (total > MOST_ENTRIES || total > sc->budget.max_mem / (8 * sizeof(double)))
		return false;
	if (!part_grid_rows(gr) || !part_grid_fill(gr, GRID_UPPER))
		return false;
	part_grid_take(gr);
	return true;
}

/* Affine costs: real shares leave few amounts that can be part of a better plan than the one near
 * them. True if all of them were looked at, which is exact: the tables are of whole shares, and
 * relax.c leaves out no amount but those that its rounding, too, keeps from a better plan. Else
 * there may be a better plan and a bound. */
static bool near_real(struct grid *gr)
{
	struct scatter *sc = gr->sc;
	double tol = part_sc_relax_tolerance(sc);
	struct relaxation *rx = part_sc_relax(sc, gr->upper * (1 + 2 * tol));
	double *real = part_calloc(sc->p, sizeof *real), time;
	bool done = false;

	if (rx && real && part_sc_relax_plan(rx, &time, real) &&
	    part_sc_round(gr->path, sc->n, real, sc->p, NULL) == HETPART_OK) {
		gr->lower = max_double(gr->lower, min_double(time, gr->upper) * (1 - gr->tol));
		part_grid_offer(gr);
		gr->s = 0;
		around_plan(gr, min_u64(64, (1 << 19) / sc->p + 4));
		done = on_items(gr) &&
		       part_sc_relax_amounts(rx, gr->upper * (1 + tol), gr->amounts) &&
		       descend(gr->amounts, sc->p) && on_items(gr);
	}
	free(real);
	part_sc_relax_free(rx);
	return done || !first_amounts(gr);
}

/* Return a time by which no plan ends. */
static double no_plan_by(const struct grid *gr)
{
	double lo = gr->lower, hi = gr->upper;

	for (int step = 0; step < 20 && lo < hi; step++) {
		double mid = lo + (hi - lo) / 2;
		if (part_sc_each_most(gr->sc, mid, gr->path))
			hi = mid;
		else
			lo = mid;
	}
	return max_double(gr->lower, lo * (1 - 2 * gr->tol));
}

static hetpart_status refine_to_items(struct grid *gr, hetpart_err *err)
{
	struct scatter *sc = gr->sc;
	double end_s = part_budget_reserve(&sc->budget, 0.2);

	gr->tol = DBL_EPSILON * (2 * (double)sc->p + 16);
	gr->upper = part_sc_smallest(sc, part_sc_fits, sc->plan->share);
	if (!isfinite(gr->upper))
		return sc->budget.why == HETPART_OK
			       ? part_fail(err, HETPART_ERANGE, "no plan ends in finite time")
			       : part_budget_fail(&sc->budget, err);
	if (gr->upper > 0 && first_amounts(gr) && !(gr->s == 0 && on_items(gr)) &&
	    !(sc->affine && near_real(gr)))
		while (on_grid(gr))
			continue;
	sc->budget.end_s = end_s;
	sc->exact = sc->budget.why == HETPART_OK;
	if (sc->exact)
		return HETPART_OK;
	sc->plan->stopped = sc->budget.why;
	sc->budget.why = HETPART_OK;
	polish(gr);
	sc->lower = no_plan_by(gr);
	return HETPART_OK;
}

hetpart_status part_sc_multires(struct scatter *sc, hetpart_err *err)
{
	struct grid gr = { .sc = sc };
	hetpart_status rc;

	if (!sc->comp_increasing || !sc->link_increasing)
		return part_fail(err, HETPART_EINVAL, "the method needs increasing costs");
	sc->plan->method = "multires";
	gr.amounts = part_calloc(sc->p, sizeof *gr.amounts);
	gr.kept = part_calloc(sc->p, sizeof *gr.kept);
	gr.row = part_calloc(sc->p, sizeof *gr.row);
	gr.path = part_calloc(sc->p, sizeof *gr.path);
	if (gr.amounts && gr.kept && gr.row && gr.path)
		rc = refine_to_items(&gr, err);
	else
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", sc->p);
	free(gr.amounts);
	free(gr.kept);
	free(gr.row);
	free(gr.path);
	part_grid_free(&gr);
	return rc;
}
