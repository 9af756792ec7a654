/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record i of a file lies at i modulo the ring's records in there: as far from a page as in the
 * file, where chunks are pages, so that it can be read past the page cache; and where a file's
 * records do not wrap around in a piece, their positions are in the order of files and places. What
 * a ring is asked for under the lock is its counts and the keys at its ends: bytes move without it.
 * Which file is next is kept in heaps, so that files which have no part in a step cost nothing. */
#include "sorted_pieces.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "base/thread.h"
#include "file_heap.h"
#include "kernel/pairwise_merge.h"
#include "kernel/radix.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	READERS = 2,
	MERGED = 8, /* ranges; beyond, sorting measures faster */
};

typedef enum slot_state { SLOT_EMPTY, SLOT_READING, SLOT_READY } slot_state;

typedef struct slot {
	slot_state state;
	size_t users; /* pieces under way */
} slot;

/* One file. Of its records [from, to) those before `place` are in pieces, those before `loaded` in
 * memory. */
typedef struct ring {
	uint64_t from, to, place, loaded, next_chunk; /* next_chunk: to be read */
	slot *slot;
	unsigned char *last_key; /* of the records in pieces */
} ring;

struct sorted_pieces {
	mem *m;
	sorted_files *files;
	sorted_pieces_plan p;
	size_t count;
	unsigned char *raw;
	unsigned char *keys;
	slot *slots;
	records recs;
	pthread_mutex_t lock; /* for what follows, and the rings */
	pthread_cond_t changed;
	ring *ring;
	file_heap to_read;      /* that can be, by what is ahead of their pieces */
	file_heap begins;       /* with records in memory, by the first of them */
	file_heap ends;         /* with records behind those in sight, by the last in sight */
	size_t waiting;         /* for their next record */
	uint64_t number, first; /* of the next piece, and records before it */
	checksum sum;
	bool stop;
	err e;
	pthread_t reader[READERS];
	size_t readers;
};

static uint64_t ring_recs(const sorted_pieces *s)
{
	return (uint64_t)s->p.chunk_recs * s->p.chunks;
}

/* Where record i of file k lies, among all that memory has room for. */
static uint64_t position(const sorted_pieces *s, size_t k, uint64_t i)
{
	return k * ring_recs(s) + i % ring_recs(s);
}

static unsigned char *place_of(const sorted_pieces *s, size_t k, uint64_t i)
{
	return s->raw + position(s, k, i) * s->p.lay.record_bytes;
}

static slot *slot_of(const sorted_pieces *s, const ring *r, uint64_t chunk)
{
	return &r->slot[chunk % s->p.chunks];
}

static uint64_t chunk_end(const sorted_pieces *s, const ring *r, uint64_t chunk)
{
	return u64_min((chunk + 1) * s->p.chunk_recs, r->to);
}

/* How many records of a file a piece may have: in memory, not wrapping around, and so few that
 * those of all files fit. */
static uint64_t in_sight(const sorted_pieces *s, const ring *r)
{
	const uint64_t fair = s->p.piece_recs / s->count;
	const uint64_t to_end = ring_recs(s) - r->place % ring_recs(s);
	return u64_min(u64_min(fair, to_end), r->loaded - r->place);
}

/* ---------------------------------------------------------------------------- which is next */

static bool can_read(const sorted_pieces *s, const ring *r)
{
	return r->next_chunk * s->p.chunk_recs < r->to &&
	       slot_of(s, r, r->next_chunk)->state == SLOT_EMPTY;
}

static bool is_waiting(const ring *r)
{
	return r->place < r->to && r->place == r->loaded;
}

static uint64_t ahead(const sorted_pieces *s, const ring *r)
{
	return u64_max(r->next_chunk * s->p.chunk_recs, r->from) - r->place;
}

static bool has_less_ahead(const void *sorted_pieces_, uint32_t a, uint32_t b)
{
	const sorted_pieces *s = sorted_pieces_;
	const uint64_t of_a = ahead(s, &s->ring[a]), of_b = ahead(s, &s->ring[b]);
	return of_a < of_b || (of_a == of_b && a < b);
}

static const unsigned char *first_in_sight(const sorted_pieces *s, size_t k)
{
	return place_of(s, k, s->ring[k].place);
}

static const unsigned char *last_in_sight(const sorted_pieces *s, size_t k)
{
	const ring *r = &s->ring[k];
	return place_of(s, k, r->place + in_sight(s, r) - 1);
}

static bool begins_before(const void *sorted_pieces_, uint32_t a, uint32_t b)
{
	const sorted_pieces *s = sorted_pieces_;
	const int c = key_compare(&s->p.lay, first_in_sight(s, a), first_in_sight(s, b));
	return c < 0 || (c == 0 && a < b);
}

static bool ends_before(const void *sorted_pieces_, uint32_t a, uint32_t b)
{
	const sorted_pieces *s = sorted_pieces_;
	const int c = key_compare(&s->p.lay, last_in_sight(s, a), last_in_sight(s, b));
	return c < 0 || (c == 0 && a < b);
}

/* Under the lock: chunks of a file can be read again, or no longer. */
static void chunks_changed(sorted_pieces *s, const ring *r)
{
	file_heap_put(&s->to_read, (uint32_t)(r - s->ring), can_read(s, r));
}

/* Under the lock: a file has more in memory, or less that is not in pieces. */
static void records_changed(sorted_pieces *s, const ring *r, bool was_waiting)
{
	const uint32_t k = (uint32_t)(r - s->ring);
	const bool any = r->place < r->loaded;
	file_heap_put(&s->begins, k, any);
	file_heap_put(&s->ends, k, any && in_sight(s, r) < r->to - r->place);
	s->waiting = s->waiting + is_waiting(r) - was_waiting;
}

/* --------------------------------------------------------------------------------- reading */

static checksum read_chunk(sorted_pieces *s, size_t k, uint64_t first, size_t n, err *e)
{
	const uint32_t bytes = s->p.lay.record_bytes;
	unsigned char *to = place_of(s, k, first);
	const status rc = sorted_files_read(s->files, k, to, n * bytes, first * bytes, e);
	if (rc != ST_OK)
		return (checksum){ 0, 0 };
	const checksum sum = checksum_records(to, n, bytes);
	sorted_files_note_read(s->files, k, n, sum);
	return sum;
}

/* Under the lock, which is released while reading: the next chunk; false: there is none to read
 * now. */
static bool read_next(sorted_pieces *s)
{
	uint32_t k;
	if (s->stop || s->e.code != ST_OK || !file_heap_first(&s->to_read, &k))
		return false;
	ring *r = &s->ring[k];
	const uint64_t chunk = r->next_chunk++;
	const uint64_t first = u64_max(chunk * s->p.chunk_recs, r->from);
	const size_t n = (size_t)(chunk_end(s, r, chunk) - first);
	err e = { ST_OK, "" };
	slot_of(s, r, chunk)->state = SLOT_READING;
	chunks_changed(s, r);
	pthread_mutex_unlock(&s->lock);
	const checksum sum = read_chunk(s, k, first, n, &e);
	pthread_mutex_lock(&s->lock);
	if (e.code != ST_OK)
		err_set(&s->e, e.code, "%s", e.text);
	s->sum = checksum_join(s->sum, sum);
	slot_of(s, r, chunk)->state = SLOT_READY;
	const bool was_waiting = is_waiting(r);
	for (uint64_t c = r->loaded / s->p.chunk_recs;
	     c < r->next_chunk && slot_of(s, r, c)->state == SLOT_READY; c++)
		r->loaded = chunk_end(s, r, c);
	records_changed(s, r, was_waiting);
	pthread_cond_broadcast(&s->changed);
	return true;
}

static void *read_all(void *sorted_pieces_)
{
	sorted_pieces *s = sorted_pieces_;
	pthread_mutex_lock(&s->lock);
	while (!s->stop && s->e.code == ST_OK)
		if (!read_next(s))
			pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --------------------------------------------------------------------------------- cutting */

/* Does record i of file k, counted from its next one, belong before or with `end`, the last record
 * that the piece has of file `of`? */
static bool is_until(const sorted_pieces *s, size_t k, uint64_t i, size_t of,
		     const unsigned char *end)
{
	const int c = key_compare(&s->p.lay, place_of(s, k, s->ring[k].place + i), end);
	return k < of ? c <= 0 : c < 0;
}

/* How many records of file k do. That the first one is looked at keeps a file that is not sorted
 * from having a second part in the piece. */
static uint64_t recs_until(const sorted_pieces *s, size_t k, size_t of, const unsigned char *end)
{
	if (k == of || !is_until(s, k, 0, of, end))
		return 0;
	lower_bound b = { .lo = 1, .hi = in_sight(s, &s->ring[k]) };
	while (lower_bound_open(&b))
		lower_bound_step(&b, is_until(s, k, b.mid, of, end));
	return b.lo;
}

static void add_range(sorted_pieces *s, sorted_piece *p, size_t k, uint64_t n)
{
	ring *r = &s->ring[k];
	const layout *l = &s->p.lay;
	if (r->place > r->from && key_copy_compare(l, r->last_key, place_of(s, k, r->place)) > 0)
		(void)sorted_files_disorder(s->files, k, r->place, &s->e);
	p->range[p->ranges++] = (sorted_range){ k, r->place, n };
	p->n += (size_t)n;
	for (uint64_t c = r->place / s->p.chunk_recs; c * s->p.chunk_recs < r->place + n; c++)
		slot_of(s, r, c)->users++;
	r->place += n;
	key_copy(l, r->last_key, place_of(s, k, r->place - 1));
	chunks_changed(s, r);
	records_changed(s, r, false);
}

/* Under the lock; false: more has to be read first. Of files that are in sight to their end, all
 * may be in the piece; where every file is, it is the last one. */
static bool cut(sorted_pieces *s, sorted_piece *p)
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
	while (file_heap_first(&s->begins, &k)) {
		const uint64_t n = recs_until(s, k, of, end);
		if (n == 0)
			break;
		add_range(s, p, k, n);
	}
	return true;
}

/* ------------------------------------------------------------------------------- in pieces */

static bool entry_follows(const records *r, const entry *a, const entry *b)
{
	return key_tail_bytes(&r->lay) ? entry_cmp(a, b, r) < 0
				       : a->hi < b->hi || (a->hi == b->hi && a->lo < b->lo);
}

/* Entries of a range; n, or the first record that belongs before the one before it. */
static uint64_t make_entries(const sorted_pieces *s, const sorted_range *g, entry *e)
{
	const records *r = &s->recs;
	const uint64_t at = position(s, g->file, g->first);
	const unsigned char *rec = record_at(r, at);
	size_t bad = 0;
	e[0] = entry_make(rec, &r->lay, at);
	for (size_t i = 1; i < g->n; i++) {
		e[i] = entry_make(rec += r->lay.record_bytes, &r->lay, at + i);
		bad += !entry_follows(r, &e[i - 1], &e[i]);
	}
	if (bad == 0)
		return g->n;
	for (size_t i = 1; i < g->n; i++)
		if (!entry_follows(r, &e[i - 1], &e[i]))
			return i;
	return g->n;
}

static int by_file(const void *a_, const void *b_)
{
	const sorted_range *a = a_, *b = b_;
	return (a->file > b->file) - (a->file < b->file);
}

static void merge(const sorted_pieces *s, sorted_piece *p, err *e)
{
	size_t n = 0;
	qsort(p->range, p->ranges, sizeof *p->range, by_file);
	for (size_t i = 0; i < p->ranges && e->code == ST_OK; i++) {
		const sorted_range *g = &p->range[i];
		const uint64_t good = make_entries(s, g, p->e + n);
		if (good < g->n)
			(void)sorted_files_disorder(s->files, g->file, g->first + good, e);
		p->from[i] = p->e + n;
		p->len[i] = (size_t)g->n;
		n += (size_t)g->n;
	}
	p->order = p->e;
	if (e->code == ST_OK && p->ranges > MERGED)
		radix_sort(p->e, p->tmp, n, &s->recs);
	else if (e->code == ST_OK && p->ranges > 1)
		p->order = pairwise_merge_in(p->from, p->len, p->ranges, p->e, p->tmp, &s->recs);
	p->free = p->order == p->e ? p->tmp : p->e;
	if (p->ranges == 1)
		p->in_order = place_of(s, p->range->file, p->range->first);
}

static void fail(sorted_pieces *s, const err *e)
{
	pthread_mutex_lock(&s->lock);
	err_set(&s->e, e->code, "%s", e->text);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

uint64_t sorted_pieces_take(sorted_pieces *s, sorted_piece *p, err *e)
{
	p->ranges = p->n = 0;
	p->in_order = NULL;
	pthread_mutex_lock(&s->lock);
	while (s->e.code == ST_OK && !cut(s, p))
		if (!read_next(s))
			pthread_cond_wait(&s->changed, &s->lock);
	const uint64_t number = s->number++;
	const err own = s->e;
	p->first = s->first;
	s->first += p->n;
	pthread_mutex_unlock(&s->lock);
	if (own.code != ST_OK) {
		err_set(e, own.code, "%s", own.text);
		return number;
	}
	merge(s, p, e);
	if (e->code != ST_OK)
		fail(s, e);
	return number;
}

void sorted_pieces_give(sorted_pieces *s, const sorted_piece *p)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < p->ranges; i++) {
		const sorted_range *g = &p->range[i];
		const ring *r = &s->ring[g->file];
		for (uint64_t c = g->first / s->p.chunk_recs; c * s->p.chunk_recs < g->first + g->n;
		     c++) {
			slot *t = slot_of(s, r, c);
			t->users--;
			if (t->users == 0 && r->place >= chunk_end(s, r, c))
				t->state = SLOT_EMPTY;
		}
		chunks_changed(s, r);
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

checksum sorted_pieces_sum(const sorted_pieces *s)
{
	return s->sum;
}

/* ---------------------------------------------------------------------------- opening, closing */

status sorted_piece_open(sorted_piece *p, const sorted_pieces *s, mem *m, err *e)
{
	*p = (sorted_piece){ .recs = s->recs };
	p->range = mem_array(m, s->count, sizeof *p->range, "inputs", e);
	p->from = mem_array(m, s->count, sizeof *p->from, "inputs", e);
	p->len = mem_array(m, s->count, sizeof *p->len, "inputs", e);
	p->e = mem_array(m, s->p.piece_recs, sizeof *p->e, "entries", e);
	p->tmp = mem_array(m, s->p.piece_recs, sizeof *p->tmp, "merging", e);
	return p->range && p->from && p->len && p->e && p->tmp ? ST_OK : ST_RESOURCE;
}

void sorted_piece_close(sorted_piece *p, mem *m)
{
	mem_free(m, p->range);
	mem_free(m, p->from);
	mem_free(m, p->len);
	mem_free(m, p->e);
	mem_free(m, p->tmp);
	*p = (sorted_piece){ 0 };
}

static uint64_t recs_of(const ring *r)
{
	return r->to - r->from;
}

/* The records in sight of one file are used up by each piece: all that are fair, or to the end of a
 * chunk. */
uint64_t sorted_pieces_most(const sorted_pieces *s)
{
	const uint64_t fair = s->p.piece_recs / s->count;
	uint64_t n = 1;
	for (size_t k = 0; k < s->count; k++)
		n += recs_of(&s->ring[k]) / fair + recs_of(&s->ring[k]) / s->p.chunk_recs + 3;
	return n;
}

static ring ring_of(const sorted_pieces *s, size_t k)
{
	const uint64_t from = s->p.from ? s->p.from[k] : 0, chunk = s->p.chunk_recs;
	const uint64_t to = s->p.to ? s->p.to[k] : sorted_files_recs(s->files, k);
	return (ring){ .from = from,
		       .to = to,
		       .place = from,
		       .loaded = from,
		       .next_chunk = from < to ? from / chunk : to / chunk + 1,
		       .slot = s->slots + k * s->p.chunks,
		       .last_key = s->keys + k * s->p.lay.key_bytes };
}

static status open_heaps(sorted_pieces *s, err *e)
{
	status rc = file_heap_open(&s->to_read, s->m, s->count, has_less_ahead, s, e);
	if (rc == ST_OK)
		rc = file_heap_open(&s->begins, s->m, s->count, begins_before, s, e);
	if (rc == ST_OK)
		rc = file_heap_open(&s->ends, s->m, s->count, ends_before, s, e);
	for (size_t k = 0; rc == ST_OK && k < s->count; k++) {
		chunks_changed(s, &s->ring[k]);
		records_changed(s, &s->ring[k], false);
	}
	return rc;
}

static status alloc(sorted_pieces *s, err *e)
{
	const layout *l = &s->p.lay;
	const size_t room = s->count * (size_t)ring_recs(s);
	s->raw = mem_array(s->m, room, l->record_bytes, "records of inputs", e);
	s->ring = mem_array(s->m, s->count, sizeof *s->ring, "inputs", e);
	s->slots = mem_array(s->m, s->count * s->p.chunks, sizeof *s->slots, "inputs", e);
	s->keys = mem_array(s->m, s->count, l->key_bytes, "keys", e);
	if (!s->raw || !s->ring || !s->slots || !s->keys)
		return ST_RESOURCE;
	for (size_t k = 0; k < s->count; k++)
		s->ring[k] = ring_of(s, k);
	s->recs = (records){ s->raw, *l, 0 };
	return open_heaps(s, e);
}

status sorted_pieces_open(sorted_pieces **out, mem *m, sorted_files *files,
			  const sorted_pieces_plan *p, err *e)
{
	sorted_pieces *s = *out = mem_array(m, 1, sizeof *s, "inputs", e);
	if (!s)
		return ST_RESOURCE;
	*s = (sorted_pieces){ .m = m, .files = files, .p = *p, .count = sorted_files_count(files) };
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	const status rc = alloc(s, e);
	if (rc != ST_OK) {
		sorted_pieces_close(s);
		*out = NULL;
		return rc;
	}
	/* where the system refuses a thread, those that wait for a chunk read it */
	while (s->readers < READERS &&
	       thread_start(&s->reader[s->readers], "read-ahead", read_all, s) == 0)
		s->readers++;
	return ST_OK;
}

void sorted_pieces_close(sorted_pieces *s)
{
	if (!s)
		return;
	mem *m = s->m;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < s->readers; i++)
		pthread_join(s->reader[i], NULL);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	file_heap_close(&s->to_read, m);
	file_heap_close(&s->begins, m);
	file_heap_close(&s->ends, m);
	mem_free(m, s->raw);
	mem_free(m, s->ring);
	mem_free(m, s->slots);
	mem_free(m, s->keys);
	mem_free(m, s);
}
