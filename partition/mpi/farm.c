/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farm.c - the farm call: arguments, memory, and leaving together.
 * May not touch: chunks under way. Costs a broadcast and an agreement. */
#include "farm.h"

#include <stdlib.h>

static hetpart_status check_root_opts(const struct farm *f, hetpart_err *err)
{
	const hetpart_mpi_farm_opts *o = &f->opts;
	size_t bytes;

	if (f->items > HETPART_ITEMS_MAX)
		return hm_fail(err, HETPART_ERANGE, "more than %llu items",
			       (unsigned long long)HETPART_ITEMS_MAX);
	if (o->rule < HETPART_CHUNK_FIXED || o->rule > HETPART_CHUNK_FACTORING)
		return hm_fail(err, HETPART_EINVAL, "'%d' is not a rule for chunks", (int)o->rule);
	if (__builtin_mul_overflow(f->items, o->item_bytes, &bytes) || bytes > PTRDIFF_MAX)
		return hm_fail(err, HETPART_ERANGE, "the items are beyond the address space");
	if (bytes > 0 && !o->data)
		return hm_fail(err, HETPART_EINVAL, "'data' is NULL");
	return HETPART_OK;
}

static hetpart_status check(struct farm *f, const hetpart_mpi_farm_opts *opts, hetpart_err *err)
{
	const bool at_root = f->h.rank == f->root;
	hetpart_status st = hm_opts_read(&f->opts, HM_END_OF(hetpart_mpi_farm_opts, max_msg_bytes),
					 sizeof f->opts, opts, err);

	if (f->opts.chunk == 0)
		f->opts.chunk = 1;
	if (f->h.size == 1)
		f->opts.root_works = true;
	if (st == HETPART_OK)
		st = hm_check_root(&f->h, f->root, err);
	if (st == HETPART_OK && !f->work && (!at_root || f->opts.root_works))
		st = hm_fail(err, HETPART_EINVAL, "'work' is NULL");
	return st == HETPART_OK && at_root ? check_root_opts(f, err) : st;
}

/* The first chunk is the largest under every rule. */
static uint64_t largest_chunk(const struct farm *f)
{
	hetpart_chunks c = { .rule = f->opts.rule,
			     .nprocs = (uint64_t)f->h.size - !f->opts.root_works,
			     .chunk = f->opts.chunk,
			     .left = f->items };

	return hetpart_chunks_next(&c);
}

/* Every rank learns the root's options and makes room for what it may be sent. */
static hetpart_status prepare(struct farm *f, hetpart_err *err)
{
	uint64_t head[6] = { f->items,           (uint64_t)f->opts.rule, f->opts.chunk,
			     f->opts.root_works, f->opts.item_bytes,     f->opts.max_msg_bytes };
	hetpart_status st = hm_bcast(&f->h, head, 6, MPI_UINT64_T, f->root, err);

	if (st == HETPART_OK) {
		f->items = head[0];
		f->opts.rule = (hetpart_chunk_rule)head[1];
		f->opts.chunk = head[2];
		f->opts.root_works = head[3] != 0;
		f->opts.item_bytes = (size_t)head[4];
		f->opts.max_msg_bytes = (size_t)head[5];
		f->room = FARM_DIRECT_BYTES;
		if (f->h.rank != f->root)
			f->room = (size_t)largest_chunk(f) * f->opts.item_bytes;
		f->buf = (char *)malloc(f->room ? f->room : 1);
		if (!f->buf)
			st = hm_fail(err, HETPART_ENOMEM, "no memory for chunks of %zu bytes",
				     f->room);
	}
	return hm_agree(&f->h, st, err);
}

hetpart_status hetpart_mpi_farm(uint64_t items, hetpart_mpi_work_fn *work, void *ctx, int root,
				MPI_Comm comm, const hetpart_mpi_farm_opts *opts, uint64_t *done,
				hetpart_err *err)
{
	struct farm f = { .opts = HETPART_MPI_FARM_OPTS_INIT,
			  .items = items,
			  .root = root,
			  .work = work,
			  .ctx = ctx };
	hetpart_err mine;
	hetpart_status st = hm_open(&f.h, comm, &mine);

	if (done)
		*done = 0;
	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	if ((st = hm_enter(&f.h, root, check(&f, opts, &mine), &mine)) == HETPART_OK)
		st = prepare(&f, &mine);
	if (st == HETPART_OK) {
		st = f.h.rank == root ? farm_serve(&f, &mine) : farm_ask(&f, &mine);
		st = hm_agree(&f.h, st, &mine);
	}
	free(f.buf);
	if (done)
		*done = f.done;
	return hm_close(&f.h, st, &mine, err);
}
