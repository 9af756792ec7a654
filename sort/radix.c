/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MSD radix sort of 16-byte entries, one key byte a level, from one array into the other and back:
 * every scatter is stable, so position never has to be compared. Pure. Levels on which all keys
 * agree cost one counting pass; small buckets end in insertion sort. */
#include "radix.h"

enum { SMALL = 24, RADIX = 256 };

/* What stays the same down the recursion. */
typedef struct ctx {
	const records *r;
	unsigned digits; /* key bytes that the entry holds */
	uint32_t tail;   /* key bytes that it does not */
} ctx;

static inline unsigned digit_of(const entry *e, unsigned d)
{
	return d < 8 ? (unsigned)(e->hi >> (56 - 8 * d)) & 255
		     : (unsigned)(e->lo >> (56 - 8 * (d - 8))) & 255;
}

static inline bool less(const entry *a, const entry *b, const ctx *c)
{
	const int order = prefix_cmp(a->hi, a->lo, b->hi, b->lo);
	if (order || !c->tail)
		return order < 0;
	return memcmp(record_tail(c->r, entry_pos(a)), record_tail(c->r, entry_pos(b)), c->tail) <
	       0;
}

static void insertion(entry *a, size_t n, const ctx *c)
{
	for (size_t i = 1; i < n; i++) {
		const entry x = a[i];
		size_t j = i;
		for (; j > 0 && less(&x, &a[j - 1], c); j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

/* Bottom-up merge sort by comparison, for what agrees in all digits: sorts a, b is scratch. */
static void tail_sort(entry *a, entry *b, size_t n, const ctx *c)
{
	for (size_t i = 0; i < n; i += SMALL)
		insertion(a + i, n - i < SMALL ? n - i : SMALL, c);
	for (size_t w = SMALL; w < n; w *= 2) {
		for (size_t lo = 0; lo < n; lo += 2 * w) {
			const size_t mid = n - lo < w ? n : lo + w;
			const size_t hi = n - lo < 2 * w ? n : lo + 2 * w;
			size_t i = lo, j = mid;
			for (size_t k = lo; k < hi; k++)
				b[k] = j >= hi || (i < mid && !less(&a[j], &a[i], c)) ? a[i++]
										      : a[j++];
		}
		memcpy(a, b, n * sizeof *a);
	}
}

static void count_digits(const entry *a, size_t n, unsigned d, size_t count[RADIX])
{
	memset(count, 0, RADIX * sizeof count[0]);
	for (size_t i = 0; i < n; i++)
		count[digit_of(&a[i], d)]++;
}

static void scatter(const entry *a, entry *b, size_t n, unsigned d, const size_t count[RADIX])
{
	size_t at[RADIX], sum = 0;
	for (unsigned v = 0; v < RADIX; v++) {
		at[v] = sum;
		sum += count[v];
	}
	for (size_t i = 0; i < n; i++)
		b[at[digit_of(&a[i], d)]++] = a[i];
}

/* Sort a[0..n), equal in all digits before d; the result ends in a if home, else in b. */
static void level(entry *a, entry *b, size_t n, unsigned d, bool home, const ctx *c)
{
	size_t count[RADIX];
	for (; n > SMALL && d < c->digits; d++) {
		count_digits(a, n, d, count);
		if (count[digit_of(a, d)] < n)
			break;
	}
	if (n <= SMALL || d == c->digits) {
		if (n <= SMALL)
			insertion(a, n, c);
		else if (c->tail)
			tail_sort(a, b, n, c);
		if (!home)
			memcpy(b, a, n * sizeof *a);
		return;
	}
	scatter(a, b, n, d, count);
	for (size_t v = 0, at = 0; v < RADIX; at += count[v++])
		if (count[v])
			level(b + at, a + at, count[v], d + 1, !home, c);
}

void entries_sort(entry *a, entry *tmp, size_t n, const records *r)
{
	const uint32_t k = r->lay.key_bytes;
	const ctx c = { r, k < PREFIX_BYTES ? k : PREFIX_BYTES, tail_bytes(&r->lay) };
	level(a, tmp, n, 0, true, &c);
}
