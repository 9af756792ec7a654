/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fill.c - find by bisection the smallest T by which all units are done. For each T, each processor
 * in turn takes as many units as it can finish by T, and frees the port in time for the minimums of
 * those after it. The result is the best plan for some orders of service (method fill), and a first
 * plan for others. It also gives bounds for the shares of better plans. Must not contain: cost
 * kinds beyond affine, except to check the order. Each step takes O(p log n) evaluations of
 * costs. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "scatter.h"

/* --------------------------------------------------------------------- the most by a given time */

/* Limits of one processor, scaled times: it may use the port from `port` to `due`, and its
 * computation must end by `end`. */
typedef struct fill_span {
	double port, due, end;
} fill_span;

static bool within_span(const sc_problem *sc, size_t i, const fill_span *in, uint64_t e)
{
	const double link = sc_time(&sc->link[i], e);
	return in->port + (link + sc_time(&sc->comp[i], e)) <= in->end &&
	       in->port + link <= in->due;
}

static uint64_t units_within(double room, double per_item, uint64_t cap)
{
	if (!(room >= 0))
		return 0;
	return room < per_item * (double)cap ? (uint64_t)(room / per_item) : cap;
}

/* Return the most units, up to cap, that processor i can take within the limits; 0 if it cannot
 * take any. For affine costs a formula gives the number, which the rounding of doubles may make too
 * large or too small; correct it. */
static uint64_t most_within(const sc_problem *sc, size_t i, const fill_span *in, uint64_t cap)
{
	const sc_cost *const l = &sc->link[i], *const c = &sc->comp[i];
	part_bisection s = { 0, cap, 0 };
	if (l->affine && c->affine) {
		const double room = in->end - in->port - l->startup - c->startup;
		uint64_t e = units_within(room, l->per_item + c->per_item, cap);
		e = min_u64(e, units_within(in->due - in->port - l->startup, l->per_item, cap));
		while (e > 0 && e < (UINT64_C(1) << 50) && !within_span(sc, i, in, e))
			e--;
		if (e > 0 && e < cap && within_span(sc, i, in, e + 1))
			e++;
		return e;
	}
	while (bisect_last_step(&s))
		bisect_last_narrow(&s, within_span(sc, i, in, s.mid));
	return s.lo;
}

/* Set sc->due[i] to the latest time at which the message to processor i may begin if i and those
 * after it must end their minimums by t. sc->due[p] is t. Return false if due[0] is negative. */
static bool set_due(const sc_problem *sc, double t)
{
	sc->due[sc->p] = t;
	for (size_t i = sc->p; i-- > 0;)
		sc->due[i] = min_double(t - sc_time(&sc->comp[i], 0), sc->due[i + 1]) -
			     sc_time(&sc->link[i], 0);
	return sc->due[0] >= 0;
}

/* ------------------------------------------------------------------------- the smallest time */

/* Set the shares of a plan that ends by the scaled time t. Return false if it cannot take all
 * units. */
typedef bool fill_fits_fn(const sc_problem *sc, double t, uint64_t *share);

/* Let each processor in turn take as many units as it can. */
static bool fits_in_turn(const sc_problem *sc, double t, uint64_t *share)
{
	fill_span in = { .end = t };
	uint64_t left = sc->n;
	if (!set_due(sc, t))
		return false;
	for (size_t i = 0; i < sc->p; i++) {
		in.due = sc->due[i + 1];
		share[i] = most_within(sc, i, &in, left);
		left -= share[i];
		in.port += sc_time(&sc->link[i], share[i]);
	}
	return left == 0;
}

/* Find the smallest t for which `fits` returns true, as part_sc_smallest() describes. */
static double smallest_time(sc_problem *sc, fill_fits_fn *fits, uint64_t *share)
{
	const double tol = DBL_EPSILON * (2 * (double)sc->p + 16);
	double lo = part_sc_lower(sc, sc->due), step = 1, fit;
	if (lo > 0) { /* rounding rarely adds more than the time of the slowest unit */
		step = tol * lo;
		for (size_t i = 0; i < sc->p; i++)
			step = max_double(step, sc->link[i].per_item + sc->comp[i].per_item);
	} else {
		lo = 0; /* it may be NaN */
	}
	for (fit = lo + step; !fits(sc, fit, share); fit = lo + step) {
		lo = fit;
		step *= 2;
		if (!(fit < 0x1p200))
			return INFINITY;
	}
	double hi = min_double(fit, part_sc_ends(sc, share, NULL));
	while (hi - lo > tol * hi && !part_spend(&sc->budget, sc->p)) {
		const double mid = lo + (hi - lo) / 2;
		if (fits(sc, mid, share)) {
			fit = mid;
			hi = min_double(mid, part_sc_ends(sc, share, NULL));
		} else {
			lo = mid;
		}
	}
	fits(sc, fit, share);
	sc->lower = lo * (1 - tol);
	return part_sc_ends(sc, share, NULL);
}

double part_sc_smallest(sc_problem *sc, uint64_t *share)
{
	return smallest_time(sc, fits_in_turn, share);
}

/* ------------------------------------------------------------------------ bounds of the shares */

/* The first bound for processor i is the most that it can take if the processors before it get no
 * units. The sum of the bounds exceeds n by a number that is called spare. As the shares sum to n,
 * the processors before i take together at most spare units less than their bounds. So they use the
 * port nearly as long as with their bounds. In the next pass this makes the bound of i smaller, and
 * so spare. */

bool part_sc_each_most(const sc_problem *sc, double t, uint64_t *most)
{
	double spare = INFINITY, before;
	for (size_t i = 0; i < sc->p; i++)
		most[i] = sc->n;
	set_due(sc, t);
	do {
		double idle = 0, port = 0, startups = 0, slowest = 0;
		uint64_t total = 0;
		for (size_t i = 0; i < sc->p; i++) {
			const sc_cost *const l = &sc->link[i];
			/* The port is used less than with the bounds. The difference is at most the
			 * time of the spare units on the slowest link, and the startups of
			 * processors that may take nothing. In the first pass `freed` may be NaN;
			 * then max_double() returns idle. */
			const double freed = startups + slowest * spare;
			const fill_span in = { max_double(port - freed, idle), sc->due[i + 1], t };
			most[i] = most_within(sc, i, &in, most[i]);
			total = add_capped(total, most[i], UINT64_MAX);
			idle += sc_time(l, 0);
			port += sc_time(l, most[i]);
			slowest = l->affine ? max_double(slowest, l->per_item) : INFINITY;
			if ((double)most[i] <= spare)
				startups += l->startup - l->none;
		}
		if (total < sc->n)
			return false;
		before = spare;
		spare = total < UINT64_MAX ? (double)(total - sc->n) : INFINITY;
	} while (spare > 0 && spare < .75 * before);
	return true;
}

/* --------------------------------------------------------------------------- the method fill */

/* If links get slower along the order of service (except for the root's link), the smallest T is
 * optimal. A processor is called empty if it has only its minimum. It is full if with one more unit
 * it would end after T, or delay the minimums of those after it.
 *   - Move a unit to a processor that is not full, from the next one after it that is not empty.
 *     This delays no processor, as the new link of the unit is no slower.
 *   - If links have startups, move all units of a processor to an empty one before it that is no
 *     slower.
 * So in some best plan, if a processor is not full, all after it are empty. The root takes the
 * rest. If processor i is the last one served before the root, the root's end is a function of the
 * units of i, see root_end(). */

/* Return whether b is known to take at least as much time as a for any number of items. */
static bool no_faster(const hetpart_cost *b, const hetpart_cost *a)
{
	if (a == b)
		return true;
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case COST_AFFINE:
		return b->scale * b->startup >= a->scale * a->startup &&
		       b->scale * b->per_item >= a->scale * a->per_item;
	case COST_NLOGN:
	case COST_NLOG2N1:
		return b->scale >= a->scale;
	case COST_POWER:
		return b->exponent == a->exponent && b->scale >= a->scale;
	default:
		return false;
	}
}

/* How the root's time for its message and computation grows with its share. GROWS_FASTER: each unit
 * takes longer than the one before; GROWS_SLOWER: less long. */
typedef enum root_growth { GROWS_ANYHOW, GROWS_FASTER, GROWS_SLOWER } root_growth;

static root_growth growth_of_root(const sc_problem *sc)
{
	const hetpart_cost *const c = sc->comp[sc->p - 1].cost;
	switch (c->kind) {
	case COST_AFFINE: /* a straight line is both; GROWS_SLOWER compares only its ends */
		return GROWS_SLOWER;
	case COST_NLOGN:
	case COST_NLOG2N1:
		return GROWS_FASTER;
	case COST_POWER:
		return c->exponent >= 1 ? GROWS_FASTER : GROWS_SLOWER;
	default:
		return GROWS_ANYHOW;
	}
}

/* Return how many processors, from the first on, are in the order that method fill needs: p if all,
 * p - 1 if all except the root. All links must be affine. A processor with a minimum pays its
 * startup in every plan. */
static size_t count_in_order(const sc_problem *sc)
{
	for (size_t i = 0; i + 1 < sc->p; i++) {
		const sc_cost *const l = &sc->link[i];
		const bool pays = l->startup > l->none;
		if (l[1].per_item < l->per_item ||
		    (pays && !(l[1].least == 0 && l[1].startup >= l->startup &&
			       no_faster(sc->comp[i + 1].cost, sc->comp[i].cost))))
			return i + 1;
	}
	return sc->p;
}

bool part_sc_can_fill(const sc_problem *sc)
{
	const size_t p = sc->p, n = count_in_order(sc);
	if (!sc->comp_increasing || !sc->link_affine || n + 1 < p)
		return false;
	for (size_t i = 0; i < p; i++) /* a processor without items must take no time */
		if (sc->comp[i].least == 0 && sc_time(&sc->comp[i], 0) > 0)
			return false;
	return n == p || growth_of_root(sc) != GROWS_ANYHOW;
}

/* The state of fits_with_root() when the processors before i have their shares. */
typedef struct filled {
	const sc_problem *sc;
	size_t i;
	double port, mins; /* mins: link time of the minimums from i to before the root */
	uint64_t left;
} filled;

/* Return when the root ends if processor i takes m units, the root takes the rest, and the
 * processors between them only their minimums. */
static double root_end(const filled *f, uint64_t m)
{
	const sc_problem *const sc = f->sc;
	const sc_cost *const link = &sc->link[sc->p - 1], *const comp = &sc->comp[sc->p - 1];
	double port = f->port + f->mins;
	if (m)
		port += sc_time(&sc->link[f->i], m) - sc->link[f->i].none;
	return port + (sc_time(link, f->left - m) + sc_time(comp, f->left - m));
}

/* Return the m in [1, hi] with which the root ends earliest; hi < left. */
static uint64_t best_for_root(const filled *f, uint64_t hi)
{
	part_bisection s = { 1, hi, 0 };
	if (growth_of_root(f->sc) == GROWS_SLOWER)
		return root_end(f, 1) < root_end(f, hi) ? 1 : hi;
	while (bisect_first_step(&s)) /* find the first m after which m + 1 is no better */
		bisect_first_narrow(&s, root_end(f, s.mid) <= root_end(f, s.mid + 1));
	return s.lo;
}

/* Let each processor in turn take as many units as it can, until the root can do the rest by t. The
 * last one before the root takes fewer units if only so the root ends by t. */
static bool fits_with_root(const sc_problem *sc, double t, uint64_t *share)
{
	filled f = { .sc = sc, .left = sc->n };
	if (!set_due(sc, t))
		return false;
	for (size_t i = 0; i + 1 < sc->p; i++)
		f.mins += sc->link[i].none;
	for (; f.i + 1 < sc->p && root_end(&f, 0) > t; f.i++) {
		const fill_span in = { f.port, sc->due[f.i + 1], t };
		const uint64_t most = most_within(sc, f.i, &in, f.left);
		const uint64_t hi = most - (most > 0 && most == f.left);
		const uint64_t m = hi ? best_for_root(&f, hi) : 0;
		share[f.i] = m && root_end(&f, m) <= t ? m : most;
		f.port += sc_time(&sc->link[f.i], share[f.i]);
		f.mins -= sc->link[f.i].none;
		f.left -= share[f.i];
	}
	for (size_t i = f.i; i + 1 < sc->p; i++)
		share[i] = 0;
	share[sc->p - 1] = f.left;
	return root_end(&f, 0) <= t;
}

hetpart_status part_sc_fill(sc_problem *sc, hetpart_err *err)
{
	fill_fits_fn *const fits = count_in_order(sc) == sc->p ? fits_in_turn : fits_with_root;
	if (!part_sc_can_fill(sc))
		return part_invalid(
			err, "the method needs links that get slower in the order of service");
	sc->plan->method = "fill";
	if (!isfinite(smallest_time(sc, fits, sc->plan->share)))
		return part_no_plan(err);
	sc->plan->stopped = sc->budget.why;
	sc->exact = sc->budget.why == HETPART_OK;
	return HETPART_OK;
}
