/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chunks are read in the order of the first slice that needs them, then of runs. There are more
 * slots than any slice needs: so the oldest slice under way always gets its chunks, whatever later
 * ones hold. */
#include "read_ahead.h"
#include "base/minmax.h"
#include "spill.h"
#include "base/thread.h"

#include <pthread.h>

enum {
	READERS = 2,
	MOST_CHUNK_BYTES = 4 << 20,
	LEAST_AHEAD = 4, /* chunks read ahead */
	MOST_AHEAD = 64,
};

/* Memory for a chunk. */
typedef struct slot {
	unsigned char *buf;
	const unsigned char *recs;
	size_t slices; /* that still need it */
	bool ready;
} slot;

struct read_ahead {
	mem *m;
	const merge_slices *w;
	uint64_t chunk_recs;
	size_t slot_bytes, slots;
	unsigned char *raw;
	slot *slot;
	uint32_t *empty; /* [slots] a stack of those without a chunk */
	size_t empties;
	uint64_t *before;  /* [runs + 1] chunks in the runs before */
	uint64_t *next;    /* [runs] the next chunk to read */
	uint32_t *slot_of; /* [chunks] 1 + its slot; 0: not in memory */
	size_t slice, run; /* the first slice that the next chunk is for, and its run */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop;
	err e;
	pthread_t reader[READERS];
	size_t readers;
};

/* ------------------------------------------------------------------------------- chunks */

/* The chunks of run k that have places [lo, hi), as [*from, *to). */
static void chunks_of(const read_ahead *f, size_t k, uint64_t lo, uint64_t hi, uint64_t *from,
		      uint64_t *to)
{
	const uint64_t start = f->w->r->start[k], n = f->chunk_recs;
	*from = (lo - start) / n;
	*to = hi > lo ? (hi - start + n - 1) / n : *from;
}

/* Chunks in memory, at most, while slice i is the oldest that is not done: those it needs and those
 * that it only lies within. */
static size_t held_by(const read_ahead *f, size_t i)
{
	const uint64_t n = f->chunk_recs;
	size_t held = 0;
	for (size_t k = 0; k < f->w->r->count; k++) {
		uint64_t lo, hi;
		const uint64_t start = f->w->r->start[k];
		merge_slices_places(f->w, i, k, &lo, &hi);
		hi = hi > lo ? hi : lo;
		held += (size_t)((hi - start + n - 1) / n - (lo - start) / n);
	}
	return held;
}

static size_t most_held(const read_ahead *f)
{
	size_t most = 0;
	for (size_t i = 0; i < f->w->count; i++) {
		const size_t held = held_by(f, i);
		most = held > most ? held : most;
	}
	return most;
}

static uint64_t longest_run_bytes(const runs *r)
{
	uint64_t most = 0;
	for (size_t k = 0; k < r->count; k++)
		most = u64_max(most, r->start[k + 1] - r->start[k]);
	return most * r->recs.lay.record_bytes;
}

/* The largest chunks, none longer than a run, of which those for one slice and some more fit into
 * the bytes. */
static bool size_chunks(read_ahead *f, uint64_t bytes)
{
	const runs *r = f->w->r;
	const uint64_t longest = u64_min(MOST_CHUNK_BYTES, longest_run_bytes(r));
	const uint64_t slice = (uint64_t)f->w->most * r->recs.lay.record_bytes;
	const uint64_t spread = r->count + r->count / 4 + 2 * LEAST_AHEAD;
	uint64_t want = bytes > 2 * slice ? (bytes - slice) / spread : bytes / 2 / spread;
	for (want = u64_min(want, longest);; want /= 2) {
		f->chunk_recs = spill_chunk_recs(r->spill, (size_t)want, &f->slot_bytes);
		const uint64_t room = bytes / (f->slot_bytes + sizeof *f->slot + sizeof *f->empty);
		const size_t held = most_held(f);
		if (held + LEAST_AHEAD <= room) {
			const uint64_t all = runs_total(r) / f->chunk_recs + r->count;
			const uint64_t most = held + MOST_AHEAD < all ? held + MOST_AHEAD : all;
			f->slots = (size_t)(room < most ? room : most);
			return true;
		}
		if (f->slot_bytes > want)
			return false;
	}
}

/* The next chunk in order; false: there is none. */
static bool find_next(read_ahead *f, size_t *k, uint64_t *chunk)
{
	for (; f->slice < f->w->count; f->slice++, f->run = 0)
		for (; f->run < f->w->r->count; f->run++) {
			uint64_t lo, hi, from, to;
			merge_slices_places(f->w, f->slice, f->run, &lo, &hi);
			chunks_of(f, f->run, lo, hi, &from, &to);
			if (f->next[f->run] < from)
				f->next[f->run] = from;
			if (f->next[f->run] < to) {
				*k = f->run;
				*chunk = f->next[f->run]++;
				return true;
			}
		}
	return false;
}

/* How many slices need a chunk of run k; f->slice is the first of them. */
static size_t slices_with(const read_ahead *f, size_t k, uint64_t chunk)
{
	size_t n = 0;
	for (size_t i = f->slice; i < f->w->count; i++) {
		uint64_t lo, hi, from, to;
		merge_slices_places(f->w, i, k, &lo, &hi);
		chunks_of(f, k, lo, hi, &from, &to);
		if (from > chunk)
			break;
		n += to > chunk;
	}
	return n;
}

static read_ahead_chunk chunk_at(const read_ahead *f, size_t k, uint64_t chunk)
{
	const uint64_t *start = f->w->r->start, first = start[k] + chunk * f->chunk_recs;
	const uint64_t left = start[k + 1] - first;
	return (read_ahead_chunk){ .first = first,
				   .n = left < f->chunk_recs ? left : f->chunk_recs };
}

/* ------------------------------------------------------------------------------- reading */

/* Under the lock, which is released while reading: read the next chunk; false: there is none, or no
 * free slot. */
static bool read_next(read_ahead *f)
{
	size_t k;
	uint64_t chunk;
	if (f->stop || f->e.code != ST_OK || f->empties == 0 || !find_next(f, &k, &chunk))
		return false;
	const uint32_t at = f->empty[--f->empties];
	const read_ahead_chunk c = chunk_at(f, k, chunk);
	slot *s = &f->slot[at];
	err e = { ST_OK, "" };
	s->slices = slices_with(f, k, chunk);
	f->slot_of[f->before[k] + chunk] = at + 1;
	pthread_mutex_unlock(&f->lock);
	spill_read(f->w->r->spill, k, c.first - f->w->r->start[k], c.n, s->buf, f->slot_bytes,
		   &s->recs, &e);
	pthread_mutex_lock(&f->lock);
	s->ready = true;
	if (e.code != ST_OK)
		err_set(&f->e, e.code, "%s", e.text);
	pthread_cond_broadcast(&f->changed);
	return true;
}

static void *read_all(void *read_ahead_)
{
	read_ahead *f = read_ahead_;
	pthread_mutex_lock(&f->lock);
	while (!f->stop && f->e.code == ST_OK && f->slice < f->w->count)
		if (!read_next(f))
			pthread_cond_wait(&f->changed, &f->lock);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

status read_ahead_take(read_ahead *f, size_t k, uint64_t place, read_ahead_chunk *c, err *e)
{
	const uint64_t chunk = (place - f->w->r->start[k]) / f->chunk_recs;
	const uint32_t *at = &f->slot_of[f->before[k] + chunk];
	*c = chunk_at(f, k, chunk);
	pthread_mutex_lock(&f->lock);
	while (f->e.code == ST_OK && !(*at && f->slot[*at - 1].ready))
		if (!read_next(f))
			pthread_cond_wait(&f->changed, &f->lock);
	const err own = f->e;
	if (own.code == ST_OK) {
		c->slot = *at - 1;
		c->recs = f->slot[c->slot].recs;
	}
	pthread_mutex_unlock(&f->lock);
	return own.code == ST_OK ? ST_OK : err_set(e, own.code, "%s", own.text);
}

void read_ahead_give(read_ahead *f, size_t k, const read_ahead_chunk *c)
{
	slot *s = &f->slot[c->slot];
	pthread_mutex_lock(&f->lock);
	if (--s->slices == 0) {
		const uint64_t chunk = (c->first - f->w->r->start[k]) / f->chunk_recs;
		f->slot_of[f->before[k] + chunk] = 0;
		s->ready = false;
		f->empty[f->empties++] = (uint32_t)c->slot;
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
}

/* ------------------------------------------------------------------------------- opening */

static status allocate(read_ahead *f, err *e)
{
	const runs *r = f->w->r;
	const size_t k = r->count;
	f->before = mem_array(f->m, k + 1, sizeof *f->before, "chunks of runs", e);
	f->next = mem_array(f->m, k, sizeof *f->next, "chunks of runs", e);
	if (!f->before || !f->next)
		return ST_RESOURCE;
	for (size_t i = 0; i < k; i++)
		f->before[i + 1] =
			f->before[i] + (r->start[i + 1] - r->start[i]) / f->chunk_recs + 1;
	f->raw = mem_array(f->m, f->slots * f->slot_bytes + SPILL_ALIGN, 1, "chunks of runs", e);
	f->slot = mem_array(f->m, f->slots, sizeof *f->slot, "chunks of runs", e);
	f->empty = mem_array(f->m, f->slots, sizeof *f->empty, "chunks of runs", e);
	f->slot_of = mem_array(f->m, f->before[k], sizeof *f->slot_of, "chunks of runs", e);
	if (!f->raw || !f->slot || !f->empty || !f->slot_of)
		return ST_RESOURCE;
	unsigned char *at = f->raw + (size_t)(-(uintptr_t)f->raw % SPILL_ALIGN);
	for (; f->empties < f->slots; at += f->slot_bytes) {
		f->slot[f->empties].buf = at;
		f->empty[f->empties] = (uint32_t)f->empties;
		f->empties++;
	}
	return ST_OK;
}

status read_ahead_open(read_ahead **out, mem *m, const merge_slices *w, uint64_t bytes, err *e)
{
	*out = NULL;
	read_ahead *f = mem_array(m, 1, sizeof *f, "reading ahead", e);
	if (!f)
		return ST_RESOURCE;
	*f = (read_ahead){ .m = m, .w = w };
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	const bool fits = size_chunks(f, bytes);
	const status rc = fits ? allocate(f, e) : ST_OK;
	if (!fits || rc != ST_OK) {
		read_ahead_close(f);
		return rc;
	}
	/* where the system refuses a thread, those that wait for a chunk read it */
	while (f->readers < READERS &&
	       thread_start(&f->reader[f->readers], "read-ahead", read_all, f) == 0)
		f->readers++;
	*out = f;
	return ST_OK;
}

void read_ahead_close(read_ahead *f)
{
	if (!f)
		return;
	mem *m = f->m;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	for (size_t i = 0; i < f->readers; i++)
		pthread_join(f->reader[i], NULL);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	if (f->before)
		mem_free(m, f->slot_of);
	mem_free(m, f->empty);
	mem_free(m, f->slot);
	mem_free(m, f->raw);
	mem_free(m, f->next);
	mem_free(m, f->before);
	mem_free(m, f);
}
