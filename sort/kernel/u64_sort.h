/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts 64-bit numbers in the cache. */
#ifndef HETSORT_KERNEL_U64_SORT_H
#define HETSORT_KERNEL_U64_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* u64_sort - sort a[0..n) ascending.
 * tmp   room for n numbers; its content is lost.
 * Pure. For n up to some ten thousand, so that both arrays stay in the cache: O(n) if the numbers
 * spread evenly, at most O(n * 64 / log n). */
void u64_sort(uint64_t *a, uint64_t *tmp, size_t n);

enum { U64_CACHED = 16384 };

/* u64_sort_has_large - return whether this processor has the vectors for u64_sort_large. */
bool u64_sort_has_large(void);

/* u64_sort_large - sort any n numbers, with a tmp of U64_CACHED numbers: by quicksort in place
 * until parts fit into the cache. */
void u64_sort_large(uint64_t *a, uint64_t *tmp, size_t n);

/* u64_sort_plain - u64_sort without vector instructions, as other processors run it. */
void u64_sort_plain(uint64_t *a, uint64_t *tmp, size_t n);

/* Parts of u64_sort for processors with AVX-512; the caller must check that this one has it. */
#if defined(__x86_64__) && !defined(HETSORT_PLAIN)
#	define U64_AVX512

enum { U64_NETWORK = 64 }; /* numbers that a network sorts at once */

/* u64_avx512_few - sort n (1 to U64_NETWORK) numbers of a to `to`, which may be a. */
void u64_avx512_few(const uint64_t *a, uint64_t *to, size_t n);

/* u64_avx512_range - find the least and the greatest of n (at least 8) numbers. */
void u64_avx512_range(const uint64_t *a, size_t n, uint64_t *least, uint64_t *most);

/* u64_avx512_partition - move the numbers of a below pivot to its front; tmp: scratch for n.
 * Returns how many are below. */
size_t u64_avx512_partition(uint64_t *a, uint64_t *tmp, size_t n, uint64_t pivot);

/* u64_avx512_split - the same without scratch, for 64 numbers or more. */
size_t u64_avx512_split(uint64_t *a, size_t n, uint64_t pivot);

#endif

#endif
