/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loser tree over k streams, k any number: leaf s hangs below inner node (s + k) / 2. Pure.
 * A replacement walks one path upwards and compares with the loser kept at each node. */
#include "loser_tree.h"

static inline bool before(const head *a, const head *b, const loser_tree *t)
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
		if (before(&t->node[i], &h, t)) {
			const head loser = h;
			h = t->node[i];
			t->node[i] = loser;
		}
	}
	t->node[0] = h;
}

/* The winner of the subtree at i, leaving the losers in its nodes. */
static head build(loser_tree *t, uint32_t i, const head *first)
{
	if (i >= t->k)
		return first[i - t->k];
	const head l = build(t, 2 * i, first), r = build(t, 2 * i + 1, first);
	const bool right_wins = before(&r, &l, t);
	t->node[i] = right_wins ? l : r;
	return right_wins ? r : l;
}

void loser_tree_init(loser_tree *t, head *node, uint32_t k, const head *first, const layout *l)
{
	*t = (loser_tree){ node, k, key_tail_bytes(l) > 0, *l };
	node[0] = build(t, 1, first);
}
