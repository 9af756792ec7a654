/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grid.c - the rows of one grid: G_i(k) = min over j <= k of link_i(k - j) + max(comp_i(k
 * - j), G_{i+1}(j)). Rows rise with k, so the j where comp takes over rises too; above it an affine
 * link makes a sliding window minimum, any other a short scan.
 * May not touch: cost kinds. Costs O(1) amortised for each entry where links are affine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"

enum { COMP, LINK };

hetpart_status part_lad_rows(struct ladder *la, hetpart_err *err)
{
	uint64_t total = 0, width = 0, bytes;
	hetpart_status rc;

	for (size_t i = 0; i < la->sc->p; i++) {
		uint64_t w = la->span[i].hi - la->span[i].lo + 1;
		la->row[i] = (size_t)total;
		total = part_mul_add(w, 1, total);
		width = w > width ? w : width;
	}
	bytes = part_mul_add(total, sizeof(double), part_mul_add(width, 7 * sizeof(double), 0));
	if ((rc = part_sc_check_mem(la->sc, bytes, err)) != HETPART_OK)
		return rc;
	la->entries = (size_t)total;
	if (total <= la->room && width <= la->width)
		return HETPART_OK;
	part_lad_free(la);
	la->room = (size_t)total;
	la->width = (size_t)width;
	la->bound = part_calloc(la->room, sizeof *la->bound);
	la->port = part_calloc(la->width, sizeof *la->port);
	la->port2 = part_calloc(la->width, sizeof *la->port2);
	la->queue = part_calloc(la->width, sizeof *la->queue);
	la->seen[COMP] = part_calloc(2 * la->width, sizeof(double));
	la->seen[LINK] = part_calloc(2 * la->width, sizeof(double));
	if (la->bound && la->port && la->port2 && la->queue && la->seen[COMP] && la->seen[LINK])
		return HETPART_OK;
	return part_fail(err, HETPART_ENOMEM, "no memory for %zu amounts", la->room);
}

void part_lad_free(struct ladder *la)
{
	free(la->bound);
	free(la->port);
	free(la->port2);
	free(la->queue);
	free(la->seen[COMP]);
	free(la->seen[LINK]);
	la->bound = la->port = la->port2 = la->seen[COMP] = la->seen[LINK] = NULL;
	la->queue = NULL;
	la->room = la->width = 0;
}

/* Times within one row are asked for again and again; a cost may be a slow function. */
static void forget(struct ladder *la, size_t i)
{
	const struct span *sp = &la->span[i], *next = &la->span[i + 1];
	bool affine[2] = { la->sc->comp[i].affine, la->sc->link[i].affine };

	la->base = sp->lo > next->hi ? sp->lo - next->hi : 0;
	if (sp->hi < next->lo + la->base)
		return;
	for (int what = COMP; what <= LINK; what++)
		if (!affine[what])
			memset(la->seen[what], 0xff,
			       (size_t)(sp->hi - next->lo - la->base + 1) * sizeof(double));
}

static double remembered(const struct ladder *la, int what, const struct sc_cost *c, uint64_t m)
{
	double *at = &la->seen[what][m - la->base];

	if (isnan(*at))
		*at = sc_time(c, lad_items(la, m));
	return *at;
}

static inline double row_comp(const struct ladder *la, size_t i, uint64_t m)
{
	const struct sc_cost *c = &la->sc->comp[i];

	return c->affine ? sc_time(c, lad_items(la, m)) : remembered(la, COMP, c, m);
}

static inline double row_link(const struct ladder *la, size_t i, uint64_t m)
{
	const struct sc_cost *c = &la->sc->link[i];

	return c->affine ? sc_time(c, lad_items(la, m)) : remembered(la, LINK, c, m);
}

/* Whether computing k - j blocks takes at least as long as the others take for j. */
static bool comp_rules(const struct ladder *la, size_t i, uint64_t k, uint64_t j)
{
	return row_comp(la, i, k - j) >= lad_at(la, i + 1, j);
}

/* Of j in [from, last] the one with smallest link + next, better than *best; the scan ends where
 * the others alone take too long. Returns where, or keep if nothing is better. */
static uint64_t scan(const struct ladder *la, size_t i, uint64_t k, struct span js, double *best,
		     uint64_t keep)
{
	for (uint64_t j = js.lo; j <= js.hi; j++) {
		double g = lad_at(la, i + 1, j);
		if (g >= *best)
			break;
		double v = row_link(la, i, k - j) + g;
		if (v < *best) {
			*best = v;
			keep = j;
		}
	}
	return keep;
}

static void last_row(struct ladder *la)
{
	size_t i = la->sc->p - 1;
	const struct span *sp = &la->span[i];
	uint64_t rest = la->kind == LAD_UPPER ? la->sc->n & ((UINT64_C(1) << la->s) - 1) : 0;

	for (uint64_t k = sp->lo; k <= sp->hi; k++) {
		uint64_t d = (k << la->s) + rest;
		la->bound[la->row[i] + (k - sp->lo)] =
			sc_time(&la->sc->link[i], d) + sc_time(&la->sc->comp[i], d);
	}
}

struct window {
	uint64_t *q, head, tail, add;
	double step; /* link time of one more block */
};

/* Let the window hold all j below k; drop those that comp rules, below first. */
static void slide(struct window *w, const struct ladder *la, size_t i, uint64_t k, uint64_t first)
{
	for (; w->add < k && w->add <= la->span[i + 1].hi; w->add++) {
		double g = lad_at(la, i + 1, w->add);
		while (w->tail > w->head) {
			uint64_t b = w->q[w->tail - 1];
			if (lad_at(la, i + 1, b) + w->step * (double)(w->add - b) < g)
				break;
			w->tail--;
		}
		w->q[w->tail++] = w->add;
	}
	while (w->head < w->tail && w->q[w->head] < first)
		w->head++;
}

static void fill_row(struct ladder *la, size_t i)
{
	const struct span *sp = &la->span[i], *next = &la->span[i + 1];
	bool affine = la->sc->link[i].affine;
	struct window w = { la->queue, 0, 0, next->lo, 0 };
	uint64_t first = next->lo; /* comp rules every j below */

	forget(la, i);
	w.step = ldexp(la->sc->link[i].per_item, (int)la->s);
	for (uint64_t k = sp->lo; k <= sp->hi; k++) {
		uint64_t top = k < next->hi ? k : next->hi;
		double best = INFINITY;
		while (first <= top && comp_rules(la, i, k, first))
			first++;
		if (first > next->lo)
			best = row_link(la, i, k - (first - 1)) + row_comp(la, i, k - (first - 1));
		if (!affine) {
			scan(la, i, k, (struct span){ first, top }, &best, 0);
		} else {
			slide(&w, la, i, k, first);
			if (top == k && first <= k)
				best = fmin(best, lad_at(la, i + 1, k));
			if (w.head < w.tail)
				best = fmin(best, row_link(la, i, k - w.q[w.head]) +
							  lad_at(la, i + 1, w.q[w.head]));
		}
		la->bound[la->row[i] + (k - sp->lo)] = best;
	}
}

void part_lad_fill(struct ladder *la, enum lad_kind kind)
{
	la->kind = kind;
	last_row(la);
	for (size_t i = la->sc->p - 1; i-- > 0;)
		fill_row(la, i);
}

/* The best j for k blocks before processor i; UINT64_MAX if there is none. */
static uint64_t best_next(struct ladder *la, size_t i, uint64_t k)
{
	const struct span *next = &la->span[i + 1];
	uint64_t top = k < next->hi ? k : next->hi, lo = next->lo, hi = top + 1;
	uint64_t keep = UINT64_MAX;
	double best = INFINITY;

	forget(la, i);
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (comp_rules(la, i, k, mid))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo > next->lo) {
		keep = lo - 1;
		best = row_link(la, i, k - keep) + row_comp(la, i, k - keep);
	}
	return scan(la, i, k, (struct span){ lo, top }, &best, keep);
}

void part_lad_take(struct ladder *la)
{
	size_t p = la->sc->p;
	uint64_t k = la->span[0].lo, left = la->sc->n;
	double end;

	for (size_t i = 0; i + 1 < p; i++) {
		uint64_t j = best_next(la, i, k);
		if (j == UINT64_MAX)
			return;
		la->path[i] = (k - j) << la->s;
		left -= la->path[i];
		k = j;
	}
	la->path[p - 1] = left;
	end = part_sc_ends(la->sc, la->path, NULL);
	if (!(end < la->upper))
		return;
	la->upper = end;
	for (size_t i = 0; i < p; i++)
		la->sc->plan->share[i] = la->path[i];
}
