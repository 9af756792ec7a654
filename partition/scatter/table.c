/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table.c - the dynamic programmes over all amounts 0 .. n: cost[d,i] = min over e of link_i(e) +
 * max(comp_i(e), cost[d-e,i+1]). Algorithms 1 and 2 of [S0] and the window fill their rows in
 * different ways. A programme that does not end in the budget is replaced by multires.c, or by
 * tables of whole blocks. May not touch: cost kinds. Costs 4 p n + 36 n bytes, O(p n) calls of the
 * costs, and for Algorithms 1 and 2 O(p n^2) time at worst. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scatter.h"

struct sc_table {
	size_t n;                  /* amounts 0 .. n of this row are of interest */
	const double *link, *comp; /* n + 1 entries: this processor's times */
	const double *next;        /* n + 1 entries: best time of the processors after it */
	double link_per_item;      /* affine links */
	uint32_t *scratch;         /* n + 1 entries */
	part_budget *budget;
};

/* Fill in choice[d] and row[d], d = 0 .. n, from the table; may leave off when the budget is at its
 * end. */
typedef void sc_row_fn(const struct sc_table *t, uint32_t *choice, double *row);

struct work {
	struct sc_table t;
	uint64_t block; /* shares are multiples of it; the root takes the rest as well */
	size_t n;       /* blocks */
	double *link, *comp, *next, *row;
	uint32_t *choice; /* (p - 1) rows of n + 1 */
	uint64_t *most; /* p entries: of each processor in any best plan; NULL: all amounts count */
};

uint64_t part_sc_dp_bytes(uint64_t items, size_t nprocs)
{
	uint64_t row = items + 1;

	return part_mul_add(part_mul_add(nprocs - 1, 4, 36), row, 0);
}

/* Times of 0 .. n blocks and more items. */
static void tabulate(const struct sc_cost *c, const struct work *w, size_t n, uint64_t more,
		     double *restrict v)
{
	double startup = c->startup, per_item = c->per_item;

	v[0] = sc_time(c, more);
	if (c->affine && w->block == 1 && more == 0)
		for (size_t e = 1; e <= n; e++)
			v[e] = startup + per_item * (double)(int64_t)e;
	else
		for (size_t e = 1; e <= n && !part_spend(w->t.budget, 1); e++)
			v[e] = sc_time(c, e * w->block + more);
}

/* Return the best e for d items by looking at all of them, for any costs; *best is its time. */
static uint32_t best_of_all(const struct sc_table *t, size_t d, double *best)
{
	uint32_t at = 0;

	*best = INFINITY;
	for (size_t e = 0; e <= d; e++) {
		double v = t->link[e] + max_double(t->comp[e], t->next[d - e]);
		if (v < *best) {
			*best = v;
			at = (uint32_t)e;
		}
	}
	return at;
}

/* [S0] Algorithm 1. */
static void row_any(const struct sc_table *t, uint32_t *choice, double *row)
{
	for (size_t d = 0; d <= t->n && !part_spend(t->budget, d); d++)
		choice[d] = best_of_all(t, d, &row[d]);
}

/* Let row i end where the processors from i on can take no more; amounts beyond the end of the row
 * after it are in no plan. */
static void extend(const struct scatter *sc, struct work *w, size_t i, size_t *reach)
{
	size_t was = *reach;

	*reach = i == 0 || !w->most ? w->n : (size_t)add_capped(was, w->most[i], w->n);
	for (size_t d = was + 1; i + 1 < sc->p && d <= *reach; d++)
		w->next[d] = INFINITY;
	w->t.n = *reach;
}

static void last_row(const struct scatter *sc, struct work *w, size_t reach)
{
	uint64_t rest = sc->n % w->block;

	tabulate(&sc->link[sc->p - 1], w, reach, rest, w->next);
	tabulate(&sc->comp[sc->p - 1], w, reach, rest, w->comp);
	for (size_t d = 0; d <= reach; d++)
		w->next[d] += w->comp[d];
}

/* Rows from the root backwards; of the first processor only what all items need is of interest.
 * False if the budget ended before. */
static bool all_rows(struct scatter *sc, struct work *w, sc_row_fn *fill)
{
	size_t len = w->n + 1, reach = 0;

	extend(sc, w, sc->p - 1, &reach);
	last_row(sc, w, reach);
	for (size_t i = sc->p - 1; i-- > 0 && !part_spend(w->t.budget, reach);) {
		double *swap = w->next;
		extend(sc, w, i, &reach);
		tabulate(&sc->link[i], w, reach, 0, w->link);
		tabulate(&sc->comp[i], w, reach, 0, w->comp);
		w->t.link = w->link, w->t.comp = w->comp, w->t.next = w->next;
		w->t.link_per_item = sc->link[i].per_item;
		if (i > 0)
			fill(&w->t, w->choice + i * len, w->row);
		else
			w->choice[reach] = best_of_all(&w->t, reach, &w->row[reach]);
		w->next = w->row;
		w->row = swap;
	}
	return w->t.budget->why == HETPART_OK;
}

static void read_shares(const struct scatter *sc, const struct work *w, uint64_t *share)
{
	size_t d = w->n, len = d + 1;

	for (size_t i = 0; i + 1 < sc->p; i++) {
		size_t e = w->choice[i * len + d];
		share[i] = e * w->block;
		d -= e;
	}
	share[sc->p - 1] = d * w->block + sc->n % w->block;
}

/* Memory for blocks of that size; false if there is none. Close it whatever this returns. */
static bool open_work(struct scatter *sc, struct work *w, uint64_t block)
{
	size_t len = (size_t)(sc->n / block) + 1;

	*w = (struct work){ .block = block, .n = len - 1 };
	w->t.budget = &sc->budget;
	w->link = part_calloc(len, sizeof *w->link);
	w->comp = part_calloc(len, sizeof *w->comp);
	w->next = part_calloc(len, sizeof *w->next);
	w->row = part_calloc(len, sizeof *w->row);
	w->t.scratch = part_calloc(len, sizeof *w->t.scratch);
	w->choice = part_calloc((sc->p - 1) * len, sizeof *w->choice);
	return w->t.scratch && w->link && w->comp && w->next && w->row && w->choice;
}

static void close_work(struct work *w)
{
	free(w->link);
	free(w->comp);
	free(w->next);
	free(w->row);
	free(w->choice);
	free(w->t.scratch);
}

/* The best plan of whole blocks into path; *end is its makespan, infinite where there is none or
 * the budget ended. */
static void whole_blocks(struct scatter *sc, uint64_t block, uint64_t *path, double *end)
{
	struct work w;

	*end = INFINITY;
	if (!open_work(sc, &w, block)) {
		sc->budget.why = HETPART_ENOMEM;
	} else if (all_rows(sc, &w, row_any) && w.next[w.n] < INFINITY) {
		read_shares(sc, &w, path);
		*end = part_sc_ends(sc, path, NULL);
	}
	close_work(&w);
}

/* Blocks so few that their table is made in any budget. */
static uint64_t few_blocks(const struct scatter *sc)
{
	uint64_t few = 8;

	while (few * few * sc->p < 1 << 16)
		few *= 2;
	return few;
}

/* For costs that are not increasing: tables of whole blocks, at first few of them, then twice as
 * many, until the budget ends. */
static hetpart_status ever_finer(struct scatter *sc, uint64_t *path, hetpart_err *err)
{
	part_budget given = sc->budget;
	double best = INFINITY, end;

	sc->budget.stop = NULL;
	sc->budget.end_s = INFINITY;
	for (uint64_t blocks = few_blocks(sc);; blocks *= 2) {
		uint64_t block = max_u64(1, divide_up(sc->n, blocks));
		whole_blocks(sc, block, path, &end);
		if (end < best)
			memcpy(sc->plan->share, path, sc->p * sizeof *path);
		best = min_double(best, end);
		sc->exact = block == 1 && sc->budget.why == HETPART_OK;
		sc->budget.stop = given.stop;
		sc->budget.end_s = given.end_s;
		if (block == 1 || part_budget_check(&sc->budget) ||
		    !part_sc_has_mem(sc, part_sc_dp_bytes(sc->n / (block / 2), sc->p)))
			break;
	}
	return best < INFINITY ? HETPART_OK : part_budget_fail(&sc->budget, err);
}

/* The budget ended before the table. */
static hetpart_status make_do(struct scatter *sc, hetpart_err *err)
{
	hetpart_status rc, why = sc->budget.why;
	uint64_t *path;

	sc->budget.why = HETPART_OK;
	if (sc->comp_increasing && sc->link_increasing) {
		rc = part_sc_multires(sc, err);
	} else if (!(path = part_calloc(sc->p, sizeof *path))) {
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", sc->p);
	} else {
		sc->plan->method = "dp of blocks";
		rc = ever_finer(sc, path, err);
		free(path);
	}
	sc->plan->stopped = why;
	return rc;
}

/* The table itself; the budget tells whether it came to its end. */
static hetpart_status whole_table(struct scatter *sc, sc_row_fn *row, bool bounded,
				  hetpart_err *err)
{
	struct work w;
	hetpart_status rc = HETPART_OK;

	if (!open_work(sc, &w, 1)) {
		sc->budget.why = HETPART_ENOMEM;
		goto done;
	}
	if (bounded) { /* room for the rounding of sums along a row */
		double end = part_sc_smallest(sc, part_sc_fits, sc->plan->share) * (1 + 1e-9);
		if (part_sc_each_most(sc, end, sc->plan->share))
			w.most = sc->plan->share;
	}
	if (!all_rows(sc, &w, row))
		goto done;
	sc->exact = true;
	if (w.next[w.n] < INFINITY)
		read_shares(sc, &w, sc->plan->share);
	else
		rc = part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
done:
	close_work(&w);
	return rc;
}

/* Run the programme from the root backwards, read the shares off the choices, set the plan.
 * bounded: costs are increasing, so the rows end at the bounds that follow from a first plan. */
static hetpart_status table_run(struct scatter *sc, sc_row_fn *row, bool bounded, hetpart_err *err)
{
	hetpart_status rc = HETPART_OK;
	double end_s;

	if (sc->n >= UINT32_MAX - 1)
		return part_fail(err, HETPART_ERANGE,
				 "'%" PRIu64 "' items: the method takes at most 2^32 - 2", sc->n);
	end_s = part_budget_reserve(&sc->budget, 0.25);
	if (part_sc_has_mem(sc, part_sc_dp_bytes(sc->n, sc->p)))
		rc = whole_table(sc, row, bounded, err);
	sc->budget.end_s = end_s;
	if (rc != HETPART_OK || sc->exact)
		return rc;
	return make_do(sc, err);
}

/* Smallest e <= d with comp(e) >= next(d - e); d + 1 if there is none. */
static size_t crossing(const struct sc_table *t, size_t d)
{
	part_bisection s = { 0, d + 1, 0 };

	while (bisect_first_step(&s))
		bisect_first_narrow(&s, t->comp[s.mid] >= t->next[d - s.mid]);
	return s.lo;
}

/* Algorithm 2: from the crossing downwards, until what the others need is too much alone. */
static uint32_t increasing_cost(const struct sc_table *t, size_t d, double *best)
{
	size_t e = crossing(t, d), at = e <= d ? e : 0;

	*best = e <= d ? t->link[e] + t->comp[e] : INFINITY;
	while (e-- > 0) {
		part_spend(t->budget, 1);
		double v = t->link[e] + t->next[d - e];
		if (v < *best) {
			*best = v;
			at = e;
		} else if (t->next[d - e] >= *best) {
			break;
		}
	}
	return (uint32_t)at;
}

static void row_increasing(const struct sc_table *t, uint32_t *choice, double *row)
{
	for (size_t d = 0; d <= t->n && !part_spend(t->budget, 1); d++)
		choice[d] = increasing_cost(t, d, &row[d]);
}

hetpart_status part_sc_dp(struct scatter *sc, bool increasing, hetpart_err *err)
{
	if (increasing && !(sc->comp_increasing && sc->link_increasing))
		return part_fail(err, HETPART_EINVAL, "the method needs increasing costs");
	sc->plan->method = increasing ? "dp-increasing" : "dp";
	return table_run(sc, increasing ? row_increasing : row_any, false, err);
}

/* The window, in O(p n) for increasing compute and affine link costs: the crossing E(d) = min{e :
 * comp(e) >= next(d - e)} moves by at most one as d grows, and below it link(e) + next(d - e) is a
 * minimum over a sliding window (monotone queue of k = d - e). */

/* Candidates k, rising; the first is the best. A new one is added at the back: those before it that
 * are no better now never will be, as all gain step alike. Returns the new tail. */
static inline size_t push(uint32_t *restrict q, size_t head, size_t tail, size_t k,
			  const double *restrict next, double step)
{
	double mine = next[k];

	while (tail > head && next[q[tail - 1]] + step * (double)(k - q[tail - 1]) >= mine)
		tail--;
	q[tail] = (uint32_t)k;
	return tail + 1;
}

static void row_window(const struct sc_table *t, uint32_t *restrict choice, double *restrict row)
{
	const double *restrict link = t->link, *restrict comp = t->comp, *restrict next = t->next;
	uint32_t *restrict q = t->scratch;
	size_t head = 0, tail = 0, cross = 0; /* E(d) */

	for (size_t d = 0; d <= t->n; d++) {
		if (d % BUDGET_STRIDE == BUDGET_STRIDE - 1 && part_spend(t->budget, BUDGET_STRIDE))
			return;
		double best = INFINITY, v = next[d] + link[0];
		size_t at = 0;
		if (d > 0)
			tail = push(q, head, tail, d - 1, next, t->link_per_item);
		/* each by one at most; without a branch, which would be unpredictable */
		cross += (cross <= d) &
			 (comp[cross <= d ? cross : d] < next[cross <= d ? d - cross : 0]);
		head += (head < tail) & (q[head] + cross <= d);
		if (cross <= d) {
			best = link[cross] + comp[cross];
			at = cross;
		}
		if (cross > 0 && v < best) {
			best = v;
			at = 0;
		}
		if (head < tail && (v = link[d - q[head]] + next[q[head]]) < best) {
			best = v;
			at = d - q[head];
		}
		choice[d] = (uint32_t)at;
		row[d] = best;
	}
}

hetpart_status part_sc_window(struct scatter *sc, hetpart_err *err)
{
	if (!sc->link_affine || !sc->comp_increasing)
		return part_fail(err, HETPART_EINVAL,
				 "the method needs affine link and increasing compute costs");
	sc->plan->method = "window";
	return table_run(sc, row_window, true, err);
}
