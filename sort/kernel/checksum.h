/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checksum of records that does not depend on their order: the sum, modulo 2^128, of the XXH3-64
 * hashes. It is a sum because equal records must not cancel each other. Pure. */
#ifndef HETSORT_KERNEL_CHECKSUM_H
#define HETSORT_KERNEL_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_NAME "sum of XXH3-64 of the records, modulo 2^128"

typedef struct checksum {
	uint64_t hi, lo;
} checksum;

static inline checksum checksum_join(checksum a, checksum b)
{
	a.lo += b.lo;
	a.hi += b.hi + (a.lo < b.lo);
	return a;
}

static inline bool checksum_equal(checksum a, checksum b)
{
	return a.hi == b.hi && a.lo == b.lo;
}

/* checksum_without - return the checksum of the records in a that are not in b. */
static inline checksum checksum_without(checksum a, checksum b)
{
	return (checksum){ a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo };
}

/* checksum_records - return the checksum of n records of `bytes` bytes each. */
checksum checksum_records(const unsigned char *recs, size_t n, size_t bytes);

#endif
