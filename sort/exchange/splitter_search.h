/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multi-way selection over the runs of all ranks. It finds the exact places of all splitters at
 * once, so each rank gets exactly its planned share. Records are ordered by (key, rank, place), so
 * a splitter may divide equal keys. */
#ifndef HETSORT_EXCHANGE_SPLITTER_SEARCH_H
#define HETSORT_EXCHANGE_SPLITTER_SEARCH_H

#include "comm/comm.h"
#include "base/mem.h"
#include "base/arith.h"
#include "spill/sorted.h"

/* A sample, and how many records it stands for. */
typedef struct weighed {
	const item *it; /* the first member, for item_order() */
	double weight;
} weighed;

/* A splitter cuts a run at a place in [lo, hi]. With R runs, range j * R + k is the range of
 * splitter j in run k. */
typedef struct range {
	uint64_t lo, hi;
} range;

/* A splitter, for the rank in charge of it. */
typedef struct charge {
	uint64_t width; /* records between its pivots in the last round */
	bool decided;   /* it is found */
} charge;

typedef struct splitter_search {
	/* set by the caller */
	comm *c;
	mem *m;
	sorted *r;
	/* The records of r as they were read. The first samples are drawn from them, because
	 * drawing from r would sort buckets. NULL: draw from r. */
	const records *as_read;
	const uint64_t *target; /* [count] records of all ranks before splitter j */
	size_t each;            /* splitters that a rank is in charge of */
	size_t count;           /* splitters, fewer than ranks * each */
	/* set by splitter_search_open */
	range *g;   /* [count * R] the ranges so far */
	range *cut; /* [count * R] the places of each splitter's two pivots; in the memory of g */
	size_t samples, bid_bytes, answer_bytes;
	size_t bids_bytes, answers_bytes; /* of a message: `each` of them, and a seal */
	charge *mine;                     /* [each] the splitters that this rank is in charge of */
	weighed *order;         /* [size * samples] of one of them; memory of the next 3 */
	unsigned char *out;     /* [size] bids to all ranks */
	unsigned char *in;      /* [size] bids from all ranks, later the answers of all ranks */
	unsigned char *answers; /* of this rank */
	weighed *own;           /* samples from several runs of this rank */
	unsigned char *items;   /* the items of these samples; in the memory of own */
	unsigned round;
	bool live;   /* at least one splitter is not found yet */
	bool failed; /* a rank cannot continue */
} splitter_search;

/* sample_phase - return the point in each part of a rank's records at which the rank draws a
 * sample, as a fraction of 2^64. The point differs between ranks. Otherwise ranks with equal keys
 * would all draw the same keys, and learn nothing about the keys between them. */
static inline uint64_t sample_phase(int rank, unsigned round)
{
	return (uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15) + round * UINT64_C(0x5851f42d4c957f2d);
}

/* sample_place - return the place of sample i of n among `width` records. at: sample_phase(). */
static inline uint64_t sample_place(uint64_t width, size_t i, size_t n, uint64_t at)
{
	const uint64_t from = part_begin(width, i, n), to = part_begin(width, i + 1, n);
	return from + (uint64_t)((unsigned __int128)(to - from) * at >> 64);
}

/* splitter_search_open - collective: begin the search with a round on samples of all records. The
 * caller has set the first members; all others are 0. Rank r is in charge
 * of the splitters from r * each on. Close the
 * search after a failure, too. */
status splitter_search_open(splitter_search *s, err *er);

/* splitter_search_close - free the search; it may be all zeros. */
void splitter_search_close(splitter_search *s);

/* splitter_search_end - collective: narrow the ranges until lo == hi in all of them. Set the
 * (count + 2) * R elements of cut: the records between splitters j - 1 and j are at the places
 * cut[j * R + k] to cut[(j + 1) * R + k] of run k. */
status splitter_search_end(splitter_search *s, uint64_t *cut, err *er);

/* key_borders_move - collective: move each of the size * each - 1 cuts of splitter_search_end after
 * all records with the key before the cut, so that no key is on both sides of a cut. */
status key_borders_move(comm *c, mem *m, sorted *s, size_t each, uint64_t *cut, err *er);

/* splitter_search_peer_bytes - return the most memory per splitter that a search of one run
 * needs. */
uint64_t splitter_search_peer_bytes(const layout *l);

/* splitter_search_left - estimate the records between the pivots of a splitter after the first
 * round, for n records on p ranks. */
double splitter_search_left(uint64_t n, size_t p);

#endif
