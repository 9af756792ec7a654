/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loser tree: finds the smallest head of k sorted streams by log2 k comparisons. */
#ifndef HETSORT_KERNEL_LOSER_TREE_H
#define HETSORT_KERNEL_LOSER_TREE_H

#include "record.h"

/* The head of a stream: the prefix in hi and the top of lo, the stream's number below, so that
 * equal keys leave in the order of their streams. */
typedef struct head {
	uint64_t hi, lo;
	const unsigned char *rec; /* NULL: the stream has ended */
} head;

typedef struct loser_tree {
	head *node; /* node[0] the winner, node[1..k) the losers */
	uint32_t k; /* streams, >= 1 */
	bool tails; /* keys are longer than the prefix */
	layout lay;
} loser_tree;

/* head_make - return the head of stream s, whose first record is rec. */
static inline head head_make(const unsigned char *rec, uint32_t s, const layout *l)
{
	const entry e = entry_make(rec, l, s);
	return (head){ e.hi, e.lo, rec };
}

/* head_end - return the head of a stream that has ended: after every record. */
static inline head head_end(void)
{
	return (head){ UINT64_MAX, UINT64_MAX, NULL };
}

static inline bool head_is_end(const head *h)
{
	return !h->rec;
}

static inline uint32_t head_stream(const head *h)
{
	return (uint32_t)(h->lo & POS_MASK);
}

/* loser_tree_init - make a tree of k streams; node has room for k heads, first[0..k) are the first
 * heads of the streams. */
void loser_tree_init(loser_tree *t, head *node, uint32_t k, const head *first, const layout *l);

/* loser_tree_replace - replace the winner by the next head h of its stream; node[0] is the new
 * winner. */
void loser_tree_replace(loser_tree *t, head h, uint32_t stream);

#endif
