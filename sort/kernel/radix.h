/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting entries, and sorting numbers with equal key bits by whole keys. Pure. */
#ifndef HETSORT_KERNEL_RADIX_H
#define HETSORT_KERNEL_RADIX_H

#include "key.h"

/* radix_sort - sort a[0..n) by key; equal keys keep their order (stable).
 * tmp   room for n entries; its content is lost
 * r     the records of the entries, read only for keys longer than KEY_PREFIX_BYTES
 * Time O(n) if keys are spread evenly; clusters of keys take further passes. m keys that agree in
 * the first 10 bytes take O(m log m) comparisons of the rest. No allocation, no thread. */
void radix_sort(entry *a, entry *tmp, size_t n, const records *r);

/* radix_settle - complete the sort of n sorted numbers at a: sort numbers with equal key bits
 * (above `mask`) by the whole keys of their records. Stable: among equal keys, the positions (the
 * bits in mask) ascend.
 * r, count  the records of the positions, and their number
 * room      for 2 * n entries; its content is lost */
void radix_settle(uint64_t *a, size_t n, uint64_t mask, const records *r, uint64_t count,
		  entry *room);

#endif
