/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The greatest record before a splitter, over all ranks, has the key that must not go on behind it.
 * Rank j is in charge of splitter j: each rank tells it the greatest of its own, and it tells all.
 * Two messages a rank and splitter. */
#include "key_borders.h"

/* What a rank has before a splitter; stride 8 + item_bytes. */
typedef struct last_before {
	uint64_t any; /* 0: nothing */
	item it;
} last_before;

typedef struct key_borders {
	size_t p, stride;
	layout lay;
	unsigned char *own, *all; /* [p] */
} key_borders;

static last_before *at(const key_borders *b, unsigned char *base, size_t i)
{
	return (void *)(base + i * b->stride);
}

static status borders_open(key_borders *b, comm *c, mem *m, const layout *l, err *er)
{
	*b = (key_borders){ .p = (size_t)c->size,
			    .stride = offsetof(last_before, it) + item_bytes(l),
			    .lay = *l };
	b->own = mem_array(m, b->p, b->stride, "splitters", er);
	b->all = mem_array(m, b->p, b->stride, "splitters", er);
	return comm_agree(c, b->own && b->all ? ST_OK : ST_RESOURCE);
}

static void borders_close(key_borders *b, mem *m)
{
	mem_free(m, b->own);
	mem_free(m, b->all);
}

static void take_greater(const key_borders *b, last_before *to, const last_before *from)
{
	if (from->any && (!to->any || item_cmp(&to->it, &from->it, &b->lay) < 0))
		memcpy(to, from, b->stride);
}

/* From what each rank has before each splitter, in own, to what all have, in all; made greater than
 * any record with that key. */
static status find_borders(const key_borders *b, comm *c)
{
	status rc = comm_alltoall(c, b->own, b->all, b->stride);
	if (rc != ST_OK)
		return rc;
	last_before *mine = at(b, b->own, 0);
	mine->any = 0;
	for (size_t i = 0; i < b->p; i++)
		take_greater(b, mine, at(b, b->all, i));
	mine->it.rank = UINT64_MAX;
	return comm_allgather(c, mine, b->all, b->stride);
}

static void last_of_runs(const key_borders *b, sorted *s, const uint64_t *cut, last_before *to,
			 last_before *room)
{
	for (size_t k = 0; k < s->count; k++) {
		room->any = cut[k] > s->start[k];
		if (room->any)
			s->ops->item(s, cut[k] - 1, &room->it);
		take_greater(b, to, room);
	}
}

status key_borders_move(comm *c, mem *m, sorted *s, uint64_t *cut, err *er)
{
	key_borders b;
	status rc = borders_open(&b, c, m, &s->lay, er);
	for (size_t j = 0; rc == ST_OK && j + 1 < b.p; j++)
		last_of_runs(&b, s, cut + (j + 1) * s->count, at(&b, b.own, j), at(&b, b.all, 0));
	if (rc == ST_OK)
		rc = comm_agree(c, sorted_failure(s, er));
	if (rc == ST_OK)
		rc = find_borders(&b, c);
	for (size_t j = 0; rc == ST_OK && j + 1 < b.p; j++) {
		uint64_t *to = cut + (j + 1) * s->count;
		const last_before *last = at(&b, b.all, j);
		for (size_t k = 0; last->any && k < s->count; k++)
			to[k] = s->ops->before(s, to[k], s->start[k + 1], &last->it);
	}
	rc = comm_agree(c, rc == ST_OK ? sorted_failure(s, er) : rc);
	borders_close(&b, m);
	return rc;
}
