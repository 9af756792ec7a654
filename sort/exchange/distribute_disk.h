/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sending records before they are sorted: choose the rank of each record, and exchange records that
 * do not fit in the memory of the rank which receives them. */
#ifndef HETSORT_EXCHANGE_DISTRIBUTE_DISK_H
#define HETSORT_EXCHANGE_DISTRIBUTE_DISK_H

#include "model/shares.h"
#include "spill/read_runs.h"

/* The cuts between ranks: item i is the first record of rank i + 1. Ranks beyond the last item get
 * no records. */
typedef struct splitters {
	unsigned char *raw; /* [count] items */
	size_t count;
	layout lay;
	const uint64_t *start; /* [count + 2] the first entry of each rank, and the end */
	uint64_t *at;          /* [count + 1] scratch */
} splitters;

static inline item *splitters_item(const splitters *g, size_t i)
{
	return (void *)(g->raw + i * item_bytes(&g->lay));
}

/* splitters_place - make entries of n records, in the order of their ranks and positions. The
 * entries for rank k are out[start[k]] to out[start[k + 1] - 1]. The first record has the number
 * `first` in the order of the items. Return the number of records that have no place in out,
 * because memory has changed since they were counted. */
size_t splitters_place(const splitters *g, const records *r, uint64_t first, size_t n, entry *out);

typedef struct distribute_plan {
	const input *in;
	const share_plan *s;
	uint64_t windows_bytes;      /* of the exchange */
	const run_formation_plan *p; /* as for run_formation_stream */
} distribute_plan;

/* distribute_disk - collective: send each record of the input to the rank that will write it, or to
 * one near it. The receiver puts records into runs on disk, in out. So the merge has to move few
 * records. Every rank must be able to read the whole input. */
status distribute_disk(rank_env *env, const distribute_plan *k, read_runs *out);

#endif
