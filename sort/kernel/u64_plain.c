/* SPDX-License-Identifier: GPL-3.0-or-later */
/* u64_sort for processors without vectors. Each number goes to one of about n bins by its place
 * between the smallest and the largest, and insertion sorts each bin of a few. Bins that stay large
 * are split again: unless their numbers are equal, they become smaller. Pure. */
#include "u64_sort.h"
#include "base/minmax.h"

#include <string.h>

enum {
	BINS = 4096,
	INSERT = 24,
	FILL_MANY = 2048 /* larger bins, which are split again in the cache */
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

static bins bins_between(uint64_t least, uint64_t most, size_t n)
{
	const unsigned fill = n > BINS ? FILL_MANY : 1;
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
	const bins b = bins_between(least, most, n);
	if (b.n == 1)
		return; /* all equal */
	to_bins(a, tmp, n, &b, end);
	finish(a, tmp, &b, end);
}
