/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hm.h - declarations that the calls of libhetpart_mpi share: the duplicated communicator, the
 * agreement of ranks, waiting without spinning, and transfers of items in pieces. The caller's
 * communicator is only duplicated. Only the public header of libhetpart is used. */
#ifndef HETPART_HM_H
#define HETPART_HM_H

#include "hetpart_mpi.h"

/* The state of one call: its communicator, and the reason of its first failure. */
typedef struct hm {
	MPI_Comm comm; /* a duplicate of the caller's */
	int rank, size;
	unsigned quick; /* calls of MPI_Test() before the first nap of a wait */
	hetpart_err err;
} hm;

enum { HM_ITEMS = 1, HM_ASK, HM_ANSWER, HM_RESULT, HM_PING, HM_PONG, HM_END }; /* tags */

/* Store the reason of a failure unless the call has failed before. The value of hm_fail() is the
 * status. */
void hm_set_err(hm *h, hetpart_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define hm_fail(h, status, ...) (hm_set_err(h, status, __VA_ARGS__), (status))
#define hm_invalid(h, ...)      hm_fail(h, HETPART_EINVAL, __VA_ARGS__)

/* Return st, the status of a call of libhetpart that got &h->err. If it succeeded, clear the error,
 * because the call may have stored the reason of a failed attempt. No error may be stored before
 * the call. */
static inline hetpart_status hm_lib(hm *h, hetpart_status st)
{
	if (st == HETPART_OK)
		h->err.status = HETPART_OK;
	return st;
}

/* Return HETPART_OK for MPI_SUCCESS, else HETPART_EPEER with MPI's message. */
hetpart_status hm_mpi(hm *h, int rc, const char *what);

/* Begin a call: check and duplicate the communicator. */
hetpart_status hm_open(hm *h, MPI_Comm comm);

/* End a call, also if hm_open() failed: free the duplicate, and copy the reason of a failure to
 * err. Return st, or the failure to free. */
hetpart_status hm_close(hm *h, hetpart_status st, hetpart_err *err);

/* Let all ranks continue, or none; mine is the status of this rank. Return mine if it is a failure.
 * If another rank failed, return HETPART_EPEER with the message of the lowest such rank. hm_enter()
 * also returns HETPART_EINVAL unless all ranks pass the same root. Otherwise return HETPART_OK. */
hetpart_status hm_vote(hm *h, int root, hetpart_status mine);

static inline hetpart_status hm_enter(hm *h, int root, hetpart_status mine)
{
	const hetpart_status all = hm_vote(h, root, mine);
	return mine != HETPART_OK ? mine : all; /* inline, so that compilers see it in every file */
}

static inline hetpart_status hm_agree(hm *h, hetpart_status mine)
{
	return hm_enter(h, 0, mine);
}

/* ---------------------------------------------------------------------------------- arguments */

hetpart_status hm_check_root(hm *h, int root);
hetpart_status hm_check_affine(hm *h, const hetpart_mpi_affine *cost, const char *what);
hetpart_status hm_check_positive(hm *h, double x, const char *what);

/* Copy the caller's options, as part_opts_copy() of part.h does. On entry full contains the
 * defaults, in `known` bytes. In the first release the struct had `first` bytes. */
#define HM_END_OF(type, member) (offsetof(type, member) + sizeof((type *)NULL)->member)
hetpart_status hm_opts_read(hm *h, void *full, size_t first, size_t known, const void *opts);

/* Read the options of a scatter, and check the costs of this rank. NULL means equal shares. */
hetpart_status hm_scatter_opts(hm *h, hetpart_mpi_scatter_opts *full,
			       const hetpart_mpi_scatter_opts *opts);

/* ----------------------------------------------------------------------------------- messages */

/* Sleep for a short time, except in the first h->quick calls. *tries is the number of calls so
 * far. */
void hm_nap(const hm *h, unsigned *tries);

/* Wait for a request without spinning; rc is MPI's result of starting it, and `what` names that
 * call. hm_drop() cancels a request unless it has ended. */
hetpart_status hm_await(hm *h, int rc, MPI_Request *req, const char *what);
void hm_drop(MPI_Request *req);

double hm_now_s(void);

/* Perform collectives and single messages, and wait for them without spinning. */
hetpart_status hm_bcast(hm *h, void *buf, int n, MPI_Datatype type, int root);
hetpart_status hm_gather(hm *h, const void *mine, void *all, int n, MPI_Datatype type, int root);
hetpart_status hm_allgather(hm *h, const void *mine, void *all, int n, MPI_Datatype type);
hetpart_status hm_least(hm *h, const void *mine, void *least, int n, MPI_Datatype type);
hetpart_status hm_send(hm *h, const void *buf, int n, MPI_Datatype type, int to, int tag);
hetpart_status hm_recv(hm *h, void *buf, int n, MPI_Datatype type, int from, int tag);

/* Items in memory, which are sent or received in messages of at most `piece` items. */
typedef struct hm_items {
	char *at;
	MPI_Datatype type;
	uint64_t count;
	int piece;
	ptrdiff_t extent; /* from one item to the next */
	uint64_t bytes;   /* of an item */
} hm_items;

/* Find the bytes and the extent of items. Return HETPART_EINVAL unless their type can be sent. */
hetpart_status hm_measure_type(hm *h, hm_items *items, const char *name);

/* Return HETPART_ERANGE unless the items fit into the address space. */
hetpart_status hm_check_reach(hm *h, const hm_items *items, const char *what);

#define HM_MSG_BYTES ((size_t)4 << 20)

/* Return the number of items in a message of at most max_msg_bytes (0: HM_MSG_BYTES), at least
 * 1. */
int hm_piece(size_t max_msg_bytes, uint64_t item_bytes);

hetpart_status hm_send_items(hm *h, const hm_items *items, int to, int tag);
hetpart_status hm_recv_items(hm *h, const hm_items *items, int from, int tag);

/* Copy items in the memory of this rank by MPI messages to itself, because the datatypes may have
 * different layouts. */
hetpart_status hm_copy_items(hm *h, const hm_items *from, const hm_items *to);

/* -------------------------------------------------------------------------------------- plans */

/* The costs of a rank: HM_COST_DOUBLES in a message. */
typedef struct hm_rank_cost {
	hetpart_mpi_affine compute, link;
} hm_rank_cost;
#define HM_COST_DOUBLES ((int)(sizeof(hm_rank_cost) / sizeof(double)))

/* The costs of all ranks, and how to compute the shares. */
typedef struct hm_costs {
	const hm_rank_cost *rank;
	int root;
	hetpart_mpi_shares shares;
	hetpart_scatter_method method;
} hm_costs;

/* Plan a scatter, and set order[j] to the rank of entry j of the plan. Not collective. */
hetpart_status hm_plan_scatter(hm *h, hetpart_plan **out, size_t *order, uint64_t items,
			       const hm_costs *costs);

#endif
