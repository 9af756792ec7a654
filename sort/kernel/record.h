/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records, their entries, and the one total order (key, rank, position) that everything sorts by.
 * Pure: pointers and counts in, counts out. An entry stands for its record while sorting: it holds
 * the first 10 bytes of the key and the position, 16 bytes in all. */
#ifndef HETSORT_KERNEL_RECORD_H
#define HETSORT_KERNEL_RECORD_H

#include "base/layout.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PREFIX_BYTES = 10 }; /* of the key, held in an entry */

#define POS_BITS 48
#define POS_MASK ((UINT64_C(1) << POS_BITS) - 1)

typedef struct entry {
	uint64_t hi; /* key bytes 0-7, big-endian, missing ones 0 */
	uint64_t lo; /* key bytes 8-9 above POS_BITS, position below */
} entry;

/* The records that entries point into. */
typedef struct records {
	const unsigned char *base;
	layout lay;
	uint32_t rank; /* whose they are: the second part of the total order */
} records;

/* A key that travels between ranks, with its place in the total order; keys longer than an entry's
 * prefix have the rest in tail. */
typedef struct item {
	uint64_t hi, lo; /* as in entry */
	uint64_t rank;
	unsigned char tail[];
} item;

static inline uint64_t entry_pos(const entry *e)
{
	return e->lo & POS_MASK;
}

static inline uint32_t tail_bytes(const layout *l)
{
	return l->key_bytes > PREFIX_BYTES ? l->key_bytes - PREFIX_BYTES : 0;
}

/* item_bytes - size of an item of this layout, a multiple of 8 so that arrays stay aligned. */
static inline size_t item_bytes(const layout *l)
{
	return sizeof(item) + ((size_t)tail_bytes(l) + 7) / 8 * 8;
}

static inline const unsigned char *record_at(const records *r, uint64_t pos)
{
	return r->base + pos * r->lay.record_bytes;
}

/* record_copy - one record; the usual size as a constant, which the compiler copies with vectors.
 */
static inline void record_copy(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
	if (bytes == DEFAULT_RECORD_BYTES)
		memcpy(to, from, DEFAULT_RECORD_BYTES);
	else
		memcpy(to, from, bytes);
}

/* record_fetch - ask for the lines of a record that the hardware would not guess: a long one's
 * first two and its last. Inlined at once: gcc takes a function that does nothing else for one
 * without an effect, and drops the calls. */
static inline __attribute__((always_inline)) void record_fetch(const unsigned char *rec,
							       uint32_t bytes)
{
	enum { LINE_BYTES = 64 };
	__builtin_prefetch(rec);
	if (bytes > LINE_BYTES + 1)
		__builtin_prefetch(rec + LINE_BYTES);
	if (bytes > 1)
		__builtin_prefetch(rec + bytes - 1);
}

/* entry_make - the entry of the record at rec with position pos. */
static inline entry entry_make(const unsigned char *rec, const layout *l, uint64_t pos)
{
	unsigned char k[16] = { 0 };
	uint64_t hi, lo;
	const uint32_t n = l->key_bytes < PREFIX_BYTES ? l->key_bytes : PREFIX_BYTES;
	memcpy(k, rec + l->key_off, n);
	memcpy(&hi, k, 8);
	memcpy(&lo, k + 8, 8);
	return (entry){ be64toh(hi), (be64toh(lo) & ~POS_MASK) | pos };
}

/* The same for keys of 10 bytes: no zero filling, two loads. */
static inline entry entry_make10(const unsigned char *key, uint64_t pos)
{
	uint64_t hi;
	uint16_t lo;
	memcpy(&hi, key, 8);
	memcpy(&lo, key + 8, 2);
	return (entry){ be64toh(hi), (uint64_t)be16toh(lo) << POS_BITS | pos };
}

/* Order of two prefixes: hi, then the two key bytes in lo. */
static inline int prefix_cmp(uint64_t a_hi, uint64_t a_lo, uint64_t b_hi, uint64_t b_lo)
{
	if (a_hi != b_hi)
		return a_hi < b_hi ? -1 : 1;
	const uint64_t a = a_lo >> POS_BITS, b = b_lo >> POS_BITS;
	return (a > b) - (a < b);
}

static inline const unsigned char *record_tail(const records *r, uint64_t pos)
{
	return record_at(r, pos) + r->lay.key_off + PREFIX_BYTES;
}

/* item_of - the item of entry e of records r, into it (item_bytes() wide). */
static inline void item_of(item *it, const entry *e, const records *r)
{
	*it = (item){ .hi = e->hi, .lo = e->lo, .rank = r->rank };
	const uint32_t tail = tail_bytes(&r->lay);
	if (tail)
		memcpy(it->tail, record_tail(r, entry_pos(e)), tail);
}

static inline int place_cmp(uint64_t arank, uint64_t a_lo, uint64_t brank, uint64_t b_lo)
{
	if (arank != brank)
		return arank < brank ? -1 : 1;
	const uint64_t a = a_lo & POS_MASK, b = b_lo & POS_MASK;
	return (a > b) - (a < b);
}

/* entry_item_cmp - the total order between a local entry and an item of any rank. */
static inline int entry_item_cmp(const entry *e, const item *it, const records *r)
{
	int c = prefix_cmp(e->hi, e->lo, it->hi, it->lo);
	const uint32_t tail = tail_bytes(&r->lay);
	if (c == 0 && tail)
		c = memcmp(record_tail(r, entry_pos(e)), it->tail, tail);
	return c ? c : place_cmp(r->rank, e->lo, it->rank, it->lo);
}

/* entry_cmp - the same between two entries of one rank. */
static inline int entry_cmp(const entry *a, const entry *b, const records *r)
{
	int c = prefix_cmp(a->hi, a->lo, b->hi, b->lo);
	const uint32_t tail = tail_bytes(&r->lay);
	if (c == 0 && tail)
		c = memcmp(record_tail(r, entry_pos(a)), record_tail(r, entry_pos(b)), tail);
	return c ? c : place_cmp(0, a->lo, 0, b->lo);
}

static inline int item_cmp(const item *a, const item *b, const layout *l)
{
	int c = prefix_cmp(a->hi, a->lo, b->hi, b->lo);
	if (c == 0 && tail_bytes(l))
		c = memcmp(a->tail, b->tail, tail_bytes(l));
	return c ? c : place_cmp(a->rank, a->lo, b->rank, b->lo);
}

#endif
