/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hm.h - what the calls of libhetpart_mpi share: the duplicated communicator, the agreement of
 * ranks, waiting without spinning, and items that travel in pieces. Of the caller's communicator,
 * it only makes a duplicate; of libhetpart, it only uses the public header. */
#ifndef HETPART_HM_H
#define HETPART_HM_H

#include "hetpart_mpi.h"

/* The communicator as one call sees it. */
typedef struct hm {
	MPI_Comm comm; /* the duplicate */
	int rank, size;
	unsigned quick; /* tests before the first nap of a wait */
} hm;

enum { HM_ITEMS = 1, HM_ASK, HM_ANSWER, HM_RESULT, HM_PING, HM_PONG, HM_END }; /* tags */

/* Store the reason of a failure. hm_fail() is status as well, like part_fail() of part.h. */
void hm_set_err(hetpart_err *err, hetpart_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define hm_fail(err, status, ...) (hm_set_err(err, status, __VA_ARGS__), (status))

/* Return HETPART_OK for MPI_SUCCESS, else HETPART_EPEER with MPI's message. */
hetpart_status hm_mpi(int rc, const char *what, hetpart_err *err);

/* Enter a call: check and duplicate the communicator. If that fails, the call ends with
 * hm_refuse(), which passes the reason to the caller. */
hetpart_status hm_open(hm *h, MPI_Comm comm, hetpart_err *err);
hetpart_status hm_refuse(hetpart_status st, const hetpart_err *mine, hetpart_err *err);

/* Leave a call: free the duplicate, and pass the reason of a failure to the caller. Freeing may
 * fail, too. */
hetpart_status hm_close(hm *h, hetpart_status st, hetpart_err *mine, hetpart_err *err);

/* Let all ranks continue, or none. The result is mine if it is a failure. If another rank failed,
 * it is HETPART_EPEER with the message of the first such rank. Otherwise it is HETPART_OK;
 * hm_enter() also returns HETPART_EINVAL unless all ranks name the same root. */
hetpart_status hm_vote(hm *h, int root, hetpart_status mine, hetpart_err *err);

static inline hetpart_status hm_enter(hm *h, int root, hetpart_status mine, hetpart_err *err)
{
	const hetpart_status all = hm_vote(h, root, mine, err);
	return mine != HETPART_OK ? mine : all; /* inline, so that compilers see it in every file */
}

static inline hetpart_status hm_agree(hm *h, hetpart_status mine, hetpart_err *err)
{
	return hm_enter(h, 0, mine, err);
}

/* ---------------------------------------------------------------------------------- arguments */

hetpart_status hm_check_root(const hm *h, int root, hetpart_err *err);
hetpart_status hm_check_affine(const hetpart_mpi_affine *cost, const char *what, hetpart_err *err);
hetpart_status hm_check_positive(double x, const char *what, hetpart_err *err);

/* Find the bytes of an item, and the distance from one item to the next. Return HETPART_EINVAL
 * unless the type can be sent. */
hetpart_status hm_measure_type(hm *h, MPI_Datatype type, const char *name, uint64_t *bytes,
			       ptrdiff_t *extent, hetpart_err *err);

/* Copy the caller's options, which begin with their struct_size, onto full, which has `known` bytes
 * of defaults. Defaults stay if opts ends earlier or is NULL. The options had `first` bytes in the
 * first release, up to the end of their last member. */
#define HM_END_OF(type, member) (offsetof(type, member) + sizeof((type *)NULL)->member)
hetpart_status hm_opts_read(void *full, size_t first, size_t known, const void *opts,
			    hetpart_err *err);

/* Read the options of a scatter, and check what every rank can check. NULL means equal shares. */
hetpart_status hm_scatter_opts(hetpart_mpi_scatter_opts *full, const hetpart_mpi_scatter_opts *opts,
			       hetpart_err *err);

/* ----------------------------------------------------------------------------------- messages */

/* Sleep for a short time, except for the first tries; *tries counts the calls in a row. */
void hm_nap(const hm *h, unsigned *tries);

/* Wait for a request without spinning; cancel a request that is under way. */
hetpart_status hm_await(const hm *h, MPI_Request *req, hetpart_err *err);
void hm_drop(MPI_Request *req);

double hm_now_s(void);

/* Perform collectives and single messages, and wait for them without spinning. */
hetpart_status hm_bcast(hm *h, void *buf, int n, MPI_Datatype type, int root, hetpart_err *err);
hetpart_status hm_allgather(hm *h, const void *mine, void *all, int n, MPI_Datatype type,
			    hetpart_err *err);
hetpart_status hm_least(hm *h, const void *mine, void *least, int n, MPI_Datatype type,
			hetpart_err *err);
hetpart_status hm_send(hm *h, const void *buf, int n, MPI_Datatype type, int to, int tag,
		       hetpart_err *err);
hetpart_status hm_recv(hm *h, void *buf, int n, MPI_Datatype type, int from, int tag,
		       hetpart_err *err);

/* Items in memory that travel in messages of at most `piece` items. */
typedef struct hm_items {
	char *at;
	ptrdiff_t extent; /* from one item to the next */
	MPI_Datatype type;
	uint64_t count;
	int piece;
} hm_items;

#define HM_MSG_BYTES ((size_t)4 << 20)

/* Return the items (>= 1) of a message of about max_msg_bytes (0: HM_MSG_BYTES). */
int hm_piece(size_t max_msg_bytes, uint64_t item_bytes);

hetpart_status hm_send_items(hm *h, const hm_items *items, int to, int tag, hetpart_err *err);
hetpart_status hm_recv_items(hm *h, const hm_items *items, int from, int tag, hetpart_err *err);

/* Copy from memory to memory through MPI, which knows both layouts. */
hetpart_status hm_copy_items(hm *h, const hm_items *from, const hm_items *to, hetpart_err *err);

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
hetpart_status hm_plan_scatter(hetpart_plan **out, size_t *order, uint64_t items, size_t nprocs,
			       const hm_costs *costs, hetpart_err *err);

#endif
