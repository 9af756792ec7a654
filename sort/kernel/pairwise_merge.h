/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges a few sorted runs of entries in the cache. */
#ifndef HETSORT_KERNEL_PAIRWISE_MERGE_H
#define HETSORT_KERNEL_PAIRWISE_MERGE_H

#include "record.h"

enum { PAIRWISE_MAX = 8 /* runs; beyond, sorting them again measures faster */ };

/* pairwise_merge_in - merge the runs run[0..k) of n[0..k) entries each, k in 1..PAIRWISE_MAX, by
 * (key, position); every run is sorted. Runs may be empty; they lie in e one after another, and tmp
 * has room for the same number of entries. Returns the one of the two that holds the result. r: the
 * records of the entries, read only for keys longer than KEY_PREFIX_BYTES. Time O(sum of n); fast
 * if e and tmp stay in the cache. */
entry *pairwise_merge_in(const entry *const *run, const size_t *n, size_t k, entry *e, entry *tmp,
			 const records *r);

#endif
