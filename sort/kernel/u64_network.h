/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting networks of vectors, for u64_algorithm.h.
 *
 * A network sorts vectors in registers to runs, and merges pairs of runs. The lanes of the second
 * run of a pair are reversed, so that the first step of a merge need not move lanes.
 *
 * A network may compare numbers as doubles, because many processors have an instruction for the
 * minimum of two doubles, but not of two 64-bit integers. Positive doubles have the same order as
 * their bits. v_enter subtracts a base that leaves all numbers of a network between 2^52 and 2^63 -
 * 2^52. Read as a double, none of these is a NaN or infinity, or so small that a processor may
 * round it to 0. So the numbers of a network must differ by less than NEAR. */

enum {
	LARGEST = QUICK ? 32 : 16, /* vectors that a network sorts at once */
	NETWORK = LARGEST * LANES,
	SMALLEST = 16 / LANES /* vectors of the smallest network */
};

#define LOWEST (UINT64_C(1) << 52)
#define NEAR   ((UINT64_C(1) << 63) - (UINT64_C(1) << 53))

#if LANES == 4

/* Of a = [a0 a1 a2 a3] and b, the instruction set also defines v_lows [a0 a1 b0 b1], v_highs
 * [a2 a3 b2 b3], v_evens [a0 b0 a2 b2] and v_odds [a1 b1 a3 b3]. */

/* Sort the lanes of each of two bitonic vectors, in descending order if `reverse`. The lanes of a
 * bitonic vector first ascend and then descend, or are a rotation of such lanes. */
INLINE void sort_bitonic(vec *a, vec *b, bool reverse)
{
	vec x = v_lows(*a, *b), y = v_highs(*a, *b);
	v_exchange(&x, &y);
	vec even = v_evens(x, y), odd = v_odds(x, y);
	v_exchange(&even, &odd);
	if (reverse) {
		x = v_odds(odd, even);
		y = v_evens(odd, even);
	} else {
		x = v_evens(even, odd);
		y = v_odds(even, odd);
	}
	*a = v_lows(x, y);
	*b = v_highs(x, y);
}

/* Transpose LANES vectors to columns, `step` vectors apart; lanes of odd columns are reversed. */
INLINE void transpose(const vec *row, vec *column, unsigned step)
{
	const vec a = v_evens(row[0], row[1]), b = v_evens(row[2], row[3]);
	const vec c = v_odds(row[3], row[2]), d = v_odds(row[1], row[0]);
	column[0] = v_lows(a, b);
	column[step] = v_lows(c, d);
	column[2 * step] = v_highs(a, b);
	column[3 * step] = v_highs(c, d);
}

#else

/* The instruction set also defines v_step(x, partner, upper), which compares x with `partner` lane
 * by lane. Lanes in the mask `upper` get the larger number, the others the smaller. It also defines
 * permutations of [0 1 2 3 4 5 6 7] that make partners: v_swap1 [1 0 3 2 5 4 7 6], v_swap2 [2 3 0 1
 * 6 7 4 5], v_turn4 [3 2 1 0 7 6 5 4] and v_turn8 [7 6 5 4 3 2 1 0]. Of a = [a0 ... a7] and b, it
 * defines v_evens [a0 b0 a2 b2 a4 b4 a6 b6], v_odds [a1 b1 ... a7 b7], v_lows [a0 ... a3 b0 ...
 * b3], v_highs [a4 ... a7 b4 ... b7], v_outer [a0 a1 a4 a5 b0 b1 b4 b5], v_inner [a2 a3 a6 a7 b2 b3
 * b6 b7], and v_zip(a, b, i, reverse), where i is 0 or 2: [ai bi aj bj ak bk al bl] with j = i + 1,
 * k = i + 4, l = i + 5, or the same in the opposite order. */

INLINE vec sort8(vec x)
{
	x = v_step(x, v_swap1(x), 0xaa);
	x = v_step(x, v_turn4(x), 0xcc);
	x = v_step(x, v_swap1(x), 0xaa);
	x = v_step(x, v_turn8(x), 0xf0);
	x = v_step(x, v_swap2(x), 0xcc);
	x = v_step(x, v_swap1(x), 0xaa);
	return x;
}

/* Sort the lanes of each of two bitonic vectors, in descending order if `reverse`. */
INLINE void sort_bitonic(vec *a, vec *b, bool reverse)
{
	vec low = v_lows(*a, *b), high = v_highs(*a, *b);
	v_exchange(&low, &high);
	vec outer = v_outer(low, high), inner = v_inner(low, high);
	v_exchange(&outer, &inner);
	vec even = v_evens(outer, inner), odd = v_odds(outer, inner);
	v_exchange(&even, &odd);
	*a = v_zip(even, odd, 0, reverse);
	*b = v_zip(even, odd, 2, reverse);
}

/* Make four columns, 2 * step vectors apart, of vectors that have two rows of each. */
INLINE void transpose_pairs(vec a, vec b, vec c, vec d, vec *column, unsigned step)
{
	const vec e = v_lows(a, b), f = v_lows(c, d), g = v_highs(a, b), h = v_highs(c, d);
	column[0] = v_outer(e, f);
	column[2 * step] = v_inner(e, f);
	column[4 * step] = v_outer(g, h);
	column[6 * step] = v_inner(g, h);
}

INLINE void transpose(const vec *r, vec *column, unsigned step)
{
	transpose_pairs(v_evens(r[0], r[1]), v_evens(r[2], r[3]), v_evens(r[4], r[5]),
			v_evens(r[6], r[7]), column, step);
	transpose_pairs(v_odds(r[7], r[6]), v_odds(r[5], r[4]), v_odds(r[3], r[2]),
			v_odds(r[1], r[0]), column + step, step);
}

#endif

/* Batcher's odd-even merge: n vectors, whose halves are sorted lane by lane, are sorted so. */
INLINE void merge_lanes_step(vec *v, unsigned n, unsigned d)
{
#pragma GCC unroll 16
	for (unsigned i = d; i + d < n; i++)
		if (i / d % 2)
			v_exchange(&v[i], &v[i + d]);
}

INLINE void merge_lanes(vec *v, unsigned n)
{
#pragma GCC unroll 8
	for (unsigned i = 0; i < n / 2; i++)
		v_exchange(&v[i], &v[i + n / 2]);
	if (n > 8)
		merge_lanes_step(v, n, 4);
	if (n > 4)
		merge_lanes_step(v, n, 2);
	merge_lanes_step(v, n, 1);
}

/* Sort lane i of n vectors, for each i; n is 4, 8 or 16. */
INLINE void sort_lanes(vec *v, unsigned n)
{
#pragma GCC unroll 8
	for (unsigned i = 0; i < n; i += 2)
		v_exchange(&v[i], &v[i + 1]);
#pragma GCC unroll 4
	for (unsigned i = 0; i < n; i += 4)
		merge_lanes(v + i, 4);
#pragma GCC unroll 2
	for (unsigned i = 0; i + 8 <= n; i += 8)
		merge_lanes(v + i, 8);
	if (n == 16)
		merge_lanes(v, 16);
}

/* Make runs of one or two vectors: sort lane i of the vectors, for each i, and transpose them.
 * Return the number of vectors in a run. */
INLINE unsigned network_runs(vec *v, unsigned k)
{
	vec column[LARGEST];
#if LANES == 8
#	pragma GCC unroll 4
	for (unsigned i = 0; i < k && k < LANES; i++) {
		column[i] = sort8(v[i]);
		if (i % 2)
			column[i] = v_turn8(column[i]);
	}
#endif
	if (k == LANES) {
		sort_lanes(v, LANES);
		transpose(v, column, 1);
	}
#pragma GCC unroll 4
	for (unsigned i = 0; i + 2 * LANES <= k; i += 2 * LANES) {
		sort_lanes(v + i, 2 * LANES);
		transpose(v + i, column + i, 2);
		transpose(v + i + LANES, column + i + 1, 2);
	}
#pragma GCC unroll 32
	for (unsigned i = 0; i < k; i++)
		v[i] = column[i];
	return k <= LANES ? 1 : 2;
}

/* Compare and exchange vectors that are d apart. */
INLINE void network_compare(vec *v, unsigned k, unsigned d)
{
#pragma GCC unroll 32
	for (unsigned i = 0; i < k; i++)
		if (!(i & d))
			v_exchange(&v[i], &v[i + d]);
}

/* Merge the two runs in k vectors, to vectors with descending lanes if `reverse`. */
INLINE void network_merge(vec *v, unsigned k, bool reverse)
{
#pragma GCC unroll 16
	for (unsigned i = 0; i < k / 2; i++)
		v_exchange(&v[i], &v[k - 1 - i]);
	if (k > 16)
		network_compare(v, k, 8);
	if (k > 8)
		network_compare(v, k, 4);
	if (k > 4)
		network_compare(v, k, 2);
	if (k > 2)
		network_compare(v, k, 1);
#pragma GCC unroll 16
	for (unsigned i = 0; i < k; i += 2)
		sort_bitonic(&v[i], &v[i + 1], reverse);
}

/* Merge the runs in k vectors to runs of w vectors. */
INLINE void network_merge_to(vec *v, unsigned k, unsigned w)
{
#pragma GCC unroll 16
	for (unsigned i = 0; i + w <= k; i += w)
		network_merge(v + i, w, i & w);
}

/* Sort n numbers of a to `to` in k vectors (a constant). They are at least `least` and below least
 * + NEAR. All k vectors are read; at `to`, numbers beyond n are written unchanged. */
INLINE void network(const uint64_t *a, uint64_t *to, size_t n, unsigned k, uint64_t least)
{
	const vec base = v_all(least - LOWEST);
	const unsigned full = k > SMALLEST ? k / 2 : 0;
	vec v[LARGEST];
#pragma GCC unroll 32
	for (unsigned i = 0; i < k; i++)
		if (i < full)
			v[i] = v_enter(v_load(a + i * LANES), base);
		else
			v[i] = v_load_left(a + i * LANES, (int)n - (int)(i * LANES), base);
	if (network_runs(v, k) == 1)
		network_merge_to(v, k, 2);
	network_merge_to(v, k, 4);
	network_merge_to(v, k, 8);
	network_merge_to(v, k, 16);
	network_merge_to(v, k, 32);
#pragma GCC unroll 32
	for (unsigned i = 0; i < k; i++)
		if (i < full)
			v_store(to + i * LANES, v_leave(v[i], base));
		else
			v_store_left(to + i * LANES, (int)n - (int)(i * LANES),
				     v_leave(v[i], base));
}

/* Sort n (at most NETWORK) numbers of a to `to`, which may be a. The numbers are at least `least`
 * and below least + NEAR. `room` numbers may be read at both a and `to`. */
INLINE void network_few(const uint64_t *a, uint64_t *to, size_t n, size_t room, uint64_t least)
{
	uint64_t copy[NETWORK];
	uint64_t *out = to;
	if (!QUICK && room < NETWORK) {
		memcpy(copy, a, n * sizeof *copy);
		a = out = copy;
	}
	if (n > NETWORK / 2)
		network(a, out, n, LARGEST, least);
	else if (n > NETWORK / 4)
		network(a, out, n, LARGEST / 2, least);
	else if (n > NETWORK / 8)
		network(a, out, n, LARGEST / 4, least);
	else if (QUICK && n > 16)
		network(a, out, n, LARGEST / 8, least);
	else
		network(a, out, n, SMALLEST, least);
	if (out == copy)
		memcpy(to, copy, n * sizeof *to);
}
