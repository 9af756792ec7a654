/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces, and records in memory as a sorted sequence. The sequence is one run. Each of its buckets
 * is sorted when one of its places is needed (kernel/demand.h). A piece is a bucket or a part of
 * one. Each thread that takes pieces has scratch for a bucket, so threads sort buckets in parallel.
 */
#include "sorted.h"
#include "base/arith.h"
#include "base/trace.h"
#include "kernel/gather.h"

#include <endian.h>
#include <stdatomic.h>

status sorted_piece_open(sorted_piece *p, const sorted_reader *r, mem *m, err *e)
{
	*p = (sorted_piece){ .n = 0 };
	if (!r->bare) {
		p->room = mem_array(m, r->most, sizeof(entry), "merging", e);
		p->free = mem_array(m, r->most, sizeof(entry), "merging", e);
	}
	p->range = mem_array(m, r->ranges, sizeof *p->range, "merging", e);
	p->from = mem_array(m, r->ranges, sizeof *p->from, "merging", e);
	p->len = mem_array(m, r->ranges, sizeof *p->len, "merging", e);
	return (r->bare || (p->room && p->free)) && p->range && p->from && p->len ? ST_OK
										  : ST_RESOURCE;
}

void sorted_piece_close(sorted_piece *p, mem *m)
{
	demand_room_close(p->scratch);
	mem_free(m, p->room);
	mem_free(m, p->free);
	mem_free(m, p->range);
	mem_free(m, p->from);
	mem_free(m, p->len);
	*p = (sorted_piece){ .n = 0 };
}

size_t sorted_piece_entries(sorted_piece *p)
{
	if (p->form != SORTED_NUMBERS)
		return 0;
	const size_t misfits = demand_misfits(&p->places, 0, p->n);
	for (size_t i = 0; i < p->n; i++) {
		const uint64_t pos = p->places.number[i] & p->places.mask;
		p->room[i] = entry_make(record_at(&p->recs, pos), &p->recs.lay, pos);
	}
	p->form = SORTED_ENTRIES;
	return misfits;
}

/* Copy records like gather(). They have no entries that could be compared, but a number of a mapped
 * order may have changed since it was checked, and may be too large: count it, and copy record 0.
 */
static size_t given_gather(const sorted_piece *p, size_t from, size_t n, unsigned char *to)
{
	const records *r = &p->recs;
	const uint32_t bytes = r->lay.record_bytes;
	const uint64_t *at = p->given + from;
	const size_t distance = record_ahead(bytes), known = p->n - from;
	size_t misfits = 0;
	for (size_t i = 0; i < known && i < distance; i++)
		record_fetch(record_at(r, le64toh(at[i])), bytes);
	for (size_t i = 0; i < n; i++, to += bytes) {
		if (i + distance < known)
			record_fetch(record_at(r, le64toh(at[i + distance])), bytes);
		const uint64_t pos = le64toh(at[i]);
		misfits += pos >= p->count;
		record_copy(to, record_within(r, p->count, pos), bytes);
	}
	return misfits;
}

size_t sorted_piece_gather(const sorted_piece *p, size_t from, size_t n, unsigned char *to)
{
	if (p->form == SORTED_NUMBERS)
		return demand_gather(&p->places, from, n, to);
	if (p->form == SORTED_GIVEN)
		return given_gather(p, from, n, to);
	return gather(&p->recs, p->room + from, n, p->n - from - n, to);
}

size_t sorted_piece_heads(const sorted_piece *p, size_t from, uint32_t n, uint32_t place, head *h)
{
	const records *r = &p->recs;
	if (p->form == SORTED_NUMBERS) {
		/* compare first, because this fetches the records into the cache */
		const uint64_t *number = p->places.number + from, mask = p->places.mask;
		const uint64_t count = demand_count(p->places.of);
		const size_t misfits = demand_misfits(&p->places, from, n);
		for (uint32_t i = 0; i < n; i++)
			h[i] = head_make(record_within(r, count, number[i] & mask), place, &r->lay);
		return misfits;
	}
	const size_t ahead = record_ahead(r->lay.record_bytes), left = p->n - from;
	const entry *en = p->room + from;
	size_t misfits = 0;
	for (uint32_t i = 0; i < n; i++) {
		const size_t k = left > i + ahead ? i + ahead : i; /* the record to prefetch */
		const unsigned char *rec = record_at(r, entry_pos(&en[i]));
		record_fetch(record_at(r, entry_pos(&en[k])), r->lay.record_bytes);
		misfits += !entry_fits(&en[i], rec, &r->lay);
		h[i] = (head){ en[i].hi, (en[i].lo & ~POS_MASK) | place, rec };
	}
	return misfits;
}

/* ------------------------------------------------------------------------------- in memory */

static sorted_memory *memory_of(sorted *s)
{
	return (void *)s;
}

static void memory_item(sorted *s, uint64_t place, item *it)
{
	sorted_memory *a = memory_of(s);
	pthread_mutex_lock(&a->lock);
	const uint64_t pos = demand_position(a->order, a->look, place);
	pthread_mutex_unlock(&a->lock);
	const entry e = entry_make(record_at(&a->recs, pos), &s->lay, pos);
	item_of(it, &e, &a->recs);
}

static uint64_t memory_before(sorted *s, uint64_t lo, uint64_t hi, const item *it)
{
	sorted_memory *a = memory_of(s);
	pthread_mutex_lock(&a->lock);
	const uint64_t place = demand_before(a->order, a->look, lo, hi, it);
	pthread_mutex_unlock(&a->lock);
	return place;
}

static checksum memory_sum(const sorted *s, uint64_t lo, uint64_t hi, size_t *misfits)
{
	sorted_memory *a = memory_of((sorted *)(uintptr_t)s);
	checksum sum = { 0 };
	demand_piece p;
	for (uint64_t at = lo; at < hi; at += p.n) {
		pthread_mutex_lock(&a->lock);
		demand_take(a->order, a->look, at, hi, &p);
		*misfits += demand_misfits(&p, 0, p.n);
		for (size_t i = 0; i < p.n; i++) {
			const unsigned char *rec = record_at(&a->recs, p.number[i] & p.mask);
			sum = checksum_join(sum, checksum_records(&s->lay, rec, 1));
		}
		pthread_mutex_unlock(&a->lock);
	}
	return sum;
}

static status memory_ready(sorted *s, sorted_piece *p, err *e)
{
	*p = (sorted_piece){ .recs = memory_of(s)->recs };
	return demand_room_open(&p->scratch, memory_of(s)->order, e);
}

static void memory_take(sorted *s, uint64_t lo, uint64_t hi, sorted_piece *p)
{
	const double span = trace_begin();
	demand_take(memory_of(s)->order, p->scratch, lo, hi, &p->places);
	p->n = p->places.n;
	trace_end(TRACE_SORT, span);
}

typedef struct memory_reader {
	sorted_reader r;
	mem *m;
	sorted_memory *of;
	pthread_mutex_t lock; /* for the next members */
	uint64_t number, at, lo, hi;
} memory_reader;

static void memory_close(sorted_reader *r_)
{
	memory_reader *r = (void *)r_;
	pthread_mutex_destroy(&r->lock);
	mem_free(r->m, r);
}

/* Return the end of the piece that begins at this place. */
static uint64_t memory_piece_end(const memory_reader *r, uint64_t at)
{
	return u64_min(u64_min(demand_border(r->of->order, at), r->hi), at + r->r.most);
}

static status memory_piece(sorted_reader *r_, sorted_piece *p, err *e)
{
	memory_reader *r = (void *)r_;
	sorted_memory *a = r->of;
	pthread_mutex_lock(&r->lock);
	const uint64_t at = r->at;
	if (at < r->hi)
		r->at = memory_piece_end(r, at);
	p->number = r->number++;
	p->first = at - r->lo;
	p->n = (size_t)(r->at - at);
	pthread_mutex_unlock(&r->lock);
	p->recs = a->recs;
	p->form = SORTED_NUMBERS;
	if (p->n == 0)
		return ST_OK;
	if (!p->scratch && demand_room_open(&p->scratch, a->order, e) != ST_OK)
		return e->code;
	memory_take(&a->s, at, at + p->n, p);
	return ST_OK;
}

static status memory_open(sorted *s, const uint64_t *lo, const uint64_t *hi, const sorted_use *u,
			  sorted_reader **out, err *e)
{
	static const sorted_reader_ops ops = { .piece = memory_piece,
					       .close_reader = memory_close };
	sorted_memory *a = memory_of(s);
	memory_reader *r = mem_array(u->m, 1, sizeof *r, "reading records", e);
	*out = r ? &r->r : NULL;
	if (!r)
		return ST_RESOURCE;
	*r = (memory_reader){ .m = u->m, .of = a, .at = *lo, .lo = *lo, .hi = *hi };
	r->r = (sorted_reader){ .ops = &ops,
				.most = (size_t)u64_min(demand_bucket_most(a->order),
							u64_max(*hi - *lo, 1)),
				.bare = !u->drops };
	for (uint64_t at = *lo; at < *hi; at = memory_piece_end(r, at))
		r->r.pieces++;
	pthread_mutex_init(&r->lock, NULL);
	return ST_OK;
}

status sorted_memory_make(sorted_memory *a, uint64_t n, err *e)
{
	static const sorted_ops in_memory = { .item = memory_item,
					      .before = memory_before,
					      .sum = memory_sum,
					      .ready = memory_ready,
					      .take = memory_take,
					      .open_reader = memory_open };
	a->start[1] = n;
	a->s = (sorted){ .ops = &in_memory,
			 .lay = a->recs.lay,
			 .rank = a->recs.rank,
			 .count = 1,
			 .start = a->start };
	const status rc = demand_room_open(&a->look, a->order, e);
	if (rc == ST_OK)
		pthread_mutex_init(&a->lock, NULL);
	return rc;
}

void sorted_memory_close(sorted_memory *a)
{
	if (a->look)
		pthread_mutex_destroy(&a->lock);
	demand_room_close(a->look);
	demand_close(a->order);
	a->look = NULL;
	a->order = NULL;
}

/* --------------------------------------------------------------------------- in a given order */

typedef struct given_reader {
	sorted_reader r;
	mem *m;
	const sorted_given *of;
	uint64_t lo, hi;
	atomic_uint_least64_t next; /* piece */
} given_reader;

static status given_piece(sorted_reader *r_, sorted_piece *p, err *e)
{
	given_reader *r = (void *)r_;
	const uint64_t number = atomic_fetch_add(&r->next, 1);
	const uint64_t at = u64_min(r->lo + number * r->r.most, r->hi);
	(void)e;
	p->number = number;
	p->first = at - r->lo;
	p->n = (size_t)u64_min(r->hi - at, r->r.most);
	p->recs = r->of->recs;
	p->form = SORTED_GIVEN;
	p->given = r->of->position + at;
	p->count = r->of->count;
	return ST_OK;
}

static status given_end(sorted_reader *r, checksum *sum, err *e)
{
	const sorted_given *a = ((given_reader *)(void *)r)->of;
	return a->end(a->end_of, sum, e);
}

static void given_close(sorted_reader *r)
{
	mem_free(((given_reader *)(void *)r)->m, r);
}

static status given_open(sorted *s, const uint64_t *lo, const uint64_t *hi, const sorted_use *u,
			 sorted_reader **out, err *e)
{
	static const sorted_reader_ops ops = { .piece = given_piece,
					       .end = given_end,
					       .close_reader = given_close };
	given_reader *r = mem_array(u->m, 1, sizeof *r, "reading records", e);
	*out = r ? &r->r : NULL;
	if (!r)
		return ST_RESOURCE;
	*r = (given_reader){ .m = u->m, .of = (const void *)s, .lo = *lo, .hi = *hi };
	r->r = (sorted_reader){ .ops = &ops, .most = u->piece_recs, .bare = true };
	r->r.pieces = (*hi - *lo) / u->piece_recs + 1;
	return ST_OK;
}

void sorted_given_make(sorted_given *a)
{
	static const sorted_ops in_given_order = { .open_reader = given_open };
	a->s = (sorted){
		.ops = &in_given_order, .lay = a->recs.lay, .count = 1, .start = a->start
	};
}
