/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs cut into pieces that can be merged independently of each other: all of piece i precedes all
 * of piece i + 1. */
#ifndef HETSORT_KERNEL_MERGE_PARTITION_H
#define HETSORT_KERNEL_MERGE_PARTITION_H

#include "base/mem.h"
#include "record.h"

/* Sorted runs in memory: they lie in one array, and each in the order of (key, position). */
typedef struct entry_runs {
	records recs;
	const entry *e;
	size_t count; /* at most PAIRWISE_MAX */
} entry_runs;

typedef struct merge_partition {
	entry_runs runs;
	size_t count, most; /* pieces; records in the largest */
	/* [(count + 1) * runs] of run k, piece i has the places of e from cut[i * runs + k] to
	 * cut[(i + 1) * runs + k] */
	uint64_t *cut;
	uint64_t *first; /* [count + 1] records in the pieces before */
} merge_partition;

/* merge_partition_cut - of the places [lo[k], hi[k]) of each run k, about `recs` records each, by
 * samples: a piece is at most a few times that. What r points to lives as long as p. To be freed on
 * failure too. */
status merge_partition_cut(merge_partition *p, mem *m, const entry_runs *r, const uint64_t *lo,
			   const uint64_t *hi, size_t recs, err *e);

/* merge_partition_merge - the entries of piece i, in order, to out; tmp is scratch. Each has room
 * for the piece; returns how many they are. */
size_t merge_partition_merge(const merge_partition *p, size_t i, entry *out, entry *tmp);

void merge_partition_free(merge_partition *p, mem *m);

#endif
