/* SPDX-License-Identifier: GPL-3.0-or-later */
/* real_shares.c - methods for affine costs that round real shares: the closed form and the linear
 * programme of [S0], and the affine shares of [S2]. Also the greedy method of [S2] for whole
 * shares, and the rounding scheme of [S0]. Must not contain: exact whole shares. The closed form
 * takes O(p) time, rounding and the shares of [S2] O(p log p), the linear programme O(p^2) at
 * worst. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "scatter.h"
#include "unrelated/unrelated.h"

/* ---------------------------------------------------------------------------------- rounding */

/* The share nearest to a whole number is rounded first. Each further share is rounded so that the
 * sum e of all changes stays near 0. The last share is n_k - e; n_k + e, as printed in the article,
 * would miss the total. */
typedef struct real_share {
	long double whole, fraction; /* fraction in [0, 1) */
	size_t proc;
} real_share;

static int compare_fractions(const void *va, const void *vb)
{
	const real_share *const a = va, *const b = vb;
	return part_compare(a->fraction, a->proc, b->fraction, b->proc);
}

/* Round the real shares `parts`, sorted by fraction. If e > 0, round the share with the smallest
 * fraction down. If e < 0, round the share with the largest up. If e = 0, choose whichever changes
 * less. Return by how many items the sum exceeds items, because of the rounding of doubles. */
static uint64_t round_in_order(const real_share *parts, size_t p, uint64_t items, uint64_t *share)
{
	size_t lo = 0, hi = p - 1;
	long double e = 0, given = 0;
	while (lo < hi) {
		const bool up = e < 0 || (e == 0 && 1 - parts[hi].fraction < parts[lo].fraction);
		const real_share *const x = up ? &parts[hi--] : &parts[lo++];
		const long double add = up && x->fraction > 0 ? 1 : 0;
		share[x->proc] = (uint64_t)(x->whole + add);
		e += add - x->fraction;
		given += x->whole + add;
	}
	share[parts[lo].proc] = given < items ? items - (uint64_t)given : 0;
	return given > items ? (uint64_t)(given - items) : 0;
}

hetpart_status part_sc_round(uint64_t *share, uint64_t items, const double *real, size_t p,
			     hetpart_err *err)
{
	real_share *const parts = part_calloc(p, sizeof *parts);
	long double sum = 0;
	if (!parts)
		return part_no_memory(err, p, "processors");
	for (size_t i = 0; i < p; i++)
		sum += real[i];
	long double norm = sum > 0 ? items / sum : 0;
	if (fabsl(sum - items) <= 1e-12L * p)
		norm = 1; /* the sum differs only by rounding: do not change whole shares */
	for (size_t i = 0; i < p; i++) {
		parts[i].proc = i;
		parts[i].whole = floorl(real[i] * norm);
		parts[i].fraction = real[i] * norm - parts[i].whole;
	}
	qsort(parts, p, sizeof *parts, compare_fractions);
	uint64_t over = round_in_order(parts, p, items, share);
	while (over > 0) { /* take the excess from the largest shares */
		size_t most = 0;
		for (size_t i = 1; i < p; i++)
			if (share[i] > share[most])
				most = i;
		const uint64_t back = min_u64(share[most], over);
		share[most] -= back;
		over -= back;
	}
	free(parts);
	return HETPART_OK;
}

hetpart_status hetpart_scatter_round(uint64_t *shares, uint64_t items, const double *real,
				     size_t nprocs, hetpart_err *err)
{
	long double sum = 0;
	if (!shares || !real)
		return part_is_null(err, shares ? "real" : "shares");
	if (part_check_items(items, nprocs, err) != HETPART_OK)
		return nprocs ? HETPART_ERANGE : HETPART_EINVAL;
	for (size_t i = 0; i < nprocs; i++) {
		if (part_check_not_negative(real[i], "a real share", err) != HETPART_OK)
			return HETPART_EINVAL;
		sum += real[i];
	}
	if (!(fabsl(sum - items) <= 1 + 1e-9L * items))
		return part_invalid(err, "the real shares sum to '%Lg': must be %" PRIu64 " items",
				    sum, items);
	return part_sc_round(shares, items, real, nprocs, err);
}

/* ------------------------------------------------------------------------------- closed form */

/* Give all units to processor who, which takes any number in no time; return that time, 0. */
static double all_to_one(const sc_problem *sc, double *real, size_t who)
{
	for (size_t i = 0; i < sc->p; i++)
		real[i] = i == who ? (double)sc->n : 0;
	return 0;
}

/* Ignore startups, set the real shares with the smallest makespan, and return the scaled makespan,
 * as in [S0]. A processor is dropped (its share is 0) if its link takes longer per unit than the
 * processors kept after it together. All others end at the same time. A unit takes the time d on
 * the kept processors from i on, and a for computation and b on the link of i. */
static double linear_shares(const sc_problem *sc, double *real)
{
	size_t i = sc->p - 1;
	long double d = (long double)sc->comp[i].per_item + sc->link[i].per_item;
	long double sum = 0, rest = 1;
	real[i] = 1;
	while (i-- > 0) {
		const long double a = sc->comp[i].per_item, b = sc->link[i].per_item;
		real[i] = b <= d;
		if (real[i] != 0)
			d = a + d > 0 ? (a + b) * (d / (a + d)) : 0;
	}
	for (i = 0; i < sc->p; i++) {
		const long double a = sc->comp[i].per_item, c = a + sc->link[i].per_item;
		if (real[i] == 0)
			continue;
		if (!(c > 0))
			return all_to_one(sc, real, i);
		sum += rest / c;
		rest *= a / c;
	}
	rest = 1;
	for (i = 0; i < sc->p; i++) {
		const long double a = sc->comp[i].per_item, c = a + sc->link[i].per_item;
		if (real[i] == 0)
			continue;
		real[i] = (double)(sc->n * (rest / c / sum));
		rest *= a / c;
	}
	return (double)(sc->n / sum);
}

double part_sc_lower(const sc_problem *sc, double *real)
{
	if (!sc->affine)
		return NAN;
	return linear_shares(sc, real) * (1 - DBL_EPSILON * (double)(sc->p + 4));
}

/* Return the scaled makespan of the plan's real shares. If all_pay, every processor pays its
 * startups, even if it has no items. */
static double real_ends(const sc_problem *sc, bool all_pay)
{
	long double port = 0, last = 0;
	for (size_t i = 0; i < sc->p; i++) {
		const sc_cost *const l = &sc->link[i], *const c = &sc->comp[i];
		const long double x = sc->plan->real[i];
		const bool pays = all_pay || x > 0;
		port += (pays ? l->startup : 0) + l->per_item * x;
		last = fmaxl(last, port + (pays ? c->startup : 0) + c->per_item * x);
	}
	return (double)last;
}

hetpart_status part_sc_closed(sc_problem *sc, hetpart_err *err)
{
	if (!sc->linear)
		return part_invalid(err, "the method needs linear costs");
	sc->plan->method = "closed";
	sc->plan->real_makespan = ldexp(linear_shares(sc, sc->plan->real), sc->shift);
	return part_sc_round(sc->plan->share, sc->n, sc->plan->real, sc->p, err);
}

/* ------------------------------------------------------------------------ linear programme */

/* [S0]'s linear programme for affine costs: minimise T subject to T >= sum_{j<=i} link_j(x_j) +
 * comp_i(x_i). Unlike in the dynamic programmes, a processor without items also pays its startups.
 * The programme is solved without the simplex method, from the last processor to the first, in long
 * doubles. The items that processors from i on can do in time t are a concave curve of straight
 * lines; each processor adds one corner. */

typedef struct lp_corner {
	long double t, items;
} lp_corner;

/* Items as a function of time. Before the first corner no plan exists. */
typedef struct lp_curve {
	lp_corner *at;
	size_t n;
	long double slope; /* after the last corner */
} lp_curve;

typedef struct affine_lp {
	sc_problem *sc;
	lp_curve now, next;
	long double *split; /* p entries: see lp_put_before() */
} affine_lp;

static long double max_long(long double a, long double b)
{
	return a > b ? a : b;
}

/* Return the items per time after corner k. */
static long double lp_slope_after(const lp_curve *c, size_t k)
{
	if (k + 1 == c->n)
		return c->slope;
	return (c->at[k + 1].items - c->at[k].items) / (c->at[k + 1].t - c->at[k].t);
}

/* Return the items at time t, which must not be before the first corner. */
static long double lp_items_by(const lp_curve *c, long double t)
{
	size_t k = c->n - 1;
	while (k > 0 && c->at[k].t > t)
		k--;
	return c->at[k].items + lp_slope_after(c, k) * (t - c->at[k].t);
}

/* Append a corner, unless the last corner already has all n items. */
static void lp_bend(lp_curve *c, long double t, long double items, uint64_t n)
{
	if (c->n == 0 || (c->at[c->n - 1].items < n && t > c->at[c->n - 1].t))
		c->at[c->n++] = (lp_corner){ t, items };
}

/* Compute in lp->next the curve of the processors from i on, from `later`, the curve of those after
 * i. Let u be the time that remains after the startup of i's link. If i takes x items, it leaves r
 * = u - b x to the others, which do later(r) items. They can do later'(r) b items in the time b
 * that the link needs for one. While this is at least 1, up to r = split, i takes none. With more
 * time, i takes what exceeds split until it computes all the time. From then on r = (a u + b mu)/(a
 * + b), where mu is its startup. If b is 0, r is u. */
static void lp_put_before(affine_lp *lp, size_t i)
{
	const sc_cost *const link = &lp->sc->link[i], *const comp = &lp->sc->comp[i];
	const long double a = comp->per_item, b = link->per_item, mu = comp->startup;
	const lp_curve *const later = &lp->now;
	const long double first = max_long(mu, later->at[0].t);
	const uint64_t n = lp->sc->n;
	lp_curve *const out = &lp->next;
	size_t k = 0, c;
	while (k < later->n && lp_slope_after(later, k) * b >= 1)
		k++;
	const long double split = k < later->n ? max_long(later->at[k].t, first) : INFINITY;
	lp->split[i] = split;
	out->n = 0;
	lp_bend(out, first, lp_items_by(later, first) + (b > 0 ? 0 : (first - mu) / a), n);
	for (c = 0; c < later->n && later->at[c].t <= split; c++)
		if (later->at[c].t > first)
			lp_bend(out, later->at[c].t, later->at[c].items, n);
	out->slope = later->slope;
	if (split < INFINITY && a > 0) {
		long double u = split + b * (split - mu) / a;
		lp_bend(out, u, lp_items_by(later, split) + (u - mu) / (a + b), n);
		for (; c < later->n; c++) {
			u = later->at[c].t + b * (later->at[c].t - mu) / a;
			lp_bend(out, u, later->at[c].items + (u - mu) / (a + b), n);
		}
		out->slope = (1 + later->slope * a) / (a + b);
	} else if (split < INFINITY) {
		out->slope = 1 / b;
	}
	for (k = 0; k < out->n; k++)
		out->at[k].t += link->startup;
}

/* Set the real shares of the plan to a solution of the linear programme. */
static hetpart_status lp_solve(affine_lp *lp, hetpart_err *err)
{
	sc_problem *const sc = lp->sc;
	const sc_cost *const link = &sc->link[sc->p - 1], *const comp = &sc->comp[sc->p - 1];
	long double sum = 0;
	lp->now.n = 0;
	lp_bend(&lp->now, (long double)link->startup + comp->startup, 0, sc->n);
	lp->now.slope = 1 / ((long double)link->per_item + comp->per_item);
	for (size_t i = sc->p - 1; i-- > 0;) {
		const lp_curve swap = lp->now;
		if (part_spend(&sc->budget, lp->now.n))
			return part_budget_fail(&sc->budget, err);
		lp_put_before(lp, i);
		lp->now = lp->next;
		lp->next = swap;
	}
	const lp_curve *const all = &lp->now;
	size_t k = all->n - 1;
	while (k > 0 && all->at[k].items >= sc->n)
		k--;
	long double end = all->at[k].t;
	if (all->at[k].items < sc->n)
		end += (sc->n - all->at[k].items) / lp_slope_after(all, k);
	long double left = sc->n;
	for (size_t i = 0; i < sc->p; i++) { /* the shares of the plan that ends by end */
		const long double a = sc->comp[i].per_item, b = sc->link[i].per_item;
		const long double u = end - sc->link[i].startup, mu = sc->comp[i].startup;
		long double x = (u - mu) / (a + b);
		if (i + 1 < sc->p && b > 0)
			x = fminl(x, (u - lp->split[i]) / b);
		x = fminl(fmaxl(x, 0), left);
		sc->plan->real[i] = (double)x;
		left -= x;
		end = u - b * x;
		sum += sc->plan->real[i];
	}
	/* Scale the shares so that their sum is n except for the rounding of doubles. */
	for (size_t i = 0; i < sc->p && sum > 0; i++)
		sc->plan->real[i] = (double)(sc->plan->real[i] * (sc->n / sum));
	return HETPART_OK;
}

hetpart_status part_sc_lp(sc_problem *sc, hetpart_err *err)
{
	affine_lp lp = { .sc = sc };
	hetpart_status rc = HETPART_OK;
	size_t who = 0;
	if (!sc->affine)
		return part_invalid(err, "the method needs affine costs");
	sc->plan->method = "lp";
	while (who < sc->p && sc->n > 0 && sc->link[who].per_item + sc->comp[who].per_item > 0)
		who++;
	if (who < sc->p) { /* give it all items: all processors pay their startups in any case */
		all_to_one(sc, sc->plan->real, who);
	} else {
		if (part_array(lp.now.at, 2 * sc->p + 2) && part_array(lp.next.at, 2 * sc->p + 2) &&
		    part_array(lp.split, sc->p))
			rc = lp_solve(&lp, err);
		else
			rc = part_no_memory(err, sc->p, "processors");
		free(lp.now.at);
		free(lp.next.at);
		free(lp.split);
	}
	if (rc != HETPART_OK)
		return rc;
	sc->plan->real_makespan = ldexp(real_ends(sc, true), sc->shift);
	return part_sc_round(sc->plan->share, sc->n, sc->plan->real, sc->p, err);
}

/* --------------------------------------------------------------- all at once, in one or two passes
 */

/* A processor that can take any real number of items from the time start on. */
typedef struct receiver {
	double start;    /* l: time at which it can begin */
	double per_item; /* c: time per item */
	size_t proc;
} receiver;

static int compare_starts(const void *va, const void *vb)
{
	const receiver *const a = va, *const b = vb;
	return part_compare(a->start, a->proc, b->start, b->proc);
}

/* Set real[] to the items that each receiver takes by the time t, the time by which all together
 * take n items. Receivers that start at t or later get none. A receiver that takes items in no time
 * is a sink: t is its start, and it gets the rest. Times are relative to the earliest start. */
static void water_fill(receiver *v, size_t p, uint64_t n, double *real)
{
	long double gain = 0, base = 0, t = INFINITY, left = n;
	size_t sink = p;
	qsort(v, p, sizeof *v, compare_starts);
	for (size_t i = 0; i < p; i++) {
		const long double rise = (long double)v[i].start - v[0].start;
		if (t <= rise)
			break;
		if (!(v[i].per_item > 0)) {
			sink = i;
			t = rise;
			break;
		}
		gain += 1.0L / v[i].per_item;
		base += rise / v[i].per_item;
		t = (n + base) / gain;
	}
	for (size_t i = 0; i < p; i++) {
		const long double room = t - ((long double)v[i].start - v[0].start);
		const bool none = i == sink || room <= 0 || !(v[i].per_item > 0);
		const long double d = none ? 0 : room / v[i].per_item;
		real[v[i].proc] = (double)d;
		left -= d;
	}
	if (sink < p)
		real[v[sink].proc] = (double)fmaxl(0, left);
}

/* Find shares d_i as if all messages were sent at once: processor i ends at l_i + c_i d_i. In pass
 * two a processor also waits for the messages of pass one that come before its own. Unlike [S2],
 * pass one includes startups. Otherwise a processor with too long a startup would get a share, and
 * delay all after it in pass two. Measurements on random platforms: with startups up to a tenth of
 * the makespan, both variants end within 0.2 % of each other; up to the makespan, within 1 %. With
 * startups up to 10 (100) times the makespan, the variant of [S2] takes 1.8 (5) times as long on
 * average. */
hetpart_status part_sc_all_at_once(sc_problem *sc, int passes, hetpart_err *err)
{
	if (!sc->affine)
		return part_invalid(err, "the method needs affine costs");
	sc->plan->method = passes > 1 ? "two-pass" : "all-at-once";
	receiver *const v = part_calloc(sc->p, sizeof *v);
	if (!v)
		return part_no_memory(err, sc->p, "processors");
	for (int pass = 0; pass < passes; pass++) {
		double port = 0; /* in pass two: time at which the port is free */
		for (size_t i = 0; i < sc->p; i++) {
			const sc_cost *const l = &sc->link[i], *const c = &sc->comp[i];
			const double x = sc->plan->real[i];
			v[i] = (receiver){ l->startup + c->startup + port,
					   l->per_item + c->per_item, i };
			if (pass > 0 && x > 0)
				port += l->startup + l->per_item * x;
		}
		water_fill(v, sc->p, sc->n, sc->plan->real);
	}
	free(v);
	sc->plan->real_makespan = ldexp(real_ends(sc, false), sc->shift);
	return part_sc_round(sc->plan->share, sc->n, sc->plan->real, sc->p, err);
}

/* ------------------------------------------------------------------------------------- greedy */

typedef struct both_costs {
	const sc_cost *link, *comp;
} both_costs;

static double time_of_both(void *ctx, uint64_t n)
{
	const both_costs *const b = ctx;
	return sc_time(b->link, n) + sc_time(b->comp, n);
}

/* Minimise the largest sum of a processor's message and computation, for whole shares; messages do
 * not wait for each other. */
hetpart_status part_sc_greedy(sc_problem *sc, hetpart_err *err)
{
	part_procs ps = { .n = sc->p, .bad = &sc->bad };
	hetpart_cost *const sum = part_calloc(sc->p, sizeof *sum);
	const hetpart_cost **const costs = part_calloc(sc->p, sizeof *costs);
	both_costs *const both = part_calloc(sc->p, sizeof *both);
	hetpart_status rc;
	sc->plan->method = "greedy";
	if (!sum || !costs || !both) {
		rc = part_no_memory(err, sc->p, "processors");
	} else if (!sc->comp_increasing || !sc->link_increasing) {
		rc = part_invalid(err, "the method needs increasing costs");
	} else {
		for (size_t i = 0; i < sc->p; i++) {
			both[i] = (both_costs){ &sc->link[i], &sc->comp[i] };
			sum[i] = (hetpart_cost){ .kind = COST_CALLBACK,
						 .increasing = true,
						 .scale = 1,
						 .fn = time_of_both,
						 .ctx = &both[i] };
			costs[i] = &sum[i];
		}
		ps.costs = costs;
		rc = part_threshold(&ps, sc->n, sc->plan->share, NULL, err);
	}
	free(sum);
	free(costs);
	free(both);
	return rc;
}
