/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpi_scatter.c - the scatter calls. Each rank checks its arguments, the root gathers the costs and
 * decides which rank gets which items, and sends them in the order of service. All steps that can
 * fail on a single rank, such as allocations, precede the first message of items. The root needs
 * O(ranks) memory. */
#include <stdlib.h>

#include "hm.h"

typedef struct scatter_call {
	hm h;
	/* arguments */
	hm_items send;                /* at the root */
	hm_items recv;                /* its count is the capacity, later the share of this rank */
	bool explicit_counts;         /* hetpart_mpi_scatterv() */
	const uint64_t *given_counts; /* at the root */
	const uint64_t *given_displs; /* at the root, or NULL */
	bool allocates;               /* hetpart_mpi_scatter_alloc() */
	void **alloc;                 /* receives the buffer */
	uint64_t *received;
	int root;
	const hetpart_mpi_scatter_opts *given_opts;
	/* on every rank */
	hetpart_mpi_scatter_opts opts;
	bool at_root, in_place;
	void *allocated;
	/* at the root */
	hm_rank_cost *costs;
	uint64_t *counts, *displs;
	size_t *order;
} scatter_call;

/* ------------------------------------------------------------------------------ the arguments */

/* Check the arguments that every rank has. */
static hetpart_status scatter_check(scatter_call *s)
{
	hetpart_status st = hm_check_root(&s->h, s->root);
	s->at_root = s->root == s->h.rank;
	if (st != HETPART_OK)
		return st;
	if (!s->received)
		return hm_invalid(&s->h, "'received' is NULL");
	if (s->allocates && !s->alloc)
		return hm_invalid(&s->h, "'recvbuf' is NULL");
	s->in_place = !s->allocates && (void *)s->recv.at == MPI_IN_PLACE;
	if (s->in_place && !s->at_root)
		return hm_invalid(&s->h, "MPI_IN_PLACE is only for the root");
	if (!s->allocates && !s->recv.at && s->recv.count > 0)
		return hm_invalid(&s->h, "'recvbuf' is NULL, but its capacity is not 0");
	st = hm_scatter_opts(&s->h, &s->opts, s->given_opts);
	if (st != HETPART_OK || s->in_place)
		return st;
	st = hm_measure_type(&s->h, &s->recv, "recvtype");
	return st == HETPART_OK ? hm_check_reach(&s->h, &s->recv, "recvbuf's capacity is") : st;
}

/* Set s->order from the options, or to the order of ranks. Return HETPART_EINVAL unless each rank
 * occurs once. */
static hetpart_status scatter_read_order(scatter_call *s)
{
	const size_t n = (size_t)s->h.size;
	const size_t *const given = s->opts.order;
	char *const seen = (char *)calloc(n, 1);
	hetpart_status st = HETPART_OK;
	if (!seen)
		return hm_fail(&s->h, HETPART_ENOMEM, "no memory for the order of %zu ranks", n);
	for (size_t j = 0; j < n && st == HETPART_OK; j++) {
		const size_t rank = given ? given[j] : j;
		if (rank >= n || seen[rank])
			st = hm_invalid(
				&s->h,
				"entry %zu of the order is '%zu': every rank must occur once", j,
				rank);
		else
			seen[rank] = 1;
		s->order[j] = rank;
	}
	free(seen);
	return st;
}

/* Check the root's choice of shares, and its plan. */
static hetpart_status scatter_check_plan(scatter_call *s)
{
	const hetpart_plan *const plan = s->opts.plan;
	const size_t procs = hetpart_plan_nprocs(plan);
	if (s->opts.shares < HETPART_MPI_BALANCED || s->opts.shares > HETPART_MPI_SPEED)
		return hm_invalid(&s->h, "'%d' is not a way to share", (int)s->opts.shares);
	if (!plan)
		return HETPART_OK;
	if (s->explicit_counts)
		return hm_invalid(&s->h, "both counts and a plan are given");
	if (procs != (size_t)s->h.size)
		return hm_invalid(&s->h, "the plan is for %zu processor%s, not %d", procs,
				  procs == 1 ? "" : "s", s->h.size);
	if (hetpart_plan_items(plan) != s->send.count)
		return hm_invalid(&s->h, "the plan is for %llu items, not %llu",
				  (unsigned long long)hetpart_plan_items(plan),
				  (unsigned long long)s->send.count);
	return HETPART_OK;
}

/* Allocate the root's arrays, and check its arguments. */
static hetpart_status scatter_check_root(scatter_call *s)
{
	const size_t n = (size_t)s->h.size;
	s->costs = (hm_rank_cost *)calloc(n, sizeof *s->costs);
	s->counts = (uint64_t *)calloc(n, sizeof *s->counts);
	s->displs = (uint64_t *)calloc(n, sizeof *s->displs);
	s->order = (size_t *)calloc(n, sizeof *s->order);
	if (!s->costs || !s->counts || !s->displs || !s->order)
		return hm_fail(&s->h, HETPART_ENOMEM, "no memory for the shares of %zu ranks", n);
	if (s->explicit_counts && !s->given_counts)
		return hm_invalid(&s->h, "'counts' is NULL");
	for (size_t i = 0; s->explicit_counts && i < n; i++)
		if (__builtin_add_overflow(s->send.count, s->given_counts[i], &s->send.count))
			s->send.count = UINT64_MAX;
	if (s->send.count > HETPART_ITEMS_MAX)
		return hm_fail(&s->h, HETPART_ERANGE, "more than %llu items",
			       (unsigned long long)HETPART_ITEMS_MAX);
	if (!s->send.at && s->send.count > 0)
		return hm_invalid(&s->h, "'sendbuf' is NULL");
	hetpart_status st = hm_measure_type(&s->h, &s->send, "sendtype");
	if (st == HETPART_OK)
		st = scatter_check_plan(s);
	return st == HETPART_OK ? scatter_read_order(s) : st;
}

/* ---------------------------------------------------------------------------- the root decides */

/* Set the counts and displacements of all ranks. Counts come from the caller, the caller's plan or
 * a new plan. Without displacements from the caller, blocks follow each other in the order of
 * ranks. Return HETPART_ERANGE if a block does not fit into the address space. */
static hetpart_status scatter_decide(scatter_call *s)
{
	const size_t n = (size_t)s->h.size;
	const hm_costs costs = { s->costs, s->root, s->opts.shares, s->opts.method };
	hetpart_plan *made = NULL;
	hetpart_status st = HETPART_OK;
	if (!s->given_counts && !s->opts.plan)
		st = hm_plan_scatter(&s->h, &made, s->order, s->send.count, &costs);
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
		    __builtin_mul_overflow(last, s->send.extent, &bytes))
			st = hm_fail(&s->h, HETPART_ERANGE,
				     "the items of rank %d are beyond the address space", i);
	}
	return st;
}

/* ---------------------------------------------------------------------------- all ranks prepare */

/* Allocate the buffer of hetpart_mpi_scatter_alloc(). */
static hetpart_status scatter_allocate(scatter_call *s)
{
	const uint64_t count = s->recv.count;
	MPI_Aint lower, reach;
	size_t bytes;
	if (count == 0)
		return HETPART_OK;
	if (MPI_Type_get_true_extent(s->recv.type, &lower, &reach) != MPI_SUCCESS || lower < 0 ||
	    s->recv.extent < 0)
		return hm_invalid(&s->h, "'recvtype' reaches below its address");
	if (__builtin_mul_overflow(count - 1, (size_t)s->recv.extent, &bytes) ||
	    __builtin_add_overflow(bytes, (size_t)lower + (size_t)reach, &bytes) ||
	    bytes > PTRDIFF_MAX)
		return hm_fail(&s->h, HETPART_ERANGE,
			       "the share of %llu items is beyond the address space",
			       (unsigned long long)count);
	s->allocated = malloc(bytes ? bytes : 1);
	if (!s->allocated)
		return hm_fail(&s->h, HETPART_ENOMEM, "no memory for the share of %llu items",
			       (unsigned long long)count);
	s->recv.at = (char *)s->allocated;
	return HETPART_OK;
}

/* Receive this rank's count, and check that its share fits, or allocate its buffer. */
static hetpart_status scatter_take_share(scatter_call *s, uint64_t root_item_bytes)
{
	const uint64_t capacity = s->recv.count;
	MPI_Request req;
	const int rc = MPI_Iscatter(s->counts, 1, MPI_UINT64_T, &s->recv.count, 1, MPI_UINT64_T,
				    s->root, s->h.comm, &req);
	const hetpart_status st = hm_await(&s->h, rc, &req, "MPI_Iscatter");
	if (st != HETPART_OK)
		return st;
	if (!s->in_place && s->recv.bytes != root_item_bytes)
		return hm_invalid(
			&s->h,
			"an item of recvtype has %llu bytes, one of the root's sendtype %llu",
			(unsigned long long)s->recv.bytes, (unsigned long long)root_item_bytes);
	if (s->alloc)
		return scatter_allocate(s);
	if (!s->in_place && s->recv.count > capacity)
		return hm_fail(&s->h, HETPART_ERANGE,
			       "the share of %llu items exceeds recvbuf's %llu",
			       (unsigned long long)s->recv.count, (unsigned long long)capacity);
	return HETPART_OK;
}

/* Let the root decide, and send each rank its count. */
static hetpart_status scatter_prepare(scatter_call *s)
{
	const hetpart_status decided = s->at_root ? scatter_decide(s) : HETPART_OK;
	uint64_t head[3] = { decided == HETPART_OK, s->send.bytes, s->opts.max_msg_bytes };
	hetpart_status st = hm_bcast(&s->h, head, 3, MPI_UINT64_T, s->root);
	if (st == HETPART_OK && head[0] == 1)
		st = scatter_take_share(s, head[1]);
	s->send.piece = s->recv.piece = hm_piece((size_t)head[2], head[1]);
	return hm_agree(&s->h, decided == HETPART_OK ? st : decided);
}

/* ------------------------------------------------------------------------------ moving items */

/* Move the items in the order of service. The root copies its own items last. */
static hetpart_status scatter_move(scatter_call *s)
{
	const size_t n = (size_t)s->h.size, root = (size_t)s->root;
	hetpart_status st = HETPART_OK;
	if (!s->at_root)
		return hm_recv_items(&s->h, &s->recv, s->root, HM_ITEMS);
	for (size_t j = 0; j <= n && st == HETPART_OK; j++) {
		const size_t rank = j < n ? s->order[j] : root;
		hm_items block = s->send;
		block.at += (ptrdiff_t)s->displs[rank] * block.extent;
		block.count = s->counts[rank];
		if (rank != root)
			st = hm_send_items(&s->h, &block, (int)rank, HM_ITEMS);
		else if (j == n && !s->in_place)
			st = hm_copy_items(&s->h, &block, &s->recv);
	}
	return st;
}

/* ---------------------------------------------------------------------------------- the calls */

static hetpart_status scatter_perform(scatter_call *s, MPI_Comm comm, hetpart_err *err)
{
	if (s->received)
		*s->received = 0;
	if (s->alloc)
		*s->alloc = NULL;
	hetpart_status st = hm_open(&s->h, comm);
	if (st != HETPART_OK)
		return hm_close(&s->h, st, err);
	st = scatter_check(s);
	if (st == HETPART_OK && s->at_root)
		st = scatter_check_root(s);
	if ((st = hm_enter(&s->h, s->root, st)) == HETPART_OK) {
		const hm_rank_cost cost = { s->opts.compute, s->opts.link };
		st = hm_agree(&s->h, hm_gather(&s->h, &cost, s->costs, HM_COST_DOUBLES, MPI_DOUBLE,
					       s->root));
	}
	if (st == HETPART_OK)
		st = scatter_prepare(s);
	if (st == HETPART_OK)
		st = scatter_move(s);
	free(s->costs);
	free(s->counts);
	free(s->displs);
	free(s->order);
	st = hm_close(&s->h, st, err);
	if (st != HETPART_OK) {
		free(s->allocated);
		return st;
	}
	*s->received = s->recv.count;
	if (s->alloc)
		*s->alloc = s->allocated;
	return st;
}

hetpart_status hetpart_mpi_scatter(const void *sendbuf, uint64_t count, MPI_Datatype sendtype,
				   void *recvbuf, uint64_t capacity, uint64_t *received,
				   MPI_Datatype recvtype, int root, MPI_Comm comm,
				   const hetpart_mpi_scatter_opts *opts, hetpart_err *err)
{
	scatter_call s = {
		.send = { .at = (char *)(uintptr_t)sendbuf, .type = sendtype, .count = count },
		.recv = { .at = (char *)recvbuf, .type = recvtype, .count = capacity },
		.received = received,
		.root = root,
		.given_opts = opts,
	};
	return scatter_perform(&s, comm, err);
}

hetpart_status hetpart_mpi_scatter_alloc(const void *sendbuf, uint64_t count, MPI_Datatype sendtype,
					 void **recvbuf, uint64_t *received, MPI_Datatype recvtype,
					 int root, MPI_Comm comm,
					 const hetpart_mpi_scatter_opts *opts, hetpart_err *err)
{
	scatter_call s = {
		.send = { .at = (char *)(uintptr_t)sendbuf, .type = sendtype, .count = count },
		.recv = { .type = recvtype },
		.allocates = true,
		.alloc = recvbuf,
		.received = received,
		.root = root,
		.given_opts = opts,
	};
	return scatter_perform(&s, comm, err);
}

hetpart_status hetpart_mpi_scatterv(const void *sendbuf, const uint64_t *counts,
				    const uint64_t *displs, MPI_Datatype sendtype, void *recvbuf,
				    uint64_t capacity, uint64_t *received, MPI_Datatype recvtype,
				    int root, MPI_Comm comm, const hetpart_mpi_scatter_opts *opts,
				    hetpart_err *err)
{
	scatter_call s = {
		.send = { .at = (char *)(uintptr_t)sendbuf, .type = sendtype },
		.recv = { .at = (char *)recvbuf, .type = recvtype, .count = capacity },
		.explicit_counts = true,
		.given_counts = counts,
		.given_displs = displs,
		.received = received,
		.root = root,
		.given_opts = opts,
	};
	return scatter_perform(&s, comm, err);
}
