/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farm.c - the farm call: arguments, memory, the worker's part, and leaving together.
 * May not touch: who gets which chunk. Costs a message there and back for each chunk. */
#include "farm.h"

#include <stdlib.h>

#include "../farm/chunk.h"

static struct hm_run bytes_run(const struct farm *f, const void *at, uint64_t bytes)
{
	return (struct hm_run){ (char *)(uintptr_t)at, 1, MPI_BYTE, bytes,
				hm_piece(f->opts.max_msg_bytes, 1) };
}

hetpart_status farm_send_bytes(struct farm *f, const void *at, uint64_t bytes, int to, int tag,
			       hetpart_err *err)
{
	const struct hm_run run = bytes_run(f, at, bytes);

	return hm_send_run(&f->h, &run, to, tag, err);
}

hetpart_status farm_recv_bytes(struct farm *f, void *at, uint64_t bytes, int from, int tag,
			       hetpart_err *err)
{
	const struct hm_run run = bytes_run(f, at, bytes);

	return hm_recv_run(&f->h, &run, from, tag, err);
}

hetpart_status farm_work(struct farm *f, const hetpart_mpi_chunk *chunk, const void **result,
			 size_t *result_bytes, hetpart_err *err)
{
	hetpart_status st;

	*result = NULL;
	*result_bytes = 0;
	err->text[0] = 0;
	st = f->work(f->ctx, chunk, result, result_bytes, err);
	if (st != HETPART_OK) {
		if (err->text[0] == 0)
			return hm_fail(err, st, "work failed on %llu items from number %llu",
				       (unsigned long long)chunk->count,
				       (unsigned long long)chunk->first);
		return st;
	}
	if (!*result && *result_bytes > 0)
		return hm_fail(err, HETPART_EINVAL, "a result of %zu bytes is at NULL",
			       *result_bytes);
	f->done += chunk->count;
	return HETPART_OK;
}

/* -------------------------------------------------------------------------------------- the worker
 */

/* Say what became of the last chunk, and hand in its result; *stop: the root does not want it. */
static hetpart_status report(struct farm *f, const hetpart_mpi_chunk *chunk, hetpart_status st,
			     const void *result, size_t bytes, bool *stop, hetpart_err *err)
{
	const uint64_t ask[ASK_WORDS] = { (uint64_t)st, bytes, chunk->first, chunk->count };
	uint64_t answer[ANSWER_WORDS] = { FARM_GO, 0, 0 };

	st = hm_send(&f->h, ask, ASK_WORDS, MPI_UINT64_T, f->root, HM_ASK, err);
	if (st == HETPART_OK && bytes > FARM_DIRECT_BYTES)
		st = hm_recv(&f->h, answer, ANSWER_WORDS, MPI_UINT64_T, f->root, HM_ANSWER, err);
	*stop = answer[ANSWER_WHAT] == FARM_STOP;
	if (st == HETPART_OK && !*stop)
		st = farm_send_bytes(f, result, bytes, f->root, HM_RESULT, err);
	return st;
}

static hetpart_status next_chunk(struct farm *f, hetpart_mpi_chunk *chunk, bool *stop,
				 hetpart_err *err)
{
	uint64_t answer[ANSWER_WORDS] = { FARM_STOP, 0, 0 };
	hetpart_status st =
		hm_recv(&f->h, answer, ANSWER_WORDS, MPI_UINT64_T, f->root, HM_ANSWER, err);

	*stop = answer[ANSWER_WHAT] == FARM_STOP;
	if (st != HETPART_OK || *stop)
		return st;
	*chunk = (hetpart_mpi_chunk){ answer[ANSWER_FIRST], answer[ANSWER_COUNT],
				      f->opts.item_bytes ? f->buf : NULL };
	return farm_recv_bytes(f, f->buf, chunk->count * f->opts.item_bytes, f->root, HM_ITEMS,
			       err);
}

hetpart_status farm_ask(struct farm *f, hetpart_err *err)
{
	hetpart_mpi_chunk chunk = { 0, 0, NULL };
	const void *result = NULL;
	size_t bytes = 0;
	bool stop = false;
	hetpart_status st = HETPART_OK;

	for (;;) {
		st = report(f, &chunk, HETPART_OK, result, bytes, &stop, err);
		if (st == HETPART_OK && !stop)
			st = next_chunk(f, &chunk, &stop, err);
		if (st != HETPART_OK || stop)
			return st;
		st = farm_work(f, &chunk, &result, &bytes, err);
		if (st != HETPART_OK) {
			hetpart_err unheard; /* the root leaves with us, whatever it hears */
			const hetpart_status told = report(f, &chunk, st, NULL, 0, &stop, &unheard);

			return told == HETPART_OK ? st : told;
		}
	}
}

/* ---------------------------------------------------------------------------------------- the call
 */

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
	hetpart_status st = hm_opts_read(&f->opts, sizeof f->opts, opts, err);

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
	struct chunker c = { .rule = f->opts.rule,
			     .n = (uint64_t)f->h.size - !f->opts.root_works,
			     .chunk = f->opts.chunk,
			     .left = f->items };

	return chunk_next(&c);
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
