/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing lists of chunks past the cache, and reading them back. */
#include "bucket_lists.h"
#include "base/minmax.h"
#include "streaming_store.h"

#include <string.h>

void bucket_lists_begin(bucket_writer *w, bucket_lists *c, uint32_t part, lane *lanes,
			uint64_t *lines)
{
	*w = (bucket_writer){ c, c->lists + (size_t)part * c->buckets, lanes, lines, 0, 0 };
	memset(lanes, 0, c->buckets * sizeof *lanes);
	for (uint32_t b = 0; b < c->buckets; b++)
		w->lists[b] = (bucket_list){ CHUNK_NONE, 0 };
}

/* Another chunk for this bucket; the lane's line goes to its beginning. */
static void more(bucket_writer *w, uint32_t bucket)
{
	lane *l = &w->lanes[bucket];
	if (w->at == w->end) {
		w->at = atomic_fetch_add_explicit(&w->c->used, CHUNK_BATCH, memory_order_relaxed);
		w->end = w->at + CHUNK_BATCH;
	}
	const uint32_t chunk = w->at++;
	if (w->lists[bucket].first == CHUNK_NONE)
		w->lists[bucket].first = chunk;
	else
		w->c->next[(size_t)(l->to - 1 - w->c->base) / CHUNK_NUMBERS] = chunk;
	w->c->next[chunk] = CHUNK_NONE;
	l->to = w->c->base + (size_t)chunk * CHUNK_NUMBERS;
}

void bucket_lists_line(bucket_writer *w, uint32_t bucket)
{
	lane *l = &w->lanes[bucket];
	if ((l->n - LINE_NUMBERS) % CHUNK_NUMBERS == 0)
		more(w, bucket);
	streaming_store_line(l->to, w->lines + (size_t)bucket * LINE_NUMBERS);
	l->to += LINE_NUMBERS;
}

void bucket_lists_end(bucket_writer *w)
{
	for (uint32_t b = 0; b < w->c->buckets; b++) {
		lane *l = &w->lanes[b];
		const uint64_t rest = l->n % LINE_NUMBERS;
		w->lists[b].n = l->n;
		if (rest == 0)
			continue;
		if ((l->n - rest) % CHUNK_NUMBERS == 0)
			more(w, b);
		memcpy(l->to, w->lines + (size_t)b * LINE_NUMBERS, rest * sizeof *l->to);
	}
	streaming_store_fence();
}

static void enter_list(bucket_cursor *r)
{
	const bucket_list *l = &r->c->lists[(size_t)r->part * r->c->buckets + r->bucket];
	r->chunk = l->first;
	r->n_in_part = l->n;
}

bucket_cursor bucket_lists_cursor(const bucket_lists *c, uint32_t bucket)
{
	bucket_cursor r = { .c = c, .bucket = bucket };
	for (uint32_t p = 0; p < c->parts; p++)
		r.n += c->lists[(size_t)p * c->buckets + bucket].n;
	enter_list(&r);
	return r;
}

static void skip_empty(bucket_cursor *r)
{
	while (r->n > 0 && r->n_in_part == 0) {
		r->part++;
		enter_list(r);
	}
}

size_t bucket_lists_next(bucket_cursor *r, const uint64_t **at)
{
	size_t n = r->n;
	if (!r->c) {
		*at = r->flat;
		r->flat += n;
		r->n = 0;
		return n;
	}
	skip_empty(r);
	n = size_min(n, u64_min(CHUNK_NUMBERS, r->n_in_part));
	if (n > 0) {
		*at = r->c->base + (size_t)r->chunk * CHUNK_NUMBERS;
		r->chunk = r->c->next[r->chunk];
		r->n -= n;
		r->n_in_part -= n;
	}
	return n;
}

bucket_cursor bucket_lists_cut(bucket_cursor *r, uint64_t least)
{
	const uint64_t *at;
	bucket_cursor piece = *r;
	piece.n = 0;
	if (!r->c) {
		piece.n = u64_min(least, r->n);
		r->flat += piece.n;
		r->n -= piece.n;
		return piece;
	}
	for (size_t n = 1; n > 0 && piece.n < least; piece.n += n)
		n = bucket_lists_next(r, &at);
	return piece;
}
