/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanging first where memory does not hold what a rank receives. */
#ifndef HETSORT_EXCHANGE_DISTRIBUTE_DISK_H
#define HETSORT_EXCHANGE_DISTRIBUTE_DISK_H

#include "model/shares.h"
#include "spill/run_formation.h"

/* Where ranks cut what they read, by samples alone: splitter i is the first item of rank i + 1. */
typedef struct splitter_estimate {
	unsigned char *raw; /* count items, one after the other */
	size_t count;
	layout lay;
} splitter_estimate;

static inline const item *splitter_estimate_item(const splitter_estimate *g, size_t i)
{
	return (const void *)(g->raw + i * item_bytes(&g->lay));
}

/* splitter_estimate_make - collective: from records of this rank's share, which `from` (all of the
 * input) reads. Their places in the order are those in the input. To be freed on failure too. */
status splitter_estimate_make(rank_env *env, const share_plan *s, const reader *from,
			      splitter_estimate *g);
void splitter_estimate_free(splitter_estimate *g, mem *m);

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
