/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of gensort, and the random numbers in them. All functions are pure, except that
 * gen_ascii_init() fills the tables of digits.
 *
 * The generator of 128-bit values finds value n by repeated squaring of the map from a value to the
 * next. Then it runs in several independent lanes. A value costs three 64-bit multiplications. */
#include "gen.h"

#include <endian.h>

#define U128(hi, lo) ((u128)(hi) << 64 | (u128)(lo))

/* L'Ecuyer's multiplier, and an increment that makes the first key read "JimGrayRIP". */
#define LCG_MUL U128(0x2360ed051fc65da4, 0x4385df649fccf645)
#define LCG_ADD U128(0x4a696d4772617952, 0x4950202020202001)

/* Find the map x -> mul x + add that moves n places ahead. */
static void lcg_leap(u128 n, u128 *mul, u128 *add)
{
	u128 m = LCG_MUL, a = LCG_ADD; /* the map for 2^i places */
	*mul = 1;
	*add = 0;
	for (; n != 0; n >>= 1) {
		if (n & 1) {
			*add = m * *add + a;
			*mul *= m;
		}
		a *= m + 1;
		m *= m;
	}
}

u128 gen_lcg_at(u128 n)
{
	u128 mul, add;
	lcg_leap(n, &mul, &add);
	return add; /* x[0] is 0 */
}

void gen_walk_start(gen_walk *w, u128 n)
{
	lcg_leap(GEN_LANES, &w->mul, &w->add);
	w->lane[0] = gen_lcg_at(n + 1);
	for (int i = 1; i < GEN_LANES; i++)
		w->lane[i] = w->lane[i - 1] * LCG_MUL + LCG_ADD;
}

void gen_walk_next(gen_walk *w, size_t rounds, uint64_t *hi, uint64_t *lo)
{
	const u128 mul = w->mul, add = w->add;
	u128 a = w->lane[0], b = w->lane[1], c = w->lane[2], d = w->lane[3];
	for (size_t i = 0; i < rounds * GEN_LANES; i += GEN_LANES) {
		hi[i] = (uint64_t)(a >> 64), lo[i] = (uint64_t)a;
		hi[i + 1] = (uint64_t)(b >> 64), lo[i + 1] = (uint64_t)b;
		hi[i + 2] = (uint64_t)(c >> 64), lo[i + 2] = (uint64_t)c;
		hi[i + 3] = (uint64_t)(d >> 64), lo[i + 3] = (uint64_t)d;
		a = a * mul + add;
		b = b * mul + add;
		c = c * mul + add;
		d = d * mul + add;
	}
	w->lane[0] = a, w->lane[1] = b, w->lane[2] = c, w->lane[3] = d;
}

/* ------------------------------------------------------------ */

/* Skew: part of the prefix of record n is copied from a record of smaller number, the lender. These
 * are pure functions of the record number and of the low half of its random value. */

/* Return nearly the bit length of n. The highest nibble of each 64-bit half counts as a whole, as
 * in the benchmark's own generator, because records must be equal. */
unsigned gen_skew_index(u128 n)
{
	const uint64_t hi = (uint64_t)(n >> 64), lo = (uint64_t)n;
	const unsigned bits = hi   ? 128 - (unsigned)__builtin_clzll(hi)
			      : lo ? 64 - (unsigned)__builtin_clzll(lo)
				   : 0;
	if (bits > 60 && bits < 64)
		return 64;
	return bits > 124 ? 128 : bits;
}

size_t gen_skew_span(u128 n, size_t max)
{
	const unsigned s = gen_skew_index(n);
	const u128 end = s < 128 ? (u128)1 << s : 0; /* 0 stands for 2^128 */
	const u128 span = end - n;
	return span < max ? (size_t)span : max;
}

unsigned gen_skew_bits(uint64_t lo)
{
	const unsigned bits = (unsigned)(lo >> 32) & 63;
	return bits > 48 ? 0 : bits;
}

unsigned gen_skew_chars(uint64_t lo)
{
	const unsigned chars = (unsigned)(lo >> 32) & 7;
	return chars > 6 ? 0 : chars;
}

/* ------------------------------------------------------------ */

/* An ASCII record has a key of ten printable characters, the record number in hexadecimal, and 52
 * characters of filler: hexadecimal digits, four times each. Pairs of digits come from tables of 20
 * KiB. Up to 256 records share a template of constant bytes. */

enum {
	BASE = 95, /* the printable characters, from the space to the tilde */
	BASE2 = BASE * BASE,
	BASE4 = BASE2 * BASE2,
	NUMBER_AT = 12, /* offset in the record */
	NUMBER_DIGITS = 32,
	FILLER_AT = 46,
};

static char pairs[BASE2][2];   /* two characters of a key, the least significant first */
static char hex_pairs[256][2]; /* a byte as two hexadecimal digits */
static char quads[256][8];     /* a byte as two digits, four times each */

static char hex_digit(unsigned v)
{
	return "0123456789ABCDEF"[v & 15];
}

void gen_ascii_init(void)
{
	for (unsigned i = 0; i < BASE2; i++) {
		pairs[i][0] = (char)(' ' + i % BASE);
		pairs[i][1] = (char)(' ' + i / BASE);
	}
	for (unsigned i = 0; i < 256; i++) {
		hex_pairs[i][0] = hex_digit(i >> 4);
		hex_pairs[i][1] = hex_digit(i);
		memset(quads[i], hex_digit(i >> 4), 4);
		memset(quads[i] + 4, hex_digit(i), 4);
	}
}

/* Write a number below 95^4 as four characters of the key. */
static void ascii_four(unsigned char *p, uint32_t v)
{
	memcpy(p, pairs[v % BASE2], 2);
	memcpy(p + 2, pairs[v / BASE2], 2);
}

static void ascii_key(unsigned char *p, uint64_t hi, uint64_t lo)
{
	ascii_four(p, (uint32_t)(hi % BASE4));
	ascii_four(p + 4, (uint32_t)(hi / BASE4 % BASE4));
	memcpy(p + 8, pairs[lo % BASE2], 2);
}

/* Write thirteen hexadecimal digits, each four times, from bits 51..48 down to bits 3..0. */
static void ascii_filler(unsigned char *p, uint64_t lo)
{
	memset(p, hex_digit((unsigned)(lo >> 48)), 4);
#pragma GCC unroll 6
	for (int i = 0; i < 6; i++)
		memcpy(p + 4 + 8 * i, quads[lo >> (40 - 8 * i) & 255], 8);
}

/* Write ASCII records whose numbers differ only in their last two hexadecimal digits. */
static void ascii_span(const gen_tile *t, size_t from, size_t recs, unsigned char *out)
{
	const unsigned low = (unsigned)(t->first + from) & 255;
	unsigned char template[RECORD_BYTES];
	u128 n = t->first + from;
	memset(template, ' ', sizeof template);
	for (int i = NUMBER_DIGITS - 2; i >= 0; i -= 2, n >>= 8)
		memcpy(template + NUMBER_AT + i, hex_pairs[(unsigned)n & 255], 2);
	memcpy(template + RECORD_BYTES - 2, "\r\n", 2);
	for (size_t i = 0; i < recs; i++, out += RECORD_BYTES) {
		const uint64_t lo = t->lo[from + i];
		memcpy(out, template, sizeof template);
		memcpy(out + NUMBER_AT + NUMBER_DIGITS - 2, hex_pairs[low + i], 2);
		ascii_key(out, t->hi[from + i], lo);
		ascii_filler(out + FILLER_AT, lo);
	}
}

/* Replace the first gen_skew_chars() characters of each key by characters of the prefix. */
static void ascii_skew_span(const uint64_t *lo, size_t recs, const unsigned char *prefix,
			    unsigned char *out)
{
	unsigned char ones[2 * GEN_SKEW_BYTES + 4];
	uint64_t p, mask, key;
	/* the eight bytes at ones + 6 - m are a mask of m leading bytes, on any host */
	memset(ones, 0xFF, GEN_SKEW_BYTES);
	memset(ones + GEN_SKEW_BYTES, 0, sizeof ones - GEN_SKEW_BYTES);
	memcpy(&p, prefix, sizeof p);
	for (size_t i = 0; i < recs; i++, out += RECORD_BYTES) {
		memcpy(&mask, ones + GEN_SKEW_BYTES - gen_skew_chars(lo[i]), sizeof mask);
		memcpy(&key, out, sizeof key);
		key = (key & ~mask) | (p & mask);
		memcpy(out, &key, sizeof key);
	}
}

void gen_ascii_tile(const gen_tile *t, bool skew, unsigned char *out)
{
	for (size_t i = 0, span; i < t->recs; i += span) {
		const size_t to_carry = 256 - ((size_t)(t->first + i) & 255);
		span = t->recs - i < to_carry ? t->recs - i : to_carry;
		ascii_span(t, i, span, out + i * RECORD_BYTES);
	}
	for (size_t i = 0, span; skew && i < t->recs; i += span) {
		const u128 lender = gen_lcg_at(gen_skew_index(t->first + i) + (u128)1);
		unsigned char prefix[KEY_BYTES];
		span = gen_skew_span(t->first + i, t->recs - i);
		ascii_key(prefix, (uint64_t)(lender >> 64), (uint64_t)lender);
		ascii_skew_span(t->lo + i, span, prefix, out + i * RECORD_BYTES);
	}
}

/* ------------------------------------------------------------ */

/* A binary record has ten 10-byte fields. Field i of record n is key n+i XOR a constant. The keys
 * of a tile are stored one after another. Record n is the 100 bytes from key n on, XOR the
 * constants of the ten fields. Costs 5 KiB of stack. */

enum { FIELDS = RECORD_BYTES / KEY_BYTES };

typedef uint8_t vec __attribute__((vector_size(16)));

/* Fields 1 to 7 are the 70 bytes with four bits set, descending; 8 and 9 repeat some of them. */
static const uint8_t pattern[RECORD_BYTES] = {
	/* 0 */ 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
	/* 1 */ 0xF0, 0xE8, 0xE4, 0xE2, 0xE1, 0xD8, 0xD4, 0xD2, 0xD1, 0xCC,
	/* 2 */ 0xCA, 0xC9, 0xC6, 0xC5, 0xC3, 0xB8, 0xB4, 0xB2, 0xB1, 0xAC,
	/* 3 */ 0xAA, 0xA9, 0xA6, 0xA5, 0xA3, 0x9C, 0x9A, 0x99, 0x96, 0x95,
	/* 4 */ 0x93, 0x8E, 0x8D, 0x8B, 0x87, 0x78, 0x74, 0x72, 0x71, 0x6C,
	/* 5 */ 0x6A, 0x69, 0x66, 0x65, 0x63, 0x5C, 0x5A, 0x59, 0x56, 0x55,
	/* 6 */ 0x53, 0x4E, 0x4D, 0x4B, 0x47, 0x3C, 0x3A, 0x39, 0x36, 0x35,
	/* 7 */ 0x33, 0x2E, 0x2D, 0x2B, 0x27, 0x1E, 0x1D, 0x1B, 0x17, 0x0F,
	/* 8 */ 0xC8, 0xC4, 0xC2, 0xC1, 0x98, 0x94, 0x92, 0x91, 0x8C, 0xE0,
	/* 9 */ 0x17, 0x0F, 0x33, 0x2E, 0x2D, 0x2B, 0x27, 0x1E, 0x1D, 0x1B,
};

/* Write one record: six vectors and four bytes, which the compiler keeps in registers. */
static void binary_record(unsigned char *out, const unsigned char *keys, const vec k[6],
			  uint32_t k4)
{
	uint32_t v4;
	vec v;

#pragma GCC unroll 6
	for (int i = 0; i < 6; i++) {
		memcpy(&v, keys + 16 * i, sizeof v);
		v ^= k[i];
		memcpy(out + 16 * i, &v, sizeof v);
	}
	memcpy(&v4, keys + 96, sizeof v4);
	v4 ^= k4;
	memcpy(out + 96, &v4, sizeof v4);
}

void gen_binary_tile(const gen_tile *t, bool skew, unsigned char *out)
{
	const uint64_t *const high = t->hi, *const low = t->lo;
	unsigned char keys[(GEN_TILE + FIELDS - 1) * KEY_BYTES];
	vec k[6];
	uint32_t k4;
	memcpy(k, pattern, sizeof k);
	memcpy(&k4, pattern + sizeof k, sizeof k4);
	for (size_t i = 0; i < t->recs + FIELDS - 1; i++) {
		const uint64_t hi = htobe64(high[i]);
		const uint16_t lo = htobe16((uint16_t)(low[i] >> 48));
		memcpy(keys + i * KEY_BYTES, &hi, sizeof hi);
		memcpy(keys + i * KEY_BYTES + sizeof hi, &lo, sizeof lo);
	}
	for (size_t i = 0; i < t->recs; i++)
		binary_record(out + i * RECORD_BYTES, keys + i * KEY_BYTES, k, k4);
	if (!skew)
		return;
	for (size_t i = 0, span; i < t->recs; i += span) {
		const u128 lender = gen_skew_index(t->first + i);
		const uint64_t prefix = (uint64_t)(gen_lcg_at(lender + 1) >> 64);
		span = gen_skew_span(t->first + i, t->recs - i);
		for (size_t r = i; r < i + span; r++) { /* replace the leading bits of the key */
			const uint64_t mask = ~(UINT64_MAX >> gen_skew_bits(low[r]));
			const uint64_t key = htobe64((high[r] & ~mask) | (prefix & mask));
			memcpy(out + r * RECORD_BYTES, &key, sizeof key);
		}
	}
}

/* ------------------------------------------------------------ */

/* Records are made tile by tile: first the random values of a tile, then its bytes. Each tile is
 * made with LOOKAHEAD further values, because binary record n uses the values n to n + 9. Costs 13
 * KiB of stack; no allocation, no globals. */

enum { LOOKAHEAD = 12 }; /* at least nine, and a whole number of rounds */

_Static_assert(LOOKAHEAD >= 9 && LOOKAHEAD % GEN_LANES == 0 && GEN_TILE % GEN_LANES == 0,
	       "tiles are whole rounds");

void gen_records(gen_kind kind, u128 first, size_t recs, unsigned char *out)
{
	uint64_t hi[GEN_TILE + LOOKAHEAD], lo[GEN_TILE + LOOKAHEAD];
	gen_tile t = { .hi = hi, .lo = lo };
	gen_walk w;
	gen_walk_start(&w, first);
	gen_walk_next(&w, LOOKAHEAD / GEN_LANES, hi, lo);
	for (;;) {
		t.first = first;
		t.recs = recs < GEN_TILE ? recs : GEN_TILE;
		gen_walk_next(&w, (t.recs + GEN_LANES - 1) / GEN_LANES, hi + LOOKAHEAD,
			      lo + LOOKAHEAD);
		if (kind.ascii)
			gen_ascii_tile(&t, kind.skew, out);
		else
			gen_binary_tile(&t, kind.skew, out);
		first += t.recs;
		recs -= t.recs;
		out += t.recs * RECORD_BYTES;
		if (recs == 0)
			return;
		memcpy(hi, hi + GEN_TILE, LOOKAHEAD * sizeof hi[0]);
		memcpy(lo, lo + GEN_TILE, LOOKAHEAD * sizeof lo[0]);
	}
}
