/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each stream has a batch of heads, and all are merged until one batch is used up. Making the heads
 * also fetches the records of this rank into the cache. Each record is copied once, as soon as it
 * has won: from the windows of the exchange, or from its place on this rank. The processor copies
 * while it compares the next keys. A block is released when all its records have been copied. */
#include "stream_merge.h"
#include "base/arith.h"
#include "kernel/gather.h"

enum { PROGRESS_BYTES = 128 << 10 }; /* merged between two calls of exchange_progress() */

/* ---------------------------------------------------------------------------------- outgoing
 *
 * A thread takes records in memory when it needs them: a part of a bucket for a block, or up to the
 * end of the bucket if no other stream comes between. Streams of runs on disk are merged in pieces.
 * All of them together need memory for two entries of each of BATCH_RECS records, or of a sixteenth
 * of all. */

enum { BATCH_RECS = 1 << 17, BATCH_PART = 16, LEAST_PIECE = 256 };

struct stream_out {
	uint64_t next, end;  /* in memory: places of the records that are not sent yet */
	sorted_reader *from; /* on disk; NULL: nothing is sent */
	sorted_piece p;
	size_t at;      /* number of records of the piece that are sent */
	uint64_t taken; /* records of outgoing_fill, before they were folded */
};

uint64_t outgoing_most_bytes(uint64_t recs, uint64_t ranks)
{
	/* pieces are merged in two arrays, and may become twice as long as planned */
	const uint64_t two = 2 * sizeof(entry), entry_bytes = 2 * two;
	return u64_min(BATCH_RECS * entry_bytes, recs * (entry_bytes / BATCH_PART)) +
	       u64_min(ranks * LEAST_PIECE * entry_bytes, recs * two);
}

status outgoing_open(outgoing *s, sorted *of, const uint64_t *cut, size_t stride, err *e)
{
	const size_t batch = (size_t)u64_min(sorted_total(of) / BATCH_PART, BATCH_RECS);
	const sorted_use u = { .m = s->m,
			       .piece_recs = size_max(batch / s->streams, LEAST_PIECE),
			       .ahead_bytes = s->ahead_bytes };
	s->of = of;
	s->lay = of->lay;
	s->sender.to = s->reader.to = -1;
	pthread_mutex_init(&s->lock, NULL);
	s->s = mem_array(s->m, s->size, sizeof *s->s, "outgoing streams", e);
	s->send = mem_array(s->m, s->size, sizeof *s->send, "outgoing streams", e);
	status rc = s->s && s->send ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK && of->ops->take) {
		rc = of->ops->ready(of, &s->sender.p, e);
		if (rc == ST_OK)
			rc = of->ops->ready(of, &s->reader.p, e);
	}
	for (size_t to = 0; rc == ST_OK && to < s->size; to++, cut += stride) {
		stream_out *o = &s->s[to];
		for (size_t k = 0; k < of->count; k++)
			s->send[to] += cut[of->count + k] - cut[k];
		o->next = cut[0];
		o->end = cut[of->count];
		if (!s->send[to] || of->ops->take)
			continue;
		rc = of->ops->open_reader(of, cut, cut + of->count, &u, &o->from, e);
		if (rc == ST_OK)
			rc = sorted_piece_open(&o->p, o->from, s->m, e);
	}
	return rc;
}

void outgoing_close(outgoing *s)
{
	if (!s->of)
		return;
	for (size_t to = 0; s->s && to < s->size; to++) {
		stream_out *o = &s->s[to];
		sorted_piece_close(&o->p, s->m);
		if (o->from)
			o->from->ops->close_reader(o->from);
	}
	sorted_piece_close(&s->sender.p, s->m);
	sorted_piece_close(&s->reader.p, s->m);
	mem_free(s->m, s->s);
	mem_free(s->m, s->send);
	pthread_mutex_destroy(&s->lock);
	*s = (outgoing){ .size = 0 };
}

/* Take up to n next records of a stream: *n of *of, from number *at on. *n is 0 at its end. */
static status next_records(outgoing *s, int to, const sorted_piece **of, size_t *at, size_t *n,
			   err *e)
{
	stream_out *o = &s->s[to];
	const size_t most = *n;
	*n = 0;
	if (s->of->ops->take) {
		const bool mine = to == s->own, single = mine || s->size == 2;
		stream_taker *by = mine ? &s->reader : &s->sender;
		if (o->next == o->end)
			return ST_OK;
		if (by->to != to || by->at == by->p.n) {
			const uint64_t end = single ? o->end : u64_min(o->next + most, o->end);
			s->of->ops->take(s->of, o->next, end, &by->p);
			by->to = to;
			by->at = 0;
		}
		*of = &by->p;
		*at = by->at;
		*n = size_min(by->p.n - by->at, most);
		by->at += *n;
		o->next += *n;
		return ST_OK;
	}
	if (!o->from)
		return ST_OK;
	if (o->at == o->p.n) {
		if (o->from->ops->give)
			o->from->ops->give(o->from, &o->p);
		o->at = 0;
		const status rc = o->from->ops->piece(o->from, &o->p, e);
		if (rc != ST_OK)
			return rc;
	}
	*of = &o->p;
	*at = o->at;
	*n = size_min(o->p.n - o->at, most);
	o->at += *n;
	return ST_OK;
}

static void outgoing_fail(outgoing *s, const err *e)
{
	if (e->code == ST_OK)
		return;
	pthread_mutex_lock(&s->lock);
	(void)err_join(&s->e, e);
	pthread_mutex_unlock(&s->lock);
	atomic_store(&s->failed, true);
}

uint32_t outgoing_heads(outgoing *s, uint32_t place, head *h, uint32_t most)
{
	const sorted_piece *p = NULL;
	err e = { ST_OK, "" };
	size_t at, n = most;
	if (next_records(s, s->own, &p, &at, &n, &e) == ST_OK && n > 0)
		(void)gather_misfits(sorted_piece_heads(p, at, (uint32_t)n, place, h), &e);
	outgoing_fail(s, &e);
	return (uint32_t)n;
}

/* Take up to n next records of a stream to buf. Return their number after folding them into
 * `before` records that precede them in the block; *taken counts them as they were. */
static size_t fill_some(outgoing *s, int to, size_t n, unsigned char *buf, size_t before,
			size_t *taken, err *e)
{
	const sorted_piece *p = NULL;
	dropped *gone = &s->dropped[to == s->own];
	const size_t bytes = s->lay.record_bytes;
	size_t at;
	*taken = n;
	if (next_records(s, to, &p, &at, taken, e) != ST_OK || *taken == 0 ||
	    gather_misfits(sorted_piece_gather(p, at, *taken, buf), e) != ST_OK)
		return 0;
	if (!s->folds)
		return *taken;
	if (s->of->ops->take) /* runs on disk have counts already */
		fold_begin(&s->lay, buf, *taken, gone);
	const size_t last = before > 0; /* the key of the last record may continue */
	return fold_records(&s->lay, buf - last * bytes, *taken + last, gone) - last;
}

size_t outgoing_fill(void *outgoing_, int to, size_t n, unsigned char *buf)
{
	outgoing *s = outgoing_;
	stream_out *o = &s->s[to];
	const size_t bytes = s->lay.record_bytes;
	err e = { ST_OK, "" };
	if (atomic_load(&s->failed))
		(void)outgoing_failure(s, &e);
	size_t done = 0;
	while (done < n && o->taken < s->send[to] && e.code == ST_OK) {
		size_t taken = 0;
		done += fill_some(s, to, n - done, buf + done * bytes, done, &taken, &e);
		o->taken += taken;
		if (taken == 0)
			err_set(&e, ST_INTERNAL, "runs contain fewer records than were counted");
	}
	if (e.code == ST_OK && done < n && !s->folds)
		err_set(&e, ST_INTERNAL, "more records were requested than were counted");
	if (e.code == ST_OK)
		return done;
	for (size_t i = 0; i < n; i++) /* the largest key does not break the order */
		key_greatest(&s->lay, buf + i * bytes);
	outgoing_fail(s, &e);
	return n;
}

status outgoing_failure(outgoing *s, err *e)
{
	pthread_mutex_lock(&s->lock);
	const status rc = err_join(e, &s->e);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* ----------------------------------------------------------------------------------- the merge */

/* Make the next heads of stream i. All its earlier records have been copied. */
static status refill(stream_merge *g, uint32_t i)
{
	merge_stream *s = &g->s[i];
	s->at = s->n = 0;
	if (i == g->own_place && !g->out->folds) {
		s->n = outgoing_heads(g->out, g->own_place, s->h, stream_merge_batch(g->k));
		return ST_OK;
	}
	if (s->left == 0) {
		size_t n;
		const status rc =
			exchange_next(g->x, g->rank_at ? g->rank_at[i] : (int)i, &s->rec, &n);
		if (rc != ST_OK)
			return rc;
		s->left = n;
	}
	s->n = (uint32_t)u64_min(s->left, stream_merge_batch(g->k));
	for (uint32_t k = 0; k < s->n; k++, s->rec += g->lay.record_bytes)
		s->h[k] = head_make(s->rec, i, &g->lay);
	s->left -= s->n;
	return ST_OK;
}

/* Merge two streams, with keys within the prefix of a head, until a batch is used up or `room`
 * records are at `to`. Return their number. No branch depends on keys: it would be mispredicted. */
static size_t stream_merge_two(merge_stream *a, merge_stream *b, uint32_t bytes, unsigned char *to,
			       size_t room)
{
	size_t n = 0;
	uint32_t i = a->at, j = b->at;
	const uint32_t i_end = a->n, j_end = b->n;
	const head *const ah = a->h, *const bh = b->h;
	for (; i < i_end && j < j_end && n < room; n++, to += bytes) {
		const head *x = &ah[i], *y = &bh[j];
		const bool second =
			(y->hi < x->hi) | ((y->hi == x->hi) & (y->lo < x->lo)); /* no branch */
		const head *first = second ? y : x;
		record_copy(to, first->rec, bytes);
		i += !second;
		j += second;
	}
	a->at = i;
	b->at = j;
	return n;
}

static size_t take_rest(merge_stream *s, uint32_t bytes, unsigned char *to, size_t room)
{
	const size_t n = size_min(s->n - s->at, room);
	for (size_t i = 0; i < n; i++)
		record_copy(to + i * bytes, s->h[s->at++].rec, bytes);
	return n;
}

/* Make the next batch of stream i if all records of its batch have been copied. */
static status refill_if_empty(stream_merge *g, uint32_t i)
{
	const merge_stream *s = &g->s[i];
	return s->n && s->at == s->n ? refill(g, i) : ST_OK;
}

/* Let the exchange move blocks after each PROGRESS_BYTES that are merged. */
static status merge_progress(stream_merge *g, size_t n, size_t *since)
{
	*since += n * g->lay.record_bytes;
	if (*since < PROGRESS_BYTES)
		return ST_OK;
	*since = 0;
	return exchange_progress(g->x);
}

/* Merge two streams without a tree. */
static status merge_pair(stream_merge *g)
{
	const uint32_t bytes = g->lay.record_bytes;
	merge_stream *a = &g->s[0], *b = &g->s[1];
	size_t since = 0;
	status rc = ST_OK;
	while (rc == ST_OK && (a->n || b->n)) {
		size_t room;
		unsigned char *to = g->to.room(g->to.of, &room);
		const size_t n = !a->n   ? take_rest(b, bytes, to, room)
				 : !b->n ? take_rest(a, bytes, to, room)
					 : stream_merge_two(a, b, bytes, to, room);
		g->to.add(g->to.of, n);
		if ((rc = refill_if_empty(g, 0)) == ST_OK)
			rc = refill_if_empty(g, 1);
		if (rc == ST_OK)
			rc = merge_progress(g, n, &since);
	}
	return rc;
}

/* Merge any number of streams until the batch of one is used up or `room` records are at `to`.
 * Return their number. Set *last to the stream of the last one, whose head is still in the tree. */
static size_t merge_many(stream_merge *g, unsigned char *to, size_t room, uint32_t *last)
{
	const uint32_t bytes = g->lay.record_bytes;
	for (size_t n = 1;; n++, to += bytes) {
		const head won = g->t.node[0];
		const uint32_t i = head_stream(&won);
		merge_stream *s = &g->s[i];
		record_copy(to, won.rec, bytes);
		*last = i;
		if (++s->at == s->n || n == room)
			return n;
		loser_tree_replace(&g->t, s->h[s->at], i);
	}
}

static status merge_tree(stream_merge *g)
{
	size_t since = 0;
	status rc = ST_OK;
	for (uint32_t i = 0; i < g->k; i++)
		g->heads[i] = g->s[i].n ? g->s[i].h[0] : head_end();
	loser_tree_init(&g->t, g->heads + g->k, g->k, g->heads, &g->lay);
	while (rc == ST_OK && !head_is_end(&g->t.node[0])) {
		uint32_t i;
		size_t room;
		unsigned char *to = g->to.room(g->to.of, &room);
		const size_t n = merge_many(g, to, size_min(room, MERGE_BATCH), &i);
		merge_stream *s = &g->s[i];
		g->to.add(g->to.of, n);
		if ((rc = refill_if_empty(g, i)) != ST_OK)
			return rc;
		loser_tree_replace(&g->t, s->at < s->n ? s->h[s->at] : head_end(), i);
		rc = merge_progress(g, n, &since);
	}
	return rc;
}

status stream_merge_open(stream_merge *g, mem *m, err *e)
{
	g->m = m;
	g->s = mem_array(m, g->k, sizeof *g->s, "streams", e);
	g->heads = mem_array(m, stream_merge_heads(g->k), sizeof *g->heads, "streams", e);
	return g->s && g->heads ? ST_OK : ST_RESOURCE;
}

void stream_merge_close(stream_merge *g)
{
	if (!g->m)
		return;
	mem_free(g->m, g->s);
	mem_free(g->m, g->heads);
}

status stream_merge_run(stream_merge *g)
{
	status rc = ST_OK;
	head *batch = g->heads + 2 * (size_t)g->k;
	/* Wait first for the streams that probably arrive last: ranks send first to the ranks after
	 * them. Then most others have arrived, too, and this rank is woken only a few times. */
	for (uint32_t k = 1; k <= g->k && rc == ST_OK; k++, batch += stream_merge_batch(g->k)) {
		const uint32_t i = (g->own_place + k) % g->k;
		g->s[i].h = batch;
		rc = refill(g, i);
	}
	if (rc != ST_OK)
		return rc;
	return g->k == 2 && !key_tail_bytes(&g->lay) ? merge_pair(g) : merge_tree(g);
}
