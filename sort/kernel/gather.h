/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records in the order of their entries. */
#ifndef HETSORT_KERNEL_GATHER_H
#define HETSORT_KERNEL_GATHER_H

#include "record.h"

/* gather - copy the records of order[0..n) to out, one after the other. Pure; bound by memory
 * latency, so records are fetched ahead. ahead tells how many entries behind order[n] may be read
 * for that. */
void gather(const records *r, const entry *order, size_t n, size_t ahead, unsigned char *out);

/* gather_u64 - the same for n numbers that have the position in the bits of pos_mask. streaming:
 * records are written past the cache (records of at most STREAMING_MOST_BYTES bytes): where more is
 * written than caches hold, lines need not be read before. */
void gather_u64(const records *r, const uint64_t *order, uint64_t pos_mask, size_t n,
		bool streaming, unsigned char *out);

#endif
