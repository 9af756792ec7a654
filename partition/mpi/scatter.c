/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter.c - the scatter calls: what each rank gives is checked and gathered, the root decides who
 * gets what, and the items travel in the order of service.
 * May not touch: how shares are found. Costs O(ranks) memory and the messages of a scatter. */
#include <stdlib.h>

#include "hm.h"

struct scatter {
	struct hm h;
	/* given */
	const void *send;
	uint64_t count;
	bool explicit_counts;         /* scatterv: */
	const uint64_t *given_counts; /* at the root */
	const uint64_t *given_displs; /* at the root, or NULL */
	MPI_Datatype send_type, recv_type;
	char *recv;
	uint64_t capacity;
	bool allocates; /* scatter_alloc: */
	void **alloc;   /* where the buffer goes */
	uint64_t *received;
	int root;
	const hetpart_mpi_scatter_opts *given_opts;
	/* found */
	hetpart_mpi_scatter_opts opts;
	bool at_root, in_place;
	uint64_t send_bytes, item_bytes; /* of an item of send_type, recv_type */
	ptrdiff_t send_extent, recv_extent;
	void *allocated;
	uint64_t mine; /* items of this rank */
	int piece;     /* items in a message */
	/* found, at the root */
	double *costs; /* 4 for each rank */
	hetpart_mpi_affine *compute, *link;
	uint64_t *counts, *displs;
	size_t *order;
};

/* scatter_check - arguments of every rank; scatter_check_root - those of the root, whose arrays
 * are there; scatter_allocate - memory for the share. Not collective. */
static hetpart_status scatter_check(struct scatter *s, hetpart_err *err);
static hetpart_status scatter_check_root(struct scatter *s, hetpart_err *err);
static hetpart_status scatter_allocate(struct scatter *s, hetpart_err *err);

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

/* scatter_check.c - whether the arguments of a scatter make sense, and memory for a share, all on
 * one rank, so that nothing can go wrong once items travel.
 * May not touch: other ranks. Costs O(ranks) at the root. */

/* Whether a type can be sent. MPI_Type_size and its like report errors to MPI_COMM_WORLD's handler,
 * which may end the program; a message to nobody reports them to ours. It has one item, though
 * nobody reads it: MPICH looks at the type only then. */
static hetpart_status check_type(struct hm *h, MPI_Datatype type, const char *name,
				 hetpart_err *err)
{
	const char item = 0;
	int rc = MPI_ERR_TYPE;

	if (type != MPI_DATATYPE_NULL)
		rc = MPI_Send(&item, 1, type, MPI_PROC_NULL, HM_ITEMS, h->comm);
	if (rc == MPI_SUCCESS)
		return HETPART_OK;
	return hm_fail(err, HETPART_EINVAL, "'%s' is not a committed datatype", name);
}

hetpart_status hm_measure_type(struct hm *h, MPI_Datatype type, const char *name, uint64_t *bytes,
			       ptrdiff_t *extent, hetpart_err *err)
{
	MPI_Count size = MPI_UNDEFINED;
	MPI_Aint lower, reach;
	const hetpart_status st = check_type(h, type, name, err);

	if (st != HETPART_OK)
		return st;
	if (MPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0 ||
	    MPI_Type_get_extent(type, &lower, &reach) != MPI_SUCCESS)
		return hm_fail(err, HETPART_EINVAL, "'%s' has no size", name);
	*bytes = (uint64_t)size;
	*extent = (ptrdiff_t)reach;
	return HETPART_OK;
}

static hetpart_status check_pointers(struct scatter *s, hetpart_err *err)
{
	if (!s->received)
		return hm_fail(err, HETPART_EINVAL, "'received' is NULL");
	if (s->allocates && !s->alloc)
		return hm_fail(err, HETPART_EINVAL, "'recvbuf' is NULL");
	s->in_place = !s->allocates && (void *)s->recv == MPI_IN_PLACE;
	if (s->in_place && !s->at_root)
		return hm_fail(err, HETPART_EINVAL, "MPI_IN_PLACE is for the root alone");
	if (!s->allocates && !s->recv && s->capacity > 0)
		return hm_fail(err, HETPART_EINVAL, "'recvbuf' is NULL, its capacity is not 0");
	return HETPART_OK;
}

static hetpart_status check_receiver(struct scatter *s, hetpart_err *err)
{
	ptrdiff_t bytes;
	hetpart_status st;

	if (s->in_place)
		return HETPART_OK;
	st = hm_measure_type(&s->h, s->recv_type, "recvtype", &s->item_bytes, &s->recv_extent, err);
	if (st == HETPART_OK && __builtin_mul_overflow(s->capacity, s->recv_extent, &bytes))
		return hm_fail(err, HETPART_ERANGE,
			       "recvbuf's capacity is beyond the address space");
	return st;
}

static hetpart_status scatter_check(struct scatter *s, hetpart_err *err)
{
	hetpart_status st = hm_check_root(&s->h, s->root, err);

	s->at_root = s->root == s->h.rank;
	if (st == HETPART_OK)
		st = check_pointers(s, err);
	if (st == HETPART_OK)
		st = hm_scatter_opts(&s->opts, s->given_opts, err);
	if (st == HETPART_OK)
		st = check_receiver(s, err);
	return st;
}

/* --------------------------------------------------------------------------------- the root */

/* order[] from the options, or the ranks as they stand; each exactly once. */
static hetpart_status read_order(struct scatter *s, hetpart_err *err)
{
	const size_t n = (size_t)s->h.size;
	const size_t *given = s->opts.order;
	char *seen = (char *)calloc(n, 1);
	hetpart_status st = HETPART_OK;

	if (!seen)
		return hm_fail(err, HETPART_ENOMEM, "no memory for the order of %zu ranks", n);
	for (size_t j = 0; j < n && st == HETPART_OK; j++) {
		const size_t rank = given ? given[j] : j;

		if (rank >= n || seen[rank])
			st = hm_fail(err, HETPART_EINVAL,
				     "entry %zu of the order is '%zu': want every rank once", j,
				     rank);
		else
			seen[rank] = 1;
		s->order[j] = rank;
	}
	free(seen);
	return st;
}

static hetpart_status check_plan(const struct scatter *s, hetpart_err *err)
{
	const hetpart_plan *plan = s->opts.plan;

	if (s->opts.shares < HETPART_MPI_BALANCED || s->opts.shares > HETPART_MPI_SPEED)
		return hm_fail(err, HETPART_EINVAL, "'%d' is no way to share", (int)s->opts.shares);
	if (plan && s->explicit_counts)
		return hm_fail(err, HETPART_EINVAL, "both counts and a plan are given");
	if (plan && hetpart_plan_nprocs(plan) != (size_t)s->h.size)
		return hm_fail(err, HETPART_EINVAL, "the plan is for %zu processor%s, not %d",
			       hetpart_plan_nprocs(plan), hetpart_plan_nprocs(plan) == 1 ? "" : "s",
			       s->h.size);
	if (plan && hetpart_plan_items(plan) != s->count)
		return hm_fail(err, HETPART_EINVAL, "the plan is for %llu items, not %llu",
			       (unsigned long long)hetpart_plan_items(plan),
			       (unsigned long long)s->count);
	return HETPART_OK;
}

static hetpart_status add_up(struct scatter *s, hetpart_err *err)
{
	if (!s->given_counts)
		return hm_fail(err, HETPART_EINVAL, "'counts' is NULL");
	s->count = 0;
	for (int i = 0; i < s->h.size; i++)
		if (__builtin_add_overflow(s->count, s->given_counts[i], &s->count))
			s->count = UINT64_MAX;
	return HETPART_OK;
}

static hetpart_status scatter_check_root(struct scatter *s, hetpart_err *err)
{
	hetpart_status st = s->explicit_counts ? add_up(s, err) : HETPART_OK;

	if (st != HETPART_OK)
		return st;
	if (s->count > HETPART_ITEMS_MAX)
		return hm_fail(err, HETPART_ERANGE, "more than %llu items",
			       (unsigned long long)HETPART_ITEMS_MAX);
	if (!s->send && s->count > 0)
		return hm_fail(err, HETPART_EINVAL, "'sendbuf' is NULL");
	st = hm_measure_type(&s->h, s->send_type, "sendtype", &s->send_bytes, &s->send_extent, err);
	if (st == HETPART_OK)
		st = check_plan(s, err);
	return st == HETPART_OK ? read_order(s, err) : st;
}

/* ----------------------------------------------------------------------- memory for a share */

static hetpart_status scatter_allocate(struct scatter *s, hetpart_err *err)
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
