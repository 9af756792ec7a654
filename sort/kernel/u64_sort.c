/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each number goes to one of about n / FILL bins by its place between the smallest and the largest,
 * and a bin of a few is sorted by a network of vector operations, or by insertion where the
 * processor has none. Bins that stay large are split again: unless their numbers are equal, they
 * become smaller. Pure. */
#include "u64_sort.h"
#include "base/minmax.h"

#include <string.h>

#if defined(__x86_64__) && !defined(HETSORT_PLAIN)
#	include <immintrin.h>
#	define VECTORS __attribute__((target("avx512f")))
#endif

enum {
	BINS = 4096,
	NETWORK = 16,
	INSERT = 24,
	FILL_NETWORK = 6,
	FILL_INSERT = 1,
	FILL_MANY = 2048,
	SPLIT_AGAIN = 48
};

static inline void insertion(uint64_t *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const uint64_t x = a[i];
		size_t j = i;
		for (; j > 0 && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

/* How the numbers of an array go to bins. */
typedef struct bins {
	uint64_t least;
	unsigned shift, n;
} bins;

static inline unsigned bin_of(const bins *b, uint64_t x)
{
	return (unsigned)((x - b->least) >> b->shift);
}

static bins bins_for(const uint64_t *a, size_t n, unsigned fill)
{
	uint64_t least = a[0], most = a[0];
	for (size_t i = 1; i < n; i++) {
		least = u64_min(a[i], least);
		most = u64_max(a[i], most);
	}
	if (n / fill > BINS) /* larger bins, which are split again in the cache */
		fill = FILL_MANY;
	bins b = { least, 0, 1 };
	const unsigned width = 64 - (unsigned)__builtin_clzll((most - least) | 1);
	unsigned bits = 1;
	while (bits < 12 && (size_t)fill << bits < n)
		bits++;
	b.shift = width > bits ? width - bits : 0;
	b.n = bin_of(&b, most) + 1;
	return b;
}

/* Scatter a to its bins in `to`; end[v] is where bin v ends. */
static void to_bins(const uint64_t *a, uint64_t *to, size_t n, const bins *b, uint32_t *end)
{
	memset(end, 0, b->n * sizeof *end);
	for (size_t i = 0; i < n; i++)
		end[bin_of(b, a[i])]++;
	uint32_t sum = 0;
	for (unsigned v = 0; v < b->n; v++) {
		const uint32_t count = end[v];
		end[v] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[end[bin_of(b, a[i])]++] = a[i];
}

/* One insertion over all bins: where one ends and the next begins there is nothing to decide, so
 * only numbers out of order inside a bin are mispredicted. */
static void finish(uint64_t *a, uint64_t *tmp, const bins *b, const uint32_t *end)
{
	for (uint32_t v = 0, at = 0; v < b->n; at = end[v++])
		if (end[v] - at > INSERT)
			u64_sort_plain(tmp + at, a + at, end[v] - at);
	a[0] = tmp[0];
	for (size_t i = 1; i < end[b->n - 1]; i++) {
		const uint64_t x = tmp[i];
		size_t j = i;
		for (; j > 0 && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

void u64_sort_plain(uint64_t *a, uint64_t *tmp, size_t n)
{
	uint32_t end[BINS];
	if (n <= INSERT) {
		insertion(a, n);
		return;
	}
	const bins b = bins_for(a, n, FILL_INSERT);
	if (b.n == 1)
		return; /* all equal */
	to_bins(a, tmp, n, &b, end);
	finish(a, tmp, &b, end);
}

#ifdef VECTORS

/* One step of a network: every lane against its partner, the lanes of `upper` keep the larger. */
#	define STEP(x, partner, upper)                               \
		do {                                                  \
			const __m512i p_ = (partner);                 \
			const __m512i lo_ = _mm512_min_epu64(x, p_),  \
				      hi_ = _mm512_max_epu64(x, p_);  \
			(x) = _mm512_mask_mov_epi64(lo_, upper, hi_); \
		} while (0)

VECTORS static inline __m512i reversed(__m512i x)
{
	return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), x);
}

VECTORS static inline __m512i sort8(__m512i x)
{
	STEP(x, _mm512_permutex_epi64(x, 0xb1), 0xaa);
	STEP(x, _mm512_permutex_epi64(x, 0x1b), 0xcc);
	STEP(x, _mm512_permutex_epi64(x, 0xb1), 0xaa);
	STEP(x, reversed(x), 0xf0);
	STEP(x, _mm512_permutex_epi64(x, 0x4e), 0xcc);
	STEP(x, _mm512_permutex_epi64(x, 0xb1), 0xaa);
	return x;
}

/* Sorts ascending lanes that are followed by descending ones, or the reverse. */
VECTORS static inline __m512i bitonic8(__m512i x)
{
	STEP(x, _mm512_shuffle_i64x2(x, x, 0x4e), 0xf0);
	STEP(x, _mm512_permutex_epi64(x, 0x4e), 0xcc);
	STEP(x, _mm512_permutex_epi64(x, 0xb1), 0xaa);
	return x;
}

/* What remains of a bin that is too large for the end of it: n numbers of from into to, sorted. */
static void again(uint64_t *to, uint64_t *from, size_t n)
{
	if (n > SPLIT_AGAIN)
		u64_sort(from, to, n);
	else
		insertion(from, n);
	memcpy(to, from, n * sizeof *to);
}

VECTORS static void finish_vectors(uint64_t *a, uint64_t *tmp, const bins *b, const uint32_t *end)
{
	const __m512i most = _mm512_set1_epi64(-1);
	for (uint32_t v = 0, at = 0; v < b->n; at = end[v++]) {
		const uint32_t n = end[v] - at;
		const __mmask8 some = (__mmask8)((1u << (n & 15)) - 1);
		if (n <= 8) {
			const __m512i x = _mm512_mask_loadu_epi64(most, some, tmp + at);
			_mm512_mask_storeu_epi64(a + at, some, sort8(x));
		} else if (n <= NETWORK) {
			const __mmask8 rest = (__mmask8)((1u << (n - 8)) - 1);
			const __m512i x = sort8(_mm512_loadu_si512(tmp + at));
			const __m512i y =
				reversed(sort8(_mm512_mask_loadu_epi64(most, rest, tmp + at + 8)));
			_mm512_storeu_si512(a + at, bitonic8(_mm512_min_epu64(x, y)));
			_mm512_mask_storeu_epi64(a + at + 8, rest,
						 bitonic8(_mm512_max_epu64(x, y)));
		} else {
			again(a + at, tmp + at, n);
		}
	}
}

void u64_sort(uint64_t *a, uint64_t *tmp, size_t n)
{
	uint32_t end[BINS];
	if (n <= INSERT || !__builtin_cpu_supports("avx512f")) {
		u64_sort_plain(a, tmp, n);
		return;
	}
	const bins b = bins_for(a, n, FILL_NETWORK);
	if (b.n == 1)
		return; /* all equal */
	to_bins(a, tmp, n, &b, end);
	finish_vectors(a, tmp, &b, end);
}

#else

void u64_sort(uint64_t *a, uint64_t *tmp, size_t n)
{
	u64_sort_plain(a, tmp, n);
}

#endif
