/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small calculations that all of hetsort needs: the smaller and the larger of two counts, binary
 * search, and pseudo-random numbers. */
#ifndef HETSORT_BASE_ARITH_H
#define HETSORT_BASE_ARITH_H

#include <stdbool.h>
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

/* double_order - compare two numbers, for qsort. */
static inline int double_order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* u64_round_up - return the least multiple of `to` that is at least n. n + to must not overflow. */
static inline uint64_t u64_round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* size_mul - set *r to a * b; return false if the product overflows. */
static inline bool size_mul(size_t a, size_t b, size_t *r)
{
	return !__builtin_mul_overflow(a, b, r);
}

/* A binary search for the first place of [lo, hi) at which a condition no longer holds, or hi. The
 * condition must hold at the first places and at no later one. The loop of the caller states the
 * condition, so the compiler inlines it:
 *
 *	lower_bound b = { .lo = 0, .hi = n };
 *	while (lower_bound_open(&b))
 *		lower_bound_step(&b, a[b.mid] < x);
 *	return b.lo; */
typedef struct lower_bound {
	uint64_t lo, hi; /* the answer lies in [lo, hi] */
	uint64_t mid;    /* the place to test */
} lower_bound;

/* lower_bound_open - return whether the search continues; if so, mid is the place to test. */
static inline bool lower_bound_open(lower_bound *b)
{
	b->mid = b->lo + (b->hi - b->lo) / 2;
	return b->lo < b->hi;
}

/* lower_bound_step - continue, knowing whether the condition holds at mid. */
static inline void lower_bound_step(lower_bound *b, bool holds)
{
	if (holds)
		b->lo = b->mid + 1;
	else
		b->hi = b->mid;
}

/* splitmix - return the next number of a pseudo-random sequence, whose state is any 8 bytes. */
static inline uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* part_begin - return where part i of n equal parts of [0, width) begins. */
static inline uint64_t part_begin(uint64_t width, size_t i, size_t n)
{
	return (uint64_t)((unsigned __int128)width * i / n);
}

/* part_random_place - return a random place in part i of n equal parts, which must not be empty.
 * Samples at fixed distances could coincide with a pattern in the data. state: for splitmix */
static inline uint64_t part_random_place(uint64_t width, size_t i, size_t n, uint64_t *state)
{
	const uint64_t from = part_begin(width, i, n);
	return from + splitmix(state) % (part_begin(width, i + 1, n) - from);
}

#endif
