/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last look at records before they leave: order, checksum, count. */
#ifndef HETSORT_KERNEL_INSPECT_H
#define HETSORT_KERNEL_INSPECT_H

#include "checksum.h"
#include "record.h"

typedef enum inspect_order {
	INSPECT_SORTED,
	INSPECT_STRICT, /* and no two have the same key */
	INSPECT_ANY,
} inspect_order;

/* What has left. */
typedef struct inspected {
	uint64_t records;
	checksum sum;
	unsigned char *first_key, *last_key; /* of key_bytes each, valid where records > 0; in any
						order the smallest and the greatest */
	inspect_order order;
} inspected;

/* unordered - how many of n records are smaller than the one before them. */
size_t inspect_unordered(const layout *l, const unsigned char *recs, size_t n);

/* inspect - count n > 0 records in that follow what was seen; returns how many are out of its
 * order, the first of them against the last key seen. */
size_t inspect(inspected *seen, const layout *l, const unsigned char *recs, size_t n);

#endif
