/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs cut into pieces that can be merged independently of each other: all of piece i precedes all
 * of piece i + 1. */
#ifndef HETSORT_SPILL_MERGE_PARTITION_H
#define HETSORT_SPILL_MERGE_PARTITION_H

#include "base/mem.h"
#include "runs.h"

typedef struct merge_partition {
	size_t count, most; /* pieces; records in the largest */
	size_t room;        /* pieces that the arrays have room for */
	size_t runs;
	uint64_t *cut; /* [(count + 1) * runs] of run k, piece i has the places from cut[i * runs +
			  k] to cut[(i + 1) * runs + k] */
	uint64_t *first; /* [count + 1] records in the pieces before */
} merge_partition;

/* merge_partition_cut - of the places [lo[k], hi[k]) of each run k, about `recs` records each, by
 * samples: a piece is at most a few times that. To be freed on failure too. */
status merge_partition_cut(merge_partition *p, mem *m, const runs *r, const uint64_t *lo,
			   const uint64_t *hi, size_t recs, err *e);

/* merge_partition_merge - the entries of piece i of the runs r that were cut, in order, to out; tmp
 * is scratch. Each has room for the piece; returns how many they are. */
size_t merge_partition_merge(const merge_partition *p, const runs *r, size_t i, entry *out,
			     entry *tmp);

void merge_partition_free(merge_partition *p, mem *m);

#endif
