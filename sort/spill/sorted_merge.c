/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read-ahead and merge
 *
 * Each file has a ring of chunks in memory, which is filled in the order of the file. Record i lies
 * at i modulo the length of the ring. After the ring there is memory for copies of its first
 * records. So the records of a file in one piece are consecutive, even if they cross the end of the
 * ring. In a piece, positions increase with file and place, so they order equal keys.
 *
 * Which chunk is read next. It is a chunk of the file whose last record in memory has the least
 * key: the merge will need the next record of that file first. But files of which fewer chunks are
 * being read come first. Heaps find the file, so other files cost nothing.
 *
 * Where a piece ends. A piece ends at the least of the last records in memory of all files, because
 * up to there the records of all files are known. So every record is read once, and in order.
 *
 * Who reads and writes. Reading threads of this module fill the rings. A thread that takes a piece
 * and has to wait for a chunk reads one, too; without reading threads it reads all chunks. Only one
 * thread fills a slot with a chunk: the slot is EMPTY, READING while it is filled, then READY. A
 * piece is a user of the slots that contain its records. When all users have been given back, and
 * all records of the chunk have been put into pieces, the slot is EMPTY again.
 *
 * In which order. The lock protects the counts of the rings, the slots, the heaps and the keys at
 * the ends of the rings. Records are read from disk and merged without the lock. `loaded` is raised
 * over READY slots in the order of the file, so chunks may arrive in any order. `changed` is
 * signalled when a chunk has arrived, when a slot becomes empty, and on a failure.
 *
 * Which invariants hold. from <= place <= loaded <= to. The records in [place, loaded) are in
 * memory. A slot with users is not filled. A file is waiting if its next record is not in memory;
 * then no piece is cut. If all pieces have been given back, a slot of a waiting file can be filled.
 *
 * Consequences of a failure. The first error of any thread is stored, and every later call for a
 * piece returns it. It also ends the reading threads. This module is the first to see the records
 * of input files. So it computes their checksum, and reports files that are not sorted.
 *
 * Memory: the rings, and a key for each file. */
#include "sorted.h"
#include "base/arith.h"
#include "base/pool.h"
#include "base/trace.h"
#include "file_heap.h"
#include "io/io_fd.h"
#include "kernel/merge.h"
#include "kernel/radix.h"
#include "testing/failpoint.h"

#include <stdlib.h>

enum {
	MOST_READERS = 2,
	WRAP_PART = 4,    /* copies of the first records take at most a quarter of the ring */
	MOST_CHUNKS = 64, /* in a ring */
};

typedef struct slot {
	enum { SLOT_EMPTY, SLOT_READING, SLOT_READY } state;
	size_t users; /* pieces that use its records */
} slot;

/* One file, of which records [from, to) are merged. Records before `place` have been put into
 * pieces; records before `loaded` have been read. Chunk 0 begins at record `base`. */
typedef struct ring {
	uint64_t base, from, to, place, loaded;
	uint64_t next_chunk;     /* the next one to read */
	uint64_t at, recs, wrap; /* first record in memory; length; copies after the end */
	uint64_t chunks;
	slot *slot;
	unsigned char *last_key; /* of the last record that was put into a piece */
} ring;

typedef struct sorted_merge {
	sorted_reader r;
	mem *m;
	sorted *of;
	layout lay;
	sorted_chunk c;
	size_t count, fair;               /* files; the most records of each in a piece */
	unsigned char *raw, *base, *keys; /* base: the first record, at a page in raw */
	slot *slots;
	records recs;
	pthread_mutex_t lock; /* for the next members, and the rings */
	pthread_cond_t changed;
	ring *ring;
	file_heap to_read;      /* files with a slot for their next chunk, by is_needed_before() */
	file_heap begins;       /* files with records in memory, by the first record */
	file_heap ends;         /* files not in sight to their end, by the last record in sight */
	size_t waiting;         /* files whose next record is not in memory */
	uint64_t number, first; /* of the next piece, and records before this piece */
	unsigned char *bounce;  /* [bounces] buffers */
	size_t bounces;
	bool *busy; /* [bounces] the buffer is in use */
	checksum sum;
	bool stop;
	err e;
	pthread_t reader[MOST_READERS];
	unsigned readers;
} sorted_merge;

/* Return the position of record i of a file in the memory for records. */
static uint64_t ring_position(const ring *r, uint64_t i)
{
	return r->at + (i - r->base) % r->recs;
}

static unsigned char *ring_record(const sorted_merge *s, const ring *r, uint64_t i)
{
	return s->base + ring_position(r, i) * s->lay.record_bytes;
}

static uint64_t chunk_of(const sorted_merge *s, const ring *r, uint64_t i)
{
	return (i - r->base) / s->c.recs;
}

static slot *chunk_slot(const ring *r, uint64_t chunk)
{
	return &r->slot[chunk % r->chunks];
}

static uint64_t chunk_begin(const sorted_merge *s, const ring *r, uint64_t chunk)
{
	return u64_max(r->base + chunk * s->c.recs, r->from);
}

static uint64_t chunk_end(const sorted_merge *s, const ring *r, uint64_t chunk)
{
	return u64_min(r->base + (chunk + 1) * s->c.recs, r->to);
}

/* Return how many records of a file are in sight, that is, may be in the next piece. They are
 * consecutive in memory, and at most s->fair. */
static uint64_t in_sight(const sorted_merge *s, const ring *r)
{
	const uint64_t to_end = r->recs + r->wrap - (r->place - r->base) % r->recs;
	return u64_min(u64_min(s->fair, to_end), r->loaded - r->place);
}

/* ---------------------------------------------------------------------------- which is next */

static bool is_waiting(const ring *r)
{
	return r->place < r->to && r->place == r->loaded;
}

/* Count the chunks of the file that are being read. */
static uint64_t on_their_way(const sorted_merge *s, const ring *r)
{
	const uint64_t to = chunk_begin(s, r, r->next_chunk);
	return (to - u64_min(to, r->loaded) + s->c.recs - 1) / s->c.recs;
}

static bool file_precedes(const sorted_merge *s, uint32_t a, const unsigned char *of_a, uint32_t b,
			  const unsigned char *of_b)
{
	const int c = key_compare(&s->lay, of_a, of_b);
	return c < 0 || (c == 0 && a < b);
}

static bool is_needed_before(const void *sorted_merge_, uint32_t a, uint32_t b)
{
	const sorted_merge *s = sorted_merge_;
	const ring *x = &s->ring[a], *y = &s->ring[b];
	const uint64_t of_x = on_their_way(s, x), of_y = on_their_way(s, y);
	if (of_x != of_y)
		return of_x < of_y;
	if (x->loaded == x->from || y->loaded == y->from)
		return y->loaded > y->from || (x->loaded == x->from && a < b);
	return file_precedes(s, a, ring_record(s, x, x->loaded - 1), b,
			     ring_record(s, y, y->loaded - 1));
}

static const unsigned char *first_in_sight(const sorted_merge *s, size_t k)
{
	return ring_record(s, &s->ring[k], s->ring[k].place);
}

static const unsigned char *last_in_sight(const sorted_merge *s, size_t k)
{
	return first_in_sight(s, k) + (in_sight(s, &s->ring[k]) - 1) * s->lay.record_bytes;
}

static bool begins_before(const void *sorted_merge_, uint32_t a, uint32_t b)
{
	const sorted_merge *s = sorted_merge_;
	return file_precedes(s, a, first_in_sight(s, a), b, first_in_sight(s, b));
}

static bool ends_before(const void *sorted_merge_, uint32_t a, uint32_t b)
{
	const sorted_merge *s = sorted_merge_;
	return file_precedes(s, a, last_in_sight(s, a), b, last_in_sight(s, b));
}

/* Update the heap to_read after chunks of a file were freed or filled. Under the lock. */
static void chunks_changed(sorted_merge *s, const ring *r)
{
	const bool can = chunk_begin(s, r, r->next_chunk) < r->to &&
			 chunk_slot(r, r->next_chunk)->state == SLOT_EMPTY;
	file_heap_put(&s->to_read, (uint32_t)(r - s->ring), can);
}

/* Update the heaps after records of a file were read or put into a piece. Under the lock. */
static void records_changed(sorted_merge *s, const ring *r, bool was_waiting)
{
	const uint32_t k = (uint32_t)(r - s->ring);
	const bool any = r->place < r->loaded;
	file_heap_put(&s->begins, k, any);
	file_heap_put(&s->ends, k, any && in_sight(s, r) < r->to - r->place);
	s->waiting = s->waiting + is_waiting(r) - was_waiting;
}

/* --------------------------------------------------------------------------------- reading */

/* Read the next chunk. Called under the lock, which is released while reading. Return false if no
 * chunk can be read now. */
static bool read_chunk(sorted_merge *s)
{
	uint32_t k;
	size_t b = 0;
	while (s->c.bounce_bytes && b < s->bounces && s->busy[b])
		b++;
	if (s->stop || s->e.code != ST_OK || b == s->bounces || !file_heap_first(&s->to_read, &k))
		return false;
	ring *r = &s->ring[k];
	const uint64_t chunk = r->next_chunk, first = chunk_begin(s, r, chunk);
	sorted_load l = { .k = k,
			  .n = (size_t)(chunk_end(s, r, chunk) - first),
			  .first = first,
			  .c = &s->c,
			  .to = ring_record(s, r, first),
			  .bounce = s->bounce + b * s->c.bounce_bytes };
	err e = { ST_OK, "" };
	chunk_slot(r, chunk)->state = SLOT_READING;
	r->next_chunk++;
	s->busy[b] = true;
	chunks_changed(s, r);
	pthread_mutex_unlock(&s->lock);
	const size_t bytes = s->lay.record_bytes;
	const uint64_t at = (first - r->base) % r->recs;
	/* copy the first records of the ring after its end */
	if (s->of->src->load(s->of, &l, &e) == ST_OK && at < r->wrap)
		memcpy(s->base + (r->at + r->recs + at) * bytes, l.to,
		       u64_min(l.n, r->wrap - at) * bytes);
	pthread_mutex_lock(&s->lock);
	s->busy[b] = false;
	(void)err_join(&s->e, &e);
	s->sum = checksum_join(s->sum, l.sum);
	chunk_slot(r, chunk)->state = SLOT_READY;
	const bool was_waiting = is_waiting(r);
	for (uint64_t c = chunk_of(s, r, r->loaded);
	     c < r->next_chunk && chunk_slot(r, c)->state == SLOT_READY; c++)
		r->loaded = chunk_end(s, r, c);
	chunks_changed(s, r);
	records_changed(s, r, was_waiting);
	pthread_cond_broadcast(&s->changed);
	return true;
}

static void *read_ahead_main(void *sorted_merge_)
{
	sorted_merge *s = sorted_merge_;
	pthread_mutex_lock(&s->lock);
	while (!s->stop && s->e.code == ST_OK)
		if (!read_chunk(s))
			pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --------------------------------------------------------------------------------- cutting */

/* Return whether record i of file k, counted from the file's next record, belongs in a piece that
 * ends with record `end` of file `of`. */
static bool is_until(const sorted_merge *s, size_t k, uint64_t i, size_t of,
		     const unsigned char *end)
{
	const int c = key_compare(&s->lay, first_in_sight(s, k) + i * s->lay.record_bytes, end);
	return k < of ? c <= 0 : c < 0;
}

/* Return how many records of file k belong in a piece that ends with `end`. The first record is
 * compared first, so even a file that is not sorted has only one range in the piece. */
static uint64_t recs_until(const sorted_merge *s, size_t k, size_t of, const unsigned char *end)
{
	if (k == of || !is_until(s, k, 0, of, end))
		return 0;
	lower_bound b = { .lo = 1, .hi = in_sight(s, &s->ring[k]) };
	while (lower_bound_open(&b))
		lower_bound_step(&b, is_until(s, k, b.mid, of, end));
	return b.lo;
}

/* Put the next n records of file k into a piece. */
static void add_range(sorted_merge *s, sorted_piece *p, size_t k, uint64_t n)
{
	ring *r = &s->ring[k];
	if (r->place > r->from &&
	    key_copy_compare(&s->lay, r->last_key, ring_record(s, r, r->place)) > 0)
		(void)s->of->src->disorder(s->of, k, r->place, &s->e);
	p->range[p->ranges++] = (sorted_range){ k, r->place, n };
	p->n += (size_t)n;
	const uint64_t last = r->place + n - 1;
	for (uint64_t c = chunk_of(s, r, r->place); c <= chunk_of(s, r, last); c++)
		chunk_slot(r, c)->users++;
	r->place += n;
	key_copy(&s->lay, r->last_key, ring_record(s, r, last));
	chunks_changed(s, r);
	records_changed(s, r, false);
}

/* Cut the next piece, under the lock. Return false if more records must be read first. A file that
 * is in sight to its end does not limit the piece. If all files are, the piece is the last one. */
static bool cut_piece(sorted_merge *s, sorted_piece *p)
{
	uint32_t of, k;
	if (s->waiting > 0)
		return false;
	p->ranges = p->n = 0;
	if (!file_heap_first(&s->ends, &of)) {
		while (file_heap_first(&s->begins, &k))
			add_range(s, p, k, in_sight(s, &s->ring[k]));
		return true;
	}
	const unsigned char *end = last_in_sight(s, of);
	add_range(s, p, of, in_sight(s, &s->ring[of]));
	for (uint64_t n; file_heap_first(&s->begins, &k); add_range(s, p, k, n))
		if ((n = recs_until(s, k, of, end)) == 0)
			break;
	return true;
}

/* ------------------------------------------------------------------------------- in pieces */

static bool entry_follows(const records *r, const entry *a, const entry *b)
{
	return key_tail_bytes(&r->lay) ? entry_cmp(a, b, r) < 0
				       : a->hi < b->hi || (a->hi == b->hi && a->lo < b->lo);
}

/* Make entries of a range. Return g->n, or the index of the first record that belongs before its
 * predecessor. */
static uint64_t range_entries(const sorted_merge *s, const sorted_range *g, entry *e)
{
	const records *r = &s->recs;
	const uint64_t at = ring_position(&s->ring[g->run], g->first);
	const unsigned char *rec = record_at(r, at);
	size_t bad = 0;
	e[0] = entry_make(rec, &r->lay, at);
	for (size_t i = 1; i < g->n; i++) {
		e[i] = entry_make(rec += r->lay.record_bytes, &r->lay, at + i);
		bad += !entry_follows(r, &e[i - 1], &e[i]);
	}
	for (size_t i = 1; bad && i < g->n; i++)
		if (!entry_follows(r, &e[i - 1], &e[i]))
			return i;
	return g->n;
}

static int by_run(const void *a, const void *b)
{
	const size_t x = ((const sorted_range *)a)->run, y = ((const sorted_range *)b)->run;
	return (x > y) - (x < y);
}

/* Make the entries of a piece, and merge its ranges. */
static void merge_piece(const sorted_merge *s, sorted_piece *p, err *e)
{
	entry *const a = p->room, *const b = p->free;
	size_t n = 0;
	qsort(p->range, p->ranges, sizeof *p->range, by_run);
	for (size_t i = 0; i < p->ranges && e->code == ST_OK; i++) {
		const sorted_range *g = &p->range[i];
		const uint64_t good = range_entries(s, g, a + n);
		if (good < g->n)
			(void)s->of->src->disorder(s->of, g->run, g->first + good, e);
		p->from[i] = a + n;
		p->len[i] = (size_t)g->n;
		n += (size_t)g->n;
	}
	FAIL_FLIP(FAIL_ENTRIES, a, n * sizeof(entry));
	if (e->code == ST_OK && p->ranges > PAIRWISE_MAX)
		radix_sort(a, b, n, &s->recs);
	else if (e->code == ST_OK && p->ranges > 1)
		p->room = pairwise_merge(p->from, p->len, p->ranges, a, b, &s->recs);
	FAIL_FLIP(FAIL_ENTRIES, p->room, n * sizeof(entry));
	p->free = p->room == a ? b : a;
	if (p->ranges == 1) {
		p->form = SORTED_IN_ORDER;
		p->in_order = ring_record(s, &s->ring[p->range->run], p->range->first);
	}
}

static status sorted_merge_piece(sorted_reader *r, sorted_piece *p, err *e)
{
	sorted_merge *s = (void *)r;
	p->ranges = p->n = 0;
	p->form = SORTED_ENTRIES;
	p->recs = s->recs;
	pthread_mutex_lock(&s->lock);
	/* without reading threads, fill the rings first: the piece would be short otherwise */
	for (uint32_t k; s->readers == 0 && file_heap_first(&s->to_read, &k);)
		if (s->ring[k].loaded - s->ring[k].place >= s->fair || !read_chunk(s))
			break;
	while (s->e.code == ST_OK && !cut_piece(s, p))
		if (!read_chunk(s))
			pthread_cond_wait(&s->changed, &s->lock);
	p->number = s->number++;
	const status rc = err_join(e, &s->e);
	p->first = s->first;
	s->first += p->n;
	pthread_mutex_unlock(&s->lock);
	if (rc != ST_OK)
		return rc;
	const double span = trace_begin();
	merge_piece(s, p, e);
	trace_end(TRACE_MERGE, span);
	if (e->code != ST_OK) {
		pthread_mutex_lock(&s->lock);
		(void)err_join(&s->e, e);
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
	}
	return e->code;
}

static void sorted_merge_give(sorted_reader *r_, const sorted_piece *p)
{
	sorted_merge *s = (void *)r_;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < p->ranges; i++) {
		const sorted_range *g = &p->range[i];
		const ring *r = &s->ring[g->run];
		const uint64_t last = chunk_of(s, r, g->first + g->n - 1);
		for (uint64_t c = chunk_of(s, r, g->first); c <= last; c++)
			if (--chunk_slot(r, c)->users == 0 && r->place >= chunk_end(s, r, c))
				chunk_slot(r, c)->state = SLOT_EMPTY;
		chunks_changed(s, r);
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static status sorted_merge_end(sorted_reader *r, checksum *sum, err *e)
{
	sorted_merge *s = (void *)r;
	*sum = s->sum;
	return s->of->src->check ? s->of->src->check(s->of, e) : ST_OK;
}

/* ---------------------------------------------------------------------------- opening, closing */

/* Lay out rings of up to `chunks` chunks; return their bytes of memory. */
static uint64_t rings_lay_out(sorted_merge *s, uint64_t chunks)
{
	const uint64_t unit = s->c.unit, wrap = u64_round_up(s->fair, unit);
	uint64_t at = 0, slots = 0;
	for (size_t k = 0; k < s->count; k++) {
		ring *r = &s->ring[k];
		r->at = at;
		r->base = r->from / unit * unit;
		const uint64_t all = u64_round_up(r->to, unit) - r->base;
		r->chunks = u64_min(chunks, (all + s->c.recs - 1) / s->c.recs);
		r->recs = u64_max(u64_min(r->chunks * s->c.recs, all), 1);
		const bool wraps =
			r->recs < all && wrap <= s->c.recs && wrap <= r->recs / WRAP_PART;
		r->wrap = wraps ? wrap : 0;
		at += u64_round_up(r->recs + r->wrap, unit);
		slots += r->chunks;
	}
	return at * s->lay.record_bytes + slots * sizeof(slot) + s->bounces * s->c.bounce_bytes;
}

/* Choose the longest chunks of which memory holds two per file, or at least one. Then lay out the
 * rings, with more chunks if memory allows. */
static void rings_size(sorted_merge *s, uint64_t bytes)
{
	uint64_t chunks = 2;
	for (size_t most = s->of->src->chunk_bytes;; most /= 2) {
		s->c = s->of->src->chunk(s->of, most);
		if (rings_lay_out(s, chunks) <= bytes)
			break;
		if (s->c.recs * (uint64_t)s->lay.record_bytes > most || most == 0) {
			chunks = 1;
			break;
		}
	}
	while (chunks > 1 && chunks < MOST_CHUNKS && rings_lay_out(s, chunks + 1) <= bytes)
		chunks++;
	(void)rings_lay_out(s, chunks);
}

/* Allocate the rings and the heaps. */
static status rings_open(sorted_merge *s, err *e)
{
	mem *const m = s->m;
	uint64_t recs = 0, slots = 0;
	size_t bytes;
	for (size_t k = 0; k < s->count; k++) {
		const ring *r = &s->ring[k];
		recs = r->at + r->recs + r->wrap;
		slots += r->chunks;
		s->r.pieces += (r->to - r->from) / s->fair + (r->to - r->from) / s->c.recs + 3;
	}
	if (!size_mul((size_t)recs, s->lay.record_bytes, &bytes))
		return err_set(e, ST_RESOURCE, "no memory for records of runs");
	s->raw = mem_array(m, bytes + IO_FD_ALIGN, 1, "records of runs", e);
	s->slots = mem_array(m, slots, sizeof *s->slots, "runs", e);
	s->keys = mem_array(m, s->count, s->lay.key_bytes, "keys", e);
	s->bounce = mem_array(m, s->bounces, s->c.bounce_bytes, "blocks of runs", e);
	s->busy = mem_array(m, s->bounces, sizeof *s->busy, "runs", e);
	if (!s->raw || !s->slots || !s->keys || !s->bounce || !s->busy)
		return ST_RESOURCE;
	slots = 0;
	for (size_t k = 0; k < s->count; k++) {
		ring *r = &s->ring[k];
		r->place = r->loaded = r->from;
		r->slot = s->slots + slots;
		r->last_key = s->keys + k * s->lay.key_bytes;
		slots += r->chunks;
	}
	s->base = s->raw + (size_t)(-(uintptr_t)s->raw % IO_FD_ALIGN);
	s->recs = (records){ s->base, s->lay, 0 };
	status rc = file_heap_open(&s->to_read, m, s->count, is_needed_before, s, e);
	if (rc == ST_OK)
		rc = file_heap_open(&s->begins, m, s->count, begins_before, s, e);
	if (rc == ST_OK)
		rc = file_heap_open(&s->ends, m, s->count, ends_before, s, e);
	for (size_t k = 0; rc == ST_OK && k < s->count; k++) {
		chunks_changed(s, &s->ring[k]);
		records_changed(s, &s->ring[k], false);
	}
	return rc;
}

static void sorted_merge_close(sorted_reader *r)
{
	sorted_merge *s = (void *)r;
	mem *m = s->m;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < s->readers; i++)
		pthread_join(s->reader[i], NULL);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	file_heap_close(&s->to_read, m);
	file_heap_close(&s->begins, m);
	file_heap_close(&s->ends, m);
	mem_free(m, s->raw);
	mem_free(m, s->keys);
	mem_free(m, s->slots);
	mem_free(m, s->bounce);
	mem_free(m, s->busy);
	mem_free(m, s->ring);
	mem_free(m, s);
}

status sorted_merge_open(sorted *of, const uint64_t *lo, const uint64_t *hi, const sorted_use *u,
			 sorted_reader **out, err *e)
{
	static const sorted_reader_ops ops = { .piece = sorted_merge_piece,
					       .give = sorted_merge_give,
					       .end = sorted_merge_end,
					       .close_reader = sorted_merge_close };
	const size_t count = of->count;
	sorted_merge *s = mem_array(u->m, 1, sizeof *s, "runs", e);
	*out = NULL;
	if (!s)
		return ST_RESOURCE;
	*s = (sorted_merge){ .m = u->m, .of = of, .lay = of->lay, .count = count };
	s->fair = size_max(u->piece_recs / count, 1);
	s->r = (sorted_reader){ .ops = &ops, .most = s->fair * count, .ranges = count };
	s->bounces = u->readers ? u->readers : 1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->ring = mem_array(u->m, count, sizeof *s->ring, "runs", e);
	for (size_t k = 0; s->ring && k < count; k++)
		s->ring[k] = (ring){ .from = lo[k] - of->start[k], .to = hi[k] - of->start[k] };
	if (s->ring)
		rings_size(s, u->ahead_bytes);
	const status rc = s->ring ? rings_open(s, e) : ST_RESOURCE;
	if (rc != ST_OK) {
		sorted_merge_close(&s->r);
		return rc;
	}
	/* if no thread can be started, each thread that takes pieces reads its chunks itself */
	while (s->readers < MOST_READERS && s->readers < u->readers &&
	       thread_start(&s->reader[s->readers], "read-ahead", read_ahead_main, s) == 0)
		s->readers++;
	*out = &s->r;
	return ST_OK;
}
