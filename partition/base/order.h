/* SPDX-License-Identifier: GPL-3.0-or-later */
/* order.h - smaller and larger, comparison for sorting, bisection over whole numbers: pure, inline.
 * Not installed. */
#ifndef ORDER_H
#define ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Of numbers that are not NaN: fmax() and fmin() are calls, as they must keep NaN apart. */
static inline double later(double a, double b)
{
	return a > b ? a : b;
}

static inline double sooner(double a, double b)
{
	return a < b ? a : b;
}

/* a + b, at most limit; a <= limit. */
static inline uint64_t add_up_to(uint64_t a, uint64_t b, uint64_t limit)
{
	return b > limit - a ? limit : a + b;
}

/* a/b, rounded up; b > 0. */
static inline uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* For qsort(): by key, of equal ones by processor. */
static inline int compare_keys(long double a, size_t a_proc, long double b, size_t b_proc)
{
	if (a != b)
		return a < b ? -1 : 1;
	return (a_proc > b_proc) - (a_proc < b_proc);
}

/* Bisection over [lo, hi]: of a condition that holds up to some number, the last one for which it
 * does, lo where it never does:
 *     struct bisection s = { lo, hi, 0 };
 *     while (last_step(&s))
 *             last_told(&s, holds(s.mid));
 *     use(s.lo);
 * first_step() and first_told() find the first number for which a condition holds that holds from
 * there on, hi where it never does; hi itself is not asked. */
struct bisection {
	uint64_t lo, hi, mid;
};

static inline bool last_step(struct bisection *s)
{
	s->mid = s->hi - (s->hi - s->lo) / 2;
	return s->lo < s->hi;
}

static inline void last_told(struct bisection *s, bool holds)
{
	if (holds)
		s->lo = s->mid;
	else
		s->hi = s->mid - 1;
}

static inline bool first_step(struct bisection *s)
{
	s->mid = s->lo + (s->hi - s->lo) / 2;
	return s->lo < s->hi;
}

static inline void first_told(struct bisection *s, bool holds)
{
	if (holds)
		s->hi = s->mid;
	else
		s->lo = s->mid + 1;
}

#endif
