/* SPDX-License-Identifier: GPL-3.0-or-later */
/* quantised_dp.c - best shares for any costs by the dynamic programme of [S4],
 * T(m, i) = min over n_i of max(f_i(n_i), T(m - n_i, i - 1)), with shares in multiples of a quantum
 * and one processor taking the rest. May not touch: which costs these are.
 * Costs p (N/q)^2 steps (three times that if q does not divide N) and p (N/q) words of 4 bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unrelated.h"

#define OVER UINT32_C(0x80000000) /* in a choice: this processor takes the rest */

/* Layer 0: no processor took the rest yet; layer 1: one did. Without a rest only layer 0. */
struct table {
	size_t p, m; /* processors, quanta */
	uint64_t quantum, rest;
	size_t layers;
	double *f[2]; /* time of e quanta, without and with the rest */
	double *now[2], *next[2];
	uint32_t *choice; /* [p][layers][m + 1] */
	part_budget *budget;
};

static void costs_of(struct table *t, const part_procs *ps, size_t i, uint64_t items)
{
	uint64_t cap = part_cap(ps, i, items);

	for (size_t l = 0; l < t->layers; l++)
		for (size_t e = 0; e <= t->m; e++) {
			uint64_t n = e * t->quantum + (l ? t->rest : 0);
			if (part_spend_cost(t->budget, ps->costs ? ps->costs[i] : ps->cost))
				return;
			t->f[l][e] = n <= cap && e * t->quantum >= part_min(ps, i)
					     ? (double)part_time(ps, i, n)
					     : INFINITY;
		}
}

/* next[m] = min over e of max(f[e], now[m - e]), remembering e. */
static void relax(struct table *t, const double *f, const double *now, double *next,
		  uint32_t *choice, uint32_t mark)
{
	for (size_t at = 0; at <= t->m && !part_spend(t->budget, at); at++)
		for (size_t e = 0; e <= at; e++) {
			double ends = max_double(f[e], now[at - e]);
			if (ends < next[at]) {
				next[at] = ends;
				choice[at] = (uint32_t)e | mark;
			}
		}
}

static void step(struct table *t, size_t i)
{
	uint32_t *choice = t->choice + i * t->layers * (t->m + 1);

	for (size_t l = 0; l < t->layers; l++) {
		for (size_t at = 0; at <= t->m; at++)
			t->next[l][at] = INFINITY;
		relax(t, t->f[0], t->now[l], t->next[l], choice + l * (t->m + 1), 0);
	}
	if (t->layers == 2)
		relax(t, t->f[1], t->now[0], t->next[1], choice + t->m + 1, OVER);
	for (size_t l = 0; l < t->layers; l++) {
		double *was = t->now[l];
		t->now[l] = t->next[l];
		t->next[l] = was;
	}
}

static void trace_back(const struct table *t, uint64_t *share)
{
	size_t left = t->m, layer = t->layers - 1;

	for (size_t i = t->p; i-- > 0;) {
		uint32_t c = t->choice[(i * t->layers + layer) * (t->m + 1) + left];
		size_t e = c & ~OVER;
		share[i] = e * t->quantum + (c & OVER ? t->rest : 0);
		layer -= c & OVER ? 1 : 0;
		left -= e;
	}
}

static hetpart_status search(struct table *t, const part_procs *ps, uint64_t items,
			     uint64_t *share, hetpart_err *err)
{
	for (size_t l = 0; l < t->layers; l++)
		for (size_t at = 0; at <= t->m; at++)
			t->now[l][at] = at + l ? INFINITY : 0;
	for (size_t i = 0; i < t->p && t->budget->why == HETPART_OK; i++) {
		costs_of(t, ps, i, items);
		step(t, i);
	}
	if (t->budget->why != HETPART_OK)
		return t->budget->why;
	if (!isfinite(t->now[t->layers - 1][t->m]))
		return part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
	trace_back(t, share);
	return HETPART_OK;
}

uint64_t part_dp_bytes(uint64_t items, size_t nprocs, uint64_t quantum)
{
	uint64_t q = quantum ? quantum : 1, row = items / q + 1, layers = items % q ? 2 : 1, cells;

	if (row > OVER || __builtin_mul_overflow(row, layers, &row) ||
	    __builtin_mul_overflow(row, (uint64_t)nprocs, &cells) ||
	    cells > UINT64_MAX / sizeof(uint32_t) - 24 * row)
		return UINT64_MAX;
	return cells * sizeof(uint32_t) + 3 * row * sizeof(double);
}

static void release(struct table *t)
{
	for (size_t l = 0; l < 2; l++) {
		free(t->f[l]);
		free(t->now[l]);
		free(t->next[l]);
	}
	free(t->choice);
}

hetpart_status part_dp(const part_procs *ps, const hetpart_opts *opts, part_budget *budget,
		       hetpart_plan *plan, hetpart_err *err)
{
	uint64_t items = plan->items;
	struct table t = { .p = ps->n,
			   .quantum = opts->quantum ? opts->quantum : 1,
			   .budget = budget };
	hetpart_status rc = part_check_bytes(part_dp_bytes(items, ps->n, t.quantum),
					     opts->max_mem_bytes, QUANTUM_ADVICE, err);
	bool got;

	if (rc != HETPART_OK)
		return rc;
	t.m = (size_t)(items / t.quantum);
	t.rest = items % t.quantum;
	t.layers = t.rest ? 2 : 1;
	got = (t.choice = part_calloc(t.p * t.layers * (t.m + 1), sizeof *t.choice)) != NULL;
	for (size_t l = 0; l < t.layers; l++) {
		got &= (t.f[l] = part_calloc(t.m + 1, sizeof(double))) != NULL;
		got &= (t.now[l] = part_calloc(t.m + 1, sizeof(double))) != NULL;
		got &= (t.next[l] = part_calloc(t.m + 1, sizeof(double))) != NULL;
	}
	if (got)
		rc = search(&t, ps, items, plan->share, err);
	else
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", ps->n);
	release(&t);
	return rc;
}
