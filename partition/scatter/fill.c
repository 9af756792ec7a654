/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fill.c - exact shares where links get slower along the order of service (the root's link aside):
 * each processor in turn takes all it can finish by T, for the smallest T that does. That is
 * optimal:
 *   - One item moved from the next processor that has any to one before it that has room delays
 *     nobody, as its link is no slower there.
 *   - Where links have startups, all items of that processor move to one before it that has none,
 * as long as it is no slower either. So some best plan has every processor full, or all after it
 * empty. With minimums, "empty" is at the minimum, and "full" leaves the port in time to the
 * minimums of those after it. The root's share is the rest; what it needs follows from how many
 * items the others take, in pieces, one for each processor that is the last to be served. May not
 * touch: other links. Costs O(p log n) for each step of a bisection over T. */
#include <math.h>

#include "scatter.h"

/* Whether b never takes less time than a, as far as their kinds tell. */
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

/* How the root's time for its message and its computation grows. */
enum growth { GROWS_ANYHOW, GROWS_FASTER, GROWS_SLOWER };

static enum growth growth_of(const hetpart_cost *c)
{
	switch (c->kind) {
	case COST_AFFINE: /* both: of a line only the ends need a look */
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

/* Whether processor i may stand before processor i + 1, both with affine links. One that has a
 * minimum pays its startup in any case. */
static bool in_order(const struct scatter *sc, size_t i)
{
	const struct sc_cost *l = &sc->link[i];
	bool pays = l->startup > l->none;

	return l[1].per_item >= l->per_item &&
	       (!pays || (l[1].least == 0 && l[1].startup >= l->startup &&
			  no_faster(sc->comp[i + 1].cost, sc->comp[i].cost)));
}

/* How many processors are in order: p, p - 1 if the root is not, or less. */
static size_t how_many_in_order(const struct scatter *sc)
{
	size_t n = 1;

	while (n < sc->p && in_order(sc, n - 1))
		n++;
	return n;
}

bool part_sc_can_fill(const struct scatter *sc)
{
	size_t p = sc->p, n = how_many_in_order(sc);

	if (!sc->comp_increasing || !sc->link_affine || n + 1 < p)
		return false;
	for (size_t i = 0; i < p; i++) /* those without items must not count */
		if (sc->comp[i].least == 0 && sc_time(&sc->comp[i], 0) > 0)
			return false;
	return n == p || growth_of(sc->comp[p - 1].cost) != GROWS_ANYHOW;
}

/* What is known when the others before processor i have their shares. */
struct filled {
	const struct scatter *sc;
	size_t i;
	double port, mins; /* mins: what the links from i on take for the minimums */
	uint64_t left;
};

/* When the root ends if processor i takes m items, is the last one served, and the root has the
 * rest. */
static double root_end(const struct filled *f, uint64_t m)
{
	const struct sc_cost *link = &f->sc->link[f->sc->p - 1], *comp = &f->sc->comp[f->sc->p - 1];
	double port = f->port + f->mins;

	if (m)
		port += sc_time(&f->sc->link[f->i], m) - f->sc->link[f->i].none;
	return port + (sc_time(link, f->left - m) + sc_time(comp, f->left - m));
}

/* Of m in [1, hi], hi < left, the one with which the root ends first. */
static uint64_t best_rest(const struct filled *f, uint64_t hi)
{
	part_bisection s = { 1, hi, 0 };

	if (growth_of(f->sc->comp[f->sc->p - 1].cost) == GROWS_SLOWER)
		return root_end(f, 1) < root_end(f, hi) ? 1 : hi;
	while (bisect_first_step(&s)) /* the first whose successor is no better */
		bisect_first_narrow(&s, root_end(f, s.mid) <= root_end(f, s.mid + 1));
	return s.lo;
}

/* Shares of the others, then of the root, that end by t; false if there are none. */
static bool with_root(const struct scatter *sc, double t, uint64_t *share)
{
	struct filled f = { .sc = sc, .left = sc->n };

	if (!part_sc_due(sc, t))
		return false;
	for (size_t i = 0; i + 1 < sc->p; i++)
		f.mins += sc->link[i].none;
	for (; f.i + 1 < sc->p && root_end(&f, 0) > t; f.i++) {
		const struct sc_span in = { f.port, sc->due[f.i + 1], t };
		uint64_t most = part_sc_most(sc, f.i, &in, f.left);
		uint64_t hi = most - (most > 0 && most == f.left), m = hi ? best_rest(&f, hi) : 0;
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

hetpart_status part_sc_fill(struct scatter *sc, hetpart_err *err)
{
	sc_fits_fn *fits = how_many_in_order(sc) == sc->p ? part_sc_fits : with_root;

	if (!part_sc_can_fill(sc))
		return part_fail(err, HETPART_EINVAL,
				 "the method needs links that get slower in the order of service");
	sc->plan->method = "fill";
	if (!isfinite(part_sc_smallest(sc, fits, sc->plan->share)))
		return part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
	sc->plan->stopped = sc->budget.why;
	sc->exact = sc->budget.why == HETPART_OK;
	return HETPART_OK;
}
