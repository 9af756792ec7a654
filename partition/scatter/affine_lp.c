/* SPDX-License-Identifier: GPL-3.0-or-later */
/* affine_lp.c - [S0]'s linear programme for affine costs, solved exactly: minimise T subject to
 * T >= sum_{j<=i} link_j(x_j) + comp_i(x_i). It pays every startup, even for nothing, which the
 * dynamic programmes do not. From the last processor to the first: how many items those from i on
 * can do in t is concave and made of straight lines, of which each processor bends one more. May
 * not touch: whole numbers. Costs O(p) for each processor at worst, in long doubles. */
#include <math.h>
#include <stdlib.h>

#include "scatter.h"

struct corner {
	long double t, items;
};

/* Items by time, from the first corner on; before it there is no plan. */
struct curve {
	struct corner *at;
	size_t n;
	long double slope; /* beyond the last corner */
};

struct affine_lp {
	struct scatter *sc;
	struct curve now, next;
	long double *split; /* p entries: see put_before() */
};

static long double latest(long double a, long double b)
{
	return a > b ? a : b;
}

static long double slope_after(const struct curve *c, size_t k)
{
	if (k + 1 == c->n)
		return c->slope;
	return (c->at[k + 1].items - c->at[k].items) / (c->at[k + 1].t - c->at[k].t);
}

/* Items by t, which is not before the first corner. */
static long double items_by(const struct curve *c, long double t)
{
	size_t k = c->n - 1;

	while (k > 0 && c->at[k].t > t)
		k--;
	return c->at[k].items + slope_after(c, k) * (t - c->at[k].t);
}

/* One corner more, unless the one before has all items already. */
static void bend(struct curve *c, long double t, long double items, uint64_t n)
{
	if (c->n == 0 || (c->at[c->n - 1].items < n && t > c->at[c->n - 1].t))
		c->at[c->n++] = (struct corner){ t, items };
}

/* The curve of processor i and those after it, from theirs. With u left when its startup was sent,
 * it takes x and leaves r = u - b x for the others, in which they do max_double(r). An item costs b
 * of their time, so it takes none while they make more of b than one item, up to r = split; beyond,
 * what is above split, until it works all the time itself: r = (a u + b mu)/(a + b). A free link
 * leaves all of u. */
static void put_before(struct affine_lp *lp, size_t i)
{
	const struct sc_cost *link = &lp->sc->link[i], *comp = &lp->sc->comp[i];
	const long double a = comp->per_item, b = link->per_item, mu = comp->startup;
	const struct curve *later = &lp->now;
	struct curve *out = &lp->next;
	long double first = latest(mu, later->at[0].t), split;
	uint64_t n = lp->sc->n;
	size_t k = 0, c;

	while (k < later->n && slope_after(later, k) * b >= 1)
		k++;
	split = lp->split[i] = k < later->n ? latest(later->at[k].t, first) : INFINITY;
	out->n = 0;
	bend(out, first, items_by(later, first) + (b > 0 ? 0 : (first - mu) / a), n);
	for (c = 0; c < later->n && later->at[c].t <= split; c++)
		if (later->at[c].t > first)
			bend(out, later->at[c].t, later->at[c].items, n);
	out->slope = later->slope;
	if (split < INFINITY && a > 0) {
		long double u = split + b * (split - mu) / a;
		bend(out, u, items_by(later, split) + (u - mu) / (a + b), n);
		for (; c < later->n; c++) {
			u = later->at[c].t + b * (later->at[c].t - mu) / a;
			bend(out, u, later->at[c].items + (u - mu) / (a + b), n);
		}
		out->slope = (1 + later->slope * a) / (a + b);
	} else if (split < INFINITY) {
		out->slope = 1 / b;
	}
	for (k = 0; k < out->n; k++)
		out->at[k].t += link->startup;
}

/* The smallest T by which all n items are done. */
static long double end_of_all(const struct curve *c, uint64_t n)
{
	size_t k = c->n - 1;

	while (k > 0 && c->at[k].items >= n)
		k--;
	if (c->at[k].items >= n)
		return c->at[k].t;
	return c->at[k].t + (n - c->at[k].items) / slope_after(c, k);
}

/* The shares that end by t. */
static void take_shares(const struct affine_lp *lp, long double t)
{
	const struct scatter *sc = lp->sc;
	long double left = sc->n;

	for (size_t i = 0; i < sc->p; i++) {
		long double a = sc->comp[i].per_item, b = sc->link[i].per_item;
		long double u = t - sc->link[i].startup, mu = sc->comp[i].startup;
		long double x = (u - mu) / (a + b);
		if (i + 1 < sc->p && b > 0)
			x = fminl(x, (u - lp->split[i]) / b);
		x = fminl(fmaxl(x, 0), left);
		sc->plan->real[i] = (double)x;
		left -= x;
		t = u - b * x;
	}
}

static hetpart_status solve(struct affine_lp *lp, hetpart_err *err)
{
	struct scatter *sc = lp->sc;
	const struct sc_cost *link = &sc->link[sc->p - 1], *comp = &sc->comp[sc->p - 1];

	lp->now.n = 0;
	bend(&lp->now, (long double)link->startup + comp->startup, 0, sc->n);
	lp->now.slope = 1 / ((long double)link->per_item + comp->per_item);
	for (size_t i = sc->p - 1; i-- > 0;) {
		struct curve swap = lp->now;
		if (part_spend(&sc->budget, lp->now.n))
			return part_budget_fail(&sc->budget, err);
		put_before(lp, i);
		lp->now = lp->next;
		lp->next = swap;
	}
	take_shares(lp, end_of_all(&lp->now, sc->n));
	return HETPART_OK;
}

/* Make the shares sum to n to the last digit a double has. */
static void normalise(struct scatter *sc)
{
	long double sum = 0;

	for (size_t i = 0; i < sc->p; i++)
		sum += sc->plan->real[i];
	for (size_t i = 0; i < sc->p && sum > 0; i++)
		sc->plan->real[i] = (double)(sc->plan->real[i] * (sc->n / sum));
}

/* A processor that takes any number in no time takes all: nothing ends before the startups. */
static bool all_to_one(struct scatter *sc)
{
	for (size_t i = 0; i < sc->p; i++)
		sc->plan->real[i] = 0;
	for (size_t i = 0; i < sc->p; i++)
		if (sc->n == 0 || sc->link[i].per_item + sc->comp[i].per_item == 0) {
			sc->plan->real[i] = (double)sc->n;
			return true;
		}
	return false;
}

hetpart_status part_sc_lp(struct scatter *sc, hetpart_err *err)
{
	struct affine_lp lp = { .sc = sc };
	hetpart_status rc = HETPART_OK;

	if (!sc->affine)
		return part_fail(err, HETPART_EINVAL, "the method needs affine costs");
	sc->plan->method = "lp";
	if (!all_to_one(sc)) {
		lp.now.at = part_calloc(2 * sc->p + 2, sizeof *lp.now.at);
		lp.next.at = part_calloc(2 * sc->p + 2, sizeof *lp.next.at);
		lp.split = part_calloc(sc->p, sizeof *lp.split);
		if (lp.now.at && lp.next.at && lp.split)
			rc = solve(&lp, err);
		else
			rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", sc->p);
		free(lp.now.at);
		free(lp.next.at);
		free(lp.split);
	}
	if (rc != HETPART_OK)
		return rc;
	normalise(sc);
	sc->plan->real_makespan = ldexp(part_sc_real_ends(sc, true), sc->shift);
	return part_sc_round(sc->plan->share, sc->n, sc->plan->real, sc->p, err);
}
