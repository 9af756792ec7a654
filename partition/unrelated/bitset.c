/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bitset.c - best shares for any costs: the smallest T for which the items are a sum of one number
 * from each S_i(T) = {n : f_i(n) <= T}; sums of sets are shifts of bit vectors. Exact.
 * May not touch: which costs these are. Costs p N calls of the cost, and log2(p N) times
 * p (runs in S_i) log(run) N/64 word operations; memory 16 p N + p N/8 bytes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unrelated.h"

struct sums {
	size_t p, n;     /* processors, items */
	size_t words;    /* of a vector of n + 1 bits */
	double *time;    /* [p][n + 1] */
	double *left;    /* candidates for T */
	uint64_t *reach; /* [p + 1][words]: sums of the first i processors */
	uint64_t *run, *tmp;
	part_budget *budget;
};

/* to |= from << by, for bits 0 .. 64 words - 1. */
static void or_shifted(uint64_t *restrict to, const uint64_t *restrict from, size_t by,
		       size_t words)
{
	size_t skip = by / 64, bits = by % 64;

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

/* to |= from + [first, last], by doubling the length of the run. */
static void or_run(struct sums *s, uint64_t *to, const uint64_t *from, size_t first, size_t last)
{
	size_t bytes = s->words * sizeof *to, len = 1, want = last - first + 1;

	if (want < 3) {
		for (size_t e = first; e <= last; e++)
			or_shifted(to, from, e, s->words);
		return;
	}
	memcpy(s->run, from, bytes);
	while (len < want && !part_spend(s->budget, 2 * s->words)) {
		size_t by = len <= want - len ? len : want - len;
		memcpy(s->tmp, s->run, bytes);
		or_shifted(s->run, s->tmp, by, s->words);
		len += by;
	}
	or_shifted(to, s->run, first, s->words);
}

static bool has(const uint64_t *set, size_t bit)
{
	return set[bit / 64] >> (bit % 64) & 1;
}

/* Whether the items can be divided so that every processor ends by t; false if the budget ended. */
static bool feasible(struct sums *s, double t)
{
	memset(s->reach, 0, (s->p + 1) * s->words * sizeof *s->reach);
	s->reach[0] = 1;
	for (size_t i = 0; i < s->p; i++) {
		const double *f = s->time + i * (s->n + 1);
		uint64_t *from = s->reach + i * s->words, *to = from + s->words;
		for (size_t e = 0; e <= s->n && s->budget->why == HETPART_OK; e++) {
			size_t first = e;
			if (!(f[e] <= t))
				continue;
			while (e < s->n && f[e + 1] <= t)
				e++;
			part_spend(s->budget, s->words + e - first);
			or_run(s, to, from, first, e);
		}
		if (part_spend(s->budget, s->n))
			return false;
	}
	return has(s->reach + s->p * s->words, s->n);
}

/* Evaluate every cost once; capacities and impossible numbers are infinite. Returns the largest
 * finite time, negative if there is none or the budget ended. */
static double tabulate(struct sums *s, const part_procs *ps)
{
	double most = -1;

	for (size_t i = 0; i < s->p; i++) {
		uint64_t cap = part_cap(ps, i, s->n);
		for (size_t e = 0; e <= s->n; e++) {
			double *t = s->time + i * (s->n + 1) + e;
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

/* Times below `below`, in any order; how many. Fewer if the budget ended. */
static size_t gather(struct sums *s, double below)
{
	size_t all = s->p * (s->n + 1), m = 0;

	for (size_t i = 0; i < all && !part_spend(s->budget, 1); i++)
		if (s->time[i] < below)
			s->left[m++] = s->time[i];
	return m;
}

/* Of m candidates, keep those on one side of t; how many. */
static size_t keep_side(struct sums *s, size_t m, double t, bool smaller_ones)
{
	size_t kept = 0;

	for (size_t i = 0; i < m && !part_spend(s->budget, 1); i++)
		if (smaller_ones ? s->left[i] < t : s->left[i] > t)
			s->left[kept++] = s->left[i];
	return kept;
}

/* One of m candidates, near their middle: the middle one of a few. */
static double near_middle(const struct sums *s, size_t m)
{
	enum { FEW = 31 };
	double few[FEW];
	size_t n = m < FEW ? m : FEW;

	for (size_t i = 0; i < n; i++) {
		double t = s->left[m / n * i];
		size_t at = i;
		for (; at > 0 && few[at - 1] > t; at--)
			few[at] = few[at - 1];
		few[at] = t;
	}
	return few[n / 2];
}

static void trace_back(const struct sums *s, double t, uint64_t *share)
{
	size_t left = s->n;

	for (size_t i = s->p; i-- > 0;) {
		const double *f = s->time + i * (s->n + 1);
		const uint64_t *before = s->reach + i * s->words;
		size_t e = 0;
		while (e < left && !(f[e] <= t && has(before, left - e)))
			e++;
		share[i] = e;
		left -= e;
	}
}

/* The smallest time that is feasible, known of `best`; share[] keeps the plan of the smallest one
 * found so far. Half of the candidates go in every step, so that nobody need sort them. Returns
 * what no plan is better than, which is that plan's time unless the budget ended. */
static double bisect(struct sums *s, double best, uint64_t *share)
{
	size_t m = gather(s, best);
	double least = 0;

	while (m > 0 && s->budget->why == HETPART_OK) {
		double t = near_middle(s, m);
		bool enough = feasible(s, t);
		if (enough) {
			trace_back(s, t, share);
			best = t;
		} else if (s->budget->why == HETPART_OK) {
			least = t;
		}
		m = keep_side(s, m, t, enough);
	}
	return s->budget->why == HETPART_OK ? best : least;
}

static hetpart_status search(struct sums *s, const part_procs *ps, hetpart_plan *plan,
			     hetpart_err *err)
{
	double least, most = tabulate(s, ps);
	bool found = most >= 0 && feasible(s, most);

	if (s->budget->why != HETPART_OK)
		return s->budget->why;
	if (!found)
		return part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
	trace_back(s, most, plan->share);
	least = bisect(s, most, plan->share);
	if (s->budget->why != HETPART_OK) {
		plan->best = false;
		plan->lower = (double)(least * (ps->costs ? 1 : ps->unit));
	}
	return HETPART_OK;
}

uint64_t part_bitset_bytes(uint64_t items, size_t nprocs)
{
	uint64_t cells, words = items / 64 + 1, bytes, more;

	if (__builtin_mul_overflow(items + 1, (uint64_t)nprocs, &cells) ||
	    __builtin_mul_overflow(cells, 2 * sizeof(double), &bytes) ||
	    __builtin_mul_overflow(words, 8 * ((uint64_t)nprocs + 3), &more) ||
	    __builtin_add_overflow(bytes, more, &bytes))
		return UINT64_MAX;
	return bytes;
}

hetpart_status part_bitset(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
			   hetpart_plan *plan, hetpart_err *err)
{
	struct sums s = { .p = ps->n,
			  .n = (size_t)plan->items,
			  .words = (size_t)plan->items / 64 + 1,
			  .budget = budget };
	hetpart_status rc = part_check_bytes(part_bitset_bytes(plan->items, ps->n),
					     opts->max_mem_bytes, QUANTUM_ADVICE, err);

	if (rc != HETPART_OK)
		return rc;
	s.time = part_calloc(s.p * (s.n + 1), sizeof *s.time);
	s.left = part_calloc(s.p * (s.n + 1), sizeof *s.left);
	s.reach = part_calloc((s.p + 1) * s.words, sizeof *s.reach);
	s.run = part_calloc(s.words, sizeof *s.run);
	s.tmp = part_calloc(s.words, sizeof *s.tmp);
	if (s.time && s.left && s.reach && s.run && s.tmp)
		rc = search(&s, ps, plan, err);
	else
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", ps->n);
	free(s.time);
	free(s.left);
	free(s.reach);
	free(s.run);
	free(s.tmp);
	return rc;
}
