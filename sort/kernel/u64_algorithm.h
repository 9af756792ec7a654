/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector sort of u64_sort.h, compiled once per instruction set. u64_avx512.c, u64_avx2.c and
 * u64_neon.c define the few operations below and include this file; a test does so in plain C.
 *
 * A sample shows whether the numbers are spread evenly over their range. If so, each number goes to
 * one of n / FILL bins, by its distance from the least number. A sorting network of vector
 * operations sorts each bin. Numbers that are not spread evenly are partitioned by a pivot, as in
 * quicksort, until a network or bins can sort a part. A part of equal numbers needs no sort. More
 * than U64_CACHED numbers are always partitioned, in place.
 *
 * A network may compare numbers as doubles, because many processors have an instruction for the
 * minimum of two doubles, but not of two 64-bit integers. Positive doubles have the same order as
 * their bits. v_enter subtracts a base that leaves all numbers of a network between 2^52 and 2^63 -
 * 2^52. Read as a double, none of these is a NaN or infinity, or so small that a processor may
 * round it to 0. So the numbers of a network must differ by less than NEAR.
 *
 * An instruction set defines before it includes this file:
 *   LANES            numbers in a vector, 4 or 8 (a macro)
 *   VECTORS          the attributes of functions that use vectors
 *   vec              a vector
 *   v_load, v_store  from and to memory of any alignment
 *   v_load_left      load and enter the first `left` lanes; the others get a number above all that
 *                    v_enter returns. left may be negative or above LANES. All lanes may be read.
 *   v_store_left     store the first `left` lanes; others may be read and written unchanged
 *   v_all            a number in all lanes
 *   v_enter, v_leave convert to numbers that networks compare, and back
 *   v_exchange       move the lower of each pair of lanes of a and b to a, the higher to b
 *   v_flip           convert to numbers that v_least, v_greatest and v_split compare, or back
 *   v_least, v_greatest
 *   v_split          store the lanes of x below the pivot from low on, and the others up to high.
 *                    Each store may write a whole vector. Return how many lanes are below the
 *                    pivot. The pivot is flipped, x is not.
 * It also defines the operations that move lanes in a network: see "Networks".
 *
 * Each number is in at most 2 * 64 partitions, because after QUICK_DEPTH pivots each partition
 * halves the range of the numbers. Pure. */
#include "u64_sort.h"

#include <string.h>

enum {
	NETWORK = 64,          /* numbers that a network sorts at once */
	LARGEST = 64 / LANES,  /* vectors of that network */
	SMALLEST = 16 / LANES, /* vectors of the smallest network */
	BINS_FROM = 160,       /* fewer numbers are partitioned */
	FILL = 22,             /* most bins have 16 to 32 numbers */
	LEAST_BINS = 5,        /* so that a bin is narrower than NEAR / 2 */
	STREAMS = 4,
	QUICK_DEPTH = 64
};

#define LOWEST (UINT64_C(1) << 52)
#define NEAR   ((UINT64_C(1) << 63) - (UINT64_C(1) << 53))

/* -------------------------------------------------------------------------------- Networks
 *
 * A network sorts vectors in registers to runs, and merges pairs of runs. The lanes of the second
 * run of a pair are reversed, so that the first step of a merge need not move lanes. */

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

/* Transpose four vectors to columns, `step` vectors apart; lanes of odd columns are reversed. */
INLINE void transpose(const vec *row, vec *column, unsigned step)
{
	const vec a = v_evens(row[0], row[1]), b = v_evens(row[2], row[3]);
	const vec c = v_odds(row[3], row[2]), d = v_odds(row[1], row[0]);
	column[0] = v_lows(a, b);
	column[step] = v_lows(c, d);
	column[2 * step] = v_highs(a, b);
	column[3 * step] = v_highs(c, d);
}

INLINE void sort_four(vec *v)
{
	v_exchange(&v[0], &v[1]);
	v_exchange(&v[2], &v[3]);
	v_exchange(&v[0], &v[2]);
	v_exchange(&v[1], &v[3]);
	v_exchange(&v[1], &v[2]);
}

INLINE void sort_eight(vec *v)
{
	sort_four(v);
	sort_four(v + 4);
	v_exchange(&v[0], &v[4]);
	v_exchange(&v[1], &v[5]);
	v_exchange(&v[2], &v[6]);
	v_exchange(&v[3], &v[7]);
	v_exchange(&v[2], &v[4]);
	v_exchange(&v[3], &v[5]);
	v_exchange(&v[1], &v[2]);
	v_exchange(&v[3], &v[4]);
	v_exchange(&v[5], &v[6]);
}

/* Make runs of four or eight vectors each: sort lane i of the vectors, for each i, and transpose
 * them. Return the number of vectors in a run. */
INLINE unsigned network_runs(vec *v, unsigned k)
{
	vec column[LARGEST];
	if (k == 4) {
		sort_four(v);
		transpose(v, column, 1);
	}
#	pragma GCC unroll 2
	for (unsigned i = 0; i + 8 <= k; i += 8) {
		sort_eight(v + i);
		transpose(v + i, column + i, 2);
		transpose(v + i + 4, column + i + 1, 2);
	}
#	pragma GCC unroll 16
	for (unsigned i = 0; i < k; i++)
		v[i] = column[i];
	return k == 4 ? 1 : 2;
}

#else

/* The instruction set also defines v_step(x, partner, upper), which compares x with `partner` lane
 * by lane. Lanes in the mask `upper` get the larger number, the others the smaller. It also defines
 * permutations of [0 1 2 3 4 5 6 7] that make partners: v_swap1 [1 0 3 2 5 4 7 6], v_swap2 [2 3 0 1
 * 6 7 4 5], v_swap4 [4 5 6 7 0 1 2 3], v_turn4 [3 2 1 0 7 6 5 4] and v_turn8 [7 6 5 4 3 2 1 0]. */

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

INLINE vec bitonic8(vec x)
{
	x = v_step(x, v_swap4(x), 0xf0);
	x = v_step(x, v_swap2(x), 0xcc);
	x = v_step(x, v_swap1(x), 0xaa);
	return x;
}

/* Sort the lanes of each of two bitonic vectors, in descending order if `reverse`. */
INLINE void sort_bitonic(vec *a, vec *b, bool reverse)
{
	*a = bitonic8(*a);
	*b = bitonic8(*b);
	if (reverse) {
		*a = v_turn8(*a);
		*b = v_turn8(*b);
	}
}

/* Make each of k vectors a run. Return the number of vectors in a run. */
INLINE unsigned network_runs(vec *v, unsigned k)
{
#	pragma GCC unroll 8
	for (unsigned i = 0; i < k; i++) {
		v[i] = sort8(v[i]);
		if (i % 2)
			v[i] = v_turn8(v[i]);
	}
	return 1;
}

#endif

/* Compare and exchange vectors that are d apart. */
INLINE void network_compare(vec *v, unsigned k, unsigned d)
{
#pragma GCC unroll 16
	for (unsigned i = 0; i < k; i++)
		if (!(i & d))
			v_exchange(&v[i], &v[i + d]);
}

/* Merge the two runs in k vectors, to vectors with descending lanes if `reverse`. */
INLINE void network_merge(vec *v, unsigned k, bool reverse)
{
#pragma GCC unroll 8
	for (unsigned i = 0; i < k / 2; i++)
		v_exchange(&v[i], &v[k - 1 - i]);
	if (k > 8)
		network_compare(v, k, 4);
	if (k > 4)
		network_compare(v, k, 2);
	if (k > 2)
		network_compare(v, k, 1);
#pragma GCC unroll 8
	for (unsigned i = 0; i < k; i += 2)
		sort_bitonic(&v[i], &v[i + 1], reverse);
}

/* Merge the runs in k vectors to runs of w vectors. */
INLINE void network_merge_to(vec *v, unsigned k, unsigned w)
{
#pragma GCC unroll 8
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
#pragma GCC unroll 16
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
#pragma GCC unroll 16
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
	if (room < NETWORK) {
		memcpy(copy, a, n * sizeof *copy);
		a = out = copy;
	}
	if (n > 32)
		network(a, out, n, LARGEST, least);
	else if (n > 16)
		network(a, out, n, LARGEST / 2, least);
	else
		network(a, out, n, SMALLEST, least);
	if (out == copy)
		memcpy(to, copy, n * sizeof *to);
}

/* ------------------------------------------------------------------------------ Partitions */

/* Find the least and the greatest of n (at least LANES) numbers. */
VECTORS static void find_range(const uint64_t *a, size_t n, uint64_t *least, uint64_t *most)
{
	uint64_t lane[2 * LANES];
	vec low = v_flip(v_load(a + n - LANES)), high = low;
	for (size_t i = 0; i + LANES <= n; i += LANES) {
		const vec x = v_flip(v_load(a + i));
		low = v_least(low, x);
		high = v_greatest(high, x);
	}
	v_store(lane, v_flip(low));
	v_store(lane + LANES, v_flip(high));
	*least = lane[0];
	*most = lane[LANES];
	for (unsigned i = 1; i < LANES; i++) {
		*least = u64_min(lane[i], *least);
		*most = u64_max(lane[LANES + i], *most);
	}
}

/* Move the numbers below the pivot to the front of a, over numbers that have been read. Collect the
 * others at the end of tmp (scratch for n), and copy them back. Return how many are below. */
VECTORS static size_t partition_cached(uint64_t *a, uint64_t *tmp, size_t n, uint64_t pivot)
{
	const vec p = v_flip(v_all(pivot));
	size_t low = 0, high = n, i = 0;
	for (; i + LANES <= n; i += LANES) {
		const unsigned below = v_split(v_load(a + i), p, a + low, tmp + high);
		low += below;
		high -= LANES - below;
	}
	for (; i < n; i++)
		if (a[i] < pivot)
			a[low++] = a[i];
		else
			tmp[--high] = a[i];
	memcpy(a + low, tmp + high, (n - high) * sizeof *a);
	return low;
}

/* Partition like partition_cached, without scratch. The first and the last block are read first, so
 * that they can be overwritten. Then each block is read from the side with less free memory. */
VECTORS static size_t partition_in_place(uint64_t *a, size_t n, uint64_t pivot)
{
	enum { BLOCK = 32 / LANES, NUMBERS = BLOCK * LANES };
	const vec p = v_flip(v_all(pivot));
	const size_t whole = n < 2 * NUMBERS ? 0 : n - n % NUMBERS;
	uint64_t *low = a, *high = a + whole, *from = a + NUMBERS, *end = a + whole - NUMBERS;
	vec held[2 * BLOCK];
	for (unsigned i = 0; i < BLOCK && whole > 0; i++) {
		held[i] = v_load(a + i * LANES);
		held[BLOCK + i] = v_load(end + i * LANES);
	}
	while (whole > 0 && from < end) {
		const bool front = from - low <= high - end;
		const uint64_t *block = front ? from : end - NUMBERS;
		vec x[BLOCK];
		from += front ? NUMBERS : 0;
		end -= front ? 0 : NUMBERS;
#pragma GCC unroll 16
		for (unsigned i = 0; i < BLOCK; i++)
			x[i] = v_load(block + i * LANES);
#pragma GCC unroll 16
		for (unsigned i = 0; i < BLOCK; i++) {
			const unsigned below = v_split(x[i], p, low, high);
			low += below;
			high -= LANES - below;
		}
	}
	for (unsigned i = 0; i < 2 * BLOCK && whole > 0; i++) {
		const unsigned below = v_split(held[i], p, low, high);
		low += below;
		high -= LANES - below;
	}
	size_t done = (size_t)(low - a);
	for (size_t i = whole; i < n; i++) {
		const uint64_t x = a[i];
		if (x >= pivot)
			continue;
		a[i] = a[done];
		a[done++] = x;
	}
	return done;
}

/* ------------------------------------------------------------------------------------- Sort */

/* Numbers to sort: none is below `least` or above `most`. */
typedef struct span {
	uint64_t *a, *tmp; /* tmp is scratch for n numbers, at most U64_CACHED */
	size_t n, room;    /* from a on, and from tmp on, `room` numbers may be read */
	uint64_t least, most;
	unsigned depth; /* pivots that may be estimated before ranges are halved instead */
	bool home;      /* the result must be in a, otherwise in tmp */
} span;

/* Return whether a network can compare the numbers. */
INLINE bool is_near(const span *s)
{
	return s->most - s->least < NEAR;
}

/* Estimate the median by a sample from all parts of a. The pivot is above the least number of the
 * sample, so neither part is empty. Return false if all numbers of the sample are equal. Two bits
 * are ignored if they differ too much for a network. */
VECTORS static bool pivot_of_few(const uint64_t *a, size_t n, uint64_t *pivot)
{
	enum { FEW = 15, MANY = 63, LARGE = 1024 };
	uint64_t some[NETWORK], least = a[0], most = least;
	const size_t k = n < LARGE ? FEW : MANY;
	for (size_t i = 0; i < k; i++) {
		some[i] = a[n / k * i];
		least = u64_min(some[i], least);
		most = u64_max(some[i], most);
	}
	const unsigned shift = most - least < NEAR ? 0 : 2;
	for (size_t i = 0; i < k; i++)
		some[i] = (some[i] - least) >> shift;
	network_few(some, some, k, NETWORK, 0);
	*pivot = least + ((some[k / 2] + (some[k / 2] == 0)) << shift);
	return some[k - 1] > 0;
}

/* Choose a pivot: an estimate of the median. Choose the middle of the range for few numbers, for a
 * sample of equal numbers and after QUICK_DEPTH pivots. Return false if all numbers are equal. */
VECTORS static bool find_pivot(span *s, uint64_t *pivot)
{
	if (s->n > NETWORK) {
		if (s->depth > 0 && pivot_of_few(s->a, s->n, pivot))
			return true;
		find_range(s->a, s->n, &s->least, &s->most);
	}
	*pivot = s->most - (s->most - s->least) / 2;
	return s->least < s->most;
}

/* Remove the first `below` numbers, which are below the pivot, from s and return them. */
INLINE span take_below(span *s, size_t below, uint64_t pivot)
{
	span part = *s;
	s->depth -= s->depth > 0;
	part.depth = s->depth;
	part.n = below;
	part.most = pivot - 1;
	s->a += below;
	s->n -= below;
	s->room -= below;
	s->least = pivot;
	return part;
}

/* The mapping of numbers to bins. */
typedef struct bins {
	uint64_t least, scale;
	unsigned shift, n;
} bins;

INLINE size_t bins_place(const bins *b, uint64_t x)
{
	return ((x - b->least) >> b->shift) * b->scale >> 32;
}

INLINE unsigned width_of(uint64_t x)
{
	return 64 - (unsigned)__builtin_clzll(x | 1);
}

INLINE bins bins_of(const span *s)
{
	const uint64_t range = s->most - s->least;
	bins b = { .least = s->least, .shift = width_of(range >> 32 << 1 | 1) - 1 };
	b.n = (unsigned)(s->n / FILL + LEAST_BINS);
	b.scale = ((uint64_t)b.n << 32) / ((range >> b.shift) + 1);
	return b;
}

/* Return whether few numbers of a sample are in the same 256th of the range as others. */
INLINE bool spread_evenly(const span *s)
{
	enum { SOME = 32, SHARE_MOST = 10, CELL_BITS = 8 };
	uint8_t used[1 << CELL_BITS] = { 0 };
	const unsigned width = width_of(s->most - s->least);
	const unsigned shift = width > CELL_BITS ? width - CELL_BITS : 0;
	const size_t step = s->n / SOME;
	unsigned share = 0;
	for (unsigned i = 0; i < SOME; i++) {
		uint8_t *cell = &used[(s->a[i * step] - s->least) >> shift];
		share += *cell;
		*cell = 1;
	}
	return share <= SHARE_MOST;
}

/* Move the numbers of a to their bins in tmp; end[v] is where bin v ends. Several parts of a are
 * read in turn: neighbours in sorted input go to the same bin, whose count is not yet stored. */
INLINE void bins_scatter(const span *s, const bins *map, uint32_t *end)
{
	const bins b = *map; /* a copy that cannot alias the arrays written here */
	const uint64_t *a = s->a;
	uint64_t *to = s->tmp;
	const size_t n = s->n, part = n / STREAMS;
	memset(end, 0, b.n * sizeof *end);
	for (size_t i = 0; i < part; i++)
		for (unsigned k = 0; k < STREAMS; k++)
			end[bins_place(&b, a[k * part + i])]++;
	for (size_t i = STREAMS * part; i < n; i++)
		end[bins_place(&b, a[i])]++;
	uint32_t sum = 0;
	for (unsigned v = 0; v < b.n; v++) {
		const uint32_t count = end[v];
		end[v] = sum;
		sum += count;
	}
	for (size_t i = 0; i < part; i++)
		for (unsigned k = 0; k < STREAMS; k++) {
			const uint64_t x = a[k * part + i];
			to[end[bins_place(&b, x)]++] = x;
		}
	for (size_t i = STREAMS * part; i < n; i++)
		to[end[bins_place(&b, a[i])]++] = a[i];
}

VECTORS static void sort_cached(span s);

/* Sort by bins. Not inlined: its array must not be in every frame of the recursion. */
VECTORS static __attribute__((noinline)) void sort_by_bins(const span *s)
{
	uint32_t end[U64_CACHED / FILL + LEAST_BINS];
	const bins b = bins_of(s);
	uint64_t *to = s->home ? s->a : s->tmp;
	bins_scatter(s, &b, end);
	for (uint32_t v = 0, at = 0; v < b.n; at = end[v++]) {
		span bin = { .a = s->tmp + at,
			     .tmp = s->a + at,
			     .n = end[v] - at,
			     .room = s->room - at,
			     .depth = s->depth,
			     .home = !s->home };
		if (bin.n > NETWORK) {
			find_range(bin.a, bin.n, &bin.least, &bin.most);
			sort_cached(bin);
		} else if (bin.n > 0) {
			network_few(bin.a, to + at, bin.n, bin.room, bin.a[0] - NEAR / 2);
		}
	}
}

/* Sort at most U64_CACHED numbers. */
VECTORS static void sort_cached(span s)
{
	uint64_t pivot;
	while (s.n > NETWORK || !is_near(&s)) {
		const bool equal = s.least == s.most;
		if (!equal && s.n >= BINS_FROM && spread_evenly(&s)) {
			sort_by_bins(&s);
			return;
		}
		if (equal || !find_pivot(&s, &pivot)) {
			if (!s.home)
				memcpy(s.tmp, s.a, s.n * sizeof *s.a);
			return;
		}
		const size_t below = partition_cached(s.a, s.tmp, s.n, pivot);
		sort_cached(take_below(&s, below, pivot));
		s.tmp += below;
	}
	network_few(s.a, s.home ? s.a : s.tmp, s.n, s.room, s.least);
}

/* Sort any n numbers. Their range is not known until they are few enough. */
VECTORS static void sort_any(span s)
{
	uint64_t pivot;
	while (s.n > U64_CACHED) {
		if (!find_pivot(&s, &pivot))
			return;
		sort_any(take_below(&s, partition_in_place(s.a, s.n, pivot), pivot));
	}
	if (s.n < LANES) {
		u64_insert(s.a, s.a, s.n);
		return;
	}
	s.room = s.n;
	find_range(s.a, s.n, &s.least, &s.most);
	if (s.least < s.most)
		sort_cached(s);
}

VECTORS static void vector_sort(uint64_t *a, uint64_t *tmp, size_t n)
{
	sort_any((span){ .a = a, .tmp = tmp, .n = n, .depth = QUICK_DEPTH, .home = true });
}

VECTORS static size_t vector_split(uint64_t *a, size_t n)
{
	span s = { .a = a, .n = n, .depth = QUICK_DEPTH };
	uint64_t pivot;
	return find_pivot(&s, &pivot) ? partition_in_place(a, n, pivot) : 0;
}
