/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting entries, and settling numbers whose keys are longer than they show. Pure. */
#ifndef HETSORT_KERNEL_RADIX_H
#define HETSORT_KERNEL_RADIX_H

#include "key.h"

/* radix_sort - sort a[0..n) by key; equal keys keep their order (stable).
 * tmp   room for n entries; its content is lost
 * r     the records of the entries, read only for keys longer than KEY_PREFIX_BYTES
 * Time O(n * distinct digits), at most 10 passes. Longer keys that agree in the first 10 bytes take
 * O(m log m) comparisons of the rest. No allocation, no thread. */
void radix_sort(entry *a, entry *tmp, size_t n, const records *r);

/* radix_settle - sort numbers that agree above `mask`, among n sorted ones at a, by the whole keys
 * of their records. Stable: the positions, under mask, ascend among equal keys.
 * r, count  the records of the positions, and their number
 * room      for 2 * n entries; its content is lost */
void radix_settle(uint64_t *a, size_t n, uint64_t mask, const records *r, uint64_t count,
		  entry *room);

#endif
