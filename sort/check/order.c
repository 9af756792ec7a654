/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers compare as signed numbers of 64 bits. Floats are a sign and a magnitude. Negative floats
 * count down from -1, so -0 is just below +0, and a NaN is beyond infinity. */
#include "check.h"

#include <string.h>

/* Return the field's bits, by one load if the machine has a number of that width. */
static inline uint64_t number_at(const key_field *f, const unsigned char *p)
{
	const bool native = f->little == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	uint64_t v = 0;
	uint32_t four;
	if (f->bytes == sizeof v) {
		memcpy(&v, p, sizeof v);
		return native ? v : __builtin_bswap64(v);
	}
	if (f->bytes == sizeof four) {
		memcpy(&four, p, sizeof four);
		return native ? four : __builtin_bswap32(four);
	}
	for (uint32_t i = 0; i < f->bytes; i++)
		v = v << 8 | p[f->little ? f->bytes - 1 - i : i];
	return v;
}

static inline int64_t signed_of(const key_field *f, uint64_t bits)
{
	const uint64_t half = UINT64_C(1) << (8 * f->bytes - 1);
	if (!(bits & half))
		return (int64_t)bits;
	const uint64_t magnitude =
		f->type == KEY_TYPE_FLOAT ? bits & (half - 1) : half - 1 - (bits & (half - 1));
	return -1 - (int64_t)magnitude;
}

static inline int compare_field(const key_field *f, const unsigned char *a, const unsigned char *b)
{
	if (f->type == KEY_TYPE_BYTES)
		return memcmp(a + f->off, b + f->off, f->bytes);
	const uint64_t x = number_at(f, a + f->off), y = number_at(f, b + f->off);
	if (f->type == KEY_TYPE_UNSIGNED)
		return (x > y) - (x < y);
	const int64_t s = signed_of(f, x), t = signed_of(f, y);
	return (s > t) - (s < t);
}

static inline int compare(const layout *l, const unsigned char *a, const unsigned char *b)
{
	if (l->fields == 0)
		return memcmp(a + l->key_off, b + l->key_off, l->key_bytes);
	for (uint32_t i = 0; i < l->fields; i++) {
		const int c = compare_field(&l->field[i], a, b);
		if (c != 0)
			return l->field[i].desc ? (c < 0) - (c > 0) : c;
	}
	return 0;
}

int order_compare(const layout *l, const unsigned char *a, const unsigned char *b)
{
	return compare(l, a, b);
}

order_seen order_look(const layout *l, const unsigned char *recs, size_t n, bool unique)
{
	order_seen seen = { n, 0 };
	for (size_t i = 1; i < n; i++, recs += l->record_bytes) {
		const int c = compare(l, recs, recs + l->record_bytes);
		seen.equal += c == 0;
		if (order_wrong(c, unique) && seen.wrong == n)
			seen.wrong = i;
	}
	return seen;
}
