/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two ways to merge sorted sequences. A few runs of entries in the cache are merged in pairs. Any
 * number of streams of records are merged by a loser tree. Pure. */
#ifndef HETSORT_KERNEL_MERGE_H
#define HETSORT_KERNEL_MERGE_H

#include "key.h"

enum { PAIRWISE_MAX = 8 /* runs; sorting the entries of more runs again is faster */ };

/* pairwise_merge - merge k (1..PAIRWISE_MAX) runs of n[0..k) entries each, by (key, position).
 * run     sorted runs, which may be empty, and may be in e, one after the other
 * e, tmp  each has room for all entries; the result is in e or tmp, which is returned
 * r       the records of the entries, read only for keys longer than KEY_PREFIX_BYTES
 * Time O(sum of n * log k); fast if e and tmp stay in the cache. */
entry *pairwise_merge(const entry *const *run, const size_t *n, size_t k, entry *e, entry *tmp,
		      const records *r);

/* The next record of a stream. As in an entry, the prefix of its key is in hi and the top of lo.
 * The bits of the position have the number of the stream, so that equal keys are in the order of
 * streams. */
typedef struct head {
	uint64_t hi, lo;
	const unsigned char *rec; /* NULL: the stream has ended */
} head;

/* The heads of k sorted streams. Finding the smallest takes log2 k comparisons. */
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

/* head_end - return the head of a stream that has ended: it sorts after every record. */
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

/* loser_tree_init - make a tree of k streams, whose first heads are first[0..k), in node[0..k). */
void loser_tree_init(loser_tree *t, head *node, uint32_t k, const head *first, const layout *l);

/* loser_tree_replace - replace the winner by h, the next head of its stream. */
void loser_tree_replace(loser_tree *t, head h, uint32_t stream);

#endif
