/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange and merge in one: the sorted streams of all ranks are merged while they arrive, and
 * written while they are merged. Equal keys leave in the order of their ranks. Memory: the windows
 * of the exchange, no second copy of the data. */
#include "flow.h"
#include "losertree.h"

/* A stream as the merge sees it: what is left of its current block. */
typedef struct stream {
	const unsigned char *rec;
	size_t left;
} stream;

typedef struct merge {
	exchange *x;
	writer *w;
	layout lay;
	stream *s;
	losertree t;
	uint32_t k;
} merge;

/* The head of stream i, fetching its next block where the current one is used up. */
static status head_of(merge *g, uint32_t i, head *h)
{
	stream *s = &g->s[i];
	if (s->left == 0) {
		const status rc = exchange_next(g->x, (int)i, &s->rec, &s->left);
		if (rc != ST_OK)
			return rc;
	}
	*h = s->left ? head_make(s->rec, i, &g->lay) : head_end();
	return ST_OK;
}

/* Merge until the writer's buffer is full or all streams are at their end. */
static status fill_buffer(merge *g, unsigned char *to, size_t room, size_t *n)
{
	const uint32_t bytes = g->lay.record_bytes;
	for (*n = 0; *n < room && !head_is_end(&g->t.node[0]); ++*n, to += bytes) {
		const uint32_t i = head_stream(&g->t.node[0]);
		stream *s = &g->s[i];
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

static status merge_all(merge *g, head *node, head *first)
{
	status rc = ST_OK;
	for (uint32_t i = 0; i < g->k && rc == ST_OK; i++)
		rc = head_of(g, i, &first[i]);
	if (rc != ST_OK)
		return rc;
	losertree_init(&g->t, node, g->k, first, &g->lay);
	while (rc == ST_OK && !head_is_end(&g->t.node[0])) {
		size_t room, n;
		unsigned char *to = writer_room(g->w, &room);
		rc = fill_buffer(g, to, room, &n);
		writer_add(g->w, n);
		if (rc == ST_OK)
			rc = exchange_progress(g->x);
	}
	return rc;
}

static status merge_streams(job *j, exchange *x, stream *s, head *node, head *first)
{
	merge g = { .x = x, .w = &j->w, .lay = j->o->lay, .s = s, .k = (uint32_t)j->c->size };
	const status rc = merge_all(&g, node, first);
	return rc == ST_OK ? flow_drained(j, x) : rc;
}

status phase_merge(job *j)
{
	const size_t p = (size_t)j->c->size;
	exchange *x = NULL;
	stream *s = mem_array(&j->m, p, sizeof *s, "streams", &j->e);
	head *heads = mem_array(&j->m, 2 * p, sizeof *heads, "streams", &j->e);
	status rc = comm_agree(j->c, s && heads ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = flow_open(j, &x);
	if (rc == ST_OK)
		rc = merge_streams(j, x, s, heads, heads + p);
	rc = flow_close(j, x, rc);
	mem_free(&j->m, s, p, sizeof *s);
	mem_free(&j->m, heads, 2 * p, sizeof *heads);
	return rc;
}
