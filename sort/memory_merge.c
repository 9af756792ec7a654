/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heads of all streams are taken in batches, merged until a batch is used up, and then the records
 * behind them are copied: of the other ranks out of the windows of the exchange, of this one from
 * where they lie. So the comparing does not wait for memory, nor the copying for comparisons. Each
 * record is copied once here; a block is let go when all of it has been copied. */
#include "memory_merge.h"

enum {
	PROGRESS_BYTES = 128 << 10, /* merged between two looks at the exchange */
	LARGE_BYTES = 8 << 20
};

static void refill_own(memory_merge *g, memory_stream *s)
{
	const uint64_t left = g->end - g->at;
	s->n = left < BATCH ? (uint32_t)left : BATCH;
	for (uint32_t i = 0; i < s->n; i++, g->at++) {
		if (g->end - g->at > PLACES_AHEAD)
			places_fetch(g->own, g->at + PLACES_AHEAD);
		s->h[i] = head_make(places_record(g->own, g->at), g->rank, &g->lay);
	}
}

/* The next heads of stream i, all of whose earlier records have been copied. */
static status refill(memory_merge *g, uint32_t i)
{
	memory_stream *s = &g->s[i];
	s->at = s->n = 0;
	if (i == g->rank) {
		refill_own(g, s);
		return ST_OK;
	}
	if (s->left == 0) {
		size_t n;
		const status rc = exchange_next(g->x, (int)i, &s->rec, &n);
		if (rc != ST_OK)
			return rc;
		s->left = n;
	}
	s->n = s->left < BATCH ? (uint32_t)s->left : BATCH;
	for (uint32_t k = 0; k < s->n; k++, s->rec += g->lay.record_bytes)
		s->h[k] = head_make(s->rec, i, &g->lay);
	s->left -= s->n;
	return ST_OK;
}

/* The records behind n heads, to the output. */
static void copy_out(memory_merge *g, const head *h, size_t n)
{
	const uint32_t bytes = g->lay.record_bytes;
	for (size_t i = 0; i < n; i++) {
		if (g->large) {
			record_copy(past_cache_room(&g->past), h[i].rec, bytes);
			past_cache_add(&g->past, bytes);
		} else {
			record_copy(g->out, h[i].rec, bytes);
			g->out += bytes;
		}
	}
}

/* Two streams, keys within the prefix: without a branch that nobody can foretell. Returns how many
 * went to `to`, until one batch is used up. */
static size_t merge_two(memory_stream *a, memory_stream *b, head *to)
{
	size_t n = 0;
	uint32_t i = a->at, j = b->at;
	while (i < a->n && j < b->n) {
		const head *x = &a->h[i], *y = &b->h[j];
		const bool second =
			(y->hi < x->hi) | ((y->hi == x->hi) & (y->lo < x->lo)); /* no jump */
		const head *first = second ? y : x;
		to[n++] = *first;
		i += !second;
		j += second;
	}
	a->at = i;
	b->at = j;
	return n;
}

static size_t take_rest(memory_stream *s, head *to)
{
	const size_t n = s->n - s->at;
	memcpy(to, s->h + s->at, n * sizeof *to);
	s->at = s->n;
	return n;
}

/* After copying: what is used up is filled again. */
static status refill_if_empty(memory_merge *g, uint32_t i)
{
	const memory_stream *s = &g->s[i];
	return s->n && s->at == s->n ? refill(g, i) : ST_OK;
}

/* Now and then, by the bytes merged since. */
static status look(memory_merge *g, size_t n, size_t *since)
{
	*since += n * g->lay.record_bytes;
	if (*since < PROGRESS_BYTES)
		return ST_OK;
	*since = 0;
	return exchange_progress(g->x);
}

static status merge_pair(memory_merge *g)
{
	head taken[2 * BATCH];
	memory_stream *a = &g->s[0], *b = &g->s[1];
	size_t since = 0;
	status rc = ST_OK;
	while (rc == ST_OK && (a->n || b->n)) {
		const size_t n = !a->n   ? take_rest(b, taken)
				 : !b->n ? take_rest(a, taken)
					 : merge_two(a, b, taken);
		copy_out(g, taken, n);
		if ((rc = refill_if_empty(g, 0)) == ST_OK)
			rc = refill_if_empty(g, 1);
		if (rc == ST_OK)
			rc = look(g, n, &since);
	}
	return rc;
}

/* Any number of streams, until the winner's batch is used up: whose it was. */
static size_t merge_many(memory_merge *g, head *to, uint32_t *emptied)
{
	for (size_t n = 0;;) {
		const head won = g->t.node[0];
		const uint32_t i = head_stream(&won);
		memory_stream *s = &g->s[i];
		to[n++] = won;
		*emptied = i;
		if (++s->at == s->n || n == BATCH)
			return n;
		losertree_replace(&g->t, s->h[s->at], i);
	}
}

static status merge_tree(memory_merge *g)
{
	head taken[BATCH];
	size_t since = 0;
	status rc = ST_OK;
	for (uint32_t i = 0; i < g->k; i++)
		g->heads[i] = g->s[i].n ? g->s[i].h[0] : head_end();
	losertree_init(&g->t, g->heads + g->k, g->k, g->heads, &g->lay);
	while (rc == ST_OK && !head_is_end(&g->t.node[0])) {
		uint32_t i;
		const size_t n = merge_many(g, taken, &i);
		memory_stream *s = &g->s[i];
		copy_out(g, taken, n);
		if ((rc = refill_if_empty(g, i)) != ST_OK)
			return rc;
		losertree_replace(&g->t, s->at < s->n ? s->h[s->at] : head_end(), i);
		rc = look(g, n, &since);
	}
	return rc;
}

status memory_merge_run(memory_merge *g, unsigned char *out, uint64_t bytes)
{
	status rc = ST_OK;
	g->out = out;
	g->large = bytes >= LARGE_BYTES && g->lay.record_bytes <= PAST_MOST;
	if (g->large)
		past_cache_begin(&g->past, out);
	for (uint64_t i = g->at; i < g->end && i < g->at + PLACES_AHEAD; i++)
		places_fetch(g->own, i);
	for (uint32_t i = 0; i < g->k && rc == ST_OK; i++)
		rc = refill(g, i);
	if (rc == ST_OK)
		rc = g->k == 2 && !tail_bytes(&g->lay) ? merge_pair(g) : merge_tree(g);
	if (g->large)
		past_cache_end(&g->past);
	return rc;
}
