/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local_kinds.c - the kinds of keys that local_bench.c measures: kinds from the literature on
 * sorting, and the kinds of gensort. Each function makes the key of record i of n records, which
 * depends only on i and n. */
#include "bench.h"
#include "local.h"

static void kind_set(unsigned char *k, uint64_t hi, uint64_t lo)
{
	for (unsigned j = 0; j < 8; j++)
		k[j] = (unsigned char)(hi >> (56 - 8 * j));
	k[8] = (unsigned char)(lo >> 8);
	k[9] = (unsigned char)lo;
}

/* Return a random number above 0, at most 1. */
static double kind_part(uint64_t i)
{
	return (double)((mix(i) >> 11) + 1) * 0x1p-53;
}

static void kind_uniform(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	kind_set(k, mix(2 * i), mix(2 * i + 1));
}

static void kind_equal(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)i, (void)n;
	memset(k, 0xab, KEY_MOST_BYTES);
}

/* Define a kind of keys by formulas of i and n for the first 8 bytes and the last 2 bytes. */
#define KIND(name, first, last)                                    \
	static void name(uint64_t i, uint64_t n, unsigned char *k) \
	{                                                          \
		(void)n;                                           \
		kind_set(k, first, last);                          \
	}
KIND(kind_prefix8, UINT64_C(0x0123456789abcdef), mix(i))
KIND(kind_prefix9, UINT64_C(0x0123456789abcdef), mix(i) & 0xff)
/* Nearly Zipf's law: for a uniform u, the key v = floor(1/u) has the share 1/(v(v+1)). */
KIND(kind_zipf, (uint64_t)(1 / kind_part(i)), 0)
/* Waiting times: whole numbers with the exponential distribution and mean 1000. */
KIND(kind_exponential, (uint64_t)(-1000 * log(kind_part(i))), 0)
KIND(kind_sorted, i << 24, i)
KIND(kind_reverse, (n - i) << 24, i)
KIND(kind_organ, (i < n / 2 ? i : n - i) << 20, 0)
KIND(kind_few, mix(mix(i) % 16), 7)
KIND(kind_thousand, mix(mix(i) % 1000), 7)
/* Numbers of all lengths in bits. */
KIND(kind_lengths, mix(2 * i) >> mix(3 * i + 1) % 64, 0)

/* Make a permutation of 0 to n - 1: apply a permutation of a power of two until the result is below
 * n. */
static void kind_dense(uint64_t i, uint64_t n, unsigned char *k)
{
	const unsigned bits = 64 - (unsigned)__builtin_clzll(n);
	const uint64_t mask = ~UINT64_C(0) >> (64 - bits);
	do {
		for (unsigned times = 0; times < 3; times++) {
			i = (i * UINT64_C(0x9e3779b97f4a7c15) + 12345) & mask;
			i ^= i >> (bits + 1) / 2;
		}
	} while (i >= n);
	kind_set(k, i, 0);
}
/* Make keys like gensort -s: record i starts with up to 48 bits of the key of the record whose
 * number is the length of i in bits. */
static void kind_skewed(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	unsigned bits = (unsigned)(mix(3 * i) >> 32) & 63, from = 0;
	for (uint64_t v = i; v; v >>= 1)
		from++;
	bits = bits > 48 ? 0 : bits;
	const uint64_t mask = bits ? ~UINT64_C(0) << (64 - bits) : 0;
	kind_set(k, (mix(from) & mask) | (mix(~i) & ~mask), mix(i));
}
/* Make keys like gensort -a: 95 printable characters. */
static void kind_ascii(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	for (unsigned j = 0; j < KEY_MOST_BYTES; j++)
		k[j] = (unsigned char)(' ' + (mix(16 * i + j) >> 32) % 95);
}
static void kind_giant(uint64_t i, uint64_t n, unsigned char *k)
{
	kind_uniform(i, n, k);
	if (mix(~i) % 10 < 5)
		kind_set(k, UINT64_C(0x5555555555555555), 0x5555);
}

/* Make sorted keys, but one in a hundred at random. */
static void kind_nearly(uint64_t i, uint64_t n, unsigned char *k)
{
	if (mix(i) % 100 == 0)
		kind_uniform(i, n, k);
	else
		kind_set(k, i << 24, i);
}
/* Make texts of words, whose letters are as frequent as in English. Words are as frequent as in
 * natural language (Zipf's law), and frequent words are short. */
static void kind_text(uint64_t i, uint64_t n, unsigned char *k)
{
	static const char LETTERS[] =
		"eeeeeeetttttaaaaooooiiinnnsssrrrhhhdddlluuccmmffyywwggppbbvk";
	unsigned at = 0;
	(void)n;
	for (uint64_t word = 4 * i; at < KEY_MOST_BYTES; word++) {
		const uint64_t w = (uint64_t)pow(50000, kind_part(word));
		const unsigned letters = 2 + (unsigned)log2((double)w) / 3 + (unsigned)(mix(w) % 4);
		for (unsigned j = 0; j < letters && at < KEY_MOST_BYTES; j++)
			k[at++] = (unsigned char)LETTERS[mix(16 * w + j) % (LEN(LETTERS) - 1)];
		if (at < KEY_MOST_BYTES)
			k[at++] = ' ';
	}
}

const key_kind KINDS[] = {
	{ "uniform", kind_uniform },
	{ "all-equal", kind_equal },
	{ "prefix-8", kind_prefix8 },
	{ "prefix-9", kind_prefix9 },
	{ "zipf", kind_zipf },
	{ "sorted", kind_sorted },
	{ "reverse", kind_reverse },
	{ "organ-pipe", kind_organ },
	{ "few-distinct", kind_few },
	{ "skewed", kind_skewed },
	{ "ascii", kind_ascii },
	{ "one-giant", kind_giant },
	{ "nearly-sorted", kind_nearly },
	{ "all-lengths", kind_lengths },
	{ "1000-values", kind_thousand },
	{ "dense", kind_dense },
	{ "exponential", kind_exponential },
	{ "text", kind_text },
	{ NULL, NULL },
};
