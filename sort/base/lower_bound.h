/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binary search for the first place of [lo, hi) at which a condition no longer holds; hi if it
 *holds at all of them. It must hold at the first places and at no later one. The caller's loop
 *states the condition, so the compiler inlines it:
 *
 *	lower_bound b = { .lo = 0, .hi = n };
 *	while (lower_bound_open(&b))
 *		lower_bound_step(&b, a[b.mid] < x);
 *	return b.lo; */
#ifndef HETSORT_BASE_LOWER_BOUND_H
#define HETSORT_BASE_LOWER_BOUND_H

#include <stdbool.h>
#include <stdint.h>

typedef struct lower_bound {
	uint64_t lo, hi; /* the answer lies in [lo, hi] */
	uint64_t mid;    /* the place to look at */
} lower_bound;

/* lower_bound_open - are places left? If so, mid is the next to look at. */
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

#endif
