/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sealing and checking blocks. Pure; reads the records once, while they are in the cache. */
#include "block.h"
#include "base/size.h"
#include "hash_long.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint32_t MAGIC = UINT32_C(0x48534231); /* "HSB1" */

/* Of the records, whose number the caller knows, and of the fields. */
static uint64_t sum_of(const block_header *h, uint64_t bytes)
{
	const uint64_t records = hash_long(h + 1, bytes);
	return XXH3_64bits_withSeed(h, offsetof(block_header, sum), records);
}

void block_stamp(block_header *h)
{
	h->magic = MAGIC;
	h->sum = sum_of(h, h->records * h->record_bytes);
}

static bool same_fields(const block_header *a, const block_header *b)
{
	return a->from == b->from && a->to == b->to && a->record_bytes == b->record_bytes &&
	       a->block == b->block && a->records == b->records;
}

status block_check(const block_header *h, const block_header *wanted, err *e)
{
	if (h->magic != MAGIC || !same_fields(h, wanted))
		return err_set(e, ST_PEER,
			       "what came from rank %" PRId32 " is not block %" PRIu64
			       " of %" PRIu64 " record%s",
			       wanted->from, wanted->block, wanted->records,
			       plural(wanted->records));
	if (h->sum != sum_of(h, wanted->records * wanted->record_bytes))
		return err_set(e, ST_PEER,
			       "block %" PRIu64 " from rank %" PRId32 " to rank %" PRId32
			       " came damaged: its checksum is not what it was when it was sent",
			       wanted->block, wanted->from, wanted->to);
	return ST_OK;
}
