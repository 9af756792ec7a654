/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Radix sort of 16-byte entries from one array into the other and back. Many entries go to bins of
 * about a thousand, each by the distance of its key from the least key. So bytes that all keys
 * share take no passes. A bin that fits into the cache is sorted as numbers of the first key bits
 * that differ and the index, which makes the sort stable. Keys that agree in these bits are
 * compared. Pure. */
#include "radix.h"
#include "base/arith.h"
#include "u64_sort.h"

enum { SMALL = 16, BIN_BITS = 11, BIN = 1024, NUMBERS = 4096, INDEX_BITS = 12 };

/* The range of the keys of some entries: of their first 8 bytes if these differ, otherwise of the
 * other two bytes. A distance from the least key is shifted left by norm, so that it fills a
 * number. */
typedef struct key_range {
	uint64_t least;
	unsigned norm; /* 0..63 */
	unsigned bits; /* number of prefix bits that may differ */
	bool low;      /* all first 8 bytes are the same */
} key_range;

static inline uint64_t radix_distance(const key_range *g, const entry *e)
{
	const uint64_t lo = e->lo & ~POS_MASK;
	if (g->low)
		return (lo - g->least) << g->norm;
	return (e->hi - g->least) << g->norm | lo >> 1 >> (63 - g->norm);
}

/* Sort a by comparison: a bottom-up merge sort of pieces that are sorted by insertion. This is for
 * few entries, and for prefixes that do not differ. b is scratch. */
static void radix_tail_sort(entry *a, entry *b, size_t n, const records *r)
{
	for (size_t first = 0; first < n; first += SMALL)
		for (size_t i = first + 1; i < size_min(n, first + SMALL); i++) {
			const entry x = a[i];
			size_t j = i;
			for (; j > first && entry_key_cmp(&x, &a[j - 1], r) < 0; j--)
				a[j] = a[j - 1];
			a[j] = x;
		}
	for (size_t w = SMALL; w < n; w *= 2) {
		for (size_t lo = 0; lo < n; lo += 2 * w) {
			const size_t mid = lo + size_min(n - lo, w);
			const size_t hi = lo + size_min(n - lo, 2 * w);
			size_t i = lo, j = mid;
			for (size_t k = lo; k < hi; k++)
				b[k] = j >= hi || (i < mid && entry_key_cmp(&a[j], &a[i], r) >= 0)
					       ? a[i++]
					       : a[j++];
		}
		memcpy(a, b, n * sizeof *a);
	}
}

static key_range radix_range(const entry *a, size_t n)
{
	uint64_t least = a[0].hi, most = least, lo_least = a[0].lo, lo_most = lo_least;
	for (size_t i = 1; i < n; i++) {
		least = u64_min(a[i].hi, least);
		most = u64_max(a[i].hi, most);
	}
	if (least != most) {
		const unsigned norm = (unsigned)__builtin_clzll(most - least);
		return (key_range){ least, norm, 64 - norm + 64 - POS_BITS, false };
	}
	for (size_t i = 1; i < n; i++) {
		lo_least = u64_min(a[i].lo, lo_least);
		lo_most = u64_max(a[i].lo, lo_most);
	}
	const uint64_t w = (lo_most & ~POS_MASK) - (lo_least & ~POS_MASK);
	const unsigned norm = w ? (unsigned)__builtin_clzll(w) : 0;
	return (key_range){ lo_least & ~POS_MASK, norm, w ? 64 - POS_BITS - norm : 0, true };
}

/* Sort n (at most NUMBERS) entries of a. The result is in a if `home`, otherwise in b. Not inlined:
 * its arrays must not be in every frame of the recursion. */
static __attribute__((noinline)) void
radix_by_numbers(entry *a, entry *b, size_t n, const key_range *g, bool home, const records *r)
{
	uint64_t number[NUMBERS], tmp[NUMBERS];
	const uint64_t index = (1 << INDEX_BITS) - 1;
	for (size_t i = 0; i < n; i++)
		number[i] = (radix_distance(g, &a[i]) & ~index) | i;
	u64_sort(number, tmp, n);
	for (size_t i = 0; i < n; i++)
		b[i] = a[number[i] & index];
	if (home)
		memcpy(a, b, n * sizeof *a);
	if (!key_tail_bytes(&r->lay) && g->bits <= 64 - INDEX_BITS)
		return;
	entry *sorted = home ? a : b, *scratch = home ? b : a;
	for (size_t i = 0, end; i + 1 < n; i = end) { /* compare entries with equal numbers */
		end = i + 1;
		while (end < n && number[end] >> INDEX_BITS == number[i] >> INDEX_BITS)
			end++;
		if (end - i > 1)
			radix_tail_sort(sorted + i, scratch + i, end - i, r);
	}
}

/* Sort any n entries as radix_by_numbers does. */
static void radix_level(entry *a, entry *b, size_t n, bool home, const records *r)
{
	size_t end[1 << BIN_BITS];
	const key_range g = radix_range(a, n);
	if (g.bits == 0 || n <= SMALL) {
		if (key_tail_bytes(&r->lay) || g.bits > 0)
			radix_tail_sort(a, b, n, r);
		if (!home)
			memcpy(b, a, n * sizeof *a);
		return;
	}
	if (n <= NUMBERS) {
		radix_by_numbers(a, b, n, &g, home, r);
		return;
	}
	unsigned bits = 1;
	while (bits < BIN_BITS && n >> bits > BIN)
		bits++;
	memset(end, 0, sizeof end);
	for (size_t i = 0; i < n; i++)
		end[radix_distance(&g, &a[i]) >> (64 - bits)]++;
	size_t sum = 0;
	for (size_t v = 0; v < (size_t)1 << bits; v++) {
		const size_t count = end[v];
		end[v] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		b[end[radix_distance(&g, &a[i]) >> (64 - bits)]++] = a[i];
	for (size_t v = 0, at = 0; v < (size_t)1 << bits; at = end[v++])
		if (end[v] > at)
			radix_level(b + at, a + at, end[v] - at, !home, r);
}

void radix_sort(entry *a, entry *tmp, size_t n, const records *r)
{
	if (n > 1)
		radix_level(a, tmp, n, true, r);
}

/* Sort n numbers with equal key bits, which are in the order of their positions, by whole keys. */
static void radix_settle_tie(uint64_t *a, size_t n, uint64_t mask, const records *r, uint64_t count,
			     entry *room)
{
	enum { FEW = 12, DISTANCE = 16 };
	const layout *l = &r->lay;
	for (size_t i = 1; n <= FEW && i < n; i++) {
		const uint64_t x = a[i];
		const unsigned char *rec = record_within(r, count, x & mask);
		size_t j = i;
		for (; j > 0; j--) {
			if (key_compare(l, record_within(r, count, a[j - 1] & mask), rec) <= 0)
				break;
			a[j] = a[j - 1];
		}
		a[j] = x;
	}
	if (n <= FEW)
		return;
	for (size_t i = 0; i < n; i++) {
		if (i + DISTANCE < n)
			__builtin_prefetch(
				key_at(l, record_within(r, count, a[i + DISTANCE] & mask)));
		const uint64_t pos = (a[i] & mask) < count ? a[i] & mask : 0;
		room[i] = entry_make(record_at(r, pos), l, pos);
	}
	radix_sort(room, room + n, n, r);
	for (size_t i = 0; i < n; i++)
		a[i] = (a[i] & ~mask) | entry_pos(&room[i]);
}

void radix_settle(uint64_t *a, size_t n, uint64_t mask, const records *r, uint64_t count,
		  entry *room)
{
	for (size_t i = 0, end; i + 1 < n; i = end) {
		for (end = i + 1; end < n && (a[end] ^ a[end - 1]) > mask; end++)
			;
		i = end - 1;
		while (end < n && (a[end] ^ a[i]) <= mask)
			end++;
		if (end - i > 1)
			radix_settle_tie(a + i, end - i, mask, r, count, room);
	}
}
