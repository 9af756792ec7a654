/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting 64-bit numbers in the cache. Pure. */
#ifndef HETSORT_KERNEL_U64_SORT_H
#define HETSORT_KERNEL_U64_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* u64_sort - sort a[0..n) ascending.
 * n     up to some ten thousand, so that both arrays stay in the cache
 * tmp   room for n numbers; its content is lost
 * Time O(n) if the numbers spread evenly, at most O(n * 64 / log n). */
void u64_sort(uint64_t *a, uint64_t *tmp, size_t n);

enum { U64_CACHED = 16384 };

/* u64_sort_has_large - return whether this processor has vector instructions. Then u64_sort sorts
 * any n numbers with a tmp of U64_CACHED numbers: by quicksort in place, until parts fit. */
bool u64_sort_has_large(void);

/* u64_split - move the numbers below a pivot to the front of n numbers, more than U64_CACHED.
 * Return how many are below, about half of n, or 0 if all are equal. Needs vectors. */
size_t u64_split(uint64_t *a, size_t n);

/* u64_sort_plain - sort without vector instructions, as u64_sort does on other processors. */
void u64_sort_plain(uint64_t *a, uint64_t *tmp, size_t n);

/* u64_insert - sort a[0] and from[1..n), n numbers, to a by insertion. from may be a. */
static inline void u64_insert(uint64_t *a, const uint64_t *from, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const uint64_t x = from[i];
		size_t j = i;
		for (; j > 0 && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

/* Instruction sets that u64_sort is compiled for. */
#if defined(__x86_64__)
#	define U64_X86
#elif defined(__aarch64__)
#	define U64_ARM
#endif

/* u64_sort and u64_split compiled for an instruction set. */
typedef struct u64_set {
	const char *name;
	void (*sort)(uint64_t *a, uint64_t *tmp, size_t n);
	size_t (*split)(uint64_t *a, size_t n); /* NULL without vectors */
	/* Move the numbers below the pivot to the front of any n numbers, and return how many are
	 * below; NULL without vectors. */
	size_t (*partition)(uint64_t *a, size_t n, uint64_t pivot);
} u64_set;

extern const u64_set U64_AVX512, U64_AVX2, U64_NEON;

/* u64_set_at - return the i-th best instruction set of this processor, or NULL. u64_sort uses the
 * best. */
const u64_set *u64_set_at(unsigned i);

#endif
