/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merging of a few sorted runs of entries in the cache. */
#ifndef HETSORT_KERNEL_PAIRWISE_MERGE_H
#define HETSORT_KERNEL_PAIRWISE_MERGE_H

#include "record.h"

enum { PAIRWISE_MAX = 8 /* runs; beyond, sorting them again measures faster */ };

/* pairwise_merge_in - merge the runs run[0..k) of n[0..k) entries each, k in 1..PAIRWISE_MAX, in
 * the order of (key, position), in which every run already is. Runs may be empty; they lie in e one
 * after another, and tmp has room for as many entries. Returns which of the two holds the result.
 * r: the records that the entries point to, read only for keys longer than KEY_PREFIX_BYTES. Time
 * O(sum of n); best where e and tmp stay in the cache. */
entry *pairwise_merge_in(const entry *const *run, const size_t *n, size_t k, entry *e, entry *tmp,
			 const records *r);

#endif
