/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table.c - the frame of the dynamic programmes over all amounts 0 .. n.
 * May not touch: how a row is found. Costs 4 p n + 36 n bytes and O(p n) calls of the costs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "table.h"

struct work {
	struct sc_table t;
	double *link, *comp, *next, *row;
	uint32_t *choice; /* (p - 1) rows of n + 1 */
	double limit;     /* the makespan of some plan; infinite: all amounts count */
};

uint64_t part_sc_dp_bytes(uint64_t items, size_t nprocs)
{
	uint64_t row = items + 1;

	return part_mul_add(part_mul_add(nprocs - 1, 4, 36), row, 0);
}

static void tabulate(const struct sc_cost *c, size_t n, double *restrict v)
{
	double startup = c->startup, per_item = c->per_item;

	v[0] = sc_time(c, 0);
	for (size_t e = 1; c->affine && e <= n; e++)
		v[e] = startup + per_item * (double)(int64_t)e;
	for (size_t e = 1; !c->affine && e <= n; e++)
		v[e] = part_sc_other(c, e);
}

uint32_t part_sc_table_one(const struct sc_table *t, size_t d, double *best)
{
	uint32_t at = 0;

	*best = INFINITY;
	for (size_t e = 0; e <= d; e++) {
		double v = t->link[e] + later(t->comp[e], t->next[d - e]);
		if (v < *best) {
			*best = v;
			at = (uint32_t)e;
		}
	}
	return at;
}

/* Most items that processor i can take and end by the limit, whatever the others do. */
static size_t most_items(const struct scatter *sc, size_t i, double limit)
{
	struct bisection s = { 0, sc->n, 0 };

	while (last_step(&s))
		last_told(&s, sc_time(&sc->link[i], s.mid) + sc_time(&sc->comp[i], s.mid) <= limit);
	return (size_t)s.lo;
}

/* Let row i end where the processors from i on can take no more; amounts beyond the end of the row
 * after it are in no plan. */
static void extend(const struct scatter *sc, struct work *w, size_t i, size_t *reach)
{
	size_t most = isfinite(w->limit) ? most_items(sc, i, w->limit) : (size_t)sc->n;
	size_t was = *reach;

	*reach = i == 0 || most > (size_t)sc->n - was ? (size_t)sc->n : was + most;
	for (size_t d = was + 1; i + 1 < sc->p && d <= *reach; d++)
		w->next[d] = INFINITY;
	w->t.n = *reach;
}

/* Rows from the root backwards; of the first processor only what all items need is of interest. */
static void all_rows(struct scatter *sc, struct work *w, sc_row_fn *fill)
{
	size_t len = (size_t)sc->n + 1, reach = 0;

	extend(sc, w, sc->p - 1, &reach);
	tabulate(&sc->link[sc->p - 1], reach, w->next);
	tabulate(&sc->comp[sc->p - 1], reach, w->comp);
	for (size_t d = 0; d <= reach; d++)
		w->next[d] += w->comp[d];
	for (size_t i = sc->p - 1; i-- > 0;) {
		double *swap = w->next;
		extend(sc, w, i, &reach);
		tabulate(&sc->link[i], reach, w->link);
		tabulate(&sc->comp[i], reach, w->comp);
		w->t.link = w->link, w->t.comp = w->comp, w->t.next = w->next;
		w->t.link_per_item = sc->link[i].per_item;
		if (i > 0)
			fill(&w->t, w->choice + i * len, w->row);
		else
			w->choice[reach] = part_sc_table_one(&w->t, reach, &w->row[reach]);
		w->next = w->row;
		w->row = swap;
	}
}

static hetpart_status read_shares(struct scatter *sc, const struct work *w, hetpart_err *err)
{
	size_t d = (size_t)sc->n, len = d + 1;

	if (!(w->next[d] < INFINITY))
		return part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
	for (size_t i = 0; i + 1 < sc->p; i++) {
		size_t e = w->choice[i * len + d];
		sc->plan->share[i] = e;
		d -= e;
	}
	sc->plan->share[sc->p - 1] = d;
	sc->exact = true;
	return HETPART_OK;
}

hetpart_status part_sc_table_run(struct scatter *sc, sc_row_fn *row, bool bounded, hetpart_err *err)
{
	struct work w = { .limit = INFINITY };
	size_t len = (size_t)sc->n + 1;
	hetpart_status rc = part_sc_check_mem(sc, part_sc_dp_bytes(sc->n, sc->p), err);

	if (rc != HETPART_OK)
		return rc;
	if (sc->n >= UINT32_MAX - 1)
		return part_fail(err, HETPART_ERANGE,
				 "'%" PRIu64 "' items: the method takes at most 2^32 - 2", sc->n);
	w.link = part_calloc(len, sizeof *w.link);
	w.comp = part_calloc(len, sizeof *w.comp);
	w.next = part_calloc(len, sizeof *w.next);
	w.row = part_calloc(len, sizeof *w.row);
	w.t.scratch = part_calloc(len, sizeof *w.t.scratch);
	w.choice = part_calloc((sc->p - 1) * len, sizeof *w.choice);
	if (bounded) /* room for the rounding of sums along a row */
		w.limit = part_sc_upper(sc, sc->plan->share) * (1 + 1e-9);
	if (w.t.scratch && w.link && w.comp && w.next && w.row && w.choice) {
		all_rows(sc, &w, row);
		rc = read_shares(sc, &w, err);
	} else {
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu items", len - 1);
	}
	free(w.link);
	free(w.comp);
	free(w.next);
	free(w.row);
	free(w.choice);
	free(w.t.scratch);
	return rc;
}
