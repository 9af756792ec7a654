/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An order of records without their keys: only positions, of 4 bytes where they fit, else 8. It
 * takes a quarter of the memory of entries, or less. Pure. */
#ifndef HETSORT_KERNEL_PERMUTATION_H
#define HETSORT_KERNEL_PERMUTATION_H

#include "record.h"

typedef struct permutation {
	records r;
	void *pos; /* uint32_t or uint64_t, as wide says */
	bool wide;
} permutation;

/* permutation_width - bytes of a position among n records. */
static inline size_t permutation_width(uint64_t n)
{
	return n <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
}

static inline uint64_t permutation_position(const permutation *p, uint64_t i)
{
	return p->wide ? ((const uint64_t *)p->pos)[i] : ((const uint32_t *)p->pos)[i];
}

static inline const unsigned char *permutation_record(const permutation *p, uint64_t i)
{
	return record_at(&p->r, permutation_position(p, i));
}

static inline __attribute__((always_inline)) void permutation_fetch(const permutation *p,
								    uint64_t i)
{
	record_fetch(permutation_record(p, i), p->r.lay.record_bytes);
}

/* permutation_put - places [first, first + n) get the positions under mask of n numbers, one every
 * `step` words. */
void permutation_put(const permutation *p, uint64_t first, const uint64_t *number, size_t step,
		     uint64_t mask, size_t n);

/* permutation_gather - the records at places [first, first + n) to `to`, one after the other; ahead
 * as for gather(). */
void permutation_gather(const permutation *p, uint64_t first, size_t n, size_t ahead,
			unsigned char *to);

#endif
