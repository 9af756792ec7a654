/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Eight numbers a vector. A network is bitonic: each vector is sorted, then pairs, fours and eights
 * of vectors are merged, all in registers. Pure. */
#include "u64_sort.h"

#ifdef U64_AVX512

#	include <immintrin.h>
#	include <string.h>

#	define VECTORS __attribute__((target("avx512f,popcnt")))
#	define INLINE  static inline __attribute__((always_inline)) VECTORS

enum { LANES = 8, VECTORS_MOST = U64_NETWORK / LANES };

/* One step inside a vector: every lane against its partner, the lanes of `upper` keep the larger.
 */
#	define STEP(x, partner, upper)                                                     \
		do {                                                                        \
			const __m512i p_ = (partner);                                       \
			(x) = _mm512_mask_max_epu64(_mm512_min_epu64(x, p_), upper, x, p_); \
		} while (0)

INLINE __m512i reversed(__m512i x)
{
	return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), x);
}

INLINE __m512i sort8(__m512i x)
{
	STEP(x, _mm512_permutex_epi64(x, 0xb1), 0xaa);
	STEP(x, _mm512_permutex_epi64(x, 0x1b), 0xcc);
	STEP(x, _mm512_permutex_epi64(x, 0xb1), 0xaa);
	STEP(x, reversed(x), 0xf0);
	STEP(x, _mm512_permutex_epi64(x, 0x4e), 0xcc);
	STEP(x, _mm512_permutex_epi64(x, 0xb1), 0xaa);
	return x;
}

/* Sorts ascending lanes that are followed by descending ones, or the reverse. */
INLINE __m512i bitonic8(__m512i x)
{
	STEP(x, _mm512_shuffle_i64x2(x, x, 0x4e), 0xf0);
	STEP(x, _mm512_permutex_epi64(x, 0x4e), 0xcc);
	STEP(x, _mm512_permutex_epi64(x, 0xb1), 0xaa);
	return x;
}

/* The lower of each pair of lanes to a, the upper to b. */
INLINE void exchange(__m512i *a, __m512i *b)
{
	const __m512i upper = _mm512_max_epu64(*a, *b);
	*a = _mm512_min_epu64(*a, *b);
	*b = upper;
}

/* k vectors, of which both halves ascend. */
INLINE void merge(__m512i *v, unsigned k)
{
#	pragma GCC unroll 8
	for (unsigned i = 0; i < k / 2; i++) {
		v[k - 1 - i] = reversed(v[k - 1 - i]);
		exchange(&v[i], &v[k - 1 - i]);
	}
#	pragma GCC unroll 8
	for (unsigned d = k / 4; d > 0; d /= 2)
#	pragma GCC unroll 8
		for (unsigned i = 0; i < k; i++)
			if (!(i & d))
				exchange(&v[i], &v[i + d]);
#	pragma GCC unroll 8
	for (unsigned i = 0; i < k; i++)
		v[i] = bitonic8(v[i]);
}

/* Which lanes of vector i hold some of n numbers. */
INLINE __mmask8 lanes_of(size_t n, unsigned i)
{
	return n >= (i + 1) * LANES ? 0xff : (__mmask8)((1u << (n - i * LANES)) - 1);
}

/* n numbers in k vectors (a constant), of which the first half is full. */
INLINE void network(const uint64_t *a, uint64_t *to, size_t n, unsigned k)
{
	const __m512i most = _mm512_set1_epi64(-1);
	__m512i v[VECTORS_MOST];
#	pragma GCC unroll 8
	for (unsigned i = 0; i < k; i++) {
		if (i < k / 2)
			v[i] = _mm512_loadu_si512(a + i * LANES);
		else if (n > i * LANES)
			v[i] = _mm512_mask_loadu_epi64(most, lanes_of(n, i), a + i * LANES);
		else
			v[i] = most;
		v[i] = sort8(v[i]);
	}
#	pragma GCC unroll 4
	for (unsigned w = 2; w <= k; w *= 2)
#	pragma GCC unroll 8
		for (unsigned i = 0; i < k; i += w)
			merge(v + i, w);
#	pragma GCC unroll 8
	for (unsigned i = 0; i < k; i++)
		if (i < k / 2)
			_mm512_storeu_si512(to + i * LANES, v[i]);
		else if (n > i * LANES)
			_mm512_mask_storeu_epi64(to + i * LANES, lanes_of(n, i), v[i]);
}

VECTORS void u64_avx512_few(const uint64_t *a, uint64_t *to, size_t n)
{
	if (n > 4 * LANES)
		network(a, to, n, 8);
	else if (n > 2 * LANES)
		network(a, to, n, 4);
	else if (n > LANES)
		network(a, to, n, 2);
	else
		network(a, to, n, 1);
}

VECTORS void u64_avx512_range(const uint64_t *a, size_t n, uint64_t *least, uint64_t *most)
{
	__m512i low = _mm512_loadu_si512(a + n - LANES), high = low;
	for (size_t i = 0; i + LANES <= n; i += LANES) {
		const __m512i x = _mm512_loadu_si512(a + i);
		low = _mm512_min_epu64(low, x);
		high = _mm512_max_epu64(high, x);
	}
	*least = _mm512_reduce_min_epu64(low);
	*most = _mm512_reduce_max_epu64(high);
}

/* Numbers below the pivot go to the front of a, which has been read there; the others to tmp. */
VECTORS size_t u64_avx512_partition(uint64_t *a, uint64_t *tmp, size_t n, uint64_t pivot)
{
	const __m512i p = _mm512_set1_epi64((long long)pivot);
	size_t low = 0, high = 0, i = 0;
	for (; i + LANES <= n; i += LANES) {
		const __m512i x = _mm512_loadu_si512(a + i);
		const __mmask8 below = _mm512_cmplt_epu64_mask(x, p);
		const unsigned count = (unsigned)__builtin_popcount(below);
		_mm512_storeu_si512(a + low, _mm512_maskz_compress_epi64(below, x));
		_mm512_storeu_si512(tmp + high, _mm512_maskz_compress_epi64((__mmask8)~below, x));
		low += count;
		high += LANES - count;
	}
	for (; i < n; i++)
		if (a[i] < pivot)
			a[low++] = a[i];
		else
			tmp[high++] = a[i];
	memcpy(a + low, tmp, high * sizeof *a);
	return low;
}

/* The free places of an array, [low, high): numbers below the pivot go to its front, the others to
 * its end. */
typedef struct gap {
	uint64_t *low, *high;
} gap;

/* Put one vector; the gap must have room for it. */
INLINE void put(gap *g, __m512i x, __m512i pivot)
{
	const __mmask8 below = _mm512_cmplt_epu64_mask(x, pivot);
	const unsigned count = (unsigned)__builtin_popcount(below), rest = LANES - count;
	_mm512_storeu_si512(g->low, _mm512_maskz_compress_epi64(below, x));
	g->low += count;
	g->high -= rest;
	_mm512_mask_storeu_epi64(g->high, (__mmask8)((1u << rest) - 1),
				 _mm512_maskz_compress_epi64((__mmask8)~below, x));
}

/* The first and the last block are read first, so that the gap has room. Then a block is read each
 * time from the side where the gap is smaller. */
VECTORS size_t u64_avx512_split(uint64_t *a, size_t n, uint64_t pivot)
{
	enum { BLOCK = 4, NUMBERS = BLOCK * LANES };
	const __m512i p = _mm512_set1_epi64((long long)pivot);
	const size_t whole = n - n % NUMBERS;
	gap g = { a, a + whole };
	uint64_t *from = a + NUMBERS, *end = a + whole - NUMBERS;
	__m512i held[2 * BLOCK];
	for (unsigned i = 0; i < BLOCK; i++) {
		held[i] = _mm512_loadu_si512(a + i * LANES);
		held[BLOCK + i] = _mm512_loadu_si512(end + i * LANES);
	}
	while (from < end) {
		const uint64_t *block = from;
		__m512i x[BLOCK];
		if (from - g.low <= g.high - end)
			from += NUMBERS;
		else
			block = end -= NUMBERS;
		for (unsigned i = 0; i < BLOCK; i++)
			x[i] = _mm512_loadu_si512(block + i * LANES);
		for (unsigned i = 0; i < BLOCK; i++)
			put(&g, x[i], p);
	}
	for (unsigned i = 0; i < 2 * BLOCK; i++)
		put(&g, held[i], p);
	size_t low = (size_t)(g.low - a);
	for (size_t i = whole; i < n; i++) {
		const uint64_t x = a[i];
		if (x >= pivot)
			continue;
		a[i] = a[low];
		a[low++] = x;
	}
	return low;
}

#endif
