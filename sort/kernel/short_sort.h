/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts short records in memory. The records are moved to buckets, because moving numbers that
 * represent them would not be cheaper. */
#ifndef HETSORT_KERNEL_SHORT_SORT_H
#define HETSORT_KERNEL_SHORT_SORT_H

#include "bucket_sort.h"

enum { SHORT_MOST_BYTES = 39 }; /* of a record */

/* short_sort - like bucket_sort_sized, for more than sizes->simple records of KEY_WINDOW_BYTES to
 * SHORT_MOST_BYTES. */
status short_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
		  const bucket_sort_sizes *sizes, err *e);

/* short_sort_most_bytes - return an upper bound of what it allocates. */
uint64_t short_sort_most_bytes(uint64_t n, unsigned threads, const bucket_sort_sizes *sizes);

#endif
