/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splitter search: where every rank has to cut its records so that each destination gets exactly
 * its planned share. The order is (key, rank, position), so equal keys are cut anywhere. */
#ifndef HETSORT_EXCHANGE_SPLIT_H
#define HETSORT_EXCHANGE_SPLIT_H

#include "comm/comm.h"
#include "base/mem.h"
#include "spill/runs.h"

/* A splitter's whereabouts as estimated from samples: it lies in [lo, hi). An absent end is open.
 */
typedef struct bracket {
	const item *lo, *hi; /* NULL: open; in store */
} bracket;

typedef struct brackets {
	bracket *b;         /* one a splitter, size - 1 in all */
	size_t count;       /* splitters */
	unsigned char *raw; /* as broadcast */
	size_t raw_bytes;
} brackets;

/* sample_brackets - collective: estimate the brackets of the size - 1 splitters from samples.
 * r        this rank's runs; sorted tells whether they are in order already.
 * target   target[j]: how many records, of all ranks, precede splitter j.
 * Each rank sends a bounded number of samples to rank 0, which sorts them. */
status sample_brackets(comm *c, mem *m, const runs *r, bool sorted, const uint64_t *target,
		       brackets *out, err *er);
/* sample_most_bytes - at most what sample_brackets allocates for each rank's samples. */
size_t sample_most_bytes(const layout *l);
void brackets_free(mem *m, brackets *b);

/* split_sorted - collective: where splitters cut sorted runs. cut has (size + 1) * runs elements:
 * of run k, rank d is to get the places from cut[d * runs + k] to cut[(d + 1) * runs + k]. */
status split_sorted(comm *c, mem *m, const runs *r, const uint64_t *target, const brackets *b,
		    uint64_t *cut, err *er);

/* split_unsorted - collective: the same for entries in order of position. They move from e to out,
 * where rank d's are out[cut[d] .. cut[d+1]), equal keys in order of position; e is scratch. */
status split_unsorted(comm *c, mem *m, const records *r, entry *e, entry *out, size_t n,
		      const uint64_t *target, const brackets *b, uint64_t *cut, err *er);

#endif
