/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each stream is merged piece by piece: entries of runs in memory, which then name the records to
 * gather; or records of runs on disk, read into a window. Memory, in all streams together: entries
 * of about BATCH_RECS records, or a sixteenth of all, twice; or a window for each. */
#include "outgoing.h"
#include "base/minmax.h"
#include "kernel/gather.h"
#include "testing/failpoint.h"

enum { BATCH_RECS = 1 << 17, BATCH_PART = 16, LEAST_PIECE = 256 };

struct stream_out {
	const uint64_t *lo, *hi; /* [runs] */
	merge_partition p;       /* of runs in memory, or */
	merge_slices w;          /* on disk */
	size_t next, count;      /* pieces */
	entry *room, *tmp;
	merge_slice v;
	const records *recs; /* the piece at hand: left entries from at on */
	const entry *at;
	size_t left;
};

/* A single run in memory needs no merging. */
static bool is_plain(const outgoing *s)
{
	return !s->r->spill && s->r->count == 1;
}

static status open_in_memory(const outgoing *s, stream_out *o, mem *m, err *e)
{
	const size_t batch = (size_t)u64_min(runs_total(s->r) / BATCH_PART, BATCH_RECS);
	const size_t recs = size_max(batch / s->size, LEAST_PIECE);
	const entry_runs r = { s->r->recs, s->r->e, s->r->count };
	const status rc = merge_partition_cut(&o->p, m, &r, o->lo, o->hi, recs, e);
	if (rc != ST_OK)
		return rc;
	o->count = o->p.count;
	o->recs = &s->r->recs;
	o->room = mem_array(m, o->p.most, sizeof *o->room, "outgoing streams", e);
	o->tmp = mem_array(m, o->p.most, sizeof *o->tmp, "outgoing streams", e);
	return o->room && o->tmp ? ST_OK : ST_RESOURCE;
}

/* A stream's pieces are merged in two arrays, and may come out twice as long as they should. */
uint64_t outgoing_most_bytes(uint64_t recs, uint64_t ranks)
{
	const uint64_t two = 2 * sizeof(entry), entry_bytes = 2 * two;
	return u64_min(BATCH_RECS * entry_bytes, recs * (entry_bytes / BATCH_PART)) +
	       u64_min(ranks * LEAST_PIECE * entry_bytes, recs * two);
}

static status open_on_disk(const outgoing *s, stream_out *o, mem *m, size_t piece_recs, err *e)
{
	status rc = merge_slices_cut(&o->w, m, s->r, o->lo, o->hi, piece_recs, e);
	o->count = o->w.count;
	o->recs = &o->v.recs;
	return rc == ST_OK ? merge_slice_open(&o->v, m, &o->w, NULL, MERGE_SLICE_CHUNK_BYTES, e)
			   : rc;
}

static status open_stream(outgoing *s, size_t to, mem *m, size_t piece_recs, err *e)
{
	stream_out *o = &s->s[to];
	o->lo = s->cut + to * s->r->count;
	o->hi = o->lo + s->r->count;
	for (size_t k = 0; k < s->r->count; k++)
		s->send[to] += o->hi[k] - o->lo[k];
	if (s->r->spill)
		return open_on_disk(s, o, m, piece_recs, e);
	if (!is_plain(s))
		return open_in_memory(s, o, m, e);
	o->recs = &s->r->recs;
	o->at = s->r->e + o->lo[0];
	o->left = (size_t)s->send[to];
	return ST_OK;
}

status outgoing_open(outgoing *s, mem *m, const runs *r, const uint64_t *cut, size_t size,
		     size_t piece_recs, err *e)
{
	*s = (outgoing){ .r = r, .cut = cut, .size = size };
	pthread_mutex_init(&s->lock, NULL);
	s->s = mem_array(m, size, sizeof *s->s, "outgoing streams", e);
	s->send = mem_array(m, size, sizeof *s->send, "outgoing streams", e);
	status rc = s->s && s->send ? ST_OK : ST_RESOURCE;
	for (size_t to = 0; rc == ST_OK && to < size; to++)
		rc = open_stream(s, to, m, piece_recs, e);
	return rc;
}

void outgoing_close(outgoing *s, mem *m)
{
	if (!s->r)
		return;
	for (size_t to = 0; s->s && to < s->size; to++) {
		stream_out *o = &s->s[to];
		mem_free(m, o->room);
		mem_free(m, o->tmp);
		merge_slice_close(&o->v, m);
		merge_partition_free(&o->p, m);
		merge_slices_free(&o->w, m);
	}
	mem_free(m, s->s);
	mem_free(m, s->send);
	pthread_mutex_destroy(&s->lock);
	*s = (outgoing){ 0 };
}

static status merge_from_disk(stream_out *o, err *e)
{
	const status rc = merge_slice_load(&o->v, &o->w, o->next, e);
	if (rc != ST_OK)
		return rc;
	merge_slice_merge(&o->v);
	o->at = o->v.order;
	o->left = o->v.n;
	return ST_OK;
}

static status next_piece(const outgoing *s, stream_out *o, err *e)
{
	status rc = ST_OK;
	if (o->next == o->count)
		return err_set(e, ST_INTERNAL, "runs on disk hold fewer records than they did");
	if (s->r->spill) {
		rc = merge_from_disk(o, e);
	} else {
		o->left = merge_partition_merge(&o->p, o->next, o->room, o->tmp);
		FAIL_FLIP(FAIL_ENTRIES, o->room, o->left * sizeof(entry));
		o->at = o->room;
	}
	o->next++;
	return rc;
}

static status fill(const outgoing *s, stream_out *o, size_t n, unsigned char *buf, err *e)
{
	while (n > 0) {
		const status rc = o->left ? ST_OK : next_piece(s, o, e);
		if (rc != ST_OK)
			return rc;
		const size_t k = size_min(n, o->left);
		const size_t misfits = gather(o->recs, o->at, k, o->left - k, buf);
		if (gather_misfits(misfits, e) != ST_OK)
			return e->code;
		o->at += k;
		o->left -= k;
		buf += k * s->r->recs.lay.record_bytes;
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
	if (o->left == 0 && (is_plain(s) || o->next == o->count))
		return 0;
	if (o->left == 0 && next_piece(s, o, &e) != ST_OK) {
		keep(s, &e);
		return 0;
	}
	const uint32_t n = (uint32_t)size_min(o->left, most), bytes = o->recs->lay.record_bytes;
	const size_t ahead = record_ahead(bytes);
	size_t misfits = 0;
	for (uint32_t i = 0; i < n; i++) {
		const entry *en = &o->at[i];
		const unsigned char *rec = record_at(o->recs, entry_pos(en));
		if (o->left > i + ahead)
			record_fetch(record_at(o->recs, entry_pos(en + ahead)), bytes);
		misfits += !entry_fits(en, rec, &o->recs->lay);
		h[i] = (head){ en->hi, (en->lo & ~POS_MASK) | place, rec };
	}
	o->at += n;
	o->left -= n;
	if (gather_misfits(misfits, &e) != ST_OK)
		keep(s, &e);
	return n;
}

void outgoing_fill(void *outgoing_, int to, uint64_t skip, size_t n, unsigned char *buf)
{
	outgoing *s = outgoing_;
	err e = { ST_OK, "" };
	(void)skip;
	if (outgoing_failure(s, NULL) == ST_OK && fill(s, &s->s[to], n, buf, &e) == ST_OK)
		return;
	for (size_t i = 0; i < n; i++) /* in order behind all that was sent */
		key_greatest(&s->r->recs.lay, buf + i * s->r->recs.lay.record_bytes);
	keep(s, &e);
}

status outgoing_failure(outgoing *s, err *e)
{
	pthread_mutex_lock(&s->lock);
	const err own = s->e;
	pthread_mutex_unlock(&s->lock);
	return own.code == ST_OK ? ST_OK : err_set(e, own.code, "%s", own.text);
}
