/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts records that are numbers of 8 bytes, all of them key. Equal records are identical, so they
 * are sorted in place, by vectors. */
#ifndef HETSORT_KERNEL_WORD_SORT_H
#define HETSORT_KERNEL_WORD_SORT_H

#include "bucket_sort.h"

/* word_sort_fits - return whether records are such numbers, this processor has the vectors, and out
 * is aligned to 8 bytes. */
bool word_sort_fits(const layout *l, const unsigned char *out);

/* word_sort - like bucket_sort_sized, for records that fit. Allocates U64_CACHED numbers per
 * thread.
 */
status word_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads, err *e);

#endif
