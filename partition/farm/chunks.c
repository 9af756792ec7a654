/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chunks.c - how many items a farm hands out next, for the simulated farm and for real ones.
 * May not touch: who gets them. Costs O(1) for a chunk. */
#include "base/part.h"

uint64_t hetpart_chunks_next(hetpart_chunks *c)
{
	uint64_t size;

	if (!c || c->nprocs == 0 || c->left == 0)
		return 0;
	size = c->chunk;
	if (c->rule == HETPART_CHUNK_GUIDED)
		size = divide_up(c->left, c->nprocs);
	if (c->rule == HETPART_CHUNK_FACTORING) {
		if (c->batch_left == 0) {
			c->batch_chunk = divide_up(divide_up(c->left, 2), c->nprocs);
			c->batch_left = c->nprocs;
		}
		c->batch_left--;
		size = c->batch_chunk;
	}
	size = min_u64(max_u64(size, max_u64(c->chunk, 1)), c->left);
	c->left -= size;
	return size;
}
