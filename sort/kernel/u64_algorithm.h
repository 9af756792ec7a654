/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector sort of u64_sort.h, compiled once per instruction set. u64_avx512.c, u64_avx2.c and
 * u64_neon.c define the few operations below and include this file; a test does so in plain C.
 *
 * Networks of vector operations sort few numbers in registers. If partitions are quick, numbers are
 * partitioned by pivots, as in quicksort, until a network can sort a part. Otherwise a sample shows
 * whether the numbers are spread evenly over their range. If so, each number goes to one of n /
 * FILL bins, by its distance from the least number, and a network sorts each bin. Numbers that are
 * not spread evenly, and more than U64_CACHED, are partitioned until a network or bins can sort a
 * part. A part of equal numbers needs no sort.
 *
 * An instruction set defines before it includes this file:
 *   LANES            numbers in a vector, 4 or 8 (a macro)
 *   QUICK            1 if partitions are quick, and networks compare any numbers; otherwise 0
 *   VECTORS          the attributes of functions that use vectors
 *   vec              a vector
 *   v_load, v_store  from and to memory of any alignment
 *   v_load_left      load and enter the first `left` lanes; the others get a number above all that
 *                    v_enter returns. left may be negative or above LANES. All lanes may be read,
 *                    unless QUICK.
 *   v_store_left     store the first `left` lanes; unless QUICK, others may be read and written
 *                    unchanged
 *   v_all            a number in all lanes
 *   v_enter, v_leave convert to numbers that networks compare, and back
 *   v_exchange       move the lower of each pair of lanes of a and b to a, the higher to b
 *   v_flip           convert to numbers that v_least, v_greatest and v_split compare, or back
 *   v_least, v_greatest
 *   v_split          store the lanes of x below the pivot from low on, and the others up to high.
 *                    Each store may write a whole vector. Return how many lanes are below the
 *                    pivot. The pivot is flipped, x is not.
 * It also defines the operations that move lanes in a network: see u64_network.h.
 *
 * Each number is in at most 2 * 64 partitions, because after QUICK_DEPTH pivots each partition
 * halves the range of the numbers. Pure. */
#include "u64_sort.h"

#include <string.h>

#include "u64_network.h"

enum {
	INSERT = 12,     /* fewer numbers than a network is worth */
	BINS_FROM = 160, /* fewer numbers are partitioned */
	FILL = 22,       /* most bins have 16 to 32 numbers */
	LEAST_BINS = 5,  /* so that a bin is narrower than NEAR / 2 */
	STREAMS = 4,
	QUICK_DEPTH = 64
};

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
	for (; i < n; i++) {
		const uint64_t x = a[i];
		a[low] = tmp[high - 1] = x; /* without a branch, which would be mispredicted */
		low += x < pivot;
		high -= x >= pivot;
	}
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
		a[i] = a[done];
		a[done] = x;
		done += x < pivot;
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
	enum { FEW = 16, MANY = 64, LARGE = 1024 };
	uint64_t some[NETWORK], least = 0, most = 0;
	const size_t k = n < LARGE ? FEW : MANY, step = n < LARGE ? n / FEW : n / MANY;
	for (size_t i = 0; i < k; i++)
		some[i] = a[step * i];
	for (size_t i = 0; i < k && !QUICK; i++) {
		least = i > 0 ? u64_min(some[i], least) : some[i];
		most = u64_max(some[i], most);
	}
	const unsigned shift = QUICK || most - least < NEAR ? 0 : 2;
	for (size_t i = 0; i < k && !QUICK; i++)
		some[i] = (some[i] - least) >> shift;
	network_few(some, some, k, NETWORK, 0);
	*pivot = least + ((some[k / 2] + (some[k / 2] == some[0])) << shift);
	return some[k - 1] > some[0];
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
	if (s.n <= INSERT) {
		u64_insert(s.a, s.a, s.n);
		return;
	}
	s.room = s.n;
	find_range(s.a, s.n, &s.least, &s.most);
	if (s.least < s.most)
		sort_cached(s);
}

/* Sort n numbers, NETWORK or fewer. Not inlined, like sort_by_bins: a network of 32 vectors
 * uses the stack. */
VECTORS static __attribute__((noinline)) void sort_by_network(uint64_t *a, size_t n)
{
	network_few(a, a, n, NETWORK, 0);
}

/* Sort any n numbers by partitions and networks. */
VECTORS static void sort_quick(uint64_t *a, uint64_t *tmp, size_t n, unsigned depth)
{
	while (n > NETWORK) {
		span s = { .a = a, .n = n, .depth = depth };
		uint64_t pivot;
		if (!find_pivot(&s, &pivot))
			return;
		depth -= depth > 0;
		const size_t below = n > U64_CACHED ? partition_in_place(a, n, pivot)
						    : partition_cached(a, tmp, n, pivot);
		sort_quick(a, tmp, below, depth);
		a += below;
		n -= below;
	}
	sort_by_network(a, n);
}

VECTORS static void vector_sort(uint64_t *a, uint64_t *tmp, size_t n)
{
	if (QUICK && n <= LANES)
		network(a, a, n, 1, 0);
	else if (QUICK)
		sort_quick(a, tmp, n, QUICK_DEPTH);
	else
		sort_any((span){ .a = a, .tmp = tmp, .n = n, .depth = QUICK_DEPTH, .home = true });
}

VECTORS static size_t vector_split(uint64_t *a, size_t n)
{
	span s = { .a = a, .n = n, .depth = QUICK_DEPTH };
	uint64_t pivot;
	return find_pivot(&s, &pivot) ? partition_in_place(a, n, pivot) : 0;
}
