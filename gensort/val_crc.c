/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRC32 of 100-byte records by folding: 16 bytes at a time are moved on to the next 16 by two
 * carry-less products, and the twelve bytes that remain go through byte tables. All constants
 * are computed from the polynomial; before the way is used, the library must agree with it. */
#include "record.h"
#include "val_crc.h"
#ifdef HAVE_ISAL
#	include <isa-l/crc.h>
#else
#	include <zlib.h>
#endif

static uint64_t (*way)(const unsigned char *, size_t) = val_crc_sum_library;

static uint32_t library(const unsigned char *p)
{
#ifdef HAVE_ISAL
	return crc32_gzip_refl(0, p, RECORD_BYTES);
#else
	return (uint32_t)crc32(0, p, RECORD_BYTES);
#endif
}

uint64_t val_crc_sum_library(const unsigned char *p, size_t n)
{
	const unsigned char *end = p + n * RECORD_BYTES;
	uint64_t sum = 0;

	for (; p < end; p += RECORD_BYTES)
		sum += library(p);
	return sum;
}

uint64_t val_crc_sum(const unsigned char *p, size_t n)
{
	return way(p, n);
}

#if defined(__x86_64__) && defined(__GNUC__)
#	include <emmintrin.h>
#	include <string.h>
#	include <wmmintrin.h>

#	define REFLECTED \
		0xEDB88320u /* the polynomial without x^32, highest power in the lowest bit */

enum { CHUNK = 16, CHUNKS = RECORD_BYTES / CHUNK, TRIAL = 64 };

static uint32_t slice[8][256]; /* [k][b]: what byte b leaves after k more bytes of zeros */
static __m128i over_chunk;     /* moves 16 bytes over the 16 that follow */
static __m128i over_rest;      /* moves 16 bytes to where the reduction starts */
static uint32_t all_zeros;     /* CRC of a record of zeros: the part of any CRC that is constant */

static uint32_t times_x(uint32_t v)
{
	return v & 1 ? v >> 1 ^ REFLECTED : v >> 1;
}

/* x^n modulo the polynomial, as the factor of a product that comes out one place too high. */
static long long factor(int n)
{
	uint32_t v = 1u << 31;

	for (int i = 1; i < n; i++)
		v = times_x(v);
	const uint64_t high = (uint64_t)v << 32;
	return (long long)high;
}

static void make_tables(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t v = b;

		for (int i = 0; i < 8; i++)
			v = times_x(v);
		slice[0][b] = v;
	}
	for (int k = 1; k < 8; k++)
		for (int b = 0; b < 256; b++)
			slice[k][b] = slice[k - 1][b] >> 8 ^ slice[0][slice[k - 1][b] & 255];
}

/* Both halves of a are moved on by the two factors in k and meet b there. */
__attribute__((target("pclmul"))) static inline __m128i fold(__m128i a, __m128i k, __m128i b)
{
	return _mm_xor_si128(b, _mm_xor_si128(_mm_clmulepi64_si128(a, k, 0x00),
					      _mm_clmulepi64_si128(a, k, 0x11)));
}

/* What is left of a value below x^96, which fills the upper twelve bytes. */
static inline uint32_t remainder_of(__m128i v)
{
	uint64_t w = (uint64_t)_mm_cvtsi128_si64(_mm_srli_si128(v, 4));
	uint32_t r = (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(v, 12));

#	pragma GCC unroll 8
	for (int k = 0; k < 8; k++)
		r ^= slice[7 - k][w >> 8 * k & 255];
	return r;
}

__attribute__((target("pclmul"))) static inline uint32_t folded(const unsigned char *p)
{
	__m128i a = _mm_loadu_si128((const __m128i *)p);
	int tail;

#	pragma GCC unroll 8
	for (int i = 1; i < CHUNKS; i++)
		a = fold(a, over_chunk, _mm_loadu_si128((const __m128i *)(p + CHUNK * i)));
	memcpy(&tail, p + CHUNK * CHUNKS, sizeof tail);
	return remainder_of(fold(a, over_rest, _mm_slli_si128(_mm_cvtsi32_si128(tail), 8)));
}

__attribute__((target("pclmul"))) uint64_t val_crc_sum_folding(const unsigned char *p, size_t n)
{
	const unsigned char *end = p + n * RECORD_BYTES;
	uint64_t sum = 0;

	for (; p < end; p += RECORD_BYTES)
		sum += folded(p) ^ all_zeros;
	return sum;
}

bool val_crc_can_fold(void)
{
	return __builtin_cpu_supports("pclmul");
}

/* A judge has to be right: the fast way is used only if the library agrees on some records. */
static bool trial(void)
{
	unsigned char p[TRIAL * RECORD_BYTES];
	uint32_t v = 1;

	for (size_t i = 0; i < sizeof p; i++) {
		v = v * 1103515245 + 12345;
		p[i] = (unsigned char)(v >> 16);
	}
	for (size_t i = 0; i < TRIAL; i++)
		if (val_crc_sum_folding(p + i * RECORD_BYTES, 1) != library(p + i * RECORD_BYTES))
			return false;
	return true;
}

void val_crc_init(void)
{
	static const unsigned char zeros[RECORD_BYTES];

	make_tables();
	over_chunk = _mm_set_epi64x(factor(128), factor(128 + 64));
	over_rest = _mm_set_epi64x(factor(64), factor(64 + 64));
	all_zeros = library(zeros);
	if (val_crc_can_fold() && trial())
		way = val_crc_sum_folding;
}

#else

uint64_t val_crc_sum_folding(const unsigned char *p, size_t n)
{
	return val_crc_sum_library(p, n);
}

bool val_crc_can_fold(void)
{
	return false;
}

void val_crc_init(void)
{
}

#endif
