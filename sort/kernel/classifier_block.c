/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding the buckets of keys, block by block, with a map that classifier.c has made. Pure. */
#include "classifier.h"

/* Return the segment of value w: search from its cell on. reach: t->reach, a constant if
 * possible. */
static inline __attribute__((always_inline)) uint32_t find_segment(const classifier_table *t,
								   uint64_t w, uint32_t reach)
{
	const uint64_t x = w - t->base;
	uint64_t c = classifier_cell(t, x) + 1;
	if (__builtin_expect(x > t->range, 0))
		c = w < t->base ? 0 : t->last_cell;
	uint32_t s = t->of_cell[c];
	if (__builtin_constant_p(reach)) {
#pragma GCC unroll 3
		for (uint32_t step = REACH_UNROLLED / 2; step > 0; step /= 2)
			if (step < reach)
				s += step & -(uint32_t)(t->segment.from[s + step] <= w);
		return s;
	}
	for (uint32_t n = reach; n > 1;) {
		const uint32_t half = n / 2;
		s += half & -(uint32_t)(t->segment.from[s + half] <= w);
		n -= half;
	}
	return s;
}

/* Return the number of a record whose window w is in segment s of a table. */
static inline uint64_t segment_number(const classifier_segments *g, uint32_t s, uint64_t w,
				      uint64_t pos_mask, uint64_t pos)
{
	return pos | ((w - g->from[s]) << g->norm[s] & ~pos_mask);
}

static inline uint64_t position_of(const classifier *m, const classifier_work *k, size_t i)
{
	return k->at ? k->at[i] & m->pos_mask : k->first + i;
}

/* Store the results for record i, whose window w is in segment s of the root. */
static inline __attribute__((always_inline)) void note_segment(const classifier *m,
							       const classifier_segments *g,
							       const classifier_work *f, size_t i,
							       uint32_t s, uint64_t w)
{
	if (f->number)
		f->number[i] = segment_number(g, s, w, m->pos_mask, position_of(m, f, i));
	f->bucket[i] = g->to[s];
}

enum { AT_ONCE = 8 }; /* searches in a tree run at the same time, because each waits for loads */

/* Find the segments of n windows in the tree, and of up to AT_ONCE - 1 windows after these. */
static inline __attribute__((always_inline)) void
find_in_tree(const classifier *m, const uint64_t *w, size_t n, const classifier_work *f)
{
	const classifier_segments g = m->root.segment;
	const uint64_t *tree = m->root.tree;
	const unsigned levels = m->root.levels;
	const size_t leaves = (size_t)1 << levels;
	for (size_t i = 0; i < n; i += AT_ONCE) {
		size_t at[AT_ONCE] = { 1, 1, 1, 1, 1, 1, 1, 1 };
		for (unsigned l = 0; l < levels; l++)
#pragma GCC unroll 8
			for (unsigned k = 0; k < AT_ONCE; k++)
				at[k] += at[k] + (tree[at[k]] < w[i + k]);
#pragma GCC unroll 8
		for (unsigned k = 0; k < AT_ONCE; k++)
			note_segment(m, &g, f, i + k, (uint32_t)(at[k] - leaves), w[i + k]);
	}
}

static inline __attribute__((always_inline)) void find_in_cells(const classifier *m,
								const uint64_t *w, size_t n,
								const classifier_work *f,
								uint32_t reach)
{
	/* a copy that cannot alias the arrays written here */
	const classifier_table t = m->root;
	for (size_t i = 0; i < n; i++)
		note_segment(m, &t.segment, f, i, find_segment(&t, w[i], reach), w[i]);
}

/* Find the segments of n windows; usual reaches are constants. */
static inline __attribute__((always_inline)) void find_all(const classifier *m, const uint64_t *w,
							   size_t n, const classifier_work *f)
{
	_Static_assert(REACH_UNROLLED == 8, "the constants below");
	m->root.levels       ? find_in_tree(m, w, n, f)
	: m->root.reach == 1 ? find_in_cells(m, w, n, f, 1)
	: m->root.reach == 2 ? find_in_cells(m, w, n, f, 2)
	: m->root.reach == 4 ? find_in_cells(m, w, n, f, 4)
	: m->root.reach == 8 ? find_in_cells(m, w, n, f, 8)
			     : find_in_cells(m, w, n, f, m->root.reach);
}

/* Return 0 if the key shares the common bytes, else a number below or above 0, as the key sorts. */
static int key_outside(const classifier *m, const unsigned char *rec)
{
	const uint64_t v = key_window_read(&m->lay, &m->head, rec);
	if (v != m->head_value)
		return v < m->head_value ? -1 : 1;
	if (m->root.key_from <= KEY_WINDOW_BYTES)
		return 0;
	return key_part_compare(&m->lay, rec, m->root.like, KEY_WINDOW_BYTES, m->root.key_from);
}

/* Return the bucket of a record whose segment of the root leads to `to`, and set its number. */
static uint32_t follow_segment(const classifier *m, const unsigned char *rec, uint64_t pos,
			       uint32_t to, uint64_t *number)
{
	while ((to & (TO_TABLE | TO_HEAVY)) == TO_TABLE) {
		const classifier_table *t = &m->table[to & ~TO_TABLE];
		const uint64_t w = key_window_read(&m->lay, &t->window, rec);
		const uint32_t s = find_segment(t, w, t->reach);
		*number = segment_number(&t->segment, s, w, m->pos_mask, pos);
		to = t->segment.to[s];
	}
	if (to < TO_HEAVY)
		return to;
	const classifier_heavy *h = &m->heavy[to & ~TO_HEAVY];
	const uint64_t w = key_window_read(&m->lay, &h->window, rec);
	int c = (w > h->value) - (w < h->value);
	if (c == 0 && !h->short_rest)
		c = key_compare(&m->lay, rec, h->rec);
	*number = c ? pos | (w & ~m->pos_mask) : pos;
	return h->bucket + (c >= 0) + (c > 0);
}

/* Read the windows of a block. */
static inline __attribute__((always_inline)) void block_windows(const classifier *m,
								const classifier_work *k,
								const key_window *read, uint64_t *w,
								window_kind of)
{
	/* copies that cannot alias the array written here */
	const layout lay = m->lay;
	const key_window window = *read;
	const classifier_work b = *k;
	const records in = *b.in;
	const unsigned char *rec = record_at(&in, b.first);
	if (!b.at)
		for (size_t i = 0; i < b.n; i++, rec += lay.record_bytes)
			w[i] = key_window_read_as(of, &lay, &window, rec);
	else
		for (size_t i = 0; i < b.n; i++)
			w[i] = key_window_read_as(of, &lay, &window,
						  record_at(&in, b.at[i] & m->pos_mask));
}

/* Return whether all keys share the common bytes. Above 8 common bytes, return false without a
 * check. w: scratch for their windows. */
static bool all_inside(const classifier *m, const classifier_work *k, uint64_t *w)
{
	uint64_t differ = 0;
	if (m->root.key_from == 0)
		return true;
	if (m->root.key_from > KEY_WINDOW_BYTES)
		return false;
	WITH_WINDOW(m->head.of, block_windows, m, k, &m->head, w);
	for (size_t i = 0; i < k->n; i++)
		differ |= w[i] ^ m->head_value;
	return differ == 0;
}

/* Find the buckets of keys in segments of the root that lead to heavy keys. Return the bitwise or
 * of all buckets. */
static unsigned find_heavy(const classifier *m, const classifier_work *k)
{
	const classifier_work b = *k;
	uint64_t w[CLASSIFIER_BLOCK];
	unsigned to = 0;
	WITH_WINDOW(m->rest.of, block_windows, m, &b, &m->rest, w);
	for (size_t i = 0; i < b.n; i++) {
		if (b.bucket[i] & TO_HEAVY) {
			const classifier_heavy *h = &m->heavy[b.bucket[i] & ~TO_HEAVY];
			const bool from = w[i] >= h->value, above = w[i] > h->value;
			b.bucket[i] = (uint16_t)(h->bucket + from + above);
			if (b.number)
				b.number[i] = position_of(m, &b, i) |
					      (from > above ? 0 : w[i] & ~m->pos_mask);
		}
		to |= b.bucket[i];
	}
	return to;
}

/* Find the buckets of keys without the common bytes, and of keys whose segments are not buckets. */
static void look_closer(const classifier *m, const classifier_work *k, bool inside)
{
	const classifier_work b = *k;
	for (size_t i = 0; i < b.n; i++) {
		const uint64_t pos = position_of(m, &b, i);
		const unsigned char *rec = record_at(b.in, pos);
		const int side = inside ? 0 : key_outside(m, rec);
		uint64_t own = b.number ? b.number[i] : 0;
		if (side != 0) {
			b.bucket[i] = side < 0 ? 0 : (uint16_t)(m->buckets - 1);
			own = pos | (key_window_read(&m->lay, &m->first, rec) & ~m->pos_mask);
		} else if (b.bucket[i] >= TO_TABLE) {
			b.bucket[i] = (uint16_t)follow_segment(m, rec, pos, b.bucket[i], &own);
		}
		if (b.number)
			b.number[i] = own;
	}
}

void classifier_block(const classifier *m, const classifier_work *k)
{
	const classifier_work b = *k;
	uint64_t w[CLASSIFIER_BLOCK + AT_ONCE - 1];
	const key_window *window = &m->root.window;
	const bool inside = all_inside(m, &b, w);
	WITH_WINDOW(window->of, block_windows, m, &b, window, w);
	memset(w + b.n, 0, (AT_ONCE - 1) * sizeof *w);
	/* constants for members that are NULL make the code of their cases faster */
	const classifier_work only = { .bucket = b.bucket };
	const classifier_work rows = { .first = b.first, .bucket = b.bucket, .number = b.number };
	unsigned to = 0;
	if (!b.number)
		find_all(m, w, b.n, &only);
	else if (b.at)
		find_all(m, w, b.n, &b);
	else
		find_all(m, w, b.n, &rows);
	for (size_t i = 0; i < b.n && m->root_leads; i++)
		to |= b.bucket[i];
	if (inside && to >= TO_HEAVY && m->short_rest)
		to = find_heavy(m, &b);
	if (!inside || to >= TO_TABLE)
		look_closer(m, &b, inside);
}
