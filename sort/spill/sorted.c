/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces, and the sequence of entries that lie in memory in order: its pieces are the entries as
 * they lie. Memory: for each thread two entries for each record of a piece. */
#include "sorted.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "kernel/gather.h"

#include <stdatomic.h>

status sorted_piece_open(sorted_piece *p, const sorted_reader *r, mem *m, err *e)
{
	*p = (sorted_piece){ .n = 0 };
	for (size_t i = 0; i < 2 && !r->bare; i++)
		p->own[i] = mem_array(m, r->most, sizeof(entry), "merging", e);
	p->range = mem_array(m, r->ranges, sizeof *p->range, "merging", e);
	p->from = mem_array(m, r->ranges, sizeof *p->from, "merging", e);
	p->len = mem_array(m, r->ranges, sizeof *p->len, "merging", e);
	p->room = p->own[0];
	p->free = p->own[1];
	return (r->bare || (p->own[0] && p->own[1])) && p->range && p->from && p->len ? ST_OK
										      : ST_RESOURCE;
}

void sorted_piece_close(sorted_piece *p, mem *m)
{
	demand_room_close(p->scratch);
	mem_free(m, p->own[0]);
	mem_free(m, p->own[1]);
	mem_free(m, p->range);
	mem_free(m, p->from);
	mem_free(m, p->len);
	*p = (sorted_piece){ .n = 0 };
}

static entry entry_of_number(const sorted_piece *p, size_t i)
{
	const uint64_t pos = p->places.number[i] & p->places.mask;
	return entry_make(record_at(&p->recs, pos), &p->recs.lay, pos);
}

size_t sorted_piece_entries(sorted_piece *p)
{
	if (!p->by_demand)
		return 0;
	const size_t misfits = demand_misfits(p->by_demand, &p->places, 0, p->n);
	for (size_t i = 0; i < p->n; i++)
		p->room[i] = entry_of_number(p, i);
	p->order = p->room;
	p->by_demand = NULL;
	return misfits;
}

size_t sorted_piece_gather(const sorted_piece *p, size_t from, size_t n, unsigned char *to)
{
	return p->by_demand ? demand_gather(p->by_demand, &p->places, from, n, false, to)
			    : gather(&p->recs, p->order + from, n, p->n - from - n, to);
}

static size_t heads_of_numbers(const sorted_piece *p, size_t from, uint32_t n, uint32_t place,
			       head *h)
{
	const uint32_t bytes = p->recs.lay.record_bytes;
	const size_t ahead = record_ahead(bytes), left = p->n - from;
	const uint64_t *number = p->places.number + from;
	for (uint32_t i = 0; i < n; i++) {
		if (left > i + ahead)
			record_fetch(record_at(&p->recs, number[i + ahead] & p->places.mask),
				     bytes);
		h[i] = head_make(record_at(&p->recs, number[i] & p->places.mask), place,
				 &p->recs.lay);
	}
	return demand_misfits(p->by_demand, &p->places, from, n);
}

size_t sorted_piece_heads(const sorted_piece *p, size_t from, uint32_t n, uint32_t place, head *h)
{
	const uint32_t bytes = p->recs.lay.record_bytes;
	const size_t ahead = record_ahead(bytes), left = p->n - from;
	const entry *en = p->order + from;
	size_t misfits = 0;
	if (p->by_demand)
		return heads_of_numbers(p, from, n, place, h);
	for (uint32_t i = 0; i < n; i++) {
		const unsigned char *rec = record_at(&p->recs, entry_pos(&en[i]));
		if (left > i + ahead)
			record_fetch(record_at(&p->recs, entry_pos(&en[i + ahead])), bytes);
		misfits += !entry_fits(&en[i], rec, &p->recs.lay);
		h[i] = (head){ en[i].hi, (en[i].lo & ~POS_MASK) | place, rec };
	}
	return misfits;
}

/* ------------------------------------------------------------------------------- in memory */

static const sorted_memory *memory_of(const sorted *s)
{
	return (const void *)s;
}

static void memory_item(sorted *s, uint64_t place, item *it)
{
	const sorted_memory *a = memory_of(s);
	item_of(it, &a->e[place], &a->recs);
}

static uint64_t memory_before(sorted *s, uint64_t lo, uint64_t hi, const item *it)
{
	const sorted_memory *a = memory_of(s);
	lower_bound b = { .lo = lo, .hi = hi };
	while (lower_bound_open(&b))
		lower_bound_step(&b, entry_item_cmp(&a->e[b.mid], it, &a->recs) < 0);
	return b.lo;
}

static checksum memory_sum(const sorted *s, uint64_t lo, uint64_t hi, size_t *misfits)
{
	const sorted_memory *a = memory_of(s);
	checksum sum = { 0, 0 };
	for (uint64_t i = lo; i < hi; i++) {
		const unsigned char *rec = record_at(&a->recs, entry_pos(&a->e[i]));
		*misfits += !entry_fits(&a->e[i], rec, &a->recs.lay);
		sum = checksum_join(sum, checksum_records(rec, 1, a->recs.lay.record_bytes));
	}
	return sum;
}

typedef struct memory_reader {
	sorted_reader r;
	mem *m;
	records recs;
	const entry *e; /* n in all */
	uint64_t n;
	atomic_size_t next;
} memory_reader;

static void memory_close(sorted_reader *r_)
{
	memory_reader *r = (void *)r_;
	if (r)
		mem_free(r->m, r);
}

static status memory_open(sorted *s, mem *m, const uint64_t *lo, const uint64_t *hi,
			  const sorted_use *u, sorted_reader **out, err *e)
{
	const sorted_memory *a = memory_of(s);
	memory_reader *r = mem_array(m, 1, sizeof *r, "reading records", e);
	*out = NULL;
	if (!r)
		return ST_RESOURCE;
	*r = (memory_reader){ .m = m, .recs = a->recs, .e = a->e + lo[0], .n = hi[0] - lo[0] };
	r->r = (sorted_reader){ .ops = s->ops, .most = size_max(u->piece_recs, 1) };
	r->r.pieces = r->n / r->r.most + 1;
	*out = &r->r;
	return ST_OK;
}

static status memory_piece(sorted_reader *r_, sorted_piece *p, err *e)
{
	memory_reader *r = (void *)r_;
	(void)e;
	p->number = atomic_fetch_add(&r->next, 1);
	p->recs = r->recs;
	p->in_order = NULL;
	p->first = u64_min(p->number * r->r.most, r->n);
	p->order = r->e + p->first;
	p->n = (size_t)u64_min(r->n - p->first, r->r.most);
	return ST_OK;
}

static void memory_give(sorted_reader *r, const sorted_piece *p)
{
	(void)r;
	(void)p;
}

static status memory_end(sorted_reader *r, checksum *sum, err *e)
{
	(void)r;
	(void)e;
	*sum = (checksum){ 0, 0 };
	return ST_OK;
}

void sorted_memory_make(sorted_memory *s, size_t count, const uint64_t *start)
{
	static const sorted_ops in_memory = { .item = memory_item,
					      .before = memory_before,
					      .sum = memory_sum,
					      .open_reader = memory_open,
					      .piece = memory_piece,
					      .give = memory_give,
					      .end = memory_end,
					      .close_reader = memory_close };
	s->s = (sorted){ .ops = &in_memory,
			 .lay = s->recs.lay,
			 .rank = s->recs.rank,
			 .count = count,
			 .start = start };
}
