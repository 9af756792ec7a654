/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sample gives a classifier from keys to some thousand buckets. All threads read the keys once to
 * count each bucket, and once more to move the records to their bucket's place in the output, a
 * cache line at a time and past the cache. Then each thread takes bucket after bucket, and sorts it
 * in the cache. Stable: each thread moves a stretch of the input, to the places behind those of the
 * threads before it. */
#include "bucket_sort.h"
#include "base/minmax.h"
#include "base/pool.h"
#include "classifier.h"
#include "radix.h"
#include "streaming_store.h"
#include "u64_sort.h"

#include <stdatomic.h>

enum { LINE = STREAMING_LINE, STAGE_BYTES = 2 * LINE };

/* The stages for the next records of each bucket: a line that is being filled, and a record that
 * begins in it. The changing data is small, and stays in the first cache. */
typedef struct stages {
	uint8_t *used;        /* bytes of the line */
	uint8_t *skip;        /* first bytes of the line, which must not be written */
	unsigned char **to;   /* destination of the line */
	unsigned char *lines; /* STAGE_BYTES per bucket */
} stages;

/* Scratch of one worker. */
typedef struct workspace {
	stages stages;
	unsigned char *recs; /* of a bucket */
	uint64_t *a, *tmp;
	entry *ties; /* two per record */
} workspace;

typedef struct short_sorter {
	mem *m;
	err *e;
	const bucket_sort_sizes *sizes;
	const records *in;
	unsigned char *out;
	uint64_t n;
	unsigned threads;
	bool streaming; /* the output is written past the cache */
	uint32_t buckets_most;
	entry *sample; /* followed by scratch of the same size */
	classifier map;
	void *map_room;
	uint64_t *place; /* [threads][buckets] counts of records, then their places */
	uint64_t *start; /* of each bucket, and the end of the last */
	workspace *work;
	_Atomic size_t next;
} short_sorter;

/* Copy a record: usual sizes as constants, others by two copies that overlap. */
static inline void copy_short(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
	enum { HALF = 16, WORD = 8 };
	if (bytes == WORD) {
		memcpy(to, from, WORD);
	} else if (bytes == HALF) {
		memcpy(to, from, HALF);
	} else if (bytes > HALF) {
		memcpy(to, from, HALF);
		if (bytes > 2 * HALF)
			memcpy(to + HALF, from + HALF, HALF);
		memcpy(to + bytes - HALF, from + bytes - HALF, HALF);
	} else {
		memcpy(to, from, WORD);
		memcpy(to + bytes - WORD, from + bytes - WORD, WORD);
	}
}

/* ----------------------------------------------------------------------------- count and move */

static uint64_t part_begin(const short_sorter *s, size_t part)
{
	return s->n / s->threads * part + u64_min(s->n % s->threads, part);
}

static void count_part(void *arg, unsigned worker)
{
	short_sorter *s = arg;
	uint16_t into[CLASSIFIER_BLOCK];
	(void)worker;
	for (size_t p; (p = atomic_fetch_add(&s->next, 1)) < s->threads;) {
		uint64_t *count = s->place + p * s->map.buckets;
		memset(count, 0, s->map.buckets * sizeof *count);
		for (uint64_t i = part_begin(s, p), end = part_begin(s, p + 1); i < end;
		     i += CLASSIFIER_BLOCK) {
			const size_t n = u64_min(end - i, CLASSIFIER_BLOCK);
			classifier_block(&s->map, s->in, i, NULL, n, into, NULL);
			for (size_t k = 0; k < n; k++)
				count[into[k]]++;
		}
	}
}

/* Turn counts into places: bucket by bucket, and in each bucket part by part. */
static void find_places(short_sorter *s)
{
	uint64_t at = 0;
	for (uint32_t b = 0; b < s->map.buckets; b++) {
		s->start[b] = at;
		for (unsigned p = 0; p < s->threads; p++) {
			uint64_t *place = &s->place[(size_t)p * s->map.buckets + b];
			const uint64_t count = *place;
			*place = at;
			at += count;
		}
	}
	s->start[s->map.buckets] = at;
}

static inline void stage_out(const stages *g, uint32_t b, unsigned char *line, bool streaming)
{
	const unsigned skip = g->skip[b];
	if (skip || !streaming)
		memcpy(g->to[b] + skip, line + skip, LINE - skip);
	else
		streaming_store_line(g->to[b], line);
	g->skip[b] = 0;
	g->to[b] += LINE;
}

static inline __attribute__((always_inline)) void
move_range(const short_sorter *s, const stages *g, uint64_t from, uint64_t to, uint32_t bytes)
{
	const stages stage = *g;
	uint16_t into[CLASSIFIER_BLOCK];
	const unsigned char *rec = record_at(s->in, from);
	for (uint64_t i = from; i < to; i += CLASSIFIER_BLOCK) {
		const size_t n = u64_min(to - i, CLASSIFIER_BLOCK);
		classifier_block(&s->map, s->in, i, NULL, n, into, NULL);
		for (size_t k = 0; k < n; k++, rec += bytes) {
			const uint32_t b = into[k];
			unsigned char *line = stage.lines + (size_t)b * STAGE_BYTES;
			unsigned used = stage.used[b];
			copy_short(line + used, rec, bytes);
			used += bytes;
			if (used >= LINE) {
				stage_out(&stage, b, line, s->streaming);
				used -= LINE;
				if (used > 0)
					memcpy(line, line + LINE, LINE);
			}
			stage.used[b] = (uint8_t)used;
		}
	}
}

static void move_part(void *arg, unsigned worker)
{
	short_sorter *s = arg;
	const stages *g = &s->work[worker].stages;
	const uint32_t bytes = s->in->lay.record_bytes;
	for (size_t p; (p = atomic_fetch_add(&s->next, 1)) < s->threads;) {
		for (uint32_t b = 0; b < s->map.buckets; b++) {
			unsigned char *to = s->out + s->place[p * s->map.buckets + b] * bytes;
			g->used[b] = g->skip[b] = (uint8_t)((uintptr_t)to % LINE);
			g->to[b] = to - g->skip[b];
		}
		const uint64_t from = part_begin(s, p), end = part_begin(s, p + 1);
		if (bytes == 8)
			move_range(s, g, from, end, 8);
		else if (bytes == 16)
			move_range(s, g, from, end, 16);
		else
			move_range(s, g, from, end, bytes);
		for (uint32_t b = 0; b < s->map.buckets; b++) {
			const unsigned skip = g->skip[b];
			memcpy(g->to[b] + skip, g->lines + (size_t)b * STAGE_BYTES + skip,
			       g->used[b] - skip);
		}
		streaming_store_fence();
	}
}

/* -------------------------------------------------------------------------------- one bucket */

/* Read the windows of n keys to a; return whether they ascend. */
static inline __attribute__((always_inline)) bool
read_windows(const layout *l, const key_window *window, const unsigned char *rec, size_t n,
	     uint64_t *a, uint64_t *least, uint64_t *most, window_kind of)
{
	const uint32_t bytes = l->record_bytes;
	const layout lay = *l; /* a copy that cannot alias the array written here */
	bool rise = true;
	uint64_t before = 0, low = UINT64_MAX, high = 0;
	for (size_t i = 0; i < n; i++, rec += bytes) {
		const uint64_t v = key_window_read_as(of, &lay, window, rec);
		a[i] = v;
		rise &= v >= before;
		before = v;
		low = u64_min(v, low);
		high = u64_max(v, high);
	}
	*least = low;
	*most = high;
	return rise;
}

/* Sort records that consist only of a key: equal records are identical. */
static void sort_words(const layout *l, const workspace *w, unsigned char *recs, size_t n)
{
	u64_sort(w->a, w->tmp, n);
	for (size_t i = 0; i < n; i++)
		w->a[i] = l->fields ? key_lead_raw(&l->number[0], w->a[i]) : htobe64(w->a[i]);
	memcpy(recs, w->a, n * sizeof *w->a);
}

static void put_in_order(const unsigned char *recs, const uint64_t *a, uint64_t mask, size_t n,
			 uint32_t bytes, unsigned char *out)
{
	for (size_t i = 0; i < n; i++, out += bytes)
		copy_short(out, recs + (a[i] & mask) * bytes, bytes);
}

/* Sort the n records at recs in place, by numbers: above the position, the distance of a key's
 * window from the least window. The window begins after the bytes that all keys share, unless a
 * number has room for them. */
static void finish_few(const short_sorter *s, const workspace *w, unsigned char *recs, size_t n)
{
	const layout *l = &s->in->lay;
	const uint32_t bytes = l->record_bytes;
	const unsigned pos_bits = 64 - (unsigned)__builtin_clzll(n);
	const uint64_t mask = (UINT64_C(1) << pos_bits) - 1;
	const records copy = { .base = w->recs, .lay = *l };
	uint64_t least, most;
	unsigned norm, same_bits = 0, zeros;
	uint32_t from = 0, left;
	bool rise;
	do {
		from += same_bits / 8;
		left = l->key_bytes - from;
		const key_window window =
			key_window_at(l, from, (uint32_t)u64_min(left, KEY_WINDOW_BYTES));
		rise = WITH_WINDOW(window.of, read_windows, l, &window, recs, n, w->a, &least,
				   &most);
		norm = most > least ? (unsigned)__builtin_clzll(most - least) : 64;
		same_bits = most > least ? (unsigned)__builtin_clzll(most ^ least) : 64;
		zeros = (unsigned)__builtin_ctzll(window.keep);
	} while (left > KEY_WINDOW_BYTES && same_bits >= 8 && norm > pos_bits);
	const bool last = left <= KEY_WINDOW_BYTES;
	if (last && rise)
		return;
	if (bytes == 8 && l->key_bytes == 8 && (!l->fields || l->number[0].bytes == 8)) {
		sort_words(l, w, recs, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		w->a[i] = ((w->a[i] - least) << norm % 64 & ~mask) | i;
	memcpy(w->recs, recs, n * bytes);
	if (!rise)
		u64_sort(w->a, w->tmp, n);
	if (!last || norm + zeros < pos_bits)
		radix_settle(w->a, n, mask, &copy, n, w->ties);
	if (bytes == 16)
		put_in_order(w->recs, w->a, mask, n, 16, recs);
	else
		put_in_order(w->recs, w->a, mask, n, bytes, recs);
}

static void finish_buckets(void *arg, unsigned worker)
{
	short_sorter *s = arg;
	const uint32_t bytes = s->in->lay.record_bytes;
	for (size_t b; (b = atomic_fetch_add(&s->next, 1)) < s->map.buckets;) {
		const size_t n = s->start[b + 1] - s->start[b];
		if (n > 1 && n <= s->sizes->demand.cap && !s->map.bucket[b].same)
			finish_few(s, &s->work[worker], s->out + s->start[b] * bytes, n);
	}
}

/* ------------------------------------------------------------------------ buckets that are too
 * large */

static bool in_order(const layout *l, const unsigned char *rec, size_t n)
{
	size_t i = 1;
	for (; i < n && key_compare(l, rec, rec + l->record_bytes) <= 0; i++)
		rec += l->record_bytes;
	return i == n;
}

static status as_entries(const short_sorter *s, unsigned char *recs, size_t n)
{
	const records r = { .base = recs, .lay = s->in->lay };
	const uint32_t bytes = r.lay.record_bytes;
	status rc = ST_RESOURCE;
	entry *order = mem_array(s->m, n, sizeof *order, "entries", s->e);
	entry *tmp = order ? mem_array(s->m, n, sizeof *tmp, "entries", s->e) : NULL;
	if (tmp) {
		for (size_t i = 0; i < n; i++)
			order[i] = entry_make(record_at(&r, i), &r.lay, i);
		radix_sort(order, tmp, n, &r);
	}
	mem_free(s->m, tmp);
	unsigned char *copy = tmp ? mem_array(s->m, n, bytes, "records", s->e) : NULL;
	if (copy) {
		memcpy(copy, recs, n * bytes);
		for (size_t i = 0; i < n; i++)
			copy_short(recs + i * bytes, copy + entry_pos(&order[i]) * bytes, bytes);
		rc = ST_OK;
	}
	mem_free(s->m, copy);
	mem_free(s->m, order);
	return rc;
}

static status again(const short_sorter *s, unsigned char *recs, size_t n)
{
	const uint32_t bytes = s->in->lay.record_bytes;
	unsigned char *copy = mem_array(s->m, n, bytes, "records", s->e);
	if (!copy)
		return ST_RESOURCE;
	memcpy(copy, recs, n * bytes);
	const records r = { .base = copy, .lay = s->in->lay };
	const status rc = short_sort(s->m, &r, n, recs, s->threads, s->sizes, s->e);
	mem_free(s->m, copy);
	return rc;
}

/* Sort buckets that the sample underestimated: with a new map, if that at least halves them. */
static status finish_large(const short_sorter *s)
{
	status rc = ST_OK;
	for (uint32_t b = 0; rc == ST_OK && b < s->map.buckets; b++) {
		const size_t n = s->start[b + 1] - s->start[b];
		unsigned char *recs = s->out + s->start[b] * s->in->lay.record_bytes;
		if (n <= s->sizes->demand.cap || s->map.bucket[b].same ||
		    in_order(&s->in->lay, recs, n))
			continue;
		if (n <= s->n / 2 && n > s->sizes->simple)
			rc = again(s, recs, n);
		else
			rc = as_entries(s, recs, n);
	}
	return rc;
}

/* -------------------------------------------------------------------------------------- all of it
 */

/* Return the scratch of a worker: stages and lines, records of a bucket, two arrays of numbers,
 * ties.
 */
static uint64_t workspace_bytes(uint64_t buckets, uint64_t cap)
{
	return buckets * (STAGE_BYTES + sizeof(unsigned char *) + 2) +
	       cap * (SHORT_MOST_BYTES + 2 * sizeof(uint64_t) + 2 * sizeof(entry)) +
	       8 * (uint64_t)LINE;
}

static unsigned char *take(unsigned char **at, size_t bytes)
{
	unsigned char *p = *at + -(uintptr_t)*at % LINE;
	*at = p + bytes;
	return p;
}

static void place_workspace(const short_sorter *s, workspace *w, unsigned char *at)
{
	const size_t cap = s->sizes->demand.cap, buckets = s->buckets_most;
	w->stages.lines = take(&at, buckets * STAGE_BYTES);
	w->stages.to = (unsigned char **)(void *)take(&at, buckets * sizeof *w->stages.to);
	w->stages.used = take(&at, buckets);
	w->stages.skip = take(&at, buckets);
	w->a = (uint64_t *)(void *)take(&at, 2 * cap * sizeof *w->a);
	w->tmp = w->a + cap;
	w->ties = (entry *)(void *)take(&at, 2 * cap * sizeof *w->ties);
	w->recs = at;
}

static status in_buckets(short_sorter *s, unsigned char *scratch, size_t worker_bytes)
{
	const size_t n = classifier_sample(s->in, s->n, s->buckets_most, s->sample);
	radix_sort(s->sample, s->sample + n, n, s->in);
	classifier_make(&s->map, s->in, s->sample, n, 1, s->buckets_most, s->map_room);
	for (unsigned i = 0; i < s->threads; i++)
		place_workspace(s, &s->work[i], scratch + i * worker_bytes);
	pool_run(s->threads, count_part, s);
	find_places(s);
	s->next = 0;
	pool_run(s->threads, move_part, s);
	s->next = 0;
	pool_run(s->threads, finish_buckets, s);
	return finish_large(s);
}

status short_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
		  const bucket_sort_sizes *sizes, err *e)
{
	const uint32_t buckets =
		(uint32_t)u64_min(n / sizes->demand.bucket + BUCKETS_LEAST, BUCKETS_MAX);
	const size_t worker_bytes = workspace_bytes(buckets, sizes->demand.cap);
	short_sorter s = { .m = m,
			   .e = e,
			   .sizes = sizes,
			   .in = in,
			   .out = out,
			   .n = n,
			   .threads = threads,
			   .streaming = n >= sizes->streaming_bytes / in->lay.record_bytes,
			   .buckets_most = buckets };
	unsigned char *scratch = mem_array(m, threads, worker_bytes, "scratch", e);
	s.work = mem_array(m, threads, sizeof *s.work, "scratch", e);
	s.place = mem_array(m, (size_t)threads * buckets, sizeof *s.place, "places", e);
	s.start = mem_array(m, buckets + 1, sizeof *s.start, "places", e);
	s.sample = mem_array(m, 2 * SAMPLE_MAX, sizeof *s.sample, "sample", e);
	s.map_room = mem_array(m, 1, classifier_room_bytes(buckets), "map", e);
	status rc = ST_RESOURCE;
	if (scratch && s.work && s.place && s.start && s.sample && s.map_room)
		rc = in_buckets(&s, scratch, worker_bytes);
	mem_free(m, s.map_room);
	mem_free(m, s.sample);
	mem_free(m, s.start);
	mem_free(m, s.place);
	mem_free(m, s.work);
	mem_free(m, scratch);
	return rc;
}

/* Scratch, and, for buckets that are too large, copies, and entries or half of the records again.
 */
uint64_t short_sort_most_bytes(uint64_t n, unsigned threads, const bucket_sort_sizes *sizes)
{
	const uint64_t worker = workspace_bytes(BUCKETS_MAX, sizes->demand.cap) +
				sizeof(workspace) + BUCKETS_MAX * sizeof(uint64_t);
	return n * (sizeof(entry) + SHORT_MOST_BYTES) + 2 * worker * threads + (8 << 20);
}
