/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What runs of records take, on disk and in memory. Pure. */
#ifndef HETSORT_SPILL_SPILL_SIZES_H
#define HETSORT_SPILL_SPILL_SIZES_H

#include "spill.h"

#include <stddef.h>
#include <stdint.h>

static inline uint64_t spill_round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/* spill_block_bytes - a multiple of the alignment and, if that is not too large, of the record. */
size_t spill_block_bytes(uint32_t record_bytes);

/* spill_layout_of - of a file that is not open (fd -1). */
spill_layout spill_layout_of(size_t block_bytes, uint32_t record_bytes, uint64_t recs);

/* spill_memory_bytes - what a run of so many records takes in memory; UINT64_MAX: more than there
 * can be. */
uint64_t spill_memory_bytes(uint64_t recs, uint32_t record_bytes);

/* spill_disk_recs - of recs in runs of run_recs, but for the last, those that are on disk where
 * memory_runs of the runs are not: the last one is in memory if any is. */
uint64_t spill_disk_recs(uint64_t recs, uint64_t runs, uint64_t run_recs, uint64_t memory_runs);

#endif
