/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farm_root.c - the root of a farm: answers requests first come first served, takes results, works
 * itself when nobody asks if it is to, and stops everybody once somebody has failed.
 * May not touch: what the work is. Costs a message for each request. */
#include "farm.h"

#include <stdlib.h>

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

hetpart_status farm_serve(struct farm *f, hetpart_err *err)
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
