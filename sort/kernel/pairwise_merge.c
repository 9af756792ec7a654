/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A few runs are merged by pairs, level upon level, between two buffers that stay in the cache. A
 * merge of two decides without a branch: with keys in random order every second one would be
 * mispredicted. Pure. */
#include "pairwise_merge.h"

typedef struct entry_run {
	const entry *e;
	size_t n;
} entry_run;

/* (key, position) as one number of 128 bits: what an entry is where the prefix holds the key. */
static inline bool below(const entry *a, const entry *b)
{
	return a->hi < b->hi || (a->hi == b->hi && a->lo < b->lo);
}

/* An empty run may have no address. */
static void copy(entry *to, const entry *from, size_t n)
{
	if (n > 0)
		memcpy(to, from, n * sizeof *to);
}

/* a and b into to; the rest of the one that lasts longer is copied. */
static void merge_two(entry_run a, entry_run b, entry *to, const records *r)
{
	const entry *x = a.e, *xend = x + a.n, *y = b.e, *yend = y + b.n;
	const bool tails = key_tail_bytes(&r->lay) > 0;
	while (x < xend && y < yend) {
		const bool second = tails ? entry_cmp(y, x, r) < 0 : below(y, x);
		*to++ = second ? *y : *x;
		y += second;
		x += !second;
	}
	copy(to, x, (size_t)(xend - x));
	copy(to + (xend - x), y, (size_t)(yend - y));
}

/* One level: runs 2i and 2i + 1 become entry_run i, in to. Returns how many there are now. */
static size_t pair_up(entry_run *s, size_t k, entry *to, const records *r)
{
	for (size_t i = 0; i < k; i += 2) {
		const entry_run b = i + 1 < k ? s[i + 1] : (entry_run){ s[i].e, 0 };
		const size_t n = s[i].n + b.n;
		merge_two(s[i], b, to, r);
		s[i / 2] = (entry_run){ to, n };
		to += n;
	}
	return (k + 1) / 2;
}

/* Buffers alternate: the first level leaves e, which is then as free as tmp. */
entry *pairwise_merge_in(const entry *const *run, const size_t *n, size_t k, entry *e, entry *tmp,
			 const records *r)
{
	entry_run s[PAIRWISE_MAX];
	entry *from = e, *to = tmp;
	for (size_t i = 0; i < k; i++)
		s[i] = (entry_run){ run[i], n[i] };
	while (k > 1) {
		k = pair_up(s, k, to, r);
		entry *const merged = to;
		to = from;
		from = merged;
	}
	return from;
}
