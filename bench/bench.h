/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench.h - what the planner's benchmarks share: a clock, the median of samples, random numbers
 * that are the same everywhere, the line that says how it was built. */
#ifndef BENCH_H
#define BENCH_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEN(a) (sizeof(a) / sizeof(a)[0])

static inline double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Time this process was given a processor: what is left when others use the machine too. */
static inline double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The finish of splitmix64: mix(0), mix(1), ... are random bits. */
static inline uint64_t mix(uint64_t z)
{
	z += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* splitmix64, uniform in [0, 1). */
static inline double rnd_real(uint64_t *s)
{
	const uint64_t z = mix(*s);

	*s += UINT64_C(0x9e3779b97f4a7c15);
	return (double)(z >> 11) * 0x1p-53;
}

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts v; the mean of the two in the middle for an even number. */
static inline double median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

#endif
