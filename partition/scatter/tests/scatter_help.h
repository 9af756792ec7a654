/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter_help.h - what the scatter tests share: random problems, the optimum by brute force, the
 * platform of [S0]. */
#ifndef SCATTER_HELP_H
#define SCATTER_HELP_H

#include "tests/tests.h"

#define MAX_P 64

struct problem {
	size_t p;
	uint64_t n;
	hetpart_cost *cost[2 * MAX_P];
	hetpart_scatter_proc proc[MAX_P];
};

static inline void problem_free(struct problem *pr)
{
	for (size_t i = 0; i < 2 * pr->p; i++)
		hetpart_cost_free(pr->cost[i]);
}

static inline void add_proc(struct problem *pr, hetpart_cost *comp, hetpart_cost *link)
{
	pr->cost[2 * pr->p] = comp;
	pr->cost[2 * pr->p + 1] = link;
	pr->proc[pr->p++] = (hetpart_scatter_proc){ comp, link };
}

static inline hetpart_cost *affine(double startup, double per_item)
{
	hetpart_cost *c;

	OK(hetpart_cost_affine(&c, startup, per_item, 1, &err));
	return c;
}

/* seconds per ray; root last */
static const struct {
	double comp, link;
} s0_platform[16] = {
	{ .004629, 1.00e-5 }, { .009365, 1.12e-5 }, { .004885, 1.70e-5 }, { .016156, 2.10e-5 },
	{ .016156, 2.10e-5 }, { .009677, 3.53e-5 }, { .009677, 3.53e-5 }, { .009677, 3.53e-5 },
	{ .009677, 3.53e-5 }, { .009677, 3.53e-5 }, { .009677, 3.53e-5 }, { .009677, 3.53e-5 },
	{ .009677, 3.53e-5 }, { .003976, 8.15e-5 }, { .003976, 8.15e-5 }, { .009288, 0 },
};

static inline struct problem s0_problem(bool ascending, double scale)
{
	struct problem pr = { .n = 817101 };

	for (size_t i = 0; i < 16; i++) {
		size_t k = ascending && i < 15 ? 14 - i : i;
		add_proc(&pr, affine(0, s0_platform[k].comp * scale),
			 affine(0, s0_platform[k].link * scale));
	}
	return pr;
}

enum shape { LINEAR, AFFINE, RISING, ANY };

/* Create a cost of small whole numbers, so that sums are exact and ties are common. */
static inline hetpart_cost *random_cost(uint64_t *s, enum shape shape, uint64_t n)
{
	double v[64], t = shape == ANY || rnd_below(s, 4) == 0 ? (double)rnd_below(s, 3) : 0;
	hetpart_cost *c;

	if (shape == LINEAR)
		return affine(0, (double)rnd_below(s, 9));
	if (shape == AFFINE)
		return affine((double)(rnd_below(s, 2) * rnd_below(s, 9)), (double)rnd_below(s, 7));
	for (uint64_t e = 0; e <= n; e++) {
		v[e] = t;
		t = shape == RISING ? t + (double)rnd_below(s, 4) : (double)rnd_below(s, 20);
	}
	bool ends = shape == RISING && rnd_below(s, 8) == 0;
	for (uint64_t e = n / 2 + 1; ends && e <= n; e++)
		v[e] = INFINITY;
	OK(hetpart_cost_table(&c, v, (size_t)n + 1, 1, &err));
	return c;
}

static inline struct problem random_problem(uint64_t *s, enum shape comp, enum shape link)
{
	struct problem pr = { .n = rnd_below(s, 13) };
	size_t p = 1 + (size_t)rnd_below(s, 4);

	for (size_t i = 0; i < p; i++)
		add_proc(&pr, random_cost(s, comp, pr.n),
			 i + 1 < p || rnd_below(s, 2) ? random_cost(s, link, pr.n) : NULL);
	return pr;
}

/* Create a cost for one of equal or ever slower processors. */
static inline hetpart_cost *slower_cost(int kind, double scale)
{
	hetpart_cost *c;

	if (kind == 0)
		return affine(scale > 4 ? 3 : 0, scale);
	if (kind == 1)
		OK(hetpart_cost_nlogn(&c, scale, &err));
	else
		OK(hetpart_cost_power(&c, kind == 2 ? 0.5 : 1.5, scale, &err));
	return c;
}

/* Create a problem with links that get slower along the order, with or without startups, on
 * processors of one kind. The processors get slower too if the startups require it. The root's link
 * is free, or as slow as any. */
static inline struct problem sorted_problem(uint64_t *s, uint64_t max_n)
{
	struct problem pr = { .n = rnd_below(s, max_n) };
	size_t p = 1 + (size_t)rnd_below(s, 5);
	int kind = (int)rnd_below(s, 4);
	double startup = 0, link = 0, comp = 1;
	bool starts = rnd_below(s, 2), equal = rnd_below(s, 3) == 0, free_root = rnd_below(s, 2);

	for (size_t i = 0; i < p; i++) {
		startup += starts ? (double)rnd_below(s, 9) : 0;
		link += equal ? i == 0 : (double)rnd_below(s, 3);
		comp = starts ? comp + (double)rnd_below(s, 3) : 1 + (double)rnd_below(s, 6);
		add_proc(&pr, slower_cost(kind, equal ? 2 : comp),
			 free_root && i + 1 == p ? NULL
						 : affine(equal ? 2 * starts : startup, link));
	}
	return pr;
}

/* Return the makespan of shares by the definition, in plain doubles. */
static inline double one_port(const struct problem *pr, const uint64_t *share)
{
	double port = 0, last = 0;

	for (size_t i = 0; i < pr->p; i++) {
		port += pr->proc[i].link ? hetpart_cost_eval(pr->proc[i].link, share[i]) : 0;
		last = fmax(last, port + hetpart_cost_eval(pr->proc[i].compute, share[i]));
	}
	return last;
}

/* Return the smallest makespan over all shares of left items on the processors from i on. */
static inline double brute(const struct problem *pr, uint64_t *share, size_t i, uint64_t left)
{
	double best = INFINITY;

	if (i + 1 == pr->p) {
		share[i] = left;
		return one_port(pr, share);
	}
	for (share[i] = 0; share[i] <= left; share[i]++) {
		uint64_t mine = share[i];
		best = fmin(best, brute(pr, share, i + 1, left - mine));
		share[i] = mine;
	}
	return best;
}

static inline double optimum(const struct problem *pr)
{
	uint64_t share[MAX_P];

	return brute(pr, share, 0, pr->n);
}

static inline hetpart_status plan_by(hetpart_plan **pl, const struct problem *pr,
				     hetpart_scatter_method m)
{
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;

	opts.method = m;
	return hetpart_scatter_create(pl, pr->n, pr->proc, pr->p, &opts, &err);
}

#endif
