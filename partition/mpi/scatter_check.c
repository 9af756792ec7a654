/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter_check.c - whether the arguments of a scatter make sense, and memory for a share, all on
 * one rank, so that nothing can go wrong once items travel.
 * May not touch: other ranks. Costs O(ranks) at the root. */
#include "scatter.h"

#include <stdlib.h>

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

hetpart_status scatter_check(struct scatter *s, hetpart_err *err)
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

hetpart_status scatter_check_root(struct scatter *s, hetpart_err *err)
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

hetpart_status scatter_allocate(struct scatter *s, hetpart_err *err)
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
