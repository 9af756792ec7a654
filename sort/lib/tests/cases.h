/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cases.h - inputs for the sort in memory, and the expected outputs. A stable sort has one right
 * answer, so outputs are compared with it byte for byte. Everything is a function of the case, so
 * each rank makes all of it by itself. */
#ifndef HETSORT_LIB_TESTS_CASES_H
#define HETSORT_LIB_TESTS_CASES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

typedef struct shape {
	uint32_t record_bytes, key_off, key_bytes;
} shape;

/* The usual record; only a key; a long key whose end decides. A key at an odd place; one byte; a
 * record that is too short for two entries. */
static const shape shapes[] = {
	{ 100, 0, 10 }, { 10, 0, 10 }, { 64, 8, 40 }, { 33, 5, 3 }, { 1, 0, 1 }, { 24, 16, 8 },
};

static inline uint64_t mixed(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static const char *const distributions[] = { "uniform",  "equal", "ascending", "descending",
					     "two-keys", "tails", "giant" };

/* Return the number that decides the key of record i of n. */
static inline uint64_t key_number(size_t distribution, uint64_t i, uint64_t n)
{
	const uint64_t r = mixed((i + 1) * UINT64_C(0x9e3779b97f4a7c15));
	switch (distribution) {
	case 1:
		return 42;
	case 2:
		return i;
	case 3:
		return n - i;
	case 4:
		return r & 1 ? UINT64_MAX : 0;
	case 5:
		return r % 5;
	case 6:
		return r % 10 < 7 ? UINT64_C(1) << 63 : r;
	default:
		return r;
	}
}

/* Make record i. Its key ends with the number, or with the last bytes of the number if the key is
 * shorter. The other bytes distinguish records with equal keys. */
static inline void make_record(unsigned char *rec, const shape *s, size_t distribution, uint64_t i,
			       uint64_t n)
{
	uint64_t v = key_number(distribution, i, n), other = mixed(i + 77);
	for (uint32_t b = 0; b < s->record_bytes; b++)
		rec[b] = (unsigned char)(other >> (b % 8 * 8));
	for (uint32_t b = s->key_bytes; b-- > 0; v >>= 8)
		rec[s->key_off + b] = (unsigned char)v;
}

static inline unsigned char *make_input(const shape *s, size_t distribution, uint64_t n)
{
	unsigned char *in = malloc(n * s->record_bytes + 1);
	for (uint64_t i = 0; in && i < n; i++)
		make_record(in + i * s->record_bytes, s, distribution, i, n);
	return in;
}

static inline int compare_places(const void *a, const void *b, void *arg)
{
	const struct {
		const unsigned char *in;
		shape s;
	} *t = arg;
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	const int c = memcmp(t->in + x * t->s.record_bytes + t->s.key_off,
			     t->in + y * t->s.record_bytes + t->s.key_off, t->s.key_bytes);
	return c ? c : (x > y) - (x < y);
}

/* Make the right answer, by qsort over places. */
static inline unsigned char *make_answer(const unsigned char *in, const shape *s, uint64_t n)
{
	unsigned char *out = malloc(n * s->record_bytes + 1);
	uint64_t *place = malloc((n + 1) * sizeof *place);
	struct {
		const unsigned char *in;
		shape s;
	} t = { in, *s };
	for (uint64_t i = 0; place && i < n; i++)
		place[i] = i;
	if (place)
		qsort_r(place, n, sizeof *place, compare_places, &t);
	for (uint64_t i = 0; place && out && i < n; i++)
		memcpy(out + i * s->record_bytes, in + place[i] * s->record_bytes, s->record_bytes);
	free(place);
	return out;
}

/* Spread n records over p ranks. */
enum spread { EVENLY, ALL_ON_LAST, EVERY_SECOND, SPREADS };

static inline void spread(enum spread how, uint64_t n, size_t p, uint64_t *count)
{
	const uint64_t some = how == EVERY_SECOND ? (p + 1) / 2 : p;
	for (size_t i = 0, k = 0; i < p; i++) {
		const bool has = how == EVENLY || (how == EVERY_SECOND && i % 2 == 0);
		count[i] = has ? n * (k + 1) / some - n * k / some : 0;
		k += has;
	}
	if (how == ALL_ON_LAST)
		count[p - 1] = n;
}

static inline uint64_t before(const uint64_t *count, size_t i)
{
	uint64_t sum = 0;
	while (i-- > 0)
		sum += count[i];
	return sum;
}

/* Make an array at an odd address, with a border on both sides that must not change. */
enum { BORDER = 61 };

static inline unsigned char *bordered(uint64_t bytes)
{
	unsigned char *a = malloc(bytes + 2 * BORDER);
	if (a)
		memset(a, 0x3c, bytes + 2 * BORDER);
	return a;
}

static inline bool border_holds(const unsigned char *a, uint64_t bytes)
{
	for (size_t i = 0; i < BORDER; i++)
		if (a[i] != 0x3c || a[BORDER + bytes + i] != 0x3c)
			return false;
	return true;
}

#endif
