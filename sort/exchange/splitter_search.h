/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multi-way selection over the runs of all ranks: exact places of all splitters at once. */
#ifndef HETSORT_EXCHANGE_SPLITTER_SEARCH_H
#define HETSORT_EXCHANGE_SPLITTER_SEARCH_H

#include "comm/comm.h"
#include "base/mem.h"
#include "spill/runs.h"

/* What one rank knows of one splitter in one of its runs: it cuts at a place in [lo, hi]. Of count
 * splitters and R runs, range j * R + k is that of splitter j in run k. */
typedef struct range {
	uint64_t lo, hi;
} range;

/* splitter_search_check - collective: are estimated ranges right over all ranks? Where splitter j
 * lies outside [lo, hi] on one side, that side opens to the ends of the runs. target as in
 * splitter_search. */
status splitter_search_check(comm *c, mem *m, const runs *r, range *g, const uint64_t *target,
			     size_t count, err *er);

/* splitter_search - collective: narrow the ranges until lo == hi everywhere, so that over all
 * ranks exactly target[j] records precede splitter j. Needs count < size: rank j is in charge
 * of splitter j. Runs need to be in order as far as the ranges reach. Each round asks all ranks for
 * the middle of what is left, takes their weighted median and counts what precedes it: at least an
 * eighth drops out, with a single run at each rank a quarter. */
status splitter_search(comm *c, mem *m, const runs *r, range *g, const uint64_t *target,
		       size_t count, err *er);

#endif
