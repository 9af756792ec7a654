/* SPDX-License-Identifier: GPL-3.0-or-later */
/* u64_algorithm.h with vectors of four numbers, for x86 processors with AVX2. Pure. */
#include "base/arith.h"
#include "u64_sort.h"

#ifdef U64_X86

#	include <immintrin.h>

#	define LANES   4
#	define QUICK   0
#	define VECTORS __attribute__((target("avx2,popcnt")))
#	define INLINE  static inline __attribute__((always_inline)) VECTORS

typedef __m256i vec;

#	define v_load(p)        _mm256_loadu_si256((const void *)(p))
#	define v_store(p, x)    _mm256_storeu_si256((void *)(p), x)
#	define v_all(x)         _mm256_set1_epi64x((long long)(x))
#	define v_enter(x, base) _mm256_sub_epi64(x, base)
#	define v_leave(x, base) _mm256_add_epi64(x, base)
#	define v_lows(a, b)     _mm256_permute2x128_si256(a, b, 0x20)
#	define v_highs(a, b)    _mm256_permute2x128_si256(a, b, 0x31)
#	define v_evens(a, b)    _mm256_unpacklo_epi64(a, b)
#	define v_odds(a, b)     _mm256_unpackhi_epi64(a, b)
#	define v_flip(x)        _mm256_xor_si256(x, v_all(UINT64_C(1) << 63)) /* AVX2 compares signed */
#	define v_load_left      avx2_load_left
#	define v_store_left     avx2_store_left
#	define v_exchange       avx2_exchange
#	define v_least          avx2_least
#	define v_greatest       avx2_greatest
#	define v_split          avx2_split

INLINE vec avx2_lanes(int left)
{
	return _mm256_cmpgt_epi64(v_all((int64_t)left), _mm256_set_epi64x(3, 2, 1, 0));
}

/* Load and enter the first `left` lanes; set the others to infinity. */
INLINE vec avx2_load_left(const uint64_t *p, int left, vec base)
{
	const vec infinity = v_all(UINT64_C(0x7ff) << 52);
	return _mm256_blendv_epi8(infinity, v_enter(v_load(p), base), avx2_lanes(left));
}

INLINE void avx2_store_left(uint64_t *p, int left, vec x)
{
	v_store(p, _mm256_blendv_epi8(v_load(p), x, avx2_lanes(left)));
}

INLINE void avx2_exchange(vec *a, vec *b)
{
	const __m256d x = _mm256_castsi256_pd(*a), y = _mm256_castsi256_pd(*b);
	*a = _mm256_castpd_si256(_mm256_min_pd(x, y));
	*b = _mm256_castpd_si256(_mm256_max_pd(x, y));
}

INLINE vec avx2_least(vec a, vec b)
{
	return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

INLINE vec avx2_greatest(vec a, vec b)
{
	return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

#	define HALVES(lane) 2 * (lane), 2 * (lane) + 1
#	define ORDER(a, b, c, d)                                  \
		{                                                  \
			HALVES(a), HALVES(b), HALVES(c), HALVES(d) \
		}

/* For each set of lanes below the pivot, an order of lanes: these first, then the others. */
static const uint32_t BELOW_FIRST[16][8] = {
	ORDER(0, 1, 2, 3), ORDER(0, 1, 2, 3), ORDER(1, 0, 2, 3), ORDER(0, 1, 2, 3),
	ORDER(2, 0, 1, 3), ORDER(0, 2, 1, 3), ORDER(1, 2, 0, 3), ORDER(0, 1, 2, 3),
	ORDER(3, 0, 1, 2), ORDER(0, 3, 1, 2), ORDER(1, 3, 0, 2), ORDER(0, 1, 3, 2),
	ORDER(2, 3, 0, 1), ORDER(0, 2, 3, 1), ORDER(1, 2, 3, 0), ORDER(0, 1, 2, 3),
};

INLINE unsigned avx2_split(vec x, vec pivot, uint64_t *low, uint64_t *high)
{
	const vec is_below = _mm256_cmpgt_epi64(pivot, v_flip(x));
	const unsigned below = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(is_below));
	const vec order = _mm256_loadu_si256((const void *)BELOW_FIRST[below]);
	const vec parts = _mm256_permutevar8x32_epi32(x, order);
	v_store(low, parts);
	v_store(high - LANES, parts);
	return (unsigned)__builtin_popcount(below);
}

#	include "u64_algorithm.h"

const u64_set U64_AVX2 = { "AVX2", vector_sort, vector_split, partition_in_place };

#endif
