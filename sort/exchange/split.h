/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where every rank has to cut its records so that each destination gets exactly its planned share.
 * The order is (key, rank, position), so equal keys are cut anywhere. Some ranks may call
 * split_sorted while others call split_unsorted: both say the same to the other ranks. */
#ifndef HETSORT_EXCHANGE_SPLIT_H
#define HETSORT_EXCHANGE_SPLIT_H

#include "sample.h"

/* split_sorted - collective: where splitters cut sorted runs. cut has (size + 1) * runs elements:
 * of run k, rank d is to get the places from cut[d * runs + k] to cut[(d + 1) * runs + k]. */
status split_sorted(comm *c, mem *m, sorted *r, const uint64_t *target, const brackets *b,
		    uint64_t *cut, err *er);

/* split_unsorted - collective: the same for entries in order of position. They move from e to out,
 * where rank d's are out[cut[d] .. cut[d+1]), equal keys in order of position; e is scratch.
 * out may be NULL: there was no memory, and err tells. */
status split_unsorted(comm *c, mem *m, const records *r, entry *e, entry *out, size_t n,
		      const uint64_t *target, const brackets *b, uint64_t *cut, err *er);

#endif
