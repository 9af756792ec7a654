/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records, their entries, and the one total order (key, rank, position) that everything sorts by.
 * Pure: pointers and counts in, counts out. An entry stands for its record while sorting: it holds
 * the prefix of the key and the position, 16 bytes in all. key.h has the order of keys. */
#ifndef HETSORT_KERNEL_RECORD_H
#define HETSORT_KERNEL_RECORD_H

#include "key.h"

#define POS_BITS KEY_PREFIX_FREE_BITS
#define POS_MASK ((UINT64_C(1) << POS_BITS) - 1)

typedef struct entry {
	uint64_t hi; /* first word of the key's prefix */
	uint64_t lo; /* second word above POS_BITS, position below */
} entry;

/* The records that entries point into. */
typedef struct records {
	const unsigned char *base;
	layout lay;
	uint32_t rank; /* that has them: the second part of the total order */
} records;

/* A key for other ranks, with its place in the total order. */
typedef struct item {
	uint64_t hi, lo; /* as in entry */
	uint64_t rank;
	unsigned char tail[]; /* of the key */
} item;

static inline uint64_t entry_pos(const entry *e)
{
	return e->lo & POS_MASK;
}

/* item_bytes - size of an item of this layout, a multiple of 8 so that arrays stay aligned. */
static inline size_t item_bytes(const layout *l)
{
	return sizeof(item) + ((size_t)key_tail_bytes(l) + 7) / 8 * 8;
}

static inline const unsigned char *record_at(const records *r, uint64_t pos)
{
	return r->base + pos * r->lay.record_bytes;
}

/* record_within - return one of `count` records, even if a bit of pos has flipped. */
static inline const unsigned char *record_within(const records *r, uint64_t count, uint64_t pos)
{
	return record_at(r, pos < count ? pos : 0);
}

/* record_copy - copy a record; the usual size is a constant, so that the compiler uses vectors. */
static inline void record_copy(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
	if (bytes == DEFAULT_RECORD_BYTES)
		memcpy(to, from, DEFAULT_RECORD_BYTES);
	else
		memcpy(to, from, bytes);
}

enum { RECORD_LINE_BYTES = 64, RECORD_FETCH_BYTES = 1024 };

/* record_fetch - fetch the lines of a record into the second cache; of a very long record only the
 * first ones, after which the processor fetches ahead by itself, and the last. The second cache can
 * wait for more lines at once than the first: records in random order take 0.46 s instead of 0.52
 * in pages of 2 MiB, and 0.62 instead of 0.75 in pages of 4 KiB. Always inlined, because gcc drops
 * calls of a function that only prefetches. */
static inline __attribute__((always_inline)) void record_fetch(const unsigned char *rec,
							       uint32_t bytes)
{
	enum { SECOND_CACHE = 2 };
	const uint32_t most = bytes < RECORD_FETCH_BYTES ? bytes : RECORD_FETCH_BYTES;
	for (uint32_t at = 0; at < most; at += RECORD_LINE_BYTES)
		__builtin_prefetch(rec + at, 0, SECOND_CACHE);
	if (bytes > 1)
		__builtin_prefetch(rec + bytes - 1, 0, SECOND_CACHE);
}

/* record_ahead - return how many records ahead of copying to fetch records in random order: few
 * enough for a first cache of 32 KB. Measured at 40 to 1,024 bytes: with half the number a sort
 * takes up to 25 % longer, with twice the number at most 5 % less. */
static inline size_t record_ahead(uint32_t bytes)
{
	enum { AHEAD_BYTES = 6400, LEAST = 4, MOST = 64 };
	const size_t n = AHEAD_BYTES / bytes;
	return n < LEAST ? LEAST : n > MOST ? MOST : n;
}

/* entry_make - return the entry of the record at rec with position pos. */
static inline entry entry_make(const unsigned char *rec, const layout *l, uint64_t pos)
{
	const key_prefix p = key_prefix_of(l, rec);
	return (entry){ p.hi, p.lo | pos };
}

/* entry_fits - return whether entry e matches the key of its record rec. */
static inline bool entry_fits(const entry *e, const unsigned char *rec, const layout *l)
{
	const key_prefix p = key_prefix_of(l, rec);
	return (e->hi == p.hi) & ((e->lo & ~POS_MASK) == p.lo);
}

/* item_of - set *it (item_bytes() wide) to the item of entry e of records r. */
static inline void item_of(item *it, const entry *e, const records *r)
{
	*it = (item){ .hi = e->hi, .lo = e->lo, .rank = r->rank };
	if (key_tail_bytes(&r->lay))
		key_tail_copy(&r->lay, it->tail, record_at(r, entry_pos(e)));
}

/* place_cmp - compare the places of equal keys: by rank, then by position. */
static inline int place_cmp(uint64_t arank, uint64_t a_lo, uint64_t brank, uint64_t b_lo)
{
	if (arank != brank)
		return arank < brank ? -1 : 1;
	const uint64_t a = a_lo & POS_MASK, b = b_lo & POS_MASK;
	return (a > b) - (a < b);
}

/* entry_key_cmp - compare the keys of two entries of r, without their positions. */
static inline int entry_key_cmp(const entry *a, const entry *b, const records *r)
{
	const int c = key_prefix_compare(a->hi, a->lo, b->hi, b->lo);
	if (c || !key_tail_bytes(&r->lay))
		return c;
	return key_tail_compare(&r->lay, record_at(r, entry_pos(a)), record_at(r, entry_pos(b)));
}

/* entry_item_key_cmp - compare the keys of an entry of r and an item, without their places. */
static inline int entry_item_key_cmp(const entry *e, const item *it, const records *r)
{
	const int c = key_prefix_compare(e->hi, e->lo, it->hi, it->lo);
	if (c || !key_tail_bytes(&r->lay))
		return c;
	return key_tail_compare_copy(&r->lay, record_at(r, entry_pos(e)), it->tail);
}

/* entry_cmp - compare two entries of one rank in the total order. */
static inline int entry_cmp(const entry *a, const entry *b, const records *r)
{
	const int c = entry_key_cmp(a, b, r);
	return c ? c : place_cmp(0, a->lo, 0, b->lo);
}

/* entry_item_cmp - compare a local entry and an item of any rank in the total order. */
static inline int entry_item_cmp(const entry *e, const item *it, const records *r)
{
	const int c = entry_item_key_cmp(e, it, r);
	return c ? c : place_cmp(r->rank, e->lo, it->rank, it->lo);
}

/* item_cmp - compare two items in the total order. */
static inline int item_cmp(const item *a, const item *b, const layout *l)
{
	int c = key_prefix_compare(a->hi, a->lo, b->hi, b->lo);
	if (c == 0 && key_tail_bytes(l))
		c = memcmp(a->tail, b->tail, key_tail_bytes(l));
	return c ? c : place_cmp(a->rank, a->lo, b->rank, b->lo);
}

/* item_order - item_cmp for qsort_r() of pointers to items, or of structures that begin with such a
 * pointer; lay: their layout. */
static inline int item_order(const void *a, const void *b, void *lay)
{
	return item_cmp(*(const item *const *)a, *(const item *const *)b, lay);
}

#endif
