/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sending records before they are sorted: which rank they go to, and the exchange where memory does
 * not hold what a rank receives. */
#ifndef HETSORT_EXCHANGE_DISTRIBUTE_DISK_H
#define HETSORT_EXCHANGE_DISTRIBUTE_DISK_H

#include "model/shares.h"
#include "spill/run_formation.h"

/* Where records that are not sorted are cut: item i is the first one of rank i + 1, and the last
 * ranks, if they have no item, get nothing. */
typedef struct splitters {
	unsigned char *raw; /* count items, one after the other */
	size_t count;
	layout lay;
} splitters;

static inline item *splitters_item(const splitters *g, size_t i)
{
	return (void *)(g->raw + i * item_bytes(&g->lay));
}

/* splitters_place - make entries of n records, rank by rank, in the order of positions for each:
 * rank k's are out[start[k] .. start[k + 1]). The records are number `first` and following of those
 * that the items were made from. at: room for g->count + 1 numbers. Returns the number of records
 * that had no place there, because memory has changed since they were counted. */
size_t splitters_place(const splitters *g, const records *r, uint64_t first, size_t n,
		       const uint64_t *start, uint64_t *at, entry *out);

/* What is distributed. */
typedef struct distribute_plan {
	const input *in;
	const share_plan *s;
	uint64_t windows_bytes;      /* of the exchange */
	const run_formation_plan *p; /* as for run_formation_stream */
} distribute_plan;

/* distribute_disk - collective: each record of the input to about the rank that is to write it,
 * and there to runs on disk, to out. What merging then has to move is little. Every rank has the
 * whole input. */
status distribute_disk(rank_env *env, const distribute_plan *k, read_runs *out);

#endif
