/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The smaller and the larger of two counts. */
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

#endif
