/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench.h - the parts that the benchmarks share: clocks, the median of samples, random numbers that
 * are the same on every machine, and options. */
#ifndef BENCH_H
#define BENCH_H

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEN(a) (sizeof(a) / sizeof(a)[0])

/* End the program with a message. */
#define bench_stop(...)                                                                        \
	(fprintf(stderr, "%s: ", program_invocation_short_name), fprintf(stderr, __VA_ARGS__), \
	 fputc('\n', stderr), exit(1))

static inline double bench_clock_s(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double bench_now_s(void)
{
	return bench_clock_s(CLOCK_MONOTONIC);
}

/* Return the processor time of this process in seconds. Other programs hardly affect it. */
static inline double cpu_s(void)
{
	return bench_clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

/* Return random bits that depend only on z, by the output function of splitmix64. */
static inline uint64_t mix(uint64_t z)
{
	z += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Return the next random number of splitmix64 with state *s, uniform in [0, 1). */
static inline double rnd_real(uint64_t *s)
{
	const uint64_t z = mix(*s);
	*s += UINT64_C(0x9e3779b97f4a7c15);
	return (double)(z >> 11) * 0x1p-53;
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sort v and return its median. For an even n, this is the mean of the two values in the middle. */
static inline double bench_median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, bench_compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Print v as a list of numbers with a number of decimals, in JSON. */
static inline void bench_print_list(FILE *f, const double *v, int n, int decimals)
{
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%.*f", i ? ", " : "[", decimals, v[i]);
	fputc(']', f);
}

/* Return the number after the option `name`, or `otherwise` if the option is not given. */
static inline double bench_option(int argc, char **argv, const char *name, double otherwise)
{
	for (int i = 1; i + 1 < argc; i += 2)
		if (!strcmp(argv[i], name))
			return strtod(argv[i + 1], NULL);
	return otherwise;
}

#endif
