/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binary records: ten 10-byte fields, field i of record n being key n+i XOR a constant. So with
 * the keys of a tile laid end to end, each record is 100 bytes of that stream XOR one constant,
 * and the next record starts 10 bytes further on. Costs 5 KiB of stack. */
#include <endian.h>
#include <string.h>
#include "gen_record.h"
#include "gen_skew.h"

enum { FIELDS = RECORD_BYTES / KEY_BYTES };

typedef uint8_t vec __attribute__((vector_size(16)));

/* Fields 1 to 7 are the 70 bytes with four bits set, falling; 8 and 9 are of the same stuff. */
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

static void put_key(unsigned char *p, uint64_t hi, uint64_t lo)
{
	uint64_t h = htobe64(hi);
	uint16_t l = htobe16((uint16_t)(lo >> 48));

	memcpy(p, &h, sizeof h);
	memcpy(p + sizeof h, &l, sizeof l);
}

/* One record: six vectors and four bytes, which the compiler keeps in registers. */
static void put_record(unsigned char *out, const unsigned char *keys, const vec k[6], uint32_t k4)
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

/* Records n .. n+recs-1 share the prefix: the leading bits of each key give way to its bits. */
static void skew_run(const uint64_t *hi, const uint64_t *lo, size_t recs, uint64_t prefix,
		     unsigned char *out)
{
	for (size_t i = 0; i < recs; i++) {
		uint64_t mask = ~(UINT64_MAX >> gen_skew_bits(lo[i]));
		uint64_t key = htobe64((hi[i] & ~mask) | (prefix & mask));

		memcpy(out + i * RECORD_BYTES, &key, sizeof key);
	}
}

static void skew_tile(const struct gen_tile *t, unsigned char *out)
{
	size_t span;

	for (size_t i = 0; i < t->recs; i += span) {
		u128 lender = gen_skew_index(t->first + i);
		uint64_t prefix = (uint64_t)(gen_lcg_at(lender + 1) >> 64);

		span = gen_skew_span(t->first + i, t->recs - i);
		skew_run(t->hi + i, t->lo + i, span, prefix, out + i * RECORD_BYTES);
	}
}

void gen_binary_tile(const struct gen_tile *t, bool skew, unsigned char *out)
{
	unsigned char keys[(GEN_TILE + FIELDS - 1) * KEY_BYTES];
	vec k[6];
	uint32_t k4;

	memcpy(k, pattern, sizeof k);
	memcpy(&k4, pattern + sizeof k, sizeof k4);
	for (size_t i = 0; i < t->recs + FIELDS - 1; i++)
		put_key(keys + i * KEY_BYTES, t->hi[i], t->lo[i]);
	for (size_t i = 0; i < t->recs; i++)
		put_record(out + i * RECORD_BYTES, keys + i * KEY_BYTES, k, k4);
	if (skew)
		skew_tile(t, out);
}
