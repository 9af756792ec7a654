/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetpart_mpi.h - libhetpart over MPI: scatter items in shares that fit unequal ranks, hand out
 * work on request, measure the costs that the planner needs, agree on one plan.
 *
 * Every call with a communicator is collective over it: all its ranks must call it, also if the
 * call fails. A call works on a duplicate of the communicator, which returns errors. The duplicate
 * is made at the start by MPI_Comm_idup, so the copy functions of the caller's attributes are
 * called, and freed at the end. The caller's communicator, its error handler and its attributes are
 * never changed. Intercommunicators are refused.
 *
 * Ranks leave together. A rank whose arguments, memory or callback fail returns its own status. All
 * others return HETPART_EPEER with a message that names the rank and its reason. There are two
 * exceptions, returned at once on the rank that detects them: HETPART_EINVAL if MPI is not running
 * or the communicator is MPI_COMM_NULL or an intercommunicator, and HETPART_EPEER if MPI itself
 * fails during a transfer, which no rank can report to the others.
 *
 * Threads: no call starts one. Only one thread at a time may be in a call on one communicator. Any
 * thread level is sufficient if that is the thread that MPI allows. Several threads on several
 * communicators need MPI_THREAD_MULTIPLE. A waiting rank tests and sleeps, so it does not occupy
 * its processor. Nothing is printed, and no call ends the program.
 *
 * The last argument is an optional hetpart_err as in hetpart.h. Results leave through
 * out-parameters, which are NULL, 0 or unchanged on failure, except for buffers of items. */
#ifndef HETPART_MPI_H
#define HETPART_MPI_H

#include <hetpart.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ======================================================================================= costs */

/* The time of n items: startup_s + per_item_s n for n >= 1, 0 for none. */
typedef struct hetpart_mpi_affine {
	double startup_s;  /* seconds, finite, >= 0 */
	double per_item_s; /* seconds for each item, finite, >= 0 */
} hetpart_mpi_affine;

/* ===================================================================================== scatter */

/* How items are shared. */
typedef enum hetpart_mpi_shares {
	HETPART_MPI_BALANCED = 0, /* all ranks end together: hetpart_scatter_create() */
	HETPART_MPI_EQUAL = 1,    /* the same for all, as MPI_Scatter; of the rest, one item goes to
				   * each of the ranks served first */
	HETPART_MPI_SPEED = 2     /* by 1/compute.per_item_s, whatever the links */
} hetpart_mpi_shares;

/* Start from HETPART_MPI_SCATTER_OPTS_INIT, then set what you need. Each rank gives
 * its own compute and link; all other members are used only at the root. */
typedef struct hetpart_mpi_scatter_opts {
	size_t struct_size;            /* sizeof(hetpart_mpi_scatter_opts), set by the INIT macro */
	hetpart_mpi_affine compute;    /* this rank's time to compute; of a speed s: { 0, 1/s }.
					* BALANCED and SPEED require per_item_s > 0 on all ranks. */
	hetpart_mpi_affine link;       /* time of a message from the root to this rank; { 0, 0 }:
					* free. The link of the root is ignored. */
	hetpart_mpi_shares shares;     /* HETPART_MPI_BALANCED by default */
	hetpart_scatter_method method; /* of BALANCED; HETPART_SCATTER_AUTO by default */
	const hetpart_plan *plan;      /* NULL, or a plan made beforehand, instead of shares */
	const size_t *order;           /* NULL, or the size of the communicator ranks: with plan,
					* its entry j is rank order[j]; ranks are served in this
					* order, but the root always last. NULL: entry j is rank j.
					* Without plan, only scatterv uses it. */
	size_t max_msg_bytes; /* longest message, rounded to whole items, at least one; 0: 4 MiB */
} hetpart_mpi_scatter_opts;

/* clang-format off */
#define HETPART_MPI_SCATTER_OPTS_INIT { sizeof(hetpart_mpi_scatter_opts), { 0, 0 }, { 0, 0 }, \
		HETPART_MPI_BALANCED, HETPART_SCATTER_AUTO, NULL, NULL, 0 }
/* clang-format on */

/* hetpart_mpi_scatter - scatter items like MPI_Scatter, with shares that fit the ranks. Rank r
 * receives the r-th piece of the root's items in the order of ranks. Ranks are served by decreasing
 * bandwidth, one after the other, and the root last, by a copy. A rank returns when it has its
 * items; it does not wait for the ranks that are served later.
 * sendbuf   items at the root, as for MPI_Scatter; only read. Ignored on other ranks.
 * count     number of items at the root, of all ranks together: 0 .. HETPART_ITEMS_MAX.
 * sendtype  type of one item at the root, committed.
 * recvbuf   room for this rank's items; NULL only with capacity 0; at the root it may be
 *           MPI_IN_PLACE: its items then stay where they are. MPI_BOTTOM is refused.
 * capacity  items that recvbuf holds.
 * received  receives the number of this rank's items; 0 on failure.
 * recvtype  type of one item, of the same size as sendtype, committed; it may be laid out
 *           differently.
 * root      a rank, the same everywhere.
 * comm      intracommunicator.
 * opts      see hetpart_mpi_scatter_opts; NULL: EQUAL, and costs of { 0, 0 }.
 * err       NULL, or receives the reason of a failure.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: a pointer is NULL, a type is not committed or of another size than the root's,
 *     root is not a rank or not the same everywhere, struct_size, shares or method is unknown, a
 *     cost is out of its range, the plan is not of these items and ranks, order is not a
 *     permutation;
 *   HETPART_ERANGE: more than HETPART_ITEMS_MAX items, items beyond the address space, or a share
 *     larger than capacity (on the rank it concerns; nothing is sent);
 *   HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI did;
 *   and what hetpart_scatter_create() and hetpart_share_create() return.
 * Collective. Needs O(ranks) memory, and at the root also the memory of the planner. */
HETPART_API hetpart_status hetpart_mpi_scatter(const void *sendbuf, uint64_t count,
					       MPI_Datatype sendtype, void *recvbuf,
					       uint64_t capacity, uint64_t *received,
					       MPI_Datatype recvtype, int root, MPI_Comm comm,
					       const hetpart_mpi_scatter_opts *opts,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_scatter_alloc - scatter like hetpart_mpi_scatter() into memory that the call
 * allocates.
 * recvbuf  receives this rank's items; release them with free(). NULL for an empty share and on
 *          failure. recvtype must not reach below its address (no negative lower bound).
 * All other arguments and results are the same; HETPART_ENOMEM also if a rank has no room for its
 * share. */
HETPART_API hetpart_status hetpart_mpi_scatter_alloc(const void *sendbuf, uint64_t count,
						     MPI_Datatype sendtype, void **recvbuf,
						     uint64_t *received, MPI_Datatype recvtype,
						     int root, MPI_Comm comm,
						     const hetpart_mpi_scatter_opts *opts,
						     hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_scatterv - scatter like MPI_Scatterv, with 64-bit counts, an order of service and
 * messages of limited length.
 * counts  at the root: items for each rank, of sum 0 .. HETPART_ITEMS_MAX. Ignored on other ranks.
 * displs  at the root: where each rank's items begin in sendbuf, in items; NULL: one after the
 *         other. Ignored on other ranks.
 * opts    NULL for defaults; only order and max_msg_bytes are used.
 * All other arguments and results are as for hetpart_mpi_scatter(); HETPART_EINVAL also if opts has
 * a plan (pass hetpart_plan_shares() as counts instead). */
HETPART_API hetpart_status hetpart_mpi_scatterv(const void *sendbuf, const uint64_t *counts,
						const uint64_t *displs, MPI_Datatype sendtype,
						void *recvbuf, uint64_t capacity,
						uint64_t *received, MPI_Datatype recvtype, int root,
						MPI_Comm comm, const hetpart_mpi_scatter_opts *opts,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_scatter_plan - make the plan that hetpart_mpi_scatter() would follow, the same on
 * every rank, without moving an item. Use it to size buffers, or to scatter many times.
 * out    receives the plan, NULL on failure; free with hetpart_plan_free(). Its entries are in the
 *        order of service.
 * order  NULL, or receives the size of the communicator ranks: entry j is rank order[j].
 * items  counts at the root: 0 .. HETPART_ITEMS_MAX.
 * opts   as for hetpart_mpi_scatter(), may be NULL; without plan and order.
 * Returns the same as hetpart_mpi_scatter(); HETPART_EINVAL also if the ranks' plans differ.
 * Collective. */
HETPART_API hetpart_status hetpart_mpi_scatter_plan(hetpart_plan **out, size_t *order,
						    uint64_t items, int root, MPI_Comm comm,
						    const hetpart_mpi_scatter_opts *opts,
						    hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_gather - gather the items of all ranks, the way back of a scatter. Unlike
 * MPI_Gatherv, counts have 64 bits, and only their own ranks need to know them. The root receives
 * the items of one rank after the other, in the order of ranks. A rank returns when its items are
 * on their way.
 * sendbuf   this rank's items, only read; NULL only with count 0; at the root it may be
 *           MPI_IN_PLACE: its count items are then where they belong in recvbuf.
 * count     0 .. HETPART_ITEMS_MAX.
 * sendtype  type of one item, committed; ignored with MPI_IN_PLACE.
 * recvbuf   at the root: room for all items; NULL only with capacity 0. Ignored on other ranks.
 * capacity  at the root: items that recvbuf holds.
 * received  NULL, or receives at the root the number of all items, elsewhere 0; 0 on failure.
 * recvtype  at the root: type of one item, of the same size as sendtype, committed.
 * root      a rank, the same everywhere.
 * comm      intracommunicator.
 * err       NULL, or receives the reason of a failure.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: a pointer is NULL, a type is not committed or of another size than the root's,
 *     root is not a rank or not the same everywhere;
 *   HETPART_ERANGE: more items than HETPART_ITEMS_MAX or, at the root, than capacity: nothing is
 *     sent; or items beyond the address space;
 *   HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI did.
 * Collective. Needs O(ranks) memory at the root. */
HETPART_API hetpart_status hetpart_mpi_gather(const void *sendbuf, uint64_t count,
					      MPI_Datatype sendtype, void *recvbuf,
					      uint64_t capacity, uint64_t *received,
					      MPI_Datatype recvtype, int root, MPI_Comm comm,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* ======================================================================================== farm */

/* Some of the items, for a worker. */
typedef struct hetpart_mpi_chunk {
	uint64_t first;   /* number of the first item, from 0 */
	uint64_t count;   /* how many, >= 1 */
	const void *data; /* count times item_bytes bytes; NULL if item_bytes is 0. Valid until
			   * the function returns. */
} hetpart_mpi_chunk;

/* Process a chunk. Called on the workers, by the thread that called the farm.
 * ctx           as passed to the farm.
 * result        may receive the address of a result; it stays the function's own and must stay as
 *               it is until the function is called again or the farm has ended.
 * result_bytes  its length; 0 on entry: no result.
 * err           receives the reason of a failure.
 * Returns HETPART_OK, or any other status to stop all ranks. It may communicate, but must not
 * wait for ranks of this farm. */
typedef hetpart_status hetpart_mpi_work_fn(void *ctx, const hetpart_mpi_chunk *chunk,
					   const void **result, size_t *result_bytes,
					   hetpart_err *err);

/* Take a chunk's result. Called on the root, once for each chunk, in the order in which they end.
 * rank          the rank that worked.
 * chunk         data is NULL.
 * result        result_bytes bytes, aligned as from malloc() or the root's own; valid until
 *               the function returns. NULL if result_bytes is 0.
 * Returns HETPART_OK, or any other status to stop all ranks. */
typedef hetpart_status hetpart_mpi_take_fn(void *ctx, int rank, const hetpart_mpi_chunk *chunk,
					   const void *result, size_t result_bytes,
					   hetpart_err *err);

/* Start from HETPART_MPI_FARM_OPTS_INIT, then set what you need. Used only at the root. */
typedef struct hetpart_mpi_farm_opts {
	size_t struct_size;        /* sizeof(hetpart_mpi_farm_opts), set by the INIT macro */
	hetpart_chunk_rule rule;   /* HETPART_CHUNK_FACTORING by default */
	uint64_t chunk;            /* the size, or the smallest size, in items; 0: 1 */
	bool root_works;           /* the root works while no rank asks, on the smallest chunks, and
				    * the others wait for it. false: it only serves, and sleeps. A
				    * root that is the only rank always works. */
	size_t item_bytes;         /* bytes of an item to send with a chunk; 0: only numbers */
	const void *data;          /* the items, one after the other; NULL only if item_bytes or
				    * items is 0 */
	hetpart_mpi_take_fn *take; /* NULL: results are ignored */
	size_t max_msg_bytes;      /* longest message; 0: 4 MiB */
} hetpart_mpi_farm_opts;

/* clang-format off */
#define HETPART_MPI_FARM_OPTS_INIT { sizeof(hetpart_mpi_farm_opts), HETPART_CHUNK_FACTORING, 0, \
		false, 0, NULL, NULL, 0 }
/* clang-format on */

/* hetpart_mpi_farm - hand out chunks of items from the root on request, first come first served,
 * until all are done. Each item is worked on exactly once. [S2] The size of chunks follows the
 * rules of hetpart_farm_create(), p being the number of ranks that work.
 * items  counts at the root: 0 .. HETPART_ITEMS_MAX.
 * work   processes a chunk; NULL only at a root that does not work.
 * ctx    passed to work and to take.
 * root   a rank, the same everywhere.
 * comm   intracommunicator.
 * opts   NULL for defaults.
 * done   NULL, or receives the number of items this rank has worked on, on failure too.
 * err    NULL, or receives the reason of a failure.
 * Returns HETPART_OK: all items are done and all results taken;
 *   HETPART_EINVAL: a pointer is NULL, root is not a rank or not the same everywhere, struct_size
 *     or rule is unknown, work announces a result at NULL;
 *   HETPART_ERANGE: more than HETPART_ITEMS_MAX items, or their bytes are beyond the address space;
 *   HETPART_ENOMEM: a worker has no room for the data of the largest chunk, or the root for a
 *     result;
 *   the status of work or take, on the rank where it failed: nothing is handed out after that;
 *   HETPART_EPEER: another rank failed, or MPI did.
 * Collective; all ranks return when the last one has ended. */
HETPART_API hetpart_status hetpart_mpi_farm(uint64_t items, hetpart_mpi_work_fn *work, void *ctx,
					    int root, MPI_Comm comm,
					    const hetpart_mpi_farm_opts *opts, uint64_t *done,
					    hetpart_err *err) HETPART_MUST_CHECK;

/* ================================================================================= measurement */

#define HETPART_MPI_POINTS_MAX 64

/* The result of a measurement. */
typedef struct hetpart_mpi_timing {
	hetpart_mpi_affine fit; /* the affine cost nearest to the points, in relative terms */
	size_t npoints;
	hetpart_point points[HETPART_MPI_POINTS_MAX]; /* items increasing, time_s > 0 */
} hetpart_mpi_timing;

/* Compute a number of sample items like the program does. Return HETPART_OK or a failure. */
typedef hetpart_status hetpart_mpi_kernel_fn(void *ctx, uint64_t items, hetpart_err *err);

/* hetpart_mpi_measure_compute - time a kernel on this rank while all others time theirs, because
 * they will be busy in the job, too. The kernel is called once to warm up, then with 1, 2, 4 ...
 * items, where the median of three calls counts. Then the largest number is repeated while time is
 * left; its mean has the weight of all these calls.
 * out     receives the timing; fit.per_item_s is > 0.
 * kernel  called as kernel(ctx, items) with 1 <= items <= most.
 * most    >= 1.
 * limit_s seconds to take, finite, > 0; 0: 0.2. The first call counts but cannot be cut short: a
 *         kernel that needs longer for one item is timed once.
 * comm    intracommunicator.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, most is 0 or limit_s out of its range;
 *   the status of kernel, on the rank where it failed; HETPART_EPEER: another rank failed, or MPI
 *   did. Collective. */
HETPART_API hetpart_status hetpart_mpi_measure_compute(hetpart_mpi_timing *out,
						       hetpart_mpi_kernel_fn *kernel, void *ctx,
						       uint64_t most, double limit_s, MPI_Comm comm,
						       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_measure_link - time messages from the root to each rank, one rank after the other.
 * The root sends items, and the rank answers with an empty message. Half the time of an empty
 * message there and back is subtracted as the way back. The first point is one item, the best of a
 * few messages. The second point is the largest number of items that were sent in a message.
 * Messages begin with 64 KiB and double; at the largest size, their number doubles. This ends when
 * the time is over, or after 16 MiB if the speed stays the same. The mean of the last messages
 * counts, because buffers or a token bucket accept the first ones at once.
 * out         receives the timing of the link from the root to this rank; no points and { 0, 0 } at
 *             the root.
 * item_bytes  at the root: bytes of an item, 1 .. INT_MAX.
 * most        at the root: most items in a message, >= 1; a message has at most 16 MiB or one item.
 * limit_s     at the root: seconds to take for all ranks together, finite, > 0; 0: 0.2. Every rank
 *             gets 16 messages in any case: one of 64 KiB at most (or one item, if that is more),
 *             the others shorter.
 * root        a rank, the same everywhere.
 * comm        intracommunicator.
 * err         NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, a number is out of its range, root is
 *   not a rank or not the same everywhere; HETPART_ENOMEM; HETPART_EPEER: another rank failed, or
 *   MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_measure_link(hetpart_mpi_timing *out, uint64_t item_bytes,
						    uint64_t most, double limit_s, int root,
						    MPI_Comm comm,
						    hetpart_err *err) HETPART_MUST_CHECK;

/* ====================================================================== the same everywhere */

/* hetpart_mpi_gather_speeds - gather the speeds of all ranks on every rank.
 * speeds  receives a number for each rank of the communicator, in the order of ranks.
 * mine    this rank's speed, finite, > 0: 1/per_item_s of a timing, for instance.
 * comm    intracommunicator.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: speeds is NULL or mine out of its range; HETPART_EPEER:
 *   another rank failed, or MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_gather_speeds(double *speeds, double mine, MPI_Comm comm,
						     hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_model_add - add the observations of all ranks to the model of every rank, as by
 * hetpart_model_add(). Equal models stay equal.
 * model     changed; unchanged on failure.
 * observed  count entries of this rank: items 0 .. 2^63, time_s their time on this rank, finite,
 *           >= 0; NULL only with count 0.
 * count     0 is valid, and need not be the same everywhere.
 * speed     this rank's, finite, > 0: the times are multiplied by it.
 * comm      intracommunicator.
 * err       NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL or a number out of its range;
 *   HETPART_ERANGE: more than INT_MAX/2 observations in all; HETPART_ENOMEM; HETPART_EPEER: another
 *   rank failed, or MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_model_add(hetpart_model *model,
						 const hetpart_point *observed, size_t count,
						 double speed, MPI_Comm comm,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_share_create - make the same plan on every rank, as by hetpart_share_create(), from
 * the speeds of all ranks. Entry r is for rank r. The plans are compared by their hash.
 * out    receives the plan, NULL on failure; free with hetpart_plan_free().
 * items  0 .. HETPART_ITEMS_MAX, the same everywhere.
 * speed  this rank's, finite, > 0.
 * model  the fitted cost, equal on all ranks; NULL: one time unit for each item.
 * opts   NULL for defaults, the same everywhere.
 * comm   intracommunicator.
 * err    NULL, or receives the reason of a failure.
 * Returns the same as hetpart_model_plan(); HETPART_EINVAL also if the ranks' plans differ;
 * HETPART_EPEER:
 *   another rank failed, or MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_share_create(hetpart_plan **out, uint64_t items,
						    double speed, const hetpart_model *model,
						    const hetpart_opts *opts, MPI_Comm comm,
						    hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_plan_bcast - broadcast the plan of one rank, which it has made or read from a file.
 * out   receives the plan, on the root a copy, NULL on failure; free with hetpart_plan_free().
 * plan  at the root: the plan. Ignored on other ranks.
 * root  a rank, the same everywhere.
 * comm  intracommunicator.
 * err   NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: out is NULL, plan is NULL at the root, root is not a rank or
 * not
 *   the same everywhere; HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI did.
 * Collective. */
HETPART_API hetpart_status hetpart_mpi_plan_bcast(hetpart_plan **out, const hetpart_plan *plan,
						  int root, MPI_Comm comm,
						  hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_plan_agree - check by hetpart_plan_hash() that all ranks have the same shares.
 * plan  the plan of this rank.
 * comm  intracommunicator.
 * err   NULL, or receives the reason of a failure.
 * Returns HETPART_OK: they do; HETPART_EINVAL: they do not (on all ranks), or plan is NULL;
 *   HETPART_EPEER: the plan of another rank is NULL, or MPI failed. Collective. */
HETPART_API hetpart_status hetpart_mpi_plan_agree(const hetpart_plan *plan, MPI_Comm comm,
						  hetpart_err *err) HETPART_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
