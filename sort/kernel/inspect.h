/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last look at records before they leave: order, checksum, count. */
#ifndef HETSORT_KERNEL_INSPECT_H
#define HETSORT_KERNEL_INSPECT_H

#include "checksum.h"
#include "record.h"

typedef enum inspect_order {
	INSPECT_SORTED,
	INSPECT_STRICT, /* sorted, and no two records have the same key */
	INSPECT_ANY,
} inspect_order;

/* The records inspected so far. */
typedef struct inspected {
	uint64_t records;
	checksum sum;
	unsigned char *first_key, *last_key; /* key_bytes each, valid if records > 0; with
						INSPECT_ANY the smallest and the greatest */
	inspect_order order;
} inspected;

/* inspect_unordered - count the records, of n, that are smaller than their predecessor. */
size_t inspect_unordered(const layout *l, const unsigned char *recs, size_t n);

/* inspect - add n > 0 records that follow the inspected ones. Returns how many violate the order;
 * the first is compared with the last key inspected. */
size_t inspect(inspected *seen, const layout *l, const unsigned char *recs, size_t n);

#endif
