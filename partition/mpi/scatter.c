/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter.c - the scatter calls: what each rank gives is checked and gathered, the root decides who
 * gets what, and the items travel in the order of service.
 * May not touch: how shares are found. Costs O(ranks) memory and the messages of a scatter. */
#include "scatter.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------- the root decides */

static hetpart_status root_memory(struct scatter *s, hetpart_err *err)
{
	const size_t n = (size_t)s->h.size;

	s->costs = (double *)calloc(4 * n, sizeof *s->costs);
	s->compute = (hetpart_mpi_affine *)calloc(n, sizeof *s->compute);
	s->link = (hetpart_mpi_affine *)calloc(n, sizeof *s->link);
	s->counts = (uint64_t *)calloc(n, sizeof *s->counts);
	s->displs = (uint64_t *)calloc(n, sizeof *s->displs);
	s->order = (size_t *)calloc(n, sizeof *s->order);
	if (!s->costs || !s->compute || !s->link || !s->counts || !s->displs || !s->order)
		return hm_fail(err, HETPART_ENOMEM, "no memory for the shares of %zu ranks", n);
	return HETPART_OK;
}

static hetpart_status gather_costs(struct scatter *s, hetpart_err *err)
{
	const double mine[4] = { s->opts.compute.startup_s, s->opts.compute.per_item_s,
				 s->opts.link.startup_s, s->opts.link.per_item_s };
	MPI_Request req;
	hetpart_status st = hm_mpi(
		MPI_Igather(mine, 4, MPI_DOUBLE, s->costs, 4, MPI_DOUBLE, s->root, s->h.comm, &req),
		"MPI_Igather", err);

	if (st == HETPART_OK)
		st = hm_await(&s->h, &req, err);
	for (int i = 0; i < s->h.size && s->at_root && st == HETPART_OK; i++) {
		const double *of = &s->costs[4 * (size_t)i];

		s->compute[i] = (hetpart_mpi_affine){ of[0], of[1] };
		s->link[i] = (hetpart_mpi_affine){ of[2], of[3] };
	}
	return st;
}

static hetpart_status plan_here(struct scatter *s, hetpart_plan **made, hetpart_err *err)
{
	const struct hm_costs costs = { s->compute, s->link, s->root, s->opts.shares,
					s->opts.method };

	return hm_plan_scatter(made, s->order, s->count, (size_t)s->h.size, &costs, err);
}

/* Shares of the plan, one block after the other in the order of ranks. */
static hetpart_status share_out(struct scatter *s, hetpart_err *err)
{
	const size_t n = (size_t)s->h.size;
	const hetpart_plan *plan = s->opts.plan;
	hetpart_plan *made = NULL;
	hetpart_status st = HETPART_OK;

	if (!plan) {
		st = plan_here(s, &made, err);
		plan = made;
	}
	for (size_t j = 0; j < n && st == HETPART_OK; j++)
		s->counts[s->order[j]] = hetpart_plan_share(plan, j);
	hetpart_plan_free(made);
	return st;
}

static void place_blocks(struct scatter *s)
{
	uint64_t at = 0;

	for (int i = 0; i < s->h.size; i++) {
		s->displs[i] = s->given_displs ? s->given_displs[i] : at;
		at += s->counts[i];
	}
}

/* The last item of every block has an address. */
static hetpart_status check_reach(const struct scatter *s, hetpart_err *err)
{
	for (int i = 0; i < s->h.size; i++) {
		uint64_t last;
		ptrdiff_t bytes;

		if (__builtin_add_overflow(s->displs[i], s->counts[i], &last) ||
		    __builtin_mul_overflow(last, s->send_extent, &bytes))
			return hm_fail(err, HETPART_ERANGE,
				       "the items of rank %d are beyond the address space", i);
	}
	return HETPART_OK;
}

static hetpart_status decide(struct scatter *s, hetpart_err *err)
{
	hetpart_status st = HETPART_OK;

	if (!s->given_counts)
		st = share_out(s, err);
	else
		for (int i = 0; i < s->h.size; i++)
			s->counts[i] = s->given_counts[i];
	if (st != HETPART_OK)
		return st;
	place_blocks(s);
	return check_reach(s, err);
}

/* -------------------------------------------------------------------------- all ranks learn */

static hetpart_status hand_out_counts(struct scatter *s, hetpart_err *err)
{
	MPI_Request req;
	const hetpart_status st = hm_mpi(MPI_Iscatter(s->counts, 1, MPI_UINT64_T, &s->mine, 1,
						      MPI_UINT64_T, s->root, s->h.comm, &req),
					 "MPI_Iscatter", err);

	return st == HETPART_OK ? hm_await(&s->h, &req, err) : st;
}

static hetpart_status check_share(struct scatter *s, uint64_t root_item_bytes, hetpart_err *err)
{
	if (!s->in_place && s->item_bytes != root_item_bytes)
		return hm_fail(
			err, HETPART_EINVAL,
			"an item of recvtype has %llu bytes, one of the root's sendtype %llu",
			(unsigned long long)s->item_bytes, (unsigned long long)root_item_bytes);
	if (s->alloc)
		return scatter_allocate(s, err);
	if (!s->in_place && s->mine > s->capacity)
		return hm_fail(err, HETPART_ERANGE,
			       "the share of %llu items exceeds recvbuf's %llu",
			       (unsigned long long)s->mine, (unsigned long long)s->capacity);
	return HETPART_OK;
}

static hetpart_status settle(struct scatter *s, hetpart_err *err)
{
	hetpart_status st = s->at_root ? decide(s, err) : HETPART_OK;
	uint64_t head[3] = { st == HETPART_OK, s->send_bytes, s->opts.max_msg_bytes };
	hetpart_err trouble;
	hetpart_status told = hm_bcast(&s->h, head, 3, MPI_UINT64_T, s->root, &trouble);

	if (told == HETPART_OK && head[0] == 1)
		told = hand_out_counts(s, &trouble);
	if (told == HETPART_OK && head[0] == 1)
		told = check_share(s, head[1], &trouble);
	if (st == HETPART_OK && told != HETPART_OK) {
		st = told;
		*err = trouble;
	}
	s->piece = hm_piece((size_t)head[2], head[1]);
	return hm_agree(&s->h, st, err);
}

/* ----------------------------------------------------------------------------- items travel */

static hetpart_status serve_one(struct scatter *s, size_t rank, hetpart_err *err)
{
	const struct hm_items block = {
		.at = (char *)(uintptr_t)s->send + (ptrdiff_t)s->displs[rank] * s->send_extent,
		.extent = s->send_extent,
		.type = s->send_type,
		.count = s->counts[rank],
		.piece = s->piece,
	};
	const struct hm_items mine = { s->recv, s->recv_extent, s->recv_type, s->mine, s->piece };

	if (rank != (size_t)s->root)
		return hm_send_items(&s->h, &block, (int)rank, HM_ITEMS, err);
	return s->in_place ? HETPART_OK : hm_copy_items(&s->h, &block, &mine, err);
}

static hetpart_status travel(struct scatter *s, hetpart_err *err)
{
	const struct hm_items mine = { s->recv, s->recv_extent, s->recv_type, s->mine, s->piece };
	hetpart_status st = HETPART_OK;

	if (!s->at_root)
		return hm_recv_items(&s->h, &mine, s->root, HM_ITEMS, err);
	for (size_t j = 0; j < (size_t)s->h.size && st == HETPART_OK; j++)
		if (s->order[j] != (size_t)s->root)
			st = serve_one(s, s->order[j], err);
	return st == HETPART_OK ? serve_one(s, (size_t)s->root, err) : st;
}

/* --------------------------------------------------------------------------------- the call */

static void give_back(struct scatter *s)
{
	free(s->costs);
	free(s->compute);
	free(s->link);
	free(s->counts);
	free(s->displs);
	free(s->order);
}

static hetpart_status scatter_open(struct scatter *s, hetpart_err *err)
{
	hetpart_status st = scatter_check(s, err);

	if (st == HETPART_OK && s->at_root)
		st = root_memory(s, err);
	if (st == HETPART_OK && s->at_root)
		st = scatter_check_root(s, err);
	return hm_enter(&s->h, s->root, st, err);
}

static hetpart_status scatter(struct scatter *s, MPI_Comm comm, hetpart_err *err)
{
	hetpart_err mine;
	hetpart_status st;

	if (s->received)
		*s->received = 0;
	if (s->alloc)
		*s->alloc = NULL;
	if ((st = hm_open(&s->h, comm, &mine)) != HETPART_OK)
		return hm_refuse(st, &mine, err);
	if ((st = scatter_open(s, &mine)) == HETPART_OK)
		st = hm_agree(&s->h, gather_costs(s, &mine), &mine);
	if (st == HETPART_OK)
		st = settle(s, &mine);
	if (st == HETPART_OK)
		st = travel(s, &mine);
	give_back(s);
	st = hm_close(&s->h, st, &mine, err);
	if (st != HETPART_OK) {
		free(s->allocated);
		return st;
	}
	*s->received = s->mine;
	if (s->alloc)
		*s->alloc = s->allocated;
	return st;
}

hetpart_status hetpart_mpi_scatter(const void *sendbuf, uint64_t count, MPI_Datatype sendtype,
				   void *recvbuf, uint64_t capacity, uint64_t *received,
				   MPI_Datatype recvtype, int root, MPI_Comm comm,
				   const hetpart_mpi_scatter_opts *opts, hetpart_err *err)
{
	struct scatter s = { .send = sendbuf,
			     .count = count,
			     .send_type = sendtype,
			     .recv = (char *)recvbuf,
			     .capacity = capacity,
			     .received = received,
			     .recv_type = recvtype,
			     .root = root,
			     .given_opts = opts };

	return scatter(&s, comm, err);
}

hetpart_status hetpart_mpi_scatter_alloc(const void *sendbuf, uint64_t count, MPI_Datatype sendtype,
					 void **recvbuf, uint64_t *received, MPI_Datatype recvtype,
					 int root, MPI_Comm comm,
					 const hetpart_mpi_scatter_opts *opts, hetpart_err *err)
{
	struct scatter s = { .send = sendbuf,
			     .count = count,
			     .send_type = sendtype,
			     .allocates = true,
			     .alloc = recvbuf,
			     .received = received,
			     .recv_type = recvtype,
			     .root = root,
			     .given_opts = opts };

	return scatter(&s, comm, err);
}

hetpart_status hetpart_mpi_scatterv(const void *sendbuf, const uint64_t *counts,
				    const uint64_t *displs, MPI_Datatype sendtype, void *recvbuf,
				    uint64_t capacity, uint64_t *received, MPI_Datatype recvtype,
				    int root, MPI_Comm comm, const hetpart_mpi_scatter_opts *opts,
				    hetpart_err *err)
{
	struct scatter s = { .send = sendbuf,
			     .explicit_counts = true,
			     .given_counts = counts,
			     .given_displs = displs,
			     .send_type = sendtype,
			     .recv = (char *)recvbuf,
			     .capacity = capacity,
			     .received = received,
			     .recv_type = recvtype,
			     .root = root,
			     .given_opts = opts };

	return scatter(&s, comm, err);
}
