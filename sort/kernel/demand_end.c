/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code of demand_end: join the lists of the writers, and split buckets that are too large. */
#include "demand_state.h"
#include "base/arith.h"
#include "base/pool.h"
#include "gather.h"

/* Append a bucket to a list, which grows if it is full. */
static status demand_append(demand *d, demand_list *to, const demand_bucket *b, err *e)
{
	if (to->n == to->most) {
		const size_t most = to->most + to->most / 2 + BUCKETS_LEAST;
		demand_bucket *at = mem_array(d->m, most, sizeof *at, "buckets", e);
		if (!at)
			return ST_RESOURCE;
		if (to->n > 0)
			memcpy((void *)at, (const void *)to->at, to->n * sizeof *at);
		mem_free(d->m, to->at);
		*to = (demand_list){ at, to->n, most };
	}
	memcpy((void *)&to->at[to->n++], (const void *)b, sizeof *b);
	return ST_OK;
}

/* Join the lists of the writers for n buckets, and make *to the list of the buckets that are not
 * empty. of: the properties of each bucket; if not `each`, of all. */
static status demand_join(demand *d, uint32_t n, const classifier_bucket *of, bool each,
			  demand_list *to, err *e)
{
	chunk_stock stock = { &d->pool, CHUNK_NONE, e };
	status rc = ST_OK;
	*to = (demand_list){ mem_array(d->m, n, sizeof *to->at, "buckets", e), 0, n };
	if (!to->at)
		return ST_RESOURCE;
	for (unsigned i = 0; i < d->writers; i++) {
		if (d->writer[i].failed)
			rc = ST_RESOURCE;
		chunk_return(&d->writer[i].stock);
	}
	streaming_store_fence();
	for (uint32_t v = 0; v < n && rc == ST_OK; v++) {
		demand_bucket b = { .is = each ? of[v] : *of };
		rc = chunk_join(d->writer, d->writers, v, &stock, &b.list);
		if (rc == ST_OK && b.list.n > 0)
			rc = demand_append(d, to, &b, e);
	}
	chunk_return(&stock);
	return rc;
}

typedef struct demand_split {
	demand *d;
	const demand_bucket *from;
	uint32_t chunk;   /* the next chunk to read */
	uint64_t left;    /* numbers in this chunk and after it */
	atomic_flag busy; /* a spin lock for the two members above */
	bool by_number;   /* split by least and shift, not by the map */
	uint64_t least;
	unsigned shift;
	uint32_t buckets;
} demand_split;

enum { TAKE = 64 }; /* consecutive chunks at a time, so that ascending positions stay together */

/* Take the next chunks of a split. Return how many numbers they contain. */
static size_t demand_split_next(demand_split *s, uint32_t chunk[TAKE])
{
	size_t n = 0;
	spin_lock(&s->busy);
	for (unsigned i = 0; i < TAKE && s->left > 0; i++) {
		const size_t part = s->left % CHUNK_NUMBERS; /* above 0 only in the first chunk */
		chunk[i] = s->chunk;
		s->chunk = *chunk_next(&s->d->pool, s->chunk);
		n += part ? part : CHUNK_NUMBERS;
		s->left -= part ? part : CHUNK_NUMBERS;
	}
	spin_unlock(&s->busy);
	return n;
}

/* Find the new buckets of the numbers of a block by the new map, and replace the numbers by those
 * that the new buckets need. Count numbers that do not match their records. */
static void demand_split_by_map(const demand_split *s, uint64_t *block, size_t n, uint16_t *into)
{
	demand *d = s->d;
	const classifier_bucket *is = &s->from->is;
	const layout *l = &d->in.lay;
	size_t misfits = 0;
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(key_at(l, record_within(&d->in, d->count, block[i] & d->mask)));
	for (size_t i = 0; i < n; i++) {
		const uint64_t pos = demand_pos(d, block[i]);
		misfits += !classifier_fits(l, is, d->mask, block[i] ^ pos, record_at(&d->in, pos),
					    is->window.of);
		block[i] = pos;
	}
	classifier_block(
		&d->map,
		&(classifier_work){
			.in = &d->in, .at = block, .n = n, .bucket = into, .number = block });
	if (misfits)
		d->misfits += misfits;
}

/* Move numbers to their new buckets, some chunks at a time until none is left. */
static void demand_split_part(void *arg, unsigned worker)
{
	demand_split *s = arg;
	demand *d = s->d;
	chunk_writer *w = &d->writer[worker];
	uint64_t block[CLASSIFIER_BLOCK];
	uint16_t into[CLASSIFIER_BLOCK];
	uint32_t chunk[TAKE] = { 0 };
	unsigned i = 0;
	for (size_t left; (left = demand_split_next(s, chunk)) > 0; i = 0)
		for (size_t n; left > 0; left -= n) {
			const size_t part = left % CHUNK_NUMBERS;
			n = part ? part : CHUNK_NUMBERS;
			memcpy(block, chunk_at(&d->pool, chunk[i]), n * sizeof *block);
			chunk_put(&w->stock, chunk[i++]);
			if (!s->by_number)
				demand_split_by_map(s, block, n, into);
			for (size_t j = 0; s->by_number && j < n; j++) {
				const uint64_t v = block[j] > s->least ? block[j] - s->least : 0;
				into[j] = (uint16_t)u64_min(v >> s->shift, s->buckets - 1);
			}
			for (size_t j = n; j-- > 0;) /* last first, as in a list of chunks */
				chunk_write(w, into[j], block[j]);
		}
}

/* Find the least and the greatest number of a bucket. At depth 0, return the limits of possible
 * numbers instead, without reading the bucket. */
static void demand_range(const demand *d, const demand_bucket *b, unsigned depth, uint64_t *least,
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

/* Make the map that splits a bucket, from a sample of all its chunks. */
static status demand_map_bucket(demand *d, const demand_bucket *b, uint32_t want, err *e)
{
	const uint64_t chunks = chunks_of(b->list.n);
	const size_t n = classifier_sample_size(b->list.n, want);
	entry *sample = mem_array(d->m, 2 * n, sizeof *sample, "sample", e);
	if (!d->map.room)
		d->map.room = mem_array(d->m, 1,
					classifier_room_bytes(demand_buckets(&d->sizes, d->count)),
					"map", e);
	if (sample && d->map.room) {
		uint64_t x = b->list.n, k = 0;
		uint32_t chunk = b->list.first;
		for (size_t i = 0; i < n; i++) {
			for (const uint64_t to = chunks * i / n; k < to; k++)
				chunk = *chunk_next(&d->pool, chunk);
			const size_t part = k == 0 ? b->list.n % CHUNK_NUMBERS : 0;
			const uint64_t number = chunk_at(
				&d->pool, chunk)[splitmix(&x) % (part ? part : CHUNK_NUMBERS)];
			const uint64_t pos = demand_pos(d, number);
			sample[i] = entry_make(record_at(&d->in, pos), &d->in.lay, pos);
		}
		demand_map(d, &d->in, sample, n, want);
	}
	mem_free(d->m, sample);
	return sample && d->map.room ? ST_OK : ST_RESOURCE;
}

/* Split a large bucket into the list *to, which the caller frees. */
static status demand_split_bucket(demand *d, const demand_bucket *b, unsigned depth,
				  demand_list *to, err *e)
{
	const uint64_t n = b->list.n;
	const uint32_t want = demand_buckets(&d->sizes, n);
	const unsigned threads = (unsigned)u64_min(d->threads, n / d->sizes.bucket + 1);
	demand_split s = { .d = d,
			   .from = b,
			   .chunk = b->list.first,
			   .left = n,
			   .by_number = b->is.exact,
			   .buckets = want };
	status rc = ST_OK;
	atomic_flag_clear(&s.busy);
	*to = (demand_list){ 0 };
	if (s.by_number) {
		uint64_t most;
		demand_range(d, b, depth, &s.least, &most);
		while ((most - s.least) >> s.shift >= want)
			s.shift++;
	} else {
		rc = demand_map_bucket(d, b, want, e);
		s.buckets = d->map.buckets;
	}
	if (rc == ST_OK)
		rc = demand_writers_open(d, threads, s.buckets, e);
	for (unsigned i = 0; rc == ST_OK && i < threads; i++)
		d->writer[i].stock.e = e;
	if (rc == ST_OK) {
		pool_run(threads, demand_split_part, &s);
		rc = demand_join(d, s.buckets, s.by_number ? &b->is : d->map.bucket, !s.by_number,
				 to, e);
	}
	demand_writers_close(d);
	return rc;
}

/* Return whether number a precedes number b in the order of their records. */
static bool demand_precedes(const demand *d, uint64_t a, uint64_t b)
{
	if ((a | d->mask) != (b | d->mask))
		return a < b;
	const int c = key_compare(&d->in.lay, record_within(&d->in, d->count, a & d->mask),
				  record_within(&d->in, d->count, b & d->mask));
	return c ? c < 0 : a < b;
}

/* Sift `number` down in a heap of n numbers, from index i on. */
static void demand_sift(const demand *d, const uint32_t *chunk, uint64_t i, uint64_t n,
			uint64_t number)
{
	for (uint64_t k; (k = 2 * i + 1) < n; i = k) {
		k += k + 1 < n && demand_precedes(d, *demand_number_at(d, chunk, k),
						  *demand_number_at(d, chunk, k + 1));
		if (!demand_precedes(d, number, *demand_number_at(d, chunk, k)))
			break;
		*demand_number_at(d, chunk, i) = *demand_number_at(d, chunk, k);
	}
	*demand_number_at(d, chunk, i) = number;
}

/* Sort a bucket that is too large even after splits, and append pieces of it to the list of all
 * buckets. Heapsort needs no copy of the numbers, and its time is O(n log n) for any keys. */
static status demand_sort_in_place(demand *d, const demand_bucket *b, err *e)
{
	const uint64_t n = b->list.n, k = chunks_of(n);
	const uint64_t most = u64_max(d->sizes.cap / CHUNK_NUMBERS, 1);
	uint32_t *chunk = mem_array(d->m, k, sizeof *chunk, "chunks", e);
	status rc = chunk ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		chunk_list_order(&d->pool, &b->list, chunk);
		for (uint64_t i = n / 2; i-- > 0;)
			demand_sift(d, chunk, i, n, *demand_number_at(d, chunk, i));
		for (uint64_t i = n; i-- > 1;) {
			const uint64_t last = *demand_number_at(d, chunk, i);
			*demand_number_at(d, chunk, i) = *demand_number_at(d, chunk, 0);
			demand_sift(d, chunk, 0, i, last);
		}
	}
	for (uint64_t i = 0, end; i < k && rc == ST_OK; i = end) {
		end = u64_min(i + most, k);
		demand_bucket piece = { .is = b->is,
					.start = b->start + i * CHUNK_NUMBERS,
					.list = { chunk[end - 1], (end - i) * CHUNK_NUMBERS },
					.state = SORTED };
		if (end == k)
			piece.list.n = n - i * CHUNK_NUMBERS;
		rc = demand_append(d, &d->all, &piece, e);
	}
	mem_free(d->m, chunk);
	return rc;
}

/* Append a bucket, whose first record is at `place`, to the list of all buckets. If it is too
 * large, split it first. depth: how many splits have led to it. */
static status demand_place(demand *d, demand_bucket *b, uint64_t place, unsigned depth, err *e)
{
	demand_list parts;
	b->start = place;
	if (b->list.n <= d->sizes.cap)
		return demand_append(d, &d->all, b, e);
	if (!b->is.exact && depth >= d->sizes.depth)
		return demand_sort_in_place(d, b, e);
	status rc = demand_split_bucket(d, b, depth, &parts, e);
	for (size_t i = 0; i < parts.n && rc == ST_OK; i++) {
		const bool by_number = b->is.exact, first = parts.at[i].is.exact && !by_number;
		rc = demand_place(d, &parts.at[i], place, first ? 0 : depth + 1, e);
		place += parts.at[i].list.n;
	}
	mem_free(d->m, parts.at);
	return rc;
}

status demand_end(demand *d, err *e)
{
	demand_list parts;
	const bool each = d->map.room;
	status rc = demand_join(d, each ? d->map.buckets : 1, each ? d->map.bucket : &d->whole,
				each, &parts, e);
	demand_writers_close(d);
	for (size_t i = 0; i < parts.n; i++)
		d->count += parts.at[i].list.n;
	uint64_t place = 0;
	for (size_t i = 0; i < parts.n && rc == ST_OK; i++) {
		rc = demand_place(d, &parts.at[i], place, 0, e);
		place += parts.at[i].list.n;
	}
	mem_free(d->m, parts.at);
	mem_free(d->m, d->map.room);
	d->map.room = NULL;
	return rc == ST_OK ? gather_misfits(d->misfits, e) : rc;
}
