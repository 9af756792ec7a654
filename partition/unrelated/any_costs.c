/* SPDX-License-Identifier: GPL-3.0-or-later */
/* any_costs.c - best shares for any costs, by two exact methods: sums of sets (bitset), and the
 * dynamic programme of [S4]. The dynamic programme can also divide in multiples of a quantum. Must
 * not contain: assumptions about costs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unrelated.h"

/* Return HETPART_ENOMEM if a method needs more bytes than the options allow. */
static hetpart_status check_method_bytes(uint64_t bytes, const hetpart_opts *opts, hetpart_err *err)
{
	const uint64_t limit =
		opts->max_mem_bytes ? opts->max_mem_bytes : HETPART_MEM_DEFAULT_BYTES;
	if (bytes <= limit && bytes < SIZE_MAX)
		return HETPART_OK;
	return part_fail(err, HETPART_ENOMEM,
			 "the method needs '%" PRIu64 "' bytes of memory, %" PRIu64
			 " are allowed: raise max_mem_bytes or set a quantum",
			 bytes, limit);
}

/* ------------------------------------------------------------------------------------- bitset */

/* The state of the method bitset. S_i(T) = {n : f_i(n) <= T} are the shares that processor i ends
 * by T. The method finds the smallest T for which the items are a sum of one number from each
 * S_i(T). Sets are bit vectors, and their sums are made by shifts. For p processors and N items it
 * costs p N calls of the cost and 16 p N + p N/8 bytes. Each of about log2(p N) values of T costs p
 * (intervals in S_i) log(interval) N/64 operations. */
typedef struct set_sums {
	size_t p, n;     /* processors, items */
	size_t words;    /* in a vector of n + 1 bits */
	double *time;    /* [p][n + 1] */
	double *left;    /* candidates for T */
	uint64_t *reach; /* [p + 1][words]: sums of shares of the first i processors */
	uint64_t *span, *tmp;
	part_budget *budget;
} set_sums;

/* Set to |= from << by, for vectors of `words` words. */
static void or_shifted(uint64_t *restrict to, const uint64_t *restrict from, size_t by,
		       size_t words)
{
	const size_t skip = by / 64, bits = by % 64;
	if (skip >= words)
		return;
	if (bits == 0) {
		for (size_t i = skip; i < words; i++)
			to[i] |= from[i - skip];
		return;
	}
	to[skip] |= from[0] << bits;
	for (size_t i = skip + 1; i < words; i++)
		to[i] |= from[i - skip] << bits | from[i - skip - 1] >> (64 - bits);
}

/* Add to the set `to` all sums of a number in `from` and a number in [first, last]. The length of
 * the interval is doubled in each step. */
static void or_interval(set_sums *s, uint64_t *to, const uint64_t *from, size_t first, size_t last)
{
	const size_t bytes = s->words * sizeof *to, target = last - first + 1;
	if (target < 3) {
		for (size_t e = first; e <= last; e++)
			or_shifted(to, from, e, s->words);
		return;
	}
	memcpy(s->span, from, bytes);
	for (size_t len = 1; len < target && !part_spend(s->budget, 2 * s->words);) {
		const size_t by = len <= target - len ? len : target - len;
		memcpy(s->tmp, s->span, bytes);
		or_shifted(s->span, s->tmp, by, s->words);
		len += by;
	}
	or_shifted(to, s->span, first, s->words);
}

static bool has_bit(const uint64_t *set, size_t bit)
{
	return set[bit / 64] >> (bit % 64) & 1;
}

/* Return whether all items can end by t; false if the budget has ended. */
static bool bitset_feasible(set_sums *s, double t)
{
	memset(s->reach, 0, (s->p + 1) * s->words * sizeof *s->reach);
	s->reach[0] = 1;
	for (size_t i = 0; i < s->p; i++) {
		const double *f = s->time + i * (s->n + 1);
		const uint64_t *from = s->reach + i * s->words;
		uint64_t *to = s->reach + (i + 1) * s->words;
		for (size_t e = 0; e <= s->n && s->budget->why == HETPART_OK; e++) {
			const size_t first = e;
			if (!(f[e] <= t))
				continue;
			while (e < s->n && f[e + 1] <= t)
				e++;
			part_spend(s->budget, s->words + e - first);
			or_interval(s, to, from, first, e);
		}
		if (part_spend(s->budget, s->n))
			return false;
	}
	return has_bit(s->reach + s->p * s->words, s->n);
}

/* Evaluate every cost once. Times of numbers beyond the limits, and impossible times, become
 * infinite. Return the largest finite time; below 0: none, or the budget has ended. */
static double bitset_tabulate(set_sums *s, const part_procs *ps)
{
	double most = -1;
	for (size_t i = 0; i < s->p; i++) {
		const uint64_t cap = part_cap(ps, i, s->n);
		for (size_t e = 0; e <= s->n; e++) {
			double *const t = s->time + i * (s->n + 1) + e;
			*t = e >= part_min(ps, i) && e <= cap ? (double)part_time(ps, i, e)
							      : INFINITY;
			if (part_spend_cost(s->budget, ps->costs ? ps->costs[i] : ps->cost))
				return -1;
			if (*t < INFINITY)
				most = max_double(most, *t);
		}
	}
	return most;
}

/* Return the median of a few of m candidates. */
static double near_middle(const set_sums *s, size_t m)
{
	enum { FEW = 31 };
	double few[FEW] = { 0 };
	const size_t n = m < FEW ? m : FEW;
	for (size_t i = 0; i < n; i++) {
		const double t = s->left[m / n * i];
		size_t at = i;
		for (; at > 0 && few[at - 1] > t; at--)
			few[at] = few[at - 1];
		few[at] = t;
	}
	return few[n / 2];
}

/* Set share[] to a plan that ends by t, after bitset_feasible(s, t) has returned true. */
static void bitset_read_shares(const set_sums *s, double t, uint64_t *share)
{
	size_t left = s->n;
	for (size_t i = s->p; i-- > 0;) {
		const double *f = s->time + i * (s->n + 1);
		const uint64_t *before = s->reach + i * s->words;
		size_t e = 0;
		while (e < left && !(f[e] <= t && has_bit(before, left - e)))
			e++;
		share[i] = e;
		left -= e;
	}
}

/* Find the smallest feasible time, of which best is an upper bound. share[] has the plan of the
 * smallest time found so far. Each step drops about half of the candidates, so they need not be
 * sorted. Return the time of share[]; if the budget has ended, return a time that no plan beats. */
static double bitset_bisect(set_sums *s, double best, uint64_t *share)
{
	const size_t all = s->p * (s->n + 1);
	double least = 0;
	size_t m = 0;
	for (size_t i = 0; i < all && !part_spend(s->budget, 1); i++)
		if (s->time[i] < best)
			s->left[m++] = s->time[i];
	while (m > 0 && s->budget->why == HETPART_OK) {
		const double t = near_middle(s, m);
		const bool enough = bitset_feasible(s, t);
		size_t kept = 0;
		if (enough) {
			bitset_read_shares(s, t, share);
			best = t;
		} else if (s->budget->why == HETPART_OK) {
			least = t;
		}
		for (size_t i = 0; i < m && !part_spend(s->budget, 1); i++)
			if (enough ? s->left[i] < t : s->left[i] > t)
				s->left[kept++] = s->left[i];
		m = kept;
	}
	return s->budget->why == HETPART_OK ? best : least;
}

uint64_t part_bitset_bytes(uint64_t items, size_t nprocs)
{
	const uint64_t words = part_mul_add(items / 64 + 1, part_mul_add(nprocs, 8, 24), 0);
	return part_mul_add(part_mul_add(items + 1, nprocs, 0), 2 * sizeof(double), words);
}

hetpart_status part_bitset(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
			   hetpart_plan *plan, hetpart_err *err)
{
	set_sums s = { .p = ps->n,
		       .n = (size_t)plan->items,
		       .words = (size_t)plan->items / 64 + 1,
		       .budget = budget };
	hetpart_status rc = check_method_bytes(part_bitset_bytes(plan->items, ps->n), opts, err);
	if (rc != HETPART_OK)
		return rc;
	if (!part_array(s.time, s.p * (s.n + 1)) || !part_array(s.left, s.p * (s.n + 1)) ||
	    !part_array(s.reach, (s.p + 1) * s.words) || !part_array(s.span, s.words) ||
	    !part_array(s.tmp, s.words)) {
		rc = part_no_memory(err, ps->n, "processors");
		goto out;
	}
	const double most = bitset_tabulate(&s, ps);
	const bool found = most >= 0 && bitset_feasible(&s, most);
	if (budget->why != HETPART_OK) {
		rc = budget->why;
	} else if (!found) {
		rc = part_no_plan(err);
	} else {
		bitset_read_shares(&s, most, plan->share);
		const double least = bitset_bisect(&s, most, plan->share);
		if (budget->why != HETPART_OK) {
			plan->best = false;
			plan->lower = (double)(least * (ps->costs ? 1 : ps->unit));
		}
	}
out:
	free(s.time);
	free(s.left);
	free(s.reach);
	free(s.span);
	free(s.tmp);
	return rc;
}

/* -------------------------------------------------------------------------- dynamic programme */

/* The shortest time of m items on the first i processors is T(m, i) = min over n_i of max(f_i(n_i),
 * T(m - n_i, i - 1)). Shares are multiples of a quantum q; one processor also takes the rest, N mod
 * q. Costs p (N/q)^2 steps (with a rest, three times that number) and p (N/q) words of 4 bytes. */
#define TAKES_REST UINT32_C(0x80000000) /* flag of a choice: this processor also takes the rest */

/* In layer 0 no processor has the rest yet; in layer 1, which needs a rest, one has it. */
typedef struct dp_table {
	size_t p, m; /* processors, quanta */
	uint64_t quantum, rest;
	size_t layers;
	double *f[2]; /* time of e quanta, without and with the rest */
	double *now[2], *next[2];
	uint32_t *choice; /* [p][layers][m + 1]: quanta of the processor */
	part_budget *budget;
} dp_table;

/* Lower next[m] to the minimum over e of max(f[e], now[m - e]); choice[m] gets e, with mark. */
static void dp_relax(dp_table *t, const double *f, const double *now, double *next,
		     uint32_t *choice, uint32_t mark)
{
	for (size_t at = 0; at <= t->m && !part_spend(t->budget, at); at++)
		for (size_t e = 0; e <= at; e++) {
			const double ends = max_double(f[e], now[at - e]);
			if (ends < next[at]) {
				next[at] = ends;
				choice[at] = (uint32_t)e | mark;
			}
		}
}

/* Add processor i to the table. */
static void dp_add_processor(dp_table *t, const part_procs *ps, size_t i, uint64_t items)
{
	const hetpart_cost *const cost = ps->costs ? ps->costs[i] : ps->cost;
	const uint64_t cap = part_cap(ps, i, items), min = part_min(ps, i);
	uint32_t *const choice = t->choice + i * t->layers * (t->m + 1);
	for (size_t l = 0; l < t->layers; l++)
		for (size_t e = 0; e <= t->m && !part_spend_cost(t->budget, cost); e++) {
			const uint64_t n = e * t->quantum + (l ? t->rest : 0);
			t->f[l][e] = n <= cap && e * t->quantum >= min ? (double)part_time(ps, i, n)
								       : INFINITY;
		}
	for (size_t l = 0; l < t->layers; l++) {
		for (size_t at = 0; at <= t->m; at++)
			t->next[l][at] = INFINITY;
		dp_relax(t, t->f[0], t->now[l], t->next[l], choice + l * (t->m + 1), 0);
	}
	if (t->layers == 2)
		dp_relax(t, t->f[1], t->now[0], t->next[1], choice + t->m + 1, TAKES_REST);
	for (size_t l = 0; l < t->layers; l++) {
		double *const was = t->now[l];
		t->now[l] = t->next[l];
		t->next[l] = was;
	}
}

static void dp_read_shares(const dp_table *t, uint64_t *share)
{
	size_t left = t->m, layer = t->layers - 1;
	for (size_t i = t->p; i-- > 0;) {
		const uint32_t c = t->choice[(i * t->layers + layer) * (t->m + 1) + left];
		const size_t e = c & ~TAKES_REST;
		share[i] = e * t->quantum + (c & TAKES_REST ? t->rest : 0);
		layer -= c & TAKES_REST ? 1 : 0;
		left -= e;
	}
}

uint64_t part_dp_bytes(uint64_t items, size_t nprocs, uint64_t quantum)
{
	const uint64_t q = max_u64(quantum, 1), row = items / q + 1, layers = items % q ? 2 : 1;
	const uint64_t each = part_mul_add(nprocs, sizeof(uint32_t), 3 * sizeof(double));
	return row > TAKES_REST ? UINT64_MAX : part_mul_add(row * layers, each, 0);
}

hetpart_status part_dp(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
		       hetpart_plan *plan, hetpart_err *err)
{
	const uint64_t items = plan->items;
	dp_table t = { .p = ps->n, .quantum = max_u64(opts->quantum, 1), .budget = budget };
	hetpart_status rc = check_method_bytes(part_dp_bytes(items, ps->n, t.quantum), opts, err);
	if (rc != HETPART_OK)
		return rc;
	t.m = (size_t)(items / t.quantum);
	t.rest = items % t.quantum;
	t.layers = t.rest ? 2 : 1;
	bool got = part_array(t.choice, t.p * t.layers * (t.m + 1));
	for (size_t l = 0; l < t.layers && got; l++) {
		got = part_array(t.f[l], t.m + 1) && part_array(t.now[l], t.m + 1) &&
		      part_array(t.next[l], t.m + 1);
		for (size_t at = 0; got && at <= t.m; at++)
			t.now[l][at] = at + l ? INFINITY : 0;
	}
	for (size_t i = 0; got && i < t.p && budget->why == HETPART_OK; i++)
		dp_add_processor(&t, ps, i, items);
	if (!got)
		rc = part_no_memory(err, ps->n, "processors");
	else if (budget->why != HETPART_OK)
		rc = budget->why;
	else if (!isfinite(t.now[t.layers - 1][t.m]))
		rc = part_no_plan(err);
	else
		dp_read_shares(&t, plan->share);
	for (size_t l = 0; l < 2; l++) {
		free(t.f[l]);
		free(t.now[l]);
		free(t.next[l]);
	}
	free(t.choice);
	return rc;
}
