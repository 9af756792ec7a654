/* SPDX-License-Identifier: GPL-3.0-or-later */
/* u64_algorithm.h with vectors of eight numbers, for x86 processors with AVX-512. It has a minimum
 * of unsigned numbers, so networks compare these. Pure. */
#include "base/minmax.h"
#include "u64_sort.h"

#ifdef U64_X86

#	include <immintrin.h>

#	define LANES   8
#	define VECTORS __attribute__((target("avx512f,popcnt")))
#	define INLINE  static inline __attribute__((always_inline)) VECTORS

typedef __m512i vec;

INLINE vec v_load(const uint64_t *p)
{
	return _mm512_loadu_si512(p);
}

INLINE void v_store(uint64_t *p, vec x)
{
	_mm512_storeu_si512(p, x);
}

INLINE vec v_all(uint64_t x)
{
	return _mm512_set1_epi64((long long)x);
}

INLINE vec v_enter(vec x, vec base)
{
	(void)base;
	return x;
}

INLINE vec v_leave(vec x, vec base)
{
	(void)base;
	return x;
}

INLINE __mmask8 lanes_of(int left)
{
	return left >= LANES ? 0xff : (__mmask8)((1u << (left > 0 ? left : 0)) - 1);
}

INLINE vec v_load_left(const uint64_t *p, int left, vec base)
{
	(void)base;
	return _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), lanes_of(left), p);
}

INLINE void v_store_left(uint64_t *p, int left, vec x)
{
	_mm512_mask_storeu_epi64(p, lanes_of(left), x);
}

INLINE vec v_least(vec a, vec b)
{
	return _mm512_min_epu64(a, b);
}

INLINE vec v_greatest(vec a, vec b)
{
	return _mm512_max_epu64(a, b);
}

INLINE void v_exchange(vec *a, vec *b)
{
	const vec upper = v_greatest(*a, *b);
	*a = v_least(*a, *b);
	*b = upper;
}

INLINE vec v_step(vec x, vec partner, __mmask8 upper)
{
	return _mm512_mask_max_epu64(_mm512_min_epu64(x, partner), upper, x, partner);
}

INLINE vec v_swap1(vec x)
{
	return _mm512_permutex_epi64(x, 0xb1);
}

INLINE vec v_swap2(vec x)
{
	return _mm512_permutex_epi64(x, 0x4e);
}

INLINE vec v_swap4(vec x)
{
	return _mm512_shuffle_i64x2(x, x, 0x4e);
}

INLINE vec v_turn4(vec x)
{
	return _mm512_permutex_epi64(x, 0x1b);
}

INLINE vec v_turn8(vec x)
{
	return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), x);
}

INLINE vec v_flip(vec x)
{
	return x;
}

/* The store at high is masked: it writes only the lanes that are not below. */
INLINE unsigned v_split(vec x, vec pivot, uint64_t *low, uint64_t *high)
{
	const __mmask8 below = _mm512_cmplt_epu64_mask(x, pivot);
	const unsigned count = (unsigned)__builtin_popcount(below), rest = LANES - count;
	_mm512_storeu_si512(low, _mm512_maskz_compress_epi64(below, x));
	_mm512_mask_storeu_epi64(high - rest, lanes_of((int)rest),
				 _mm512_maskz_compress_epi64((__mmask8)~below, x));
	return count;
}

#	include "u64_algorithm.h"

const u64_set U64_AVX512 = { "AVX-512", sort, split };

#endif
