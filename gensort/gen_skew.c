/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Skew: which smaller record lends its prefix to record n, and how much of it.
 * Pure functions of the record number and of the low half of its random value. */
#include "gen_skew.h"

static unsigned bit_length(u128 n)
{
	uint64_t hi = (uint64_t)(n >> 64), lo = (uint64_t)n;

	if (hi)
		return 128 - (unsigned)__builtin_clzll(hi);
	return lo ? 64 - (unsigned)__builtin_clzll(lo) : 0;
}

/* The last nibble of each 64-bit half counts as a whole: the records must equal those of the
 * benchmark's own generator, which finds the length that way. */
unsigned gen_skew_index(u128 n)
{
	unsigned bits = bit_length(n);

	if (bits > 60 && bits < 64)
		return 64;
	return bits > 124 ? 128 : bits;
}

size_t gen_skew_span(u128 n, size_t max)
{
	unsigned s = gen_skew_index(n);
	u128 end = s < 128 ? (u128)1 << s : 0; /* 0 stands for 2^128 */
	u128 span = end - n;

	return span < max ? (size_t)span : max;
}

unsigned gen_skew_bits(uint64_t lo)
{
	unsigned bits = (unsigned)(lo >> 32) & 63;

	return bits > 48 ? 0 : bits;
}

unsigned gen_skew_chars(uint64_t lo)
{
	unsigned chars = (unsigned)(lo >> 32) & 7;

	return chars > 6 ? 0 : chars;
}
