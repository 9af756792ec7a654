/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpi_farm.c - the farm call: the root hands out chunks of items to ranks that ask for work.
 *
 * A worker sends a request (HM_ASK), which contains the status of its last chunk and the size of
 * the result. It then sends the result, and the root answers with the next chunk, or with
 * FARM_STOP. If the result is larger than FARM_DIRECT_BYTES, the worker first waits until the root
 * has allocated memory and answers FARM_GO. The root serves requests in the order in which they
 * arrive. If opts.root_works, it processes chunks itself while no request has arrived.
 *
 * After a failure on any rank, the root hands out no more chunks and stops every worker that asks.
 * A worker whose work failed reports the failure in its request, and does not wait for an answer.
 * At the end, all ranks agree on the status.
 *
 * A farm takes a request and an answer for each chunk, a broadcast and an agreement. */
#include <stdlib.h>

#include "hm.h"

#define FARM_DIRECT_BYTES ((size_t)64 << 10)

typedef enum farm_verdict { FARM_STOP, FARM_CHUNK, FARM_GO } farm_verdict;
enum { ASK_STATUS, ASK_BYTES, ASK_FIRST, ASK_COUNT, ASK_WORDS };
enum { ANSWER_VERDICT, ANSWER_FIRST, ANSWER_COUNT, ANSWER_WORDS };

typedef struct farm {
	hm h;
	hetpart_mpi_farm_opts opts; /* after farm_prepare() the root's, except for pointers */
	uint64_t items;
	int root;
	hetpart_mpi_work_fn *work;
	void *ctx;
	char *buf;     /* worker: data of a chunk; root: a result */
	size_t room;   /* bytes of buf */
	uint64_t done; /* items that this rank has processed */
} farm;

/* Describe bytes as items of 1 byte. */
static hm_items farm_bytes(const farm *f, const void *at, uint64_t bytes)
{
	return (hm_items){ .at = (char *)(uintptr_t)at,
			   .type = MPI_BYTE,
			   .count = bytes,
			   .piece = hm_piece(f->opts.max_msg_bytes, 1),
			   .extent = 1,
			   .bytes = 1 };
}

static hetpart_status farm_send_bytes(farm *f, const void *at, uint64_t bytes, int to, int tag)
{
	const hm_items items = farm_bytes(f, at, bytes);
	return hm_send_items(&f->h, &items, to, tag);
}

static hetpart_status farm_recv_bytes(farm *f, void *at, uint64_t bytes, int from, int tag)
{
	const hm_items items = farm_bytes(f, at, bytes);
	return hm_recv_items(&f->h, &items, from, tag);
}

static hetpart_chunks farm_chunks(const farm *f)
{
	return (hetpart_chunks){ .rule = f->opts.rule,
				 .nprocs = (uint64_t)f->h.size - !f->opts.root_works,
				 .chunk = f->opts.chunk,
				 .left = f->items };
}

/* Process a chunk on this rank. The callback owns the memory of the result. */
static hetpart_status farm_work(farm *f, const hetpart_mpi_chunk *chunk, const void **result,
				size_t *result_bytes)
{
	hetpart_err why = { .status = HETPART_OK };
	*result = NULL;
	*result_bytes = 0;
	const hetpart_status st = f->work(f->ctx, chunk, result, result_bytes, &why);
	if (st != HETPART_OK && why.text[0])
		return hm_fail(&f->h, st, "%s", why.text);
	if (st != HETPART_OK)
		return hm_fail(&f->h, st, "work failed on %llu items from number %llu",
			       (unsigned long long)chunk->count, (unsigned long long)chunk->first);
	if (!*result && *result_bytes > 0)
		return hm_invalid(&f->h, "a result of %zu bytes is at NULL", *result_bytes);
	f->done += chunk->count;
	return HETPART_OK;
}

/* ------------------------------------------------------------------------------------ the root */

typedef struct farm_service {
	farm *f;
	hetpart_chunks todo;
	uint64_t ask[ASK_WORDS]; /* the buffer of the next request */
	MPI_Request req;
	int active;        /* workers that have neither been stopped nor failed */
	bool failed;       /* hand out no more chunks */
	hetpart_status st; /* the first failure of the root */
} farm_service;

/* If st is a failure, stop handing out chunks, and store it if it is the first. */
static void service_note(farm_service *s, hetpart_status st)
{
	if (st == HETPART_OK)
		return;
	s->failed = true;
	if (s->st == HETPART_OK)
		s->st = st;
}

/* Return the chunk of `size` items that the caller has just subtracted from todo.left. */
static hetpart_mpi_chunk service_chunk(farm_service *s, uint64_t size)
{
	const hetpart_mpi_farm_opts *const o = &s->f->opts;
	const uint64_t first = s->f->items - s->todo.left - size;
	const char *const data = (const char *)o->data;
	return (hetpart_mpi_chunk){ first, size,
				    o->item_bytes ? data + first * o->item_bytes : NULL };
}

/* Answer a request; chunk is NULL unless the verdict is FARM_CHUNK. */
static hetpart_status service_answer(farm_service *s, int worker, farm_verdict verdict,
				     const hetpart_mpi_chunk *chunk)
{
	const uint64_t words[ANSWER_WORDS] = { verdict, chunk ? chunk->first : 0,
					       chunk ? chunk->count : 0 };
	hetpart_status st = hm_send(&s->f->h, words, ANSWER_WORDS, MPI_UINT64_T, worker, HM_ANSWER);
	if (st == HETPART_OK && chunk)
		st = farm_send_bytes(s->f, chunk->data, chunk->count * s->f->opts.item_bytes,
				     worker, HM_ITEMS);
	return st;
}

static void service_stop(farm_service *s, int worker)
{
	s->active--;
	service_note(s, service_answer(s, worker, FARM_STOP, NULL));
}

/* Pass a result to the caller's callback. */
static void service_take(farm_service *s, int rank, const hetpart_mpi_chunk *chunk,
			 const void *result, size_t bytes)
{
	const hetpart_mpi_chunk without_data = { chunk->first, chunk->count, NULL };
	hetpart_err why = { .status = HETPART_OK };
	if (!s->f->opts.take || s->failed)
		return;
	const hetpart_status st =
		s->f->opts.take(s->f->ctx, rank, &without_data, bytes ? result : NULL, bytes, &why);
	if (st != HETPART_OK && why.text[0])
		hm_set_err(&s->f->h, st, "%s", why.text);
	else if (st != HETPART_OK)
		hm_set_err(&s->f->h, st, "a result of rank %d was not taken", rank);
	service_note(s, st);
}

/* Receive the result whose size is in the request. Return false if the worker was stopped instead,
 * because the result is large and the farm has failed, for example for lack of memory. */
static bool service_receive(farm_service *s, int worker)
{
	farm *const f = s->f;
	const size_t bytes = (size_t)s->ask[ASK_BYTES];
	hetpart_status st = HETPART_OK;
	if (bytes > f->room) {
		char *const more = (char *)malloc(bytes);
		if (more) {
			free(f->buf);
			f->buf = more;
			f->room = bytes;
		} else
			service_note(s, hm_fail(&f->h, HETPART_ENOMEM,
						"no memory for a result of %zu bytes", bytes));
	}
	if (bytes > FARM_DIRECT_BYTES && s->failed) {
		service_stop(s, worker);
		return false;
	}
	if (bytes > FARM_DIRECT_BYTES)
		st = service_answer(s, worker, FARM_GO, NULL);
	if (st == HETPART_OK)
		st = farm_recv_bytes(f, f->buf, bytes, worker, HM_RESULT);
	service_note(s, st);
	return true;
}

/* Serve the request of a worker: receive its result, and give it a chunk or stop it. */
static void service_serve(farm_service *s, int worker)
{
	const hetpart_mpi_chunk chunk = { s->ask[ASK_FIRST], s->ask[ASK_COUNT], NULL };
	if (s->ask[ASK_STATUS] != HETPART_OK) { /* it does not wait for an answer */
		s->failed = true;
		s->active--;
		return;
	}
	if (!service_receive(s, worker))
		return;
	if (chunk.count > 0)
		service_take(s, worker, &chunk, s->f->buf, (size_t)s->ask[ASK_BYTES]);
	if (s->failed || s->todo.left == 0) {
		service_stop(s, worker);
	} else {
		const hetpart_mpi_chunk next = service_chunk(s, hetpart_chunks_next(&s->todo));
		service_note(s, service_answer(s, worker, FARM_CHUNK, &next));
	}
}

static hetpart_status service_listen(farm_service *s)
{
	return hm_mpi(&s->f->h,
		      MPI_Irecv(s->ask, ASK_WORDS, MPI_UINT64_T, MPI_ANY_SOURCE, HM_ASK,
				s->f->h.comm, &s->req),
		      "MPI_Irecv");
}

/* Serve until all items are done or a rank has failed. Return the failure of the root. */
static hetpart_status farm_serve(farm *f)
{
	const bool works = f->opts.root_works;
	farm_service s = {
		.f = f, .todo = farm_chunks(f), .active = f->h.size - 1, .req = MPI_REQUEST_NULL
	};
	hetpart_status st = s.active > 0 ? service_listen(&s) : HETPART_OK;
	unsigned tries = 0;
	while (st == HETPART_OK && (s.active > 0 || (works && !s.failed && s.todo.left > 0))) {
		MPI_Status from;
		int asked = 0;
		if (s.active > 0)
			st = hm_mpi(&f->h, MPI_Test(&s.req, &asked, &from), "a request");
		if (st == HETPART_OK && asked) {
			service_serve(&s, from.MPI_SOURCE);
			st = s.active > 0 ? service_listen(&s) : HETPART_OK;
			tries = 0;
		} else if (st == HETPART_OK && works && !s.failed && s.todo.left > 0) {
			/* process a chunk here, the smallest, so that no worker waits long */
			const uint64_t left = s.todo.left;
			const uint64_t size = s.todo.chunk < left ? s.todo.chunk : left;
			s.todo.left -= size;
			const hetpart_mpi_chunk chunk = service_chunk(&s, size);
			const void *result;
			size_t bytes;
			const hetpart_status done = farm_work(f, &chunk, &result, &bytes);
			if (done == HETPART_OK)
				service_take(&s, f->h.rank, &chunk, result, bytes);
			service_note(&s, done);
		} else if (st == HETPART_OK) {
			hm_nap(&f->h, &tries);
		}
	}
	hm_drop(&s.req);
	return s.st != HETPART_OK ? s.st : st;
}

/* ---------------------------------------------------------------------------------- the workers */

/* Send a request with the status of the last chunk, and then its result. Set *stop to whether the
 * root refused the result and stopped this rank. */
static hetpart_status farm_report(farm *f, const uint64_t ask[ASK_WORDS], const void *result,
				  bool *stop)
{
	const size_t bytes = (size_t)ask[ASK_BYTES];
	uint64_t answer[ANSWER_WORDS] = { FARM_GO, 0, 0 };
	hetpart_status st = hm_send(&f->h, ask, ASK_WORDS, MPI_UINT64_T, f->root, HM_ASK);
	if (st == HETPART_OK && bytes > FARM_DIRECT_BYTES)
		st = hm_recv(&f->h, answer, ANSWER_WORDS, MPI_UINT64_T, f->root, HM_ANSWER);
	*stop = answer[ANSWER_VERDICT] == FARM_STOP;
	if (st == HETPART_OK && !*stop)
		st = farm_send_bytes(f, result, bytes, f->root, HM_RESULT);
	return st;
}

/* Ask for chunks and process them until the root stops this rank. Return the failure of this rank.
 */
static hetpart_status farm_ask(farm *f)
{
	hetpart_mpi_chunk chunk = { 0, 0, NULL };
	const void *result = NULL;
	size_t bytes = 0;
	bool stop = false;
	for (;;) {
		const uint64_t ask[ASK_WORDS] = { HETPART_OK, bytes, chunk.first, chunk.count };
		uint64_t answer[ANSWER_WORDS] = { FARM_STOP, 0, 0 };
		hetpart_status st = farm_report(f, ask, result, &stop);
		if (st == HETPART_OK && !stop)
			st = hm_recv(&f->h, answer, ANSWER_WORDS, MPI_UINT64_T, f->root, HM_ANSWER);
		if (st != HETPART_OK || answer[ANSWER_VERDICT] == FARM_STOP)
			return st;
		chunk = (hetpart_mpi_chunk){ answer[ANSWER_FIRST], answer[ANSWER_COUNT],
					     f->opts.item_bytes ? f->buf : NULL };
		st = farm_recv_bytes(f, f->buf, chunk.count * f->opts.item_bytes, f->root,
				     HM_ITEMS);
		if (st != HETPART_OK)
			return st;
		st = farm_work(f, &chunk, &result, &bytes);
		if (st != HETPART_OK) {
			const uint64_t failed[ASK_WORDS] = { (uint64_t)st, 0, chunk.first,
							     chunk.count };
			const hetpart_status sent = farm_report(f, failed, NULL, &stop);
			return sent == HETPART_OK ? st : sent;
		}
	}
}

/* ------------------------------------------------------------------------------------- the call */

static hetpart_status farm_check(farm *f, const hetpart_mpi_farm_opts *opts)
{
	const bool at_root = f->h.rank == f->root;
	hetpart_mpi_farm_opts *const o = &f->opts;
	hetpart_status st = hm_opts_read(&f->h, o, HM_END_OF(hetpart_mpi_farm_opts, max_msg_bytes),
					 sizeof *o, opts);
	if (o->chunk == 0)
		o->chunk = 1;
	if (f->h.size == 1)
		o->root_works = true;
	if (st == HETPART_OK)
		st = hm_check_root(&f->h, f->root);
	if (st == HETPART_OK && !f->work && (!at_root || o->root_works))
		st = hm_invalid(&f->h, "'work' is NULL");
	if (st != HETPART_OK || !at_root)
		return st;
	size_t bytes;
	if (f->items > HETPART_ITEMS_MAX)
		return hm_fail(&f->h, HETPART_ERANGE, "more than %llu items",
			       (unsigned long long)HETPART_ITEMS_MAX);
	if (o->rule < HETPART_CHUNK_FIXED || o->rule > HETPART_CHUNK_FACTORING)
		return hm_invalid(&f->h, "'%d' is not a rule for chunks", (int)o->rule);
	if (__builtin_mul_overflow(f->items, o->item_bytes, &bytes) || bytes > PTRDIFF_MAX)
		return hm_fail(&f->h, HETPART_ERANGE, "the items are beyond the address space");
	if (bytes > 0 && !o->data)
		return hm_invalid(&f->h, "'data' is NULL");
	return HETPART_OK;
}

/* Broadcast the root's options, and allocate a buffer for the largest chunk, which is the first by
 * every rule. */
static hetpart_status farm_prepare(farm *f)
{
	hetpart_mpi_farm_opts *const o = &f->opts;
	uint64_t head[6] = { f->items,      (uint64_t)o->rule, o->chunk,
			     o->root_works, o->item_bytes,     o->max_msg_bytes };
	hetpart_status st = hm_bcast(&f->h, head, 6, MPI_UINT64_T, f->root);
	if (st == HETPART_OK) {
		f->items = head[0];
		o->rule = (hetpart_chunk_rule)head[1];
		o->chunk = head[2];
		o->root_works = head[3] != 0;
		o->item_bytes = (size_t)head[4];
		o->max_msg_bytes = (size_t)head[5];
		f->room = FARM_DIRECT_BYTES;
		if (f->h.rank != f->root) {
			hetpart_chunks c = farm_chunks(f);
			f->room = (size_t)hetpart_chunks_next(&c) * o->item_bytes;
		}
		f->buf = (char *)malloc(f->room ? f->room : 1);
		if (!f->buf)
			st = hm_fail(&f->h, HETPART_ENOMEM, "no memory for chunks of %zu bytes",
				     f->room);
	}
	return hm_agree(&f->h, st);
}

hetpart_status hetpart_mpi_farm(uint64_t items, hetpart_mpi_work_fn *work, void *ctx, int root,
				MPI_Comm comm, const hetpart_mpi_farm_opts *opts, uint64_t *done,
				hetpart_err *err)
{
	farm f = { .opts = HETPART_MPI_FARM_OPTS_INIT,
		   .items = items,
		   .root = root,
		   .work = work,
		   .ctx = ctx };
	hetpart_status st = hm_open(&f.h, comm);
	if (st == HETPART_OK)
		st = hm_enter(&f.h, root, farm_check(&f, opts));
	if (st == HETPART_OK)
		st = farm_prepare(&f);
	if (st == HETPART_OK)
		st = hm_agree(&f.h, f.h.rank == root ? farm_serve(&f) : farm_ask(&f));
	free(f.buf);
	if (done)
		*done = f.done;
	return hm_close(&f.h, st, err);
}
