/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests.h - what the planner's tests share: cmocka, near-equality that prints both numbers, random
 * numbers that are the same everywhere, smaller counts under a sanitizer. */
#ifndef TESTS_H
#define TESTS_H

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hetpart.h>

#define LEN(a) (sizeof(a) / sizeof(a)[0])

static hetpart_err err;

/* Require that the call succeeds; otherwise print why not. */
#define OK(call)                                                                           \
	do {                                                                               \
		err.text[0] = 0;                                                           \
		hetpart_status rc_ = (call);                                               \
		if (rc_ != HETPART_OK)                                                     \
			fail_msg("%s: %s: %s", #call, hetpart_status_text(rc_), err.text); \
	} while (0)

#define NEAR(got, want, rel)                                                             \
	do {                                                                             \
		double got_ = (got), want_ = (want);                                     \
		if (!(fabs(got_ - want_) <= (rel)*fabs(want_)))                          \
			fail_msg("%s is %.17g, want %.17g within %g", #got, got_, want_, \
				 (double)(rel));                                         \
	} while (0)

/* Return the next number of splitmix64. */
static inline uint64_t rnd(uint64_t *s)
{
	uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Return a number, uniform in [0, 1). */
static inline double rnd_real(uint64_t *s)
{
	return (double)(rnd(s) >> 11) * 0x1p-53;
}

/* Return a number, uniform in [0, n). */
static inline uint64_t rnd_below(uint64_t *s, uint64_t n)
{
	return rnd(s) % n;
}

/* Return the rounds of a test: fewer under sanitizers, which are slow. */
static inline int rounds(int n)
{
	const char *san = getenv("SANITIZER");
	return san && *san ? n / 8 + 1 : n;
}

#endif
