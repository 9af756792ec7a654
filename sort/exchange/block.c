/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stamping or checking a block reads its records once, while they are in the cache. Pure. */
#include "block.h"
#include "base/arith.h"
#include "base/cpu.h"
#include "base/size.h"

#include <inttypes.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint32_t MAGIC = UINT32_C(0x48534231); /* "HSB1" */

uint64_t hash_long(const void *p, size_t bytes)
{
#if HASH_WIDE
	if (CPU_HAS_AVX512())
		return hash_avx512(p, bytes);
	if (CPU_HAS_AVX2())
		return hash_avx2(p, bytes);
#endif
	return XXH3_64bits(p, bytes);
}

/* Hash the records, `bytes` bytes, and the fields. */
static uint64_t block_sum(const block_header *h, uint64_t bytes)
{
	const uint64_t records = hash_long(h + 1, bytes);
	return XXH3_64bits_withSeed(h, offsetof(block_header, sum), records);
}

void block_stamp(block_header *h)
{
	h->magic = MAGIC;
	h->sum = block_sum(h, h->records * h->record_bytes);
}

status block_check(const block_header *h, const block_header *wanted, block_rule rule, err *e)
{
	if ((!rule.in_place && h->magic != MAGIC) || h->from != wanted->from ||
	    h->to != wanted->to || h->record_bytes != wanted->record_bytes ||
	    h->block != wanted->block || h->records > wanted->records ||
	    (!rule.shorter && h->records < wanted->records))
		return err_set(e, ST_PEER,
			       "the block from rank %" PRId32 " is not block %" PRIu64
			       " of %" PRIu64 " record%s",
			       wanted->from, wanted->block, wanted->records,
			       plural(wanted->records));
	if (!rule.in_place && h->sum != block_sum(h, h->records * h->record_bytes))
		return err_set(e, ST_PEER,
			       "block %" PRIu64 " from rank %" PRId32 " to rank %" PRId32
			       " came damaged: its checksum is not what it was when it was sent",
			       wanted->block, wanted->from, wanted->to);
	return ST_OK;
}

/* --------------------------------------------------------------------------------- windows
 *
 * A window has four blocks, or fewer if four would be short. It has a single block only if two
 * would be very short. While the reader uses a single block, no other block can arrive, so the
 * merge waits for each block of each rank. */

enum {
	MOST_WINDOW = 4,
	LEAST_SLOTS = 8,             /* in each direction; with fewer, blocks may be short */
	GOOD_BLOCK_BYTES = 64 << 10, /* longer blocks hardly save time */
	LEAST_BLOCK_BYTES = 8 << 10, /* shorter blocks cost more than the wait for longer ones */
	MAX_BLOCK_BYTES = 256 << 10  /* a window stays in the cache */
};

static size_t slots_of(size_t window, size_t ranks, bool inside)
{
	return (inside ? 1 : 2) * window * (ranks - 1) + 1;
}

/* Make all slots equal, within the budget, and no larger than all the records. */
windows windows_divide(size_t windows_bytes, size_t record_bytes, int ranks, bool inside,
		       uint64_t total)
{
	const size_t p = (size_t)ranks;
	size_t blocks = MOST_WINDOW; /* the most blocks that are long enough */
	while (blocks > 1 && (blocks - 1) * (p - 1) >= LEAST_SLOTS &&
	       windows_bytes / slots_of(blocks, p, inside) <
		       (blocks > 2 ? GOOD_BLOCK_BYTES : LEAST_BLOCK_BYTES))
		blocks--;
	const size_t bytes = size_min(windows_bytes / slots_of(blocks, p, inside), MAX_BLOCK_BYTES);
	const size_t recs = bytes > record_bytes + sizeof(block_header)
				    ? (bytes - sizeof(block_header)) / record_bytes
				    : 1;
	return (windows){ blocks, total ? (size_t)u64_min(recs, total) : 1 };
}
