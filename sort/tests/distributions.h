/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of tests: distributions that are known to break sorts. */
#ifndef HETSORT_TESTS_DISTRIBUTIONS_H
#define HETSORT_TESTS_DISTRIBUTIONS_H

#include <stddef.h>
#include <stdint.h>

typedef struct rng {
	uint64_t s;
} rng;

static uint64_t next(rng *r)
{
	uint64_t z = (r->s += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Return the value that decides the key of record i of n on p ranks. */
typedef uint64_t value_fn(rng *r, size_t i, size_t n, int p);

static uint64_t uniform(rng *r, size_t i, size_t n, int p)
{
	(void)i, (void)n, (void)p;
	return next(r);
}
static uint64_t ascending(rng *r, size_t i, size_t n, int p)
{
	(void)r, (void)n, (void)p;
	return (uint64_t)i << 20;
}
static uint64_t descending(rng *r, size_t i, size_t n, int p)
{
	(void)r, (void)p;
	return (uint64_t)(n - i) << 20;
}
static uint64_t all_equal(rng *r, size_t i, size_t n, int p)
{
	(void)r, (void)i, (void)n, (void)p;
	return 42;
}
static uint64_t two_keys(rng *r, size_t i, size_t n, int p)
{
	(void)i, (void)n, (void)p;
	return next(r) & 1 ? UINT64_MAX : 0; /* keys full of 0x00 and of 0xff */
}
static uint64_t one_giant(rng *r, size_t i, size_t n, int p)
{
	(void)i, (void)n, (void)p;
	const uint64_t v = next(r);
	return v % 10 < 6 ? UINT64_C(0x8000000000000000) : v;
}
static uint64_t zipf(rng *r, size_t i, size_t n, int p)
{
	(void)i, (void)n, (void)p;
	/* 1/u has the tail of Zipf's law with exponent 1 */
	const double u = (double)((next(r) >> 11) + 1) * 0x1p-53;
	return (uint64_t)(1 / u) * UINT64_C(0x10001);
}
static uint64_t common_prefix(rng *r, size_t i, size_t n, int p)
{
	(void)i, (void)n, (void)p;
	return UINT64_C(0xabcdefabcdef0000) | (next(r) & 0xffff);
}
static uint64_t disjoint(rng *r, size_t i, size_t n, int p)
{
	/* each rank's slice has its own range of keys, and the ranges are in reverse order */
	const uint64_t slice = n ? i * (uint64_t)p / n : 0;
	return ((uint64_t)p - slice) << 56 | next(r) >> 8;
}
static uint64_t sawtooth(rng *r, size_t i, size_t n, int p)
{
	(void)r, (void)n, (void)p;
	return (uint64_t)(i % 97) << 40;
}

static const struct distribution {
	const char *name;
	value_fn *value;
} distributions[] = {
	{ "uniform", uniform },     { "sorted", ascending },
	{ "reversed", descending }, { "all-equal", all_equal },
	{ "two-keys", two_keys },   { "giant-duplicate", one_giant },
	{ "zipf", zipf },           { "common-prefix", common_prefix },
	{ "disjoint", disjoint },   { "sawtooth", sawtooth },
};

#endif
