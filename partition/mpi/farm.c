/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farm.c - the farm call: arguments, memory, and leaving together.
 * May not touch: chunks under way. Costs a broadcast and an agreement. */
#include <stdlib.h>

#include "hm.h"

#define FARM_DIRECT_BYTES ((size_t)64 << 10)

enum farm_answer { FARM_STOP, FARM_CHUNK, FARM_GO };
enum { ASK_STATUS, ASK_BYTES, ASK_FIRST, ASK_COUNT, ASK_WORDS };
enum { ANSWER_WHAT, ANSWER_FIRST, ANSWER_COUNT, ANSWER_WORDS };

struct farm {
	struct hm h;
	hetpart_mpi_farm_opts opts; /* the root's, once all know them: not the pointers */
	uint64_t items, largest;    /* largest chunk */
	int root;
	hetpart_mpi_work_fn *work;
	void *ctx;
	char *buf;     /* worker: data of a chunk; root: a result */
	size_t room;   /* bytes of buf */
	uint64_t done; /* items this rank has worked on */
};

/* farm_serve - the root's part, farm_ask - a worker's: until all items are done or some rank has
 * failed. Return what failed on this rank. */
static hetpart_status farm_serve(struct farm *f, hetpart_err *err);
static hetpart_status farm_ask(struct farm *f, hetpart_err *err);

/* farm_work - one chunk, here; the result is the callback's. */
static hetpart_status farm_work(struct farm *f, const hetpart_mpi_chunk *chunk, const void **result,
				size_t *result_bytes, hetpart_err *err);

/* farm_send_bytes, farm_recv_bytes - in pieces. */
static hetpart_status farm_send_bytes(struct farm *f, const void *at, uint64_t bytes, int to,
				      int tag, hetpart_err *err);
static hetpart_status farm_recv_bytes(struct farm *f, void *at, uint64_t bytes, int from, int tag,
				      hetpart_err *err);

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

/* farm_root.c - the root of a farm: answers requests first come first served, takes results, works
 * itself when nobody asks if it is to, and stops everybody once somebody has failed.
 * May not touch: what the work is. Costs a message for each request. */

struct service {
	struct farm *f;
	hetpart_chunks todo;
	uint64_t ask[ASK_WORDS]; /* where the next request arrives */
	MPI_Request req;
	int active;        /* workers that have not been stopped */
	bool failed;       /* nothing more is handed out */
	hetpart_status st; /* what failed here */
};

static void note(struct service *s, hetpart_status st)
{
	if (st == HETPART_OK)
		return;
	s->failed = true;
	if (s->st == HETPART_OK)
		s->st = st;
}

/* err keeps the words of the first failure here. */
static hetpart_err *words(struct service *s, hetpart_err *err, hetpart_err *spare)
{
	return s->st == HETPART_OK ? err : spare;
}

static hetpart_mpi_chunk take_off(struct service *s, uint64_t size)
{
	const hetpart_mpi_farm_opts *o = &s->f->opts;
	const uint64_t first = s->f->items - s->todo.left - size;
	const char *data = (const char *)o->data;

	return (hetpart_mpi_chunk){ first, size,
				    o->item_bytes ? data + first * o->item_bytes : NULL };
}

static hetpart_status answer(struct service *s, int worker, enum farm_answer what,
			     const hetpart_mpi_chunk *chunk, hetpart_err *err)
{
	const uint64_t words_[ANSWER_WORDS] = { what, chunk ? chunk->first : 0,
						chunk ? chunk->count : 0 };
	hetpart_status st =
		hm_send(&s->f->h, words_, ANSWER_WORDS, MPI_UINT64_T, worker, HM_ANSWER, err);

	if (st == HETPART_OK && chunk)
		st = farm_send_bytes(s->f, chunk->data, chunk->count * s->f->opts.item_bytes,
				     worker, HM_ITEMS, err);
	return st;
}

static hetpart_status stop(struct service *s, int worker, hetpart_err *err)
{
	s->active--;
	return answer(s, worker, FARM_STOP, NULL, err);
}

static hetpart_status give(struct service *s, int worker, hetpart_err *err)
{
	const hetpart_mpi_chunk chunk = take_off(s, hetpart_chunks_next(&s->todo));

	return answer(s, worker, FARM_CHUNK, &chunk, err);
}

/* ------------------------------------------------------------------------------ the results */

static hetpart_status take(struct service *s, int rank, const hetpart_mpi_chunk *chunk,
			   const void *result, size_t bytes, hetpart_err *err)
{
	const hetpart_mpi_chunk told = { chunk->first, chunk->count, NULL };
	hetpart_status st;

	if (!s->f->opts.take || s->failed)
		return HETPART_OK;
	err->text[0] = 0;
	st = s->f->opts.take(s->f->ctx, rank, &told, bytes ? result : NULL, bytes, err);
	if (st != HETPART_OK && err->text[0] == 0)
		return hm_fail(err, st, "a result of rank %d was not taken", rank);
	return st;
}

static hetpart_status grow(struct farm *f, size_t bytes, hetpart_err *err)
{
	char *more = (char *)malloc(bytes);

	if (!more)
		return hm_fail(err, HETPART_ENOMEM, "no memory for a result of %zu bytes", bytes);
	free(f->buf);
	f->buf = more;
	f->room = bytes;
	return HETPART_OK;
}

/* The result that the request announces. *stopped: there was no room, the worker has been told. */
static hetpart_status receive(struct service *s, int worker, bool *stopped, hetpart_err *err)
{
	const size_t bytes = (size_t)s->ask[ASK_BYTES];
	hetpart_status st = HETPART_OK;

	if (bytes > FARM_DIRECT_BYTES) {
		if (bytes > s->f->room)
			st = grow(s->f, bytes, err);
		if (st != HETPART_OK || s->failed) {
			hetpart_err spare;

			*stopped = true;
			note(s, stop(s, worker, &spare));
			return st;
		}
		st = answer(s, worker, FARM_GO, NULL, err);
	}
	return st == HETPART_OK ? farm_recv_bytes(s->f, s->f->buf, bytes, worker, HM_RESULT, err)
				: st;
}

/* --------------------------------------------------------------------------------- requests */

/* A worker has asked: what it brings, then what it gets. */
static void serve(struct service *s, int worker, hetpart_err *err)
{
	const hetpart_mpi_chunk chunk = { s->ask[ASK_FIRST], s->ask[ASK_COUNT], NULL };
	const size_t bytes = (size_t)s->ask[ASK_BYTES];
	hetpart_err spare;
	bool stopped = false;

	if (s->ask[ASK_STATUS] != HETPART_OK) { /* it has left already */
		s->failed = true;
		s->active--;
		return;
	}
	note(s, receive(s, worker, &stopped, words(s, err, &spare)));
	if (chunk.count > 0 && !stopped)
		note(s, take(s, worker, &chunk, s->f->buf, bytes, words(s, err, &spare)));
	if (stopped)
		return;
	if (s->failed || s->todo.left == 0)
		note(s, stop(s, worker, words(s, err, &spare)));
	else
		note(s, give(s, worker, words(s, err, &spare)));
}

static hetpart_status listen(struct service *s, hetpart_err *err)
{
	return hm_mpi(MPI_Irecv(s->ask, ASK_WORDS, MPI_UINT64_T, MPI_ANY_SOURCE, HM_ASK,
				s->f->h.comm, &s->req),
		      "MPI_Irecv", err);
}

/* Serve a request if there is one. */
static hetpart_status serve_if_asked(struct service *s, bool *asked, hetpart_err *err)
{
	MPI_Status from;
	int flag = 0;
	hetpart_status st;

	*asked = false;
	if (s->active == 0)
		return HETPART_OK;
	st = hm_mpi(MPI_Test(&s->req, &flag, &from), "a request", err);
	if (st != HETPART_OK || !flag)
		return st;
	*asked = true;
	serve(s, from.MPI_SOURCE, err);
	return s->active > 0 ? listen(s, err) : HETPART_OK;
}

/* A chunk for the root itself: the smallest, so that no worker waits long. */
static void work_here(struct service *s, hetpart_err *err)
{
	const uint64_t size = s->todo.chunk < s->todo.left ? s->todo.chunk : s->todo.left;
	const void *result;
	size_t bytes;
	hetpart_mpi_chunk chunk;
	hetpart_status st;

	s->todo.left -= size;
	chunk = take_off(s, size);
	st = farm_work(s->f, &chunk, &result, &bytes, err);
	if (st == HETPART_OK)
		st = take(s, s->f->h.rank, &chunk, result, bytes, err);
	note(s, st);
}

static hetpart_status farm_serve(struct farm *f, hetpart_err *err)
{
	const bool works = f->opts.root_works;
	struct service s = { .f = f,
			     .todo = { .rule = f->opts.rule,
				       .nprocs = (uint64_t)f->h.size - !works,
				       .chunk = f->opts.chunk,
				       .left = f->items },
			     .active = f->h.size - 1,
			     .req = MPI_REQUEST_NULL };
	hetpart_status st = s.active > 0 ? listen(&s, err) : HETPART_OK;
	unsigned tries = 0;

	while (st == HETPART_OK && (s.active > 0 || (works && !s.failed && s.todo.left > 0))) {
		bool asked;

		st = serve_if_asked(&s, &asked, err);
		if (st != HETPART_OK || asked)
			tries = 0;
		else if (works && !s.failed && s.todo.left > 0)
			work_here(&s, err);
		else
			hm_nap(&f->h, &tries);
	}
	hm_drop(&s.req);
	return s.st != HETPART_OK ? s.st : st;
}

/* farm_worker.c - work on a chunk, and the worker's part of a farm: asks for a chunk, works on it,
 * hands in the result. May not touch: who gets which chunk. Costs a message there and back for each
 * chunk. */

static struct hm_items bytes_as_items(const struct farm *f, const void *at, uint64_t bytes)
{
	return (struct hm_items){ (char *)(uintptr_t)at, 1, MPI_BYTE, bytes,
				  hm_piece(f->opts.max_msg_bytes, 1) };
}

static hetpart_status farm_send_bytes(struct farm *f, const void *at, uint64_t bytes, int to,
				      int tag, hetpart_err *err)
{
	const struct hm_items items = bytes_as_items(f, at, bytes);

	return hm_send_items(&f->h, &items, to, tag, err);
}

static hetpart_status farm_recv_bytes(struct farm *f, void *at, uint64_t bytes, int from, int tag,
				      hetpart_err *err)
{
	const struct hm_items items = bytes_as_items(f, at, bytes);

	return hm_recv_items(&f->h, &items, from, tag, err);
}

static hetpart_status farm_work(struct farm *f, const hetpart_mpi_chunk *chunk, const void **result,
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

static hetpart_status farm_ask(struct farm *f, hetpart_err *err)
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
