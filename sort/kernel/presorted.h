/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts records that are nearly in order already: one run, or two that are merged. */
#ifndef HETSORT_KERNEL_PRESORTED_H
#define HETSORT_KERNEL_PRESORTED_H

#include "record.h"

/* presorted_sort - if the n records of `in` (KEY_WINDOW_BYTES each, or more) are at most two runs,
 * sort them stably by key to out on up to `threads` threads, and return true. A run ascends, or
 * descends without equal keys. If the order is random, it reads only a few records. No allocation.
 */
bool presorted_sort(const records *in, size_t n, unsigned char *out, unsigned threads);

#endif
