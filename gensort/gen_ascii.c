/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ASCII records: a key of ten printable characters, the record number in hexadecimal, and 52
 * characters of filler, each hexadecimal digit four times. Digits come in pairs from tables;
 * a template holds what a run of up to 256 records has in common. 20 KiB of tables. */
#include <string.h>
#include "gen_record.h"
#include "gen_skew.h"

enum {
	BASE = 95, /* the printable characters, from the space to the tilde */
	BASE2 = BASE * BASE,
	BASE4 = BASE2 * BASE2,
	NUMBER_AT = 12, /* places in the record */
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

/* Four characters of the key from a number below 95^4. */
static void put_four(unsigned char *p, uint32_t v)
{
	memcpy(p, pairs[v % BASE2], 2);
	memcpy(p + 2, pairs[v / BASE2], 2);
}

static void put_key(unsigned char *p, uint64_t hi, uint64_t lo)
{
	put_four(p, (uint32_t)(hi % BASE4));
	put_four(p + 4, (uint32_t)(hi / BASE4 % BASE4));
	memcpy(p + 8, pairs[lo % BASE2], 2);
}

/* Thirteen digits, from bits 51..48 down to bits 3..0. */
static void put_filler(unsigned char *p, uint64_t lo)
{
	memset(p, hex_digit((unsigned)(lo >> 48)), 4);
#pragma GCC unroll 6
	for (int i = 0; i < 6; i++)
		memcpy(p + 4 + 8 * i, quads[lo >> (40 - 8 * i) & 255], 8);
}

static void put_number(unsigned char *p, u128 n)
{
	for (int i = NUMBER_DIGITS - 2; i >= 0; i -= 2, n >>= 8)
		memcpy(p + i, hex_pairs[(unsigned)n & 255], 2);
}

/* Records whose numbers differ in their last two digits only. */
static void put_run(const struct gen_tile *t, size_t from, size_t recs, unsigned char *out)
{
	unsigned low = (unsigned)(t->first + from) & 255;
	unsigned char template[RECORD_BYTES];

	memset(template, ' ', sizeof template);
	put_number(template + NUMBER_AT, t->first + from);
	memcpy(template + RECORD_BYTES - 2, "\r\n", 2);
	for (size_t i = 0; i < recs; i++, out += RECORD_BYTES) {
		uint64_t lo = t->lo[from + i];

		memcpy(out, template, sizeof template);
		memcpy(out + NUMBER_AT + NUMBER_DIGITS - 2, hex_pairs[low + i], 2);
		put_key(out, t->hi[from + i], lo);
		put_filler(out + FILLER_AT, lo);
	}
}

/* Record numbers whose prefix is the same: its first characters replace those of the key. */
static void skew_run(const uint64_t *lo, size_t recs, const unsigned char *prefix,
		     unsigned char *out)
{
	unsigned char ones[2 * GEN_SKEW_BYTES + 4];
	uint64_t p, mask, key;

	/* The eight bytes from ones + 6 - m on are a mask of m leading bytes, on any host. */
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

static void skew_tile(const struct gen_tile *t, unsigned char *out)
{
	unsigned char prefix[KEY_BYTES];
	size_t span;

	for (size_t i = 0; i < t->recs; i += span) {
		u128 lender = gen_lcg_at(gen_skew_index(t->first + i) + (u128)1);

		span = gen_skew_span(t->first + i, t->recs - i);
		put_key(prefix, (uint64_t)(lender >> 64), (uint64_t)lender);
		skew_run(t->lo + i, span, prefix, out + i * RECORD_BYTES);
	}
}

void gen_ascii_tile(const struct gen_tile *t, bool skew, unsigned char *out)
{
	size_t run;

	for (size_t i = 0; i < t->recs; i += run) {
		size_t to_carry = 256 - ((size_t)(t->first + i) & 255);

		run = t->recs - i < to_carry ? t->recs - i : to_carry;
		put_run(t, i, run, out + i * RECORD_BYTES);
	}
	if (skew)
		skew_tile(t, out);
}
