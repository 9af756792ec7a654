/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checksum of records. XXH3 is inlined: if the size is a constant, a record of 100 bytes takes
 * a few nanoseconds, half the time of a library call. This is a separate file, because the linker
 * of hetsim replaces calls, but only between files. Pure. */
#include "fold.h"
#include "key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline checksum checksum_of_size(const unsigned char *recs, size_t n, size_t bytes)
{
	/* How far ahead records are prefetched. The processor itself prefetches only up to the end
	 * of a page, and mapped files have pages of 4 KiB. Prefetching half a page ahead avoids
	 * waiting at the start of each page: 2 GB take 0.13 s instead of 0.30. */
	enum { AHEAD_BYTES = 2048 };
	unsigned __int128 sum = 0;
	for (size_t i = 0; i < n; i++, recs += bytes) {
		record_fetch(recs + AHEAD_BYTES, (uint32_t)bytes); /* any address is allowed */
		sum += XXH3_64bits(recs, bytes);
	}
	return (checksum){ (uint64_t)(sum >> 64), (uint64_t)sum, 0 };
}

/* Return the total of the fields that are added up. */
static uint64_t totals(const layout *l, const unsigned char *recs, size_t n)
{
	uint64_t total = 0;
	for (uint32_t i = 0; i < l->folds; i++) {
		const key_field *f = &l->fold[i];
		for (size_t k = 0; f->fold == FOLD_SUM && k < n; k++)
			total +=
				fold_factor(i) * (uint64_t)fold_load(f, recs + k * l->record_bytes);
	}
	return total;
}

checksum checksum_records(const layout *l, const unsigned char *recs, size_t n)
{
	checksum sum = l->record_bytes == DEFAULT_RECORD_BYTES
			       ? checksum_of_size(recs, n, DEFAULT_RECORD_BYTES)
			       : checksum_of_size(recs, n, l->record_bytes);
	sum.total = totals(l, recs, n);
	return sum;
}
