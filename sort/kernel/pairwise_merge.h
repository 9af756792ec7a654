/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merging of a few sorted runs of entries in the cache. */
#ifndef HETSORT_KMERGE_H
#define HETSORT_KMERGE_H

#include "record.h"

enum { KMERGE_MAX = 1024 };

/* entries_merge - the runs run[0..k) of n[0..k) entries each, k in 1..KMERGE_MAX, into out, in the
 * order of (key, position), in which every run already is. Runs may be empty.
 * out  room for the sum of n; tmp  the same, scratch. Neither overlaps the runs or the other.
 * r    the records behind the entries: read only for keys longer than PREFIX_BYTES.
 * No allocation, no thread. Time O(sum of n); best where out and tmp stay in the cache. */
void entries_merge(const entry *const *run, const size_t *n, size_t k, entry *out, entry *tmp,
		   const records *r);

/* entries_merge_in - the same for runs that lie in e one after another, with no more than tmp
 * beside it: returns which of the two holds the result. */
entry *entries_merge_in(const entry *const *run, const size_t *n, size_t k, entry *e, entry *tmp,
			const records *r);

#endif
