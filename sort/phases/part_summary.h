/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank says of its part of the output when it is complete. Pure. */
#ifndef HETSORT_PHASES_PART_SUMMARY_H
#define HETSORT_PHASES_PART_SUMMARY_H

#include "kernel/checksum.h"
#include "kernel/record.h"

#include <string.h>

/* Followed by the first and the last key, zeros where there is no record. */
typedef struct part_summary {
	uint64_t in, out;
	checksum sum_in, sum_out;
} part_summary;

static inline size_t part_summary_bytes(const layout *l)
{
	return sizeof(part_summary) + 2 * (((size_t)l->key_bytes + 7) / 8 * 8);
}

/* part_summary_at - that of a rank, among those of all; *first_key receives where its keys begin.
 */
static inline part_summary part_summary_at(const unsigned char *all, int rank, const layout *l,
					   const unsigned char **first_key)
{
	const unsigned char *at = all + (size_t)rank * part_summary_bytes(l);
	part_summary c;
	memcpy(&c, at, sizeof c);
	*first_key = at + sizeof c;
	return c;
}

#endif
