/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chunks of a sort on demand, which demand_state.h explains. A thread locks the pool for a
 * moment for each CHUNK_BATCH chunks. Full cache lines are written by streaming stores. */
#include "demand_state.h"
#include "base/arith.h"
#include "base/pool.h"
#include "gather.h"

#include <string.h>

enum {
	SLABS = 128, /* greatest number of slabs, unless slabs have the greatest size */
	SPARE = 16,  /* table entries per slab: only tests, with tiny buckets, need more than 1 */
};

static unsigned chunks_slab_bits(uint64_t most)
{
	unsigned bits = 4;
	while (bits < SLAB_BITS_MAX && most >> bits > SLABS)
		bits++;
	return bits;
}

static size_t chunks_slab_bytes(unsigned bits)
{
	return (size_t)(CHUNK_BYTES + sizeof(uint32_t)) << bits;
}

uint64_t chunks_most_bytes(uint64_t chunks)
{
	const unsigned bits = chunks_slab_bits(chunks);
	return ((chunks >> bits) + 1) * chunks_slab_bytes(bits);
}

uint64_t chunks_table_bytes(uint64_t chunks)
{
	return ((chunks >> chunks_slab_bits(chunks)) + 1) * SPARE * sizeof(unsigned char *);
}

status chunks_open(chunk_pool *p, mem *m, uint64_t most, void *room, size_t room_bytes, err *e)
{
	*p = (chunk_pool){ .m = m, .free = CHUNK_NONE, .slab_bits = chunks_slab_bits(most) };
	const size_t bytes = chunks_slab_bytes(p->slab_bits), skip = -(uintptr_t)room % CHUNK_BYTES;
	const uint64_t slabs =
		u64_min(((most >> p->slab_bits) + 1) * SPARE, UINT32_MAX >> p->slab_bits);
	atomic_flag_clear(&p->busy);
	p->slabs_most = (uint32_t)slabs;
	p->most = p->slabs_most << p->slab_bits;
	p->slab = mem_array(m, p->slabs_most, sizeof *p->slab, "slabs", e);
	if (!p->slab)
		return ST_RESOURCE;
	if (room_bytes > skip) {
		p->room = (unsigned char *)room + skip;
		const uint64_t fit = u64_min((room_bytes - skip) / bytes, slabs);
		for (uint64_t i = 0; i < fit; i++)
			p->slab[i] = p->room + i * bytes;
		p->room_chunks = (uint32_t)fit << p->slab_bits;
	}
	return ST_OK;
}

void chunks_close(chunk_pool *p)
{
	for (uint32_t i = p->room_chunks >> p->slab_bits; p->slab && i < p->slabs_most; i++)
		mem_free(p->m, p->slab[i]);
	mem_free(p->m, p->slab);
}

void chunks_leave_room(chunk_pool *p)
{
	p->used = (uint32_t)u64_max(p->used, p->room_chunks);
	p->free = CHUNK_NONE;
}

uint32_t chunk_get(chunk_stock *s)
{
	chunk_pool *p = s->p;
	if (s->free == CHUNK_NONE) {
		spin_lock(&p->busy);
		for (unsigned i = 0; i < CHUNK_BATCH; i++) {
			uint32_t chunk = p->free;
			if (chunk != CHUNK_NONE) {
				p->free = *chunk_next(p, chunk);
			} else if (i > 0 && p->used % CHUNK_BATCH == 0) {
				break;
			} else if (p->used == p->most) {
				err_set(s->e, ST_RESOURCE, "more numbers than planned for");
				break;
			} else { /* a chunk that was never used */
				unsigned char **slab = &p->slab[p->used >> p->slab_bits];
				if (!*slab)
					*slab = mem_array(p->m, 1, chunks_slab_bytes(p->slab_bits),
							  "numbers", s->e);
				if (!*slab)
					break;
				chunk = p->used++;
			}
			chunk_put(s, chunk);
		}
		spin_unlock(&p->busy);
	}
	const uint32_t chunk = s->free;
	if (chunk != CHUNK_NONE)
		s->free = *chunk_next(p, chunk);
	return chunk;
}

void chunk_return(chunk_stock *s)
{
	chunk_pool *p = s->p;
	spin_lock(&p->busy);
	while (s->free != CHUNK_NONE) {
		const uint32_t chunk = s->free;
		s->free = *chunk_next(p, chunk);
		*chunk_next(p, chunk) = p->free;
		p->free = chunk;
	}
	spin_unlock(&p->busy);
}

void chunk_list_order(const chunk_pool *p, const chunk_list *l, uint32_t *chunk)
{
	uint32_t c = l->first;
	for (uint64_t k = chunks_of(l->n); k-- > 0; c = *chunk_next(p, c))
		chunk[k] = c;
}

/* ---------------------------------------------------------------------------------- writing */

void chunk_writer_begin(chunk_writer *w, chunk_pool *p, uint32_t buckets, void *room)
{
	*w = (chunk_writer){ .stock = { p, CHUNK_NONE, NULL }, .lines = room, .buckets = buckets };
	w->lanes = (chunk_lane *)(void *)(w->lines + (size_t)buckets * LINE_NUMBERS);
}

void chunk_line(chunk_writer *w, uint32_t bucket)
{
	chunk_lane *l = &w->lanes[bucket];
	if ((l->n - LINE_NUMBERS) % CHUNK_NUMBERS == 0 || w->failed) {
		const uint32_t chunk = w->failed ? CHUNK_NONE : chunk_get(&w->stock);
		if (chunk == CHUNK_NONE) {
			w->failed = true;
			return;
		}
		*chunk_next(w->stock.p, chunk) = l->head;
		if (l->n == LINE_NUMBERS)
			l->tail = chunk;
		l->head = chunk;
		l->to = chunk_at(w->stock.p, chunk);
	}
	streaming_store_line(l->to, w->lines + (size_t)bucket * LINE_NUMBERS);
	l->to += LINE_NUMBERS;
}

/* Put n numbers into a new chunk, the first of the list. Return false if memory is missing. */
static bool chunk_prepend(chunk_stock *s, chunk_list *l, const uint64_t *number, size_t n)
{
	const uint32_t chunk = chunk_get(s);
	if (chunk == CHUNK_NONE)
		return false;
	memcpy(chunk_at(s->p, chunk), number, n * sizeof *number);
	*chunk_next(s->p, chunk) = l->first;
	l->first = chunk;
	return true;
}

status chunk_join(chunk_writer *w, unsigned n, uint32_t bucket, chunk_stock *s, chunk_list *l)
{
	uint64_t rest[2 * CHUNK_NUMBERS];
	size_t held = 0;
	*l = (chunk_list){ CHUNK_NONE, 0 };
	for (unsigned i = 0; i < n; i++) {
		const chunk_lane *from = &w[i].lanes[bucket];
		uint32_t head = from->head;
		const size_t part = from->n % CHUNK_NUMBERS, in_line = part % LINE_NUMBERS;
		l->n += from->n;
		if (part >= LINE_NUMBERS) {
			const uint32_t next = *chunk_next(s->p, head);
			memcpy(rest + held, chunk_at(s->p, head), (part - in_line) * sizeof *rest);
			held += part - in_line;
			chunk_put(s, head);
			head = next;
		}
		memcpy(rest + held, w[i].lines + (size_t)bucket * LINE_NUMBERS,
		       in_line * sizeof *rest);
		held += in_line;
		if (from->n >= CHUNK_NUMBERS) {
			*chunk_next(s->p, from->tail) = l->first;
			l->first = head;
		}
		if (held >= CHUNK_NUMBERS) {
			held -= CHUNK_NUMBERS;
			if (!chunk_prepend(s, l, rest, CHUNK_NUMBERS))
				return ST_RESOURCE;
			memcpy(rest, rest + CHUNK_NUMBERS, held * sizeof *rest);
		}
	}
	return held == 0 || chunk_prepend(s, l, rest, held) ? ST_OK : ST_RESOURCE;
}
