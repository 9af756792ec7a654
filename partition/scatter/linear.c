/* SPDX-License-Identifier: GPL-3.0-or-later */
/* linear.c - the closed form for linear costs, real shares: processors that are kept end
 * together; one whose link is slower than all kept after it together (D) is dropped. [S0]
 * May not touch: whole numbers. Costs O(p). */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "scatter.h"

/* D, the time of one item on the processors kept from each on, from the last backwards: a is
 * computation, b communication. keep[i] says who stays. */
static void drop(const struct scatter *sc, double *keep)
{
	size_t i = sc->p - 1;
	long double d = (long double)sc->comp[i].per_item + sc->link[i].per_item;

	keep[i] = 1;
	while (i-- > 0) {
		long double a = sc->comp[i].per_item, b = sc->link[i].per_item;
		keep[i] = b <= d;
		if (keep[i] != 0)
			d = a + d > 0 ? (a + b) * (d / (a + d)) : 0;
	}
}

/* A processor that takes any number in no time. */
static double all_to(const struct scatter *sc, double *real, size_t who)
{
	for (size_t i = 0; i < sc->p; i++)
		real[i] = i == who ? (double)sc->n : 0;
	return 0;
}

/* Set the real shares of smallest makespan for the linear parts of affine costs, 0 for processors
 * that do not pay. Returns the makespan, scaled. [S0] */
static double linear_shares(const struct scatter *sc, double *real)
{
	long double sum = 0, rest = 1;

	drop(sc, real);
	for (size_t i = 0; i < sc->p; i++) {
		long double a = sc->comp[i].per_item, c = a + sc->link[i].per_item;
		if (real[i] == 0)
			continue;
		if (!(c > 0))
			return all_to(sc, real, i);
		sum += rest / c;
		rest *= a / c;
	}
	rest = 1;
	for (size_t i = 0; i < sc->p; i++) {
		long double a = sc->comp[i].per_item, c = a + sc->link[i].per_item;
		if (real[i] == 0)
			continue;
		real[i] = (double)(sc->n * (rest / c / sum));
		rest *= a / c;
	}
	return (double)(sc->n / sum);
}

double part_sc_lower(const struct scatter *sc, double *real)
{
	if (!sc->affine)
		return NAN;
	return linear_shares(sc, real) * (1 - DBL_EPSILON * (double)(sc->p + 4));
}

double part_sc_real_ends(const struct scatter *sc, bool all)
{
	long double port = 0, last = 0;

	for (size_t i = 0; i < sc->p; i++) {
		const struct sc_cost *l = &sc->link[i], *c = &sc->comp[i];
		long double x = sc->plan->real[i];
		bool pays = all || x > 0;
		port += (pays ? l->startup : 0) + l->per_item * x;
		last = fmaxl(last, port + (pays ? c->startup : 0) + c->per_item * x);
	}
	return (double)last;
}

hetpart_status part_sc_closed(struct scatter *sc, hetpart_err *err)
{
	if (!sc->linear)
		return part_fail(err, HETPART_EINVAL, "the method needs linear costs");
	sc->plan->method = "closed";
	sc->plan->real_makespan = ldexp(linear_shares(sc, sc->plan->real), sc->shift);
	return part_sc_round(sc->plan->share, sc->n, sc->plan->real, sc->p, err);
}
