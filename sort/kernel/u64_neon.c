/* SPDX-License-Identifier: GPL-3.0-or-later */
/* u64_algorithm.h with vectors of four numbers, in two registers each, for 64-bit Arm. Pure. */
#include "base/arith.h"
#include "u64_sort.h"

#ifdef U64_ARM

#	include <arm_neon.h>

#	define LANES   4
#	define QUICK   0
#	define VECTORS /* every such processor has NEON */
#	define INLINE  static inline __attribute__((always_inline))

typedef struct vec {
	uint64x2_t a, b;
} vec;

#	define v_load       neon_load
#	define v_store      neon_store
#	define v_all        neon_all
#	define v_enter      neon_enter
#	define v_leave      neon_leave
#	define v_load_left  neon_load_left
#	define v_store_left neon_store_left
#	define v_exchange   neon_exchange
#	define v_lows       neon_lows
#	define v_highs      neon_highs
#	define v_evens      neon_evens
#	define v_odds       neon_odds
#	define v_flip(x)    (x)
#	define v_least      neon_least
#	define v_greatest   neon_greatest
#	define v_split      neon_split

INLINE vec neon_load(const uint64_t *p)
{
	return (vec){ vld1q_u64(p), vld1q_u64(p + 2) };
}

INLINE void neon_store(uint64_t *p, vec x)
{
	vst1q_u64(p, x.a);
	vst1q_u64(p + 2, x.b);
}

INLINE vec neon_all(uint64_t x)
{
	return (vec){ vdupq_n_u64(x), vdupq_n_u64(x) };
}

INLINE vec neon_enter(vec x, vec base)
{
	return (vec){ vsubq_u64(x.a, base.a), vsubq_u64(x.b, base.b) };
}

INLINE vec neon_leave(vec x, vec base)
{
	return (vec){ vaddq_u64(x.a, base.a), vaddq_u64(x.b, base.b) };
}

INLINE vec neon_choose(vec which, vec x, vec y)
{
	return (vec){ vbslq_u64(which.a, x.a, y.a), vbslq_u64(which.b, x.b, y.b) };
}

INLINE vec neon_lanes(int left)
{
	const int64x2_t a = { 0, 1 }, b = { 2, 3 }, end = vdupq_n_s64(left);
	return (vec){ vcgtq_s64(end, a), vcgtq_s64(end, b) };
}

/* Load and enter the first `left` lanes; set the others to infinity. */
INLINE vec neon_load_left(const uint64_t *p, int left, vec base)
{
	return neon_choose(neon_lanes(left), v_enter(v_load(p), base),
			   v_all(UINT64_C(0x7ff) << 52));
}

INLINE void neon_store_left(uint64_t *p, int left, vec x)
{
	v_store(p, neon_choose(neon_lanes(left), x, v_load(p)));
}

INLINE uint64x2_t neon_lower(uint64x2_t a, uint64x2_t b)
{
	return vreinterpretq_u64_f64(vminq_f64(vreinterpretq_f64_u64(a), vreinterpretq_f64_u64(b)));
}

INLINE uint64x2_t neon_upper(uint64x2_t a, uint64x2_t b)
{
	return vreinterpretq_u64_f64(vmaxq_f64(vreinterpretq_f64_u64(a), vreinterpretq_f64_u64(b)));
}

INLINE void neon_exchange(vec *a, vec *b)
{
	const vec low = { neon_lower(a->a, b->a), neon_lower(a->b, b->b) };
	*b = (vec){ neon_upper(a->a, b->a), neon_upper(a->b, b->b) };
	*a = low;
}

INLINE vec neon_lows(vec a, vec b)
{
	return (vec){ a.a, b.a };
}

INLINE vec neon_highs(vec a, vec b)
{
	return (vec){ a.b, b.b };
}

INLINE vec neon_evens(vec a, vec b)
{
	return (vec){ vzip1q_u64(a.a, b.a), vzip1q_u64(a.b, b.b) };
}

INLINE vec neon_odds(vec a, vec b)
{
	return (vec){ vzip2q_u64(a.a, b.a), vzip2q_u64(a.b, b.b) };
}

INLINE vec neon_below(vec a, vec b)
{
	return (vec){ vcltq_u64(a.a, b.a), vcltq_u64(a.b, b.b) };
}

INLINE vec neon_least(vec a, vec b)
{
	return neon_choose(neon_below(a, b), a, b);
}

INLINE vec neon_greatest(vec a, vec b)
{
	return neon_choose(neon_below(a, b), b, a);
}

/* Split two lanes. Exchange them only if the second is below the pivot and the first is not. */
INLINE unsigned neon_split_two(uint64x2_t x, uint64x2_t is_below, uint64_t *low, uint64_t *high)
{
	const uint64x2_t turn =
		vandq_u64(vdupq_laneq_u64(is_below, 1), vdupq_n_u64(~vgetq_lane_u64(is_below, 0)));
	const uint64x2_t parts = vbslq_u64(turn, vextq_u64(x, x, 1), x);
	vst1q_u64(low, parts);
	vst1q_u64(high - 2, parts);
	return (unsigned)-(int64_t)vaddvq_u64(is_below);
}

INLINE unsigned neon_split(vec x, vec pivot, uint64_t *low, uint64_t *high)
{
	const vec is_below = neon_below(x, pivot);
	const unsigned first = neon_split_two(x.a, is_below.a, low, high);
	return first + neon_split_two(x.b, is_below.b, low + first, high - (2 - first));
}

#	include "u64_algorithm.h"

const u64_set U64_NEON = { "NEON", vector_sort, vector_split, partition_in_place };

#endif
