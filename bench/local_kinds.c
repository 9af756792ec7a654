/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local_kinds.c - the kinds of keys that local_bench.c measures: each makes the key of record i of
 * n from i. Those of the literature on sorting, and those of gensort. */
#include "bench.h"
#include "local.h"

static void set(unsigned char *k, uint64_t hi, uint64_t lo)
{
	for (unsigned j = 0; j < 8; j++)
		k[j] = (unsigned char)(hi >> (56 - 8 * j));
	k[8] = (unsigned char)(lo >> 8);
	k[9] = (unsigned char)lo;
}

static void uniform(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, mix(2 * i), mix(2 * i + 1));
}
static void equal(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)i, (void)n;
	memset(k, 0xab, KEY_MOST_BYTES);
}
static void prefix8(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, UINT64_C(0x0123456789abcdef), mix(i));
}
static void prefix9(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, UINT64_C(0x0123456789abcdef), mix(i) & 0xff);
}
/* 1/u has the tail of Zipf's law with exponent 1: key v has the share 1/v(v+1). */
static void zipf(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	const double u = (double)((mix(i) >> 11) + 1) * 0x1p-53;
	set(k, (uint64_t)(1 / u), 0);
}
/* Waiting times: whole numbers with the exponential distribution and mean 1000. */
static void exponential(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, (uint64_t)(-1000 * log((double)((mix(i) >> 11) + 1) * 0x1p-53)), 0);
}
static void sorted(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, i << 24, i);
}
static void reverse(uint64_t i, uint64_t n, unsigned char *k)
{
	set(k, (n - i) << 24, i);
}
static void organ(uint64_t i, uint64_t n, unsigned char *k)
{
	set(k, (i < n / 2 ? i : n - i) << 20, 0);
}
static void few(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, mix(mix(i) % 16), 7);
}
static void thousand(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, mix(mix(i) % 1000), 7);
}
/* A permutation of 0 to n - 1: one of a power of two, repeated until it is below n. */
static void dense(uint64_t i, uint64_t n, unsigned char *k)
{
	const unsigned bits = 64 - (unsigned)__builtin_clzll(n);
	const uint64_t mask = ~UINT64_C(0) >> (64 - bits);
	do {
		for (unsigned times = 0; times < 3; times++) {
			i = (i * UINT64_C(0x9e3779b97f4a7c15) + 12345) & mask;
			i ^= i >> (bits + 1) / 2;
		}
	} while (i >= n);
	set(k, i, 0);
}
/* As gensort -s: record i starts with up to 48 bits of the key of a record as small as the length
 * of i in bits. */
static void skewed(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	unsigned bits = (unsigned)(mix(3 * i) >> 32) & 63, from = 0;
	for (uint64_t v = i; v; v >>= 1)
		from++;
	bits = bits > 48 ? 0 : bits;
	const uint64_t mask = bits ? ~UINT64_C(0) << (64 - bits) : 0;
	set(k, (mix(from) & mask) | (mix(~i) & ~mask), mix(i));
}
/* As gensort -a: 95 printable characters. */
static void ascii(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	for (unsigned j = 0; j < KEY_MOST_BYTES; j++)
		k[j] = (unsigned char)(' ' + (mix(16 * i + j) >> 32) % 95);
}
static void giant(uint64_t i, uint64_t n, unsigned char *k)
{
	uniform(i, n, k);
	if (mix(~i) % 10 < 5)
		set(k, UINT64_C(0x5555555555555555), 0x5555);
}

/* One of a hundred is out of place. */
static void nearly(uint64_t i, uint64_t n, unsigned char *k)
{
	if (mix(i) % 100 == 0)
		uniform(i, n, k);
	else
		set(k, i << 24, i);
}
/* Numbers of all lengths. */
static void lengths(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, mix(2 * i) >> mix(3 * i + 1) % 64, 0);
}
/* Words, the frequent ones short, with the letters of English by frequency. Word w has the share
 * of Zipf's law, as in natural language. */
static void text(uint64_t i, uint64_t n, unsigned char *k)
{
	static const char LETTERS[] =
		"eeeeeeetttttaaaaooooiiinnnsssrrrhhhdddlluuccmmffyywwggppbbvk";
	unsigned at = 0;

	(void)n;
	for (uint64_t word = 4 * i; at < KEY_MOST_BYTES; word++) {
		const double u = (double)((mix(word) >> 11) + 1) * 0x1p-53;
		const uint64_t w = (uint64_t)pow(50000, u);
		const unsigned letters = 2 + (unsigned)log2((double)w) / 3 + (unsigned)(mix(w) % 4);
		for (unsigned j = 0; j < letters && at < KEY_MOST_BYTES; j++)
			k[at++] = (unsigned char)LETTERS[mix(16 * w + j) % (LEN(LETTERS) - 1)];
		if (at < KEY_MOST_BYTES)
			k[at++] = ' ';
	}
}

const key_kind KINDS[] = {
	{ "uniform", uniform },
	{ "all-equal", equal },
	{ "prefix-8", prefix8 },
	{ "prefix-9", prefix9 },
	{ "zipf", zipf },
	{ "sorted", sorted },
	{ "reverse", reverse },
	{ "organ-pipe", organ },
	{ "few-distinct", few },
	{ "skewed", skewed },
	{ "ascii", ascii },
	{ "one-giant", giant },
	{ "nearly-sorted", nearly },
	{ "all-lengths", lengths },
	{ "1000-values", thousand },
	{ "dense", dense },
	{ "exponential", exponential },
	{ "text", text },
	{ NULL, NULL },
};
