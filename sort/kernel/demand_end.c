/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of adding: the writers' lists are joined, and buckets that are too large are split. */
#include "demand_state.h"
#include "base/minmax.h"
#include "base/pool.h"
#include "gather.h"
#include "streaming_store.h"

#include <sched.h>

/* Append a bucket; the list grows if it is full. */
static status append(demand *d, bucket_array *to, const bucket *b, err *e)
{
	if (to->n == to->most) {
		const size_t most = to->most + to->most / 2 + BUCKETS_LEAST;
		bucket *at = mem_array(d->m, most, sizeof *at, "buckets", e);
		if (!at)
			return ST_RESOURCE;
		if (to->n > 0)
			memcpy((void *)at, (const void *)to->at, to->n * sizeof *at);
		mem_free(d->m, to->at);
		*to = (bucket_array){ at, to->n, most };
	}
	memcpy((void *)&to->at[to->n++], (const void *)b, sizeof *b);
	return ST_OK;
}

/* Join the writers' lists of `n` buckets, in order. of: the properties of each bucket, or of all.
 */
static status join(demand *d, unsigned writers, uint32_t n, const classifier_bucket *of, bool each,
		   bucket_array *to, err *e)
{
	chunk_stock stock = { &d->pool, CHUNK_NONE, e };
	status rc = ST_OK;
	*to = (bucket_array){ mem_array(d->m, n, sizeof *to->at, "buckets", e), 0, n };
	if (!to->at)
		return ST_RESOURCE;
	for (unsigned i = 0; i < writers; i++) {
		if (d->writer[i].failed)
			rc = ST_RESOURCE;
		chunk_return(&d->writer[i].stock);
	}
	streaming_store_fence();
	for (uint32_t v = 0; v < n && rc == ST_OK; v++) {
		bucket b = { .is = each ? of[v] : *of };
		rc = chunk_join(d->writer, writers, v, &stock, &b.list);
		if (rc == ST_OK && b.list.n > 0)
			rc = append(d, to, &b, e);
	}
	chunk_return(&stock);
	return rc;
}

typedef struct split {
	demand *d;
	const bucket *from;
	uint32_t chunk;   /* the next chunk to read, */
	uint64_t left;    /* and the numbers from there on */
	atomic_flag busy; /* the thread that sets it may take chunks */
	bool by_number;   /* split by the next two members, not by the map */
	uint64_t least;
	unsigned shift;
	uint32_t buckets;
} split;

enum { TAKE = 64 }; /* consecutive chunks, so that ascending positions stay together */

/* Take the next chunks of a split; return the number of their numbers. */
static size_t split_next(split *s, uint32_t chunk[TAKE])
{
	size_t n = 0;
	while (atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire))
		(void)sched_yield();
	for (unsigned i = 0; i < TAKE && s->left > 0; i++) {
		const size_t part = s->left % CHUNK_NUMBERS; /* above 0 in the first one only */
		chunk[i] = s->chunk;
		s->chunk = *chunk_next(&s->d->pool, s->chunk);
		n += part ? part : CHUNK_NUMBERS;
		s->left -= part ? part : CHUNK_NUMBERS;
	}
	atomic_flag_clear_explicit(&s->busy, memory_order_release);
	return n;
}

/* Split the numbers of a block by the new map, except those that do not match their records. */
static void split_by_map(const split *s, uint64_t *block, size_t n, uint16_t *into)
{
	demand *d = s->d;
	const classifier_bucket *is = &s->from->is;
	const layout *l = &d->in.lay;
	size_t misfits = 0;
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(key_at(l, record_within(&d->in, d->count, block[i] & d->mask)));
	for (size_t i = 0; i < n; i++) {
		const uint64_t pos = (block[i] & d->mask) < d->count ? block[i] & d->mask : 0;
		misfits += !classifier_fits(l, is, d->mask, block[i], record_at(&d->in, pos), pos,
					    is->window.of);
		block[i] = pos;
	}
	classifier_block(&d->map, &d->in, 0, block, n, into, block);
	if (misfits)
		d->misfits += misfits;
}

static void split_part(void *arg, unsigned worker)
{
	split *s = arg;
	demand *d = s->d;
	chunk_writer *w = &d->writer[worker];
	uint64_t block[CLASSIFIER_BLOCK];
	uint16_t into[CLASSIFIER_BLOCK];
	uint32_t chunk[TAKE];
	unsigned i = 0;
	for (size_t left; (left = split_next(s, chunk)) > 0; i = 0)
		for (size_t n; left > 0; left -= n) {
			const size_t part = left % CHUNK_NUMBERS;
			n = part ? part : CHUNK_NUMBERS;
			memcpy(block, chunk_at(&d->pool, chunk[i]), n * sizeof *block);
			chunk_put(&w->stock, chunk[i++]);
			if (!s->by_number)
				split_by_map(s, block, n, into);
			for (size_t j = 0; s->by_number && j < n; j++) {
				const uint64_t v = block[j] > s->least ? block[j] - s->least : 0;
				into[j] = (uint16_t)u64_min(v >> s->shift, s->buckets - 1);
			}
			for (size_t j = n; j-- > 0;) /* in the order of the chunks: last first */
				chunk_write(w, into[j], block[j]);
		}
}

/* Find the least and greatest number of a bucket; at first, the least and greatest possible ones.
 */
static void number_range(const demand *d, const bucket *b, unsigned depth, uint64_t *least,
			 uint64_t *most)
{
	*least = 0;
	*most = b->is.same ? d->count - 1 : b->is.limit << b->is.norm | d->mask;
	if (depth == 0)
		return;
	uint32_t chunk = b->list.first;
	size_t n = b->list.n % CHUNK_NUMBERS;
	*least = UINT64_MAX;
	*most = 0;
	for (uint64_t k = chunks_of(b->list.n); k-- > 0; chunk = *chunk_next(&d->pool, chunk)) {
		const uint64_t *at = chunk_at(&d->pool, chunk);
		for (size_t i = 0, end = n ? n : CHUNK_NUMBERS; i < end; i++) {
			*least = u64_min(*least, at[i]);
			*most = u64_max(*most, at[i]);
		}
		n = 0;
	}
}

/* Make the map from a sample of all chunks of a bucket. */
static status map_again(demand *d, const bucket *b, uint32_t want, err *e)
{
	const uint64_t chunks = chunks_of(b->list.n);
	const size_t n = classifier_sample_size(b->list.n, want);
	entry *sample = mem_array(d->m, 2 * n, sizeof *sample, "sample", e);
	if (!d->map_room)
		d->map_room = mem_array(d->m, 1,
					classifier_room_bytes(demand_buckets(&d->sizes, d->count)),
					"map", e);
	if (sample && d->map_room) {
		uint64_t x = b->list.n, k = 0;
		uint32_t chunk = b->list.first;
		for (size_t i = 0; i < n; i++) {
			for (const uint64_t to = chunks * i / n; k < to; k++)
				chunk = *chunk_next(&d->pool, chunk);
			const size_t part = k == 0 ? b->list.n % CHUNK_NUMBERS : 0;
			x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			const uint64_t number = chunk_at(
				&d->pool, chunk)[(x >> 33) % (part ? part : CHUNK_NUMBERS)];
			const uint64_t pos = (number & d->mask) < d->count ? number & d->mask : 0;
			sample[i] = entry_make(record_at(&d->in, pos), &d->in.lay, pos);
		}
		demand_map(d, &d->in, sample, n, want);
	}
	mem_free(d->m, sample);
	return sample && d->map_room ? ST_OK : ST_RESOURCE;
}

/* Split a large bucket. */
static status split_bucket(demand *d, const bucket *b, unsigned depth, bucket_array *to, err *e)
{
	const uint64_t n = b->list.n;
	const uint32_t want = demand_buckets(&d->sizes, n);
	const unsigned threads = (unsigned)u64_min(d->threads, n / d->sizes.bucket + 1);
	split s = { .d = d,
		    .from = b,
		    .chunk = b->list.first,
		    .left = n,
		    .by_number = b->is.exact,
		    .buckets = want };
	status rc = ST_OK;
	atomic_flag_clear(&s.busy);
	*to = (bucket_array){ 0 };
	if (s.by_number) {
		uint64_t most;
		number_range(d, b, depth, &s.least, &most);
		while ((most - s.least) >> s.shift >= want)
			s.shift++;
	} else {
		rc = map_again(d, b, want, e);
		s.buckets = d->map.buckets;
	}
	if (rc == ST_OK)
		rc = demand_writers_open(d, threads, s.buckets, e);
	for (unsigned i = 0; rc == ST_OK && i < threads; i++)
		d->writer[i].stock.e = e;
	if (rc == ST_OK) {
		pool_run(threads, split_part, &s);
		rc = join(d, threads, s.buckets, s.by_number ? &b->is : d->map.bucket, !s.by_number,
			  to, e);
	}
	demand_writers_close(d);
	return rc;
}

static bool precedes(const demand *d, uint64_t a, uint64_t b)
{
	if ((a | d->mask) != (b | d->mask))
		return a < b;
	const int c = key_compare(&d->in.lay, record_within(&d->in, d->count, a & d->mask),
				  record_within(&d->in, d->count, b & d->mask));
	return c ? c < 0 : a < b;
}

/* Put x where it belongs in a heap of n numbers, from place i down. */
static void sift(const numbers *x, uint64_t i, uint64_t n, uint64_t number)
{
	for (uint64_t k; (k = 2 * i + 1) < n; i = k) {
		k += k + 1 < n && precedes(x->d, *number_at(x, k), *number_at(x, k + 1));
		if (!precedes(x->d, number, *number_at(x, k)))
			break;
		*number_at(x, i) = *number_at(x, k);
	}
	*number_at(x, i) = number;
}

/* If splits do not help, sort a bucket by heapsort, which needs no memory and is never slow, and
 * then cut it into buckets. */
static status sort_in_place(demand *d, const bucket *b, err *e)
{
	const uint64_t n = b->list.n, k = chunks_of(n);
	const uint64_t most = u64_max(d->sizes.cap / CHUNK_NUMBERS, 1);
	uint32_t *chunk = mem_array(d->m, k, sizeof *chunk, "chunks", e);
	const numbers x = { d, chunk };
	status rc = chunk ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		chunk_list_order(&d->pool, &b->list, chunk);
		for (uint64_t i = n / 2; i-- > 0;)
			sift(&x, i, n, *number_at(&x, i));
		for (uint64_t i = n; i-- > 1;) {
			const uint64_t last = *number_at(&x, i);
			*number_at(&x, i) = *number_at(&x, 0);
			sift(&x, 0, i, last);
		}
	}
	for (uint64_t i = 0, end; i < k && rc == ST_OK; i = end) {
		end = u64_min(i + most, k);
		bucket piece = { .is = b->is,
				 .start = b->start + i * CHUNK_NUMBERS,
				 .list = { chunk[end - 1], (end - i) * CHUNK_NUMBERS },
				 .state = SORTED };
		if (end == k)
			piece.list.n = n - i * CHUNK_NUMBERS;
		rc = append(d, &d->all, &piece, e);
	}
	mem_free(d->m, chunk);
	return rc;
}

/* Put a bucket at a place into the list of all buckets, split if it is too large. */
static status place_bucket(demand *d, bucket *b, uint64_t place, unsigned depth, err *e)
{
	bucket_array parts;
	b->start = place;
	if (b->list.n <= d->sizes.cap)
		return append(d, &d->all, b, e);
	if (!b->is.exact && depth >= d->sizes.depth)
		return sort_in_place(d, b, e);
	status rc = split_bucket(d, b, depth, &parts, e);
	for (size_t i = 0; i < parts.n && rc == ST_OK; i++) {
		const bool by_number = b->is.exact, first = parts.at[i].is.exact && !by_number;
		rc = place_bucket(d, &parts.at[i], place, first ? 0 : depth + 1, e);
		place += parts.at[i].list.n;
	}
	mem_free(d->m, parts.at);
	return rc;
}

status demand_end(demand *d, err *e)
{
	bucket_array parts;
	const bool each = d->map_room;
	status rc = join(d, d->lanes, each ? d->map.buckets : 1, each ? d->map.bucket : &d->whole,
			 each, &parts, e);
	demand_writers_close(d);
	for (size_t i = 0; i < parts.n; i++)
		d->count += parts.at[i].list.n;
	uint64_t place = 0;
	for (size_t i = 0; i < parts.n && rc == ST_OK; i++) {
		rc = place_bucket(d, &parts.at[i], place, 0, e);
		place += parts.at[i].list.n;
	}
	mem_free(d->m, parts.at);
	mem_free(d->m, d->map_room);
	d->map_room = NULL;
	return rc == ST_OK ? gather_misfits(d->misfits, e) : rc;
}
