/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records that are numbers of 8 bytes, all of them key: equal ones need not be told apart,
 * so that they are sorted in place, by vectors. */
#ifndef HETSORT_KERNEL_WORD_SORT_H
#define HETSORT_KERNEL_WORD_SORT_H

#include "bucket_sort.h"

/* word_sort_fits - whether records are such, on a processor with the vectors for it, and out is
 * aligned to 8 bytes. */
bool word_sort_fits(const layout *l, const unsigned char *out);

/* word_sort - as bucket_sort_sized, for records that fit. Allocates U64_CACHED numbers a thread. */
status word_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads, err *e);

#endif
