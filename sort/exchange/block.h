/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The header of a block of records, by which the receiver checks that the block is the expected one
 * and undamaged. Also the division of memory into windows of a few blocks. */
#ifndef HETSORT_EXCHANGE_BLOCK_H
#define HETSORT_EXCHANGE_BLOCK_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Precedes the records. Ranks have compared byte order and layouts, so it is sent as it is. */
typedef struct block_header {
	uint32_t magic;
	int32_t from, to;
	uint32_t record_bytes;
	uint64_t block, records;
	uint64_t sum; /* XXH3 of the records, then of the fields above */
} block_header;

/* block_for - make the header of a block of n records, without magic and sum. */
static inline block_header block_for(int from, int to, size_t record_bytes, uint64_t block,
				     size_t n)
{
	return (block_header){ .from = from,
			       .to = to,
			       .record_bytes = (uint32_t)record_bytes,
			       .block = block,
			       .records = n };
}

/* block_bytes - return the size of a block with its header, rounded up to whole words. */
static inline size_t block_bytes(size_t record_bytes, size_t n)
{
	return (sizeof(block_header) + n * record_bytes + 7) / 8 * 8;
}

/* block_records - return the number of records in block k of a stream of `total` records. All
 * blocks have `full` records, except that the last one may have fewer. */
static inline size_t block_records(uint64_t total, size_t full, uint64_t k)
{
	return total - k * full < full ? (size_t)(total - k * full) : full;
}

/* block_count - return the number of blocks for `total` records. */
static inline uint64_t block_count(uint64_t total, size_t full)
{
	return total / full + (total % full != 0);
}

/* block_stamp - set magic and sum. The other fields are set already, and the records follow h. */
void block_stamp(block_header *h);

/* How a block is checked. */
typedef struct block_rule {
	bool in_place; /* it was not moved, so it has no magic and sum */
	bool shorter;  /* it may have fewer records */
} block_rule;

/* block_check - check that a block which has arrived is the expected one and undamaged; h has room
 * for wanted->records. `wanted` has no magic and sum. ST_PEER names block and ranks. */
status block_check(const block_header *h, const block_header *wanted, block_rule rule, err *e);

/* hash_long - return the XXH3 of many bytes, by the widest vectors of this processor. The result
 * does not depend on the vectors. The vectors of every x86-64 processor take two to four times as
 * long. xxHash chooses them when it is compiled, so hash_avx2 and hash_avx512 have their own
 * files. */
uint64_t hash_long(const void *p, size_t bytes);

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#	define HASH_WIDE 1
uint64_t hash_avx2(const void *p, size_t bytes);
uint64_t hash_avx512(const void *p, size_t bytes);
#else
#	define HASH_WIDE 0
#endif

/* The shape of the windows of an exchange: the same on all ranks. */
typedef struct windows {
	size_t blocks;     /* of a window; each rank has a window to each other rank, and, unless
			    * inside, one from it */
	size_t block_recs; /* records of a block, at least 1 */
} windows;

/* windows_divide - divide windows_bytes among all windows of a rank; `total`: the records of all
 * ranks. inside: all ranks are in one process, so a rank reads blocks in the windows of the others.
 * With many ranks, windows have fewer blocks, so that blocks stay long. */
windows windows_divide(size_t windows_bytes, size_t record_bytes, int ranks, bool inside,
		       uint64_t total);

#endif
