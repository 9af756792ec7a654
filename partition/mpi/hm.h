/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hm.h - what the files of libhetpart_mpi share: the duplicated communicator, the agreement of
 * ranks, waiting without spinning, and items that travel in pieces.
 * May not touch: the caller's communicator beyond duplicating it; libhetpart below its header. */
#ifndef HETPART_HM_H
#define HETPART_HM_H

#include "hetpart_mpi.h"

/* One call's view of the communicator. */
struct hm {
	MPI_Comm comm; /* the duplicate */
	int rank, size;
	unsigned quick; /* tests before the first nap of a wait */
};

enum hm_tag { HM_ITEMS = 1, HM_ASK, HM_ANSWER, HM_RESULT, HM_PING, HM_PONG, HM_END };

/* hm_tell - write the reason of a failure; hm_fail is also status (as part_fail is, part.h). */
void hm_tell(hetpart_err *err, hetpart_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define hm_fail(err, status, ...) (hm_tell(err, status, __VA_ARGS__), (status))

/* hm_mpi - HETPART_OK for MPI_SUCCESS, else HETPART_EPEER and MPI's words for it. */
hetpart_status hm_mpi(int rc, const char *what, hetpart_err *err);

/* hm_open - check and duplicate the communicator; hm_refuse - tell the caller why that failed;
 * hm_close - free the duplicate and tell the caller of a failure; freeing may be one. */
hetpart_status hm_open(struct hm *h, MPI_Comm comm, hetpart_err *err);
hetpart_status hm_refuse(hetpart_status st, const hetpart_err *mine, hetpart_err *err);
hetpart_status hm_close(struct hm *h, hetpart_status st, hetpart_err *mine, hetpart_err *err);

/* hm_agree - all ranks go on, or none: returns mine if it is a failure, HETPART_EPEER with the
 * words of the first rank that failed if it is not, and HETPART_OK if all are well. hm_enter - the
 * same, and HETPART_EINVAL unless all ranks name the same root. */
hetpart_status hm_vote(struct hm *h, int root, hetpart_status mine, hetpart_err *err);

static inline hetpart_status hm_enter(struct hm *h, int root, hetpart_status mine, hetpart_err *err)
{
	const hetpart_status all = hm_vote(h, root, mine, err);

	return mine != HETPART_OK ? mine : all; /* here, where every caller's compiler sees it */
}

static inline hetpart_status hm_agree(struct hm *h, hetpart_status mine, hetpart_err *err)
{
	return hm_enter(h, 0, mine, err);
}

hetpart_status hm_check_root(const struct hm *h, int root, hetpart_err *err);
hetpart_status hm_check_affine(const hetpart_mpi_affine *cost, const char *what, hetpart_err *err);
hetpart_status hm_check_positive(double x, const char *what, hetpart_err *err);
/* hm_measure_type - bytes of an item and from one to the next; HETPART_EINVAL unless the type can
 * be sent. */
hetpart_status hm_measure_type(struct hm *h, MPI_Datatype type, const char *name, uint64_t *bytes,
			       ptrdiff_t *extent, hetpart_err *err);

/* hm_scatter_opts - the options of a scatter, checked as far as every rank can; NULL: equal shares.
 * hm_opts_read - copy an options struct that begins with its struct_size onto full, known bytes of
 * defaults, which stay where opts is NULL or ends before. first: its size in the first release, up
 * to the end of the member that was the last. */
#define HM_END_OF(type, member) (offsetof(type, member) + sizeof((type *)NULL)->member)

hetpart_status hm_scatter_opts(hetpart_mpi_scatter_opts *full, const hetpart_mpi_scatter_opts *opts,
			       hetpart_err *err);
hetpart_status hm_opts_read(void *full, size_t first, size_t known, const void *opts,
			    hetpart_err *err);

/* hm_poll - test once, and nap if it is still under way; *tries counts the tests in a row. hm_nap -
 * the nap alone, none for the first tries. */
hetpart_status hm_poll(const struct hm *h, MPI_Request *req, bool *done, unsigned *tries,
		       hetpart_err *err);
void hm_nap(const struct hm *h, unsigned *tries);
hetpart_status hm_await(const struct hm *h, MPI_Request *req, hetpart_err *err);
void hm_drop(MPI_Request *req); /* give up what is under way */
double hm_now_s(void);

/* Collectives and single messages, waited for without spinning. */
hetpart_status hm_bcast(struct hm *h, void *buf, int n, MPI_Datatype type, int root,
			hetpart_err *err);
hetpart_status hm_allgather(struct hm *h, const void *mine, void *all, int n, MPI_Datatype type,
			    hetpart_err *err);
hetpart_status hm_least(struct hm *h, const void *mine, void *least, int n, MPI_Datatype type,
			hetpart_err *err);
hetpart_status hm_send(struct hm *h, const void *buf, int n, MPI_Datatype type, int to, int tag,
		       hetpart_err *err);
hetpart_status hm_recv(struct hm *h, void *buf, int n, MPI_Datatype type, int from, int tag,
		       hetpart_err *err);

/* count items in memory that travel in messages of at most piece items. */
struct hm_items {
	char *at;
	ptrdiff_t extent; /* from one item to the next */
	MPI_Datatype type;
	uint64_t count;
	int piece;
};

#define HM_MSG_BYTES ((size_t)4 << 20)

/* hm_piece - items in a message of about max_msg_bytes (0: HM_MSG_BYTES), >= 1. */
int hm_piece(size_t max_msg_bytes, uint64_t item_bytes);

hetpart_status hm_send_items(struct hm *h, const struct hm_items *items, int to, int tag,
			     hetpart_err *err);
hetpart_status hm_recv_items(struct hm *h, const struct hm_items *items, int from, int tag,
			     hetpart_err *err);
/* hm_copy_items - from memory to memory through MPI, which knows both layouts. */
hetpart_status hm_copy_items(struct hm *h, const struct hm_items *from, const struct hm_items *to,
			     hetpart_err *err);

/* hm_fit - the affine cost with the smallest relative squared error over the points; startup and
 * slope are >= 0. npoints >= 1, items > 0, times > 0; runs: how often each point counts (NULL:
 * once). */
hetpart_mpi_affine hm_fit(const hetpart_point *points, const double *runs, size_t npoints);

/* hm_same_plan - HETPART_EINVAL on all ranks unless their plans have the same hash. */
hetpart_status hm_same_plan(struct hm *h, const hetpart_plan *plan, hetpart_err *err);

/* What a scatter is planned from, gathered from all ranks. */
struct hm_costs {
	const hetpart_mpi_affine *compute, *link; /* h.size entries each */
	int root;
	hetpart_mpi_shares shares;
	hetpart_scatter_method method;
};

/* hm_plan_scatter - the plan, and which rank each of its entries is. Not collective. */
hetpart_status hm_plan_scatter(hetpart_plan **out, size_t *order, uint64_t items, size_t nprocs,
			       const struct hm_costs *costs, hetpart_err *err);

#endif
