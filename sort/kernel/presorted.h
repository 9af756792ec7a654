/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records that are nearly in order already: one run, or two that are merged. */
#ifndef HETSORT_KERNEL_PRESORTED_H
#define HETSORT_KERNEL_PRESORTED_H

#include "record.h"

/* presorted_sort - the n records of `in` (KEY_WINDOW_BYTES each, or more), if they are at most two
 * runs, stably by key to out, by up to `threads` threads; whether they are. A run ascends, or
 * descends without equal keys. Looks at a few records where order is random, and at no more keys
 * than two runs have. No allocation. */
bool presorted_sort(const records *in, size_t n, unsigned char *out, unsigned threads);

#endif
