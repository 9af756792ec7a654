/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chunk.h - how many items a farm hands out next, for the simulated farm and the real one.
 * May not touch: anything else. Costs nothing. */
#ifndef HETPART_CHUNK_H
#define HETPART_CHUNK_H

#include "hetpart.h"

struct chunker {
	hetpart_chunk_rule rule;
	uint64_t n;                      /* processors, >= 1 */
	uint64_t chunk;                  /* the size, or the smallest size, >= 1 */
	uint64_t left;                   /* items not yet handed out */
	uint64_t batch_size, batch_left; /* factoring: chunks of one size still to hand out */
};

static inline uint64_t chunk_part(uint64_t left, uint64_t n)
{
	return left / n + (left % n != 0);
}

/* chunk_next - size of the next chunk, by the rule; never below the smallest, never above what is
 * left, from which it is taken. */
static inline uint64_t chunk_next(struct chunker *c)
{
	uint64_t size = c->chunk;

	if (c->rule == HETPART_CHUNK_GUIDED)
		size = chunk_part(c->left, c->n);
	if (c->rule == HETPART_CHUNK_FACTORING) {
		if (c->batch_left == 0) {
			c->batch_size = chunk_part(chunk_part(c->left, 2), c->n);
			c->batch_left = c->n;
		}
		c->batch_left--;
		size = c->batch_size;
	}
	if (size < c->chunk)
		size = c->chunk;
	if (size > c->left)
		size = c->left;
	c->left -= size;
	return size;
}

#endif
