/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each number goes to one of about n / FILL bins by its place between the smallest and the largest,
 * and a bin of a few is sorted by a network of vector operations, or by insertion where the
 * processor has none. Bins that stay large are sorted by quicksort; without vectors they are split
 * again: unless their numbers are equal, they become smaller. Pure. */
#include "u64_sort.h"
#include "base/minmax.h"

#include <string.h>

enum {
	BINS = 4096,
	INSERT = 24,
	FILL_NETWORK = 20,
	FILL_INSERT = 1,
	FILL_MANY = 2048,
	QUICK_MOST = 256,
	QUICK_DEPTH = 64
};

static inline void insertion(uint64_t *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const uint64_t x = a[i];
		size_t j = i;
		for (; j > 0 && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

/* The mapping of the numbers of an array to bins. */
typedef struct bins {
	uint64_t least;
	unsigned shift, n;
} bins;

static inline unsigned bin_of(const bins *b, uint64_t x)
{
	return (unsigned)((x - b->least) >> b->shift);
}

static bins bins_between(uint64_t least, uint64_t most, size_t n, unsigned fill)
{
	if (n / fill > BINS) /* larger bins, which are split again in the cache */
		fill = FILL_MANY;
	bins b = { least, 0, 1 };
	const unsigned width = 64 - (unsigned)__builtin_clzll((most - least) | 1);
	unsigned bits = 1;
	while (bits < 12 && (size_t)fill << bits < n)
		bits++;
	b.shift = width > bits ? width - bits : 0;
	b.n = bin_of(&b, most) + 1;
	return b;
}

/* Scatter a to its bins in `to`; end[v] is where bin v ends. */
static void to_bins(const uint64_t *a, uint64_t *to, size_t n, const bins *b, uint32_t *end)
{
	memset(end, 0, b->n * sizeof *end);
	for (size_t i = 0; i < n; i++)
		end[bin_of(b, a[i])]++;
	uint32_t sum = 0;
	for (unsigned v = 0; v < b->n; v++) {
		const uint32_t count = end[v];
		end[v] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[end[bin_of(b, a[i])]++] = a[i];
}

/* One insertion sort over all bins: numbers at the border of two bins are in order, so branches are
 * mispredicted only for numbers out of order inside a bin. */
static void finish(uint64_t *a, uint64_t *tmp, const bins *b, const uint32_t *end)
{
	for (uint32_t v = 0, at = 0; v < b->n; at = end[v++])
		if (end[v] - at > INSERT)
			u64_sort_plain(tmp + at, a + at, end[v] - at);
	a[0] = tmp[0];
	for (size_t i = 1; i < end[b->n - 1]; i++) {
		const uint64_t x = tmp[i];
		size_t j = i;
		for (; j > 0 && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

void u64_sort_plain(uint64_t *a, uint64_t *tmp, size_t n)
{
	uint32_t end[BINS];
	if (n <= INSERT) {
		insertion(a, n);
		return;
	}
	uint64_t least = a[0], most = a[0];
	for (size_t i = 1; i < n; i++) {
		least = u64_min(a[i], least);
		most = u64_max(a[i], most);
	}
	const bins b = bins_between(least, most, n, FILL_INSERT);
	if (b.n == 1)
		return; /* all equal */
	to_bins(a, tmp, n, &b, end);
	finish(a, tmp, &b, end);
}

#ifdef U64_AVX512

/* Return a median estimate from a few numbers of all parts of a; *same: these are all equal. */
static uint64_t pivot_of(const uint64_t *a, size_t n, bool *same)
{
	enum { FEW = 15, MANY = 63, LARGE = 1024 };
	uint64_t some[MANY];
	const size_t k = n < LARGE ? FEW : MANY;
	for (size_t i = 0; i < k; i++)
		some[i] = a[n / k * i];
	u64_avx512_few(some, some, k);
	*same = some[0] == some[k - 1];
	return some[k / 2];
}

/* Choose a pivot for n numbers: from a few of them, or the middle of their range, which is above
 * the least. false: all are equal. */
static bool find_pivot(const uint64_t *a, size_t n, bool by_range, uint64_t *pivot)
{
	uint64_t least, most;
	bool same = true;
	if (!by_range)
		*pivot = pivot_of(a, n, &same);
	if (!same)
		return true;
	u64_avx512_range(a, n, &least, &most);
	if (by_range)
		*pivot = most - (most - least) / 2;
	return least < most;
}

/* Move the numbers below the pivot to the front; without scratch if there are many. */
static size_t part(uint64_t *a, uint64_t *tmp, size_t n, uint64_t pivot)
{
	return n > U64_CACHED ? u64_avx512_split(a, n, pivot)
			      : u64_avx512_partition(a, tmp, n, pivot);
}

/* Quicksort. After `depth` bad pivots, pivots are middles of ranges. */
static void quick(uint64_t *a, uint64_t *tmp, size_t n, size_t small, unsigned depth,
		  void (*leaf)(uint64_t *a, uint64_t *tmp, size_t n))
{
	while (n > small) {
		uint64_t pivot;
		if (!find_pivot(a, n, depth == 0, &pivot))
			return;
		size_t done = part(a, tmp, n, pivot);
		depth -= depth > 0;
		if (done > 0)
			quick(a, tmp, done, small, depth, leaf);
		else /* the pivot is the least: the numbers that equal it are in place */
			done = part(a, tmp, n, pivot + 1);
		a += done;
		n -= done;
	}
	if (n > 0)
		leaf(a, tmp, n);
}

static void few(uint64_t *a, uint64_t *tmp, size_t n)
{
	(void)tmp;
	u64_avx512_few(a, a, n);
}

static void sort_few(uint64_t *a, uint64_t *tmp, size_t n)
{
	quick(a, tmp, n, U64_NETWORK, QUICK_DEPTH, few);
}

static void finish_vectors(uint64_t *a, uint64_t *tmp, const bins *b, const uint32_t *end)
{
	for (uint32_t v = 0, at = 0; v < b->n; at = end[v++]) {
		const uint32_t n = end[v] - at;
		if (n > U64_NETWORK) {
			sort_few(tmp + at, a + at, n);
			memcpy(a + at, tmp + at, n * sizeof *a);
		} else if (n > 0) {
			u64_avx512_few(tmp + at, a + at, n);
		}
	}
}

void u64_sort(uint64_t *a, uint64_t *tmp, size_t n)
{
	uint32_t end[BINS];
	uint64_t least, most;
	if (n < 2 || !__builtin_cpu_supports("avx512f")) {
		u64_sort_plain(a, tmp, n);
		return;
	}
	if (n <= QUICK_MOST) {
		sort_few(a, tmp, n);
		return;
	}
	u64_avx512_range(a, n, &least, &most);
	const bins b = bins_between(least, most, n, FILL_NETWORK);
	if (b.n == 1)
		return; /* all equal */
	to_bins(a, tmp, n, &b, end);
	finish_vectors(a, tmp, &b, end);
}

bool u64_sort_has_large(void)
{
	return __builtin_cpu_supports("avx512f");
}

void u64_sort_large(uint64_t *a, uint64_t *tmp, size_t n)
{
	quick(a, tmp, n, U64_CACHED, QUICK_DEPTH, u64_sort);
}

#else

bool u64_sort_has_large(void)
{
	return false;
}

void u64_sort_large(uint64_t *a, uint64_t *tmp, size_t n)
{
	(void)a, (void)tmp, (void)n;
}

void u64_sort(uint64_t *a, uint64_t *tmp, size_t n)
{
	u64_sort_plain(a, tmp, n);
}

#endif
