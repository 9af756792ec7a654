/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hm.c - functions that the calls of libhetpart_mpi share.
 *
 * Every call duplicates the caller's communicator. So its messages cannot be mixed up with the
 * caller's, and MPI's errors are returned. After each step, the ranks agree whether all of them
 * succeeded, so they continue or return together. Transfers do not block: they are started, then
 * tested, with naps between the tests. So a waiting rank leaves its processor to ranks that
 * compute. Items are moved in messages of a few MiB, so that no count exceeds an int. Up to WINDOW
 * messages are under way, so the next is ready when one ends.
 *
 * A call takes a few small collectives, and each wait ends at most 200 us late. */
#include "hm.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ----------------------------------------------------------------------- failures and arguments */

void hm_set_err(hm *h, hetpart_status status, const char *fmt, ...)
{
	if (h->err.status != HETPART_OK)
		return;
	va_list ap;
	va_start(ap, fmt);
	if (vsnprintf(h->err.text, sizeof h->err.text, fmt, ap) < 0)
		h->err.text[0] = 0;
	va_end(ap);
	h->err.status = status;
}

hetpart_status hm_mpi(hm *h, int rc, const char *what)
{
	if (rc == MPI_SUCCESS)
		return HETPART_OK;
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int length = 0;
	if (MPI_Error_string(rc, text, &length) != MPI_SUCCESS)
		text[0] = 0;
	return hm_fail(h, HETPART_EPEER, "%s failed: %s", what, text);
}

hetpart_status hm_check_root(hm *h, int root)
{
	if (root >= 0 && root < h->size)
		return HETPART_OK;
	return hm_invalid(h, "root is '%d': must be a rank, 0 to %d", root, h->size - 1);
}

hetpart_status hm_check_affine(hm *h, const hetpart_mpi_affine *cost, const char *what)
{
	if (isfinite(cost->startup_s) && cost->startup_s >= 0 && isfinite(cost->per_item_s) &&
	    cost->per_item_s >= 0)
		return HETPART_OK;
	return hm_invalid(h, "%s is '%g + %g n' seconds: must be finite numbers, 0 or more", what,
			  cost->startup_s, cost->per_item_s);
}

hetpart_status hm_check_positive(hm *h, double x, const char *what)
{
	if (isfinite(x) && x > 0)
		return HETPART_OK;
	return hm_invalid(h, "%s is '%g': must be a finite number above 0", what, x);
}

hetpart_status hm_opts_read(hm *h, void *full, size_t first, size_t known, const void *opts)
{
	const unsigned char *const raw = opts;
	if (!opts)
		return HETPART_OK;
	size_t size;
	memcpy(&size, opts, sizeof size);
	if (size < first || size > 4096)
		return hm_invalid(
			h, "struct_size of the options is '%zu': start from their INIT macro",
			size);
	for (size_t i = known; i < size; i++)
		if (raw[i])
			return hm_invalid(
				h, "the options set a member that this version of the library "
				   "does not have");
	memcpy(full, opts, size < known ? size : known);
	memcpy(full, &known, sizeof known); /* the struct_size of full */
	return HETPART_OK;
}

hetpart_status hm_scatter_opts(hm *h, hetpart_mpi_scatter_opts *full,
			       const hetpart_mpi_scatter_opts *opts)
{
	*full = (hetpart_mpi_scatter_opts)HETPART_MPI_SCATTER_OPTS_INIT;
	if (!opts)
		full->shares = HETPART_MPI_EQUAL;
	hetpart_status st = hm_opts_read(
		h, full, HM_END_OF(hetpart_mpi_scatter_opts, max_msg_bytes), sizeof *full, opts);
	if (st == HETPART_OK)
		st = hm_check_affine(h, &full->compute, "compute");
	if (st == HETPART_OK)
		st = hm_check_affine(h, &full->link, "link");
	return st;
}

/* ------------------------------------------------------------------------------------- waiting */

double hm_now_s(void)
{
	struct timespec t;
	if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
		return 0;
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void hm_nap(const hm *h, unsigned *tries)
{
	const unsigned naps = *tries < h->quick ? 0 : *tries - h->quick;
	const struct timespec t = { 0, naps < 8 ? 10000 : naps < 32 ? 50000 : 200000 };
	if ((*tries)++ >= h->quick)
		(void)nanosleep(&t, NULL); /* a signal may end the nap early, which does no harm */
}

hetpart_status hm_await(hm *h, int rc, MPI_Request *req, const char *what)
{
	unsigned tries = 0;
	int done = 0;
	if (rc != MPI_SUCCESS)
		return hm_mpi(h, rc, what);
	while ((rc = MPI_Test(req, &done, MPI_STATUS_IGNORE)) == MPI_SUCCESS && !done)
		hm_nap(h, &tries);
	return hm_mpi(h, rc, "a message");
}

void hm_drop(MPI_Request *req)
{
	if (*req == MPI_REQUEST_NULL)
		return;
	if (MPI_Cancel(req) != MPI_SUCCESS || MPI_Request_free(req) != MPI_SUCCESS)
		*req = MPI_REQUEST_NULL;
}

hetpart_status hm_bcast(hm *h, void *buf, int n, MPI_Datatype type, int root)
{
	MPI_Request req;
	const int rc = MPI_Ibcast(buf, n, type, root, h->comm, &req);
	return hm_await(h, rc, &req, "MPI_Ibcast");
}

hetpart_status hm_gather(hm *h, const void *mine, void *all, int n, MPI_Datatype type, int root)
{
	MPI_Request req;
	const int rc = MPI_Igather(mine, n, type, all, n, type, root, h->comm, &req);
	return hm_await(h, rc, &req, "MPI_Igather");
}

hetpart_status hm_allgather(hm *h, const void *mine, void *all, int n, MPI_Datatype type)
{
	MPI_Request req;
	const int rc = MPI_Iallgather(mine, n, type, all, n, type, h->comm, &req);
	return hm_await(h, rc, &req, "MPI_Iallgather");
}

hetpart_status hm_least(hm *h, const void *mine, void *least, int n, MPI_Datatype type)
{
	MPI_Request req;
	const int rc = MPI_Iallreduce(mine, least, n, type, MPI_MIN, h->comm, &req);
	return hm_await(h, rc, &req, "MPI_Iallreduce");
}

hetpart_status hm_send(hm *h, const void *buf, int n, MPI_Datatype type, int to, int tag)
{
	MPI_Request req;
	const int rc = MPI_Isend(buf, n, type, to, tag, h->comm, &req);
	return hm_await(h, rc, &req, "MPI_Isend");
}

hetpart_status hm_recv(hm *h, void *buf, int n, MPI_Datatype type, int from, int tag)
{
	MPI_Request req;
	const int rc = MPI_Irecv(buf, n, type, from, tag, h->comm, &req);
	return hm_await(h, rc, &req, "MPI_Irecv");
}

/* ------------------------------------------------------------------------- enter, agree, leave */

hetpart_status hm_open(hm *h, MPI_Comm comm)
{
	int up = 0, down = 0, inter = 0;
	*h = (hm){ .comm = MPI_COMM_NULL, .quick = 200 };
	if (MPI_Initialized(&up) != MPI_SUCCESS || MPI_Finalized(&down) != MPI_SUCCESS || !up ||
	    down)
		return hm_invalid(h, "MPI is not running");
	if (comm == MPI_COMM_NULL)
		return hm_invalid(h, "the communicator is MPI_COMM_NULL");
	if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
		return hm_invalid(h, "the communicator is an intercommunicator");
	MPI_Request req;
	MPI_Comm duplicate;
	const int rc = MPI_Comm_idup(comm, &duplicate, &req);
	const hetpart_status st = hm_await(h, rc, &req, "MPI_Comm_idup");
	if (st != HETPART_OK)
		return st;
	if (MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
	    MPI_Comm_rank(duplicate, &h->rank) != MPI_SUCCESS ||
	    MPI_Comm_size(duplicate, &h->size) != MPI_SUCCESS)
		return hm_fail(h, HETPART_EPEER, "the duplicated communicator does not work");
	h->comm = duplicate;
	return HETPART_OK;
}

hetpart_status hm_close(hm *h, hetpart_status st, hetpart_err *err)
{
	const int rc = h->comm == MPI_COMM_NULL ? MPI_SUCCESS : MPI_Comm_free(&h->comm);
	if (st == HETPART_OK)
		st = hm_mpi(h, rc, "MPI_Comm_free");
	if (st != HETPART_OK && err) {
		*err = h->err;
		err->status = st;
	}
	return st;
}

hetpart_status hm_vote(hm *h, int root, hetpart_status mine)
{
	const int64_t votes[3] = { mine == HETPART_OK ? h->size : h->rank, root, -(int64_t)root };
	int64_t least[3];
	hetpart_status st = hm_least(h, votes, least, 3, MPI_INT64_T);
	if (st == HETPART_OK && least[0] < h->size) { /* broadcast the failed rank's message */
		const int who = (int)least[0];
		char text[HETPART_ERR_BYTES] = "";
		if (who == h->rank)
			memcpy(text, h->err.text, sizeof text);
		st = hm_bcast(h, text, HETPART_ERR_BYTES, MPI_CHAR, who);
		text[HETPART_ERR_BYTES - 1] = 0;
		if (st == HETPART_OK)
			st = hm_fail(h, HETPART_EPEER, "rank %d: %s", who, text);
	} else if (st == HETPART_OK && least[1] != -least[2])
		st = hm_invalid(h, "the ranks name different roots, from %d to %d", (int)least[1],
				(int)-least[2]);
	return mine != HETPART_OK ? mine : st;
}

/* --------------------------------------------------------------------------------------- items */

#define WINDOW 4

hetpart_status hm_measure_type(hm *h, hm_items *items, const char *name)
{
	/* MPI_Type_size() reports an invalid type to the error handler of MPI_COMM_WORLD, which may
	 * end the program. A message to MPI_PROC_NULL reports it to the handler of our
	 * communicator. It has one item, because MPICH does not check the type of an empty
	 * message. */
	const char item = 0;
	int rc = MPI_ERR_TYPE;
	if (items->type != MPI_DATATYPE_NULL)
		rc = MPI_Send(&item, 1, items->type, MPI_PROC_NULL, HM_ITEMS, h->comm);
	if (rc != MPI_SUCCESS)
		return hm_invalid(h, "'%s' is not a committed datatype", name);
	MPI_Count size = MPI_UNDEFINED;
	MPI_Aint lower, reach;
	if (MPI_Type_size_x(items->type, &size) != MPI_SUCCESS || size < 0 ||
	    MPI_Type_get_extent(items->type, &lower, &reach) != MPI_SUCCESS)
		return hm_invalid(h, "'%s' has no size", name);
	items->bytes = (uint64_t)size;
	items->extent = (ptrdiff_t)reach;
	return HETPART_OK;
}

hetpart_status hm_check_reach(hm *h, const hm_items *items, const char *what)
{
	ptrdiff_t bytes;
	return __builtin_mul_overflow(items->count, items->extent, &bytes)
		       ? hm_fail(h, HETPART_ERANGE, "%s beyond the address space", what)
		       : HETPART_OK;
}

int hm_piece(size_t max_msg_bytes, uint64_t item_bytes)
{
	const size_t most = max_msg_bytes ? max_msg_bytes : HM_MSG_BYTES;
	const uint64_t items = item_bytes ? most / item_bytes : INT_MAX;
	return items < 1 ? 1 : items > INT_MAX ? INT_MAX : (int)items;
}

/* Return the number of items in the piece that begins with item `at`. */
static int piece_at(const hm_items *items, uint64_t at)
{
	const uint64_t left = items->count - at;
	return left < (uint64_t)items->piece ? (int)left : items->piece;
}

/* Start to send or receive one piece. */
typedef int start_piece(hm *h, const hm_items *items, uint64_t at, int peer, int tag,
			MPI_Request *req);

static int start_send(hm *h, const hm_items *items, uint64_t at, int peer, int tag,
		      MPI_Request *req)
{
	return MPI_Isend(items->at + (ptrdiff_t)at * items->extent, piece_at(items, at),
			 items->type, peer, tag, h->comm, req);
}

static int start_recv(hm *h, const hm_items *items, uint64_t at, int peer, int tag,
		      MPI_Request *req)
{
	return MPI_Irecv(items->at + (ptrdiff_t)at * items->extent, piece_at(items, at),
			 items->type, peer, tag, h->comm, req);
}

/* Move all items, with at most WINDOW messages under way. */
static hetpart_status hm_move_items(hm *h, const hm_items *items, start_piece *start, int peer,
				    int tag)
{
	MPI_Request req[WINDOW];
	unsigned begun = 0, ended = 0;
	uint64_t at = 0;
	hetpart_status st = HETPART_OK;
	for (unsigned i = 0; i < WINDOW; i++)
		req[i] = MPI_REQUEST_NULL;
	while (st == HETPART_OK && (at < items->count || ended < begun)) {
		if (at == items->count || begun - ended == WINDOW) {
			st = hm_await(h, MPI_SUCCESS, &req[ended++ % WINDOW], NULL);
			continue;
		}
		st = hm_mpi(h, start(h, items, at, peer, tag, &req[begun++ % WINDOW]),
			    "starting a message");
		at += (uint64_t)piece_at(items, at);
	}
	for (unsigned i = 0; i < WINDOW; i++)
		hm_drop(&req[i]);
	return st;
}

hetpart_status hm_send_items(hm *h, const hm_items *items, int to, int tag)
{
	return hm_move_items(h, items, start_send, to, tag);
}

hetpart_status hm_recv_items(hm *h, const hm_items *items, int from, int tag)
{
	return hm_move_items(h, items, start_recv, from, tag);
}

hetpart_status hm_copy_items(hm *h, const hm_items *from, const hm_items *to)
{
	hetpart_status st = HETPART_OK;
	for (uint64_t at = 0; at < from->count && st == HETPART_OK;
	     at += (uint64_t)piece_at(from, at)) {
		MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
		st = hm_mpi(h, start_recv(h, to, at, h->rank, HM_ITEMS, &in), "MPI_Irecv");
		if (st == HETPART_OK)
			st = hm_await(h, start_send(h, from, at, h->rank, HM_ITEMS, &out), &out,
				      "MPI_Isend");
		if (st == HETPART_OK)
			st = hm_await(h, MPI_SUCCESS, &in, NULL);
		hm_drop(&out);
		hm_drop(&in);
	}
	return st;
}
