/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank holds after reading: sorted runs, one for each stretch of its input. All places in
 * them have one number, run after run, so that equal keys of a rank are in order of it. */
#ifndef HETSORT_RUNS_H
#define HETSORT_RUNS_H

#include "record.h"

typedef struct runs {
	records recs;
	const entry *e;        /* run k is e[start[k] .. start[k + 1]), sorted by (key, position) */
	size_t count;          /* runs, >= 1 */
	const uint64_t *start; /* [count + 1]; positions of a run lie between its places */
} runs;

static inline uint64_t runs_total(const runs *r)
{
	return r->start[r->count];
}

/* runs_before - the first place in [lo, hi), which lie in one run, whose record does not precede
 * item it; hi where all do. */
uint64_t runs_before(const runs *r, uint64_t lo, uint64_t hi, const item *it);

#endif
