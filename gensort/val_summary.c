/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Summaries of records: making, joining, encoding. Pure functions of their arguments. Counting has
 * no branch that depends on the data. Then the first unordered record is searched, if one
 * exists. */
#include "crc.h"
#include "val.h"

#include <endian.h>

/* Add 0x20 to each of eight bytes that is a letter from A to Z. One addition to the low seven bits
 * sets the top bit of bytes that are at least 'A'. Another sets it in bytes above 'Z'. */
static inline uint64_t fold_case(uint64_t v)
{
	const uint64_t each = 0x0101010101010101;
	uint64_t low7 = v & 0x7F * each;
	uint64_t from_a = low7 + (0x80 - 'A') * each, beyond_z = low7 + (0x7F - 'Z') * each;
	uint64_t is_letter = from_a & ~beyond_z & ~v & 0x80 * each;
	return v | is_letter >> 2;
}

static inline u128 val_key(const unsigned char *p, bool fold)
{
	uint64_t hi;
	uint16_t lo;
	memcpy(&hi, p, sizeof hi);
	memcpy(&lo, p + sizeof hi, sizeof lo);
	if (fold) {
		hi = fold_case(hi);
		lo = (uint16_t)fold_case(lo);
	}
	return (u128)be64toh(hi) << 16 | be16toh(lo);
}

int val_compare(const unsigned char *a, const unsigned char *b, bool fold)
{
	u128 x = val_key(a, fold), y = val_key(b, fold);
	return (x > y) - (x < y);
}

/* Count unordered and equal keys. Inlined twice, so that the loop need not test fold. */
static inline void val_count(val_summary *s, const unsigned char *p, size_t n, bool fold)
{
	u128 before = val_key(p, fold);
	size_t unordered = 0, dups = 0;
	for (size_t i = 1; i < n; i++) {
		u128 key = val_key(p + i * RECORD_BYTES, fold);
		unordered += key < before;
		dups += key == before;
		before = key;
	}
	s->unordered = unordered;
	s->dups = dups;
}

void val_summarise(val_summary *s, const unsigned char *p, size_t n, bool fold)
{
	*s = (val_summary){ .recs = n };
	if (n == 0)
		return;
	if (fold)
		val_count(s, p, n, true);
	else
		val_count(s, p, n, false);
	if (s->unordered != 0) {
		size_t i = 1;
		while (val_compare(p + (i - 1) * RECORD_BYTES, p + i * RECORD_BYTES, fold) <= 0)
			i++;
		s->first_unordered = i;
	}
	s->sum = crc_sum(p, n);
	memcpy(s->first, p, RECORD_BYTES);
	memcpy(s->last, p + (n - 1) * RECORD_BYTES, RECORD_BYTES);
}

bool val_plausible(const val_summary *s)
{
	const u128 most_crc = UINT32_MAX;
	if (s->recs == 0)
		return s->first_unordered == 0 && s->unordered == 0 && s->dups == 0 && s->sum == 0;
	if (s->unordered == 0 ? s->first_unordered != 0
			      : s->first_unordered == 0 || s->first_unordered >= s->recs ||
					s->unordered > s->recs - s->first_unordered)
		return false;
	if (s->dups >= s->recs || s->unordered >= s->recs - s->dups)
		return false;
	return s->recs >> 96 != 0 || s->sum <= s->recs * most_crc;
}

void val_join(val_summary *a, const val_summary *b, bool fold)
{
	if (b->recs == 0)
		return;
	if (a->recs == 0) {
		*a = *b;
		return;
	}
	const int order = val_compare(a->last, b->first, fold);
	a->unordered += b->unordered + (order > 0);
	a->dups += b->dups + (order == 0);
	if (a->first_unordered == 0 && order > 0)
		a->first_unordered = a->recs;
	else if (a->first_unordered == 0 && b->first_unordered != 0)
		a->first_unordered = a->recs + b->first_unordered;
	a->recs += b->recs;
	a->sum += b->sum;
	memcpy(a->last, b->last, RECORD_BYTES);
}

static unsigned char *val_put(unsigned char *out, u128 v)
{
	uint64_t words[2] = { htole64((uint64_t)(v >> 64)), htole64((uint64_t)v) };
	memcpy(out, words, sizeof words);
	return out + sizeof words;
}

static const unsigned char *val_get(const unsigned char *in, u128 *v)
{
	uint64_t words[2];
	memcpy(words, in, sizeof words);
	*v = (u128)le64toh(words[0]) << 64 | le64toh(words[1]);
	return in + sizeof words;
}

void val_encode(const val_summary *s, unsigned char *out)
{
	out = val_put(out, s->first_unordered);
	out = val_put(out, s->unordered);
	out = val_put(out, s->recs);
	out = val_put(out, s->dups);
	out = val_put(out, s->sum);
	memcpy(out, s->first, RECORD_BYTES);
	memcpy(out + RECORD_BYTES, s->last, RECORD_BYTES);
}

void val_decode(val_summary *s, const unsigned char *in)
{
	in = val_get(in, &s->first_unordered);
	in = val_get(in, &s->unordered);
	in = val_get(in, &s->recs);
	in = val_get(in, &s->dups);
	in = val_get(in, &s->sum);
	memcpy(s->first, in, RECORD_BYTES);
	memcpy(s->last, in + RECORD_BYTES, RECORD_BYTES);
}
