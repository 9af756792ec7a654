/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of keys is defined here and nowhere else. The normal form of a key has key_bytes bytes,
 * which memcmp() orders. Without fields it is the key in the record. With fields, it consists of
 * the fields one after the other: numbers have the most significant byte first and negative ones
 * are below positive ones; descending fields are complemented. Floats order by sign, then by their
 * bits: -NaN, -inf, -0, +0, +inf, +NaN.
 *
 * Sorting treats parts of the normal form as numbers in the same order: the prefix, which entries,
 * items and heads contain; the tail, which is the rest; and windows, 8 bytes from any place.
 * Functions take records unless they name copies, made by key_copy. Pure. */
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

/* Return bytes [from, to) of a record's normal form: in the record, or in `room`. */
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

/* key_value_text - convert the normal form of a number field to text; floats get enough digits to
 * be unique. Not for a field of bytes. */
enum { KEY_VALUE_TEXT_BYTES = 32 };
void key_value_text(const key_field *f, const unsigned char *normal,
		    char text[KEY_VALUE_TEXT_BYTES]);

/* key_greatest - set the key of a record to the greatest key. */
void key_greatest(const layout *l, unsigned char *rec);

/* ------------------------------------------------------------------------ a number in front */

/* key_lead_read - return its normal form, in the upper bits. */
static inline uint64_t key_lead_read(const key_lead *n, const unsigned char *rec)
{
	uint64_t v;
	memcpy(&v, rec + n->at, sizeof v);
	v = (n->little ? le64toh(v) : be64toh(v)) >> n->down << n->up;
	return v ^ (-(v >> 63) & n->negative) ^ n->flip;
}

/* key_lead_raw - return the 8 bytes that key_lead_read turns into v. */
static inline uint64_t key_lead_raw(const key_lead *n, uint64_t v)
{
	v ^= n->flip;
	v ^= -(v >> 63) & n->negative;
	return n->little ? htole64(v) : htobe64(v);
}

/* -------------------------------------------------------------------------- prefix and tail */

/* The first KEY_PREFIX_BYTES of a key. A shorter key is filled up with zeros, which does not change
 * the order because all keys have one length. */
typedef struct key_prefix {
	uint64_t hi; /* bytes 0-7, the first on top */
	uint64_t lo; /* bytes 8-9 above KEY_PREFIX_FREE_BITS, which are 0 */
} key_prefix;

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

/* A window: bytes of a key as a number. They are read from 8 bytes of the record, or from the
 * number in front, shifted up past the bytes before the window, and masked. If they belong to
 * several fields or to a field of bytes, or the record has fewer than 8 bytes, they are collected
 * byte by byte. */
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

/* WITH_WINDOW - call f, an inlined loop, with a kind of windows as the constant that its last
 * argument is. */
#define WITH_WINDOW(of, f, ...)                                \
	((of) == WINDOW_RECORD ? f(__VA_ARGS__, WINDOW_RECORD) \
	 : (of) == WINDOW_LEAD ? f(__VA_ARGS__, WINDOW_LEAD)   \
			       : f(__VA_ARGS__, WINDOW_FIELDS))

#endif
