/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What runs take, on disk and in memory. Pure. */
#include "spill_sizes.h"
#include "base/minmax.h"

static size_t gcd(size_t a, size_t b)
{
	return b ? gcd(b, a % b) : a;
}

size_t spill_block_bytes(uint32_t record_bytes)
{
	const size_t both = SPILL_ALIGN / gcd(SPILL_ALIGN, record_bytes) * record_bytes;
	if (both > SPILL_MOST_BLOCK_BYTES)
		return SPILL_BLOCK_BYTES;
	return both > SPILL_BLOCK_BYTES ? both : SPILL_BLOCK_BYTES / both * both;
}

uint64_t spill_memory_bytes(uint64_t recs, uint32_t record_bytes)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(recs, record_bytes, &bytes) || bytes > INT64_MAX)
		return UINT64_MAX;
	return spill_round_up(bytes, SPILL_ALIGN);
}

uint64_t spill_disk_recs(uint64_t recs, uint64_t runs, uint64_t run_recs, uint64_t memory_runs)
{
	const uint64_t before = runs ? (runs - 1) * run_recs : 0;
	const uint64_t last = recs > before ? u64_min(recs - before, run_recs) : 0;
	return memory_runs ? recs - u64_min(recs, (memory_runs - 1) * run_recs + last) : recs;
}

spill_layout spill_layout_of(size_t block_bytes, uint32_t record_bytes, uint64_t recs)
{
	const uint64_t bytes = spill_round_up(recs * record_bytes, SPILL_ALIGN);
	return (spill_layout){ .fd = -1,
			       .end = bytes,
			       .block_bytes = block_bytes,
			       .blocks = (size_t)((bytes + block_bytes - 1) / block_bytes) };
}
