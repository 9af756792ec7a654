/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grid.c - the rows of one grid: G_i(k) = min over j <= k of link_i(k - j) + max(comp_i(k
 * - j), G_{i+1}(j)). Rows rise with k, so the j from which comp is the larger rises too; above it
 * an affine link makes a sliding window minimum, any other a short scan. May not touch: cost kinds.
 * Costs O(1) amortised for each entry where links are affine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"

enum { COMP, LINK };

bool part_grid_rows(struct grid *gr)
{
	uint64_t total = 0, width = 0;

	for (size_t i = 0; i < gr->sc->p; i++) {
		uint64_t w = gr->amounts[i].hi - gr->amounts[i].lo + 1;
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
	part_grid_free(gr);
	gr->room = (size_t)total;
	gr->width = (size_t)width;
	gr->bound = part_calloc(gr->room, sizeof *gr->bound);
	gr->port = part_calloc(gr->width, sizeof *gr->port);
	gr->port2 = part_calloc(gr->width, sizeof *gr->port2);
	gr->queue = part_calloc(gr->width, sizeof *gr->queue);
	gr->seen[COMP] = part_calloc(2 * gr->width, sizeof(double));
	gr->seen[LINK] = part_calloc(2 * gr->width, sizeof(double));
	if (gr->bound && gr->port && gr->port2 && gr->queue && gr->seen[COMP] && gr->seen[LINK])
		return true;
	part_grid_free(gr);
	gr->sc->budget.why = HETPART_ENOMEM;
	return false;
}

void part_grid_free(struct grid *gr)
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

/* Times within one row are asked for again and again; a cost may be a slow function. */
static void forget_times(struct grid *gr, size_t i)
{
	const struct interval *sp = &gr->amounts[i], *next = &gr->amounts[i + 1];
	bool affine[2] = { gr->sc->comp[i].affine, gr->sc->link[i].affine };

	gr->base = sp->lo > next->hi ? sp->lo - next->hi : 0;
	if (sp->hi < next->lo + gr->base)
		return;
	for (int what = COMP; what <= LINK; what++)
		if (!affine[what])
			memset(gr->seen[what], 0xff,
			       (size_t)(sp->hi - next->lo - gr->base + 1) * sizeof(double));
}

static double time_once(const struct grid *gr, int what, const struct sc_cost *c, uint64_t m)
{
	double *at = &gr->seen[what][m - gr->base];

	if (isnan(*at))
		*at = sc_time(c, grid_items(gr, m));
	return *at;
}

static inline double row_comp(const struct grid *gr, size_t i, uint64_t m)
{
	const struct sc_cost *c = &gr->sc->comp[i];

	return c->affine ? sc_time(c, grid_items(gr, m)) : time_once(gr, COMP, c, m);
}

static inline double row_link(const struct grid *gr, size_t i, uint64_t m)
{
	const struct sc_cost *c = &gr->sc->link[i];

	return c->affine ? sc_time(c, grid_items(gr, m)) : time_once(gr, LINK, c, m);
}

/* Whether computing k - j blocks takes at least as long as the others take for j. */
static bool comp_is_larger(const struct grid *gr, size_t i, uint64_t k, uint64_t j)
{
	return row_comp(gr, i, k - j) >= grid_at(gr, i + 1, j);
}

/* Of j in [from, last] the one with smallest link + next, better than *best; the scan ends where
 * the others alone take too long. Returns where, or keep if nothing is better. */
static uint64_t scan(const struct grid *gr, size_t i, uint64_t k, struct interval js, double *best,
		     uint64_t keep)
{
	for (uint64_t j = js.lo; j <= js.hi; j++) {
		double g = grid_at(gr, i + 1, j);
		if (g >= *best || part_spend(&gr->sc->budget, 1))
			break;
		double v = row_link(gr, i, k - j) + g;
		if (v < *best) {
			*best = v;
			keep = j;
		}
	}
	return keep;
}

static void last_row(struct grid *gr)
{
	size_t i = gr->sc->p - 1;
	const struct interval *sp = &gr->amounts[i];
	uint64_t rest = gr->kind == GRID_UPPER ? gr->sc->n & ((UINT64_C(1) << gr->s) - 1) : 0;

	for (uint64_t k = sp->lo; k <= sp->hi; k++) {
		uint64_t d = (k << gr->s) + rest;
		gr->bound[gr->row[i] + (k - sp->lo)] =
			sc_time(&gr->sc->link[i], d) + sc_time(&gr->sc->comp[i], d);
	}
}

struct window {
	uint64_t *q, head, tail, add;
	double step; /* link time of one more block */
};

/* Let the window hold all j below k; drop those below first, where comp is
 * the larger. */
static void slide(struct window *w, const struct grid *gr, size_t i, uint64_t k, uint64_t first)
{
	for (; w->add < k && w->add <= gr->amounts[i + 1].hi; w->add++) {
		double g = grid_at(gr, i + 1, w->add);
		while (w->tail > w->head) {
			uint64_t b = w->q[w->tail - 1];
			if (grid_at(gr, i + 1, b) + w->step * (double)(w->add - b) < g)
				break;
			w->tail--;
		}
		w->q[w->tail++] = w->add;
	}
	while (w->head < w->tail && w->q[w->head] < first)
		w->head++;
}

static void fill_row(struct grid *gr, size_t i)
{
	const struct interval *sp = &gr->amounts[i], *next = &gr->amounts[i + 1];
	bool affine = gr->sc->link[i].affine;
	struct window w = { gr->queue, 0, 0, next->lo, 0 };
	uint64_t first = next->lo; /* comp is the larger for every j below */

	forget_times(gr, i);
	w.step = ldexp(gr->sc->link[i].per_item, (int)gr->s);
	for (uint64_t k = sp->lo; k <= sp->hi; k++) {
		uint64_t top = min_u64(k, next->hi);
		double best = INFINITY;
		if (part_spend(&gr->sc->budget, 4))
			return;
		while (first <= top && comp_is_larger(gr, i, k, first))
			first++;
		if (first > next->lo)
			best = row_link(gr, i, k - (first - 1)) + row_comp(gr, i, k - (first - 1));
		if (!affine) {
			scan(gr, i, k, (struct interval){ first, top }, &best, 0);
		} else {
			slide(&w, gr, i, k, first);
			if (top == k && first <= k)
				best = min_double(best, row_link(gr, i, 0) + grid_at(gr, i + 1, k));
			if (w.head < w.tail)
				best = min_double(best, row_link(gr, i, k - w.q[w.head]) +
								grid_at(gr, i + 1, w.q[w.head]));
		}
		gr->bound[gr->row[i] + (k - sp->lo)] = best;
	}
}

bool part_grid_fill(struct grid *gr, enum grid_kind kind)
{
	part_budget *budget = &gr->sc->budget;

	gr->kind = kind;
	last_row(gr);
	for (size_t i = gr->sc->p - 1; i-- > 0 && budget->why == HETPART_OK;)
		fill_row(gr, i);
	return budget->why == HETPART_OK;
}

/* The best j for k blocks before processor i; UINT64_MAX if there is none. */
static uint64_t best_next(struct grid *gr, size_t i, uint64_t k)
{
	const struct interval *next = &gr->amounts[i + 1];
	uint64_t top = min_u64(k, next->hi), keep = UINT64_MAX;
	part_bisection s = { next->lo, top + 1, 0 };
	double best = INFINITY;

	forget_times(gr, i);
	while (bisect_first_step(&s))
		bisect_first_narrow(&s, !comp_is_larger(gr, i, k, s.mid));
	if (s.lo > next->lo) {
		keep = s.lo - 1;
		best = row_link(gr, i, k - keep) + row_comp(gr, i, k - keep);
	}
	return scan(gr, i, k, (struct interval){ s.lo, top }, &best, keep);
}

void part_grid_offer(struct grid *gr)
{
	double end = part_sc_ends(gr->sc, gr->path, NULL);

	if (!(end < gr->upper))
		return;
	gr->upper = end;
	memcpy(gr->sc->plan->share, gr->path, gr->sc->p * sizeof *gr->path);
}

void part_grid_take(struct grid *gr)
{
	size_t p = gr->sc->p;
	uint64_t k = gr->amounts[0].lo, left = gr->sc->n;

	for (size_t i = 0; i + 1 < p; i++) {
		uint64_t j = best_next(gr, i, k);
		if (j == UINT64_MAX || k < j)
			return;
		gr->path[i] = (k - j) << gr->s;
		left -= gr->path[i];
		k = j;
	}
	gr->path[p - 1] = left;
	part_grid_offer(gr);
}
