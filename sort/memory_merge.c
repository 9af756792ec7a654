/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One record after the other into the output: of the other ranks out of the windows of the
 * exchange, of this one by its places, fetched ahead. Each record is copied once here. */
#include "memory_merge.h"

enum { PROGRESS_BYTES = 128 << 10 }; /* merged between two looks at the exchange */

/* This rank's next record, or none. */
static void next_own(memory_merge *g, memory_stream *s)
{
	s->left = g->end - g->at;
	if (s->left == 0)
		return;
	s->rec = places_record(g->own, g->at);
	if (s->left > PLACES_AHEAD)
		places_fetch(g->own, g->at + PLACES_AHEAD);
	g->at++;
}

/* The head of stream i, fetching its next block where the current one is used up. */
static inline status head_of(memory_merge *g, uint32_t i, head *h)
{
	memory_stream *s = &g->s[i];
	if (i == g->rank) {
		next_own(g, s);
	} else if (s->left == 0) {
		size_t n;
		const status rc = exchange_next(g->x, (int)i, &s->rec, &n);
		if (rc != ST_OK)
			return rc;
		s->left = n;
	}
	*h = s->left ? head_make(s->rec, i, &g->lay) : head_end();
	return ST_OK;
}

/* Up to room records, or until all streams are at their end. */
static status merge_some(memory_merge *g, unsigned char *to, size_t room, size_t *n)
{
	const uint32_t bytes = g->lay.record_bytes;
	for (*n = 0; *n < room && !head_is_end(&g->t.node[0]); ++*n, to += bytes) {
		const uint32_t i = head_stream(&g->t.node[0]);
		memory_stream *s = &g->s[i];
		head h;
		record_copy(to, s->rec, bytes);
		s->rec += bytes;
		s->left--;
		const status rc = head_of(g, i, &h);
		if (rc != ST_OK)
			return rc;
		losertree_replace(&g->t, h, i);
	}
	return ST_OK;
}

status memory_merge_run(memory_merge *g, unsigned char *out)
{
	const size_t step = PROGRESS_BYTES / g->lay.record_bytes + 1;
	status rc = ST_OK;
	for (uint64_t i = g->at; i < g->end && i < g->at + PLACES_AHEAD; i++)
		places_fetch(g->own, i);
	for (uint32_t i = 0; i < g->k && rc == ST_OK; i++)
		rc = head_of(g, i, &g->heads[i]);
	if (rc != ST_OK)
		return rc;
	losertree_init(&g->t, g->heads + g->k, g->k, g->heads, &g->lay);
	while (rc == ST_OK && !head_is_end(&g->t.node[0])) {
		size_t n = 0;
		rc = merge_some(g, out, step, &n);
		out += n * g->lay.record_bytes;
		if (rc == ST_OK)
			rc = exchange_progress(g->x);
	}
	return rc;
}
