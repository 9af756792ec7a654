/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multi-way selection over the runs of all ranks: exact places of all splitters at once, so that
 * each rank gets exactly its planned share. The order is (key, rank, place), so equal keys are cut
 * anywhere. */
#ifndef HETSORT_EXCHANGE_SPLITTER_SEARCH_H
#define HETSORT_EXCHANGE_SPLITTER_SEARCH_H

#include "comm/comm.h"
#include "base/mem.h"
#include "spill/sorted.h"

/* What one rank knows of one splitter in one of its runs: it cuts at a place in [lo, hi]. Of count
 * splitters and R runs, range j * R + k is that of splitter j in run k. */
typedef struct range {
	uint64_t lo, hi;
} range;

typedef struct splitter_search {
	comm *c;
	mem *m;
	sorted *r;
	const records *as_read; /* or NULL */
	const uint64_t *target; /* [count] */
	size_t count;
	range *g;   /* [count * R] what is known; then */
	range *cut; /* [count * R] where the two pivots of a splitter cut */
	size_t samples, bid_bytes, answer_bytes;
	/* [size * samples] of the splitter that this rank is in charge of; then bids to each rank
	 * and from each; answers: of this rank, of all, where bids were */
	struct weighed *order;
	unsigned char *out, *in, *answer;
	struct weighed *own;  /* of this rank, from several runs; then */
	unsigned char *items; /* the items */
	unsigned round;
	bool live;      /* there is a splitter still to be found */
	bool failed;    /* a rank cannot go on */
	uint64_t width; /* records between the pivots of this rank's splitter, a round ago */
	bool decided;   /* this rank's splitter is found */
} splitter_search;

/* sample_phase - where in each part of its records, in order, a rank draws a sample: at this part
 * of 2^64, another one on each rank. At the same ones, ranks whose keys are alike would all draw
 * the same keys, and tell nothing of what lies between. */
static inline uint64_t sample_phase(int rank, unsigned round)
{
	return (uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15) + round * UINT64_C(0x5851f42d4c957f2d);
}

/* sample_place - that of part i of n of `width` records; at: sample_phase(). */
static inline uint64_t sample_place(uint64_t width, size_t i, size_t n, uint64_t at)
{
	const uint64_t from = (uint64_t)((unsigned __int128)width * i / n);
	const uint64_t to = (uint64_t)((unsigned __int128)width * (i + 1) / n);
	return from + (uint64_t)((unsigned __int128)(to - from) * at >> 64);
}

/* splitter_search_open - collective: begin to search `count` splitters, count < size, with the
 * first round, of samples of all records. Rank j is in charge of splitter j, before which there are
 * to be target[j] records of all ranks. Close it after a failure too; zeros are fine.
 * as_read  the records of r as they lie in memory, by position, for the first samples: no bucket
 *          has to be sorted for them. NULL: they are drawn from the sequence. */
status splitter_search_open(splitter_search *s, comm *c, mem *m, sorted *r, const records *as_read,
			    const uint64_t *target, size_t count, err *er);
void splitter_search_close(splitter_search *s);

/* splitter_search_end - collective: narrow the ranges until lo == hi everywhere. cut has
 * (size + 1) * R elements: of run k, rank d is to get the places from cut[d * R + k] to
 * cut[(d + 1) * R + k]. */
status splitter_search_end(splitter_search *s, uint64_t *cut, err *er);

/* key_borders_move - collective: exact splitters lie anywhere among equal keys; move cuts, as
 * splitter_search_end leaves them, up to where the key ends, so that no key is on both sides of
 * one. */
status key_borders_move(comm *c, mem *m, sorted *s, uint64_t *cut, err *er);

/* splitter_search_peer_bytes - at most what a search allocates for each rank, with one run.
 * splitter_search_left - of n records on p ranks, about how many lie between the pivots of a
 * splitter after the first round. */
uint64_t splitter_search_peer_bytes(const layout *l);
double splitter_search_left(uint64_t n, size_t p);

#endif
