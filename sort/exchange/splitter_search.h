/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multi-way selection over the runs of all ranks: exact places of all splitters at once. */
#ifndef HETSORT_EXCHANGE_SPLITTER_SEARCH_H
#define HETSORT_EXCHANGE_SPLITTER_SEARCH_H

#include "sample.h"

/* What one rank knows of one splitter in one of its runs: it cuts at a place in [lo, hi]. Of count
 * splitters and R runs, range j * R + k is that of splitter j in run k. */
typedef struct range {
	uint64_t lo, hi;
} range;

typedef struct splitter_search {
	comm *c;
	mem *m;
	sorted *r;
	const uint64_t *target; /* [count] */
	size_t count;
	range *g;   /* [count * R] what is known */
	range *cut; /* [count * R] where the two pivots of a splitter cut */
	/* bids: to each rank, from each; answers: of this rank, of all, where bids were */
	size_t samples, bid_bytes, answer_bytes;
	unsigned char *out, *in, *answer;
	struct weighed *order; /* [size * samples] of the splitter that this rank is in charge of */
	struct weighed *own;   /* [own_room] of this rank, from several runs, */
	unsigned char *items;  /* and the items */
	size_t own_room;
	uint64_t of_part; /* sample_phase() of the round */
	uint64_t width;   /* records between the pivots of this rank's splitter, a round ago */
	bool decided;     /* this rank's splitter is found */
} splitter_search;

/* splitter_search_open - memory for a search of `count` splitters, count < size: rank j is in
 * charge of splitter j, before which there are to be target[j] records of all ranks. Ranges are the
 * caller's to set. Not collective; to be closed on failure too. */
status splitter_search_open(splitter_search *s, comm *c, mem *m, sorted *r, const uint64_t *target,
			    size_t count, err *er);
void splitter_search_close(splitter_search *s);

/* splitter_search_check - collective: are estimated ranges right over all ranks? Where splitter j
 * lies outside [lo, hi] on one side, that side opens to the ends of the runs. */
status splitter_search_check(splitter_search *s);

/* splitter_search_run - collective: narrow the ranges until lo == hi everywhere, so that over all
 * ranks exactly target[j] records precede splitter j. Runs need to be in order as far as the ranges
 * reach. */
status splitter_search_run(splitter_search *s, err *er);

/* split_sorted - collective: all of this, from brackets: where each rank has to cut its records so
 * that each destination gets exactly its planned share. The order is (key, rank, place), so equal
 * keys are cut anywhere. cut has (size + 1) * runs elements: of run k, rank d is to get the places
 * from cut[d * runs + k] to cut[(d + 1) * runs + k]. */
status split_sorted(comm *c, mem *m, sorted *r, const uint64_t *target, const brackets *b,
		    uint64_t *cut, err *er);

#endif
