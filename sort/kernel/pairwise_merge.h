/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merging of a few sorted runs of entries in the cache. */
#ifndef HETSORT_KERNEL_PAIRWISE_MERGE_H
#define HETSORT_KERNEL_PAIRWISE_MERGE_H

#include "record.h"

enum { PAIRWISE_MAX = 1024 };

/* pairwise_merge - the runs run[0..k) of n[0..k) entries each, k in 1..PAIRWISE_MAX, into out, in
 * the order of (key, position), in which every run already is. Runs may be empty. out  room for the
 * sum of n; tmp  the same, scratch. Neither overlaps the runs or the other. r    the records behind
 * the entries: read only for keys longer than KEY_PREFIX_BYTES. No allocation, no thread. Time
 * O(sum of n); best where out and tmp stay in the cache. */
void pairwise_merge(const entry *const *run, const size_t *n, size_t k, entry *out, entry *tmp,
		    const records *r);

/* pairwise_merge_in - the same for runs that lie in e one after another, with no more than tmp
 * beside it: returns which of the two holds the result. */
entry *pairwise_merge_in(const entry *const *run, const size_t *n, size_t k, entry *e, entry *tmp,
			 const records *r);

#endif
