/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking positions out of entries, and gathering by them. Pure; bound by memory latency, so records
 * are fetched ahead. */
#include "permutation.h"

void permutation_of(const entry *e, size_t n, void *pos, bool wide)
{
	uint32_t *narrow = pos;
	uint64_t *full = pos;
	for (size_t i = 0; i < n; i++) {
		if (wide)
			full[i] = entry_pos(&e[i]);
		else
			narrow[i] = (uint32_t)entry_pos(&e[i]);
	}
}

void permutation_gather(const permutation *p, uint64_t first, size_t n, size_t ahead,
			unsigned char *to)
{
	const uint32_t bytes = p->r.lay.record_bytes;
	const uint64_t end = first + n, known = end + ahead;
	for (uint64_t i = first; i < end && i < first + PERMUTATION_AHEAD; i++)
		permutation_fetch(p, i);
	for (uint64_t i = first; i < end; i++, to += bytes) {
		if (i + PERMUTATION_AHEAD < known)
			permutation_fetch(p, i + PERMUTATION_AHEAD);
		record_copy(to, permutation_record(p, i), bytes);
	}
}
