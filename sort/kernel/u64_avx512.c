/* SPDX-License-Identifier: GPL-3.0-or-later */
/* u64_algorithm.h with vectors of eight numbers, for x86 processors with AVX-512. AVX-512 has a
 * minimum of unsigned numbers, so v_enter need not convert them. Pure. */
#include "base/arith.h"
#include "u64_sort.h"

#ifdef U64_X86

#	include <immintrin.h>

#	define LANES   8
#	define QUICK   1
#	define VECTORS __attribute__((target("avx512f,bmi2,popcnt")))
#	define INLINE  static inline __attribute__((always_inline)) VECTORS

typedef __m512i vec;

#	define v_load(p)        _mm512_loadu_si512(p)
#	define v_store(p, x)    _mm512_storeu_si512(p, x)
#	define v_all(x)         _mm512_set1_epi64((long long)(x))
#	define v_enter(x, base) ((void)(base), (x))
#	define v_leave(x, base) ((void)(base), (x))
#	define v_flip(x)        (x)
#	define v_least(a, b)    _mm512_min_epu64(a, b)
#	define v_greatest(a, b) _mm512_max_epu64(a, b)
#	define v_swap1(x)       _mm512_permutex_epi64(x, 0xb1)
#	define v_swap2(x)       _mm512_permutex_epi64(x, 0x4e)
#	define v_turn4(x)       _mm512_permutex_epi64(x, 0x1b)
#	define v_turn8(x)       _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), x)
#	define v_evens(a, b)    _mm512_unpacklo_epi64(a, b)
#	define v_odds(a, b)     _mm512_unpackhi_epi64(a, b)
#	define v_lows(a, b)     _mm512_shuffle_i64x2(a, b, 0x44)
#	define v_highs(a, b)    _mm512_shuffle_i64x2(a, b, 0xee)
#	define v_outer(a, b)    _mm512_shuffle_i64x2(a, b, 0x88)
#	define v_inner(a, b)    _mm512_shuffle_i64x2(a, b, 0xdd)
#	define v_load_left(p, left, base) \
		((void)(base),             \
		 _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), avx512_lanes(left), p))
#	define v_store_left(p, left, x) _mm512_mask_storeu_epi64(p, avx512_lanes(left), x)
#	define v_exchange               avx512_exchange
#	define v_zip                    avx512_zip
#	define v_step                   avx512_step
#	define v_split                  avx512_split

INLINE __mmask8 avx512_lanes(int left)
{
	return (__mmask8)_bzhi_u32(0xff, left > 0 ? (unsigned)left : 0);
}

INLINE void avx512_exchange(vec *a, vec *b)
{
	const vec upper = v_greatest(*a, *b);
	*a = v_least(*a, *b);
	*b = upper;
}

INLINE vec avx512_zip(vec a, vec b, long long i, bool reverse)
{
	const vec order =
		reverse ? _mm512_set_epi64(i, i + 8, i + 1, i + 9, i + 4, i + 12, i + 5, i + 13)
			: _mm512_set_epi64(i + 13, i + 5, i + 12, i + 4, i + 9, i + 1, i + 8, i);
	return _mm512_permutex2var_epi64(a, order, b);
}

INLINE vec avx512_step(vec x, vec partner, __mmask8 upper)
{
	return _mm512_mask_max_epu64(_mm512_min_epu64(x, partner), upper, x, partner);
}

/* For each set of lanes below the pivot, an order of lanes: these first, then the others. Byte i
 * has the lane that comes to place i. */
#	define RANK(set, lane) __builtin_popcount((set) & ((1 << (lane)) - 1))
#	define PLACE(set, lane)                     \
		((set) >> (lane)&1 ? RANK(set, lane) \
				   : __builtin_popcount(set) + (lane)-RANK(set, lane))
#	define AT_PLACE(set, lane) (UINT64_C(lane) << 8 * PLACE(set, lane))
#	define ORDER(set)                                                                  \
		AT_PLACE(set, 1) + AT_PLACE(set, 2) + AT_PLACE(set, 3) + AT_PLACE(set, 4) + \
			AT_PLACE(set, 5) + AT_PLACE(set, 6) + AT_PLACE(set, 7)
#	define ORDERS4(set) ORDER(set), ORDER((set) + 1), ORDER((set) + 2), ORDER((set) + 3)
#	define ORDERS16(set) \
		ORDERS4(set), ORDERS4((set) + 4), ORDERS4((set) + 8), ORDERS4((set) + 12)
#	define ORDERS64(set) \
		ORDERS16(set), ORDERS16((set) + 16), ORDERS16((set) + 32), ORDERS16((set) + 48)
static const uint64_t BELOW_FIRST[256] = { ORDERS64(0), ORDERS64(64), ORDERS64(128),
					   ORDERS64(192) };

INLINE unsigned avx512_split(vec x, vec pivot, uint64_t *low, uint64_t *high)
{
	const __mmask8 below = _mm512_cmplt_epu64_mask(x, pivot);
	const __m128i order = _mm_loadl_epi64((const void *)&BELOW_FIRST[below]);
	const vec parts = _mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(order), x);
	v_store(low, parts);
	v_store(high - LANES, parts);
	return (unsigned)__builtin_popcount(below);
}

#	include "u64_algorithm.h"

const u64_set U64_AVX512 = { "AVX-512", vector_sort, vector_split, partition_in_place };

#endif
