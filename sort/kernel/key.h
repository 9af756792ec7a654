/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys, records and entries, and the only definition of their order.
 *
 * The normal form of a key has key_bytes bytes, which memcmp() orders. Without fields it is the key
 * in the record. With fields, it consists of the fields, one after the other. Numbers have the most
 * significant byte first, and negative numbers sort before positive ones. Floats are in the order
 * -NaN, -inf, -0, +0, +inf, +NaN. In descending fields, all bits are inverted. If NaN comes last
 * (nan_rule), numbers from -inf on, in either direction, are counted from 0, -0 and +0 are one
 * number, and all bits of NaN are 1. So is NaT. A complex number with NaN has a real part above
 * +inf, and its other part is in the imaginary one.
 *
 * Sorting reads parts of the normal form as numbers, which have the same order. The prefix is the
 * first 10 bytes; entries, items and heads (merge.h) contain it. The tail is the rest. A window is
 * up to 8 bytes from any place in the key. A copy is a normal form that key_copy has stored outside
 * the record. Functions without "copy" in their name take whole records.
 *
 * The total order of records is (key, rank, position). While sorting, an entry of 16 bytes stands
 * for its record: it has the prefix of the key and the position. Pure: no state, no allocation, no
 * input or output. */
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

/* key_at - return the address of a record's key, or of its first field. */
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

/* key_part - return bytes [from, to) of a record's normal form, in the record or made in `room`. */
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

/* key_shared_bytes - return how many first bytes of the normal forms of a and b are equal. */
uint32_t key_shared_bytes(const layout *l, const unsigned char *a, const unsigned char *b);

/* key_part_compare - compare only bytes [from, to) of the normal forms of two records. */
static inline int key_part_compare(const layout *l, const unsigned char *a, const unsigned char *b,
				   uint32_t from, uint32_t to)
{
	unsigned char room[2][KEY_FIELDS_BYTES_MAX];
	return memcmp(key_part(l, a, from, to, room[0]), key_part(l, b, from, to, room[1]),
		      to - from);
}

enum { KEY_VALUE_TEXT_BYTES = 32 };

/* key_value_text - convert a numeric field in normal form to decimal text. A float gets so much
 * precision that reading the text returns the same float. */
void key_value_text(const key_field *f, const unsigned char *normal,
		    char text[KEY_VALUE_TEXT_BYTES]);

/* key_greatest - fill a record so that its key is the greatest possible one. */
void key_greatest(const layout *l, unsigned char *rec);

/* -------------------------------------------------------------------------- numeric fields */

/* key_lead_flipped - return a numeric field in the total order, in the upper bits: without a turn,
 * its normal form. */
static inline uint64_t key_lead_flipped(const key_lead *n, const unsigned char *rec)
{
	uint64_t v;
	memcpy(&v, rec + n->at, sizeof v);
	v = (n->little ? le64toh(v) : be64toh(v)) >> n->down << n->up;
	return v ^ (-(v >> 63) & n->negative) ^ n->flip;
}

/* key_lead_distinct - return the normal form of a numeric field, except that NaNs are different,
 * and so are -0 and +0. */
static inline uint64_t key_lead_distinct(const key_lead *n, const unsigned char *rec)
{
	return key_lead_flipped(n, rec) - n->turn;
}

/* key_merged - return the normal form of a float that is distinct. All bits below `up` are 0; turn
 * is from layout_nan_turn. */
static inline uint64_t key_merged(uint64_t v, uint64_t turn, unsigned up)
{
	const uint64_t all = ~UINT64_C(0) << up, greatest = (all & ~turn) - turn;
	const uint64_t lower_zero = (all >> 1 & all) - turn;
	v += (uint64_t)(v == lower_zero) << up;
	return v > greatest ? all : v;
}

/* key_lead_turned - return the normal form of a numeric field with a turn. */
static inline uint64_t key_lead_turned(const key_lead *n, const unsigned char *rec)
{
	const uint64_t v = key_lead_distinct(n, rec);
	return n->merge ? key_merged(v, n->turn, n->up) : v;
}

/* key_lead_read - return the normal form of a numeric field, in the upper bits. */
static inline uint64_t key_lead_read(const key_lead *n, const unsigned char *rec)
{
	return __builtin_expect(n->turn == 0, 1) ? key_lead_flipped(n, rec)
						 : key_lead_turned(n, rec);
}

/* key_words_raw - turn numbers back into records of 8 bytes that are all key. A numeric field was
 * read by key_lead_distinct. */
static inline void key_words_raw(const layout *l, uint64_t *a, size_t count)
{
	const key_lead n = l->number[0]; /* a copy that cannot alias the array written here */
	for (size_t i = 0; !l->fields && i < count; i++)
		a[i] = htobe64(a[i]);
	for (size_t i = 0; l->fields && n.turn && i < count; i++)
		a[i] += n.turn;
	for (size_t i = 0; l->fields && i < count; i++) {
		uint64_t v = a[i] ^ n.flip;
		v ^= -(v >> 63) & n.negative;
		a[i] = n.little ? htole64(v) : htobe64(v);
	}
}

/* -------------------------------------------------------------------------- prefix and tail */

/* The first KEY_PREFIX_BYTES of a key. A shorter key is filled up with zeros. This does not change
 * the order, because all keys have one length. */
typedef struct key_prefix {
	uint64_t hi; /* bytes 0-7, the first on top */
	uint64_t lo; /* bytes 8-9 in the upper bits; KEY_PREFIX_FREE_BITS lower bits are 0 */
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

/* key_prefix_cut - clear the bytes of prefix p that a shorter key does not have. */
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

/* key_prefix_compare - compare two prefixes, ignoring their free bits. */
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

/* key_tail_compare - compare the keys of two records whose prefixes are equal. */
static inline int key_tail_compare(const layout *l, const unsigned char *a, const unsigned char *b)
{
	if (__builtin_expect(l->fields > 0, 0))
		return key_compare_fields(l, a, b);
	return memcmp(key_at(l, a) + KEY_PREFIX_BYTES, key_at(l, b) + KEY_PREFIX_BYTES,
		      key_tail_bytes(l));
}

/* key_tail_copy - copy the tail of a record's key, which is not empty, to `to`. */
static inline void key_tail_copy(const layout *l, unsigned char *to, const unsigned char *rec)
{
	if (__builtin_expect(l->fields > 0, 0))
		key_of_fields(l, rec, KEY_PREFIX_BYTES, l->key_bytes, to);
	else
		memcpy(to, key_at(l, rec) + KEY_PREFIX_BYTES, key_tail_bytes(l));
}

/* key_tail_compare_copy - compare the tail of a record's key, which is not empty, with a copy. */
static inline int key_tail_compare_copy(const layout *l, const unsigned char *rec,
					const unsigned char *copy)
{
	unsigned char room[KEY_FIELDS_BYTES_MAX];
	return memcmp(key_part(l, rec, KEY_PREFIX_BYTES, l->key_bytes, room), copy,
		      key_tail_bytes(l));
}

/* --------------------------------------------------------------------------------- windows */

/* A window is up to 8 bytes of a key, in the upper bits of a number whose other bits are 0. It is
 * read from 8 bytes of the record, or from the first field if that is a number. A shift removes the
 * bytes before the window, and a mask the bytes after it. WINDOW_TURNED: the number has a turn.
 * WINDOW_FIELDS: read byte by byte, because it is in several fields or in a field of bytes, or
 * records are shorter than 8 bytes. */
typedef enum window_kind { WINDOW_RECORD, WINDOW_LEAD, WINDOW_TURNED, WINDOW_FIELDS } window_kind;

typedef struct key_window {
	window_kind of;
	uint32_t at; /* offset in the record; for WINDOW_FIELDS, in the key */
	unsigned up;
	uint32_t bytes;
	uint64_t keep;
} key_window;

/* key_window_at - return the window of `bytes` (0 to KEY_WINDOW_BYTES) bytes of the key from byte
 * `from` on. Reading it never reads outside the record. */
key_window key_window_at(const layout *l, uint32_t from, uint32_t bytes);

/* key_window_of_fields - read a window byte by byte. */
uint64_t key_window_of_fields(const layout *l, const key_window *w, const unsigned char *rec);

/* key_window_read_as - read a window whose kind is `of`, a constant in loops. */
static inline __attribute__((always_inline)) uint64_t
key_window_read_as(window_kind of, const layout *l, const key_window *w, const unsigned char *rec)
{
	uint64_t v;
	if (of == WINDOW_FIELDS)
		return key_window_of_fields(l, w, rec);
	if (of == WINDOW_LEAD)
		return key_lead_flipped(&l->number[0], rec) << w->up & w->keep;
	if (of == WINDOW_TURNED)
		return key_lead_turned(&l->number[0], rec) << w->up & w->keep;
	memcpy(&v, rec + w->at, sizeof v);
	return be64toh(v) << w->up & w->keep;
}

static inline uint64_t key_window_read(const layout *l, const key_window *w,
				       const unsigned char *rec)
{
	return key_window_read_as(w->of, l, w, rec);
}

/* WITH_WINDOW - call f, an inlined function, with the kind of window `of` as its last argument: in
 * each call it is a constant. */
#define WITH_WINDOW(of, f, ...)                                  \
	((of) == WINDOW_RECORD   ? f(__VA_ARGS__, WINDOW_RECORD) \
	 : (of) == WINDOW_LEAD   ? f(__VA_ARGS__, WINDOW_LEAD)   \
	 : (of) == WINDOW_TURNED ? f(__VA_ARGS__, WINDOW_TURNED) \
				 : f(__VA_ARGS__, WINDOW_FIELDS))

/* ------------------------------------------------------------------ records, entries, items */

#define POS_BITS KEY_PREFIX_FREE_BITS
#define POS_MASK ((UINT64_C(1) << POS_BITS) - 1)

typedef struct entry {
	uint64_t hi; /* first word of the key's prefix */
	uint64_t lo; /* second word of the prefix, with the position in its POS_BITS lower bits */
} entry;

/* The records that entries point into. */
typedef struct records {
	const unsigned char *base;
	layout lay;
	uint32_t rank; /* the rank that has the records */
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

/* record_within - return record pos, or record 0 if a memory error has made pos too large. */
static inline const unsigned char *record_within(const records *r, uint64_t count, uint64_t pos)
{
	return record_at(r, pos < count ? pos : 0);
}

/* record_copy - copy a record; the usual size as a constant, so that the compiler uses vectors. */
static inline void record_copy(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
	if (bytes == DEFAULT_RECORD_BYTES)
		memcpy(to, from, DEFAULT_RECORD_BYTES);
	else
		memcpy(to, from, bytes);
}

enum { RECORD_LINE_BYTES = 64, RECORD_FETCH_BYTES = 1024 };

/* record_fetch - prefetch a record into the second-level cache, which can wait for more cache lines
 * at the same time than the first. Reading records in random order then takes 0.46 s instead of
 * 0.52 in pages of 2 MiB, and 0.62 instead of 0.75 in pages of 4 KiB. Of a very long record,
 * prefetch only the first lines and the last one; the processor itself prefetches the others.
 * Always inlined, because gcc drops calls of a function that only prefetches. */
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

/* record_ahead - return how many records ahead to prefetch while records are copied in random
 * order. With records of 40 to 1024 bytes, half this number makes a sort up to 25 % slower, and
 * twice this number at most 5 % faster. */
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

/* entry_fits - return whether the prefix in entry e is the prefix of its record rec. */
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

/* place_cmp - order records with equal keys: by rank, then by position. */
static inline int place_cmp(uint64_t arank, uint64_t a_lo, uint64_t brank, uint64_t b_lo)
{
	if (arank != brank)
		return arank < brank ? -1 : 1;
	const uint64_t a = a_lo & POS_MASK, b = b_lo & POS_MASK;
	return (a > b) - (a < b);
}

/* entry_key_cmp - compare the keys of two entries of r, ignoring their positions. */
static inline int entry_key_cmp(const entry *a, const entry *b, const records *r)
{
	const int c = key_prefix_compare(a->hi, a->lo, b->hi, b->lo);
	if (c || !key_tail_bytes(&r->lay))
		return c;
	return key_tail_compare(&r->lay, record_at(r, entry_pos(a)), record_at(r, entry_pos(b)));
}

/* entry_item_key_cmp - compare the keys of an entry of r and an item, ignoring their places. */
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

/* item_order - compare elements for qsort_r(): pointers to items, or structures that begin with
 * such a pointer. lay: the layout of the records. */
static inline int item_order(const void *a, const void *b, void *lay)
{
	return item_cmp(*(const item *const *)a, *(const item *const *)b, lay);
}

#endif
