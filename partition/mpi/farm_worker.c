/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farm_worker.c - work on a chunk, and the worker's part of a farm: asks for a chunk, works on it,
 * hands in the result. May not touch: who gets which chunk. Costs a message there and back for each
 * chunk. */
#include "farm.h"

static struct hm_items bytes_as_items(const struct farm *f, const void *at, uint64_t bytes)
{
	return (struct hm_items){ (char *)(uintptr_t)at, 1, MPI_BYTE, bytes,
				  hm_piece(f->opts.max_msg_bytes, 1) };
}

hetpart_status farm_send_bytes(struct farm *f, const void *at, uint64_t bytes, int to, int tag,
			       hetpart_err *err)
{
	const struct hm_items items = bytes_as_items(f, at, bytes);

	return hm_send_items(&f->h, &items, to, tag, err);
}

hetpart_status farm_recv_bytes(struct farm *f, void *at, uint64_t bytes, int from, int tag,
			       hetpart_err *err)
{
	const struct hm_items items = bytes_as_items(f, at, bytes);

	return hm_recv_items(&f->h, &items, from, tag, err);
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
