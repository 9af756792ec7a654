/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpi_gather.c - gather the items of all ranks at the root, in the order of ranks: the reverse of a
 * scatter. The root needs O(ranks) memory. */
#include "hm.h"

#include <stdlib.h>

typedef struct gather_call {
	hm h;
	hm_items send, recv; /* the count of recv is its capacity */
	int root;
	bool at_root, in_place;
	uint64_t *sizes; /* at the root, for each rank: number of items, bytes of an item */
	uint64_t sum;
} gather_call;

static hetpart_status gather_check(gather_call *g)
{
	hetpart_status st = hm_check_root(&g->h, g->root);
	if (st != HETPART_OK)
		return st;
	g->at_root = g->h.rank == g->root;
	g->in_place = (void *)g->send.at == MPI_IN_PLACE;
	if (g->in_place && !g->at_root)
		return hm_invalid(&g->h, "MPI_IN_PLACE is only for the root");
	if (!g->send.at && g->send.count > 0)
		return hm_invalid(&g->h, "'sendbuf' is NULL");
	if (g->send.count > HETPART_ITEMS_MAX)
		return hm_fail(&g->h, HETPART_ERANGE, "more than %llu items",
			       (unsigned long long)HETPART_ITEMS_MAX);
	if (!g->in_place)
		st = hm_measure_type(&g->h, &g->send, "sendtype");
	if (st == HETPART_OK)
		st = hm_check_reach(&g->h, &g->send, "the items are");
	if (st != HETPART_OK || !g->at_root)
		return st;
	if (!g->recv.at && g->recv.count > 0)
		return hm_invalid(&g->h, "'recvbuf' is NULL, but its capacity is not 0");
	st = hm_measure_type(&g->h, &g->recv, "recvtype");
	if (st == HETPART_OK)
		st = hm_check_reach(&g->h, &g->recv, "recvbuf's capacity is");
	g->sizes = (uint64_t *)calloc(2 * (size_t)g->h.size, sizeof *g->sizes);
	if (!g->sizes)
		st = hm_fail(&g->h, HETPART_ENOMEM, "no memory for the counts of %d ranks",
			     g->h.size);
	return st;
}

/* Send the sizes of this rank to the root, which checks that all items fit its buffer. */
static hetpart_status gather_sizes(gather_call *g)
{
	const uint64_t mine[2] = { g->send.count, g->send.bytes };
	const hetpart_status st = hm_gather(&g->h, mine, g->sizes, 2, MPI_UINT64_T, g->root);
	if (st != HETPART_OK || !g->at_root)
		return st;
	for (int i = 0; i < g->h.size; i++) {
		const uint64_t count = g->sizes[2 * i], bytes = g->sizes[2 * i + 1];
		if (bytes != g->recv.bytes && !(g->in_place && i == g->root))
			return hm_invalid(&g->h,
					  "an item of recvtype has %llu bytes, one of rank %d's "
					  "sendtype %llu",
					  (unsigned long long)g->recv.bytes, i,
					  (unsigned long long)bytes);
		if (__builtin_add_overflow(g->sum, count, &g->sum))
			g->sum = UINT64_MAX;
	}
	if (g->sum > g->recv.count)
		return hm_fail(&g->h, HETPART_ERANGE, "%llu items exceed recvbuf's %llu",
			       (unsigned long long)g->sum, (unsigned long long)g->recv.count);
	return HETPART_OK;
}

/* Move the items: the root receives from one rank after another, and copies its own items. */
static hetpart_status gather_items(gather_call *g)
{
	g->send.piece = hm_piece(0, g->send.bytes);
	g->recv.piece = hm_piece(0, g->recv.bytes);
	if (!g->at_root)
		return hm_send_items(&g->h, &g->send, g->root, HM_ITEMS);
	hm_items to = g->recv;
	hetpart_status st = HETPART_OK;
	for (int i = 0; i < g->h.size && st == HETPART_OK; i++) {
		to.count = g->sizes[2 * i];
		if (i != g->root)
			st = hm_recv_items(&g->h, &to, i, HM_ITEMS);
		else if (!g->in_place)
			st = hm_copy_items(&g->h, &g->send, &to);
		to.at += (ptrdiff_t)to.count * to.extent;
	}
	return st;
}

hetpart_status hetpart_mpi_gather(const void *sendbuf, uint64_t count, MPI_Datatype sendtype,
				  void *recvbuf, uint64_t capacity, uint64_t *received,
				  MPI_Datatype recvtype, int root, MPI_Comm comm, hetpart_err *err)
{
	gather_call g = {
		.send = { .at = (char *)(uintptr_t)sendbuf, .type = sendtype, .count = count },
		.recv = { .at = (char *)recvbuf, .type = recvtype, .count = capacity },
		.root = root
	};
	if (received)
		*received = 0;
	hetpart_status st = hm_open(&g.h, comm);
	if (st == HETPART_OK)
		st = hm_enter(&g.h, root, gather_check(&g));
	if (st == HETPART_OK)
		st = hm_agree(&g.h, gather_sizes(&g));
	if (st == HETPART_OK)
		st = gather_items(&g);
	if (st == HETPART_OK && received)
		*received = g.sum;
	free(g.sizes);
	return hm_close(&g.h, st, err);
}
