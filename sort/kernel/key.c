/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions for keys of fields, and for keys that are shorter than a prefix. They are not inline in
 * key.h, because that would make loops over usual keys slower. Pure. */
#include "key.h"
#include "base/arith.h"

#include <inttypes.h>
#include <stdio.h>

/* Return the normal form of a numeric field, in the upper bits, so that it compares as an unsigned
 * number. The sign bit of signed numbers is flipped, and in negative floats all other bits, too. */
static inline uint64_t key_number(const key_field *f, const unsigned char *rec)
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
			const uint64_t v = htobe64(key_number(f, rec));
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
			const uint64_t x = key_number(f, a), y = key_number(f, b);
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

void key_value_text(const key_field *f, const unsigned char *normal,
		    char text[KEY_VALUE_TEXT_BYTES])
{
	const uint64_t sign = UINT64_C(1) << 63;
	const unsigned up = 64 - 8 * f->bytes;
	uint64_t v = (uint64_t)normal[0] << 56;
	for (uint32_t i = 1; i < f->bytes; i++)
		v |= (uint64_t)normal[i] << (56 - 8 * i);
	if (f->desc)
		v ^= ~UINT64_C(0) << up;
	if (f->type >= KEY_TYPE_SIGNED)
		v ^= sign;
	if (f->type == KEY_TYPE_FLOAT && v & sign)
		v ^= ~sign & ~UINT64_C(0) << up;
	if (f->type == KEY_TYPE_FLOAT) {
		double d;
		float narrow;
		const uint32_t half = (uint32_t)(v >> 32);
		memcpy(&d, &v, sizeof d);
		memcpy(&narrow, &half, sizeof narrow);
		if (f->bytes == sizeof narrow)
			snprintf(text, KEY_VALUE_TEXT_BYTES, "%.9g", (double)narrow);
		else
			snprintf(text, KEY_VALUE_TEXT_BYTES, "%.17g", d);
	} else if (f->type == KEY_TYPE_SIGNED) {
		snprintf(text, KEY_VALUE_TEXT_BYTES, "%" PRId64, (int64_t)v >> up);
	} else {
		snprintf(text, KEY_VALUE_TEXT_BYTES, "%" PRIu64, v >> up);
	}
}

/* Set fields from the last to the first, because the more significant field decides where fields
 * overlap. In a descending field, the greatest float is the negative NaN whose bits are all 1. */
void key_greatest(const layout *l, unsigned char *rec)
{
	memset(rec, 0xff, l->record_bytes);
	for (uint32_t i = l->fields; i-- > 0;) {
		const key_field *f = &l->field[i];
		const unsigned char desc = f->desc ? 0xff : 0;
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
		w = (key_window){ .of = WINDOW_LEAD, .up = 8 * from };
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
