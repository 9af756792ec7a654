/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetpart_mpi.h - libhetpart over MPI: scatter items in shares that fit unequal ranks, hand out
 * work on request, measure the costs that the planner needs, and make the same plan on all ranks.
 *
 * Every call with a communicator is collective over it, even if it fails: all its ranks must make
 * the call. A call works on a duplicate of the communicator, with the error handler
 * MPI_ERRORS_RETURN. It makes the duplicate at the start by MPI_Comm_idup, which calls the copy
 * functions of the caller's attributes, and frees it at the end. The caller's communicator, its
 * error handler and its attributes never change. Intercommunicators are refused.
 *
 * All ranks return from a failed call together. If a rank fails because of its arguments, memory or
 * callback, it returns its own status. All other ranks return HETPART_EPEER, with a message that
 * names the rank and the reason. In two cases a rank returns at once:
 *   HETPART_EINVAL: MPI is not running, or the communicator is MPI_COMM_NULL or an
 *     intercommunicator;
 *   HETPART_EPEER: MPI itself fails during a transfer, which no rank can report to the others.
 *
 * Threads: no call starts one. Only one thread at a time may be in a call on one communicator.
 * Calls may be made at any thread level of MPI, by threads that may call MPI at this level. Several
 * threads on several communicators need MPI_THREAD_MULTIPLE. A waiting rank sleeps, and does not
 * occupy its processor. No call prints anything or ends the program.
 *
 * The last argument is an optional hetpart_err as in hetpart.h. Calls store their results through
 * pointer arguments; on failure these results are NULL, 0 or unchanged, except for buffers of
 * items. */
#ifndef HETPART_MPI_H
#define HETPART_MPI_H

#include <hetpart.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ======================================================================================= costs */

/* A cost: n items take startup_s + per_item_s n for n >= 1, and 0 items take no time. */
typedef struct hetpart_mpi_affine {
	double startup_s;  /* seconds, finite, >= 0 */
	double per_item_s; /* seconds for each item, finite, >= 0 */
} hetpart_mpi_affine;

/* ===================================================================================== scatter */

/* The sizes of the shares. */
typedef enum hetpart_mpi_shares {
	HETPART_MPI_BALANCED = 0, /* all ranks end together: hetpart_scatter_create() */
	HETPART_MPI_EQUAL = 1,    /* equal, as by MPI_Scatter; if the items cannot be divided
				   * equally, the ranks served first get one more */
	HETPART_MPI_SPEED = 2     /* proportional to 1/compute.per_item_s; links are ignored */
} hetpart_mpi_shares;

/* Start from HETPART_MPI_SCATTER_OPTS_INIT, then set what you need. Each rank gives
 * its own compute and link; all other members are used only at the root. */
typedef struct hetpart_mpi_scatter_opts {
	size_t struct_size;            /* sizeof(hetpart_mpi_scatter_opts), set by the INIT macro */
	hetpart_mpi_affine compute;    /* this rank's time to compute; { 0, 1/s } for a speed s.
					* BALANCED and SPEED require per_item_s > 0 on all ranks. */
	hetpart_mpi_affine link;       /* time of a message from the root to this rank; { 0, 0 }:
					* free. The link of the root is ignored. */
	hetpart_mpi_shares shares;     /* HETPART_MPI_BALANCED by default */
	hetpart_scatter_method method; /* of BALANCED; HETPART_SCATTER_AUTO by default */
	const hetpart_plan *plan;      /* NULL, or a plan to use instead of `shares` */
	const size_t *order;           /* NULL, or as many ranks as the communicator has: entry j of
					* the plan is for rank order[j]. NULL: entry j is for rank
					* j. Ranks are served in this order, but the root always
					* last. Without a plan, only hetpart_mpi_scatterv() uses the
					* order. */
	size_t max_msg_bytes; /* longest message, in whole items and at least one; 0: 4 MiB */
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
 * recvbuf   space for this rank's items; NULL only if capacity is 0. At the root it may be
 *           MPI_IN_PLACE: the root's items then stay where they are. MPI_BOTTOM is refused.
 * capacity  items that recvbuf holds.
 * received  receives the number of this rank's items; 0 on failure.
 * recvtype  type of one item, of the same size as sendtype, committed; its layout may differ.
 * root      a rank, the same everywhere.
 * comm      intracommunicator.
 * opts      see hetpart_mpi_scatter_opts; NULL: HETPART_MPI_EQUAL, and costs of { 0, 0 }.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: a pointer is NULL, a type is not committed or its size differs from the size at
 *     the root, root is not a rank or differs between ranks, struct_size, shares or method is
 *     unknown, a cost is out of its range, the plan is for other items or another number of ranks,
 *     order is not a permutation;
 *   HETPART_ERANGE: more than HETPART_ITEMS_MAX items, items that do not fit into the address
 *     space, or a share larger than the capacity of its rank (on that rank; nothing is sent);
 *   HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI did;
 *   or a status of hetpart_scatter_create() or hetpart_share_create().
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
 *          failure. recvtype must not have a negative lower bound.
 * All other arguments and results are the same. Also returns HETPART_ENOMEM if a rank has no memory
 * for its share. */
HETPART_API hetpart_status hetpart_mpi_scatter_alloc(const void *sendbuf, uint64_t count,
						     MPI_Datatype sendtype, void **recvbuf,
						     uint64_t *received, MPI_Datatype recvtype,
						     int root, MPI_Comm comm,
						     const hetpart_mpi_scatter_opts *opts,
						     hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_scatterv - scatter like MPI_Scatterv, with 64-bit counts, an order of service and
 * messages of limited length.
 * counts  at the root: number of items for each rank; their sum is 0 .. HETPART_ITEMS_MAX. Ignored
 *         on other ranks.
 * displs  at the root: for each rank, the index of its first item in sendbuf; NULL: ranks' items
 *         follow one another. Ignored on other ranks.
 * opts    NULL for defaults; only order and max_msg_bytes are used.
 * All other arguments and results are as for hetpart_mpi_scatter(). Also returns HETPART_EINVAL if
 * opts has a plan (pass hetpart_plan_shares() as counts instead). */
HETPART_API hetpart_status hetpart_mpi_scatterv(const void *sendbuf, const uint64_t *counts,
						const uint64_t *displs, MPI_Datatype sendtype,
						void *recvbuf, uint64_t capacity,
						uint64_t *received, MPI_Datatype recvtype, int root,
						MPI_Comm comm, const hetpart_mpi_scatter_opts *opts,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_scatter_plan - make the plan that hetpart_mpi_scatter() would use, on every rank,
 * without moving items. Use it to find the sizes of buffers, or to scatter many times.
 * out    receives the plan, NULL on failure; free with hetpart_plan_free(). Its entries are in the
 *        order of service.
 * order  NULL, or receives a rank for each rank of the communicator: entry j of the plan is for
 *        rank order[j].
 * items  number of items, used at the root: 0 .. HETPART_ITEMS_MAX.
 * opts   as for hetpart_mpi_scatter(), may be NULL; its plan and order must be NULL.
 * Returns the same as hetpart_mpi_scatter(), and HETPART_EINVAL if the ranks' plans differ.
 * Collective. */
HETPART_API hetpart_status hetpart_mpi_scatter_plan(hetpart_plan **out, size_t *order,
						    uint64_t items, int root, MPI_Comm comm,
						    const hetpart_mpi_scatter_opts *opts,
						    hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_gather - gather the items of all ranks at the root, in the order of ranks. Unlike
 * with MPI_Gatherv, counts have 64 bits, and each rank gives only its own count. A rank returns
 * when its items have been sent.
 * sendbuf   this rank's items, only read; NULL only if count is 0. At the root it may be
 *           MPI_IN_PLACE: the root's items are then already in their place in recvbuf.
 * count     0 .. HETPART_ITEMS_MAX.
 * sendtype  type of one item, committed; ignored with MPI_IN_PLACE.
 * recvbuf   at the root: space for all items; NULL only if capacity is 0. Ignored on other ranks.
 * capacity  at the root: items that recvbuf holds.
 * received  NULL, or receives the number of all items at the root, and 0 on other ranks or on
 *           failure.
 * recvtype  at the root: type of one item, of the same size as sendtype, committed.
 * root      a rank, the same everywhere.
 * comm      intracommunicator.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: a pointer is NULL, a type is not committed or its size differs from the size at
 *     the root, root is not a rank or differs between ranks;
 *   HETPART_ERANGE: more items than HETPART_ITEMS_MAX or, at the root, than capacity (nothing is
 *     sent), or items that do not fit into the address space;
 *   HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI did.
 * Collective. Needs O(ranks) memory at the root. */
HETPART_API hetpart_status hetpart_mpi_gather(const void *sendbuf, uint64_t count,
					      MPI_Datatype sendtype, void *recvbuf,
					      uint64_t capacity, uint64_t *received,
					      MPI_Datatype recvtype, int root, MPI_Comm comm,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* ======================================================================================== farm */

/* A chunk of items for a worker. */
typedef struct hetpart_mpi_chunk {
	uint64_t first;   /* number of the first item, from 0 */
	uint64_t count;   /* number of items, >= 1 */
	const void *data; /* count * item_bytes bytes; NULL if item_bytes is 0. Valid until the
			   * function returns. */
} hetpart_mpi_chunk;

/* Process a chunk. Called on the workers, by the thread that called the farm.
 * ctx           as passed to hetpart_mpi_farm().
 * result        may receive the address of a result, which is not freed. The result must not change
 *               until the function is called again or the farm has ended.
 * result_bytes  length of the result; 0, as on entry: no result.
 * err           receives the reason of a failure.
 * Returns HETPART_OK, or any other status to stop all ranks. The function may communicate, but must
 * not wait for ranks of this farm. */
typedef hetpart_status hetpart_mpi_work_fn(void *ctx, const hetpart_mpi_chunk *chunk,
					   const void **result, size_t *result_bytes,
					   hetpart_err *err);

/* Take the result of a chunk. Called on the root, once for each chunk, in the order in which chunks
 * end.
 * rank          the rank that processed the chunk.
 * chunk         data is NULL.
 * result        result_bytes bytes, aligned as by malloc(), or the root's own result; valid until
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
	bool root_works;           /* true: while no rank asks, the root processes chunks of the
				    * smallest size; ranks that ask wait for the end of its chunk.
				    * false: the root only hands out chunks. If it is the only rank,
				    * it always works. */
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
 * until all are done. Each item is processed exactly once. [S2] The sizes of chunks follow
 * hetpart_chunk_rule, for the number of ranks that work.
 * items  number of items, used at the root: 0 .. HETPART_ITEMS_MAX.
 * work   processes a chunk; NULL only at a root that does not work.
 * ctx    passed to work and to take.
 * root   a rank, the same everywhere.
 * comm   intracommunicator.
 * opts   NULL for defaults.
 * done   NULL, or receives the number of items that this rank has processed, also on failure.
 * Returns HETPART_OK: all items are done and all results taken;
 *   HETPART_EINVAL: a pointer is NULL, root is not a rank or differs between ranks, struct_size or
 *     rule is unknown, or work returns NULL with result_bytes > 0;
 *   HETPART_ERANGE: more than HETPART_ITEMS_MAX items, or their data do not fit into the address
 *     space;
 *   HETPART_ENOMEM: a worker has no memory for the data of the largest chunk, or the root for a
 *     result;
 *   the status of work or take, on the rank where it failed: no more chunks are handed out;
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
	hetpart_mpi_affine fit; /* the affine cost with the smallest relative distance from the
				 * points */
	size_t npoints;
	hetpart_point points[HETPART_MPI_POINTS_MAX]; /* items increasing, time_s > 0 */
} hetpart_mpi_timing;

/* Process a number of sample items as the program does. Return HETPART_OK, or another status on
 * failure. */
typedef hetpart_status hetpart_mpi_kernel_fn(void *ctx, uint64_t items, hetpart_err *err);

/* hetpart_mpi_measure_compute - time a kernel on this rank. All ranks do so at the same time,
 * because all are busy in a real job. The kernel is called once to warm up, then three times each
 * with 1, 2, 4 ... items, for which the median counts. The largest number of items is then repeated
 * until the time is over. The mean of these calls is weighted by their number.
 * out     receives the timing; fit.per_item_s is > 0.
 * kernel  called as kernel(ctx, items) with 1 <= items <= most.
 * most    >= 1.
 * limit_s seconds for the whole measurement, finite, > 0; 0: 0.2. If the first call takes longer,
 *         it is the only one.
 * comm    intracommunicator.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, most is 0 or limit_s is out of its range;
 *   the status of kernel, on the rank where it failed; HETPART_EPEER: another rank failed, or MPI
 *   did. Collective. */
HETPART_API hetpart_status hetpart_mpi_measure_compute(hetpart_mpi_timing *out,
						       hetpart_mpi_kernel_fn *kernel, void *ctx,
						       uint64_t most, double limit_s, MPI_Comm comm,
						       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_measure_link - time messages from the root to each rank, one rank after the other.
 * The root sends items, and the rank answers with an empty message. The time of the answer is half
 * the round trip of an empty message, and is subtracted. The first point is the shortest time of a
 * few messages of one item. The second point is the time of the largest messages. Their size begins
 * with 64 KiB and doubles up to its limit; then their number doubles. This ends when the time is
 * over, or when the speed stays the same after 16 MiB. The mean of the last messages counts,
 * because buffers or a token bucket accept the first ones at once.
 * out         receives the timing of the link from the root to this rank; at the root, no points
 *             and a fit of { 0, 0 }.
 * item_bytes  at the root: bytes of an item, 1 .. INT_MAX.
 * most        at the root: most items in a message, >= 1; a message has at most 16 MiB or one item.
 * limit_s     at the root: seconds for the measurement of all ranks, finite, > 0; 0: 0.2. In any
 *             case every rank is sent at least 11 messages, of at most 64 KiB or one item.
 * root        a rank, the same everywhere.
 * comm        intracommunicator.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, a number is out of its range, root is
 *   not a rank or not the same everywhere; HETPART_ENOMEM; HETPART_EPEER: another rank failed, or
 *   MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_measure_link(hetpart_mpi_timing *out, uint64_t item_bytes,
						    uint64_t most, double limit_s, int root,
						    MPI_Comm comm,
						    hetpart_err *err) HETPART_MUST_CHECK;

/* =============================================================== the same plan on all ranks */

/* hetpart_mpi_gather_speeds - gather the speeds of all ranks on every rank.
 * speeds  receives the speed of each rank of the communicator, in the order of ranks.
 * mine    this rank's speed, finite, > 0: 1/per_item_s of a timing, for instance.
 * comm    intracommunicator.
 * Returns HETPART_OK; HETPART_EINVAL: speeds is NULL or mine out of its range; HETPART_EPEER:
 *   another rank failed, or MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_gather_speeds(double *speeds, double mine, MPI_Comm comm,
						     hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_model_add - add the observations of all ranks to the model of every rank, as by
 * hetpart_model_add(). If all models were equal, they remain equal.
 * model     changed, except on failure.
 * observed  count entries of this rank: items 0 .. 2^63, time_s their time on this rank, finite, >=
 *           0; NULL only if count is 0.
 * count     may be 0, and may differ between ranks.
 * speed     speed of this rank, finite, > 0; its times are multiplied by the speed.
 * comm      intracommunicator.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL or a number out of its range;
 *   HETPART_ERANGE: more than INT_MAX/2 observations in all; HETPART_ENOMEM; HETPART_EPEER: another
 *   rank failed, or MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_model_add(hetpart_model *model,
						 const hetpart_point *observed, size_t count,
						 double speed, MPI_Comm comm,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_share_create - make the same plan on every rank from the speeds of all ranks, as by
 * hetpart_share_create(), and check that the plans are equal. Entry r is for rank r.
 * out    receives the plan, NULL on failure; free with hetpart_plan_free().
 * items  0 .. HETPART_ITEMS_MAX, the same everywhere.
 * speed  speed of this rank, finite, > 0.
 * model  the fitted cost, equal on all ranks; NULL: one time unit for each item.
 * opts   NULL for defaults, the same everywhere.
 * comm   intracommunicator.
 * Returns the same as hetpart_model_plan(); HETPART_EINVAL also if the ranks' plans differ;
 *   HETPART_EPEER: another rank failed, or MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_share_create(hetpart_plan **out, uint64_t items,
						    double speed, const hetpart_model *model,
						    const hetpart_opts *opts, MPI_Comm comm,
						    hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_plan_bcast - broadcast the plan of one rank, for example a plan from a file.
 * out   receives the plan (a copy also at the root), NULL on failure; free with
 *       hetpart_plan_free().
 * plan  at the root: the plan. Ignored on other ranks.
 * root  a rank, the same everywhere.
 * comm  intracommunicator.
 * Returns HETPART_OK; HETPART_EINVAL: out is NULL, plan is NULL at the root, root is not a rank or
 *   differs between ranks; HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI did.
 * Collective. */
HETPART_API hetpart_status hetpart_mpi_plan_bcast(hetpart_plan **out, const hetpart_plan *plan,
						  int root, MPI_Comm comm,
						  hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_plan_agree - check by hetpart_plan_hash() that all ranks have the same shares.
 * plan  the plan of this rank.
 * comm  intracommunicator.
 * Returns HETPART_OK: the shares are equal; HETPART_EINVAL: they differ, or plan is NULL;
 *   HETPART_EPEER: the plan of another rank is NULL, or MPI failed. Collective. */
HETPART_API hetpart_status hetpart_mpi_plan_agree(const hetpart_plan *plan, MPI_Comm comm,
						  hetpart_err *err) HETPART_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
