/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting on demand.
 *
 * A number represents a record: it has bits of the record's key above the record's position. The
 * bucket of the number determines which bits of the key these are.
 *
 * Adding. A classifier, made from the sample, maps keys to buckets. Each lane has its own list for
 * each bucket, and only the thread that uses the lane writes to it. Lanes share only the pool of
 * chunks, which has a lock.
 *
 * Ending. One thread joins the lists of all lanes, bucket by bucket. The key determines the bucket
 * of a number, and the position is part of the number. So the result does not depend on the order
 * in which records were added. All threads together split a bucket of more than `cap` numbers, by
 * another classifier, made from a sample of the bucket. If ordering its numbers orders its records
 * (few or equal keys), they split the bucket by the numbers themselves. Chunks are reused as soon
 * as they have been read, so a split needs little memory. If a bucket is still too large after
 * `depth` splits, one thread sorts it in place.
 *
 * Taking. The list of buckets does not change any more. A bucket is unsorted, busy or sorted. A
 * thread that needs an unsorted bucket makes it busy and copies its numbers to its scratch. Other
 * threads wait while the bucket is busy. A thread that takes the whole bucket makes it unsorted
 * again at once and sorts only the copy: usually, no thread takes these records again. Otherwise,
 * it sorts the copy, writes the numbers back and makes the bucket sorted. The numbers of a sorted
 * bucket are only read.
 *
 * Memory errors. The key bits of a number are compared with its record when the record is copied,
 * and when a split reads the number. A position outside the records is replaced by position 0,
 * whose record does not match the number. */
#include "demand_state.h"
#include "base/arith.h"
#include "base/pool.h"
#include "radix.h"
#include "gather.h"
#include "testing/failpoint.h"
#include "u64_sort.h"

#include <sched.h>

struct demand_room {
	mem *m;
	uint64_t *a, *tmp;          /* the numbers of a bucket, and scratch of the same size */
	entry *entries;             /* scratch: two per number */
	uint32_t *chunk;            /* the chunks of the bucket */
	const demand_bucket *holds; /* the bucket whose sorted numbers are in a; or NULL */
};

/* ---------------------------------------------------------------------------------- opening */

/* Choose sizes so that a bucket fits in a processor's cache. If there are few records, buckets are
 * smaller: each thread has scratch for a bucket, which must take less memory than the records. */
demand_sizes demand_sizes_for(uint64_t n)
{
	enum { PART = 16, LEAST_CAP = 512, CAP = 32768, BUCKET = 8000 };
	const uint32_t cap = (uint32_t)u64_min(u64_max(n / PART, LEAST_CAP), CAP);
	return (demand_sizes){ .bucket = (uint32_t)u64_min(cap / 4, BUCKET),
			       .cap = cap,
			       .depth = 6 };
}

uint32_t demand_buckets(const demand_sizes *s, uint64_t n)
{
	return (uint32_t)u64_min(n / s->bucket + BUCKETS_LEAST, BUCKETS_MAX);
}

size_t demand_samples(uint64_t n)
{
	const demand_sizes s = demand_sizes_for(n);
	return n <= s.cap ? 0 : classifier_sample_size(n, demand_buckets(&s, n));
}

void demand_map(demand *d, const records *in, entry *sample, size_t n, uint32_t want)
{
	radix_sort(sample, sample + n, n, in);
	d->misfits += classifier_make(&d->map, in, sample, n, want);
}

status demand_writers_open(demand *d, unsigned n, uint32_t buckets, err *e)
{
	const size_t bytes = chunk_writer_bytes(buckets);
	d->writers = n;
	d->writer = mem_array(d->m, n, sizeof *d->writer, "buckets", e);
	d->writer_room = mem_array(d->m, n, bytes, "buckets", e);
	if (!d->writer || !d->writer_room)
		return ST_RESOURCE;
	for (unsigned i = 0; i < n; i++)
		chunk_writer_begin(&d->writer[i], &d->pool, buckets, d->writer_room + i * bytes);
	return ST_OK;
}

void demand_writers_close(demand *d)
{
	mem_free(d->m, d->writer);
	mem_free(d->m, d->writer_room);
	d->writer = NULL;
	d->writer_room = NULL;
}

/* Make the map from the sample of the plan, unless `want` is 1. */
static status demand_open_map(demand *d, const demand_plan *p, uint32_t want, err *e)
{
	const layout *l = &d->in.lay;
	const records in = { .base = p->sample, .lay = *l };
	const uint32_t bytes = (uint32_t)u64_min(l->key_bytes, KEY_WINDOW_BYTES);
	const size_t n = size_min(p->samples, SAMPLE_MAX);
	d->whole = (classifier_bucket){ .limit = UINT64_MAX,
					.window = key_window_at(l, 0, bytes),
					.exact = 8 * l->key_bytes + d->map.pos_bits <= 64 };
	if (want == 1)
		return ST_OK;
	entry *sample = mem_array(d->m, 2 * n, sizeof *sample, "sample", e);
	d->map.room = mem_array(d->m, 1, classifier_room_bytes(want), "map", e);
	if (sample && d->map.room) {
		for (size_t i = 0; i < n; i++)
			sample[i] = entry_make(record_at(&in, i), l, i);
		demand_map(d, &in, sample, n, want);
	}
	mem_free(d->m, sample);
	return sample && d->map.room ? ST_OK : ST_RESOURCE;
}

/* Return how many chunks are needed for n numbers. Each writer has one partly filled chunk per
 * bucket, and a stock of free chunks. After splits, each bucket has one partly filled chunk. Splits
 * make buckets of at least a third of the planned size, so these are at most SPLITS * buckets. */
static uint64_t demand_chunks(uint64_t n, uint64_t writers, uint64_t buckets)
{
	enum { SPLITS = 3 };
	return n / CHUNK_NUMBERS + u64_max(writers, SPLITS) * (buckets + 2 * CHUNK_BATCH);
}

size_t demand_room_bytes(uint64_t n, unsigned lanes, unsigned threads)
{
	const uint64_t writers = u64_max(lanes, threads);
	const demand_sizes s = demand_sizes_for(n);
	return CHUNK_BYTES + chunks_most_bytes(demand_chunks(n, writers, demand_buckets(&s, n)));
}

status demand_open(demand **to, mem *m, const demand_plan *p, err *e)
{
	const uint64_t writers = u64_max(p->lanes, p->threads);
	demand *d = *to = mem_array(m, 1, sizeof *d, "sort", e);
	if (!d)
		return ST_RESOURCE;
	d->m = m;
	d->in = p->in;
	d->sizes = p->sizes ? *p->sizes : demand_sizes_for(p->n);
	d->n_most = p->n;
	d->lanes = p->lanes;
	d->threads = p->threads;
	while (p->n >> d->map.pos_bits)
		d->map.pos_bits++;
	d->mask = (UINT64_C(1) << d->map.pos_bits) - 1;
	const uint32_t most = demand_buckets(&d->sizes, p->n);
	const uint32_t want = p->samples > 0 && p->n > d->sizes.cap ? most : 1;
	status rc = chunks_open(&d->pool, m, demand_chunks(p->n, writers, most), p->room,
				p->room_bytes, e);
	if (rc == ST_OK)
		rc = demand_open_map(d, p, want, e);
	if (rc == ST_OK)
		rc = demand_writers_open(d, d->lanes, d->map.room ? d->map.buckets : 1, e);
	if (rc != ST_OK) {
		demand_close(d);
		*to = NULL;
	}
	return rc;
}

void demand_close(demand *d)
{
	if (!d)
		return;
	mem *m = d->m;
	demand_writers_close(d);
	chunks_close(&d->pool);
	mem_free(m, d->map.room);
	mem_free(m, d->all.at);
	mem_free(m, d);
}

/* Add up the memory. In addition to the numbers, the sort has the map, the writers and two lists of
 * buckets until the end of demand_end: a list that grows is copied. After that it has one list, and
 * the scratch of the threads. Splits make at most 12 buckets per `cap` records: 4 of the planned
 * size, and BUCKETS_LEAST more. */
uint64_t demand_most_bytes(uint64_t n, unsigned lanes, unsigned threads)
{
	const demand_sizes s = demand_sizes_for(n);
	const uint64_t writers = u64_max(lanes, threads), most = demand_buckets(&s, n);
	const uint64_t chunks = demand_chunks(n, writers, most), room = u64_min(n, s.cap);
	const uint64_t parts = n <= s.cap ? BUCKETS_LEAST : most + n / (s.cap / 12);
	const uint64_t scratch = sizeof(demand_room) + chunks_of(room) * sizeof(uint32_t) +
				 room * (2 * sizeof(uint64_t) + 2 * sizeof(entry));
	uint64_t before = writers * (sizeof(chunk_writer) + chunk_writer_bytes(1));
	if (n > s.cap)
		before = writers * (sizeof(chunk_writer) + chunk_writer_bytes((uint32_t)most)) +
			 classifier_room_bytes((uint32_t)most) + most * sizeof(demand_bucket) +
			 2 * sizeof(entry) * classifier_sample_size(n, (uint32_t)most);
	return sizeof(demand) + chunks_most_bytes(chunks) + chunks_table_bytes(chunks) +
	       (parts + parts / 2 + BUCKETS_LEAST) * sizeof(demand_bucket) +
	       u64_max(before, threads * scratch);
}

/* ----------------------------------------------------------------------------------- adding */

void demand_move(demand *d, const unsigned char *base)
{
	d->in.base = base;
}

status demand_add(demand *d, unsigned lane, uint64_t first, uint64_t n, err *e)
{
	chunk_writer *w = &d->writer[lane];
	const layout *l = &d->in.lay;
	const bool mapped = d->map.room;
	uint16_t into[CLASSIFIER_BLOCK];
	uint64_t number[CLASSIFIER_BLOCK];
	if (n > d->n_most || first > d->n_most - n)
		return err_set(e, ST_INTERNAL, "more records than planned for");
	const uint64_t end = first + n;
	w->stock.e = e;
	for (uint64_t i = first; !mapped && i < end; i++) {
		const uint64_t v = key_window_read(l, &d->whole.window, record_at(&d->in, i));
		chunk_write(w, 0, i | (v & ~d->mask));
	}
	for (uint64_t i = first; mapped && i < end; i += CLASSIFIER_BLOCK) {
		const size_t k = u64_min(end - i, CLASSIFIER_BLOCK);
		/* prefetch the keys of the next block */
		uintptr_t next = (uintptr_t)key_at(l, record_at(&d->in, i)) +
				 (size_t)CLASSIFIER_BLOCK * l->record_bytes;
		classifier_block(&d->map, &(classifier_work){ .in = &d->in,
							      .first = i,
							      .n = k,
							      .bucket = into,
							      .number = number });
		for (size_t j = 0; j < k; j++, next += l->record_bytes) {
			__builtin_prefetch((const void *)next);
			chunk_write(w, into[j], number[j]);
		}
	}
	return w->failed ? ST_RESOURCE : ST_OK;
}

uint32_t demand_bucket_most(const demand *d)
{
	return d->sizes.cap;
}

uint64_t demand_count(const demand *d)
{
	return d->count;
}

/* ----------------------------------------------------------------------------------- taking */

status demand_room_open(demand_room **to, const demand *d, err *e)
{
	const size_t n = (size_t)u64_min(d->count, u64_max(d->sizes.cap, CHUNK_NUMBERS));
	demand_room *r = *to = mem_array(d->m, 1, sizeof *r, "scratch", e);
	if (!r)
		return ST_RESOURCE;
	r->m = d->m;
	r->a = mem_array(d->m, n, sizeof *r->a, "scratch", e);
	r->tmp = mem_array(d->m, n, sizeof *r->tmp, "scratch", e);
	r->entries = mem_array(d->m, 2 * n, sizeof *r->entries, "scratch", e);
	r->chunk = mem_array(d->m, chunks_of(n), sizeof *r->chunk, "scratch", e);
	if (r->a && r->tmp && r->entries && r->chunk)
		return ST_OK;
	demand_room_close(r);
	*to = NULL;
	return ST_RESOURCE;
}

void demand_room_close(demand_room *r)
{
	if (!r)
		return;
	mem_free(r->m, r->a);
	mem_free(r->m, r->tmp);
	mem_free(r->m, r->entries);
	mem_free(r->m, r->chunk);
	mem_free(r->m, r);
}

static size_t demand_bucket_at(const demand *d, uint64_t place)
{
	lower_bound b = { .lo = 1, .hi = d->all.n };
	while (lower_bound_open(&b))
		lower_bound_step(&b, d->all.at[b.mid].start <= place);
	return b.lo - 1;
}

uint64_t demand_border(const demand *d, uint64_t place)
{
	const demand_bucket *b = &d->all.at[demand_bucket_at(d, place)];
	return b->start + b->list.n;
}

/* Copy the numbers [from, n) of a bucket to the scratch, and perhaps some before them. */
static void demand_load(const demand *d, demand_room *r, const demand_bucket *b, size_t from,
			size_t n)
{
	const size_t chunks = (size_t)chunks_of(n);
	chunk_list_order(&d->pool, &b->list, r->chunk);
	for (size_t i = from / CHUNK_NUMBERS; i < chunks; i++) {
		if (i + 1 < chunks)
			for (size_t at = 0; at < CHUNK_NUMBERS; at += LINE_NUMBERS)
				__builtin_prefetch(chunk_at(&d->pool, r->chunk[i + 1]) + at);
		memcpy(r->a + i * CHUNK_NUMBERS, chunk_at(&d->pool, r->chunk[i]),
		       size_min(n - i * CHUNK_NUMBERS, CHUNK_NUMBERS) * sizeof *r->a);
	}
}

/* Sort the numbers of records with equal keys. These numbers are distinct positions, so a bitmap in
 * tmp sorts them. Return false if the bitmap does not fit into tmp. If a memory error makes two
 * positions equal, the last element keeps its old number, which the checksum reveals. */
static bool demand_sort_positions(uint64_t *a, uint64_t *tmp, size_t n)
{
	enum { BITS = 64 };
	uint64_t least = a[0], most = a[0];
	for (size_t i = 1; i < n; i++) {
		least = u64_min(a[i], least);
		most = u64_max(a[i], most);
	}
	const uint64_t words = (most - least) / BITS + 1;
	if (words > n)
		return false;
	memset(tmp, 0, words * sizeof *tmp);
	for (size_t i = 0; i < n; i++)
		tmp[(a[i] - least) / BITS] |= UINT64_C(1) << (a[i] - least) % BITS;
	for (uint64_t i = 0; i < words; i++)
		for (uint64_t w = tmp[i]; w; w &= w - 1)
			*a++ = least + i * BITS + (unsigned)__builtin_ctzll(w);
	return true;
}

/* Sort the numbers of a bucket, which are in the scratch. */
static void demand_sort_loaded(const demand *d, demand_room *r, const demand_bucket *b)
{
	const size_t n = (size_t)b->list.n;
	size_t rise = 1, fall = 1;
	FAIL_FLIP(FAIL_ENTRIES, r->a, n * sizeof *r->a);
	while (rise < n && r->a[rise] > r->a[rise - 1])
		rise++;
	while (fall < n && r->a[fall] < r->a[fall - 1])
		fall++;
	for (size_t i = 0; fall >= n && i < n / 2; i++) { /* descending, as splits leave them */
		const uint64_t x = r->a[i];
		r->a[i] = r->a[n - 1 - i];
		r->a[n - 1 - i] = x;
	}
	if (rise < n && fall < n && !(b->is.same && demand_sort_positions(r->a, r->tmp, n)))
		u64_sort(r->a, r->tmp, n);
	if (!b->is.exact)
		radix_settle(r->a, n, d->mask, &d->in, d->count, r->entries);
	FAIL_FLIP(FAIL_ENTRIES, r->a, n * sizeof *r->a);
}

/* Wait while another thread has made the bucket busy. Return false if it is sorted. If it is
 * unsorted, make it busy and return true. */
static bool demand_claim(demand_bucket *b)
{
	for (;;) {
		uint32_t state = UNSORTED;
		if (atomic_compare_exchange_weak_explicit(
			    &b->state, &state, BUSY, memory_order_acquire, memory_order_acquire))
			return true;
		if (state == SORTED)
			return false;
		if (state == BUSY)
			(void)sched_yield();
	}
}

/* Sort the bucket in its chunks, unless it is sorted, and leave its numbers [from, to) in the
 * scratch, too. */
static void demand_keep_sorted(const demand *d, demand_room *r, demand_bucket *b, uint64_t from,
			       uint64_t to)
{
	const size_t n = (size_t)b->list.n;
	if (r->holds == b)
		return;
	r->holds = NULL;
	if (!demand_claim(b)) {
		demand_load(d, r, b, (size_t)from, (size_t)to);
		return;
	}
	demand_load(d, r, b, 0, n);
	demand_sort_loaded(d, r, b);
	r->holds = b;
	for (size_t i = 0; i < n; i += CHUNK_NUMBERS)
		memcpy(chunk_at(&d->pool, r->chunk[i / CHUNK_NUMBERS]), r->a + i,
		       size_min(n - i, CHUNK_NUMBERS) * sizeof *r->a);
	atomic_store_explicit(&b->state, SORTED, memory_order_release);
}

/* Return the number at a place of bucket `at`, which is then sorted and stays sorted. */
static uint64_t demand_sorted_number(demand *d, demand_room *r, size_t at, uint64_t place)
{
	demand_bucket *b = &d->all.at[at];
	const uint64_t i = place - b->start;
	if (atomic_load_explicit(&b->state, memory_order_acquire) != SORTED)
		demand_keep_sorted(d, r, b, i, i + 1);
	if (r->holds == b)
		return r->a[i];
	chunk_list_order(&d->pool, &b->list, r->chunk);
	return *demand_number_at(d, r->chunk, i);
}

uint64_t demand_position(demand *d, demand_room *r, uint64_t place)
{
	return demand_sorted_number(d, r, demand_bucket_at(d, place), place) & d->mask;
}

static bool demand_precedes_item(const demand *d, uint64_t number, const item *it)
{
	const uint64_t pos = demand_pos(d, number);
	const entry e = entry_make(record_at(&d->in, pos), &d->in.lay, pos);
	return entry_item_cmp(&e, it, &d->in) < 0;
}

uint64_t demand_before(demand *d, demand_room *r, uint64_t lo, uint64_t hi, const item *it)
{
	if (lo >= hi)
		return hi;
	/* find the last bucket whose first record precedes the item, or the first bucket */
	lower_bound k = { .lo = demand_bucket_at(d, lo) + 1,
			  .hi = demand_bucket_at(d, hi - 1) + 1 };
	while (lower_bound_open(&k)) {
		const uint64_t first = d->all.at[k.mid].start;
		const uint64_t number = demand_sorted_number(d, r, k.mid, first);
		lower_bound_step(&k, demand_precedes_item(d, number, it));
	}
	demand_bucket *b = &d->all.at[k.lo - 1];
	demand_keep_sorted(d, r, b, 0, b->list.n);
	lower_bound n = { .lo = u64_max(lo, b->start), .hi = u64_min(hi, b->start + b->list.n) };
	while (lower_bound_open(&n))
		lower_bound_step(&n, demand_precedes_item(d, r->a[n.mid - b->start], it));
	return n.lo;
}

void demand_take(demand *d, demand_room *r, uint64_t place, uint64_t end, demand_piece *p)
{
	const size_t at = demand_bucket_at(d, place);
	demand_bucket *b = &d->all.at[at];
	const uint64_t border = b->start + b->list.n;
	end = u64_min(end, border);
	if (place > b->start || end < border) {
		demand_keep_sorted(d, r, b, place - b->start, end - b->start);
	} else if (!demand_claim(b)) {
		demand_load(d, r, b, 0, (size_t)b->list.n);
		r->holds = b;
	} else {
		demand_load(d, r, b, 0, (size_t)b->list.n);
		atomic_store_explicit(&b->state, UNSORTED, memory_order_release);
		demand_sort_loaded(d, r, b);
		r->holds = b;
	}
	*p = (demand_piece){ .of = d,
			     .number = r->a + (place - b->start),
			     .mask = d->mask,
			     .place = place,
			     .n = (size_t)(end - place),
			     .bucket = at };
}

/* Copy records to `to` (NULL: only compare them with their numbers). Return the misfits. */
static inline __attribute__((always_inline)) size_t demand_gather_as(const demand_piece *p,
								     size_t first, size_t n,
								     unsigned char *to,
								     uint32_t bytes, window_kind of)
{
	const demand *d = p->of;
	const classifier_bucket is = d->all.at[p->bucket].is;
	records in = d->in; /* a copy that cannot alias the records written here */
	in.lay.record_bytes = bytes;
	const uint64_t mask = d->mask, count = d->count;
	const size_t distance = record_ahead(bytes), end = first + n, all = p->n;
	const uint64_t *number = p->number;
	size_t misfits = 0;
	streaming_store past;
	const bool streaming = p->streaming && to && bytes <= STREAMING_MOST_BYTES;
	const bool lines = streaming && ((uintptr_t)to | bytes) % STREAMING_LINE == 0;
	if (streaming)
		streaming_store_begin(&past, to);
	for (size_t i = first; i < end && i < first + distance; i++)
		record_fetch(record_at(&in, number[i] & mask), bytes); /* any address is allowed */
	for (size_t i = first; i < end; i++) {
		if (i + distance < all)
			record_fetch(record_at(&in, number[i + distance] & mask), bytes);
		const uint64_t pos = (number[i] & mask) < count ? number[i] & mask : 0;
		const unsigned char *rec = record_at(&in, pos);
		misfits += !classifier_fits(&in.lay, &is, mask, number[i] ^ pos, rec, of);
		if (streaming && !lines) {
			record_copy(streaming_store_room(&past), rec, bytes);
			streaming_store_add(&past, bytes);
		} else if (to) {
			if (lines)
				streaming_store_lines(to, rec, bytes);
			else
				record_copy(to, rec, bytes);
			to += bytes;
		}
	}
	if (streaming)
		streaming_store_end(&past); /* which writes nothing after whole lines */
	return misfits;
}

size_t demand_gather(const demand_piece *p, size_t first, size_t n, unsigned char *to)
{
	const window_kind of = p->of->all.at[p->bucket].is.window.of;
	const uint32_t bytes = p->of->in.lay.record_bytes;
	if (bytes == DEFAULT_RECORD_BYTES) /* pass a constant */
		return WITH_WINDOW(of, demand_gather_as, p, first, n, to, DEFAULT_RECORD_BYTES);
	return WITH_WINDOW(of, demand_gather_as, p, first, n, to, bytes);
}

size_t demand_misfits(const demand_piece *p, size_t first, size_t n)
{
	return demand_gather(p, first, n, NULL);
}

/* ------------------------------------------------------------------------------ lent memory */

typedef struct leaving {
	demand *d;
	_Atomic size_t next;
	_Atomic bool failed;
} leaving;

/* Move the chunks of buckets out of the lent memory, bucket by bucket until none is left. */
static void demand_leave_part(void *arg, unsigned worker)
{
	leaving *x = arg;
	demand *d = x->d;
	(void)worker;
	err own = { 0 };
	chunk_stock stock = { &d->pool, CHUNK_NONE, &own };
	for (size_t i; (i = atomic_fetch_add(&x->next, 1)) < d->all.n && !x->failed;) {
		chunk_list *l = &d->all.at[i].list;
		uint32_t *link = &l->first;
		for (uint64_t k = chunks_of(l->n); k-- > 0; link = chunk_next(&d->pool, *link)) {
			if (*link >= d->pool.room_chunks)
				continue;
			const uint32_t to = chunk_get(&stock);
			if (to == CHUNK_NONE) {
				x->failed = true;
				break;
			}
			memcpy(chunk_at(&d->pool, to), chunk_at(&d->pool, *link), CHUNK_BYTES);
			*chunk_next(&d->pool, to) = *chunk_next(&d->pool, *link);
			*link = to;
		}
	}
	chunk_return(&stock);
}

status demand_leave_room(demand *d, uint64_t place, err *e)
{
	leaving x = { .d = d, .next = place < d->count ? demand_bucket_at(d, place) : d->all.n };
	chunks_leave_room(&d->pool);
	pool_run(d->threads, demand_leave_part, &x);
	return x.failed ? err_set(e, ST_RESOURCE, "no memory for numbers") : ST_OK;
}
