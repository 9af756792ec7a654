/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of fields, and those that are shorter than a prefix: apart from the loops over the usual
 * ones, which they would slow down if the compiler inlined them. Pure. */
#include "key.h"
#include "base/minmax.h"

#include <inttypes.h>
#include <stdio.h>

/* A field that is a number, on top of 64 bits, so that it orders as one without a sign. A negative
 * float orders the other way round by all that is not its sign. */
static inline uint64_t number_of(const key_field *f, const unsigned char *rec)
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

static void normalise(const key_field *f, const unsigned char *rec, uint32_t from, uint32_t to,
		      unsigned char *out)
{
	if (f->type != KEY_TYPE_BYTES) {
		const uint64_t v = htobe64(number_of(f, rec));
		memcpy(out, (const unsigned char *)&v + from, to - from);
		return;
	}
	memcpy(out, rec + f->off + from, to - from);
	for (uint32_t i = 0; f->desc && i < to - from; i++)
		out[i] ^= 0xff;
}

void key_of_fields(const layout *l, const unsigned char *rec, uint32_t from, uint32_t to,
		   unsigned char *out)
{
	uint32_t begin = 0; /* of the field, in the key */
	for (uint32_t i = 0; begin < to; begin += l->field[i++].bytes) {
		const key_field *f = &l->field[i];
		const uint32_t lo = from > begin ? from - begin : 0;
		const uint32_t hi = to - begin < f->bytes ? to - begin : f->bytes;
		if (lo >= hi)
			continue;
		normalise(f, rec, lo, hi, out);
		out += hi - lo;
	}
}

static int compare_field(const key_field *f, const unsigned char *a, const unsigned char *b)
{
	if (f->type != KEY_TYPE_BYTES) {
		const uint64_t x = number_of(f, a), y = number_of(f, b);
		return (x > y) - (x < y);
	}
	return f->desc ? memcmp(b + f->off, a + f->off, f->bytes)
		       : memcmp(a + f->off, b + f->off, f->bytes);
}

int key_compare_fields(const layout *l, const unsigned char *a, const unsigned char *b)
{
	int c = 0;
	for (uint32_t i = 0; i < l->fields && c == 0; i++)
		c = compare_field(&l->field[i], a, b);
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

static void float_text(uint64_t bits, uint32_t bytes, char text[KEY_VALUE_TEXT_BYTES])
{
	double d;
	float f;
	const uint32_t half = (uint32_t)(bits >> 32);
	memcpy(&d, &bits, sizeof d);
	memcpy(&f, &half, sizeof f);
	if (bytes == sizeof f)
		snprintf(text, KEY_VALUE_TEXT_BYTES, "%.9g", (double)f);
	else
		snprintf(text, KEY_VALUE_TEXT_BYTES, "%.17g", d);
}

void key_value_text(const key_field *f, const unsigned char *normal,
		    char text[KEY_VALUE_TEXT_BYTES])
{
	const uint64_t sign = UINT64_C(1) << 63;
	const unsigned up = 64 - 8 * f->bytes;
	uint64_t v = 0;
	for (uint32_t i = 0; i < f->bytes; i++)
		v |= (uint64_t)normal[i] << (56 - 8 * i);
	if (f->desc)
		v ^= ~UINT64_C(0) << up;
	if (f->type >= KEY_TYPE_SIGNED)
		v ^= sign;
	if (f->type == KEY_TYPE_FLOAT && v & sign)
		v ^= ~sign & ~UINT64_C(0) << up;
	if (f->type == KEY_TYPE_FLOAT)
		float_text(v, f->bytes, text);
	else if (f->type == KEY_TYPE_SIGNED)
		snprintf(text, KEY_VALUE_TEXT_BYTES, "%" PRId64, (int64_t)v >> up);
	else
		snprintf(text, KEY_VALUE_TEXT_BYTES, "%" PRIu64, v >> up);
}

/* What is flipped in the first byte of a field's normal form, and in the others. */
typedef struct flips {
	unsigned char first, other;
} flips;

/* A negative float orders the other way round by all that is not its sign. */
static flips flips_of(const key_field *f, bool negative)
{
	const unsigned char desc = f->desc ? 0xff : 0, sign = f->type < KEY_TYPE_SIGNED ? 0 : 0x80;
	const unsigned char rest = f->type == KEY_TYPE_FLOAT && negative ? 0xff : 0;
	return (flips){ desc ^ sign ^ (rest & 0x7f), desc ^ rest };
}

/* Where fields overlap, the more significant one counts. */
void key_greatest(const layout *l, unsigned char *rec)
{
	memset(rec, 0xff, l->record_bytes);
	for (uint32_t i = l->fields; i-- > 0;) {
		const key_field *f = &l->field[i];
		const flips flip = flips_of(f, f->desc);
		memset(rec + f->off, 0xff ^ flip.other, f->bytes);
		rec[f->off + (f->little ? f->bytes - 1 : 0)] = 0xff ^ flip.first;
	}
}

/* Apart, since the array costs a function that has it more than the rest. */
static __attribute__((noinline)) key_prefix prefix_by_bytes(const layout *l,
							    const unsigned char *rec)
{
	unsigned char filled[KEY_PREFIX_BYTES] = { 0 };
	if (l->fields)
		key_of_fields(l, rec, 0, (uint32_t)u64_min(l->key_bytes, KEY_PREFIX_BYTES), filled);
	else
		memcpy(filled, key_at(l, rec), l->key_bytes);
	return key_prefix_read(filled);
}

static key_prefix prefix_of_fields(const layout *l, const unsigned char *rec)
{
	uint32_t at = l->number[0].bytes;
	if (at == 0)
		return prefix_by_bytes(l, rec);
	uint64_t hi = key_lead_read(&l->number[0], rec), lo = 0;
	for (uint32_t i = 1; i < l->fields && at < KEY_PREFIX_BYTES && l->number[i].bytes; i++) {
		const uint64_t v = key_lead_read(&l->number[i], rec);
		hi |= at < sizeof v ? v >> 8 * at : 0;
		lo |= at > sizeof v ? v >> 8 : v << (64 - 8 * at);
		at += l->number[i].bytes;
	}
	if (at < l->key_bytes && at < KEY_PREFIX_BYTES)
		return prefix_by_bytes(l, rec);
	return (key_prefix){ hi, lo >> KEY_PREFIX_FREE_BITS << KEY_PREFIX_FREE_BITS };
}

key_prefix key_prefix_of_other(const layout *l, const unsigned char *rec)
{
	return l->fields ? prefix_of_fields(l, rec) : prefix_by_bytes(l, rec);
}

/* Of one piece of bytes. */
static key_window window_in_record(const layout *l, uint32_t from, uint32_t bytes)
{
	const uint32_t off = l->key_off + from, last = l->record_bytes - KEY_WINDOW_BYTES;
	const uint32_t at = off < last ? off : last;
	return (key_window){ .at = at, .up = bytes ? 8 * (off - at) : 0 };
}

key_window key_window_at(const layout *l, uint32_t from, uint32_t bytes)
{
	key_window w = { .of = WINDOW_FIELDS, .at = from, .bytes = bytes };
	if (l->record_bytes >= KEY_WINDOW_BYTES)
		w = window_in_record(l, from, bytes);
	if (l->record_bytes >= KEY_WINDOW_BYTES && l->fields && bytes > 0)
		w = from + bytes <= l->number[0].bytes
			    ? (key_window){ .of = WINDOW_LEAD, .up = 8 * from }
			    : (key_window){ .of = WINDOW_FIELDS, .at = from, .bytes = bytes };
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
