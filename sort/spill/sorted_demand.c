/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records in memory as a sorted sequence: one run, of which each bucket is sorted when somebody
 * asks for one of its places (kernel/demand.h). A piece is a bucket, or a part of one.
 *
 * A thread that can hold whole buckets has scratch of its own, so buckets are sorted side by side.
 * The streams of an exchange have room for a part of a bucket only, because there may be thousands
 * of them: they share the scratch of the sequence under its lock, and the bucket stays sorted. */
#include "sorted_demand.h"
#include "base/minmax.h"
#include "base/trace.h"

static sorted_demand *demand_of(sorted *s)
{
	return (void *)s;
}

static uint64_t position_at(sorted_demand *a, uint64_t place)
{
	pthread_mutex_lock(&a->lock);
	const uint64_t pos = demand_position(a->order, a->look, place);
	pthread_mutex_unlock(&a->lock);
	return pos;
}

static void look_up_item(sorted *s, uint64_t place, item *it)
{
	sorted_demand *a = demand_of(s);
	const uint64_t pos = position_at(a, place);
	const entry e = entry_make(record_at(&a->recs, pos), &s->lay, pos);
	item_of(it, &e, &a->recs);
}

static uint64_t look_up_before(sorted *s, uint64_t lo, uint64_t hi, const item *it)
{
	sorted_demand *a = demand_of(s);
	pthread_mutex_lock(&a->lock);
	const uint64_t place = demand_before(a->order, a->look, lo, hi, it);
	pthread_mutex_unlock(&a->lock);
	return place;
}

typedef struct demand_reader {
	sorted_reader r;
	mem *m;
	sorted_demand *of;
	bool shares;          /* the scratch of the sequence */
	pthread_mutex_t lock; /* for what follows */
	uint64_t number, at, lo, hi;
} demand_reader;

static void close_reader(sorted_reader *r_)
{
	demand_reader *r = (void *)r_;
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	mem_free(r->m, r);
}

/* How many pieces there are of places [lo, hi). */
static uint64_t count_pieces(const demand *d, uint64_t lo, uint64_t hi, size_t most)
{
	uint64_t n = 0;
	for (uint64_t end; lo < hi; lo = end, n++)
		end = u64_min(u64_min(demand_border(d, lo), hi), lo + most);
	return n;
}

static status open_reader(sorted *s, mem *m, const uint64_t *lo, const uint64_t *hi,
			  const sorted_use *u, sorted_reader **out, err *e)
{
	sorted_demand *a = demand_of(s);
	demand_reader *r = mem_array(m, 1, sizeof *r, "reading records", e);
	*out = NULL;
	if (!r)
		return ST_RESOURCE;
	*r = (demand_reader){
		.m = m, .of = a, .shares = !u->own_scratch, .at = *lo, .lo = *lo, .hi = *hi
	};
	r->r = (sorted_reader){ .ops = s->ops, .most = size_max(u->piece_recs, 1) };
	r->r.bare = u->own_scratch && !u->drops;
	if (u->own_scratch)
		r->r.most = (size_t)u64_min(demand_bucket_most(a->order), u64_max(*hi - *lo, 1));
	r->r.pieces = count_pieces(a->order, *lo, *hi, r->r.most);
	pthread_mutex_init(&r->lock, NULL);
	*out = &r->r;
	return ST_OK;
}

/* The places of the next piece. */
static uint64_t next_places(demand_reader *r, sorted_piece *p)
{
	pthread_mutex_lock(&r->lock);
	const uint64_t at = r->at;
	if (at < r->hi)
		r->at = u64_min(u64_min(demand_border(r->of->order, at), r->hi), at + r->r.most);
	p->number = r->number++;
	p->first = at - r->lo;
	p->n = (size_t)(r->at - at);
	pthread_mutex_unlock(&r->lock);
	return at;
}

static status next_piece(sorted_reader *r_, sorted_piece *p, err *e)
{
	demand_reader *r = (void *)r_;
	const uint64_t at = next_places(r, p);
	p->recs = r->of->recs;
	p->in_order = NULL;
	p->order = NULL;
	p->by_demand = r->of->order;
	if (p->n == 0)
		return ST_OK;
	if (!p->scratch && !r->shares && demand_room_open(&p->scratch, r->of->order, e) != ST_OK)
		return e->code;
	const double span = trace_begin();
	if (r->shares) {
		_Static_assert(sizeof(entry) >= sizeof(uint64_t), "room for numbers");
		uint64_t *copy = (void *)p->own[0];
		pthread_mutex_lock(&r->of->lock);
		demand_take(r->of->order, r->of->look, at, at + p->n, &p->places);
		memcpy(copy, p->places.number, p->n * sizeof *copy);
		pthread_mutex_unlock(&r->of->lock);
		p->places.number = copy;
	} else {
		demand_take(r->of->order, p->scratch, at, at + p->n, &p->places);
	}
	trace_end(TRACE_SORT, span);
	return ST_OK;
}

static void give_piece(sorted_reader *r, const sorted_piece *p)
{
	(void)r;
	(void)p;
}

static status end_reader(sorted_reader *r, checksum *sum, err *e)
{
	(void)r;
	(void)e;
	*sum = (checksum){ 0, 0 };
	return ST_OK;
}

static checksum sum_of(const sorted *s, uint64_t lo, uint64_t hi, size_t *misfits)
{
	sorted_demand *a = demand_of((sorted *)(uintptr_t)s);
	const uint32_t bytes = s->lay.record_bytes;
	checksum sum = { 0, 0 };
	demand_piece p;
	for (uint64_t at = lo; at < hi; at += p.n) {
		pthread_mutex_lock(&a->lock);
		demand_take(a->order, a->look, at, hi, &p);
		*misfits += demand_misfits(a->order, &p, 0, p.n);
		for (size_t i = 0; i < p.n; i++)
			sum = checksum_join(
				sum, checksum_records(record_at(&a->recs, p.number[i] & p.mask), 1,
						      bytes));
		pthread_mutex_unlock(&a->lock);
	}
	return sum;
}

status sorted_demand_make(sorted_demand *a, const records *r, const uint64_t *start, err *e)
{
	static const sorted_ops on_demand = { .item = look_up_item,
					      .before = look_up_before,
					      .sum = sum_of,
					      .open_reader = open_reader,
					      .piece = next_piece,
					      .give = give_piece,
					      .end = end_reader,
					      .close_reader = close_reader };
	a->recs = *r;
	a->s = (sorted){
		.ops = &on_demand, .lay = r->lay, .rank = r->rank, .count = 1, .start = start
	};
	const status rc = demand_room_open(&a->look, a->order, e);
	if (rc == ST_OK)
		pthread_mutex_init(&a->lock, NULL);
	return rc;
}

void sorted_demand_close(sorted_demand *a)
{
	if (a->look)
		pthread_mutex_destroy(&a->lock);
	demand_room_close(a->look);
	demand_close(a->order);
	*a = (sorted_demand){ 0 };
}
