/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0 has room for about ROUND_BYTES of a round, or one item of each rank. */
#include "collect.h"
#include "base/minmax.h"

#include <string.h>

enum { ROUND_BYTES = 2 << 20, MOST_ITEMS = 64, HAND_OUT_BYTES = 64 << 10 };

/* What comes of the ranks in a round goes behind what came of each before: in[i] is where. */
typedef struct collecting {
	uint64_t *count, *at; /* [size] items of each rank; where its next one goes */
	unsigned char *round;
	unsigned char *all;
} collecting;

static status add_up(comm *c, collecting *x, size_t *count, uint64_t *most, err *e)
{
	uint64_t sum = 0;
	*most = 0;
	for (int i = 0; i < c->size; i++) {
		x->at[i] = sum;
		*most = u64_max(*most, x->count[i]);
		if (__builtin_add_overflow(sum, x->count[i], &sum) || sum > SIZE_MAX / 2)
			return err_set(e, ST_PEER, "the ranks announce too many runs");
	}
	*count = (size_t)sum;
	return ST_OK;
}

/* Items [done, done + k) of each rank that has as many. */
static void put_round(const comm *c, const collecting *x, uint64_t done, size_t k, size_t bytes)
{
	for (int i = 0; i < c->size; i++) {
		const uint64_t left = x->count[i] > done ? x->count[i] - done : 0;
		memcpy(x->all + (x->at[i] + done) * bytes, x->round + (size_t)i * k * bytes,
		       (size_t)u64_min(left, k) * bytes);
	}
}

static status move_rounds(comm *c, const collecting *x, const unsigned char *mine, size_t n,
			  uint64_t most, size_t k, size_t bytes, unsigned char *out)
{
	status rc = ST_OK;
	for (uint64_t done = 0; rc == ST_OK && done < most; done += k) {
		memset(out, 0, k * bytes);
		if (done < n)
			memcpy(out, mine + done * bytes, size_min(k, n - (size_t)done) * bytes);
		rc = comm_gather(c, out, x->round, k * bytes, 0);
		if (rc == ST_OK && c->rank == 0)
			put_round(c, x, done, k, bytes);
	}
	return rc;
}

status collect_items(comm *c, mem *m, const void *mine, size_t n, size_t bytes, void **all,
		     size_t *count, err *e)
{
	const size_t p = (size_t)c->size, root = c->rank == 0 ? p : 0;
	const size_t k = size_max(1, size_min(MOST_ITEMS, ROUND_BYTES / bytes / p));
	const uint64_t own = n;
	uint64_t most = 0;
	unsigned char *out = mem_array(m, k, bytes, "runs", e);
	collecting x = { .count = mem_array(m, root, sizeof *x.count, "runs", e),
			 .at = mem_array(m, root, sizeof *x.at, "runs", e),
			 .round = mem_array(m, root * k, bytes, "runs", e) };
	*all = NULL;
	*count = 0;
	status rc = comm_agree(c, out && x.count && x.at && x.round ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_gather(c, &own, x.count, sizeof own, 0);
	if (rc == ST_OK && c->rank == 0)
		rc = add_up(c, &x, count, &most, e);
	if (rc == ST_OK && c->rank == 0) {
		*all = x.all = mem_array(m, *count, bytes, "runs", e);
		rc = x.all ? ST_OK : ST_RESOURCE;
	}
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_bcast(c, &most, sizeof most, 0);
	if (rc == ST_OK)
		rc = move_rounds(c, &x, mine, n, most, k, bytes, out);
	mem_free(m, out);
	mem_free(m, x.count);
	mem_free(m, x.at);
	mem_free(m, x.round);
	return rc;
}

status hand_out_items(comm *c, mem *m, const void *all, size_t count, size_t bytes,
		      collect_take *take, void *arg, err *e)
{
	const size_t k = size_max(1, HAND_OUT_BYTES / bytes);
	uint64_t left = count;
	status taken = ST_OK;
	unsigned char *round = mem_array(m, k, bytes, "runs", e);
	status rc = comm_agree(c, round ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_bcast(c, &left, sizeof left, 0);
	for (size_t done = 0; rc == ST_OK && left > 0; done += k) {
		const size_t some = (size_t)u64_min(left, k);
		if (c->rank == 0)
			memcpy(round, (const unsigned char *)all + done * bytes, some * bytes);
		rc = comm_bcast(c, round, some * bytes, 0);
		for (size_t i = 0; rc == ST_OK && taken == ST_OK && i < some; i++)
			taken = take(arg, round + i * bytes, e);
		left -= some;
	}
	mem_free(m, round);
	return rc == ST_OK ? taken : rc;
}
