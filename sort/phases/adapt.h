/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --adapt: the speeds that ranks show, and the shares that follow. */
#ifndef HETSORT_PHASES_ADAPT_H
#define HETSORT_PHASES_ADAPT_H

#include "job.h"

/* Parts of a rank's work: all of it, its last half, and its last quarter. */
enum { SIGHT_PARTS = 3 };

/* The work of a rank so far, in seconds of a rank of speed 1, and the seconds that its parts took;
 * 0 if unknown. The rank holds `held` records, and has to send most of them. */
typedef struct sighting {
	double work_s, took_s[SIGHT_PARTS];
	uint64_t held;
} sighting;

/* The input of adapt_plan. Arrays have an element per rank. */
typedef struct adapt_query {
	const settings *o; /* its strategy, record size and rule count */
	const sighting *seen;
	const double *planned;   /* planned speeds */
	const rates *rate;       /* only links and disks are used */
	const uint64_t *written; /* planned shares */
	size_t p;
} adapt_query;

/* The gain of new shares. */
typedef struct prospect {
	double gain;    /* the saved part of the remaining time, 0 to 1 */
	double saved_s; /* the saved seconds */
	bool worth;     /* both are at least what --adapt requires */
} prospect;

/* adapt_plan - compute how many records each rank should write, so that all end together, from the
 * speeds that they show now. A rank that turned slow also has to send the records that it holds, so
 * it writes even less. now receives the present speeds, share the new shares. If no rank shows a
 * speed, these are the planned ones. */
status adapt_plan(const adapt_query *q, mem *m, double *now, uint64_t *share, prospect *out,
		  err *e);

#endif
