/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grid.h - one grid of the exact ladder: for each processor i the amounts d, in blocks of
 * 2^s items, that may be left before it, and a bound for the time i and those after it need for d.
 * Not installed. */
#ifndef SCATTER_LADDER_H
#define SCATTER_LADDER_H

#include "scatter.h"

struct span {
	uint64_t lo, hi; /* blocks, both included */
};

/* LAD_LOWER: block k stands for k 2^s items or more and m blocks for more than m - 1: a lower
 * bound. LAD_UPPER: all shares are whole blocks, the root's and the rest: a plan. */
enum lad_kind { LAD_LOWER, LAD_UPPER };

struct ladder {
	struct scatter *sc;
	unsigned s;           /* blocks of 2^s items */
	enum lad_kind kind;   /* what bound[] holds */
	struct span *span;    /* p entries: amounts before processor i */
	struct span *kept;    /* p entries: those worth keeping */
	size_t *row;          /* p entries: where the row of processor i begins in bound[] */
	double *bound;        /* rows of span[i].hi - span[i].lo + 1 */
	double *port, *port2; /* as long as the longest row */
	uint64_t *queue;      /* the same */
	double *seen[2];    /* twice as long: comp and link times of this row; NaN: not asked yet */
	uint64_t base;      /* blocks of the first of them */
	size_t room, width; /* entries allocated: bound, and the three above */
	size_t entries;     /* entries in use: bound */
	bool helped;        /* the last plan tried was better than all before */
	double upper, tol;  /* makespan of the best plan so far (plan->share), its rounding */
	uint64_t *path;     /* p entries: a plan being tried */
};

static inline uint64_t lad_items(const struct ladder *la, uint64_t m)
{
	if (la->kind == LAD_UPPER || m == 0)
		return m << la->s;
	return ((m - 1) << la->s) + 1;
}

static inline double lad_link(const struct ladder *la, size_t i, uint64_t m)
{
	return sc_time(&la->sc->link[i], lad_items(la, m));
}

static inline double lad_comp(const struct ladder *la, size_t i, uint64_t m)
{
	return sc_time(&la->sc->comp[i], lad_items(la, m));
}

static inline double lad_at(const struct ladder *la, size_t i, uint64_t k)
{
	return la->bound[la->row[i] + (size_t)(k - la->span[i].lo)];
}

/* Make room for the rows of the spans; HETPART_ENOMEM over the problem's limit. */
hetpart_status part_lad_rows(struct ladder *la, hetpart_err *err);

/* Fill in all rows, from the root backwards. */
void part_lad_fill(struct ladder *la, enum lad_kind kind);

/* Read the plan off rows of LAD_UPPER; keep it if it is better than the best so far. */
void part_lad_take(struct ladder *la);

void part_lad_free(struct ladder *la);

#endif
