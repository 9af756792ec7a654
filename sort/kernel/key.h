/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How keys order: the one place that knows. A key is key_bytes bytes of its record that order as
 * memcmp() has them. Sorting looks at parts of a key as numbers that order in the same way:
 * the prefix, which entries, items and the heads of streams hold, then the tail, which is all
 * behind it; and windows, 8 bytes from any place. Functions take a key's first byte (key_at of a
 * record, or a copy by key_copy) or, for what is read out of it, the record. Pure. */
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
	KEY_PREFIX_FREE_BITS = 48, /* of the prefix's second word, below the key */
	KEY_WINDOW_BYTES = 8,
};

/* ------------------------------------------------------------------------------ whole keys */

static inline const unsigned char *key_at(const layout *l, const unsigned char *rec)
{
	return rec + l->key_off;
}

/* key_compare - below 0, 0 or above 0, as a orders before, with or behind b. */
static inline int key_compare(const layout *l, const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, l->key_bytes);
}

static inline bool key_equal(const layout *l, const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, l->key_bytes) == 0;
}

/* key_copy - the key to key_bytes of the caller's. */
static inline void key_copy(const layout *l, unsigned char *to, const unsigned char *key)
{
	memcpy(to, key, l->key_bytes);
}

/* key_shared_bytes - how many of the first `most` bytes a and b share. */
static inline uint32_t key_shared_bytes(const unsigned char *a, const unsigned char *b,
					uint32_t most)
{
	uint32_t n = 0;
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

/* key_part_compare - the order of bytes [from, to) alone. */
static inline int key_part_compare(const unsigned char *a, const unsigned char *b, uint32_t from,
				   uint32_t to)
{
	return memcmp(a + from, b + from, to - from);
}

/* -------------------------------------------------------------------------- prefix and tail */

/* The first KEY_PREFIX_BYTES of a key. A shorter key is filled up with zeros: as all keys are of
 * one length, that changes nothing in their order. */
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

/* key_prefix_of_short - of a key that is shorter than it. */
key_prefix key_prefix_of_short(const layout *l, const unsigned char *rec) __attribute__((pure));

/* key_prefix_of - of a record's key. */
static inline key_prefix key_prefix_of(const layout *l, const unsigned char *rec)
{
	if (__builtin_expect(l->key_bytes < KEY_PREFIX_BYTES, 0))
		return key_prefix_of_short(l, rec);
	return key_prefix_read(key_at(l, rec));
}

/* key_prefix_compare - of two prefixes, whatever their free bits hold. */
static inline int key_prefix_compare(uint64_t a_hi, uint64_t a_lo, uint64_t b_hi, uint64_t b_lo)
{
	if (a_hi != b_hi)
		return a_hi < b_hi ? -1 : 1;
	const uint64_t a = a_lo >> KEY_PREFIX_FREE_BITS, b = b_lo >> KEY_PREFIX_FREE_BITS;
	return (a > b) - (a < b);
}

/* key_tail_bytes - of a key, behind its prefix. */
static inline uint32_t key_tail_bytes(const layout *l)
{
	return l->key_bytes > KEY_PREFIX_BYTES ? l->key_bytes - KEY_PREFIX_BYTES : 0;
}

static inline const unsigned char *key_tail(const layout *l, const unsigned char *rec)
{
	return key_at(l, rec) + KEY_PREFIX_BYTES;
}

/* key_tail_compare - the order of two keys with one prefix, by their tails. */
static inline int key_tail_compare(const layout *l, const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, key_tail_bytes(l));
}

/* --------------------------------------------------------------------------------- windows */

/* Bytes of a key as a number: 8 bytes at a place in the record, shifted up past what lies before
 * the window, and masked. */
typedef struct key_window {
	uint32_t at;
	unsigned up;
	uint64_t keep;
} key_window;

/* key_window_at - `bytes` (0 to KEY_WINDOW_BYTES) of the key from byte `from` on. The load stays
 * inside the record, which has at least KEY_WINDOW_BYTES. */
static inline key_window key_window_at(const layout *l, uint32_t from, uint32_t bytes)
{
	const uint32_t off = l->key_off + from, last = l->record_bytes - KEY_WINDOW_BYTES;
	const uint32_t at = off < last ? off : last;
	const uint64_t keep = bytes ? ~UINT64_C(0) << (64 - 8 * bytes) : 0;
	return (key_window){ at, bytes ? 8 * (off - at) : 0, keep };
}

static inline uint64_t key_window_read(const key_window *w, const unsigned char *rec)
{
	uint64_t v;
	memcpy(&v, rec + w->at, sizeof v);
	return be64toh(v) << w->up & w->keep;
}

#endif
