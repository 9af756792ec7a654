/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table.c - the dynamic programmes. cost[d,i] is the least time in which processor i and those
 * after it do d units: the minimum over e, the share of i, of link_i(e) + max(comp_i(e),
 * cost[d-e,i+1]). Row i is all d from 0 to n. Algorithms 1 and 2 of [S0] and the window fill rows
 * in different ways. If the budget ends before the table is full, multires.c or a table of larger
 * blocks is used instead. Must not contain: cost kinds. Takes 4 p n + 36 n bytes and O(p n)
 * evaluations of costs. Algorithms 1 and 2 take O(p n^2) time at worst, the window O(p n). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scatter.h"

/* -------------------------------------------------------------------------------- one row */

typedef struct table_row {
	size_t n;                  /* fill the entries 0 .. n of this row */
	const double *link, *comp; /* n + 1 entries: this processor's times */
	const double *next;        /* n + 1 entries: best time of the processors after it */
	double link_per_item;      /* affine links */
	uint32_t *scratch;         /* n + 1 entries */
	part_budget *budget;
} table_row;

/* Set best[d] to the least time of d units and choice[d] to this processor's share of them, for d =
 * 0 .. n. May return early if the budget ends. */
typedef void table_row_fn(const table_row *t, uint32_t *choice, double *best);

/* Return the best e for d units, for any costs, by trying each e; set *best to its time. */
static uint32_t best_of_all(const table_row *t, size_t d, double *best)
{
	uint32_t at = 0;
	*best = INFINITY;
	for (size_t e = 0; e <= d; e++) {
		const double v = t->link[e] + max_double(t->comp[e], t->next[d - e]);
		if (v < *best) {
			*best = v;
			at = (uint32_t)e;
		}
	}
	return at;
}

/* Fill a row by Algorithm 1 of [S0]. */
static void fill_row_any(const table_row *t, uint32_t *choice, double *best)
{
	for (size_t d = 0; d <= t->n && !part_spend(t->budget, d); d++)
		choice[d] = best_of_all(t, d, &best[d]);
}

/* Fill a row by Algorithm 2 of [S0]. Begin at the crossing, the smallest e with comp(e) >= next(d -
 * e). Try smaller e until next(d - e), the time of the processors after this one, is too long by
 * itself. */
static void fill_row_increasing(const table_row *t, uint32_t *choice, double *row)
{
	for (size_t d = 0; d <= t->n && !part_spend(t->budget, 1); d++) {
		part_bisection s = { 0, d + 1, 0 };
		while (bisect_first_step(&s))
			bisect_first_narrow(&s, t->comp[s.mid] >= t->next[d - s.mid]);
		size_t e = s.lo, at = e <= d ? e : 0; /* e = d + 1: there is no crossing */
		double best = e <= d ? t->link[e] + t->comp[e] : INFINITY;
		while (e-- > 0) {
			part_spend(t->budget, 1);
			const double v = t->link[e] + t->next[d - e];
			if (v < best) {
				best = v;
				at = e;
			} else if (t->next[d - e] >= best) {
				break;
			}
		}
		choice[d] = (uint32_t)at;
		row[d] = best;
	}
}

/* The window needs increasing compute costs and affine link costs. The crossing E(d) = min{e :
 * comp(e) >= next(d - e)} rises by at most 1 when d does. The best e below it minimises link(e) +
 * next(d - e). This is the minimum of a sliding window, kept as a monotone queue of k = d - e. */

/* Add k to the queue, which is sorted from the best candidate to the worst. Candidates before k
 * that are no better than k are dropped. They never become better, because each further unit adds
 * step to the time of every candidate. Return the new tail. */
static inline size_t window_push(uint32_t *restrict q, size_t head, size_t tail, size_t k,
				 const double *restrict next, double step)
{
	const double mine = next[k];
	while (tail > head && next[q[tail - 1]] + step * (double)(k - q[tail - 1]) >= mine)
		tail--;
	q[tail] = (uint32_t)k;
	return tail + 1;
}

static void fill_row_window(const table_row *t, uint32_t *restrict choice, double *restrict row)
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
			tail = window_push(q, head, tail, d - 1, next, t->link_per_item);
		/* cross and head rise by at most 1; a branch would be mispredicted. */
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

/* ------------------------------------------------------------------------------- the table */

typedef struct table {
	table_row t;
	uint64_t block; /* units: shares are multiples of it, the root also takes the rest */
	size_t n;       /* blocks */
	double *link, *comp, *next, *row;
	uint32_t *choice; /* (p - 1) rows of n + 1 */
	uint64_t *most;   /* p entries: the largest shares in a best plan; NULL: unknown */
} table;

uint64_t part_sc_dp_bytes(uint64_t items, size_t nprocs)
{
	return part_mul_add(part_mul_add(nprocs - 1, 4, 36), items + 1, 0);
}

/* Set v[] to the times of 0 .. n blocks and `more` units. */
static void table_times(const sc_cost *c, const table *w, size_t n, uint64_t more,
			double *restrict v)
{
	const double startup = c->startup, per_item = c->per_item;
	v[0] = sc_time(c, more);
	if (c->affine && w->block == 1 && more == 0)
		for (size_t e = 1; e <= n; e++)
			v[e] = startup + per_item * (double)(int64_t)e;
	else
		for (size_t e = 1; e <= n && !part_spend(w->t.budget, 1); e++)
			v[e] = sc_time(c, e * w->block + more);
}

/* End row i at the most units that the processors from i on can take. Amounts after the end of row
 * i + 1 are infinite there, because no plan contains them. */
static void table_extend(const sc_problem *sc, table *w, size_t i)
{
	const size_t was = w->t.n;
	w->t.n = i == 0 || !w->most ? w->n : (size_t)add_capped(was, w->most[i], w->n);
	for (size_t d = was + 1; i + 1 < sc->p && d <= w->t.n; d++)
		w->next[d] = INFINITY;
}

/* Fill the rows from the root backwards. For the first processor, compute only the entry of all
 * units. Return false if the budget ended first. */
static bool table_fill(sc_problem *sc, table *w, table_row_fn *fill)
{
	const size_t root = sc->p - 1, len = w->n + 1;
	const uint64_t rest = sc->n % w->block;
	w->t.n = 0;
	table_extend(sc, w, root);
	table_times(&sc->link[root], w, w->t.n, rest, w->next);
	table_times(&sc->comp[root], w, w->t.n, rest, w->comp);
	for (size_t d = 0; d <= w->t.n; d++)
		w->next[d] += w->comp[d];
	for (size_t i = root; i-- > 0 && !part_spend(w->t.budget, w->t.n);) {
		double *const swap = w->next;
		table_extend(sc, w, i);
		table_times(&sc->link[i], w, w->t.n, 0, w->link);
		table_times(&sc->comp[i], w, w->t.n, 0, w->comp);
		w->t.link = w->link, w->t.comp = w->comp, w->t.next = w->next;
		w->t.link_per_item = sc->link[i].per_item;
		if (i > 0)
			fill(&w->t, w->choice + i * len, w->row);
		else
			w->choice[w->t.n] = best_of_all(&w->t, w->t.n, &w->row[w->t.n]);
		w->next = w->row;
		w->row = swap;
	}
	return w->t.budget->why == HETPART_OK;
}

static void table_read_shares(const sc_problem *sc, const table *w, uint64_t *share)
{
	const size_t len = w->n + 1;
	size_t d = w->n;
	for (size_t i = 0; i + 1 < sc->p; i++) {
		const size_t e = w->choice[i * len + d];
		share[i] = e * w->block;
		d -= e;
	}
	share[sc->p - 1] = d * w->block + sc->n % w->block;
}

/* Allocate a table for blocks of `block` units. Without memory, end the budget and return false.
 * Always call table_close() afterwards. */
static bool table_open(sc_problem *sc, table *w, uint64_t block)
{
	const size_t len = (size_t)(sc->n / block) + 1;
	*w = (table){ .block = block, .n = len - 1 };
	w->t.budget = &sc->budget;
	if (part_array(w->link, len) && part_array(w->comp, len) && part_array(w->next, len) &&
	    part_array(w->row, len) && part_array(w->t.scratch, len) &&
	    part_array(w->choice, (sc->p - 1) * len))
		return true;
	sc->budget.why = HETPART_ENOMEM;
	return false;
}

static void table_close(table *w)
{
	free(w->link);
	free(w->comp);
	free(w->next);
	free(w->row);
	free(w->choice);
	free(w->t.scratch);
}

/* -------------------------------------------------------------------------------- the methods */

/* Find a plan for costs that are not increasing, by tables of ever smaller blocks until the budget
 * ends. The first table is always finished; each further table doubles the number of blocks. */
static hetpart_status ever_finer_blocks(sc_problem *sc, uint64_t *path, hetpart_err *err)
{
	const part_budget given = sc->budget;
	double best = INFINITY;
	uint64_t few = 8;
	while (few * few * sc->p < 1 << 16)
		few *= 2;
	sc->budget.stop = NULL;
	sc->budget.end_s = INFINITY;
	for (uint64_t blocks = few;; blocks *= 2) {
		const uint64_t block = max_u64(1, divide_up(sc->n, blocks));
		table w;
		if (table_open(sc, &w, block) && table_fill(sc, &w, fill_row_any) &&
		    w.next[w.n] < INFINITY) {
			table_read_shares(sc, &w, path);
			const double end = part_sc_ends(sc, path, NULL);
			if (end < best)
				memcpy(sc->plan->share, path, sc->p * sizeof *path);
			best = min_double(best, end);
		}
		table_close(&w);
		sc->exact = block == 1 && sc->budget.why == HETPART_OK;
		sc->budget.stop = given.stop;
		sc->budget.end_s = given.end_s;
		if (block == 1 || part_budget_check(&sc->budget) ||
		    !part_sc_has_mem(sc, part_sc_dp_bytes(sc->n / (block / 2), sc->p)))
			break;
	}
	return best < INFINITY ? HETPART_OK : part_budget_fail(&sc->budget, err);
}

/* Fill the table of single units and read the plan from it. Set sc->exact if the budget sufficed.
 * bounded: costs are increasing, so bounds of the shares make the rows shorter. */
static hetpart_status whole_table(sc_problem *sc, table_row_fn *row, bool bounded, hetpart_err *err)
{
	table w;
	hetpart_status rc = HETPART_OK;
	if (!table_open(sc, &w, 1))
		goto done;
	if (bounded) { /* 1e-9 is more than the rounding of sums along a row */
		const double end = part_sc_smallest(sc, sc->plan->share) * (1 + 1e-9);
		if (part_sc_each_most(sc, end, sc->plan->share))
			w.most = sc->plan->share;
	}
	if (!table_fill(sc, &w, row))
		goto done;
	sc->exact = true;
	if (w.next[w.n] < INFINITY)
		table_read_shares(sc, &w, sc->plan->share);
	else
		rc = part_no_plan(err);
done:
	table_close(&w);
	return rc;
}

/* Plan by a table or, if the budget ends before it is full, by another method. */
static hetpart_status plan_by_table(sc_problem *sc, table_row_fn *row, bool bounded,
				    hetpart_err *err)
{
	hetpart_status rc = HETPART_OK;
	if (sc->n >= UINT32_MAX - 1)
		return part_fail(err, HETPART_ERANGE,
				 "the number of items is '%" PRIu64
				 "': must be at most 2^32 - 2 for this method",
				 sc->n);
	const double end_s = part_budget_reserve(&sc->budget, 0.25);
	if (part_sc_has_mem(sc, part_sc_dp_bytes(sc->n, sc->p)))
		rc = whole_table(sc, row, bounded, err);
	sc->budget.end_s = end_s;
	if (rc != HETPART_OK || sc->exact)
		return rc;
	/* The budget ended before the table was full: use another method. */
	const hetpart_status why = sc->budget.why;
	sc->budget.why = HETPART_OK;
	if (sc->comp_increasing && sc->link_increasing) {
		rc = part_sc_multires(sc, err);
	} else {
		uint64_t *const path = part_calloc(sc->p, sizeof *path);
		sc->plan->method = "dp of blocks";
		rc = path ? ever_finer_blocks(sc, path, err)
			  : part_no_memory(err, sc->p, "processors");
		free(path);
	}
	sc->plan->stopped = why;
	return rc;
}

hetpart_status part_sc_dp(sc_problem *sc, bool increasing, hetpart_err *err)
{
	if (increasing && !(sc->comp_increasing && sc->link_increasing))
		return part_invalid(err, "the method needs increasing costs");
	sc->plan->method = increasing ? "dp-increasing" : "dp";
	return plan_by_table(sc, increasing ? fill_row_increasing : fill_row_any, false, err);
}

hetpart_status part_sc_window(sc_problem *sc, hetpart_err *err)
{
	if (!sc->link_affine || !sc->comp_increasing)
		return part_invalid(err,
				    "the method needs affine link and increasing compute costs");
	sc->plan->method = "window";
	return plan_by_table(sc, fill_row_window, true, err);
}
