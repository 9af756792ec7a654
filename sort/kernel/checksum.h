/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Order-free checksum of records: the sum, modulo 2^128, of the XXH3-64 hash of each. A sum,
 * because a pair of equal records must not cancel out. Pure. */
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

/* checksum_without - of what a has, and b does not. */
static inline checksum checksum_without(checksum a, checksum b)
{
	return (checksum){ a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo };
}

/* checksum_records - of n records of bytes each. */
checksum checksum_records(const unsigned char *recs, size_t n, size_t bytes);

#endif
