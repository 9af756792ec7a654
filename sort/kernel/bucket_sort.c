/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records in memory. A sample gives a classifier from keys to some thousand buckets; all
 * threads read the keys once and write 8-byte numbers (bits of the key, position) to the buckets;
 * then each takes bucket after bucket, sorts its numbers in the cache and gathers its records to
 * their place. A bucket that is far too large is split again by all threads.
 *
 * The numbers need no memory of their own: they lie at the end of the output, which is written from
 * the front. When writing reaches them, the few buckets that are left move to a small array.
 *
 * Where only the order of the records is wanted, the same room holds the numbers, and what a bucket
 * takes while it is sorted. */
#include "bucket_sort.h"
#include "base/minmax.h"
#include "bucket.h"
#include "bucket_lists.h"
#include "gather.h"
#include "classifier.h"
#include "presorted.h"
#include "streaming_store.h"
#include "base/pool.h"
#include "radix.h"
#include "short_sort.h"
#include "word_sort.h"

#include <stdatomic.h>

enum { PIECE = 8192 };

const bucket_sort_sizes BUCKET_SORT_SIZES = { .simple = 16384,
					      .bucket = 8000,
					      .cap = 32768,
					      .large_nth = 64,
					      .depth = 6,
					      .streaming_bytes = 8 << 20 };

/* Scratch of one worker. */
typedef struct bucket_workspace {
	lane *lanes;
	uint64_t *lines;
	uint64_t *a, *tmp;
} bucket_workspace;

typedef struct sorter {
	bucket_ctx c;
	mem *m;
	err *e;
	const bucket_sort_sizes *sizes;
	size_t n;
	unsigned threads, pos_bits;
	uint32_t buckets_max;
	bucket_workspace *workspaces; /* one a thread */
	entry *sample;                /* and as many for sorting it */
	classifier_room *map_room;
} sorter;

/* One split: the records whose numbers `from` gives (or all of the input), to be sorted to the
 * places from start on. */
typedef struct bucket_split {
	sorter *s;
	bool whole;
	bucket_cursor from;
	uint64_t start, n;
	unsigned depth;
	classifier map;
	bucket_lists chunks;
	bucket *pieces; /* what from is cut into for the threads */
	size_t n_pieces;
	bucket *buckets;
	size_t n_buckets, most_buckets;
	_Atomic size_t next; /* work to be taken */
	size_t end;
	uint64_t *moved; /* numbers copied out of the output, before it is written there */
	uint64_t n_moved;
	_Atomic bool falling;
} bucket_split;

static status sort_split(bucket_split *p);

/* --------------------------------------------------------------------------------- sample */

static size_t sample_numbers(const bucket_split *p, size_t want)
{
	const sorter *s = p->s;
	const records *in = s->c.in;
	const uint64_t *at;
	bucket_cursor r = p->from;
	uint64_t seen = 0;
	size_t got = 0;
	for (size_t n; got < want && (n = bucket_lists_next(&r, &at)) > 0; seen += n)
		for (uint64_t i; got < want && (i = p->n * got / want) < seen + n; got++) {
			const uint64_t pos = at[i - seen] & s->c.pos_mask;
			s->sample[got] = entry_make(record_at(in, pos), &in->lay, pos);
		}
	return got;
}

static void make_map(bucket_split *p, uint32_t buckets)
{
	const sorter *s = p->s;
	const size_t got = p->whole ? classifier_sample(s->c.in, p->n, buckets, s->sample)
				    : sample_numbers(p, classifier_sample_size(p->n, buckets));
	radix_sort(s->sample, s->sample + got, got, s->c.in);
	classifier_make(&p->map, s->c.in, s->sample, got, s->pos_bits, buckets, s->map_room);
}

/* -------------------------------------------------------------------------------- scatter */

static void put_range(const bucket_split *p, bucket_writer *w, uint64_t from, uint64_t to)
{
	const records *in = p->s->c.in;
	const size_t bytes = in->lay.record_bytes;
	uint16_t into[CLASSIFIER_BLOCK];
	uint64_t number[CLASSIFIER_BLOCK];
	for (uint64_t i = from; i < to; i += CLASSIFIER_BLOCK) {
		const size_t n = u64_min(to - i, CLASSIFIER_BLOCK);
		/* of the next block, if there is one */
		uintptr_t next =
			(uintptr_t)key_at(&in->lay, record_at(in, i)) + CLASSIFIER_BLOCK * bytes;
		classifier_block(&p->map, in, i, NULL, n, into, number);
		for (size_t k = 0; k < n; k++, next += bytes) {
			__builtin_prefetch((const void *)next);
			bucket_lists_put(w, into[k], number[k]);
		}
	}
}

static void put_numbers(const bucket_split *p, bucket_writer *w, bucket_cursor r)
{
	const records *in = p->s->c.in;
	const uint64_t mask = p->s->c.pos_mask;
	uint16_t into[CLASSIFIER_BLOCK];
	uint64_t number[CLASSIFIER_BLOCK];
	const uint64_t *at;
	for (size_t n; (n = bucket_lists_next(&r, &at)) > 0;)
		for (size_t i = 0, k; i < n; i += k) {
			k = size_min(n - i, CLASSIFIER_BLOCK);
			for (size_t j = 0; j < k; j++)
				__builtin_prefetch(
					key_at(&in->lay, record_at(in, at[i + j] & mask)));
			classifier_block(&p->map, in, 0, at + i, k, into, number);
			for (size_t j = 0; j < k; j++)
				bucket_lists_put(w, into[j], number[j]);
		}
}

static void scatter_parts(void *arg, unsigned worker)
{
	bucket_split *p = arg;
	bucket_workspace *own = &p->s->workspaces[worker];
	const uint32_t parts = p->chunks.parts;
	for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < parts;) {
		bucket_writer w;
		bucket_lists_begin(&w, &p->chunks, (uint32_t)i, own->lanes, own->lines);
		if (p->whole)
			put_range(p, &w, p->n * i / parts, p->n * (i + 1) / parts);
		for (size_t k = p->n_pieces * i / parts; k < p->n_pieces * (i + 1) / parts; k++)
			put_numbers(p, &w, p->pieces[k].numbers);
		bucket_lists_end(&w);
	}
}

static void run(bucket_split *p, pool_work *work, size_t begin, size_t end)
{
	p->next = begin;
	p->end = end;
	pool_run(p->s->threads, work, p);
}

/* Room for chunks at the end of this split's places. */
static status chunks_begin(bucket_split *p, uint32_t parts)
{
	const sorter *s = p->s;
	bucket_lists *k = &p->chunks;
	k->parts = parts;
	k->buckets = p->map.buckets;
	k->most = (uint32_t)bucket_lists_chunks(p->n, parts, k->buckets);
	k->next = mem_array(s->m, k->most, sizeof *k->next, "chunks", s->e);
	k->lists = mem_array(s->m, (size_t)parts * k->buckets, sizeof *k->lists, "lists", s->e);
	unsigned char *end = s->c.room + (p->start + p->n) * s->c.stride;
	end -= (size_t)k->most * CHUNK_NUMBERS * sizeof *k->base;
	k->base = (uint64_t *)(void *)(end - (uintptr_t)end % 64);
	return k->next && k->lists ? ST_OK : ST_RESOURCE;
}

/* The most buckets whose chunks fit into half of the room of n records. */
static uint32_t buckets_fit(const sorter *s, uint64_t n, uint32_t parts)
{
	const uint64_t chunk_bytes = CHUNK_NUMBERS * sizeof(uint64_t);
	const uint64_t half = n * s->c.stride / 2, numbers = n * sizeof(uint64_t) + 64;
	const uint64_t lists = half > numbers ? (half - numbers) / chunk_bytes / parts : 0;
	const uint64_t b = lists > CHUNK_BATCH + 1 ? lists - CHUNK_BATCH - 1 : 0;
	return (uint32_t)u64_min(u64_min(b, n / s->sizes->bucket + BUCKETS_LEAST), s->buckets_max);
}

/* -------------------------------------------------------------------------------- buckets */

static void check_rise(void *arg, unsigned worker)
{
	bucket_split *p = arg;
	(void)worker;
	for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->end && !p->falling;) {
		bucket *b = &p->buckets[i];
		if (!bucket_rises(b->numbers, &b->first, &b->last))
			p->falling = true;
	}
}

/* Cut b into pieces at p->buckets + at; returns how many. */
static size_t cut(const bucket *b, bucket *to)
{
	bucket_cursor r = b->numbers;
	uint64_t start = b->start;
	size_t k = 0;
	for (; start < b->start + b->n; k++) {
		to[k] = *b;
		to[k].numbers = bucket_lists_cut(&r, PIECE);
		to[k].start = start;
		to[k].n = to[k].numbers.n;
		start += to[k].n;
	}
	return k;
}

/* Whether the n pieces of a bucket ascend: each by itself, and from one to the next. */
static bool pieces_rise(bucket_split *p, size_t first, size_t n)
{
	p->falling = false;
	run(p, check_rise, first, first + n);
	bool rise = !p->falling;
	for (size_t i = first + 1; rise && i < first + n; i++)
		rise = p->buckets[i].first > p->buckets[i - 1].last;
	return rise;
}

static bool is_large(const bucket_split *p, uint64_t n)
{
	const sorter *s = p->s;
	return n > s->sizes->cap && n > s->n / s->sizes->large_nth && p->depth < s->sizes->depth &&
	       buckets_fit(s, n, 1) >= BUCKETS_LEAST;
}

static status list_buckets(bucket_split *p)
{
	const sorter *s = p->s;
	uint64_t start = p->start;
	p->most_buckets = p->map.buckets + p->n / PIECE + 1;
	p->buckets = mem_array(s->m, p->most_buckets, sizeof *p->buckets, "buckets", s->e);
	if (!p->buckets)
		return ST_RESOURCE;
	for (uint32_t v = 0; v < p->map.buckets; v++) {
		bucket b = { .numbers = bucket_lists_cursor(&p->chunks, v), .start = start };
		b.n = b.numbers.n;
		b.exact = p->map.exact[v];
		b.sorted = p->map.same[v]; /* as it was written in the order of the input */
		start += b.n;
		if (b.n == 0)
			continue;
		b.large = is_large(p, b.n);
		if (b.large && b.exact) {
			const size_t k = cut(&b, p->buckets + p->n_buckets);
			if (b.sorted || pieces_rise(p, p->n_buckets, k)) {
				for (size_t i = 0; i < k; i++) {
					p->buckets[p->n_buckets + i].sorted = true;
					p->buckets[p->n_buckets + i].large = false;
				}
				p->n_buckets += k;
				continue;
			}
		}
		p->buckets[p->n_buckets++] = b;
	}
	return ST_OK;
}

static void sort_buckets(void *arg, unsigned worker)
{
	bucket_split *p = arg;
	const bucket_workspace *own = &p->s->workspaces[worker];
	for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->end;)
		if (!p->buckets[i].large)
			bucket_finish(&p->s->c, &p->buckets[i], own->a, own->tmp);
}

static void move_buckets(void *arg, unsigned worker)
{
	bucket_split *p = arg;
	(void)worker;
	const uint64_t from = p->start + p->n - p->n_moved;
	for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->end;) {
		bucket *b = &p->buckets[i];
		uint64_t *to = p->moved + (b->start - from);
		const uint64_t *at;
		for (size_t n, done = 0; (n = bucket_lists_next(&b->numbers, &at)) > 0; done += n)
			memcpy(to + done, at, n * sizeof *to);
		b->numbers = (bucket_cursor){ .flat = to, .n = b->n };
	}
}

/* Buckets [begin, end): those for one thread each, then the large ones, each by all threads. */
static status finish_buckets(bucket_split *p, size_t begin, size_t end)
{
	status rc = ST_OK;
	run(p, sort_buckets, begin, end);
	for (size_t i = begin; i < end && rc == ST_OK; i++) {
		const bucket *b = &p->buckets[i];
		bucket_split part = { .s = p->s,
				      .from = b->numbers,
				      .start = b->start,
				      .n = b->n,
				      .depth = p->depth + 1 };
		if (b->large)
			rc = sort_split(&part);
	}
	return rc;
}

/* The places of the buckets from `first` on overlap the chunks: their numbers are copied first. */
static status move_rest(bucket_split *p, size_t first)
{
	const sorter *s = p->s;
	if (first == p->n_buckets)
		return ST_OK;
	p->n_moved = p->start + p->n - p->buckets[first].start;
	p->moved = mem_array(s->m, p->n_moved, sizeof *p->moved, "numbers", s->e);
	if (!p->moved)
		return ST_RESOURCE;
	run(p, move_buckets, first, p->n_buckets);
	return finish_buckets(p, first, p->n_buckets);
}

static size_t first_in_chunks(const bucket_split *p)
{
	const sorter *s = p->s;
	const uint64_t free = (uint64_t)((unsigned char *)p->chunks.base - s->c.room) / s->c.stride;
	size_t i = 0;
	while (i < p->n_buckets && p->buckets[i].start + p->buckets[i].n <= free)
		i++;
	return i;
}

static status cut_source(bucket_split *p)
{
	const sorter *s = p->s;
	const bucket all = { .numbers = p->from, .n = p->n };
	if (p->whole)
		return ST_OK;
	p->pieces = mem_array(s->m, p->n / CHUNK_NUMBERS + p->n / PIECE + 1, sizeof *p->pieces,
			      "pieces", s->e);
	if (!p->pieces)
		return ST_RESOURCE;
	p->n_pieces = cut(&all, p->pieces);
	return ST_OK;
}

static status sort_split(bucket_split *p)
{
	sorter *s = p->s;
	uint32_t parts = s->threads, b;
	while ((b = buckets_fit(s, p->n, parts)) < BUCKETS_LEAST && parts > 1)
		parts /= 2;
	make_map(p, b);
	status rc = cut_source(p);
	if (rc == ST_OK)
		rc = chunks_begin(p, parts);
	if (rc == ST_OK) {
		run(p, scatter_parts, 0, parts);
		rc = list_buckets(p);
	}
	if (rc == ST_OK) {
		const size_t first = first_in_chunks(p);
		rc = finish_buckets(p, 0, first);
		if (rc == ST_OK)
			rc = move_rest(p, first);
	}
	mem_free(s->m, p->moved);
	mem_free(s->m, p->buckets);
	mem_free(s->m, p->pieces);
	mem_free(s->m, p->chunks.next);
	mem_free(s->m, p->chunks.lists);
	return rc;
}

/* ----------------------------------------------------------------------------------- sort */

static status simple(mem *m, const records *in, size_t n, unsigned char *out, const permutation *to,
		     err *e)
{
	entry *order = mem_array(m, n, sizeof *order, "entries", e);
	entry *tmp = mem_array(m, n, sizeof *tmp, "entries", e);
	status rc = order && tmp ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		for (size_t i = 0; i < n; i++)
			order[i] = entry_make(record_at(in, i), &in->lay, i);
		radix_sort(order, tmp, n, in);
		if (to && n > 0)
			permutation_put(to, 0, &order->lo, sizeof *order / sizeof order->lo,
					POS_MASK, n);
		else
			rc = gather_misfits(gather(in, order, n, 0, out), e);
	}
	mem_free(m, order);
	mem_free(m, tmp);
	return rc;
}

/* All scratch of the threads in one array. */
static size_t workspace_bytes(const sorter *s)
{
	return s->buckets_max * (sizeof(lane) + LINE_NUMBERS * sizeof(uint64_t)) +
	       2 * s->sizes->cap * sizeof(uint64_t) + 64;
}

static void place_workspaces(sorter *s, unsigned char *at)
{
	for (unsigned i = 0; i < s->threads; i++) {
		bucket_workspace *b = &s->workspaces[i];
		at += -(uintptr_t)at % 64;
		b->lines = (uint64_t *)(void *)at;
		b->a = b->lines + (size_t)s->buckets_max * LINE_NUMBERS;
		b->tmp = b->a + s->sizes->cap;
		b->lanes = (lane *)(void *)(b->tmp + s->sizes->cap);
		at = (unsigned char *)(b->lanes + s->buckets_max);
	}
}

static status by_buckets(sorter *s)
{
	mem *m = s->m;
	const size_t bytes = workspace_bytes(s) * s->threads + 64;
	unsigned char *scratch = mem_array(m, bytes, 1, "scratch", s->e);
	s->workspaces = mem_array(m, s->threads, sizeof *s->workspaces, "scratch", s->e);
	s->sample = mem_array(m, 2 * SAMPLE_MAX, sizeof *s->sample, "sample", s->e);
	s->map_room = mem_array(m, 1, sizeof *s->map_room, "map", s->e);
	status rc = ST_RESOURCE;
	if (scratch && s->workspaces && s->sample && s->map_room) {
		bucket_split all = { .s = s, .whole = true, .n = s->n };
		place_workspaces(s, scratch);
		rc = sort_split(&all);
	}
	mem_free(m, s->map_room);
	mem_free(m, s->sample);
	mem_free(m, s->workspaces);
	mem_free(m, scratch);
	return rc;
}

/* All of the context but what follows from the number of records. */
static status sort_with(mem *m, const bucket_ctx *c, size_t n, unsigned threads,
			const bucket_sort_sizes *sizes, err *e)
{
	sorter s = { .c = *c, .m = m, .e = e, .sizes = sizes, .n = n, .threads = threads };
	while (n >> s.pos_bits)
		s.pos_bits++;
	s.c.pos_mask = (UINT64_C(1) << s.pos_bits) - 1;
	s.buckets_max = (uint32_t)u64_min(n / sizes->bucket + BUCKETS_LEAST, BUCKETS_MAX);
	if (s.buckets_max < BUCKETS_LEAST || buckets_fit(&s, n, 1) < BUCKETS_LEAST)
		return simple(m, c->in, n, c->out, c->order, e);
	return by_buckets(&s);
}

status bucket_sort_sized(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
			 const bucket_sort_sizes *sizes, err *e)
{
	const uint32_t bytes = in->lay.record_bytes;
	if (n <= sizes->simple || bytes < KEY_WINDOW_BYTES)
		return simple(m, in, n, out, NULL, e);
	if (presorted_sort(in, n, out, threads))
		return ST_OK;
	if (word_sort_fits(&in->lay, out))
		return word_sort(m, in, n, out, threads, e);
	if (bytes <= SHORT_MOST_BYTES)
		return short_sort(m, in, n, out, threads, sizes, e);
	const bucket_ctx c = { .in = in,
			       .out = out,
			       .room = out,
			       .stride = bytes,
			       .cap = sizes->cap,
			       .streaming = bytes <= STREAMING_MOST_BYTES &&
					    n >= sizes->streaming_bytes / bytes };
	return sort_with(m, &c, n, threads, sizes, e);
}

status bucket_sort_order(mem *m, size_t n, unsigned char *room, uint64_t room_bytes,
			 const permutation *order, unsigned threads, const bucket_sort_sizes *sizes,
			 err *e)
{
	const records *in = &order->r;
	unsigned char *own = NULL;
	if (n <= sizes->simple || in->lay.record_bytes < KEY_WINDOW_BYTES)
		return simple(m, in, n, NULL, order, e);
	if (room_bytes / n < ROOM_BYTES) {
		room = own = mem_array(m, n, ROOM_BYTES, "numbers", e);
		room_bytes = n * ROOM_BYTES;
	}
	const bucket_ctx c = { .in = in,
			       .room = room,
			       .stride = (size_t)(room_bytes / n),
			       .cap = sizes->cap,
			       .order = order };
	const status rc = room ? sort_with(m, &c, n, threads, sizes, e) : ST_RESOURCE;
	mem_free(m, own);
	return rc;
}

/* Few records are sorted as entries. Otherwise: scratch of the
 * threads; maps, lists and pieces of each split; the numbers that are copied out of the output. */
uint64_t bucket_sort_most_bytes(const layout *l, uint64_t n, unsigned threads)
{
	const uint64_t mib = 1 << 20, splits = BUCKET_SORT_SIZES.depth;
	if (n <= BUCKET_SORT_SIZES.simple || l->record_bytes < KEY_WINDOW_BYTES)
		return 2 * n * sizeof(entry);
	if (l->record_bytes <= SHORT_MOST_BYTES)
		return short_sort_most_bytes(n, threads, &BUCKET_SORT_SIZES);
	return n * sizeof(uint64_t) + splits * (n / 2 + mib) + 3 * mib * (threads + 1);
}

uint64_t bucket_sort_order_most_bytes(const layout *l, uint64_t n, uint64_t room_bytes,
				      unsigned threads)
{
	const uint64_t mib = 1 << 20, splits = BUCKET_SORT_SIZES.depth;
	if (n <= BUCKET_SORT_SIZES.simple || l->record_bytes < KEY_WINDOW_BYTES)
		return 2 * n * sizeof(entry);
	return (room_bytes / n < ROOM_BYTES ? n * ROOM_BYTES : 0) + n * sizeof(uint64_t) +
	       splits * (n / 2 + mib) + 3 * mib * (threads + 1);
}

status bucket_sort_records(mem *m, const records *in, size_t n, unsigned char *out,
			   unsigned threads, err *e)
{
	return bucket_sort_sized(m, in, n, out, threads, &BUCKET_SORT_SIZES, e);
}
