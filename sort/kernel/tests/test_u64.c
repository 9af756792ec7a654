/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compare u64_sort with qsort, and check partitions: for all instruction sets of this processor,
 * and for vectors of eight numbers in plain C; all sizes to 600 and some to 100,000, of many kinds.
 * Denormal numbers become 0, as programs compiled with -ffast-math set it. Needs no library,
 * because long_neon.sh runs it on an emulated processor. */
#include "base/arith.h"
#include "kernel/u64_sort.h"

#include <stdio.h>
#include <stdlib.h>
#ifdef U64_X86
#	include <xmmintrin.h>
#endif

/* ------------------------------------------------------------------- the layer in plain C */

#define LANES 8
#define QUICK 1
#define VECTORS
#define INLINE static inline

typedef struct vec {
	uint64_t lane[LANES];
} vec;

#define EACH_LANE for (unsigned i = 0; i < LANES; i++)

INLINE vec v_load(const uint64_t *p)
{
	vec x;
	EACH_LANE x.lane[i] = p[i];
	return x;
}

INLINE void v_store(uint64_t *p, vec x)
{
	EACH_LANE p[i] = x.lane[i];
}

INLINE vec v_all(uint64_t x)
{
	vec v;
	EACH_LANE v.lane[i] = x;
	return v;
}

INLINE vec v_load_left(const uint64_t *p, int left, vec base)
{
	vec x;
	(void)base;
	EACH_LANE x.lane[i] = (int)i < left ? p[i] : UINT64_MAX;
	return x;
}

INLINE void v_store_left(uint64_t *p, int left, vec x)
{
	EACH_LANE if ((int)i < left) p[i] = x.lane[i];
}

INLINE vec v_least(vec a, vec b)
{
	EACH_LANE a.lane[i] = u64_min(a.lane[i], b.lane[i]);
	return a;
}

INLINE vec v_greatest(vec a, vec b)
{
	EACH_LANE a.lane[i] = u64_max(a.lane[i], b.lane[i]);
	return a;
}

INLINE void v_exchange(vec *a, vec *b)
{
	const vec low = v_least(*a, *b);
	*b = v_greatest(*a, *b);
	*a = low;
}

INLINE vec v_step(vec x, vec partner, unsigned upper)
{
	const vec low = v_least(x, partner), high = v_greatest(x, partner);
	EACH_LANE x.lane[i] = upper >> i & 1 ? high.lane[i] : low.lane[i];
	return x;
}

/* Lane i of the result is lane i ^ with of x. */
INLINE vec moved(vec x, unsigned with)
{
	vec y;
	EACH_LANE y.lane[i] = x.lane[i ^ with];
	return y;
}

/* Lane i of the result is lane order[i] of a, or lane order[i] - 8 of b. */
INLINE vec chosen(vec a, vec b, const unsigned *order)
{
	vec y;
	EACH_LANE y.lane[i] = order[i] < LANES ? a.lane[order[i]] : b.lane[order[i] - LANES];
	return y;
}

INLINE vec v_zip(vec a, vec b, unsigned from, bool reverse)
{
	static const unsigned ORDER[LANES] = { 0, 8, 1, 9, 4, 12, 5, 13 };
	unsigned order[LANES];
	EACH_LANE order[i] = ORDER[reverse ? LANES - 1 - i : i] + from;
	return chosen(a, b, order);
}

#define CHOSEN(a, b, ...) chosen(a, b, (const unsigned[]){ __VA_ARGS__ })
#define v_evens(a, b)     CHOSEN(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define v_odds(a, b)      CHOSEN(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define v_lows(a, b)      CHOSEN(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define v_highs(a, b)     CHOSEN(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define v_outer(a, b)     CHOSEN(a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define v_inner(a, b)     CHOSEN(a, b, 2, 3, 6, 7, 10, 11, 14, 15)
#define v_swap1(x)        moved(x, 1)
#define v_swap2(x)        moved(x, 2)
#define v_turn4(x)        moved(x, 3)
#define v_turn8(x)        moved(x, 7)
#define v_flip(x)         (x)
#define v_enter(x, base)  ((void)(base), (x))
#define v_leave(x, base)  ((void)(base), (x))

INLINE unsigned v_split(vec x, vec pivot, uint64_t *low, uint64_t *high)
{
	vec parts = x;
	unsigned below = 0, rest = LANES;
	EACH_LANE if (x.lane[i] < pivot.lane[i]) parts.lane[below++] = x.lane[i];
	else parts.lane[--rest] = x.lane[i];
	v_store(low, parts);
	v_store(high - LANES, parts);
	return below;
}

#include "kernel/u64_algorithm.h"

/* ---------------------------------------------------------------------------------- inputs */

static uint64_t mix(uint64_t z)
{
	z += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

typedef struct kind {
	const char *name;
	uint64_t (*number)(uint64_t i, uint64_t n, uint64_t r); /* r is random */
} kind;

#define KIND(name, number)                                       \
	static uint64_t name(uint64_t i, uint64_t n, uint64_t r) \
	{                                                        \
		(void)i, (void)n, (void)r;                       \
		return number;                                   \
	}

KIND(uniform, r)
KIND(equal, UINT64_C(0xfff8000000000001))
KIND(ascending, i << 20)
KIND(descending, (n - i) << 20)
KIND(organ_pipe, i < n / 2 ? i : n - i)
KIND(two_values, r % 2 ? UINT64_MAX : 0)
KIND(near_most, UINT64_MAX - r % 2)
KIND(seven, r % 7)
KIND(sixteen, mix(r % 16))
KIND(zipf, UINT64_C(0x7fffffff) / (r % UINT64_C(0x7fffffff) + 1))
KIND(crowded, ((UINT64_C(1) << r % 46) - 1) << 17 | i)
KIND(crowded_above, ~(((UINT64_C(1) << r % 46) - 1) << 17 | i))
KIND(widths, r >> mix(r) % 61)
KIND(narrow, UINT64_C(0x7ff0000000000000) + r % 1000)
KIND(giant, mix(r) % 2 ? UINT64_C(0x5555555555555555) : r)
KIND(outlier, i ? r % 100000 : UINT64_MAX)
KIND(sawtooth, (i % 32) << 59 | i)
KIND(nearly, r % 16 ? i << 30 : r >> 10)
KIND(just_near, r % 3 ? r % 2 : NEAR - 1 - r % 2)
KIND(just_far, r % 3 ? r % 2 : NEAR + 1 - r % 2)
KIND(prefix, mix(r % 24) << 40 | r >> 24)
KIND(denormals, r % 100 << r % 50)

static const kind KINDS[] = {
	{ "uniform", uniform },
	{ "equal", equal },
	{ "ascending", ascending },
	{ "descending", descending },
	{ "organ pipe", organ_pipe },
	{ "two values", two_values },
	{ "near the most", near_most },
	{ "seven values", seven },
	{ "sixteen values", sixteen },
	{ "zipf", zipf },
	{ "crowded", crowded },
	{ "crowded above", crowded_above },
	{ "widths", widths },
	{ "narrow", narrow },
	{ "giant", giant },
	{ "outlier", outlier },
	{ "sawtooth", sawtooth },
	{ "nearly sorted", nearly },
	{ "just near", just_near },
	{ "just far", just_far },
	{ "prefix", prefix },
	{ "denormals", denormals },
};

static const size_t LARGE_SIZES[] = { 511,   512,   513,   1000,  1024,  2047,  4096,   6001,
				      16383, 16384, 16385, 20000, 32771, 65536, 100000, 100031 };

enum {
	GUARD = 16,
	ALL_TO = 600,
	SETS_MOST = 8,
	KIND_COUNT = sizeof KINDS / sizeof *KINDS,
	LARGE_COUNT = sizeof LARGE_SIZES / sizeof *LARGE_SIZES
};

#define GUARD_WORD UINT64_C(0x1234567887654321)

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Return n numbers between guard words. */
static uint64_t *guarded(size_t n)
{
	uint64_t *p = malloc((n + 2 * GUARD) * sizeof *p);
	if (!p) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	for (size_t i = 0; i < n + 2 * GUARD; i++)
		p[i] = GUARD_WORD;
	return p + GUARD;
}

static bool guards_hold(const uint64_t *p, size_t n)
{
	for (size_t i = 0; i < GUARD; i++)
		if (p[i - GUARD] != GUARD_WORD || p[n + i] != GUARD_WORD)
			return false;
	return true;
}

/* Sort `from` with a set; return why the result is wrong, or NULL. */
static const char *sort_once(const u64_set *set, const uint64_t *from, const uint64_t *want,
			     size_t n)
{
	const bool any =
		set->sort != u64_sort_plain && (set->sort != u64_sort || u64_sort_has_large());
	const size_t room = any && n > U64_CACHED ? U64_CACHED : n;
	uint64_t *a = guarded(n), *tmp = guarded(room);
	memcpy(a, from, n * sizeof *a);
	set->sort(a, tmp, n);
	const char *why = memcmp(a, want, n * sizeof *a) ? "not sorted"
			  : !guards_hold(a, n)           ? "wrote beyond the numbers"
			  : !guards_hold(tmp, room)      ? "wrote beyond the scratch"
							 : NULL;
	free(a - GUARD);
	free(tmp - GUARD);
	return why;
}

/* Split `from` in two, sort both, and return why the result is wrong, or NULL. */
static const char *split_once(const u64_set *set, const uint64_t *from, const uint64_t *want,
			      size_t n)
{
	uint64_t *a = guarded(n), *tmp = guarded(U64_CACHED);
	memcpy(a, from, n * sizeof *a);
	const size_t below = set->split(a, n);
	const bool parts = below > 0 ? below < n : want[0] == want[n - 1];
	if (parts) {
		set->sort(a, tmp, below);
		set->sort(a + below, tmp, n - below);
	}
	const char *why = !parts                           ? "a part without numbers"
			  : memcmp(a, want, n * sizeof *a) ? "not split"
			  : !guards_hold(a, n)             ? "split wrote beyond the numbers"
							   : NULL;
	free(a - GUARD);
	free(tmp - GUARD);
	return why;
}

/* Partition `from` by pivots; return why the result is wrong, or NULL. */
static const char *partition_once(const u64_set *set, const uint64_t *from, const uint64_t *want,
				  size_t n)
{
	const uint64_t pivots[] = { 0, n ? want[n / 2] : 1, n ? want[n - 1] + 1 : 2 };
	const char *why = NULL;
	for (unsigned i = 0; i < sizeof pivots / sizeof *pivots && !why; i++) {
		size_t below = 0;
		uint64_t *a = guarded(n), *tmp = guarded(U64_CACHED);
		while (below < n && want[below] < pivots[i])
			below++;
		memcpy(a, from, n * sizeof *a);
		const bool counted = set->partition(a, n, pivots[i]) == below;
		set->sort(a, tmp, below);
		set->sort(a + below, tmp, n - below);
		why = !counted                         ? "miscounted the numbers below"
		      : memcmp(a, want, n * sizeof *a) ? "not partitioned"
		      : !guards_hold(a, n)             ? "partitioning wrote beyond the numbers"
						       : NULL;
		free(a - GUARD);
		free(tmp - GUARD);
	}
	return why;
}

static unsigned sort_kind(const u64_set *const *set, const kind *k, size_t n, uint64_t seed)
{
	uint64_t *from = guarded(n), *want = guarded(n);
	unsigned failed = 0;
	for (size_t i = 0; i < n; i++)
		from[i] = want[i] = k->number(i, n, mix(seed + i));
	qsort(want, n, sizeof *want, by_number);
	for (; *set; set++) {
		const char *why = sort_once(*set, from, want, n);
		if (!why && (*set)->split && n > U64_CACHED)
			why = split_once(*set, from, want, n);
		if (!why && (*set)->split)
			why = partition_once(*set, from, want, n);
		failed += why != NULL;
		if (why)
			printf("# %s, %zu numbers, %s: %s\n", (*set)->name, n, k->name, why);
	}
	free(from - GUARD);
	free(want - GUARD);
	return failed;
}

static void flush_denormals(void)
{
#if defined(U64_X86)
	_mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(U64_ARM)
	__asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(1) << 24));
#endif
}

int main(void)
{
	static const u64_set OWN[] = { { "eight lanes in C", vector_sort, vector_split,
					 partition_in_place },
				       { .name = "u64_sort", .sort = u64_sort } };
	const u64_set *sets[SETS_MOST] = { &OWN[0], &OWN[1] };
	unsigned count = 2, failed = 0;
	for (unsigned i = 0; count + 1 < SETS_MOST && u64_set_at(i); i++)
		sets[count++] = u64_set_at(i);
	flush_denormals();
	for (unsigned i = 0; i < count; i++)
		printf("# %s\n", sets[i]->name);
	for (unsigned i = 0; i < KIND_COUNT; i++) {
		unsigned bad = 0;
		for (size_t n = 0; n <= ALL_TO; n++)
			bad += sort_kind(sets, &KINDS[i], n, n << 32);
		for (unsigned j = 0; j < LARGE_COUNT; j++)
			bad += sort_kind(sets, &KINDS[i], LARGE_SIZES[j], j);
		printf("%sok %u - %s\n", bad ? "not " : "", i + 1, KINDS[i].name);
		failed += bad;
	}
	printf("1..%d\n", KIND_COUNT);
	return failed > 0;
}
