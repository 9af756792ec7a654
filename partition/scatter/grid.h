/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grid.h - one grid of the exact multiresolution method: for each processor i the amounts d, in
 * blocks of 2^s items, that may be left before it, and a bound for the time i and those after it
 * need for d. Not installed. */
#ifndef SCATTER_GRID_H
#define SCATTER_GRID_H

#include "scatter.h"

struct interval {
	uint64_t lo, hi; /* blocks, both included */
};

/* GRID_LOWER: block k stands for k 2^s items or more and m blocks for more than m - 1: a lower
 * bound. GRID_UPPER: all shares are whole blocks, the root's and the rest: a plan. */
enum grid_kind { GRID_LOWER, GRID_UPPER };

struct grid {
	struct scatter *sc;
	unsigned s;               /* blocks of 2^s items */
	enum grid_kind kind;      /* what bound[] holds */
	struct interval *amounts; /* p entries: amounts before processor i */
	struct interval *kept;    /* p entries: those worth keeping */
	size_t *row;              /* p entries: where the row of processor i begins in bound[] */
	double *bound;            /* rows of amounts[i].hi - amounts[i].lo + 1 */
	double *port, *port2;     /* as long as the longest row */
	uint64_t *queue;          /* the same */
	double *seen[2];    /* twice as long: comp and link times of this row; NaN: not asked yet */
	uint64_t base;      /* blocks of the first of them */
	size_t room, width; /* entries allocated: of bound, and of the longest row */
	size_t entries;     /* entries in use: bound */
	bool helped;        /* the last plan tried was better than all before */
	double upper, tol;  /* makespan of the best plan so far (plan->share), its rounding */
	double lower;       /* what the grids before have proven */
	uint64_t *path;     /* p entries: a plan being tried */
};

static inline uint64_t grid_items(const struct grid *gr, uint64_t m)
{
	if (gr->kind == GRID_UPPER || m == 0)
		return m << gr->s;
	return ((m - 1) << gr->s) + 1;
}

static inline double grid_link(const struct grid *gr, size_t i, uint64_t m)
{
	return sc_time(&gr->sc->link[i], grid_items(gr, m));
}

static inline double grid_comp(const struct grid *gr, size_t i, uint64_t m)
{
	return sc_time(&gr->sc->comp[i], grid_items(gr, m));
}

static inline double grid_at(const struct grid *gr, size_t i, uint64_t k)
{
	return gr->bound[gr->row[i] + (size_t)(k - gr->amounts[i].lo)];
}

/* Make room for the rows of these amounts; false if the budget's memory does not suffice. */
bool part_grid_rows(struct grid *gr);

/* Fill in all rows, from the root backwards; false if the budget ended before. */
bool part_grid_fill(struct grid *gr, enum grid_kind kind);

/* Keep the plan in path if it is better than the best so far. */
void part_grid_offer(struct grid *gr);

/* Read the plan off rows of GRID_UPPER; keep it if it is better than the best so far. */
void part_grid_take(struct grid *gr);

void part_grid_free(struct grid *gr);

#endif
