/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs are merged by their entries, each stream with a loser tree of its own; the records are
 * touched once, when they are gathered. Costs per rank O(ranks * runs) of memory. */
#include "source.h"
#include "gather.h"

static head head_at(const source *s, int to, size_t k)
{
	const size_t i = (size_t)to * s->r->count + k;
	if (s->at[i] == s->cut[i + s->r->count])
		return head_end();
	const entry *e = &s->r->e[s->at[i]];
	return (head){ e->hi, (e->lo & ~POS_MASK) | k, record_at(&s->r->recs, entry_pos(e)) };
}

static void open_stream(source *s, int to)
{
	const size_t count = s->r->count, first = (size_t)to * count;
	head *node = s->heads + 2 * first;
	s->send[to] = 0;
	for (size_t k = 0; k < count; k++) {
		s->at[first + k] = s->cut[first + k];
		s->send[to] += s->cut[first + count + k] - s->cut[first + k];
		node[count + k] = head_at(s, to, k);
	}
	losertree_init(&s->t[to], node, (uint32_t)count, node + count, &s->r->recs.lay);
}

status source_open(source *s, mem *m, const runs *r, const uint64_t *cut, size_t size, int self,
		   err *e)
{
	*s = (source){ .r = r, .cut = cut, .size = size, .self = self };
	s->at = mem_array(m, size * r->count, sizeof *s->at, "outgoing streams", e);
	s->heads = mem_array(m, 2 * size * r->count, sizeof *s->heads, "outgoing streams", e);
	s->t = mem_array(m, size, sizeof *s->t, "outgoing streams", e);
	s->send = mem_array(m, size, sizeof *s->send, "outgoing streams", e);
	s->batch = mem_array(m, 2 * SOURCE_BATCH, sizeof *s->batch, "outgoing streams", e);
	if (!s->at || !s->heads || !s->t || !s->send || !s->batch)
		return ST_RESOURCE;
	for (size_t to = 0; to < size; to++)
		open_stream(s, (int)to);
	return ST_OK;
}

/* A single run needs no merging. */
static void fill_plain(source *s, int to, size_t n, unsigned char *buf)
{
	uint64_t *at = &s->at[to];
	gather(&s->r->recs, s->r->e + *at, n, (size_t)(s->cut[to + 1] - *at - n), buf);
	*at += n;
}

static void fill_batch(source *s, int to, size_t n, unsigned char *buf)
{
	entry *batch = s->batch + (to == s->self ? SOURCE_BATCH : 0);
	losertree *t = &s->t[to];
	uint64_t *at = s->at + (size_t)to * s->r->count;
	for (size_t i = 0; i < n; i++) {
		const uint32_t k = head_stream(&t->node[0]);
		batch[i] = s->r->e[at[k]++];
		losertree_replace(t, head_at(s, to, k), k);
	}
	gather(&s->r->recs, batch, n, 0, buf);
}

void source_fill(void *source_, int to, uint64_t skip, size_t n, unsigned char *buf)
{
	source *s = source_;
	const uint32_t bytes = s->r->recs.lay.record_bytes;
	(void)skip;
	if (s->r->count == 1) {
		fill_plain(s, to, n, buf);
		return;
	}
	for (size_t done = 0; done < n; done += SOURCE_BATCH)
		fill_batch(s, to, n - done < SOURCE_BATCH ? n - done : SOURCE_BATCH,
			   buf + done * bytes);
}

void source_close(source *s, mem *m)
{
	if (!s->r)
		return;
	mem_free(m, s->at, s->size * s->r->count, sizeof *s->at);
	mem_free(m, s->heads, 2 * s->size * s->r->count, sizeof *s->heads);
	mem_free(m, s->t, s->size, sizeof *s->t);
	mem_free(m, s->send, s->size, sizeof *s->send);
	mem_free(m, s->batch, 2 * SOURCE_BATCH, sizeof *s->batch);
	*s = (source){ 0 };
}
