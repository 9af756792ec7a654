/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multi-way selection over ranks: exact places of all splitters at once. */
#ifndef HETSORT_SEARCH_H
#define HETSORT_SEARCH_H

#include "comm.h"
#include "mem.h"
#include "record.h"

/* What one rank knows of one splitter: it cuts its n entries somewhere in [lo, hi]. */
typedef struct range {
	uint64_t lo, hi;
} range;

/* check_ranges - collective: are guessed ranges right over all ranks? Where splitter j lies outside
 * [lo, hi] on one side, that side opens to 0 or n. target as in search_splitters. */
status check_ranges(comm *c, mem *m, range *g, size_t n, const uint64_t *target, size_t count,
		    err *er);

/* search_splitters - collective: narrow g[0..count) until lo == hi everywhere, so that over all
 * ranks exactly target[j] records precede splitter j. Needs count < size: rank j looks after
 * splitter j. e are this rank's entries, in order as far as the
 * ranges reach. Each round asks all ranks for the middle of what is
 * left, takes their weighted median and counts what precedes it: at least a quarter drops out. */
status search_splitters(comm *c, mem *m, const records *r, const entry *e, range *g,
			const uint64_t *target, size_t count, err *er);

/* entries_before - how many of sorted e[lo..hi), plus lo, precede item it. */
uint64_t entries_before(const records *r, const entry *e, uint64_t lo, uint64_t hi, const item *it);

#endif
