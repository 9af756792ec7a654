/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRC32 of 100-byte records as a dot product. A CRC is the remainder of a division of polynomials
 * by P, which is linear. So the CRC of a record is the sum of its 64-bit words, each multiplied by
 * its own power of x modulo P. This takes twelve independent carry-less products and one reduction
 * per record. If the processor multiplies in 256-bit registers, two records share the reduction,
 * which takes less than half the time of calls of isa-l. A library is the fallback, and the
 * products are used only if they agree with it. */
#include "crc.h"
#include "tool.h"
#ifdef HAVE_ISAL
#	include <isa-l/crc.h>
#else
#	include <zlib.h>
#endif

static uint64_t (*crc_chosen)(const unsigned char *, size_t) = crc_sum_library;

static uint32_t crc_library(const unsigned char *p)
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
		sum += crc_library(p);
	return sum;
}

uint64_t crc_sum(const unsigned char *p, size_t recs)
{
	return crc_chosen(p, recs);
}

#if defined(__x86_64__) && defined(__GNUC__)
#	include <immintrin.h>

/* Bits are reflected throughout: the lowest bit of a word is its highest power of x. A sum of
 * products has 96 bits, and its last bit is the coefficient of x^0. */
#	define POLY UINT64_C(0x1DB710641) /* x^32 + ... + 1, 33 bits */

enum { WORDS = RECORD_BYTES / 8, PAIRS = WORDS / 2, TAIL = RECORD_BYTES - 8 * WORDS, TRIAL = 64 };

_Static_assert(WORDS == 12 && TAIL == 4, "the last four bytes need no product");

static uint64_t factor[WORDS]; /* of word j, without the factor x that reflected products have */
static uint64_t quotient; /* times the first 64 bits of a sum: the multiple of P that clears them */
static uint32_t of_zeros; /* the CRC of a record of zeros, which is added to the linear part */

/* Return x^n modulo P, reflected. */
static uint64_t crc_power(unsigned n)
{
	uint32_t r = 0x80000000; /* x^0 */
	while (n--)
		r = r >> 1 ^ (r & 1 ? (uint32_t)(POLY >> 1) : 0);
	return r;
}

bool crc_has_clmul(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

bool crc_has_clmul256(void)
{
	return crc_has_clmul() && __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("vpclmulqdq");
}

/* A shuffle of bytes 84 to 99 that moves the last four to their place in the sum. */
#	define TAIL_BYTES -1, -1, -1, -1, -1, -1, -1, -1, 15, 14, 13, 12, -1, -1, -1, -1

__attribute__((target("pclmul,sse4.1"))) uint64_t crc_sum_clmul(const unsigned char *p, size_t recs)
{
	const __m128i k = _mm_set_epi64x(POLY, (int64_t)quotient), tail = _mm_set_epi8(TAIL_BYTES);
	const __m128i zeros = _mm_set_epi64x(of_zeros, 0);
	__m128i f[PAIRS], sum = _mm_setzero_si128();
	memcpy(f, factor, sizeof f);
	for (size_t i = 0; i < recs; i++, p += RECORD_BYTES) {
		__m128i v = _mm_loadu_si128((const __m128i *)(p + RECORD_BYTES - sizeof v));
		__m128i q;
		v = _mm_shuffle_epi8(v, tail);
#	pragma GCC unroll 6
		for (int j = 0; j < PAIRS; j++) {
			__m128i w = _mm_loadu_si128((const __m128i *)p + j);
			v = _mm_xor_si128(v, _mm_clmulepi64_si128(w, f[j], 0x00));
			v = _mm_xor_si128(v, _mm_clmulepi64_si128(w, f[j], 0x11));
		}
		q = _mm_clmulepi64_si128(v, k, 0x00);
		v = _mm_xor_si128(v, _mm_clmulepi64_si128(q, k, 0x10));
		sum = _mm_add_epi64(sum, _mm_xor_si128(v, zeros)); /* the first 64 bits are 0 */
	}
	return (uint64_t)_mm_extract_epi64(sum, 1);
}

#	define TARGET256 __attribute__((target("vpclmulqdq,pclmul,avx2")))

/* Return the sum of the products of one record, as two sums of 96 bits. */
TARGET256 static inline __m256i crc_dot256(const unsigned char *p, const __m256i *f)
{
	__m256i v = _mm256_setzero_si256();

#	pragma GCC unroll 3
	for (int j = 0; j < PAIRS / 2; j++) {
		__m256i w = _mm256_loadu_si256((const __m256i *)p + j);
		v = _mm256_xor_si256(v, _mm256_clmulepi64_epi128(w, f[j], 0x00));
		v = _mm256_xor_si256(v, _mm256_clmulepi64_epi128(w, f[j], 0x11));
	}
	return v;
}

TARGET256 uint64_t crc_sum_clmul256(const unsigned char *p, size_t recs)
{
	const __m256i k = _mm256_set_epi64x(POLY, (int64_t)quotient, POLY, (int64_t)quotient);
	const __m256i tail = _mm256_set_epi8(TAIL_BYTES, TAIL_BYTES);
	const __m256i zeros = _mm256_set_epi64x(of_zeros, 0, of_zeros, 0);
	__m256i f[PAIRS / 2], sum = _mm256_setzero_si256();
	memcpy(f, factor, sizeof f);
	for (size_t i = 0; i + 1 < recs; i += 2, p += 2 * RECORD_BYTES) {
		__m256i a = crc_dot256(p, f), b = crc_dot256(p + RECORD_BYTES, f), v, q;
		v = _mm256_loadu2_m128i((const __m128i *)(p + 2 * RECORD_BYTES) - 1,
					(const __m128i *)(p + RECORD_BYTES) - 1);
		v = _mm256_shuffle_epi8(v, tail);
		v = _mm256_xor_si256(v, _mm256_permute2x128_si256(a, b, 0x20));
		v = _mm256_xor_si256(v, _mm256_permute2x128_si256(a, b, 0x31));
		q = _mm256_clmulepi64_epi128(v, k, 0x00);
		v = _mm256_xor_si256(v, _mm256_clmulepi64_epi128(q, k, 0x10));
		sum = _mm256_add_epi64(sum, _mm256_xor_si256(v, zeros));
	}
	return (uint64_t)_mm256_extract_epi64(sum, 1) + (uint64_t)_mm256_extract_epi64(sum, 3) +
	       crc_sum_clmul(p, recs % 2);
}

/* Return whether a method agrees with the library on some records. */
static bool crc_agrees(uint64_t (*method)(const unsigned char *, size_t))
{
	unsigned char p[TRIAL * RECORD_BYTES];
	uint32_t v = 1;
	for (size_t i = 0; i < sizeof p; i++) {
		v = v * 1103515245 + 12345;
		p[i] = (unsigned char)(v >> 16);
	}
	for (size_t recs = 1; recs <= TRIAL; recs++)
		if (method(p, recs) != crc_sum_library(p, recs))
			return false;
	return true;
}

void crc_init(void)
{
	static const unsigned char zeros[RECORD_BYTES];
	for (unsigned j = 0; j < WORDS; j++)
		factor[j] = crc_power(8 * (RECORD_BYTES - 8 * (j + 1)) + 32 - 1);
	quotient = 0; /* becomes 1/P modulo 2^64, without carries */
	uint64_t rest = 1;
	for (unsigned i = 0; i < 64; i++)
		if (rest >> i & 1) {
			quotient |= UINT64_C(1) << i;
			rest ^= POLY << i;
		}
	of_zeros = crc_library(zeros);
	if (crc_has_clmul() && crc_agrees(crc_sum_clmul))
		crc_chosen = crc_sum_clmul;
	if (crc_has_clmul256() && crc_agrees(crc_sum_clmul256))
		crc_chosen = crc_sum_clmul256;
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

bool crc_has_clmul256(void)
{
	return false;
}

uint64_t crc_sum_clmul256(const unsigned char *p, size_t recs)
{
	return crc_sum_library(p, recs);
}

#endif
