/* SPDX-License-Identifier: GPL-3.0-or-later */
/* multires.c - exact shares for increasing costs by a ladder of grids 2^s. On each grid:
 * a plan of whole blocks (upper bound), lower bounds of the cost of d items on the processors from
 * i on and of the port time before i; only amounts d whose two bounds sum to less than the best
 * plan are looked at on the next grid. On grid 1 the bounds are exact. May not touch: cost kinds.
 * Costs O(p W) for each grid, W blocks kept, some p at best. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"

/* Largest m <= hi blocks whose message and computation end by the upper bound when the port is
 * free at start at the earliest; UINT64_MAX if there is none. */
static uint64_t most_blocks(const struct ladder *la, size_t i, double start, uint64_t hi)
{
	uint64_t lo = 0;

	if (start + lad_link(la, i, 0) + lad_comp(la, i, 0) > la->upper)
		return UINT64_MAX;
	while (lo < hi) {
		uint64_t mid = hi - (hi - lo) / 2;
		if (start + lad_link(la, i, mid) + lad_comp(la, i, mid) <= la->upper)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/* A straight line at or below the link's time of 1 .. most blocks: *at for 1, *step for each more.
 */
static void line_below(const struct ladder *la, size_t i, uint64_t most, double *at, double *step)
{
	double first = lad_link(la, i, 1), gap = 0;

	*at = first;
	*step = ldexp(la->sc->link[i].per_item, (int)la->s);
	if (la->sc->link[i].affine || most < 2)
		return;
	*step = (lad_link(la, i, most) - first) / (double)(most - 1);
	if (!isfinite(*step))
		*step = 0;
	for (uint64_t m = 2; m < most; m++)
		gap = fmin(gap, lad_link(la, i, m) - (first + *step * (double)(m - 1)));
	*at += gap - 1e-15 * (first + *step * (double)most);
}

/* Port times before processor i + 1 from those before i: P'(j) = min over k >= j, k - j <= most, of
 * P(k) + link(k - j). A window that slides down, minima in a monotone queue. */
static void port_row(struct ladder *la, size_t i, const struct span *from, const struct span *to,
		     uint64_t most)
{
	uint64_t *q = la->queue, head = 0, tail = 0, add = from->hi + 1;
	double at, step, still = lad_link(la, i, 0);

	line_below(la, i, most, &at, &step);
	for (uint64_t j = to->hi + 1; j-- > to->lo;) {
		while (add > from->lo && add > j + 1) {
			double p = la->port[--add - from->lo];
			while (tail > head && la->port[q[tail - 1] - from->lo] +
							      step * (double)(q[tail - 1] - add) >=
						      p)
				tail--;
			q[tail++] = add;
		}
		while (head < tail && q[head] - j > most)
			head++;
		double v =
			j >= from->lo && j <= from->hi ? la->port[j - from->lo] + still : INFINITY;
		if (head < tail)
			v = fmin(v, la->port[q[head] - from->lo] + at +
					    step * (double)(q[head] - j - 1));
		la->port2[j - to->lo] = v;
	}
}

/* Cut the span to the amounts that may belong to a better plan; false if there are none. */
static bool cut(struct ladder *la, size_t i, struct span *to)
{
	uint64_t lo = to->lo, hi = to->hi;
	double below = la->upper * (1 - la->tol);

	while (lo <= hi && !(la->port2[lo - to->lo] + lad_at(la, i, lo) < below))
		lo++;
	if (lo > hi)
		return false;
	while (!(la->port2[hi - to->lo] + lad_at(la, i, hi) < below))
		hi--;
	memmove(la->port2, la->port2 + (lo - to->lo), (size_t)(hi - lo + 1) * sizeof *la->port2);
	*to = (struct span){ lo, hi };
	return true;
}

/* Forward pass: kept[i] becomes the amounts before processor i worth keeping. */
static bool prune(struct ladder *la)
{
	la->kept[0] = la->span[0];
	la->port[0] = 0;
	for (size_t i = 0; i + 1 < la->sc->p; i++) {
		struct span from = la->kept[i], to = la->span[i + 1];
		double start = INFINITY, *swap = la->port;
		for (uint64_t k = from.lo; k <= from.hi; k++)
			start = fmin(start, la->port[k - from.lo]);
		if (to.hi > from.hi)
			to.hi = from.hi;
		if (to.lo > to.hi)
			return false;
		uint64_t most = most_blocks(la, i, start, from.hi - to.lo);
		if (most == UINT64_MAX)
			return false;
		port_row(la, i, &from, &to, most);
		if (!cut(la, i + 1, &to))
			return false;
		la->kept[i + 1] = to;
		la->port = la->port2;
		la->port2 = swap;
	}
	return true;
}

/* The kept amounts on the grid of half the size; amounts never grow along the processors. */
static bool refine(struct ladder *la)
{
	size_t p = la->sc->p;

	for (size_t i = p - 1; i-- > 0;)
		if (la->kept[i].lo < la->kept[i + 1].lo)
			la->kept[i].lo = la->kept[i + 1].lo;
	for (size_t i = 1; i < p; i++)
		if (la->kept[i].lo > la->kept[i].hi)
			return false;
	la->s--;
	for (size_t i = 0; i < p; i++) {
		uint64_t all = la->sc->n >> la->s;
		la->span[i].lo = 2 * la->kept[i].lo;
		la->span[i].hi = 2 * la->kept[i].hi + 1;
		if (la->span[i].hi > all)
			la->span[i].hi = all;
	}
	la->span[0].lo = la->span[0].hi;
	return true;
}

/* A plan of whole blocks, where it is worth its time: the first plan is often the best already, and
 * rows that do not grow from grid to grid show that it is good enough to cut them. */
static void try_plan(struct ladder *la, size_t entries_before)
{
	double before = la->upper;

	if (la->s > 0 && (entries_before == 0 ||
			  (!la->helped && la->entries <= entries_before + entries_before / 8)))
		return;
	part_lad_fill(la, LAD_UPPER);
	part_lad_take(la);
	la->helped = la->upper < before;
}

/* One grid; *more says whether a finer one is needed. */
static hetpart_status grid(struct ladder *la, bool *more, hetpart_err *err)
{
	size_t entries_before = la->entries;
	hetpart_status rc = part_lad_rows(la, err);

	*more = false;
	if (rc != HETPART_OK)
		return rc;
	try_plan(la, entries_before);
	if (la->s == 0)
		return HETPART_OK;
	part_lad_fill(la, LAD_LOWER);
	if (lad_at(la, 0, la->span[0].lo) < la->upper * (1 - la->tol))
		*more = prune(la) && refine(la);
	return HETPART_OK;
}

static hetpart_status climb(struct ladder *la, hetpart_err *err)
{
	struct scatter *sc = la->sc;
	bool more = true;

	while (sc->n >> la->s > 4 * (uint64_t)sc->p + 16)
		la->s++;
	for (size_t i = 0; i < sc->p; i++)
		la->span[i].hi = sc->n >> la->s;
	la->span[0].lo = la->span[0].hi;
	la->tol = DBL_EPSILON * (2 * (double)sc->p + 16);
	la->upper = part_sc_upper(sc, sc->plan->share);
	if (!isfinite(la->upper))
		return part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
	while (more && la->upper > 0) {
		hetpart_status rc = grid(la, &more, err);
		if (rc != HETPART_OK)
			return rc;
	}
	sc->exact = true;
	return HETPART_OK;
}

hetpart_status part_sc_multires(struct scatter *sc, hetpart_err *err)
{
	struct ladder la = { .sc = sc };
	hetpart_status rc;

	if (!sc->comp_increasing || !sc->link_increasing)
		return part_fail(err, HETPART_EINVAL, "the method needs increasing costs");
	sc->plan->method = "multires";
	la.span = part_calloc(sc->p, sizeof *la.span);
	la.kept = part_calloc(sc->p, sizeof *la.kept);
	la.row = part_calloc(sc->p, sizeof *la.row);
	la.path = part_calloc(sc->p, sizeof *la.path);
	if (la.span && la.kept && la.row && la.path)
		rc = climb(&la, err);
	else
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", sc->p);
	free(la.span);
	free(la.kept);
	free(la.row);
	free(la.path);
	part_lad_free(&la);
	return rc;
}
