/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bucket whose numbers already ascend is gathered as it lies; one that fits is sorted as numbers;
 * another one, and numbers that agree in what they hold of the key, as entries with the whole key.
 * Touches nothing but its scratch and the bucket's place in the output. */
#include "bucket.h"
#include "base/minmax.h"
#include "gather.h"
#include "u64_sort.h"
#include "radix.h"

enum { BATCH = 256, FEW = 12 };

bool bucket_rises(bucket_cursor r, uint64_t *first, uint64_t *last)
{
	const uint64_t *at;
	size_t n = bucket_lists_next(&r, &at);
	bool rise = true;
	*first = *last = at[0];
	for (; rise && n > 0; n = bucket_lists_next(&r, &at)) {
		rise = at[0] >= *last;
		for (size_t i = 1; i < n; i++)
			rise &= at[i] > at[i - 1];
		*last = at[n - 1];
	}
	return rise;
}

/* The records of n numbers go to the places from `first` on. */
static void put(const bucket_ctx *c, uint64_t first, const uint64_t *a, uint64_t mask, size_t n)
{
	if (c->order)
		permutation_put(c->order, first, a, 1, mask, n);
	else
		gather_u64(c->in, a, mask, n, c->streaming,
			   c->out + first * c->in->lay.record_bytes);
}

/* The last n entries of the bucket's room; as many again are free before them. */
static entry *entries_at(const bucket_ctx *c, const bucket *b, size_t n)
{
	unsigned char *end = c->room + (b->start + b->n) * c->stride;
	end -= (uintptr_t)end % sizeof(entry);
	return (entry *)(void *)end - n;
}

/* The numbers of one bucket or tie become entries. Records are fetched as they will be needed. */
static void to_entries(const bucket_ctx *c, const uint64_t *a, size_t n, entry *e)
{
	enum { DISTANCE = 16 };
	const layout *l = &c->in->lay;
	for (size_t i = 0; i < n; i++) {
		if (i + DISTANCE < n)
			__builtin_prefetch(
				key_at(l, record_at(c->in, a[i + DISTANCE] & c->pos_mask)));
		const uint64_t pos = a[i] & c->pos_mask;
		e[i] = entry_make(record_at(c->in, pos), l, pos);
	}
}

static void as_entries(const bucket_ctx *c, const bucket *b)
{
	entry *e = entries_at(c, b, b->n), *tmp = e - b->n;
	const uint64_t *at;
	bucket_cursor r = b->numbers;
	for (size_t n, done = 0; (n = bucket_lists_next(&r, &at)) > 0; done += n)
		to_entries(c, at, n, e + done);
	radix_sort(e, tmp, b->n, c->in);
	/* The records may go where the entries lie, which are read before that is written. */
	for (size_t i = 0; i < b->n; i += BATCH) {
		uint64_t order[BATCH];
		const size_t n = size_min(b->n - i, BATCH);
		for (size_t j = 0; j < n; j++)
			order[j] = entry_pos(&e[i + j]);
		put(c, b->start + i, order, UINT64_MAX, n);
	}
}

static inline bool tied(const bucket_ctx *c, uint64_t a, uint64_t b)
{
	return (a | c->pos_mask) == (b | c->pos_mask);
}

static int key_cmp(const bucket_ctx *c, uint64_t a, uint64_t b)
{
	const layout *l = &c->in->lay;
	return key_compare(l, record_at(c->in, a & c->pos_mask), record_at(c->in, b & c->pos_mask));
}

/* n numbers with the same key bits, in the order of their positions: by the whole key, stably. */
static void settle(const bucket_ctx *c, const bucket *b, uint64_t *a, size_t n)
{
	if (n > FEW) {
		entry *e = entries_at(c, b, n), *tmp = e - n;
		to_entries(c, a, n, e);
		radix_sort(e, tmp, n, c->in);
		for (size_t i = 0; i < n; i++)
			a[i] = entry_pos(&e[i]);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		const uint64_t x = a[i];
		size_t j = i;
		for (; j > 0 && key_cmp(c, a[j - 1], x) > 0; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

void bucket_settle(const bucket_ctx *c, const bucket *b, uint64_t *a, size_t n)
{
	for (size_t i = 0, end; i + 1 < n; i = end) {
		end = i + 1;
		if (!tied(c, a[i], a[end]))
			continue;
		while (end < n && tied(c, a[i], a[end]))
			end++;
		settle(c, b, a + i, end - i);
	}
}

static void put_as_is(const bucket_ctx *c, const bucket *b)
{
	const uint64_t *at;
	bucket_cursor r = b->numbers;
	uint64_t first = b->start;
	for (size_t n; (n = bucket_lists_next(&r, &at)) > 0; first += n)
		put(c, first, at, c->pos_mask, n);
}

void bucket_finish(const bucket_ctx *c, const bucket *b, uint64_t *a, uint64_t *tmp)
{
	uint64_t first, last;
	if (b->sorted) {
		put_as_is(c, b);
		return;
	}
	const bool rise = bucket_rises(b->numbers, &first, &last);
	if (b->n > c->cap) {
		if (rise && b->exact)
			put_as_is(c, b);
		else
			as_entries(c, b);
		return;
	}
	const uint64_t *at;
	bucket_cursor r = b->numbers;
	for (size_t n, done = 0; (n = bucket_lists_next(&r, &at)) > 0; done += n)
		memcpy(a + done, at, n * sizeof *a);
	if (!rise)
		u64_sort(a, tmp, b->n);
	if (!b->exact)
		bucket_settle(c, b, a, b->n);
	put(c, b->start, a, c->pos_mask, b->n);
}
