/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each stream is merged piece by piece, by the thread that wants its records. Memory, in all
 * streams together: entries of about BATCH_RECS records, or a sixteenth of all, twice. */
#include "outgoing.h"
#include "base/minmax.h"
#include "kernel/gather.h"

enum { BATCH_RECS = 1 << 17, BATCH_PART = 16, LEAST_PIECE = 256 };

struct stream_out {
	sorted_reader *from; /* NULL: nothing is sent */
	sorted_piece p;
	size_t at; /* records of the piece that are sent already */
};

/* A stream's pieces are merged in two arrays, and may come out twice as long as they should. */
uint64_t outgoing_most_bytes(uint64_t recs, uint64_t ranks)
{
	const uint64_t two = 2 * sizeof(entry), entry_bytes = 2 * two;
	return u64_min(BATCH_RECS * entry_bytes, recs * (entry_bytes / BATCH_PART)) +
	       u64_min(ranks * LEAST_PIECE * entry_bytes, recs * two);
}

static status open_stream(stream_out *o, mem *m, sorted *of, const uint64_t *lo,
			  const sorted_use *u, uint64_t *send, err *e)
{
	for (size_t k = 0; k < of->count; k++)
		*send += lo[of->count + k] - lo[k];
	if (*send == 0)
		return ST_OK;
	const status rc = of->ops->open_reader(of, m, lo, lo + of->count, u, &o->from, e);
	return rc == ST_OK ? sorted_piece_open(&o->p, o->from, m, e) : rc;
}

status outgoing_open(outgoing *s, mem *m, sorted *of, const uint64_t *cut, size_t size,
		     uint64_t ahead_bytes, err *e)
{
	const size_t batch = (size_t)u64_min(sorted_total(of) / BATCH_PART, BATCH_RECS);
	const sorted_use u = { .piece_recs = size_max(batch / size, LEAST_PIECE),
			       .ahead_bytes = ahead_bytes };
	*s = (outgoing){ .lay = of->lay, .size = size };
	pthread_mutex_init(&s->lock, NULL);
	s->s = mem_array(m, size, sizeof *s->s, "outgoing streams", e);
	s->send = mem_array(m, size, sizeof *s->send, "outgoing streams", e);
	status rc = s->s && s->send ? ST_OK : ST_RESOURCE;
	for (size_t to = 0; rc == ST_OK && to < size; to++)
		rc = open_stream(&s->s[to], m, of, cut + to * of->count, &u, &s->send[to], e);
	return rc;
}

void outgoing_close(outgoing *s, mem *m)
{
	if (!s->size)
		return;
	for (size_t to = 0; s->s && to < s->size; to++) {
		stream_out *o = &s->s[to];
		sorted_piece_close(&o->p, m);
		if (o->from)
			o->from->ops->close_reader(o->from);
	}
	mem_free(m, s->s);
	mem_free(m, s->send);
	pthread_mutex_destroy(&s->lock);
	*s = (outgoing){ .size = 0 };
}

/* Records of the piece at hand that are not sent yet: of the next one, if there are none; 0: the
 * stream has ended. */
static status next_records(stream_out *o, size_t *n, err *e)
{
	status rc = ST_OK;
	if (o->from && o->at == o->p.n) {
		o->from->ops->give(o->from, &o->p);
		rc = o->from->ops->piece(o->from, &o->p, e);
		o->at = 0;
	}
	*n = rc == ST_OK ? o->p.n - o->at : 0;
	return rc;
}

static status fill(stream_out *o, size_t n, size_t record_bytes, unsigned char *buf, err *e)
{
	while (n > 0) {
		size_t k;
		if (next_records(o, &k, e) != ST_OK)
			return e->code;
		if (k == 0)
			return err_set(e, ST_INTERNAL, "runs hold fewer records than they did");
		k = size_min(n, k);
		if (gather_misfits(sorted_piece_gather(&o->p, o->at, k, buf), e) != ST_OK)
			return e->code;
		o->at += k;
		buf += k * record_bytes;
		n -= k;
	}
	return ST_OK;
}

static void keep(outgoing *s, const err *e)
{
	pthread_mutex_lock(&s->lock);
	if (e->code != ST_OK)
		err_set(&s->e, e->code, "%s", e->text);
	pthread_mutex_unlock(&s->lock);
}

uint32_t outgoing_heads(outgoing *s, int to, uint32_t place, head *h, uint32_t most)
{
	stream_out *o = &s->s[to];
	err e = { ST_OK, "" };
	size_t n;
	if (next_records(o, &n, &e) == ST_OK && n > 0) {
		n = size_min(n, most);
		(void)gather_misfits(sorted_piece_heads(&o->p, o->at, (uint32_t)n, place, h), &e);
		o->at += n;
	}
	keep(s, &e);
	return (uint32_t)n;
}

void outgoing_fill(void *outgoing_, int to, uint64_t skip, size_t n, unsigned char *buf)
{
	outgoing *s = outgoing_;
	const size_t bytes = s->lay.record_bytes;
	err e = { ST_OK, "" };
	(void)skip;
	if (outgoing_failure(s, NULL) == ST_OK && fill(&s->s[to], n, bytes, buf, &e) == ST_OK)
		return;
	for (size_t i = 0; i < n; i++) /* in order behind all that was sent */
		key_greatest(&s->lay, buf + i * bytes);
	keep(s, &e);
}

status outgoing_failure(outgoing *s, err *e)
{
	pthread_mutex_lock(&s->lock);
	const err own = s->e;
	pthread_mutex_unlock(&s->lock);
	return own.code == ST_OK ? ST_OK : err_set(e, own.code, "%s", own.text);
}
