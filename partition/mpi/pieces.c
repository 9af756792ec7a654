/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pieces.c - any number of items, moved in messages of a few MiB with a small window of
 * them under way, so that no count exceeds an int and the next message is there when one ends.
 * May not touch: who gets what. Costs no memory. */
#include "hm.h"

#include <limits.h>

#define WINDOW 4

int hm_piece(size_t max_msg_bytes, uint64_t item_bytes)
{
	const size_t most = max_msg_bytes ? max_msg_bytes : HM_MSG_BYTES;
	const uint64_t items = item_bytes ? most / item_bytes : INT_MAX;

	return items < 1 ? 1 : items > INT_MAX ? INT_MAX : (int)items;
}

static int piece_at(const struct hm_items *items, uint64_t at)
{
	const uint64_t left = items->count - at;

	return left < (uint64_t)items->piece ? (int)left : items->piece;
}

static char *address(const struct hm_items *items, uint64_t at)
{
	return items->at + (ptrdiff_t)at * items->extent;
}

/* The send or receive of one piece. */
typedef int start_fn(struct hm *h, const struct hm_items *items, uint64_t at, int peer, int tag,
		     MPI_Request *req);

static int start_send(struct hm *h, const struct hm_items *items, uint64_t at, int peer, int tag,
		      MPI_Request *req)
{
	return MPI_Isend(address(items, at), piece_at(items, at), items->type, peer, tag, h->comm,
			 req);
}

static int start_recv(struct hm *h, const struct hm_items *items, uint64_t at, int peer, int tag,
		      MPI_Request *req)
{
	return MPI_Irecv(address(items, at), piece_at(items, at), items->type, peer, tag, h->comm,
			 req);
}

static hetpart_status move(struct hm *h, const struct hm_items *items, start_fn *start, int peer,
			   int tag, hetpart_err *err)
{
	MPI_Request req[WINDOW];
	unsigned begun = 0, ended = 0;
	uint64_t at = 0;
	hetpart_status st = HETPART_OK;

	for (unsigned i = 0; i < WINDOW; i++)
		req[i] = MPI_REQUEST_NULL;
	while (st == HETPART_OK && (at < items->count || ended < begun)) {
		if (at == items->count || begun - ended == WINDOW) {
			st = hm_await(h, &req[ended++ % WINDOW], err);
			continue;
		}
		st = hm_mpi(start(h, items, at, peer, tag, &req[begun++ % WINDOW]),
			    "starting a message", err);
		at += (uint64_t)piece_at(items, at);
	}
	for (unsigned i = 0; i < WINDOW; i++)
		hm_drop(&req[i]);
	return st;
}

hetpart_status hm_send_items(struct hm *h, const struct hm_items *items, int to, int tag,
			     hetpart_err *err)
{
	return move(h, items, start_send, to, tag, err);
}

hetpart_status hm_recv_items(struct hm *h, const struct hm_items *items, int from, int tag,
			     hetpart_err *err)
{
	return move(h, items, start_recv, from, tag, err);
}

hetpart_status hm_copy_items(struct hm *h, const struct hm_items *from, const struct hm_items *to,
			     hetpart_err *err)
{
	MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
	hetpart_status st = HETPART_OK;

	for (uint64_t at = 0; at < from->count && st == HETPART_OK;
	     at += (uint64_t)piece_at(from, at)) {
		st = hm_mpi(start_recv(h, to, at, h->rank, HM_ITEMS, &in), "MPI_Irecv", err);
		if (st == HETPART_OK)
			st = hm_mpi(start_send(h, from, at, h->rank, HM_ITEMS, &out), "MPI_Isend",
				    err);
		if (st == HETPART_OK)
			st = hm_await(h, &out, err);
		if (st == HETPART_OK)
			st = hm_await(h, &in, err);
	}
	hm_drop(&out);
	hm_drop(&in);
	return st;
}
