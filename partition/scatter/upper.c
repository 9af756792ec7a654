/* SPDX-License-Identifier: GPL-3.0-or-later */
/* upper.c - a first plan, not the best: by bisection the smallest T at which all items go
 * when each processor in turn takes all it can finish by T. The upper bound that multires.c begins
 * with. May not touch: cost kinds beyond affine. Costs O(p log n) calls of the costs a step. */
#include <math.h>
#include <stdlib.h>

#include "scatter.h"

static double end_of(const struct scatter *sc, size_t i, double port, uint64_t e)
{
	return port + (sc_time(&sc->link[i], e) + sc_time(&sc->comp[i], e));
}

/* Most items that affine processor i, begun at port, ends by t: the formula, then down while the
 * rounding of doubles makes it end later, or up where it does not. */
static uint64_t most_affine(const struct scatter *sc, size_t i, double port, double t, uint64_t cap)
{
	double per_item = sc->link[i].per_item + sc->comp[i].per_item;
	double room = t - port - sc->link[i].startup - sc->comp[i].startup;
	uint64_t e = 0;

	if (room >= 0)
		e = room < per_item * (double)cap ? (uint64_t)(room / per_item) : cap;
	while (e > 0 && e < (UINT64_C(1) << 50) && end_of(sc, i, port, e) > t)
		e--;
	if (e > 0 && e < cap && end_of(sc, i, port, e + 1) <= t)
		e++;
	return smaller(e, cap);
}

uint64_t part_sc_most(const struct scatter *sc, size_t i, double port, double t, uint64_t cap)
{
	struct bisection s = { 0, cap, 0 };

	if (sc->link[i].affine && sc->comp[i].affine)
		return most_affine(sc, i, port, t, cap);
	while (last_step(&s))
		last_told(&s, end_of(sc, i, port, s.mid) <= t);
	return s.lo;
}

bool part_sc_fits(const struct scatter *sc, double t, uint64_t *share)
{
	uint64_t left = sc->n;
	double port = 0;

	for (size_t i = 0; i < sc->p; i++) {
		share[i] = part_sc_most(sc, i, port, t, left);
		left -= share[i];
		port += sc_time(&sc->link[i], share[i]);
	}
	return left == 0;
}

double part_sc_upper(struct scatter *sc, uint64_t *share)
{
	double lo = 0, hi = 1;

	while (!part_sc_fits(sc, hi, share)) {
		lo = hi;
		hi *= 2;
		if (!(hi < 0x1p200))
			return INFINITY;
	}
	for (int step = 0; step < 48 && hi - lo > 1e-12 * hi && !part_spend(&sc->budget, sc->p);
	     step++) {
		double mid = lo + (hi - lo) / 2;
		if (part_sc_fits(sc, mid, share))
			hi = mid;
		else
			lo = mid;
	}
	part_sc_fits(sc, hi, share);
	return part_sc_ends(sc, share, NULL);
}

double part_sc_apart(const struct scatter *sc, double upper)
{
	double lo = 0, hi = upper;

	for (int step = 0; step < 40; step++) {
		double mid = lo + (hi - lo) / 2;
		uint64_t taken = 0;
		for (size_t i = 0; i < sc->p && taken < sc->n; i++)
			taken += part_sc_most(sc, i, 0, mid, sc->n - taken);
		if (taken < sc->n)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}
