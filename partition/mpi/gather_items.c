/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gather_items.c - the items of all ranks to one, in the order of ranks: the way back of a scatter.
 * May not touch: how shares are found. Costs O(ranks) memory at the root, and the messages. */
#include "hm.h"

#include <stdlib.h>

struct gather {
	struct hm h;
	const void *send;
	uint64_t count, capacity;
	MPI_Datatype send_type, recv_type;
	char *recv;
	int root;
	bool at_root, in_place;
	uint64_t send_bytes, recv_bytes; /* of an item */
	ptrdiff_t send_extent, recv_extent;
	uint64_t *told; /* at the root: items, and bytes of one, of each rank */
	uint64_t sum;
};

static hetpart_status check(struct gather *g, hetpart_err *err)
{
	ptrdiff_t bytes;
	hetpart_status st = hm_check_root(&g->h, g->root, err);

	if (st != HETPART_OK)
		return st;
	g->at_root = g->h.rank == g->root;
	g->in_place = g->send == MPI_IN_PLACE;
	if (g->in_place && !g->at_root)
		return hm_fail(err, HETPART_EINVAL, "MPI_IN_PLACE is for the root alone");
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

static hetpart_status check_receiver(struct gather *g, hetpart_err *err)
{
	ptrdiff_t bytes;
	hetpart_status st;

	if (!g->recv && g->capacity > 0)
		return hm_fail(err, HETPART_EINVAL, "'recvbuf' is NULL, its capacity is not 0");
	st = hm_measure_type(&g->h, g->recv_type, "recvtype", &g->recv_bytes, &g->recv_extent, err);
	if (st == HETPART_OK && __builtin_mul_overflow(g->capacity, g->recv_extent, &bytes))
		return hm_fail(err, HETPART_ERANGE,
			       "recvbuf's capacity is beyond the address space");
	g->told = (uint64_t *)calloc(2 * (size_t)g->h.size, sizeof *g->told);
	if (!g->told)
		return hm_fail(err, HETPART_ENOMEM, "no memory for the counts of %d ranks",
			       g->h.size);
	return st;
}

/* Whether what all ranks have fits the root's buffer. */
static hetpart_status add_up(struct gather *g, hetpart_err *err)
{
	for (int i = 0; i < g->h.size; i++) {
		const uint64_t count = g->told[2 * i], bytes = g->told[2 * i + 1];
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

static hetpart_status tell_root(struct gather *g, hetpart_err *err)
{
	const uint64_t mine[2] = { g->count, g->send_bytes };
	MPI_Request req;
	hetpart_status st = hm_mpi(MPI_Igather(mine, 2, MPI_UINT64_T, g->told, 2, MPI_UINT64_T,
					       g->root, g->h.comm, &req),
				   "MPI_Igather", err);

	if (st == HETPART_OK)
		st = hm_await(&g->h, &req, err);
	return st == HETPART_OK && g->at_root ? add_up(g, err) : st;
}

static hetpart_status take_all(struct gather *g, const struct hm_items *own, hetpart_err *err)
{
	struct hm_items to = { g->recv, g->recv_extent, g->recv_type, 0,
			       hm_piece(0, g->recv_bytes) };
	hetpart_status st = HETPART_OK;

	for (int i = 0; i < g->h.size && st == HETPART_OK; i++) {
		to.count = g->told[2 * i];
		if (i != g->root)
			st = hm_recv_items(&g->h, &to, i, HM_ITEMS, err);
		else if (!g->in_place)
			st = hm_copy_items(&g->h, own, &to, err);
		to.at += (ptrdiff_t)to.count * g->recv_extent;
	}
	return st;
}

static hetpart_status gather(struct gather *g, hetpart_err *err)
{
	hetpart_status st = check(g, err);

	if (st == HETPART_OK && g->at_root)
		st = check_receiver(g, err);
	if ((st = hm_enter(&g->h, g->root, st, err)) == HETPART_OK)
		st = hm_agree(&g->h, tell_root(g, err), err);
	if (st != HETPART_OK)
		return st;
	const struct hm_items own = { (char *)(uintptr_t)g->send, g->send_extent, g->send_type,
				      g->count, hm_piece(0, g->send_bytes) };
	return g->at_root ? take_all(g, &own, err)
			  : hm_send_items(&g->h, &own, g->root, HM_ITEMS, err);
}

hetpart_status hetpart_mpi_gather(const void *sendbuf, uint64_t count, MPI_Datatype sendtype,
				  void *recvbuf, uint64_t capacity, uint64_t *received,
				  MPI_Datatype recvtype, int root, MPI_Comm comm, hetpart_err *err)
{
	struct gather g = { .send = sendbuf,
			    .count = count,
			    .capacity = capacity,
			    .send_type = sendtype,
			    .recv_type = recvtype,
			    .recv = (char *)recvbuf,
			    .root = root };
	hetpart_err mine;
	hetpart_status st;

	if (received)
		*received = 0;
	if ((st = hm_open(&g.h, comm, &mine)) != HETPART_OK)
		return hm_refuse(st, &mine, err);
	st = gather(&g, &mine);
	if (st == HETPART_OK && received)
		*received = g.sum;
	free(g.told);
	return hm_close(&g.h, st, &mine, err);
}
