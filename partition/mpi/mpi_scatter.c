/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpi_scatter.c - the scatter calls. The arguments of each rank are checked and gathered, the root
 * decides who gets which items, and the items travel in the order of service. Everything that can
 * fail on one rank, memory included, is done before the first item travels. Costs O(ranks) memory
 * at the root, and the messages of a scatter. */
#include <stdlib.h>

#include "hm.h"

typedef struct scatter_call {
	hm h;
	/* arguments */
	const void *send;
	uint64_t count;
	bool explicit_counts;         /* of scatterv */
	const uint64_t *given_counts; /* at the root */
	const uint64_t *given_displs; /* at the root, or NULL */
	MPI_Datatype send_type, recv_type;
	char *recv;
	uint64_t capacity;
	bool allocates; /* scatter_alloc */
	void **alloc;   /* receives the buffer */
	uint64_t *received;
	int root;
	const hetpart_mpi_scatter_opts *given_opts;
	/* on every rank */
	hetpart_mpi_scatter_opts opts;
	bool at_root, in_place;
	uint64_t send_bytes, item_bytes; /* of an item of send_type, recv_type */
	ptrdiff_t send_extent, recv_extent;
	void *allocated;
	uint64_t mine; /* items of this rank */
	int piece;     /* items in a message */
	/* at the root */
	hm_rank_cost *costs;
	uint64_t *counts, *displs;
	size_t *order;
} scatter_call;

/* ------------------------------------------------------------------------------ the arguments */

/* Check the arguments of every rank. */
static hetpart_status scatter_check(scatter_call *s, hetpart_err *err)
{
	hetpart_status st = hm_check_root(&s->h, s->root, err);
	s->at_root = s->root == s->h.rank;
	if (st != HETPART_OK)
		return st;
	if (!s->received)
		return hm_fail(err, HETPART_EINVAL, "'received' is NULL");
	if (s->allocates && !s->alloc)
		return hm_fail(err, HETPART_EINVAL, "'recvbuf' is NULL");
	s->in_place = !s->allocates && (void *)s->recv == MPI_IN_PLACE;
	if (s->in_place && !s->at_root)
		return hm_fail(err, HETPART_EINVAL, "MPI_IN_PLACE is only for the root");
	if (!s->allocates && !s->recv && s->capacity > 0)
		return hm_fail(err, HETPART_EINVAL, "'recvbuf' is NULL, but its capacity is not 0");
	st = hm_scatter_opts(&s->opts, s->given_opts, err);
	if (st != HETPART_OK || s->in_place)
		return st;
	ptrdiff_t bytes;
	st = hm_measure_type(&s->h, s->recv_type, "recvtype", &s->item_bytes, &s->recv_extent, err);
	if (st == HETPART_OK && __builtin_mul_overflow(s->capacity, s->recv_extent, &bytes))
		return hm_fail(err, HETPART_ERANGE,
			       "recvbuf's capacity is beyond the address space");
	return st;
}

/* Read the order of service from the options, or use the order of ranks. Each rank must occur
 * once. */
static hetpart_status scatter_read_order(scatter_call *s, hetpart_err *err)
{
	const size_t n = (size_t)s->h.size;
	const size_t *const given = s->opts.order;
	char *const seen = (char *)calloc(n, 1);
	hetpart_status st = HETPART_OK;
	if (!seen)
		return hm_fail(err, HETPART_ENOMEM, "no memory for the order of %zu ranks", n);
	for (size_t j = 0; j < n && st == HETPART_OK; j++) {
		const size_t rank = given ? given[j] : j;
		if (rank >= n || seen[rank])
			st = hm_fail(err, HETPART_EINVAL,
				     "entry %zu of the order is '%zu': every rank must occur once",
				     j, rank);
		else
			seen[rank] = 1;
		s->order[j] = rank;
	}
	free(seen);
	return st;
}

static hetpart_status scatter_check_plan(const scatter_call *s, hetpart_err *err)
{
	const hetpart_plan *const plan = s->opts.plan;
	if (s->opts.shares < HETPART_MPI_BALANCED || s->opts.shares > HETPART_MPI_SPEED)
		return hm_fail(err, HETPART_EINVAL, "'%d' is not a way to share",
			       (int)s->opts.shares);
	if (!plan)
		return HETPART_OK;
	if (s->explicit_counts)
		return hm_fail(err, HETPART_EINVAL, "both counts and a plan are given");
	if (hetpart_plan_nprocs(plan) != (size_t)s->h.size)
		return hm_fail(err, HETPART_EINVAL, "the plan is for %zu processor%s, not %d",
			       hetpart_plan_nprocs(plan), hetpart_plan_nprocs(plan) == 1 ? "" : "s",
			       s->h.size);
	if (hetpart_plan_items(plan) != s->count)
		return hm_fail(err, HETPART_EINVAL, "the plan is for %llu items, not %llu",
			       (unsigned long long)hetpart_plan_items(plan),
			       (unsigned long long)s->count);
	return HETPART_OK;
}

/* Allocate the root's arrays, and check its arguments. */
static hetpart_status scatter_check_root(scatter_call *s, hetpart_err *err)
{
	const size_t n = (size_t)s->h.size;
	s->costs = (hm_rank_cost *)calloc(n, sizeof *s->costs);
	s->counts = (uint64_t *)calloc(n, sizeof *s->counts);
	s->displs = (uint64_t *)calloc(n, sizeof *s->displs);
	s->order = (size_t *)calloc(n, sizeof *s->order);
	if (!s->costs || !s->counts || !s->displs || !s->order)
		return hm_fail(err, HETPART_ENOMEM, "no memory for the shares of %zu ranks", n);
	if (s->explicit_counts) {
		if (!s->given_counts)
			return hm_fail(err, HETPART_EINVAL, "'counts' is NULL");
		s->count = 0;
		for (size_t i = 0; i < n; i++)
			if (__builtin_add_overflow(s->count, s->given_counts[i], &s->count))
				s->count = UINT64_MAX;
	}
	if (s->count > HETPART_ITEMS_MAX)
		return hm_fail(err, HETPART_ERANGE, "more than %llu items",
			       (unsigned long long)HETPART_ITEMS_MAX);
	if (!s->send && s->count > 0)
		return hm_fail(err, HETPART_EINVAL, "'sendbuf' is NULL");
	hetpart_status st = hm_measure_type(&s->h, s->send_type, "sendtype", &s->send_bytes,
					    &s->send_extent, err);
	if (st == HETPART_OK)
		st = scatter_check_plan(s, err);
	return st == HETPART_OK ? scatter_read_order(s, err) : st;
}

/* ---------------------------------------------------------------------------- the root decides */

/* Decide counts and places of all blocks. Counts come from the caller, from the caller's plan, or
 * from a new plan. Blocks follow each other in the order of ranks unless the caller gives their
 * places. The last item of every block must have an address. */
static hetpart_status scatter_decide(scatter_call *s, hetpart_err *err)
{
	const size_t n = (size_t)s->h.size;
	const hm_costs costs = { s->costs, s->root, s->opts.shares, s->opts.method };
	hetpart_plan *made = NULL;
	hetpart_status st = HETPART_OK;
	if (!s->given_counts && !s->opts.plan)
		st = hm_plan_scatter(&made, s->order, s->count, n, &costs, err);
	const hetpart_plan *const plan = s->opts.plan ? s->opts.plan : made;
	for (size_t j = 0; j < n && st == HETPART_OK; j++) {
		const size_t rank = s->order[j];
		s->counts[rank] =
			s->given_counts ? s->given_counts[rank] : hetpart_plan_share(plan, j);
	}
	hetpart_plan_free(made);
	uint64_t at = 0;
	for (int i = 0; i < s->h.size && st == HETPART_OK; i++) {
		uint64_t last;
		ptrdiff_t bytes;
		s->displs[i] = s->given_displs ? s->given_displs[i] : at;
		at += s->counts[i];
		if (__builtin_add_overflow(s->displs[i], s->counts[i], &last) ||
		    __builtin_mul_overflow(last, s->send_extent, &bytes))
			st = hm_fail(err, HETPART_ERANGE,
				     "the items of rank %d are beyond the address space", i);
	}
	return st;
}

/* ---------------------------------------------------------------------------- all ranks prepare */

static hetpart_status scatter_allocate(scatter_call *s, hetpart_err *err)
{
	MPI_Aint lower, reach;
	size_t bytes;
	if (s->mine == 0)
		return HETPART_OK;
	if (MPI_Type_get_true_extent(s->recv_type, &lower, &reach) != MPI_SUCCESS || lower < 0 ||
	    s->recv_extent < 0)
		return hm_fail(err, HETPART_EINVAL, "'recvtype' reaches below its address");
	if (__builtin_mul_overflow(s->mine - 1, (size_t)s->recv_extent, &bytes) ||
	    __builtin_add_overflow(bytes, (size_t)lower + (size_t)reach, &bytes) ||
	    bytes > PTRDIFF_MAX)
		return hm_fail(err, HETPART_ERANGE,
			       "the share of %llu items is beyond the address space",
			       (unsigned long long)s->mine);
	s->allocated = malloc(bytes ? bytes : 1);
	if (!s->allocated)
		return hm_fail(err, HETPART_ENOMEM, "no memory for the share of %llu items",
			       (unsigned long long)s->mine);
	s->recv = (char *)s->allocated;
	return HETPART_OK;
}

/* Receive this rank's count, and check that its share fits. */
static hetpart_status scatter_take_share(scatter_call *s, uint64_t root_item_bytes,
					 hetpart_err *err)
{
	MPI_Request req;
	hetpart_status st = hm_mpi(MPI_Iscatter(s->counts, 1, MPI_UINT64_T, &s->mine, 1,
						MPI_UINT64_T, s->root, s->h.comm, &req),
				   "MPI_Iscatter", err);
	if (st == HETPART_OK)
		st = hm_await(&s->h, &req, err);
	if (st != HETPART_OK)
		return st;
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

/* Let the root decide, and spread its decision. */
static hetpart_status scatter_prepare(scatter_call *s, hetpart_err *err)
{
	hetpart_status st = s->at_root ? scatter_decide(s, err) : HETPART_OK;
	uint64_t head[3] = { st == HETPART_OK, s->send_bytes, s->opts.max_msg_bytes };
	hetpart_err trouble;
	hetpart_status spread = hm_bcast(&s->h, head, 3, MPI_UINT64_T, s->root, &trouble);
	if (spread == HETPART_OK && head[0] == 1)
		spread = scatter_take_share(s, head[1], &trouble);
	if (st == HETPART_OK && spread != HETPART_OK) {
		st = spread;
		*err = trouble;
	}
	s->piece = hm_piece((size_t)head[2], head[1]);
	return hm_agree(&s->h, st, err);
}

/* ------------------------------------------------------------------------------ items travel */

/* Send a rank its block, or copy the root's own. */
static hetpart_status scatter_serve(scatter_call *s, size_t rank, hetpart_err *err)
{
	const hm_items block = {
		.at = (char *)(uintptr_t)s->send + (ptrdiff_t)s->displs[rank] * s->send_extent,
		.extent = s->send_extent,
		.type = s->send_type,
		.count = s->counts[rank],
		.piece = s->piece,
	};
	const hm_items mine = { s->recv, s->recv_extent, s->recv_type, s->mine, s->piece };
	if (rank != (size_t)s->root)
		return hm_send_items(&s->h, &block, (int)rank, HM_ITEMS, err);
	return s->in_place ? HETPART_OK : hm_copy_items(&s->h, &block, &mine, err);
}

/* Move the items in the order of service; the root's own are last. */
static hetpart_status scatter_move(scatter_call *s, hetpart_err *err)
{
	const hm_items mine = { s->recv, s->recv_extent, s->recv_type, s->mine, s->piece };
	hetpart_status st = HETPART_OK;
	if (!s->at_root)
		return hm_recv_items(&s->h, &mine, s->root, HM_ITEMS, err);
	for (size_t j = 0; j < (size_t)s->h.size && st == HETPART_OK; j++)
		if (s->order[j] != (size_t)s->root)
			st = scatter_serve(s, s->order[j], err);
	return st == HETPART_OK ? scatter_serve(s, (size_t)s->root, err) : st;
}

/* ---------------------------------------------------------------------------------- the calls */

static hetpart_status scatter_perform(scatter_call *s, MPI_Comm comm, hetpart_err *err)
{
	hetpart_err mine;
	if (s->received)
		*s->received = 0;
	if (s->alloc)
		*s->alloc = NULL;
	hetpart_status st = hm_open(&s->h, comm, &mine);
	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	st = scatter_check(s, &mine);
	if (st == HETPART_OK && s->at_root)
		st = scatter_check_root(s, &mine);
	if ((st = hm_enter(&s->h, s->root, st, &mine)) == HETPART_OK) {
		const hm_rank_cost cost = { s->opts.compute, s->opts.link };
		MPI_Request req;
		st = hm_mpi(MPI_Igather(&cost, HM_COST_DOUBLES, MPI_DOUBLE, s->costs,
					HM_COST_DOUBLES, MPI_DOUBLE, s->root, s->h.comm, &req),
			    "MPI_Igather", &mine);
		if (st == HETPART_OK)
			st = hm_await(&s->h, &req, &mine);
		st = hm_agree(&s->h, st, &mine);
	}
	if (st == HETPART_OK)
		st = scatter_prepare(s, &mine);
	if (st == HETPART_OK)
		st = scatter_move(s, &mine);
	free(s->costs);
	free(s->counts);
	free(s->displs);
	free(s->order);
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
	scatter_call s = { .send = sendbuf,
			   .count = count,
			   .send_type = sendtype,
			   .recv = (char *)recvbuf,
			   .capacity = capacity,
			   .received = received,
			   .recv_type = recvtype,
			   .root = root,
			   .given_opts = opts };
	return scatter_perform(&s, comm, err);
}

hetpart_status hetpart_mpi_scatter_alloc(const void *sendbuf, uint64_t count, MPI_Datatype sendtype,
					 void **recvbuf, uint64_t *received, MPI_Datatype recvtype,
					 int root, MPI_Comm comm,
					 const hetpart_mpi_scatter_opts *opts, hetpart_err *err)
{
	scatter_call s = { .send = sendbuf,
			   .count = count,
			   .send_type = sendtype,
			   .allocates = true,
			   .alloc = recvbuf,
			   .received = received,
			   .recv_type = recvtype,
			   .root = root,
			   .given_opts = opts };
	return scatter_perform(&s, comm, err);
}

hetpart_status hetpart_mpi_scatterv(const void *sendbuf, const uint64_t *counts,
				    const uint64_t *displs, MPI_Datatype sendtype, void *recvbuf,
				    uint64_t capacity, uint64_t *received, MPI_Datatype recvtype,
				    int root, MPI_Comm comm, const hetpart_mpi_scatter_opts *opts,
				    hetpart_err *err)
{
	scatter_call s = { .send = sendbuf,
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
	return scatter_perform(&s, comm, err);
}
