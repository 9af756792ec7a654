/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpi_gather.c - gather the items of all ranks at one, in the order of ranks: the way back of a
 * scatter. Costs O(ranks) memory at the root, and the messages. */
#include "hm.h"

#include <stdlib.h>

typedef struct gather_call {
	hm h;
	const void *send;
	uint64_t count, capacity;
	MPI_Datatype send_type, recv_type;
	char *recv;
	int root;
	bool at_root, in_place;
	uint64_t send_bytes, recv_bytes; /* of an item */
	ptrdiff_t send_extent, recv_extent;
	uint64_t *sizes; /* at the root: items, and bytes of one, of each rank */
	uint64_t sum;
} gather_call;

static hetpart_status gather_check(gather_call *g, hetpart_err *err)
{
	ptrdiff_t bytes;
	hetpart_status st = hm_check_root(&g->h, g->root, err);
	if (st != HETPART_OK)
		return st;
	g->at_root = g->h.rank == g->root;
	g->in_place = g->send == MPI_IN_PLACE;
	if (g->in_place && !g->at_root)
		return hm_fail(err, HETPART_EINVAL, "MPI_IN_PLACE is only for the root");
	if (!g->send && g->count > 0)
		return hm_fail(err, HETPART_EINVAL, "'sendbuf' is NULL");
	if (g->count > HETPART_ITEMS_MAX)
		return hm_fail(err, HETPART_ERANGE, "more than %llu items",
			       (unsigned long long)HETPART_ITEMS_MAX);
	if (!g->in_place)
		st = hm_measure_type(&g->h, g->send_type, "sendtype", &g->send_bytes,
				     &g->send_extent, err);
	if (st == HETPART_OK && __builtin_mul_overflow(g->count, g->send_extent, &bytes))
		return hm_fail(err, HETPART_ERANGE, "the items are beyond the address space");
	return st;
}

static hetpart_status gather_check_root(gather_call *g, hetpart_err *err)
{
	ptrdiff_t bytes;
	if (!g->recv && g->capacity > 0)
		return hm_fail(err, HETPART_EINVAL, "'recvbuf' is NULL, but its capacity is not 0");
	const hetpart_status st = hm_measure_type(&g->h, g->recv_type, "recvtype", &g->recv_bytes,
						  &g->recv_extent, err);
	if (st == HETPART_OK && __builtin_mul_overflow(g->capacity, g->recv_extent, &bytes))
		return hm_fail(err, HETPART_ERANGE,
			       "recvbuf's capacity is beyond the address space");
	g->sizes = (uint64_t *)calloc(2 * (size_t)g->h.size, sizeof *g->sizes);
	if (!g->sizes)
		return hm_fail(err, HETPART_ENOMEM, "no memory for the counts of %d ranks",
			       g->h.size);
	return st;
}

/* Send the sizes of this rank to the root, which checks that all items fit its buffer. */
static hetpart_status gather_sizes(gather_call *g, hetpart_err *err)
{
	const uint64_t mine[2] = { g->count, g->send_bytes };
	MPI_Request req;
	hetpart_status st = hm_mpi(MPI_Igather(mine, 2, MPI_UINT64_T, g->sizes, 2, MPI_UINT64_T,
					       g->root, g->h.comm, &req),
				   "MPI_Igather", err);
	if (st == HETPART_OK)
		st = hm_await(&g->h, &req, err);
	if (st != HETPART_OK || !g->at_root)
		return st;
	for (int i = 0; i < g->h.size; i++) {
		const uint64_t count = g->sizes[2 * i], bytes = g->sizes[2 * i + 1];
		if (bytes != g->recv_bytes && !(g->in_place && i == g->root))
			return hm_fail(err, HETPART_EINVAL,
				       "an item of recvtype has %llu bytes, one of rank %d's "
				       "sendtype %llu",
				       (unsigned long long)g->recv_bytes, i,
				       (unsigned long long)bytes);
		if (__builtin_add_overflow(g->sum, count, &g->sum))
			g->sum = UINT64_MAX;
	}
	if (g->sum > g->capacity)
		return hm_fail(err, HETPART_ERANGE, "%llu items exceed recvbuf's %llu",
			       (unsigned long long)g->sum, (unsigned long long)g->capacity);
	return HETPART_OK;
}

/* Move the items: the root receives from one rank after the other, and copies its own. */
static hetpart_status gather_items(gather_call *g, hetpart_err *err)
{
	const hm_items own = { (char *)(uintptr_t)g->send, g->send_extent, g->send_type, g->count,
			       hm_piece(0, g->send_bytes) };
	if (!g->at_root)
		return hm_send_items(&g->h, &own, g->root, HM_ITEMS, err);
	hm_items to = { g->recv, g->recv_extent, g->recv_type, 0, hm_piece(0, g->recv_bytes) };
	hetpart_status st = HETPART_OK;
	for (int i = 0; i < g->h.size && st == HETPART_OK; i++) {
		to.count = g->sizes[2 * i];
		if (i != g->root)
			st = hm_recv_items(&g->h, &to, i, HM_ITEMS, err);
		else if (!g->in_place)
			st = hm_copy_items(&g->h, &own, &to, err);
		to.at += (ptrdiff_t)to.count * g->recv_extent;
	}
	return st;
}

hetpart_status hetpart_mpi_gather(const void *sendbuf, uint64_t count, MPI_Datatype sendtype,
				  void *recvbuf, uint64_t capacity, uint64_t *received,
				  MPI_Datatype recvtype, int root, MPI_Comm comm, hetpart_err *err)
{
	gather_call g = { .send = sendbuf,
			  .count = count,
			  .capacity = capacity,
			  .send_type = sendtype,
			  .recv_type = recvtype,
			  .recv = (char *)recvbuf,
			  .root = root };
	hetpart_err mine;
	if (received)
		*received = 0;
	hetpart_status st = hm_open(&g.h, comm, &mine);
	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	st = gather_check(&g, &mine);
	if (st == HETPART_OK && g.at_root)
		st = gather_check_root(&g, &mine);
	if ((st = hm_enter(&g.h, g.root, st, &mine)) == HETPART_OK)
		st = hm_agree(&g.h, gather_sizes(&g, &mine), &mine);
	if (st == HETPART_OK)
		st = gather_items(&g, &mine);
	if (st == HETPART_OK && received)
		*received = g.sum;
	free(g.sizes);
	return hm_close(&g.h, st, &mine, err);
}
