/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking positions out of numbers, and gathering by them. Pure; bound by memory latency, so records
 * are fetched ahead. */
#include "permutation.h"

void permutation_put(const permutation *p, uint64_t first, const uint64_t *number, size_t step,
		     uint64_t mask, size_t n)
{
	uint32_t *narrow = p->pos;
	uint64_t *wide = p->pos;
	for (size_t i = 0; i < n; i++) {
		if (p->wide)
			wide[first + i] = number[i * step] & mask;
		else
			narrow[first + i] = (uint32_t)(number[i * step] & mask);
	}
}

void permutation_gather(const permutation *p, uint64_t first, size_t n, size_t ahead,
			unsigned char *to)
{
	const uint32_t bytes = p->r.lay.record_bytes;
	const uint64_t end = first + n, known = end + ahead, distance = record_ahead(bytes);
	for (uint64_t i = first; i < end && i < first + distance; i++)
		permutation_fetch(p, i);
	for (uint64_t i = first; i < end; i++, to += bytes) {
		if (i + distance < known)
			permutation_fetch(p, i + distance);
		record_copy(to, permutation_record(p, i), bytes);
	}
}
