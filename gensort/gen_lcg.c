/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The 128-bit generator: jumping to a place by repeated squaring of the affine map, and walking
 * on from there with several independent lanes. Touches nothing but its arguments.
 * Cost of walking: three 64-bit multiplications per value. */
#include "gen_lcg.h"

#define U128(hi, lo) ((u128)(hi) << 64 | (u128)(lo))

/* L'Ecuyer's multiplier, and an increment that makes the first key read "JimGrayRIP". */
#define LCG_MUL U128(0x2360ed051fc65da4, 0x4385df649fccf645)
#define LCG_ADD U128(0x4a696d4772617952, 0x4950202020202001)

/* The map x -> mul x + add that moves n places ahead. */
static void leap(u128 n, u128 *mul, u128 *add)
{
	u128 m = LCG_MUL, a = LCG_ADD; /* the map for 2^i places */

	*mul = 1;
	*add = 0;
	for (; n != 0; n >>= 1) {
		if (n & 1) {
			*add = m * *add + a;
			*mul *= m;
		}
		a *= m + 1;
		m *= m;
	}
}

u128 gen_lcg_at(u128 n)
{
	u128 mul, add;

	leap(n, &mul, &add);
	return add; /* x[0] is 0 */
}

void gen_walk_start(struct gen_walk *w, u128 n)
{
	leap(GEN_LANES, &w->mul, &w->add);
	w->lane[0] = gen_lcg_at(n + 1);
	for (int i = 1; i < GEN_LANES; i++)
		w->lane[i] = w->lane[i - 1] * LCG_MUL + LCG_ADD;
}

void gen_walk_take(struct gen_walk *w, size_t rounds, uint64_t *hi, uint64_t *lo)
{
	const u128 mul = w->mul, add = w->add;
	u128 a = w->lane[0], b = w->lane[1], c = w->lane[2], d = w->lane[3];

	for (size_t i = 0; i < rounds * GEN_LANES; i += GEN_LANES) {
		hi[i] = (uint64_t)(a >> 64), lo[i] = (uint64_t)a;
		hi[i + 1] = (uint64_t)(b >> 64), lo[i + 1] = (uint64_t)b;
		hi[i + 2] = (uint64_t)(c >> 64), lo[i + 2] = (uint64_t)c;
		hi[i + 3] = (uint64_t)(d >> 64), lo[i + 3] = (uint64_t)d;
		a = a * mul + add;
		b = b * mul + add;
		c = c * mul + add;
		d = d * mul + add;
	}
	w->lane[0] = a, w->lane[1] = b, w->lane[2] = c, w->lane[3] = d;
}
