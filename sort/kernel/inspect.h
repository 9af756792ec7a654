/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inspection of records before they are written or sent: order, number and checksum. The checksum
 * does not depend on the order of records: it is the sum, modulo 2^128, of their XXH3-64 hashes.
 * With an exclusive or instead, equal records would cancel each other. Pure. */
#ifndef HETSORT_KERNEL_INSPECT_H
#define HETSORT_KERNEL_INSPECT_H

#include "base/layout.h"

#include <stddef.h>

#define CHECKSUM_NAME "sum of XXH3-64 of the records, modulo 2^128"

typedef struct checksum {
	uint64_t hi, lo;
	uint64_t total; /* of the fields that --sum adds up, modulo 2^64, each with a factor */
} checksum;

static inline checksum checksum_join(checksum a, checksum b)
{
	a.lo += b.lo;
	a.hi += b.hi + (a.lo < b.lo);
	a.total += b.total;
	return a;
}

/* checksum_equal - compare the hashes; totals are compared only by phase_verify. */
static inline bool checksum_equal(checksum a, checksum b)
{
	return a.hi == b.hi && a.lo == b.lo;
}

/* checksum_without - return the checksum of the records in a that are not in b. */
static inline checksum checksum_without(checksum a, checksum b)
{
	return (checksum){ a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo, a.total - b.total };
}

/* checksum_records - return the checksum of n records. */
checksum checksum_records(const layout *l, const unsigned char *recs, size_t n);

typedef enum inspect_order {
	INSPECT_SORTED,
	INSPECT_STRICT, /* sorted, and no two records have the same key */
	INSPECT_ANY,
} inspect_order;

/* The records inspected so far. */
typedef struct inspected {
	uint64_t records;
	checksum sum;
	checksum written; /* of the parts of the records that are written; 0: all of each */
	/* key_bytes each, valid if records > 0; with INSPECT_ANY the smallest and the greatest, or
	 * NULL */
	unsigned char *first_key, *last_key;
	inspect_order order;
} inspected;

/* inspect_unordered - count the records, of n, whose key is smaller than the key before it. */
size_t inspect_unordered(const layout *l, const unsigned char *recs, size_t n);

/* inspect - add n > 0 records that follow the inspected ones. Return how many violate the order;
 * the first is compared with the last key inspected. */
size_t inspect(inspected *seen, const layout *l, const unsigned char *recs, size_t n);

/* inspected_join - add inspected records that follow the others. Return false if the first of them
 * violates the order. Not with INSPECT_ANY. */
bool inspected_join(inspected *seen, const layout *l, const inspected *next);

#endif
