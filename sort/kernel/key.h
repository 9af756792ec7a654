/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys, records and entries, and the only definition of their order.
 *
 * The normal form of a key has key_bytes bytes, which memcmp() orders. Without fields it is the key
 * in the record. With fields, it consists of the fields, one after the other. Numbers have the most
 * significant byte first, and negative numbers are below positive ones. Descending fields are
 * complemented. Floats are in the order -NaN, -inf, -0, +0, +inf, +NaN.
 *
 * Sorting treats parts of the normal form as numbers of the same order. The prefix is the first 10
 * bytes, which entries, items and heads contain. The tail is the rest. A window is 8 bytes from any
 * place. Functions take records unless they name copies, made by key_copy.
 *
 * The total order of records is (key, rank, position). While sorting, an entry of 16 bytes stands
 * for its record: it has the prefix of the key and the position. Pure. */
#ifndef HETSORT_KERNEL_KEY_H
#define HETSORT_KERNEL_KEY_H

#include "base/layout.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	KEY_PREFIX_BYTES = 10,
	KEY_PREFIX_FREE_BITS = 48, /* low bits of the prefix's second word */
	KEY_WINDOW_BYTES = 8,
};

/* ------------------------------------------------------------------------------ whole keys */

/* key_at - return the begin of a record's key, or of its first field. */
static inline const unsigned char *key_at(const layout *l, const unsigned char *rec)
{
	return rec + l->key_off;
}

/* key_of_fields - copy bytes [from, to) of the normal form to out. */
void key_of_fields(const layout *l, const unsigned char *rec, uint32_t from, uint32_t to,
		   unsigned char *out);

/* key_compare_fields - compare keys of fields, as key_compare does. */
int key_compare_fields(const layout *l, const unsigned char *a, const unsigned char *b)
	__attribute__((pure));

/* key_compare - return below 0, 0 or above 0 if record a sorts before, equal to or after b. */
static inline int key_compare(const layout *l, const unsigned char *a, const unsigned char *b)
{
	if (__builtin_expect(l->fields > 0, 0))
		return key_compare_fields(l, a, b);
	return memcmp(key_at(l, a), key_at(l, b), l->key_bytes);
}

/* key_copy - copy the normal form of a record's key to `to`, which has key_bytes bytes. */
static inline void key_copy(const layout *l, unsigned char *to, const unsigned char *rec)
{
	if (__builtin_expect(l->fields > 0, 0))
		key_of_fields(l, rec, 0, l->key_bytes, to);
	else
		memcpy(to, key_at(l, rec), l->key_bytes);
}

/* key_copies_compare - compare two copies. */
static inline int key_copies_compare(const layout *l, const unsigned char *a,
				     const unsigned char *b)
{
	return memcmp(a, b, l->key_bytes);
}

/* key_part - return bytes [from, to) of a record's normal form, in the record or in `room`. */
static inline const unsigned char *key_part(const layout *l, const unsigned char *rec,
					    uint32_t from, uint32_t to,
					    unsigned char room[KEY_FIELDS_BYTES_MAX])
{
	if (__builtin_expect(l->fields > 0, 0)) {
		key_of_fields(l, rec, from, to, room);
		return room;
	}
	return key_at(l, rec) + from;
}

/* key_copy_compare - compare a copy and a record. */
static inline int key_copy_compare(const layout *l, const unsigned char *copy,
				   const unsigned char *rec)
{
	unsigned char room[KEY_FIELDS_BYTES_MAX];
	return memcmp(copy, key_part(l, rec, 0, l->key_bytes, room), l->key_bytes);
}

/* key_shared_bytes - return the length of the common begin of the normal forms of a and b. */
uint32_t key_shared_bytes(const layout *l, const unsigned char *a, const unsigned char *b);

/* key_part_compare - compare only bytes [from, to). */
static inline int key_part_compare(const layout *l, const unsigned char *a, const unsigned char *b,
				   uint32_t from, uint32_t to)
{
	unsigned char room[2][KEY_FIELDS_BYTES_MAX];
	return memcmp(key_part(l, a, from, to, room[0]), key_part(l, b, from, to, room[1]),
		      to - from);
}

enum { KEY_VALUE_TEXT_BYTES = 32 };

/* key_value_text - convert the normal form of a field that is a number to text. A float gets enough
 * digits to be unique. */
void key_value_text(const key_field *f, const unsigned char *normal,
		    char text[KEY_VALUE_TEXT_BYTES]);

/* key_greatest - set the key of a record to the greatest key. */
void key_greatest(const layout *l, unsigned char *rec);

/* ------------------------------------------------------------------------ a number in front */

/* key_lead_read - return the normal form of a number, in the upper bits. */
static inline uint64_t key_lead_read(const key_lead *n, const unsigned char *rec)
{
	uint64_t v;
	memcpy(&v, rec + n->at, sizeof v);
	v = (n->little ? le64toh(v) : be64toh(v)) >> n->down << n->up;
	return v ^ (-(v >> 63) & n->negative) ^ n->flip;
}

/* key_lead_raw - return the 8 bytes from which key_lead_read makes v. */
static inline uint64_t key_lead_raw(const key_lead *n, uint64_t v)
{
	v ^= n->flip;
	v ^= -(v >> 63) & n->negative;
	return n->little ? htole64(v) : htobe64(v);
}

/* -------------------------------------------------------------------------- prefix and tail */

/* The first KEY_PREFIX_BYTES of a key. A shorter key is filled up with zeros. This does not change
 * the order, because all keys have one length. */
typedef struct key_prefix {
	uint64_t hi; /* bytes 0-7, the first on top */
	uint64_t lo; /* bytes 8-9 above KEY_PREFIX_FREE_BITS, which are 0 */
} key_prefix;

/* key_prefix_read - return the prefix of a key of at least KEY_PREFIX_BYTES bytes. */
static inline key_prefix key_prefix_read(const unsigned char *key)
{
	uint64_t hi;
	uint16_t lo;
	memcpy(&hi, key, sizeof hi);
	memcpy(&lo, key + sizeof hi, sizeof lo);
	return (key_prefix){ be64toh(hi), (uint64_t)be16toh(lo) << KEY_PREFIX_FREE_BITS };
}

/* key_prefix_of_other - return the prefix of a key of fields, or of a key so near the end of the
 * record that key_prefix_read would read beyond it. */
key_prefix key_prefix_of_other(const layout *l, const unsigned char *rec) __attribute__((pure));

/* key_prefix_cut - clear the bytes of a prefix p after the end of a shorter key. */
static inline key_prefix key_prefix_cut(const layout *l, key_prefix p)
{
	const unsigned over = 8 * (KEY_PREFIX_BYTES - l->key_bytes), hi = over > 16 ? over - 16 : 0;
	const unsigned lo = KEY_PREFIX_FREE_BITS + (over < 16 ? over : 15);
	return (key_prefix){ p.hi >> hi << hi, over < 16 ? p.lo >> lo << lo : 0 };
}

/* key_prefix_of - return the prefix of a record's key. */
static inline key_prefix key_prefix_of(const layout *l, const unsigned char *rec)
{
	if (__builtin_expect((l->key_off + KEY_PREFIX_BYTES > l->record_bytes) | (l->fields > 0),
			     0))
		return key_prefix_of_other(l, rec);
	const key_prefix p = key_prefix_read(key_at(l, rec));
	return l->key_bytes < KEY_PREFIX_BYTES ? key_prefix_cut(l, p) : p;
}

/* key_prefix_compare - compare two prefixes without their free bits. */
static inline int key_prefix_compare(uint64_t a_hi, uint64_t a_lo, uint64_t b_hi, uint64_t b_lo)
{
	if (a_hi != b_hi)
		return a_hi < b_hi ? -1 : 1;
	const uint64_t a = a_lo >> KEY_PREFIX_FREE_BITS, b = b_lo >> KEY_PREFIX_FREE_BITS;
	return (a > b) - (a < b);
}

/* key_tail_bytes - return the length of a key after its prefix. */
static inline uint32_t key_tail_bytes(const layout *l)
{
	return l->key_bytes > KEY_PREFIX_BYTES ? l->key_bytes - KEY_PREFIX_BYTES : 0;
}

/* key_tail_compare - compare two records with equal prefixes. */
static inline int key_tail_compare(const layout *l, const unsigned char *a, const unsigned char *b)
{
	if (__builtin_expect(l->fields > 0, 0))
		return key_compare_fields(l, a, b);
	return memcmp(key_at(l, a) + KEY_PREFIX_BYTES, key_at(l, b) + KEY_PREFIX_BYTES,
		      key_tail_bytes(l));
}

/* key_tail_copy - copy the tail of a record's key to `to`, which has key_tail_bytes (above 0). */
static inline void key_tail_copy(const layout *l, unsigned char *to, const unsigned char *rec)
{
	if (__builtin_expect(l->fields > 0, 0))
		key_of_fields(l, rec, KEY_PREFIX_BYTES, l->key_bytes, to);
	else
		memcpy(to, key_at(l, rec) + KEY_PREFIX_BYTES, key_tail_bytes(l));
}

/* key_tail_compare_copy - compare the tail of a record's key, above 0 bytes, with a copy. */
static inline int key_tail_compare_copy(const layout *l, const unsigned char *rec,
					const unsigned char *copy)
{
	unsigned char room[KEY_FIELDS_BYTES_MAX];
	return memcmp(key_part(l, rec, KEY_PREFIX_BYTES, l->key_bytes, room), copy,
		      key_tail_bytes(l));
}

/* --------------------------------------------------------------------------------- windows */

/* A window is some bytes of a key as a number. They are read from 8 bytes of the record, or from
 * the number in front, shifted up past the bytes before the window, and masked. They are collected
 * byte by byte if they belong to several fields or to a field of bytes, or if the record is
 * shorter. */
typedef enum window_kind { WINDOW_RECORD, WINDOW_LEAD, WINDOW_FIELDS } window_kind;

typedef struct key_window {
	window_kind of;
	uint32_t at; /* place in the record; with fields, in the key */
	unsigned up;
	uint32_t bytes;
	uint64_t keep;
} key_window;

/* key_window_at - return the window of `bytes` (0 to KEY_WINDOW_BYTES) of the key from byte `from`
 * on. It never reads outside the record. */
key_window key_window_at(const layout *l, uint32_t from, uint32_t bytes);

/* key_window_of_fields - read a window byte by byte. */
uint64_t key_window_of_fields(const layout *l, const key_window *w, const unsigned char *rec);

/* key_window_read_as - read a window of this kind, which is a constant in loops. */
static inline __attribute__((always_inline)) uint64_t
key_window_read_as(window_kind of, const layout *l, const key_window *w, const unsigned char *rec)
{
	uint64_t v;
	if (of == WINDOW_FIELDS)
		return key_window_of_fields(l, w, rec);
	if (of == WINDOW_LEAD)
		return key_lead_read(&l->number[0], rec) << w->up & w->keep;
	memcpy(&v, rec + w->at, sizeof v);
	return be64toh(v) << w->up & w->keep;
}

static inline uint64_t key_window_read(const layout *l, const key_window *w,
				       const unsigned char *rec)
{
	return key_window_read_as(w->of, l, w, rec);
}

/* WITH_WINDOW - call f, an inlined loop, with the kind of a window as its last argument, a
 * constant.
 */
#define WITH_WINDOW(of, f, ...)                                \
	((of) == WINDOW_RECORD ? f(__VA_ARGS__, WINDOW_RECORD) \
	 : (of) == WINDOW_LEAD ? f(__VA_ARGS__, WINDOW_LEAD)   \
			       : f(__VA_ARGS__, WINDOW_FIELDS))

/* ------------------------------------------------------------------ records, entries, items */

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
	uint32_t rank; /* that has the records: the second part of the total order */
} records;

/* A key with its place in the total order, as it is sent to other ranks. */
typedef struct item {
	uint64_t hi, lo; /* as in entry */
	uint64_t rank;
	unsigned char tail[]; /* of the key */
} item;

static inline uint64_t entry_pos(const entry *e)
{
	return e->lo & POS_MASK;
}

/* item_bytes - return the size of an item, a multiple of 8 so that arrays stay aligned. */
static inline size_t item_bytes(const layout *l)
{
	return sizeof(item) + ((size_t)key_tail_bytes(l) + 7) / 8 * 8;
}

static inline const unsigned char *record_at(const records *r, uint64_t pos)
{
	return r->base + pos * r->lay.record_bytes;
}

/* record_within - return one of `count` records, even if a bit of pos was flipped in memory. */
static inline const unsigned char *record_within(const records *r, uint64_t count, uint64_t pos)
{
	return record_at(r, pos < count ? pos : 0);
}

/* record_copy - copy a record. The usual size is a constant, so that the compiler uses vectors. */
static inline void record_copy(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
	if (bytes == DEFAULT_RECORD_BYTES)
		memcpy(to, from, DEFAULT_RECORD_BYTES);
	else
		memcpy(to, from, bytes);
}

enum { RECORD_LINE_BYTES = 64, RECORD_FETCH_BYTES = 1024 };

/* record_fetch - fetch the lines of a record into the second cache. Of a very long record, fetch
 * only the first lines, after which the processor fetches ahead by itself, and the last. The second
 * cache can wait for more lines at once than the first. So records in random order take 0.46 s
 * instead of 0.52 in pages of 2 MiB, and 0.62 instead of 0.75 in pages of 4 KiB. Always inlined,
 * because gcc drops calls of a function that only prefetches. */
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

/* record_ahead - return how many records ahead of copying to fetch records in random order. They
 * fit into a first cache of 32 KB. Measured at 40 to 1,024 bytes: with half the number a sort takes
 * up to 25 % longer, with twice the number at most 5 % less. */
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

/* item_order - compare for qsort_r() two pointers to items, or structures that begin with such a
 * pointer; lay: their layout. */
static inline int item_order(const void *a, const void *b, void *lay)
{
	return item_cmp(*(const item *const *)a, *(const item *const *)b, lay);
}

#endif
