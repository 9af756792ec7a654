/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random keys of fields, records for them, and how these order: each field is decoded to a number
 * of its own type, which is compared. Shares no code with what sorts. */
#ifndef HETSORT_KERNEL_TESTS_KEY_ORACLE_H
#define HETSORT_KERNEL_TESTS_KEY_ORACLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORACLE_FIELDS = 6, ORACLE_TEXT_BYTES = 48 };

typedef struct oracle_field {
	unsigned off, bytes;
	char kind; /* b, u, i, f, c */
	bool big, desc, nan_last;
} oracle_field;

typedef struct oracle {
	unsigned record_bytes, fields;
	oracle_field field[ORACLE_FIELDS];
	bool reverse;
} oracle;

/* Return the next number of splitmix64. */
static inline uint64_t oracle_next(uint64_t *s)
{
	uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline unsigned oracle_below(uint64_t *s, unsigned n)
{
	return (unsigned)(oracle_next(s) % n);
}

/* -------------------------------------------------------------------------------- comparing */

/* Return the bytes of a field as a number, in the order that the field has. */
static inline uint64_t oracle_bits(const oracle_field *f, const unsigned char *rec)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < f->bytes; i++)
		v = v * 256 + rec[f->off + (f->big ? i : f->bytes - 1 - i)];
	return v;
}

static inline int oracle_compare_signed(const oracle_field *f, uint64_t x, uint64_t y)
{
	const int64_t half = f->bytes < 8 ? INT64_C(1) << (8 * f->bytes - 1) : 0;
	int64_t a, b;
	memcpy(&a, &x, sizeof a);
	memcpy(&b, &y, sizeof b);
	if (half && a >= half)
		a -= 2 * half;
	if (half && b >= half)
		b -= 2 * half;
	return (a > b) - (a < b);
}

static inline long double oracle_float(const oracle_field *f, uint64_t bits)
{
	const uint32_t narrow = (uint32_t)bits;
	const unsigned exponent = (unsigned)(bits >> 10) & 31, fraction = (unsigned)bits & 1023;
	float single;
	double full;
	memcpy(&single, &narrow, sizeof single);
	memcpy(&full, &bits, sizeof full);
	if (f->bytes > 2)
		return f->bytes == 4 ? (long double)single : (long double)full;
	const double half = exponent == 31  ? (fraction ? NAN : INFINITY)
			    : exponent == 0 ? fraction / 16777216.0
					    : (1024 + fraction) * exp2((int)exponent - 25);
	return copysign(half, bits >> 15 & 1 ? -1.0 : 1.0);
}

/* Compare in the total order of IEEE 754: by value, -0 before +0. A NaN is outside of all numbers
 * on the side of its sign; the larger its bits, the farther out. */
static inline int oracle_compare_floats(const oracle_field *f, uint64_t x, uint64_t y)
{
	const long double a = oracle_float(f, x), b = oracle_float(f, y);
	const int sign_a = signbit(a) ? -1 : 1, sign_b = signbit(b) ? -1 : 1;
	if (isnan(a) && isnan(b) && sign_a == sign_b)
		return x == y ? 0 : x > y ? sign_a : -sign_a;
	if (isnan(a) || (!isnan(b) && a == b && sign_a != sign_b))
		return sign_a;
	if (isnan(b))
		return -sign_b;
	return (a > b) - (a < b);
}

/* Compare as numpy does: NaN is the last number, and all NaNs are equal. Numbers with NaN in other
 * parts are apart: first those with none, then with the last part, then with the first, then both.
 */
static inline int oracle_compare_like_numpy(const oracle_field *f, const unsigned char *a,
					    const unsigned char *b)
{
	const unsigned parts = f->kind == 'c' ? 2 : 1;
	unsigned nans_a = 0, nans_b = 0;
	int c = 0;
	for (unsigned i = 0; i < parts; i++) {
		const oracle_field part = { f->off + i * (f->bytes / parts),
					    f->bytes / parts,
					    'f',
					    f->big,
					    f->desc,
					    true };
		const long double x = oracle_float(&part, oracle_bits(&part, a));
		const long double y = oracle_float(&part, oracle_bits(&part, b));
		nans_a = 2 * nans_a + (isnan(x) != 0);
		nans_b = 2 * nans_b + (isnan(y) != 0);
		if (c == 0)
			c = (x > y) - (x < y);
	}
	if (nans_a != nans_b)
		return nans_a > nans_b ? 1 : -1;
	return f->desc ? -c : c;
}

static inline int oracle_compare_nat_last(const oracle_field *f, uint64_t x, uint64_t y)
{
	const uint64_t nat = UINT64_C(1) << (8 * f->bytes - 1);
	const int c = oracle_compare_signed(f, x, y);
	if ((x == nat) != (y == nat))
		return x == nat ? 1 : -1;
	return f->desc ? -c : c;
}

/* Compare in ascending order; with nan_last, in the order of the field. */
static inline int oracle_compare_field(const oracle_field *f, const unsigned char *a,
				       const unsigned char *b)
{
	if (f->kind == 'c' && !f->nan_last) {
		const unsigned half = f->bytes / 2;
		const oracle_field re = { f->off, half, 'f', f->big, f->desc, false };
		const oracle_field im = { f->off + half, half, 'f', f->big, f->desc, false };
		const int c = oracle_compare_field(&re, a, b);
		return c ? c : oracle_compare_field(&im, a, b);
	}
	if (f->nan_last && f->kind != 'i')
		return oracle_compare_like_numpy(f, a, b);
	if (f->kind == 'b')
		return memcmp(a + f->off, b + f->off, f->bytes);
	const uint64_t x = oracle_bits(f, a), y = oracle_bits(f, b);
	if (f->nan_last)
		return oracle_compare_nat_last(f, x, y);
	if (f->kind == 'i')
		return oracle_compare_signed(f, x, y);
	if (f->kind == 'f')
		return oracle_compare_floats(f, x, y);
	return (x > y) - (x < y);
}

static inline int oracle_compare(const oracle *o, const unsigned char *a, const unsigned char *b)
{
	for (unsigned i = 0; i < o->fields; i++) {
		oracle_field f = o->field[i];
		f.desc ^= o->reverse;
		const int c = oracle_compare_field(&f, a, b);
		if (c && f.nan_last)
			return c;
		if (c)
			return (c > 0) != f.desc ? 1 : -1;
	}
	return 0;
}

/* ----------------------------------------------------------------------------------- drawing */

/* Write a field as the option --key has it; numbers with their length or without. */
static inline void oracle_field_text(const oracle_field *f, bool length, char *text)
{
	char type[12] = "bytes", size[16] = "";
	if (f->kind != 'b')
		snprintf(type, sizeof type, "%c%u%s", f->kind, 8 * f->bytes,
			 f->bytes == 1 ? ""
			 : f->big      ? "be"
				       : "le");
	if (length || f->kind == 'b')
		snprintf(size, sizeof size, "%u,", f->bytes);
	snprintf(text, ORACLE_TEXT_BYTES, "%u,%s%s%s%s%s", f->off, size, type,
		 f->desc && f->off % 2 ? ",desc" : "", f->nan_last ? ",nan-last" : "",
		 f->desc && f->off % 2 == 0 ? ",desc" : "");
}

static inline oracle_field oracle_draw_field(uint64_t *s, unsigned record_bytes)
{
	static const char kinds[] = { 'b', 'u', 'i', 'f', 'c' };
	oracle_field f = { .kind = kinds[oracle_below(s, 5)] };
	f.bytes = 1u << (f.kind == 'c'   ? 3 + oracle_below(s, 2)
			 : f.kind == 'f' ? 1 + oracle_below(s, 3)
					 : oracle_below(s, 4));
	if (f.bytes > record_bytes || f.kind == 'b') {
		f.kind = 'b';
		f.bytes = 1 + oracle_below(s, record_bytes < 40 ? record_bytes : 40);
	}
	f.off = oracle_below(s, record_bytes - f.bytes + 1);
	f.big = oracle_below(s, 2);
	f.desc = oracle_below(s, 2);
	f.nan_last = strchr("ifc", f.kind) && oracle_below(s, 2);
	return f;
}

/* Draw 1 to 6 fields, which may overlap, of records of 1 to 4096 bytes; short records more often.
 */
static inline oracle oracle_draw(uint64_t *s)
{
	oracle o = { .fields = 1 + oracle_below(s, ORACLE_FIELDS),
		     .reverse = oracle_below(s, 4) == 0 };
	o.record_bytes = 1 + oracle_below(s, 1u << (1 + oracle_below(s, 12)));
	for (unsigned i = 0; i < o.fields; i++)
		o.field[i] = oracle_draw_field(s, o.record_bytes);
	return o;
}

/* Draw a number at which code breaks: zero, infinity, NaN, the least or greatest, or one next to
 * it. */
static inline uint64_t oracle_special(uint64_t *s, unsigned bytes)
{
	const unsigned bits = 8 * bytes;
	const uint64_t top = UINT64_C(1) << (bits - 1), all = top - 1 + top;
	const uint64_t inf = bytes == 2   ? UINT64_C(0x7c00)
			     : bytes == 4 ? UINT64_C(0x7f800000)
					  : UINT64_C(0x7ff0000000000000);
	const uint64_t values[] = {
		0, 1, top, top - 1, top + 1, all, all - 1, inf, inf + 1, inf - 1
	};
	const uint64_t v = values[oracle_below(s, sizeof values / sizeof *values)];
	return v ^ (oracle_below(s, 3) == 0 ? top : 0);
}

/* Draw a number for a field, or each part of a complex one. */
static inline void oracle_special_field(const oracle_field *f, uint64_t *s, unsigned char *rec)
{
	const unsigned bytes = f->kind == 'c' ? f->bytes / 2 : f->bytes;
	for (unsigned off = f->off; off < f->off + f->bytes; off += bytes) {
		const uint64_t v = oracle_special(s, bytes);
		for (unsigned k = 0; k < bytes; k++)
			rec[off + (f->big ? bytes - 1 - k : k)] = (unsigned char)(v >> 8 * k);
	}
}

/* Draw a record. narrow: of few different bytes, so that keys are often equal. */
static inline void oracle_record(const oracle *o, uint64_t *s, bool narrow, unsigned char *rec)
{
	for (unsigned i = 0; i < o->record_bytes; i++)
		rec[i] = narrow ? (unsigned char)(oracle_next(s) % 2 * 0xff)
				: (unsigned char)oracle_next(s);
	for (unsigned i = 0; i < o->fields; i++) {
		const oracle_field *f = &o->field[i];
		if (f->kind == 'b' || oracle_below(s, 3) != 0)
			continue;
		oracle_special_field(f, s, rec);
	}
}

/* ----------------------------------------------------------------------------------- sorting */

typedef struct oracle_sort {
	const oracle *o;
	const unsigned char *in;
} oracle_sort;

static inline int oracle_by_place(const void *a, const void *b, void *sort)
{
	const oracle_sort *t = sort;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const int c = oracle_compare(t->o, t->in + x * t->o->record_bytes,
				     t->in + y * t->o->record_bytes);
	return c ? c : (x > y) - (x < y);
}

/* Return n records in order, equal ones in the order of the input; NULL without memory. */
static inline unsigned char *oracle_answer(const oracle *o, const unsigned char *in, size_t n)
{
	const size_t bytes = o->record_bytes;
	unsigned char *out = malloc(n * bytes + 1);
	size_t *place = malloc((n + 1) * sizeof *place);
	oracle_sort sort = { o, in };
	for (size_t i = 0; place && i < n; i++)
		place[i] = i;
	if (place)
		qsort_r(place, n, sizeof *place, oracle_by_place, &sort);
	for (size_t i = 0; place && out && i < n; i++)
		memcpy(out + i * bytes, in + place[i] * bytes, bytes);
	free(place);
	return out;
}

#endif
