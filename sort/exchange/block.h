/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The header before the records of a block between ranks. By it the receiver checks that the block
 * is the expected one and undamaged. Also the division of memory into windows of blocks. */
#ifndef HETSORT_EXCHANGE_BLOCK_H
#define HETSORT_EXCHANGE_BLOCK_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Ranks have compared their byte order and layouts, so it is sent as it is. */
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

/* block_records - return the number of records in block k of `total`; only the last is not full. */
static inline size_t block_records(uint64_t total, size_t full, uint64_t k)
{
	return total - k * full < full ? (size_t)(total - k * full) : full;
}

/* block_count - return the number of blocks of `total` records. */
static inline uint64_t block_count(uint64_t total, size_t full)
{
	return total / full + (total % full != 0);
}

/* block_stamp - fill in magic and sum. The other fields are set, and the records follow h. */
void block_stamp(block_header *h);

/* block_check - check that a block which has arrived, with room for wanted->records, is the
 * expected one and undamaged. `wanted` has no magic and sum. ST_PEER names block and ranks. */
status block_check(const block_header *h, const block_header *wanted, err *e);

/* hash_long - return the XXH3 of many bytes, by the widest vectors of this processor; the result is
 * the same by all of them. The vectors that every x86-64 processor has take two to four times as
 * long. gcc compiles whole files for wider ones: hash_avx2 and hash_avx512. */
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
	size_t blocks;     /* of each window, which is to one rank or from one */
	size_t block_recs; /* at least 1 */
} windows;

/* windows_divide - divide the memory for all windows of a rank, for `total` records of all ranks.
 * Among many ranks windows have fewer blocks, so that blocks stay long. */
windows windows_divide(size_t windows_bytes, size_t record_bytes, int ranks, uint64_t total);

#endif
