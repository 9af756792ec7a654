/* SPDX-License-Identifier: GPL-3.0-or-later */
/* real_shares.c - methods for affine costs that round real shares: the closed form and the linear
 * programme of [S0], and the affine shares of [S2]. Also the greedy method of [S2] for whole
 * shares, and the rounding scheme of [S0]. Must not contain: exact whole shares. Costs O(p) for
 * the closed form, O(p log p) to round and for the shares of [S2]. The linear programme costs O(p)
 * for each processor at worst. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "scatter.h"
#include "unrelated/unrelated.h"

/* ---------------------------------------------------------------------------------- rounding */

/* The share nearest to a whole number is rounded first, the others against the running error e, so
 * that no sum of shares drifts. The last share is n_k - e: the n_k + e of the paper would miss the
 * total. */
typedef struct real_share {
	long double whole, fraction; /* fraction in [0, 1) */
	size_t proc;
} real_share;

static int compare_fractions(const void *va, const void *vb)
{
	const real_share *const a = va, *const b = vb;
	return part_compare(a->fraction, a->proc, b->fraction, b->proc);
}

/* Round the parts, sorted by fraction. If e > 0, too much was given, so cut off the smallest
 * fraction; if e < 0, make the largest whole; if e = 0, take whichever is nearer. Return how many
 * items too many were given because of the rounding of doubles. */
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
		norm = 1; /* exact except for rounding: keep whole shares whole */
	for (size_t i = 0; i < p; i++) {
		parts[i].proc = i;
		parts[i].whole = floorl(real[i] * norm);
		parts[i].fraction = real[i] * norm - parts[i].whole;
	}
	qsort(parts, p, sizeof *parts, compare_fractions);
	uint64_t over = round_in_order(parts, p, items, share);
	while (over > 0) { /* the largest shares give back what is too much */
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

/* Give all units to one processor, which takes any number in no time. */
static double all_to_one(const sc_problem *sc, double *real, size_t who)
{
	for (size_t i = 0; i < sc->p; i++)
		real[i] = i == who ? (double)sc->n : 0;
	return 0;
}

/* Set the real shares of smallest makespan for the linear parts of affine costs, and return the
 * makespan, scaled, as in [S0]. The processors that are kept end together. One whose link is
 * slower than all kept after it together is dropped, and its share is 0. The time of one item on
 * those kept from each on is d; a is computation, b communication. */
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

/* Return the scaled makespan of the plan's real shares. all_pay: every processor pays the startups,
 * even for no items. */
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

/* [S0]'s linear programme for affine costs, solved exactly: minimise T subject to T >= sum_{j<=i}
 * link_j(x_j) + comp_i(x_i). It pays every startup, even for no items, which the dynamic
 * programmes do not. The solution goes from the last processor to the first. The items that those
 * from i on can do in t are a concave curve of straight lines, and each processor adds one bend.
 * All in long doubles. */

typedef struct lp_corner {
	long double t, items;
} lp_corner;

/* Items by time, from the first corner on; before it there is no plan. */
typedef struct lp_curve {
	lp_corner *at;
	size_t n;
	long double slope; /* beyond the last corner */
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

static long double lp_slope_after(const lp_curve *c, size_t k)
{
	if (k + 1 == c->n)
		return c->slope;
	return (c->at[k + 1].items - c->at[k].items) / (c->at[k + 1].t - c->at[k].t);
}

/* Return the items by t, which is not before the first corner. */
static long double lp_items_by(const lp_curve *c, long double t)
{
	size_t k = c->n - 1;
	while (k > 0 && c->at[k].t > t)
		k--;
	return c->at[k].items + lp_slope_after(c, k) * (t - c->at[k].t);
}

/* Add a corner, unless the one before it has all n items already. */
static void lp_bend(lp_curve *c, long double t, long double items, uint64_t n)
{
	if (c->n == 0 || (c->at[c->n - 1].items < n && t > c->at[c->n - 1].t))
		c->at[c->n++] = (lp_corner){ t, items };
}

/* Find the curve of processor i and those after it from theirs, called later. With u left when its
 * startup was sent, it takes x and leaves r = u - b x for the others, which do later(r). An item
 * costs b of their time, so it takes none while they make more of b than one item, up to r = split.
 * Beyond, it takes what is above split, until it works all the time itself:
 * r = (a u + b mu)/(a + b). A free link leaves all of u. */
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
	for (size_t i = 0; i < sc->p; i++) { /* the shares that end by then */
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
	/* Make the shares sum to n to the last digit of a double. */
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
	if (who < sc->p) { /* it takes all, as nothing ends before the startups */
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

/* A processor that takes any real number of items, from its start on. */
typedef struct receiver {
	double start;    /* l: when it can begin */
	double per_item; /* c: time */
	size_t proc;
} receiver;

static int compare_starts(const void *va, const void *vb)
{
	const receiver *const a = va, *const b = vb;
	return part_compare(a->start, a->proc, b->start, b->proc);
}

/* Fill the receivers like vessels with water, up to the time t by which they take n items
 * together. Those that start at t or later get none. A receiver that takes items in no time is a
 * sink: it gets the rest, and t is its start. Times count from the first start. */
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

/* Divide as if all were sent at once: processor i ends at l_i + c_i d_i. In pass two a processor
 * also waits for the messages of pass one that come before its own (the stair). Pass one counts the
 * startups, unlike [S2]. There, a processor whose startup is too long to be served would get a
 * share, and delay all after it in pass two. On random platforms with startups up to a tenth of the
 * makespan both end within 0.2 % of each other; with startups up to the makespan within 1 %. With
 * startups up to ten times that, [S2]'s ends 1.8 times as late on average, up to 100 times, 5 times
 * as late. */
hetpart_status part_sc_all_at_once(sc_problem *sc, int passes, hetpart_err *err)
{
	if (!sc->affine)
		return part_invalid(err, "the method needs affine costs");
	sc->plan->method = passes > 1 ? "two-pass" : "all-at-once";
	receiver *const v = part_calloc(sc->p, sizeof *v);
	if (!v)
		return part_no_memory(err, sc->p, "processors");
	for (int pass = 0; pass < passes; pass++) {
		double port = 0; /* when it is free, in pass two */
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

/* Minimise the largest sum of a message and a computation, for whole shares. */
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
