/* SPDX-License-Identifier: GPL-3.0-or-later */
/* multires.c - exact shares for increasing costs by ever finer grids, whose blocks have 2^s units.
 * The amount d before processor i is the sum of the shares from i on. Each grid gives a plan of
 * whole blocks (upper bound) and two lower bounds for each amount. One bounds the time in which the
 * processors from i on do d. The other bounds the time at which the port is free for i. Only
 * amounts for which the two sum to less than the makespan of the best plan are kept for the next
 * grid. On the last grid, of single units, the bounds are exact.
 *
 * The first grid contains only amounts that are possible with the bounds of shares of fill.c.
 * Unless the port is busy most of the time, these are few, and the first grid already has single
 * units. Otherwise, if costs are affine, relax.c usually excludes all but a few amounts.
 *
 * The rows of a grid are G_i(k) = min over j <= k of link_i(k - j) + max(comp_i(k - j),
 * G_{i+1}(j)). G_i rises with k, so the last j for which comp is the larger rises too. Above that
 * j, the minimum of link + G is found by a sliding window if the link is affine, otherwise by a
 * short scan. Must not contain: cost kinds. If links are affine, an entry takes O(1) amortised
 * time, so a grid takes O(p W) for W blocks kept per processor. W is at best a small multiple of
 * p. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scatter.h"

/* The contents of bound[]. GRID_LOWER: lower bounds. An amount of k blocks stands for at least k
 * 2^s units, a share of m blocks for more than m - 1 blocks. GRID_UPPER: times of plans whose
 * shares are whole blocks; the root also takes the rest. */
typedef enum grid_kind { GRID_LOWER, GRID_UPPER } grid_kind;

enum { COMP, LINK };

/* A grid has a row for each processor i. It contains, for each amount before i in blocks of 2^s
 * units, a bound of the time in which i and those after it do this amount. */
typedef struct grid {
	sc_problem *sc;
	unsigned s;           /* blocks of 2^s units */
	grid_kind kind;       /* kind of bound[] */
	sc_interval *amounts; /* p entries: amounts before processor i */
	sc_interval *kept;    /* p entries: those kept for the next grid */
	size_t *row;          /* p entries: where the row of processor i begins in bound[] */
	double *bound;        /* rows of amounts[i].hi - amounts[i].lo + 1 entries */
	double *port, *port2; /* as long as the longest row: see port_row() */
	uint64_t *queue;      /* as long as the longest row */
	double *seen[2];      /* twice as long: times of shares in this row, NaN: not computed */
	uint64_t base;        /* blocks of the share of seen[][0] */
	size_t room, width;   /* entries allocated: in bound, for the longest row */
	size_t entries;       /* entries of bound in use */
	bool helped;          /* the last plan tried was better than all before */
	double upper, tol;    /* makespan of the best plan so far (plan->share), its rounding */
	double lower;         /* no plan ends earlier, as previous grids have proven */
	uint64_t *path;       /* p entries: a plan being tried */
} grid;

/* Return the units of a share of m blocks; for GRID_LOWER the fewest. */
static inline uint64_t grid_units(const grid *gr, uint64_t m)
{
	if (gr->kind == GRID_UPPER || m == 0)
		return m << gr->s;
	return ((m - 1) << gr->s) + 1;
}

static inline double grid_link(const grid *gr, size_t i, uint64_t m)
{
	return sc_time(&gr->sc->link[i], grid_units(gr, m));
}

static inline double grid_comp(const grid *gr, size_t i, uint64_t m)
{
	return sc_time(&gr->sc->comp[i], grid_units(gr, m));
}

static inline double grid_at(const grid *gr, size_t i, uint64_t k)
{
	return gr->bound[gr->row[i] + (size_t)(k - gr->amounts[i].lo)];
}

static void grid_free_rows(grid *gr)
{
	free(gr->bound);
	free(gr->port);
	free(gr->port2);
	free(gr->queue);
	free(gr->seen[COMP]);
	free(gr->seen[LINK]);
	gr->bound = gr->port = gr->port2 = gr->seen[COMP] = gr->seen[LINK] = NULL;
	gr->queue = NULL;
	gr->room = gr->width = 0;
}

/* Allocate the rows of gr->amounts. Return false if they exceed the memory of the budget. */
static bool grid_make_rows(grid *gr)
{
	uint64_t total = 0, width = 0;
	for (size_t i = 0; i < gr->sc->p; i++) {
		const uint64_t w = gr->amounts[i].hi - gr->amounts[i].lo + 1;
		gr->row[i] = (size_t)total;
		total = part_mul_add(w, 1, total);
		width = max_u64(w, width);
	}
	if (!part_sc_has_mem(gr->sc, part_mul_add(total, sizeof(double),
						  part_mul_add(width, 7 * sizeof(double), 0))))
		return false;
	gr->entries = (size_t)total;
	if (total <= gr->room && width <= gr->width)
		return true;
	grid_free_rows(gr);
	gr->room = (size_t)total;
	gr->width = (size_t)width;
	if (part_array(gr->bound, gr->room) && part_array(gr->port, gr->width) &&
	    part_array(gr->port2, gr->width) && part_array(gr->queue, gr->width) &&
	    part_array(gr->seen[COMP], 2 * gr->width) && part_array(gr->seen[LINK], 2 * gr->width))
		return true;
	grid_free_rows(gr);
	gr->sc->budget.why = HETPART_ENOMEM;
	return false;
}

/* Prepare seen[], which caches the times of shares, for row i. Within a row the same times are used
 * repeatedly, and a cost may be a slow function. */
static void forget_times(grid *gr, size_t i)
{
	const sc_interval *const sp = &gr->amounts[i], *const next = &gr->amounts[i + 1];
	const bool affine[2] = { gr->sc->comp[i].affine, gr->sc->link[i].affine };
	gr->base = sp->lo > next->hi ? sp->lo - next->hi : 0;
	if (sp->hi < next->lo + gr->base)
		return;
	for (int what = COMP; what <= LINK; what++)
		if (!affine[what])
			memset(gr->seen[what], 0xff,
			       (size_t)(sp->hi - next->lo - gr->base + 1) * sizeof(double));
}

static double time_once(const grid *gr, int what, const sc_cost *c, uint64_t m)
{
	double *const at = &gr->seen[what][m - gr->base];
	if (isnan(*at))
		*at = sc_time(c, grid_units(gr, m));
	return *at;
}

static inline double row_time(const grid *gr, int what, size_t i, uint64_t m)
{
	const sc_cost *const c = what == COMP ? &gr->sc->comp[i] : &gr->sc->link[i];
	return c->affine ? sc_time(c, grid_units(gr, m)) : time_once(gr, what, c, m);
}

/* Return whether computing k - j blocks takes at least as long as the processors after i take for j
 * blocks. */
static bool comp_is_larger(const grid *gr, size_t i, uint64_t k, uint64_t j)
{
	return row_time(gr, COMP, i, k - j) >= grid_at(gr, i + 1, j);
}

/* Return the j in js with the smallest link + G, if that is less than *best, and lower *best to it;
 * otherwise return UINT64_MAX. The scan ends where G is too large by itself. */
static uint64_t scan_row(const grid *gr, size_t i, uint64_t k, sc_interval js, double *best)
{
	uint64_t found = UINT64_MAX;
	for (uint64_t j = js.lo; j <= js.hi; j++) {
		const double g = grid_at(gr, i + 1, j);
		if (g >= *best || part_spend(&gr->sc->budget, 1))
			break;
		const double v = row_time(gr, LINK, i, k - j) + g;
		if (v < *best) {
			*best = v;
			found = j;
		}
	}
	return found;
}

/* A monotone queue of j, as in table.c. */
typedef struct grid_window {
	uint64_t *q, head, tail, add;
	double step; /* link time of one more block */
} grid_window;

/* Move the window: add all j below k, and drop those below first, for which comp is the larger. */
static void slide_window(grid_window *w, const grid *gr, size_t i, uint64_t k, uint64_t first)
{
	for (; w->add < k && w->add <= gr->amounts[i + 1].hi; w->add++) {
		const double g = grid_at(gr, i + 1, w->add);
		while (w->tail > w->head) {
			const uint64_t b = w->q[w->tail - 1];
			if (grid_at(gr, i + 1, b) + w->step * (double)(w->add - b) < g)
				break;
			w->tail--;
		}
		w->q[w->tail++] = w->add;
	}
	while (w->head < w->tail && w->q[w->head] < first)
		w->head++;
}

/* Set bound[] of row i from row i + 1. */
static void fill_row(grid *gr, size_t i)
{
	const sc_interval *const sp = &gr->amounts[i], *const next = &gr->amounts[i + 1];
	const bool affine = gr->sc->link[i].affine;
	grid_window w = { gr->queue, 0, 0, next->lo, 0 };
	uint64_t first = next->lo; /* comp is the larger for every j below first */
	forget_times(gr, i);
	w.step = ldexp(gr->sc->link[i].per_item, (int)gr->s);
	for (uint64_t k = sp->lo; k <= sp->hi; k++) {
		const uint64_t top = min_u64(k, next->hi);
		double best = INFINITY;
		if (part_spend(&gr->sc->budget, 4))
			return;
		while (first <= top && comp_is_larger(gr, i, k, first))
			first++;
		if (first > next->lo)
			best = row_time(gr, LINK, i, k - (first - 1)) +
			       row_time(gr, COMP, i, k - (first - 1));
		if (!affine) {
			scan_row(gr, i, k, (sc_interval){ first, top }, &best);
		} else {
			slide_window(&w, gr, i, k, first);
			if (top == k && first <= k)
				best = min_double(best,
						  row_time(gr, LINK, i, 0) + grid_at(gr, i + 1, k));
			if (w.head < w.tail)
				best = min_double(best, row_time(gr, LINK, i, k - w.q[w.head]) +
								grid_at(gr, i + 1, w.q[w.head]));
		}
		gr->bound[gr->row[i] + (k - sp->lo)] = best;
	}
}

/* Fill all rows, from the root backwards. Return false if the budget ended first. */
static bool grid_fill(grid *gr, grid_kind kind)
{
	sc_problem *const sc = gr->sc;
	const size_t root = sc->p - 1;
	const sc_interval *const sp = &gr->amounts[root];
	const uint64_t rest = kind == GRID_UPPER ? sc->n & ((UINT64_C(1) << gr->s) - 1) : 0;
	gr->kind = kind;
	for (uint64_t k = sp->lo; k <= sp->hi; k++) {
		const uint64_t d = (k << gr->s) + rest;
		gr->bound[gr->row[root] + (k - sp->lo)] =
			sc_time(&sc->link[root], d) + sc_time(&sc->comp[root], d);
	}
	for (size_t i = root; i-- > 0 && sc->budget.why == HETPART_OK;)
		fill_row(gr, i);
	return sc->budget.why == HETPART_OK;
}

/* Keep the plan in path if it is better than the best so far. */
static void offer_path(grid *gr)
{
	const double end = part_sc_ends(gr->sc, gr->path, NULL);
	if (!(end < gr->upper))
		return;
	gr->upper = end;
	memcpy(gr->sc->plan->share, gr->path, gr->sc->p * sizeof *gr->path);
}

/* Return the best amount j before processor i + 1 if k blocks are before i, or UINT64_MAX if every
 * j takes infinite time. */
static uint64_t best_next(grid *gr, size_t i, uint64_t k)
{
	const sc_interval *const next = &gr->amounts[i + 1];
	const uint64_t top = min_u64(k, next->hi);
	part_bisection s = { next->lo, top + 1, 0 };
	uint64_t keep = UINT64_MAX;
	double best = INFINITY;
	forget_times(gr, i);
	while (bisect_first_step(&s))
		bisect_first_narrow(&s, !comp_is_larger(gr, i, k, s.mid));
	if (s.lo > next->lo) {
		keep = s.lo - 1;
		best = row_time(gr, LINK, i, k - keep) + row_time(gr, COMP, i, k - keep);
	}
	const uint64_t found = scan_row(gr, i, k, (sc_interval){ s.lo, top }, &best);
	return found == UINT64_MAX ? keep : found;
}

/* Read the plan from the rows of GRID_UPPER, and pass it to offer_path(). */
static void take_plan(grid *gr)
{
	const size_t p = gr->sc->p;
	uint64_t k = gr->amounts[0].lo, left = gr->sc->n;
	for (size_t i = 0; i + 1 < p; i++) {
		const uint64_t j = best_next(gr, i, k);
		if (j == UINT64_MAX || k < j)
			return;
		gr->path[i] = (k - j) << gr->s;
		left -= gr->path[i];
		k = j;
	}
	gr->path[p - 1] = left;
	offer_path(gr);
}

/* Find a straight line that is nowhere above the link's times of 1 .. most blocks. Set *at to its
 * value for 1 block and *step to its slope per block. */
static void line_below(const grid *gr, size_t i, uint64_t most, double *at, double *step)
{
	const double first = grid_link(gr, i, 1);
	double gap = 0;
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

/* The port time P_i(k) is a lower bound of when the port is free for processor i if k blocks are
 * before i. Compute P_(i+1) in port2[] from P_i in port[]: P_(i+1)(j) = min over k >= j, k - j <=
 * most, of P_i(k) + link_i(k - j). The window slides down, with its candidates in a monotone
 * queue. */
static void port_row(grid *gr, size_t i, const sc_interval *from, const sc_interval *to,
		     uint64_t most)
{
	uint64_t *const q = gr->queue, head = 0, tail = 0, add = from->hi + 1;
	const double still = grid_link(gr, i, 0);
	double at, step;
	line_below(gr, i, most, &at, &step);
	for (uint64_t j = to->hi + 1; j-- > to->lo;) {
		while (add > from->lo && add > j + 1) {
			const double p = gr->port[--add - from->lo];
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

/* Set kept[i] to the amounts before processor i that may belong to a better plan. Return false if
 * no amount remains. */
static bool prune_amounts(grid *gr)
{
	const double below = gr->upper * (1 - gr->tol);
	gr->kept[0] = gr->amounts[0];
	gr->port[0] = 0;
	for (size_t i = 0; i + 1 < gr->sc->p; i++) {
		const sc_interval from = gr->kept[i];
		sc_interval to = gr->amounts[i + 1];
		double start = INFINITY;
		for (uint64_t k = from.lo; k <= from.hi; k++)
			start = min_double(start, gr->port[k - from.lo]);
		to.hi = min_u64(to.hi, from.hi);
		if (to.lo > to.hi)
			return false;
		/* Find the most blocks that i can end by the upper bound if the port is free at
		 * start. */
		part_bisection s = { 0, from.hi - to.lo, 0 };
		if (start + grid_link(gr, i, 0) + grid_comp(gr, i, 0) > gr->upper)
			return false;
		while (bisect_last_step(&s))
			bisect_last_narrow(&s, start + grid_link(gr, i, s.mid) +
							       grid_comp(gr, i, s.mid) <=
						       gr->upper);
		if (part_spend(&gr->sc->budget, to.hi - to.lo))
			return false;
		port_row(gr, i, &from, &to, s.lo);
		uint64_t lo = to.lo, hi = to.hi;
		while (lo <= hi && !(gr->port2[lo - to.lo] + grid_at(gr, i + 1, lo) < below))
			lo++;
		if (lo > hi)
			return false;
		while (!(gr->port2[hi - to.lo] + grid_at(gr, i + 1, hi) < below))
			hi--;
		memmove(gr->port2, gr->port2 + (lo - to.lo),
			(size_t)(hi - lo + 1) * sizeof *gr->port2);
		gr->kept[i + 1] = (sc_interval){ lo, hi };
		double *const swap = gr->port;
		gr->port = gr->port2;
		gr->port2 = swap;
	}
	return true;
}

/* Raise the least amounts so that they do not increase along the processors, as in every plan. The
 * rows rise with k only if no row begins at a smaller amount than the next row. Return false if no
 * amount is left for some processor. */
static bool descend_amounts(sc_interval *amounts, size_t p)
{
	for (size_t i = p - 1; i-- > 0;)
		amounts[i].lo = max_u64(amounts[i].lo, amounts[i + 1].lo);
	for (size_t i = 0; i < p; i++)
		if (amounts[i].lo > amounts[i].hi)
			return false;
	return true;
}

/* Search one grid, and prepare the next, whose blocks have half the size, with the amounts kept.
 * Return whether to search the next: not after single units, nor if the budget ended or no better
 * plan exists. The first plan is often the best. So unless blocks are single units, compute a plan
 * only if the last one helped or the rows have grown. */
static bool search_grid(grid *gr)
{
	const size_t before = gr->entries;
	const double best = gr->upper;
	if (!grid_make_rows(gr))
		return false;
	if (gr->s == 0 || (before > 0 && (gr->helped || gr->entries > before + before / 8))) {
		if (grid_fill(gr, GRID_UPPER))
			take_plan(gr);
		gr->helped = gr->upper < best;
	}
	if (gr->s == 0 || !grid_fill(gr, GRID_LOWER))
		return false;
	const double bound = grid_at(gr, 0, gr->amounts[0].lo);
	gr->lower = max_double(gr->lower, min_double(bound, gr->upper) * (1 - gr->tol));
	if (!(bound < gr->upper * (1 - gr->tol)) || !prune_amounts(gr) ||
	    !descend_amounts(gr->kept, gr->sc->p))
		return false;
	gr->s--;
	for (size_t i = 0; i < gr->sc->p; i++) {
		gr->amounts[i].lo = 2 * gr->kept[i].lo;
		gr->amounts[i].hi = min_u64(2 * gr->kept[i].hi + 1, gr->sc->n >> gr->s);
	}
	gr->amounts[0].lo = gr->amounts[0].hi;
	return true;
}

/* Choose blocks so large that these units are at most 4 p + 16 blocks. */
static void coarsen_grid(grid *gr, uint64_t units)
{
	for (gr->s = 0; units >> gr->s > 4 * (uint64_t)gr->sc->p + 16;)
		gr->s++;
}

/* Set the amounts to those that can belong to a better plan, and choose a grid on which they are
 * few. An amount is at least what the processors before i must leave, and at most what i and those
 * after it can take. Return false if no plan is better. */
static bool first_amounts(grid *gr)
{
	const sc_problem *const sc = gr->sc;
	uint64_t taken = 0, left = 0, widest = 0;
	if (!part_sc_each_most(sc, gr->upper * (1 + 2 * gr->tol), gr->path))
		return false;
	for (size_t i = sc->p; i-- > 0;)
		gr->amounts[i].hi = left = add_capped(left, gr->path[i], sc->n);
	for (size_t i = 0; i < sc->p; i++) {
		sc_interval *const a = &gr->amounts[i];
		a->lo = sc->n - taken;
		widest = max_u64(widest, a->hi - a->lo);
		taken = add_capped(taken, gr->path[i], sc->n);
	}
	coarsen_grid(gr, widest);
	for (size_t i = 0; i < sc->p; i++) {
		gr->amounts[i].lo >>= gr->s;
		gr->amounts[i].hi >>= gr->s;
	}
	return true;
}

/* Set the amounts to those within reach blocks of the best plan so far. */
static void amounts_near_plan(grid *gr, uint64_t reach)
{
	const sc_problem *const sc = gr->sc;
	uint64_t left = sc->n;
	for (size_t i = 0; i < sc->p; i++) {
		const uint64_t k = left >> gr->s;
		gr->amounts[i].lo = k > reach ? k - reach : 0;
		gr->amounts[i].hi = add_capped(k, reach, sc->n >> gr->s);
		left -= sc->plan->share[i];
	}
	gr->amounts[0].lo = gr->amounts[0].hi = sc->n >> gr->s;
}

#define MOST_ENTRIES (UINT64_C(1) << 24) /* on a grid of single units: takes less than a second */

/* Search all amounts on a grid of single units. Return false if there are too many. */
static bool search_units(grid *gr)
{
	const sc_problem *const sc = gr->sc;
	uint64_t total = 0;
	for (size_t i = 0; i < sc->p; i++)
		total = part_mul_add(gr->amounts[i].hi - gr->amounts[i].lo + 1, 1, total);
	if (total > MOST_ENTRIES || total > sc->budget.max_mem / (8 * sizeof(double)) ||
	    !grid_make_rows(gr) || !grid_fill(gr, GRID_UPPER))
		return false;
	take_plan(gr);
	return true;
}

/* For affine costs: search the amounts near the best real shares, which usually gives a better
 * plan. Then search the few amounts that relax.c does not exclude. Return true if all of them were
 * searched or no plan is better. This is exact: whole shares are searched, and relax.c excludes
 * only amounts of no better plan, in spite of its rounding. If it returns false, gr->upper and
 * gr->lower may have improved. */
static bool search_near_real(grid *gr)
{
	sc_problem *const sc = gr->sc;
	const double tol = part_sc_relax_tolerance(sc);
	sc_relaxation *const rx = part_sc_relax(sc, gr->upper * (1 + 2 * tol));
	double *const real = part_calloc(sc->p, sizeof *real), time;
	bool done = false;
	if (rx && real && part_sc_relax_plan(rx, &time, real) &&
	    part_sc_round(gr->path, sc->n, real, sc->p, NULL) == HETPART_OK) {
		gr->lower = max_double(gr->lower, min_double(time, gr->upper) * (1 - gr->tol));
		offer_path(gr);
		gr->s = 0;
		amounts_near_plan(gr, min_u64(64, (1 << 19) / sc->p + 4));
		done = search_units(gr) &&
		       part_sc_relax_amounts(rx, gr->upper * (1 + tol), gr->amounts) &&
		       descend_amounts(gr->amounts, sc->p) && search_units(gr);
	}
	free(real);
	part_sc_relax_free(rx);
	return done || !first_amounts(gr);
}

/* Improve a plan that was not proven to be the best before the budget ended. Ever finer but narrow
 * grids near the plan usually find a better one. Then set sc->lower to a time before which no plan
 * ends. */
static void improve_unproven(grid *gr)
{
	const uint64_t reach = min_u64(512, (1 << 19) / gr->sc->p + 4);
	coarsen_grid(gr, gr->sc->n);
	for (gr->s++; gr->s-- > 0;) {
		amounts_near_plan(gr, reach);
		if (!grid_make_rows(gr) || !grid_fill(gr, GRID_UPPER))
			break;
		take_plan(gr);
	}
	double lo = gr->lower, hi = gr->upper;
	for (int step = 0; step < 20 && lo < hi; step++) {
		const double mid = lo + (hi - lo) / 2;
		if (part_sc_each_most(gr->sc, mid, gr->path))
			hi = mid;
		else
			lo = mid;
	}
	gr->sc->lower = max_double(gr->lower, lo * (1 - 2 * gr->tol));
}

/* Find the best plan, or one as good as the budget allows. */
static hetpart_status find_plan(grid *gr, hetpart_err *err)
{
	sc_problem *const sc = gr->sc;
	const double end_s = part_budget_reserve(&sc->budget, 0.2);
	gr->tol = DBL_EPSILON * (2 * (double)sc->p + 16);
	gr->upper = part_sc_smallest(sc, sc->plan->share);
	if (!isfinite(gr->upper))
		return sc->budget.why == HETPART_OK ? part_no_plan(err)
						    : part_budget_fail(&sc->budget, err);
	if (gr->upper > 0 && first_amounts(gr) && !(gr->s == 0 && search_units(gr)) &&
	    !(sc->affine && search_near_real(gr)))
		while (search_grid(gr))
			continue;
	sc->budget.end_s = end_s;
	sc->exact = sc->budget.why == HETPART_OK;
	if (sc->exact)
		return HETPART_OK;
	sc->plan->stopped = sc->budget.why;
	sc->budget.why = HETPART_OK;
	improve_unproven(gr);
	return HETPART_OK;
}

hetpart_status part_sc_multires(sc_problem *sc, hetpart_err *err)
{
	grid gr = { .sc = sc };
	hetpart_status rc;
	if (!sc->comp_increasing || !sc->link_increasing)
		return part_invalid(err, "the method needs increasing costs");
	sc->plan->method = "multires";
	if (part_array(gr.amounts, sc->p) && part_array(gr.kept, sc->p) &&
	    part_array(gr.row, sc->p) && part_array(gr.path, sc->p))
		rc = find_plan(&gr, err);
	else
		rc = part_no_memory(err, sc->p, "processors");
	free(gr.amounts);
	free(gr.kept);
	free(gr.row);
	free(gr.path);
	grid_free_rows(&gr);
	return rc;
}
