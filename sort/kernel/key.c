/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions for keys of fields, and for keys that are shorter than a prefix. They are not inline in
 * key.h, because that would make loops over usual keys slower. Pure. */
#include "key.h"
#include "base/arith.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Return a numeric field in the total order, in the upper bits, so that it compares as an unsigned
 * number. The sign bit of signed numbers is flipped, and in negative floats all other bits, too. */
static inline uint64_t key_total_number(const key_field *f, const unsigned char *rec)
{
	const uint64_t sign = UINT64_C(1) << 63;
	const unsigned char *at = rec + f->off;
	uint64_t v = 0, flip = f->desc ? ~UINT64_C(0) : 0;
	if (f->bytes == sizeof v) {
		memcpy(&v, at, sizeof v);
		v = f->little ? le64toh(v) : be64toh(v);
	} else if (f->bytes == sizeof(uint32_t)) {
		uint32_t half;
		memcpy(&half, at, sizeof half);
		v = (uint64_t)(f->little ? le32toh(half) : be32toh(half)) << 32;
	} else {
		for (uint32_t i = 0; i < f->bytes; i++)
			v |= (uint64_t)at[f->little ? f->bytes - 1 - i : i] << (56 - 8 * i);
	}
	if (f->type >= KEY_TYPE_SIGNED)
		flip ^= sign;
	if (f->type == KEY_TYPE_FLOAT && v & sign)
		flip ^= ~sign;
	return v ^ flip;
}

static inline unsigned key_bits_below(const key_field *f)
{
	return 64 - 8 * f->bytes;
}

static inline uint64_t key_of_nan(const key_field *f)
{
	return ~UINT64_C(0) << key_bits_below(f);
}

/* Return the normal form of a number as NAN_LAST has it. */
static uint64_t key_nan_last(const key_field *f, const unsigned char *rec)
{
	const uint64_t turn = layout_nan_turn(f);
	const uint64_t v = (key_total_number(f, rec) & key_of_nan(f)) - turn;
	return f->type == KEY_TYPE_FLOAT ? key_merged(v, turn, key_bits_below(f)) : v;
}

/* Return the normal form of a numeric field with another rule than NAN_TOTAL. A complex number with
 * NaN has one of the three largest numbers as its real part, and as its imaginary part that one of
 * its parts that is not NaN. Not inlined, because this would slow down the usual case. */
static __attribute__((noinline)) uint64_t key_number_by_rule(const layout *l, uint32_t i,
							     const unsigned char *rec)
{
	const key_field *f = &l->field[i];
	if (l->number[i].bytes)
		return key_lead_read(&l->number[i], rec);
	const uint64_t v = key_nan_last(f, rec), nan = key_of_nan(f);
	if (f->nan == NAN_LAST)
		return v;
	const bool is_real = f->nan == NAN_LAST_REAL;
	const uint64_t one = UINT64_C(1) << key_bits_below(f);
	const uint64_t w = key_nan_last(is_real ? f + 1 : f - 1, rec);
	if (!is_real)
		return v < nan ? v : w < nan ? w : 0;
	if (v < nan)
		return w < nan ? v : nan - 2 * one;
	return w < nan ? nan - one : nan;
}

/* Return the normal form of numeric field i, in the upper bits, possibly with other bits below. */
static inline uint64_t key_number(const layout *l, uint32_t i, const unsigned char *rec)
{
	const key_field *f = &l->field[i];
	return __builtin_expect(f->nan == NAN_TOTAL, 1) ? key_total_number(f, rec)
							: key_number_by_rule(l, i, rec);
}

void key_of_fields(const layout *l, const unsigned char *rec, uint32_t from, uint32_t to,
		   unsigned char *out)
{
	uint32_t begin = 0; /* offset of field i in the key */
	for (uint32_t i = 0; begin < to; begin += l->field[i++].bytes) {
		const key_field *f = &l->field[i];
		const uint32_t lo = from > begin ? from - begin : 0;
		const uint32_t hi = to - begin < f->bytes ? to - begin : f->bytes;
		if (lo >= hi)
			continue;
		if (f->type != KEY_TYPE_BYTES) {
			const uint64_t v = htobe64(key_number(l, i, rec));
			memcpy(out, (const unsigned char *)&v + lo, hi - lo);
		} else {
			memcpy(out, rec + f->off + lo, hi - lo);
			for (uint32_t k = 0; f->desc && k < hi - lo; k++)
				out[k] ^= 0xff;
		}
		out += hi - lo;
	}
}

int key_compare_fields(const layout *l, const unsigned char *a, const unsigned char *b)
{
	int c = 0;
	for (uint32_t i = 0; i < l->fields && c == 0; i++) {
		const key_field *f = &l->field[i];
		if (f->type != KEY_TYPE_BYTES) {
			const uint64_t x = key_number(l, i, a), y = key_number(l, i, b);
			c = (x > y) - (x < y);
		} else {
			c = f->desc ? memcmp(b + f->off, a + f->off, f->bytes)
				    : memcmp(a + f->off, b + f->off, f->bytes);
		}
	}
	return c;
}

uint32_t key_shared_bytes(const layout *l, const unsigned char *a, const unsigned char *b)
{
	unsigned char room[2][KEY_FIELDS_BYTES_MAX];
	const unsigned char *x = key_part(l, a, 0, l->key_bytes, room[0]);
	const unsigned char *y = key_part(l, b, 0, l->key_bytes, room[1]);
	uint32_t n = 0;
	while (n < l->key_bytes && x[n] == y[n])
		n++;
	return n;
}

/* Read a number of the normal form. */
static uint64_t key_normal_number(const key_field *f, const unsigned char *normal)
{
	uint64_t v = (uint64_t)normal[0] << 56;
	for (uint32_t i = 1; i < f->bytes; i++)
		v |= (uint64_t)normal[i] << (56 - 8 * i);
	return v;
}

/* Return the number of a part of a complex number as NAN_LAST has it. */
static uint64_t key_complex_part(const key_field *f, const unsigned char *normal)
{
	const bool is_real = f->nan == NAN_LAST_REAL;
	const unsigned char *real = is_real ? normal : normal - f->bytes;
	const uint64_t nan = key_of_nan(f), x = key_normal_number(f, real);
	const uint64_t y = key_normal_number(f, real + f->bytes);
	const uint64_t back = (nan - x) >> key_bits_below(f); /* from NaN in both parts */
	if (back > 2)
		return is_real ? x : y;
	return back == (is_real ? 2 : 1) ? y : nan;
}

/* Return the value of a float whose bits are the upper bits of v. */
static double key_float(uint64_t v, uint32_t bytes)
{
	const uint32_t single = (uint32_t)(v >> 32);
	double d;
	float narrow;
	memcpy(&d, &v, sizeof d);
	memcpy(&narrow, &single, sizeof narrow);
	if (bytes == sizeof d)
		return d;
	if (bytes == sizeof narrow)
		return (double)narrow;
	const int exponent = (int)(v >> 58 & 31), fraction = (int)(v >> 48 & 1023);
	const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
			    : exponent     ? ldexp(1024 + fraction, exponent - 25)
					   : ldexp(fraction, -24);
	return copysign(size, v >> 63 ? -1.0 : 1.0);
}

void key_value_text(const key_field *f, const unsigned char *normal,
		    char text[KEY_VALUE_TEXT_BYTES])
{
	enum { DIGITS_HALF = 5, DIGITS_SINGLE = 9, DIGITS_DOUBLE = 17 };
	const uint64_t sign = UINT64_C(1) << 63;
	const unsigned up = key_bits_below(f);
	uint64_t v = f->nan > NAN_LAST ? key_complex_part(f, normal) : key_normal_number(f, normal);
	if (f->nan)
		v = f->type == KEY_TYPE_FLOAT && v == key_of_nan(f) ? v : v + layout_nan_turn(f);
	if (f->desc && !(f->nan && v == key_of_nan(f)))
		v ^= ~UINT64_C(0) << up;
	if (f->type >= KEY_TYPE_SIGNED)
		v ^= sign;
	if (f->type == KEY_TYPE_FLOAT && v & sign)
		v ^= ~sign & ~UINT64_C(0) << up;
	if (f->nan && f->type == KEY_TYPE_FLOAT && v == sign) /* +0 stands for -0, too */
		v = 0;
	if (f->type == KEY_TYPE_FLOAT) {
		snprintf(text, KEY_VALUE_TEXT_BYTES, "%.*g",
			 f->bytes == 2   ? DIGITS_HALF
			 : f->bytes == 4 ? DIGITS_SINGLE
					 : DIGITS_DOUBLE,
			 key_float(v, f->bytes));
	} else if (f->type == KEY_TYPE_SIGNED) {
		snprintf(text, KEY_VALUE_TEXT_BYTES, "%" PRId64, (int64_t)v >> up);
	} else {
		snprintf(text, KEY_VALUE_TEXT_BYTES, "%" PRIu64, v >> up);
	}
}

/* Set fields from the last to the first, because the more significant field decides where fields
 * overlap. In a descending field, the greatest float is the negative NaN whose bits are all 1. All
 * NaNs are the greatest float if they come last, and the least number is, if it is NaT. */
void key_greatest(const layout *l, unsigned char *rec)
{
	memset(rec, 0xff, l->record_bytes);
	for (uint32_t i = l->fields; i-- > 0;) {
		const key_field *f = &l->field[i];
		const unsigned char desc =
			f->desc || (f->nan && f->type == KEY_TYPE_SIGNED) ? 0xff : 0;
		const unsigned char sign = f->type < KEY_TYPE_SIGNED ? 0 : 0x80;
		const unsigned char rest = f->type == KEY_TYPE_FLOAT && f->desc ? 0xff : 0;
		memset(rec + f->off, 0xff ^ desc ^ rest, f->bytes);
		rec[f->off + (f->little ? f->bytes - 1 : 0)] =
			(unsigned char)(0xff ^ desc ^ sign ^ (rest & 0x7f));
	}
}

/* Read the prefix byte by byte. Not inlined, because the array would slow down the usual case. */
static __attribute__((noinline)) key_prefix key_prefix_by_bytes(const layout *l,
								const unsigned char *rec)
{
	unsigned char filled[KEY_PREFIX_BYTES] = { 0 };
	if (l->fields)
		key_of_fields(l, rec, 0, (uint32_t)u64_min(l->key_bytes, KEY_PREFIX_BYTES), filled);
	else
		memcpy(filled, key_at(l, rec), l->key_bytes);
	return key_prefix_read(filled);
}

key_prefix key_prefix_of_other(const layout *l, const unsigned char *rec)
{
	uint32_t at = l->fields ? l->number[0].bytes : 0;
	if (at == 0)
		return key_prefix_by_bytes(l, rec);
	uint64_t hi = key_lead_read(&l->number[0], rec), lo = 0;
	for (uint32_t i = 1; i < l->fields && at < KEY_PREFIX_BYTES && l->number[i].bytes; i++) {
		const uint64_t v = key_lead_read(&l->number[i], rec);
		hi |= at < sizeof v ? v >> 8 * at : 0;
		lo |= at > sizeof v ? v >> 8 : v << (64 - 8 * at);
		at += l->number[i].bytes;
	}
	if (at < l->key_bytes && at < KEY_PREFIX_BYTES)
		return key_prefix_by_bytes(l, rec);
	return (key_prefix){ hi, lo >> KEY_PREFIX_FREE_BITS << KEY_PREFIX_FREE_BITS };
}

key_window key_window_at(const layout *l, uint32_t from, uint32_t bytes)
{
	key_window w = { .of = WINDOW_FIELDS, .at = from, .bytes = bytes };
	if (l->record_bytes >= KEY_WINDOW_BYTES && (!l->fields || bytes == 0)) {
		const uint32_t off = l->key_off + from, last = l->record_bytes - KEY_WINDOW_BYTES;
		const uint32_t at = off < last ? off : last;
		w = (key_window){ .at = at, .up = bytes ? 8 * (off - at) : 0 };
	} else if (l->record_bytes >= KEY_WINDOW_BYTES && from + bytes <= l->number[0].bytes) {
		w = (key_window){ .of = l->number[0].turn ? WINDOW_TURNED : WINDOW_LEAD,
				  .up = 8 * from };
	}
	w.keep = bytes ? ~UINT64_C(0) << (64 - 8 * bytes) : 0;
	return w;
}

uint64_t key_window_of_fields(const layout *l, const key_window *w, const unsigned char *rec)
{
	unsigned char filled[KEY_WINDOW_BYTES] = { 0 };
	uint64_t v;
	if (l->fields)
		key_of_fields(l, rec, w->at, w->at + w->bytes, filled);
	else
		memcpy(filled, key_at(l, rec) + w->at, w->bytes);
	memcpy(&v, filled, sizeof v);
	return be64toh(v);
}
