/* SPDX-License-Identifier: GPL-3.0-or-later */
/* upper.c - a first plan, not the best, and bounds for the shares of better ones. The plan: by
 * bisection the smallest T at which all items go when each processor in turn takes all it can
 * finish by T and leave the port to those after it in time.
 *
 * The bounds: the first one for a processor is the most that it can take if nobody before it uses
 * the port for any item. The sum of these bounds exceeds n by the spare units. As shares sum to n,
 * at most that number of units is missing from the bounds of the processors before any other, and
 * these use the port nearly as long as their bounds would. That lowers the bounds of later
 * processors, and so the spare units, in the next pass.
 *
 * May not touch: cost kinds beyond affine. Costs O(p log n) calls of the costs a step. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "scatter.h"

static bool within(const struct scatter *sc, size_t i, const struct sc_span *in, uint64_t e)
{
	double link = sc_time(&sc->link[i], e);

	return in->port + (link + sc_time(&sc->comp[i], e)) <= in->end &&
	       in->port + link <= in->due;
}

static uint64_t units_in(double room, double per_item, uint64_t cap)
{
	if (!(room >= 0))
		return 0;
	return room < per_item * (double)cap ? (uint64_t)(room / per_item) : cap;
}

/* Most units of affine processor i: the formula, then down while the
 * rounding of doubles makes it end later, or up where it does not. */
static uint64_t most_affine(const struct scatter *sc, size_t i, const struct sc_span *in,
			    uint64_t cap)
{
	const struct sc_cost *l = &sc->link[i], *c = &sc->comp[i];
	double room = in->end - in->port - l->startup - c->startup;
	uint64_t e = units_in(room, l->per_item + c->per_item, cap);

	e = min_u64(e, units_in(in->due - in->port - l->startup, l->per_item, cap));
	while (e > 0 && e < (UINT64_C(1) << 50) && !within(sc, i, in, e))
		e--;
	if (e > 0 && e < cap && within(sc, i, in, e + 1))
		e++;
	return e;
}

uint64_t part_sc_most(const struct scatter *sc, size_t i, const struct sc_span *in, uint64_t cap)
{
	part_bisection s = { 0, cap, 0 };

	if (sc->link[i].affine && sc->comp[i].affine)
		return most_affine(sc, i, in, cap);
	while (bisect_last_step(&s))
		bisect_last_narrow(&s, within(sc, i, in, s.mid));
	return s.lo;
}

bool part_sc_due(const struct scatter *sc, double t)
{
	sc->due[sc->p] = t;
	for (size_t i = sc->p; i-- > 0;)
		sc->due[i] = min_double(t - sc_time(&sc->comp[i], 0), sc->due[i + 1]) -
			     sc_time(&sc->link[i], 0);
	return sc->due[0] >= 0;
}

bool part_sc_fits(const struct scatter *sc, double t, uint64_t *share)
{
	struct sc_span in = { .end = t };
	uint64_t left = sc->n;

	if (!part_sc_due(sc, t))
		return false;
	for (size_t i = 0; i < sc->p; i++) {
		in.due = sc->due[i + 1];
		share[i] = part_sc_most(sc, i, &in, left);
		left -= share[i];
		in.port += sc_time(&sc->link[i], share[i]);
	}
	return left == 0;
}

/* Of affine costs: what a plan of whole items takes longer than one of real shares, as a rule. */
static double slowest_item(const struct scatter *sc)
{
	double most = 0;

	for (size_t i = 0; i < sc->p; i++)
		most = max_double(most, sc->link[i].per_item + sc->comp[i].per_item);
	return most;
}

double part_sc_smallest(struct scatter *sc, sc_fits_fn *fits, uint64_t *share)
{
	double lo = part_sc_lower(sc, sc->due), tol = DBL_EPSILON * (2 * (double)sc->p + 16);
	double step = 1, fit, hi;

	if (lo > 0)
		step = max_double(slowest_item(sc), tol * lo);
	else
		lo = 0; /* or not a number */
	for (fit = lo + step; !fits(sc, fit, share); fit = lo + step) {
		lo = fit;
		step *= 2;
		if (!(fit < 0x1p200))
			return INFINITY;
	}
	hi = min_double(fit, part_sc_ends(sc, share, NULL));
	while (hi - lo > tol * hi && !part_spend(&sc->budget, sc->p)) {
		double mid = lo + (hi - lo) / 2;
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

/* Lower most[] to what each processor can take in a plan that ends by t, and return the sum. The
 * shares of such a plan are together at most spare units less than most[]. Each of these units
 * frees the port for no longer than one unit takes on the slowest link. A processor that may take
 * nothing frees the port for its startup, too. */
static uint64_t lower_most(const struct scatter *sc, double t, double spare, uint64_t *most)
{
	double idle = 0, port = 0, startups = 0, slowest = 0;
	uint64_t total = 0;

	for (size_t i = 0; i < sc->p; i++) {
		const struct sc_cost *l = &sc->link[i];
		double freed = startups + slowest * spare; /* NaN: nothing is known of it */
		const struct sc_span in = { max_double(port - freed, idle), sc->due[i + 1], t };

		most[i] = part_sc_most(sc, i, &in, most[i]);
		total = add_capped(total, most[i], UINT64_MAX);
		idle += sc_time(l, 0);
		port += sc_time(l, most[i]);
		slowest = l->affine ? max_double(slowest, l->per_item) : INFINITY;
		if ((double)most[i] <= spare)
			startups += l->startup - l->none;
	}
	return total;
}

bool part_sc_each_most(const struct scatter *sc, double t, uint64_t *most)
{
	double spare = INFINITY, before;

	for (size_t i = 0; i < sc->p; i++)
		most[i] = sc->n;
	part_sc_due(sc, t);
	do {
		uint64_t total = lower_most(sc, t, spare, most);
		if (total < sc->n)
			return false;
		before = spare;
		spare = total < UINT64_MAX ? (double)(total - sc->n) : INFINITY;
	} while (spare > 0 && spare < .75 * before);
	return true;
}
