/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of the best instruction set of this processor, and a sort without vectors.
 *
 * Without vectors, each number goes to one of up to n bins, by its distance from the smallest
 * number. Larger bins are sorted in the same way again unless their numbers are equal. Insertion
 * sorts the numbers of small bins. Pure. */
#include "u64_sort.h"
#include "base/arith.h"
#include "base/cpu.h"

#include <string.h>

static const u64_set PLAIN = { .name = "plain", .sort = u64_sort_plain };

const u64_set *u64_set_at(unsigned i)
{
#if defined(U64_X86)
	if (CPU_HAS_AVX512() && i-- == 0)
		return &U64_AVX512;
	if (CPU_HAS_AVX2() && i-- == 0)
		return &U64_AVX2;
#elif defined(U64_ARM)
	if (i-- == 0)
		return &U64_NEON;
#endif
	return i == 0 ? &PLAIN : NULL;
}

void u64_sort(uint64_t *a, uint64_t *tmp, size_t n)
{
	u64_set_at(0)->sort(a, tmp, n);
}

bool u64_sort_has_large(void)
{
	return u64_set_at(0)->split;
}

size_t u64_split(uint64_t *a, size_t n)
{
	/* u64_sort_has_large is true. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
	return u64_set_at(0)->split(a, n);
}

/* -------------------------------------------------------------------------- without vectors */

enum {
	BINS = 4096,
	INSERT = 24,
	FILL_MANY = 2048 /* for many numbers: large bins, which are split again in the cache */
};

void u64_sort_plain(uint64_t *a, uint64_t *tmp, size_t n)
{
	uint32_t end[BINS];
	if (n <= INSERT) {
		u64_insert(a, a, n);
		return;
	}
	uint64_t least = a[0], most = a[0];
	for (size_t i = 1; i < n; i++) {
		least = u64_min(a[i], least);
		most = u64_max(a[i], most);
	}
	if (least == most)
		return;
	const unsigned width = 64 - (unsigned)__builtin_clzll(most - least);
	const unsigned fill = n > BINS ? FILL_MANY : 1;
	unsigned bits = 1;
	while (bits < 12 && (size_t)fill << bits < n)
		bits++;
	const unsigned shift = width > bits ? width - bits : 0;
	const unsigned bins = (unsigned)((most - least) >> shift) + 1;
	/* scatter a to the bins; end[v] becomes where bin v ends */
	uint32_t sum = 0;
	memset(end, 0, bins * sizeof *end);
	for (size_t i = 0; i < n; i++)
		end[(a[i] - least) >> shift]++;
	for (unsigned v = 0; v < bins; v++) {
		const uint32_t count = end[v];
		end[v] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		tmp[end[(a[i] - least) >> shift]++] = a[i];
	for (uint32_t v = 0, at = 0; v < bins; at = end[v++])
		if (end[v] - at > INSERT)
			u64_sort_plain(tmp + at, a + at, end[v] - at);
	/* One insertion sort over all bins. Numbers at the border of two bins are in order, so
	 * branches are mispredicted only for numbers out of order inside a bin. */
	a[0] = tmp[0];
	u64_insert(a, tmp, n);
}
