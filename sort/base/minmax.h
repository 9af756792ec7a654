/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The smaller and the larger of two counts, and multiples. */
#ifndef HETSORT_BASE_MINMAX_H
#define HETSORT_BASE_MINMAX_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline size_t size_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t size_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* u64_round_up - return the least multiple of `to` that is at least n. n + to must not overflow. */
static inline uint64_t u64_round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

#endif
