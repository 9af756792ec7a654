/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetpart_mpi.h - libhetpart over MPI: scatter items in shares that fit unequal ranks, hand out
 * work on request, measure what the planner wants to know, agree on one plan.
 *
 * Every call with a communicator is collective over it, whether it succeeds or not: all its ranks
 * must call it. It works on a duplicate of the communicator, made at the start and freed at the end
 * (MPI_Comm_idup, so the copy functions of the caller's attributes run), which returns errors; the
 * caller's communicator, its error handler and its attributes are never changed. Intercommunicators
 * are refused.
 *
 * Ranks leave together: a rank whose arguments, memory or callback fail returns its own status, all
 * others return HETPART_EPEER with a sentence that names the rank and its trouble. The exceptions,
 * returned at once on the rank that sees them: HETPART_EINVAL if MPI is not running or the
 * communicator is MPI_COMM_NULL or an intercommunicator; and HETPART_EPEER where MPI itself fails
 * in the middle of a transfer, which no rank can tell the others.
 *
 * Threads: no call starts one. Only one thread at a time may be in a call on one communicator; any
 * thread level will do if that is the thread MPI allows, several threads on several communicators
 * need MPI_THREAD_MULTIPLE. A rank that waits tests and naps: it does not occupy its processor.
 * Nothing is printed, and no call ends the program.
 *
 * The last argument is an optional hetpart_err as in hetpart.h. Results leave through
 * out-parameters, which are NULL or 0 or untouched on failure, except buffers of items. */
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

/* Who gets how much. */
typedef enum hetpart_mpi_shares {
	HETPART_MPI_BALANCED = 0, /* all ranks end together: hetpart_scatter_create() */
	HETPART_MPI_EQUAL = 1,    /* the same for all, as MPI_Scatter; what is left over goes one
				   * each to those served first */
	HETPART_MPI_SPEED = 2     /* by 1/compute.per_item_s, whatever the links */
} hetpart_mpi_shares;

/* Start from HETPART_MPI_SCATTER_OPTS_INIT, then set what you need. compute and link are each
 * rank's own; the rest counts at the root alone. */
typedef struct hetpart_mpi_scatter_opts {
	size_t struct_size;            /* sizeof(hetpart_mpi_scatter_opts), set by the INIT macro */
	hetpart_mpi_affine compute;    /* this rank's time to compute; of a speed s: { 0, 1/s }.
					* BALANCED and SPEED want per_item_s > 0 on every rank. */
	hetpart_mpi_affine link;       /* time of a message from the root to this rank; { 0, 0 }:
					* free. What the root gives is not looked at. */
	hetpart_mpi_shares shares;     /* HETPART_MPI_BALANCED by default */
	hetpart_scatter_method method; /* of BALANCED; HETPART_SCATTER_AUTO by default */
	const hetpart_plan *plan;      /* NULL, or a plan made beforehand, instead of shares */
	const size_t *order;           /* NULL, or the size of the communicator ranks: with plan,
					* its entry j is rank order[j]; ranks are served in this
					* order, the root last wherever it stands. NULL: entry j is
					* rank j. Without plan only scatterv looks at it. */
	size_t max_msg_bytes; /* longest message, rounded to whole items, at least one; 0: 4 MiB */
} hetpart_mpi_scatter_opts;

/* clang-format off */
#define HETPART_MPI_SCATTER_OPTS_INIT { sizeof(hetpart_mpi_scatter_opts), { 0, 0 }, { 0, 0 }, \
		HETPART_MPI_BALANCED, HETPART_SCATTER_AUTO, NULL, NULL, 0 }
/* clang-format on */

/* hetpart_mpi_scatter - MPI_Scatter with shares that fit the ranks. Rank r receives the r-th piece
 * of the root's items in the order of ranks; ranks are served by decreasing bandwidth, one after
 * the other, the root last (a copy). A rank returns when it has its items: it does not wait for
 * those served later.
 * sendbuf   items at the root, as for MPI_Scatter; only read. Not looked at elsewhere.
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
 *     root is no rank or not the same everywhere, struct_size, shares or method is unknown, a cost
 *     is out of its range, the plan is not of these items and ranks, order is no permutation;
 *   HETPART_ERANGE: more than HETPART_ITEMS_MAX items, items beyond the address space, or a share
 *     larger than capacity (on the rank it concerns; nothing is sent);
 *   HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI did;
 *   and what hetpart_scatter_create() and hetpart_share_create() return.
 * Collective. O(ranks) memory, at the root also what the planner takes. */
HETPART_API hetpart_status hetpart_mpi_scatter(const void *sendbuf, uint64_t count,
					       MPI_Datatype sendtype, void *recvbuf,
					       uint64_t capacity, uint64_t *received,
					       MPI_Datatype recvtype, int root, MPI_Comm comm,
					       const hetpart_mpi_scatter_opts *opts,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_scatter_alloc - hetpart_mpi_scatter() into memory that the call allocates.
 * recvbuf  receives this rank's items; give it back with free(). NULL for an empty share and on
 *          failure. recvtype must not reach below its address (no negative lower bound).
 * The other arguments and results as there; HETPART_ENOMEM: a rank has no room for its share. */
HETPART_API hetpart_status hetpart_mpi_scatter_alloc(const void *sendbuf, uint64_t count,
						     MPI_Datatype sendtype, void **recvbuf,
						     uint64_t *received, MPI_Datatype recvtype,
						     int root, MPI_Comm comm,
						     const hetpart_mpi_scatter_opts *opts,
						     hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_scatterv - MPI_Scatterv with 64-bit counts, an order of service and messages of
 * limited length.
 * counts  at the root: items for each rank, of sum 0 .. HETPART_ITEMS_MAX. Not looked at elsewhere.
 * displs  at the root: where each rank's items begin in sendbuf, in items; NULL: one after the
 *         other. Not looked at elsewhere.
 * opts    NULL for defaults; order and max_msg_bytes count.
 * The other arguments and results as for hetpart_mpi_scatter(); HETPART_EINVAL also if opts has a
 * plan (give hetpart_plan_shares() as counts). */
HETPART_API hetpart_status hetpart_mpi_scatterv(const void *sendbuf, const uint64_t *counts,
						const uint64_t *displs, MPI_Datatype sendtype,
						void *recvbuf, uint64_t capacity,
						uint64_t *received, MPI_Datatype recvtype, int root,
						MPI_Comm comm, const hetpart_mpi_scatter_opts *opts,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_scatter_plan - the plan that hetpart_mpi_scatter() would follow, the same on every
 * rank, without moving an item: look at it, size buffers, scatter many times with it.
 * out    receives the plan, NULL on failure; free with hetpart_plan_free(). Its entries are in the
 *        order of service.
 * order  NULL, or receives the size of the communicator ranks: entry j is rank order[j].
 * items  counts at the root: 0 .. HETPART_ITEMS_MAX.
 * opts   as there, NULL too, without plan and order.
 * Returns as hetpart_mpi_scatter(); HETPART_EINVAL also if the ranks' plans differ. Collective. */
HETPART_API hetpart_status hetpart_mpi_scatter_plan(hetpart_plan **out, size_t *order,
						    uint64_t items, int root, MPI_Comm comm,
						    const hetpart_mpi_scatter_opts *opts,
						    hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_gather - MPI_Gatherv with 64-bit counts that only their ranks need to know: the way
 * back of a scatter. The root receives the items of all ranks one after the other, in the order of
 * ranks; a rank returns when its items are on their way.
 * sendbuf   this rank's items, only read; NULL only with count 0; at the root it may be
 *           MPI_IN_PLACE: its count items are then where they belong in recvbuf.
 * count     0 .. HETPART_ITEMS_MAX.
 * sendtype  type of one item, committed; not looked at with MPI_IN_PLACE.
 * recvbuf   at the root: room for all items; NULL only with capacity 0. Not looked at elsewhere.
 * capacity  at the root: items that recvbuf holds.
 * received  NULL, or receives at the root the number of all items, elsewhere 0; 0 on failure.
 * recvtype  at the root: type of one item, of the same size as sendtype, committed.
 * root      a rank, the same everywhere.
 * comm      intracommunicator.
 * err       NULL, or receives the reason of a failure.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: a pointer is NULL, a type is not committed or of another size than the root's,
 *     root is no rank or not the same everywhere;
 *   HETPART_ERANGE: more items than HETPART_ITEMS_MAX or, at the root, than capacity: nothing is
 *     sent; or items beyond the address space;
 *   HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI did.
 * Collective. O(ranks) memory at the root. */
HETPART_API hetpart_status hetpart_mpi_gather(const void *sendbuf, uint64_t count,
					      MPI_Datatype sendtype, void *recvbuf,
					      uint64_t capacity, uint64_t *received,
					      MPI_Datatype recvtype, int root, MPI_Comm comm,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* ======================================================================================== farm */

/* Some of the items, handed to a worker. */
typedef struct hetpart_mpi_chunk {
	uint64_t first;   /* number of the first item, from 0 */
	uint64_t count;   /* how many, >= 1 */
	const void *data; /* count times item_bytes bytes; NULL if item_bytes is 0. Gone when the
			   * function returns. */
} hetpart_mpi_chunk;

/* Process a chunk. Called on the workers, by the thread that called the farm.
 * ctx           handed through.
 * result        may receive the address of a result; it stays the function's own and must stay as
 *               it is until the function is called again or the farm has ended.
 * result_bytes  its length; 0 on entry: no result.
 * err           receives the reason of a failure.
 * Returns HETPART_OK, or any other status to stop all ranks. May communicate, but not over this
 * farm's ranks in a way that waits for them. */
typedef hetpart_status hetpart_mpi_work_fn(void *ctx, const hetpart_mpi_chunk *chunk,
					   const void **result, size_t *result_bytes,
					   hetpart_err *err);

/* Take a chunk's result. Called on the root, once for each chunk, in the order in which they end.
 * rank          who worked.
 * chunk         data is NULL.
 * result        result_bytes bytes, aligned as from malloc() or the root's own; gone when the
 *               function returns. NULL if result_bytes is 0.
 * Returns HETPART_OK, or any other status to stop all ranks. */
typedef hetpart_status hetpart_mpi_take_fn(void *ctx, int rank, const hetpart_mpi_chunk *chunk,
					   const void *result, size_t result_bytes,
					   hetpart_err *err);

/* Start from HETPART_MPI_FARM_OPTS_INIT, then set what you need. Counts at the root alone. */
typedef struct hetpart_mpi_farm_opts {
	size_t struct_size;        /* sizeof(hetpart_mpi_farm_opts), set by the INIT macro */
	hetpart_chunk_rule rule;   /* HETPART_CHUNK_FACTORING by default */
	uint64_t chunk;            /* the size, or the smallest size, in items; 0: 1 */
	bool root_works;           /* the root works when nobody asks, on the smallest chunks: while
				    * it does, the others wait. false: it only serves, and naps. A
				    * root that is alone works in any case. */
	size_t item_bytes;         /* bytes of an item to send with a chunk; 0: only numbers */
	const void *data;          /* the items, one after the other; NULL only if item_bytes or
				    * items is 0 */
	hetpart_mpi_take_fn *take; /* NULL: results are not wanted */
	size_t max_msg_bytes;      /* longest message; 0: 4 MiB */
} hetpart_mpi_farm_opts;

/* clang-format off */
#define HETPART_MPI_FARM_OPTS_INIT { sizeof(hetpart_mpi_farm_opts), HETPART_CHUNK_FACTORING, 0, \
		false, 0, NULL, NULL, 0 }
/* clang-format on */

/* hetpart_mpi_farm - the root hands out chunks of items on request, first come first served, until
 * all are done; each item is worked on exactly once. [S2] The size of chunks follows the rules of
 * hetpart_farm_create(), p being the number of ranks that work.
 * items  counts at the root: 0 .. HETPART_ITEMS_MAX.
 * work   what to do with a chunk; NULL only at a root that does not work.
 * ctx    handed to work and to take.
 * root   a rank, the same everywhere.
 * comm   intracommunicator.
 * opts   NULL for defaults.
 * done   NULL, or receives the number of items this rank has worked on, on failure too.
 * err    NULL, or receives the reason of a failure.
 * Returns HETPART_OK: all items are done and all results taken;
 *   HETPART_EINVAL: a pointer is NULL, root is no rank or not the same everywhere, struct_size or
 *     rule is unknown, work announces a result at NULL;
 *   HETPART_ERANGE: more than HETPART_ITEMS_MAX items, or their bytes are beyond the address space;
 *   HETPART_ENOMEM: a worker has no room for the data of the largest chunk, or the root for a
 *     result;
 *   what work or take returned, on the rank where it failed: nothing is handed out after that;
 *   HETPART_EPEER: another rank failed, or MPI did.
 * Collective; all ranks return when the last one has ended. */
HETPART_API hetpart_status hetpart_mpi_farm(uint64_t items, hetpart_mpi_work_fn *work, void *ctx,
					    int root, MPI_Comm comm,
					    const hetpart_mpi_farm_opts *opts, uint64_t *done,
					    hetpart_err *err) HETPART_MUST_CHECK;

/* ================================================================================= measurement */

#define HETPART_MPI_POINTS_MAX 64

/* What was measured. */
typedef struct hetpart_mpi_timing {
	hetpart_mpi_affine fit; /* the affine cost nearest to the points, in relative terms */
	size_t npoints;
	hetpart_point points[HETPART_MPI_POINTS_MAX]; /* items increasing, time_s > 0 */
} hetpart_mpi_timing;

/* Compute items sample items, as the program will. Returns HETPART_OK or a failure. */
typedef hetpart_status hetpart_mpi_kernel_fn(void *ctx, uint64_t items, hetpart_err *err);

/* hetpart_mpi_measure_compute - time a kernel on this rank while all others time theirs, as they
 * will be busy in the run: once to warm up, then 1, 2, 4 ... items, the middle one of three runs,
 * then the largest number while time lasts, whose mean counts as often as it was run.
 * out     receives the timing; fit.per_item_s is > 0.
 * kernel  called as kernel(ctx, items) with 1 <= items <= most.
 * most    >= 1.
 * limit_s seconds to take, finite, > 0; 0: 0.2. The first call counts but cannot be cut short: a
 *         kernel that needs longer than that for one item is timed once.
 * comm    intracommunicator.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, most is 0 or limit_s out of its range;
 *   what kernel returned, on the rank where it failed; HETPART_EPEER: another rank failed, or MPI
 *   did. Collective. */
HETPART_API hetpart_status hetpart_mpi_measure_compute(hetpart_mpi_timing *out,
						       hetpart_mpi_kernel_fn *kernel, void *ctx,
						       uint64_t most, double limit_s, MPI_Comm comm,
						       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_measure_link - time messages from the root to each rank, one rank after the other:
 * items there and an empty answer back; half the time of an empty message there and back is the way
 * back. The points are one item, the best of a few, and the most items that were sent in a message:
 * 64 KiB first, then twice as much each time and, once it is the most, twice as many messages,
 * until the time is over, or after 16 MiB the speed stays the same. The last of these count, in the
 * mean: the first ones go at once where there are buffers, or where a bucket of tokens limits the
 * link.
 * out         receives the timing of the link from the root to this rank; no points and { 0, 0 } at
 *             the root.
 * item_bytes  at the root: bytes of an item, 1 .. INT_MAX.
 * most        at the root: most items in a message, >= 1; never more than 16 MiB but for one item.
 * limit_s     at the root: seconds to take for all ranks together, finite, > 0; 0: 0.2. Every rank
 *             gets 16 messages in any case: one of 64 KiB at most (or one item, if that is more),
 *             the others shorter.
 * root        a rank, the same everywhere.
 * comm        intracommunicator.
 * err         NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, a number is out of its range, root is no
 *   rank or not the same everywhere; HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI
 *   did. Collective. */
HETPART_API hetpart_status hetpart_mpi_measure_link(hetpart_mpi_timing *out, uint64_t item_bytes,
						    uint64_t most, double limit_s, int root,
						    MPI_Comm comm,
						    hetpart_err *err) HETPART_MUST_CHECK;

/* ====================================================================== the same everywhere */

/* hetpart_mpi_gather_speeds - every rank learns the speed of each.
 * speeds  receives the size of the communicator numbers, in the order of ranks.
 * mine    this rank's speed, finite, > 0: 1/per_item_s of a timing, for instance.
 * comm    intracommunicator.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: speeds is NULL or mine out of its range; HETPART_EPEER:
 *   another rank failed, or MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_gather_speeds(double *speeds, double mine, MPI_Comm comm,
						     hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_model_add - hetpart_model_add() of what all ranks have observed, on every rank: equal
 * models stay equal.
 * model     changed; untouched on failure.
 * observed  count entries, this rank's: items 0 .. 2^63, time_s what they took here, finite, >= 0;
 *           NULL only with count 0.
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

/* hetpart_mpi_share_create - the same plan on every rank: hetpart_share_create() from every rank's
 * speed, entry r for rank r, with a compared hash.
 * out    receives the plan, NULL on failure; free with hetpart_plan_free().
 * items  0 .. HETPART_ITEMS_MAX, the same everywhere.
 * speed  this rank's, finite, > 0.
 * model  the fitted cost, equal on all ranks; NULL: one time unit for each item.
 * opts   NULL for defaults, the same everywhere.
 * comm   intracommunicator.
 * err    NULL, or receives the reason of a failure.
 * Returns as hetpart_model_plan(); HETPART_EINVAL also if the ranks' plans differ; HETPART_EPEER:
 *   another rank failed, or MPI did. Collective. */
HETPART_API hetpart_status hetpart_mpi_share_create(hetpart_plan **out, uint64_t items,
						    double speed, const hetpart_model *model,
						    const hetpart_opts *opts, MPI_Comm comm,
						    hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_plan_bcast - a plan of one rank on every rank: planned there, or read from a file.
 * out   receives the plan, on the root a copy, NULL on failure; free with hetpart_plan_free().
 * plan  at the root: the plan. Not looked at elsewhere.
 * root  a rank, the same everywhere.
 * comm  intracommunicator.
 * err   NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: out is NULL, plan is NULL at the root, root is no rank or not
 *   the same everywhere; HETPART_ENOMEM; HETPART_EPEER: another rank failed, or MPI did.
 * Collective. */
HETPART_API hetpart_status hetpart_mpi_plan_bcast(hetpart_plan **out, const hetpart_plan *plan,
						  int root, MPI_Comm comm,
						  hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_mpi_plan_agree - whether all ranks hold the same shares, by hetpart_plan_hash().
 * plan  this rank's.
 * comm  intracommunicator.
 * err   NULL, or receives the reason of a failure.
 * Returns HETPART_OK: they do; HETPART_EINVAL: they do not (on all ranks), or plan is NULL;
 *   HETPART_EPEER: another rank's plan is NULL, or MPI failed. Collective. */
HETPART_API hetpart_status hetpart_mpi_plan_agree(const hetpart_plan *plan, MPI_Comm comm,
						  hetpart_err *err) HETPART_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
