/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merging. Runs are merged in pairs, level by level, between two buffers that stay in the cache.
 * The loser tree works for any number k of streams: leaf s is below inner node (s + k) / 2.
 * Replacing the winner walks one path upwards and compares with the loser at each node. Pure. */
#include "merge.h"

typedef struct entry_run {
	const entry *e;
	size_t n;
} entry_run;

/* Merge a and b to `to`. The choice is not a branch: for keys in random order, half of the branches
 * would be mispredicted. If a key fits into the prefix, hi and lo are one number of 128 bits. */
static void pairwise_merge_two(entry_run a, entry_run b, entry *to, const records *r)
{
	const entry *x = a.e, *xend = x + a.n, *y = b.e, *yend = y + b.n;
	const bool tails = key_tail_bytes(&r->lay) > 0;
	while (x < xend && y < yend) {
		const bool second = tails ? entry_cmp(y, x, r) < 0
					  : y->hi < x->hi || (y->hi == x->hi && y->lo < x->lo);
		*to++ = second ? *y : *x;
		y += second;
		x += !second;
	}
	if (x < xend) /* an empty run may be NULL */
		memcpy(to, x, (size_t)(xend - x) * sizeof *to);
	if (y < yend)
		memcpy(to, y, (size_t)(yend - y) * sizeof *to);
}

/* The first level merges to tmp. Runs in e are not needed after that, so e and tmp alternate. */
entry *pairwise_merge(const entry *const *run, const size_t *n, size_t k, entry *e, entry *tmp,
		      const records *r)
{
	entry_run s[PAIRWISE_MAX];
	entry *from = e, *to = tmp;
	for (size_t i = 0; i < k; i++)
		s[i] = (entry_run){ run[i], n[i] };
	for (; k > 1; k = (k + 1) / 2) {
		entry *at = to;
		for (size_t i = 0; i < k; i += 2) {
			const entry_run b = i + 1 < k ? s[i + 1] : (entry_run){ s[i].e, 0 };
			const size_t both = s[i].n + b.n;
			pairwise_merge_two(s[i], b, at, r);
			s[i / 2] = (entry_run){ at, both };
			at += both;
		}
		entry *const merged = to;
		to = from;
		from = merged;
	}
	return from;
}

static inline bool head_precedes(const head *a, const head *b, const loser_tree *t)
{
	if (t->tails && a->rec && b->rec) {
		int c = key_prefix_compare(a->hi, a->lo, b->hi, b->lo);
		if (c == 0)
			c = key_tail_compare(&t->lay, a->rec, b->rec);
		if (c)
			return c < 0;
	}
	return a->hi != b->hi ? a->hi < b->hi : a->lo < b->lo;
}

void loser_tree_replace(loser_tree *t, head h, uint32_t stream)
{
	for (uint32_t i = (stream + t->k) / 2; i > 0; i /= 2) {
		if (head_precedes(&t->node[i], &h, t)) {
			const head loser = h;
			h = t->node[i];
			t->node[i] = loser;
		}
	}
	t->node[0] = h;
}

/* Return the winner of the subtree at node i, and store the losers in its nodes. */
static head loser_tree_build(loser_tree *t, uint32_t i, const head *first)
{
	if (i >= t->k)
		return first[i - t->k];
	const head l = loser_tree_build(t, 2 * i, first), r = loser_tree_build(t, 2 * i + 1, first);
	const bool right_wins = head_precedes(&r, &l, t);
	t->node[i] = right_wins ? l : r;
	return right_wins ? r : l;
}

void loser_tree_init(loser_tree *t, head *node, uint32_t k, const head *first, const layout *l)
{
	*t = (loser_tree){ node, k, key_tail_bytes(l) > 0, *l };
	node[0] = loser_tree_build(t, 1, first);
}
