/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hm.h - what the calls of libhetpart_mpi share: the duplicated communicator, the agreement of
 * ranks, waiting without spinning, and items that travel in pieces. Of the caller's communicator,
 * it only makes a duplicate; of libhetpart, it only uses the public header. */
#ifndef HETPART_HM_H
#define HETPART_HM_H

#include "hetpart_mpi.h"

/* The communicator as one call sees it, and the reason of its first failure. */
typedef struct hm {
	MPI_Comm comm; /* the duplicate */
	int rank, size;
	unsigned quick; /* tests before the first nap of a wait */
	hetpart_err err;
} hm;

enum { HM_ITEMS = 1, HM_ASK, HM_ANSWER, HM_RESULT, HM_PING, HM_PONG, HM_END }; /* tags */

/* Store the reason of a failure unless there is one already. hm_fail() is status as well, like
 * part_fail() of part.h. */
void hm_set_err(hm *h, hetpart_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define hm_fail(h, status, ...) (hm_set_err(h, status, __VA_ARGS__), (status))
#define hm_invalid(h, ...)      hm_fail(h, HETPART_EINVAL, __VA_ARGS__)

/* Return the status of a call of libhetpart that got &h->err, where it may leave the reason of an
 * attempt that failed although the call succeeded. Nothing may have failed before the call. */
static inline hetpart_status hm_lib(hm *h, hetpart_status st)
{
	if (st == HETPART_OK)
		h->err.status = HETPART_OK;
	return st;
}

/* Return HETPART_OK for MPI_SUCCESS, else HETPART_EPEER with MPI's message. */
hetpart_status hm_mpi(hm *h, int rc, const char *what);

/* Enter a call: check and duplicate the communicator. */
hetpart_status hm_open(hm *h, MPI_Comm comm);

/* Leave a call, also if entering failed: free the duplicate, and pass the reason of a failure to
 * the caller. Freeing may fail, too. */
hetpart_status hm_close(hm *h, hetpart_status st, hetpart_err *err);

/* Let all ranks continue, or none. The result is mine if it is a failure. If another rank failed,
 * it is HETPART_EPEER with the message of the first such rank. Otherwise it is HETPART_OK;
 * hm_enter() also returns HETPART_EINVAL unless all ranks name the same root. */
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

/* Copy the caller's options, which begin with their struct_size, onto full, which has `known` bytes
 * of defaults. Defaults stay if opts ends earlier or is NULL. The options had `first` bytes in the
 * first release, up to the end of their last member. */
#define HM_END_OF(type, member) (offsetof(type, member) + sizeof((type *)NULL)->member)
hetpart_status hm_opts_read(hm *h, void *full, size_t first, size_t known, const void *opts);

/* Read the options of a scatter, and check what every rank can check. NULL means equal shares. */
hetpart_status hm_scatter_opts(hm *h, hetpart_mpi_scatter_opts *full,
			       const hetpart_mpi_scatter_opts *opts);

/* ----------------------------------------------------------------------------------- messages */

/* Sleep for a short time, except for the first tries; *tries counts the calls in a row. */
void hm_nap(const hm *h, unsigned *tries);

/* Wait for a request, which was started with result rc, without spinning; cancel a request that is
 * under way. */
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

/* Items in memory that travel in messages of at most `piece` items. */
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

/* Return HETPART_ERANGE unless all items have an address. */
hetpart_status hm_check_reach(hm *h, const hm_items *items, const char *what);

#define HM_MSG_BYTES ((size_t)4 << 20)

/* Return the items (>= 1) of a message of about max_msg_bytes (0: HM_MSG_BYTES). */
int hm_piece(size_t max_msg_bytes, uint64_t item_bytes);

hetpart_status hm_send_items(hm *h, const hm_items *items, int to, int tag);
hetpart_status hm_recv_items(hm *h, const hm_items *items, int from, int tag);

/* Copy from memory to memory through MPI, which knows both layouts. */
hetpart_status hm_copy_items(hm *h, const hm_items *from, const hm_items *to);

/* -------------------------------------------------------------------------------------- plans */

/* The costs of a rank: HM_COST_DOUBLES in a message. */
typedef struct hm_rank_cost {
	hetpart_mpi_affine compute, link;
} hm_rank_cost;
#define HM_COST_DOUBLES ((int)(sizeof(hm_rank_cost) / sizeof(double)))

/* The costs of all ranks, and how to share. */
typedef struct hm_costs {
	const hm_rank_cost *rank;
	int root;
	hetpart_mpi_shares shares;
	hetpart_scatter_method method;
} hm_costs;

/* Plan a scatter, and store in order which rank each entry of the plan is. Not collective. */
hetpart_status hm_plan_scatter(hm *h, hetpart_plan **out, size_t *order, uint64_t items,
			       const hm_costs *costs);

#endif
