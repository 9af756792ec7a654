/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goes before the records of a block between ranks, so that the receiver can tell that it is
 * the block that it waits for, and whole. */
#ifndef HETSORT_EXCHANGE_BLOCK_H
#define HETSORT_EXCHANGE_BLOCK_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Ranks are alike (they have compared themselves), so it travels as it is. */
typedef struct block_header {
	uint32_t magic;
	int32_t from, to;
	uint32_t record_bytes;
	uint64_t block, records;
	uint64_t sum; /* XXH3 of the records, then of the fields above */
} block_header;

/* block_for - the header of a block of n records, without magic and sum. */
static inline block_header block_for(int from, int to, size_t record_bytes, uint64_t block,
				     size_t n)
{
	return (block_header){ .from = from,
			       .to = to,
			       .record_bytes = (uint32_t)record_bytes,
			       .block = block,
			       .records = n };
}

/* block_bytes - of a block of n records with its header; what follows it is aligned again. */
static inline size_t block_bytes(size_t record_bytes, size_t n)
{
	return (sizeof(block_header) + n * record_bytes + 7) / 8 * 8;
}

/* block_records - records in block k of a stream of `total`; all blocks but the last are full. */
static inline size_t block_records(uint64_t total, size_t full, uint64_t k)
{
	return total - k * full < full ? (size_t)(total - k * full) : full;
}

/* block_count - the number of blocks in a stream of `total` records. */
static inline uint64_t block_count(uint64_t total, size_t full)
{
	return total / full + (total % full != 0);
}

/* block_stamp - fill in magic and sum; the other fields are set, the records follow h. */
void block_stamp(block_header *h);

/* block_check - is h, which has arrived with room for wanted->records, what was wanted (all fields
 * but magic and sum), and whole? ST_PEER, naming block and ranks, if not. */
status block_check(const block_header *h, const block_header *wanted, err *e);

/* hash_long - XXH3 of many bytes, by the widest vectors that this processor has: the same number by
 * all of them. The compiler's own choice, which every x86-64 processor must be able to run, takes
 * two to four times as long. gcc compiles a file for other processors than the rest: hash_avx2 and
 * hash_avx512 are for processors that have them. */
uint64_t hash_long(const void *p, size_t bytes);

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#	define HASH_WIDE 1
uint64_t hash_avx2(const void *p, size_t bytes);
uint64_t hash_avx512(const void *p, size_t bytes);
#else
#	define HASH_WIDE 0
#endif

/* How the memory for the windows of an exchange is divided: the same on all ranks. */
typedef struct windows {
	size_t blocks;     /* of each window: to one rank, or from one */
	size_t block_recs; /* at least 1 */
} windows;

/* windows_divide - so many bytes for all windows of a rank together, of so many records of all
 * ranks. Among many ranks windows have fewer blocks, so that these stay long. */
windows windows_divide(size_t budget_bytes, size_t record_bytes, int ranks, uint64_t total);

#endif
