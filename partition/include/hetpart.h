/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetpart.h - libhetpart computes how many items each processor of a heterogeneous machine should
 * take, so that all of them finish together. It only computes: no MPI, no threads, no printing, no
 * global state. Time limits read the monotonic clock. Only the wisdom calls open a file, which the
 * caller names.
 *
 * Every call that can fail returns a hetpart_status. Its last argument is an optional hetpart_err,
 * which receives a message that a person can act on; it may be NULL. Calls store their results
 * through pointer arguments; on failure these results are NULL or unchanged. Several threads may
 * read an object at the same time; while a call changes an object, only one thread may use it.
 *
 * Sources: [S4] Cerin, Dubacq, Roch: data partitioning for heterogeneous parallel sorting; [S0]
 * Genaud, Giersch, Vivien: load-balancing scatter operations for grid computing; [S2] David,
 * Genaud, Giersch, Schwarz, Violard: source code transformation strategies to load-balance grid
 * applications; [S3] Gallet, Robert, Vivien: scheduling multiple divisible loads on a linear
 * processor network. */
#ifndef HETPART_H
#define HETPART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#	define HETPART_API        __attribute__((visibility("default")))
#	define HETPART_MUST_CHECK __attribute__((warn_unused_result))
#else
#	define HETPART_API
#	define HETPART_MUST_CHECK
#endif

/* ======================================================================== version and status */

#define HETPART_VERSION_MAJOR 0
#define HETPART_VERSION_MINOR 3
#define HETPART_VERSION_PATCH 0
#define HETPART_VERSION       "0.3.0"

/* hetpart_version - return the version of the library that is linked, as "major.minor.patch". The
 * text is static, never NULL. HETPART_VERSION is the version of this header. */
HETPART_API const char *hetpart_version(void);

/* Largest number of items any call accepts. */
#define HETPART_ITEMS_MAX ((uint64_t)INT64_MAX)

/* The result of a call. Values never change their meaning; new ones are added at the end. */
typedef enum hetpart_status {
	HETPART_OK = 0,        /* done */
	HETPART_EINVAL = 1,    /* an argument is invalid: NULL, NaN, negative, empty */
	HETPART_ERANGE = 2,    /* the request cannot be met: too large, or over the capacities */
	HETPART_ENOMEM = 3,    /* out of memory, or over the memory limit of the caller */
	HETPART_EIO = 4,       /* a file cannot be opened, read or written */
	HETPART_EFORMAT = 5,   /* a file is damaged or of another kind */
	HETPART_ESTALE = 6,    /* a file is valid, but from another machine or too old */
	HETPART_ENOSOL = 7,    /* the method has no solution for these values */
	HETPART_EINTERNAL = 8, /* a fault of the library itself: please report it */
	HETPART_EPEER = 9,     /* another rank failed (used by callers that run over ranks) */
	HETPART_ETIME = 10,    /* the caller's time limit ended the call without a result */
	HETPART_ECANCEL = 11,  /* the caller's callback stopped the call without a result */
	HETPART_EMISSING = 12  /* a library that the method needs is not installed */
} hetpart_status;

/* hetpart_status_text - describe a status in a few words.
 * The text is static, never NULL. It is "unknown status" for a value that this version does not
 * define. */
HETPART_API const char *hetpart_status_text(hetpart_status status);

#define HETPART_ERR_BYTES 256

/* The reason of a failure. The caller allocates it and need not initialise it; only a call that
 * fails writes it. */
typedef struct hetpart_err {
	hetpart_status status;        /* the result of the call */
	char text[HETPART_ERR_BYTES]; /* lower case, no full stop, always terminated */
} hetpart_err;

/* ======================================================================================= cost */

/* The time that a number of items takes, in seconds or in any other unit that the caller uses for
 * all costs. A cost is immutable and holds copies of its input, except for the ctx of a callback.
 *
 * Each constructor:
 *   out    receives the cost, NULL on failure; free with hetpart_cost_free().
 *   scale  finite and > 0; every time is multiplied by it; 1 changes nothing.
 * Returns HETPART_OK; HETPART_EINVAL: out is NULL, scale or another number is NaN, infinite or out
 * of its range; HETPART_ENOMEM. Safe from any number of threads. */
typedef struct hetpart_cost hetpart_cost;

/* hetpart_cost_affine - make the cost startup + per_item n for n >= 1, and 0 for n = 0.
 * startup, per_item  time units, >= 0; with both 0, the cost is free. */
HETPART_API hetpart_status hetpart_cost_affine(hetpart_cost **out, double startup, double per_item,
					       double scale, hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_cost_linear - make the cost n: one time unit for each item. */
HETPART_API hetpart_status hetpart_cost_linear(hetpart_cost **out, double scale,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_cost_nlogn - make the cost n ln n of sorting [S4]. One item costs nothing, so a planner
 * gives at least one item even to the slowest processor, unlike with hetpart_cost_nlog2n1(). */
HETPART_API hetpart_status hetpart_cost_nlogn(hetpart_cost **out, double scale,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_cost_nlog2n1 - make the cost n log2(n + 1): like n ln n, but one item costs 1. */
HETPART_API hetpart_status hetpart_cost_nlog2n1(hetpart_cost **out, double scale,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_cost_power - make the cost n to the power exponent, a multiplicative cost ([S4] Theorem
 * 1).
 * exponent  finite, > 0. */
HETPART_API hetpart_status hetpart_cost_power(hetpart_cost **out, double exponent, double scale,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* One point of a piecewise linear cost. */
typedef struct hetpart_point {
	double items;  /* number of items, >= 0 */
	double time_s; /* time units, >= 0 */
} hetpart_point;

/* hetpart_cost_piecewise - make a cost of straight lines between points. The first line begins at
 * (0, 0) if the first point has items > 0. The last line continues beyond the last point.
 * points   npoints (>= 1) entries, copied: finite, items strictly increasing, time_s >= 0. Times
 *          may decrease from one point to the next, but not on the last line. If there is only one
 *          point, it needs items > 0. */
HETPART_API hetpart_status hetpart_cost_piecewise(hetpart_cost **out, const hetpart_point *points,
						  size_t npoints, double scale,
						  hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_cost_table - make a cost of values[n] for n items. The time of more than nvalues - 1
 * items is infinite.
 * values   nvalues (>= 1) entries, copied: >= 0, not NaN; infinite: this number of items is not
 *          possible. */
HETPART_API hetpart_status hetpart_cost_table(hetpart_cost **out, const double *values,
					      size_t nvalues, double scale,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* Return the time of a number of items. It must depend only on the arguments, be >= 0 and not NaN.
 * A planner that receives NaN or a negative time fails with HETPART_EINVAL. */
typedef double hetpart_cost_fn(void *ctx, uint64_t items);

/* hetpart_cost_callback - make a cost from a function of the caller.
 * fn          called as fn(ctx, items), many times, in any order.
 * ctx         passed to fn; must live as long as the cost. If several threads share the cost, all
 *             of them call fn.
 * increasing  true: the caller promises that more items never take less time. */
HETPART_API hetpart_status hetpart_cost_callback(hetpart_cost **out, hetpart_cost_fn *fn, void *ctx,
						 bool increasing, double scale,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_cost_eval - return the time of a number of items, in time units; NaN if cost is NULL. */
HETPART_API double hetpart_cost_eval(const hetpart_cost *cost, uint64_t items);

/* hetpart_cost_increasing - return whether more items never take less time; false if cost is
 * NULL. */
HETPART_API bool hetpart_cost_increasing(const hetpart_cost *cost);

/* hetpart_cost_is_affine - return whether the cost is startup + per_item n (n >= 1). If so, store
 * both numbers, multiplied by the scale, except where the pointer is NULL. */
HETPART_API bool hetpart_cost_is_affine(const hetpart_cost *cost, double *startup,
					double *per_item);

/* hetpart_cost_is_linear - return whether the cost is per_item n; false if cost is NULL. */
HETPART_API bool hetpart_cost_is_linear(const hetpart_cost *cost);

/* hetpart_cost_free - free the cost; NULL is allowed. */
HETPART_API void hetpart_cost_free(hetpart_cost *cost);

/* ======================================================================================= plan */

/* The result of every planner: immutable, and independent of its input. */
typedef struct hetpart_plan hetpart_plan;

/* hetpart_plan_nprocs - return the number of processors; 0 if plan is NULL. */
HETPART_API size_t hetpart_plan_nprocs(const hetpart_plan *plan);

/* hetpart_plan_items - return the number of items divided, the sum of the shares; 0 if plan is
 * NULL. */
HETPART_API uint64_t hetpart_plan_items(const hetpart_plan *plan);

/* hetpart_plan_share - return the items of processor proc (from 0); 0 if it does not exist. */
HETPART_API uint64_t hetpart_plan_share(const hetpart_plan *plan, size_t proc);

/* hetpart_plan_shares - return all shares, nprocs entries that live as long as the plan; NULL if
 * plan is NULL. */
HETPART_API const uint64_t *hetpart_plan_shares(const hetpart_plan *plan);

/* hetpart_plan_first - return the number of the first item (from 0) of processor proc, if
 * processors take their items in order: the sum of the shares of earlier processors. Return the
 * number of all items if proc does not exist, and 0 if plan is NULL. Takes O(proc) time;
 * hetpart_plan_offsets() returns all at once. */
HETPART_API uint64_t hetpart_plan_first(const hetpart_plan *plan, size_t proc);

/* hetpart_plan_offsets - store the number of the first item of every processor.
 * first  receives nprocs + 1 numbers: processor i has the items first[i] .. first[i + 1] - 1.
 * Stores nothing if a pointer is NULL. */
HETPART_API void hetpart_plan_offsets(const hetpart_plan *plan, uint64_t *first);

/* hetpart_plan_owner - return the processor that has item number item (from 0), if processors take
 * their items in order: the inverse of hetpart_plan_first(). Return the number of processors if no
 * item has that number, and 0 if plan is NULL. Takes O(nprocs) time. */
HETPART_API size_t hetpart_plan_owner(const hetpart_plan *plan, uint64_t item);

/* hetpart_plan_real_shares, hetpart_plan_times - return the results of hetpart_plan_real_share()
 * and hetpart_plan_time() for all processors: nprocs entries that live as long as the plan; NULL if
 * plan is NULL. */
HETPART_API const double *hetpart_plan_real_shares(const hetpart_plan *plan);
HETPART_API const double *hetpart_plan_times(const hetpart_plan *plan);

/* hetpart_plan_real_share - return the share before rounding to whole items; NaN if the method does
 * not compute it, or if the processor does not exist. */
HETPART_API double hetpart_plan_real_share(const hetpart_plan *plan, size_t proc);

/* hetpart_plan_time - return the predicted time at which processor proc ends, in time units;
 * infinite beyond the range of a double; NaN if the processor does not exist. */
HETPART_API double hetpart_plan_time(const hetpart_plan *plan, size_t proc);

/* hetpart_plan_makespan - return the largest predicted time; NaN if plan is NULL. */
HETPART_API double hetpart_plan_makespan(const hetpart_plan *plan);

/* hetpart_plan_real_makespan - return the makespan before rounding, which is a lower bound if the
 * method is exact; NaN if the method does not compute it. */
HETPART_API double hetpart_plan_real_makespan(const hetpart_plan *plan);

/* hetpart_plan_lower_bound - return a lower bound of the makespans of all plans of whole items,
 * proved by the method; NaN if the method proves none. Plans of exact shares and of the exact
 * scatter methods reach this bound. With capacities, the bound is for plans that respect them. */
HETPART_API double hetpart_plan_lower_bound(const hetpart_plan *plan);

/* hetpart_plan_stopped - return HETPART_OK if the method was completed. Otherwise return what
 * stopped it: HETPART_ETIME (the time limit), HETPART_ENOMEM (max_mem_bytes) or HETPART_ECANCEL
 * (the caller's callback). The plan is then the best that the method had found, and
 * hetpart_plan_lower_bound() shows how far it may be from the best. Return HETPART_EINVAL if plan
 * is NULL. */
HETPART_API hetpart_status hetpart_plan_stopped(const hetpart_plan *plan);

/* hetpart_plan_method - return the name of the method that made the plan, which lives as long as
 * the plan; "" if plan is NULL. */
HETPART_API const char *hetpart_plan_method(const hetpart_plan *plan);

/* hetpart_plan_hash - return a hash of the shares, which is the same on every machine. Ranks
 * compare it to check that their plans agree. Return 0 if plan is NULL. */
HETPART_API uint64_t hetpart_plan_hash(const hetpart_plan *plan);

/* hetpart_plan_print - explain the plan in text, one line for each processor (the first 64).
 * buf   receives at most size - 1 characters and a terminating 0; may be NULL when size is 0.
 * Returns the length of the whole text without the 0. If it is >= size, buf has only the
 * beginning. */
HETPART_API size_t hetpart_plan_print(const hetpart_plan *plan, char *buf, size_t size);

/* hetpart_plan_pack - write the plan as bytes that are the same on every machine, with a checksum,
 * for files and messages.
 * buf   receives the bytes if size is large enough; may be NULL when size is 0.
 * Returns the number of bytes, 24 for each processor and a little more; 0 if plan is NULL. */
HETPART_API size_t hetpart_plan_pack(const hetpart_plan *plan, void *buf, size_t size);

/* hetpart_plan_unpack - make a plan from the bytes of hetpart_plan_pack(). Other bytes are
 * rejected.
 * out    receives the plan, NULL on failure; free with hetpart_plan_free().
 * bytes  size bytes, not kept.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL; HETPART_EFORMAT: the bytes are damaged, or
 *   not a plan; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_plan_unpack(hetpart_plan **out, const void *bytes, size_t size,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_plan_free - free the plan; NULL is allowed. */
HETPART_API void hetpart_plan_free(hetpart_plan *plan);

/* ==================================================================================== options */

/* The methods of planners. New ones are added at the end; each call lists its methods. */
typedef enum hetpart_method {
	HETPART_METHOD_EXACT = 0,        /* the optimum, in the fastest way that guarantees it */
	HETPART_METHOD_TAYLOR = 1,       /* [S4] eq (5); n ln n only */
	HETPART_METHOD_ASYMPTOTIC = 2,   /* [S4] Theorem 2, corrected; n ln n only */
	HETPART_METHOD_PROPORTIONAL = 3, /* only by speed, whatever the cost */
	HETPART_METHOD_THRESHOLD = 4,    /* bisection on the makespan; increasing costs */
	HETPART_METHOD_BITSET = 5,       /* bisection over sets of possible sums; any costs */
	HETPART_METHOD_DP = 6            /* dynamic programme; any costs */
} hetpart_method;

#define HETPART_MEM_DEFAULT_BYTES (UINT64_C(1) << 30)

/* The time limit of planners whose options set none. The default memory limit is
 * HETPART_MEM_DEFAULT_BYTES for shares. For scatters and chains, it is half of the available
 * memory, or HETPART_MEM_DEFAULT_BYTES if the system does not report it. At a limit, planners
 * return the best plan so far, which may differ from call to call; see hetpart_plan_stopped(). */
#define HETPART_TIME_DEFAULT_S 10.0

/* Return 0 to continue, and anything else to stop the planner as at a limit. The planner calls this
 * function in its own thread after about every million steps, however long they take. */
typedef int hetpart_stop_fn(void *ctx);

/* The limits of calls that have no other options. Start from HETPART_LIMITS_INIT. */
typedef struct hetpart_limits {
	size_t struct_size;    /* sizeof(hetpart_limits) */
	double time_limit_s;   /* 0: HETPART_TIME_DEFAULT_S; INFINITY: none */
	hetpart_stop_fn *stop; /* NULL, or called to ask whether to stop */
	void *stop_ctx;        /* passed to stop */
} hetpart_limits;

/* clang-format off */
#define HETPART_LIMITS_INIT { sizeof(hetpart_limits), 0, NULL, NULL }
/* clang-format on */

/* Start from HETPART_OPTS_INIT, then set what you need. */
typedef struct hetpart_opts {
	size_t struct_size;         /* sizeof(hetpart_opts) */
	hetpart_method method;      /* HETPART_METHOD_EXACT by default */
	const uint64_t *capacities; /* the most items of each processor, or NULL */
	uint64_t quantum;           /* EXACT, THRESHOLD, DP: all shares but one are its multiples */
	uint64_t max_mem_bytes;     /* BITSET, DP; 0: HETPART_MEM_DEFAULT_BYTES */
	double time_limit_s;        /* 0: HETPART_TIME_DEFAULT_S; INFINITY: none */
	hetpart_stop_fn *stop;      /* NULL, or called to ask whether to stop */
	void *stop_ctx;             /* passed to stop */
	const uint64_t *minimums;   /* the least items of each processor, or NULL */
} hetpart_opts;

/* clang-format off */
#define HETPART_OPTS_INIT { sizeof(hetpart_opts), HETPART_METHOD_EXACT, NULL, 0, 0, 0, NULL, NULL, NULL }
/* clang-format on */

/* =============================================================== shares without communication */

/* hetpart_share_create - divide items among processors of known speed: processor i takes
 * f(n)/speed[i] for n items. Shares are whole numbers and sum to items. The makespan is the
 * smallest possible (EXACT, THRESHOLD, BITSET, DP) or near it (the other methods).
 * out     receives the plan, NULL on failure; free with hetpart_plan_free().
 * items   0 .. HETPART_ITEMS_MAX; with 0, every share is 0.
 * speeds  nprocs entries, not kept: finite, > 0; only their ratios matter.
 * nprocs  >= 1.
 * cost    f, the time of n items at speed 1; not kept.
 * opts    NULL for defaults. Methods:
 *         EXACT (the default) chooses an algorithm by the cost. It uses D'Hondt's rule for linear
 *           costs, GSL's Lambert W and Newton's method for n ln n, and [S4] Theorem 1 for powers.
 *           For other smooth or piecewise f, it rounds real shares of equal time. It uses THRESHOLD
 *           for any other increasing f, and BITSET if f is not increasing.
 *         TAYLOR, ASYMPTOTIC: only for n ln n, without capacities. PROPORTIONAL, THRESHOLD, BITSET,
 *         DP: see hetpart_method.
 *         capacities, minimums: an exact plan is the best that respects them; real shares ignore
 *           minimums.
 *         quantum > 1: the plan is the best in which all shares are multiples of the quantum,
 *           except that one processor also takes the rest. The rest does not count towards the
 *           minimum of that processor.
 *         When time_limit_s is over or stop() stops them, BITSET and THRESHOLD return the best plan
 *         so far with a lower bound. DP, and BITSET before its first plan, return the plan of
 *         THRESHOLD if costs are increasing. Otherwise they return the best plan whose shares are
 *         multiples of a large block, unless there is a quantum. hetpart_plan_stopped() returns the
 *         reason.
 * If several plans are the best, EXACT gives items to the faster processor, or to the first of
 * equally fast ones. The order of the processors and the scale of the speeds never change the
 * makespan beyond rounding. n ln n has f(1) = 0: if there are more items than processors, even the
 * slowest processor gets at least one.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: out, speeds or cost is NULL, nprocs is 0, a speed is zero, negative, NaN or
 *     infinite, struct_size or method is unknown, the method does not support the cost, the
 *     capacities, the minimums or the quantum, the cost is free, or a callback returned a negative
 *     time or NaN;
 *   HETPART_ERANGE: more items than HETPART_ITEMS_MAX, the sum of the capacities or a table of
 *     costs allows, fewer items than the sum of the minimums, or no plan ends in finite time;
 *   HETPART_ENOSOL: TAYLOR with fewer than 3 items or no more items than processors, ASYMPTOTIC if
 *     a processor gets fewer than e items;
 *   HETPART_ENOMEM: no memory, or BITSET or DP needs more than max_mem_bytes and a cost is not
 *     increasing;
 *   HETPART_EMISSING: EXACT or ASYMPTOTIC for n ln n, if GSL 2.5 to 2.8 is missing;
 *   HETPART_ETIME, HETPART_ECANCEL: out of time or stopped before the first plan.
 * Safe from any number of threads. Takes about 100 bytes of memory per processor. BITSET and DP
 * take more, see hetpart_share_unrelated_mem_bytes(). [S4] section 3. */
HETPART_API hetpart_status hetpart_share_create(hetpart_plan **out, uint64_t items,
						const double *speeds, size_t nprocs,
						const hetpart_cost *cost, const hetpart_opts *opts,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_share_unrelated_create - divide items like hetpart_share_create(), with a cost for each
 * processor.
 * out     receives the plan, NULL on failure; free with hetpart_plan_free().
 * items   0 .. HETPART_ITEMS_MAX.
 * costs   nprocs entries, not kept: any costs; several entries may be the same cost.
 * nprocs  >= 1.
 * opts    NULL for defaults. method: THRESHOLD (increasing costs, any number of items), BITSET
 *         (exact, up to about 1e5 items), DP ([S4] section 4, slow), or EXACT, which chooses. It
 *         uses THRESHOLD if every cost is increasing, otherwise BITSET, or DP with a quantum.
 *         capacities, minimums, quantum and limits are as for hetpart_share_create().
 * Returns HETPART_OK;
 *   HETPART_EINVAL: out, costs or an entry of it is NULL, nprocs is 0, struct_size or method is
 *     unknown, the method needs speeds, THRESHOLD with a cost that is not increasing, BITSET with a
 *     quantum, or a callback returned a negative time or NaN;
 *   HETPART_ERANGE: more items than HETPART_ITEMS_MAX, the capacities or the tables allow, or fewer
 *     than the sum of the minimums;
 *   HETPART_ENOMEM: no memory, or BITSET or DP needs more than max_mem_bytes and a cost is not
 *     increasing;
 *   HETPART_ETIME, HETPART_ECANCEL: out of time or stopped before the first plan.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_share_unrelated_create(hetpart_plan **out, uint64_t items,
							  const hetpart_cost *const *costs,
							  size_t nprocs, const hetpart_opts *opts,
							  hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_share_unrelated_mem_bytes - return the most bytes of memory that
 * hetpart_share_unrelated_create() takes, the plan included.
 * items, nprocs, opts  as for that call; EXACT counts as BITSET or DP.
 * Returns UINT64_MAX if no machine has that memory, or if that call would refuse the arguments. */
HETPART_API uint64_t hetpart_share_unrelated_mem_bytes(uint64_t items, size_t nprocs,
						       const hetpart_opts *opts);

/* hetpart_share_weights - divide a sequence of items of unequal weight into one contiguous part for
 * each processor, in the order of processors. A part may be empty. The time of processor i is the
 * sum of its weights divided by speeds[i], and the makespan is the smallest possible.
 * hetpart_plan_first() returns where the part of a processor begins.
 * out      receives the plan, NULL on failure; free with hetpart_plan_free().
 * weights  items entries, not kept: finite, >= 0.
 * items    0 .. HETPART_ITEMS_MAX.
 * speeds   nprocs entries, not kept: finite, > 0.
 * nprocs   >= 1.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, a weight or speed is out of
 *   its range; HETPART_ERANGE: too many items, or no plan ends in finite time;
 *   HETPART_ENOMEM. Safe from any number of threads. Memory is 16 bytes per item. */
HETPART_API hetpart_status hetpart_share_weights(hetpart_plan **out, const double *weights,
						 uint64_t items, const double *speeds,
						 size_t nprocs,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_share_round - round real shares to whole ones. Each processor i gets the whole part n_i
 * of its share, and each remaining item goes to the processor with the smallest f(n_i +
 * 1)/speeds[i]. This is the best rounding of shares with equal times [S4]; for other shares, it is
 * the best that keeps the whole parts.
 * out     receives the plan, NULL on failure; free with hetpart_plan_free().
 * items   0 .. HETPART_ITEMS_MAX: the sum of the shares.
 * real    nprocs entries, not kept: finite, >= 0, summing to items within 1 + 1e-9 items.
 * speeds  nprocs entries, not kept: finite, > 0.
 * nprocs  >= 1.
 * cost    f, the time of n items at speed 1; increasing; not kept.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, a share or speed is out of
 *   its range, the sum is not items, the cost is free or not increasing; HETPART_ERANGE: more than
 *   HETPART_ITEMS_MAX items, or more than a table of costs has; HETPART_ENOMEM.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_share_round(hetpart_plan **out, uint64_t items,
					       const double *real, const double *speeds,
					       size_t nprocs, const hetpart_cost *cost,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* =============================================================== learning a cost from jobs */

/* The observations (items, cost) of earlier jobs, which describe one unknown cost f. Here, cost is
 * the time of a share multiplied by the speed of its processor: hetpart_model_observe() takes time
 * and speed, hetpart_model_add() takes their product. Measured seconds that are not multiplied by
 * the speed give a wrong cost, which no call can notice. The model keeps sums for intervals
 * of items, eight for each factor of 1.1, so it always has the same size (118 kB). A model that
 * several threads change needs the caller's lock. [S4] section 3.3. */
typedef struct hetpart_model hetpart_model;

/* hetpart_model_create - make a model without observations; its cost is f(n) = n.
 * out  receives the model, NULL on failure; free with hetpart_model_free().
 * Returns HETPART_OK; HETPART_EINVAL: out is NULL; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_model_create(hetpart_model **out,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_add - add observations. On failure, none is added.
 * model     changed.
 * observed  count entries, not kept: items is 1 .. 2^63, or 0 (ignored); time_s is the time
 *           multiplied by the speed, finite, >= 0.
 * count     0 is valid.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL or an observation out of its range. */
HETPART_API hetpart_status hetpart_model_add(hetpart_model *model, const hetpart_point *observed,
					     size_t count, hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_observe - add measured times. On failure, none is added.
 * model     changed.
 * measured  count entries, not kept: items is 1 .. 2^63, or 0 (ignored); time_s is the measured
 *           time in seconds, finite, >= 0.
 * speeds    count entries, not kept: the speed of the processor that took this time, in the unit of
 *           hetpart_model_plan(), finite, > 0.
 * count     0 is valid.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, or a number or the product of time and
 *   speed out of its range. */
HETPART_API hetpart_status hetpart_model_observe(hetpart_model *model,
						 const hetpart_point *measured,
						 const double *speeds, size_t count,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_decay - reduce the weight of all observations so far. Call this before you add the
 * observations of a new job, if the machine may change. Weights below 1e-9 of one observation are
 * removed.
 * model   changed.
 * factor  > 0, <= 1: every weight is multiplied by it. With 0.95, about the last 20 jobs matter.
 * Returns HETPART_OK; HETPART_EINVAL: model is NULL or factor out of its range. */
HETPART_API hetpart_status hetpart_model_decay(hetpart_model *model, double factor,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_merge - add all observations of another model, with their weights.
 * into  changed.
 * from  unchanged; may be the same model as into.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL. */
HETPART_API hetpart_status hetpart_model_merge(hetpart_model *into, const hetpart_model *from,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_weight - return the sum of the weights of all observations, each 1 when added; 0 if
 * model is NULL. */
HETPART_API double hetpart_model_weight(const hetpart_model *model);

/* hetpart_model_points - store the points between which the fitted cost is linear, increasing in
 * items and in time.
 * points  receives at most `room` points; may be NULL when room is 0.
 * Returns the number of all points, at most 960; 0 if the model is NULL or without observations. */
HETPART_API size_t hetpart_model_points(const hetpart_model *model, hetpart_point *points,
					size_t room);

/* hetpart_model_cost - make the fitted cost. The mean costs of the intervals are smoothed by power
 * laws and straight lines, each over several intervals; all divisions into such segments are
 * averaged by their likelihood. Pooling of adjacent violators makes the result increasing, and
 * lines from (0, 0) join its points. If the cost certainly jumps, the jump is halfway between the
 * observations on its two sides. If these are at most 2 % apart, the jump is at the lower one: a
 * few items too few cost little, but one too many costs the jump. Beyond the last point, the cost
 * continues with the last slope or the mean cost of an item, whichever is larger. Without
 * observations, f(n) = n.
 * out    receives the cost, independent of the model, NULL on failure; free with
 *        hetpart_cost_free().
 * model  unchanged.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_model_cost(hetpart_cost **out, const hetpart_model *model,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_plan - call hetpart_share_create() with the fitted cost; other arguments and
 * results are the same. Also returns HETPART_EINVAL if model is NULL. */
HETPART_API hetpart_status hetpart_model_plan(hetpart_plan **out, const hetpart_model *model,
					      uint64_t items, const double *speeds, size_t nprocs,
					      const hetpart_opts *opts,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_free - free the model; NULL is allowed. */
HETPART_API void hetpart_model_free(hetpart_model *model);

/* ================================================ wisdom: knowledge of earlier jobs */

/* Named models and named numbers (speeds, for instance) of one machine, kept as a text file:
 *     hetpart-wisdom 1
 *     host NAME
 *     time SECONDS
 *     number NAME VALUE
 *     model NAME
 *     cell ITEMS COST WEIGHT SPREAD
 *     checksum 16-HEX-DIGITS
 * Keywords of later versions are skipped. Names have 1 to 63 letters, digits, '.', '_', ':' or '-'.
 * The host is a text of 1 to 127 printable characters by which the caller recognizes the machine:
 * its name, processor and cores, for instance. Wisdom that several threads change needs the
 * caller's lock. */
typedef struct hetpart_wisdom hetpart_wisdom;

/* hetpart_wisdom_create - make wisdom without contents.
 * out   receives the wisdom, NULL on failure; free with hetpart_wisdom_free().
 * host  the machine that the wisdom describes, copied.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL or host is invalid; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_wisdom_create(hetpart_wisdom **out, const char *host,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_host - return the machine that the wisdom describes; the text lives as long as the
 * wisdom; "" if wisdom is NULL. */
HETPART_API const char *hetpart_wisdom_host(const hetpart_wisdom *wisdom);

/* hetpart_wisdom_time - return when the wisdom was made, in seconds since 1970; 0 if this is
 * unknown or wisdom is NULL. */
HETPART_API uint64_t hetpart_wisdom_time(const hetpart_wisdom *wisdom);

/* hetpart_wisdom_set_time - set when the wisdom was made. The library itself does not read the
 * date.
 * time_s  seconds since 1970, below 1e19; 0: unknown.
 * Returns HETPART_OK; HETPART_EINVAL: wisdom is NULL or time_s too large. */
HETPART_API hetpart_status hetpart_wisdom_set_time(hetpart_wisdom *wisdom, uint64_t time_s,
						   hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_model - return the model of this name; create it if it does not exist.
 * wisdom  changed if the model is new.
 * name    copied.
 * out     receives the model, NULL on failure. It belongs to the wisdom: you may change it, but
 *         must not free it.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL or name is invalid; HETPART_ENOMEM: no
 *   memory, or 4096 models already. */
HETPART_API hetpart_status hetpart_wisdom_model(hetpart_wisdom *wisdom, const char *name,
						hetpart_model **out,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_set - store a number under a name, and replace an earlier number of that name.
 * value  finite.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, name is invalid or value not finite;
 *   HETPART_ENOMEM: no memory, or 4096 numbers already. */
HETPART_API hetpart_status hetpart_wisdom_set(hetpart_wisdom *wisdom, const char *name,
					      double value, hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_get - return whether a number of that name exists. If so, store it in *value,
 * unless value is NULL. */
HETPART_API bool hetpart_wisdom_get(const hetpart_wisdom *wisdom, const char *name, double *value);

/* hetpart_wisdom_model_name, hetpart_wisdom_number_name - return the name with this index, from 0;
 * NULL after the last one. The name lives until the wisdom changes. */
HETPART_API const char *hetpart_wisdom_model_name(const hetpart_wisdom *wisdom, size_t index);
HETPART_API const char *hetpart_wisdom_number_name(const hetpart_wisdom *wisdom, size_t index);

/* hetpart_wisdom_merge - add other wisdom of the same machine. Models are merged with their
 * weights. Of two numbers with the same name, the number of the later wisdom is kept.
 * into  changed; on HETPART_ENOMEM, a part may have been added.
 * from  unchanged; must not be into itself.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, or into and from are the same;
 *   HETPART_ESTALE: from is of another machine, and into is unchanged; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_wisdom_merge(hetpart_wisdom *into, const hetpart_wisdom *from,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_print - write the text of a wisdom file.
 * buf  receives at most size - 1 characters and a terminating 0; may be NULL when size is 0.
 * Returns the length of the whole text without the 0; 0 for NULL. */
HETPART_API size_t hetpart_wisdom_print(const hetpart_wisdom *wisdom, char *buf, size_t size);

/* hetpart_wisdom_parse - make wisdom from text in memory. Invalid text is rejected.
 * out       receives the wisdom, NULL on failure; free with hetpart_wisdom_free().
 * text      `bytes` characters, not kept; it need not end in 0.
 * host      the machine that the wisdom must describe; NULL accepts any.
 * oldest_s  reject wisdom made before this time, seconds since 1970; 0 accepts any.
 * Returns HETPART_OK; HETPART_EINVAL: out or text is NULL; HETPART_EFORMAT: the text is damaged;
 *   err names the line; HETPART_ESTALE: the text is valid, but of another machine, too old, or in
 *   another version of the format: start with new wisdom and replace the file; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_wisdom_parse(hetpart_wisdom **out, const char *text,
						size_t bytes, const char *host, uint64_t oldest_s,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_load - read a file of at most 16 MiB like hetpart_wisdom_parse().
 * Returns the same, and HETPART_EIO: the file cannot be opened or read, or is not a plain file. */
HETPART_API hetpart_status hetpart_wisdom_load(hetpart_wisdom **out, const char *path,
					       const char *host, uint64_t oldest_s,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_save - write the text to a new file next to path, sync that file, and rename it to
 * path. Readers see the complete old file or the complete new one; of several writers, the last one
 * wins. The directory must be writable.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL; HETPART_EIO: the file cannot be written,
 *   and path is unchanged; HETPART_ERANGE: the text is longer than 16 MiB; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_wisdom_save(const hetpart_wisdom *wisdom, const char *path,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_free - free the wisdom with its models; NULL is allowed. */
HETPART_API void hetpart_wisdom_free(hetpart_wisdom *wisdom);

/* ================================================== process emulation and self-scheduling */

/* hetpart_emulate_create - divide equal processes among nodes of different rating r_i (speed), for
 * programs that give every process the same amount of work. Node i with m_i processes takes the
 * time m_i/r_i. Each next process goes to the node where (m_i + 1)/r_i is smallest, which is
 * optimal for every number of processes. The plan's shares are the m_i; a slow node may get none.
 * [S2] If one process of each node plays the roles of all its m_i processes, hetpart_plan_first()
 * is its first role, the others follow, and hetpart_plan_owner() is the node that plays a role.
 * out        receives the plan, NULL on failure; free with hetpart_plan_free().
 * ratings    nprocs entries, not kept: finite, > 0.
 * nprocs     >= 1.
 * processes  0 .. HETPART_ITEMS_MAX.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0 or a rating is out of its
 *   range; HETPART_ERANGE: too many processes; HETPART_ENOMEM.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_emulate_create(hetpart_plan **out, const double *ratings,
						  size_t nprocs, uint64_t processes,
						  hetpart_err *err) HETPART_MUST_CHECK;

#define HETPART_EMULATE_MAX UINT64_C(1000000000)

/* hetpart_emulate_best - find the best number of processes up to `most`, and divide it like
 * hetpart_emulate_create(). The best number has the highest hetpart_emulate_efficiency(); of
 * several such numbers, it is the smallest. The time is proportional to `most`.
 * most  1 .. HETPART_EMULATE_MAX.
 * Other arguments and results are as for hetpart_emulate_create(); HETPART_ERANGE: most is out of
 * its range. */
HETPART_API hetpart_status hetpart_emulate_best(hetpart_plan **out, const double *ratings,
						size_t nprocs, uint64_t most,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_emulate_best_within - call hetpart_emulate_best() within limits. At a limit, the result
 * is the best of the numbers tried so far, and hetpart_plan_stopped() returns the reason.
 * limits  NULL for defaults.
 * Returns the same as hetpart_emulate_best(), and HETPART_EINVAL if struct_size or the time limit
 *   is invalid. */
HETPART_API hetpart_status hetpart_emulate_best_within(hetpart_plan **out, const double *ratings,
						       size_t nprocs, uint64_t most,
						       const hetpart_limits *limits,
						       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_emulate_efficiency - return the speed of an emulation divided by the ideal speed: M/((sum
 * of r_i) max(m_i/r_i)) for M processes. 1 is perfect.
 * ratings  the ratings from which the plan was made.
 * Returns NaN if a pointer is NULL. */
HETPART_API double hetpart_emulate_efficiency(const hetpart_plan *plan, const double *ratings);

/* One processor of a farm; the costs are not kept. */
typedef struct hetpart_worker {
	const hetpart_cost *compute; /* time to compute n items */
	const hetpart_cost *link;    /* root's time to send n items; NULL: sends nothing */
} hetpart_worker;

/* The size of the next chunk, when R items are left for p processors. */
typedef enum hetpart_chunk_rule {
	HETPART_CHUNK_FIXED = 0,    /* always `chunk` items */
	HETPART_CHUNK_GUIDED = 1,   /* R/p items, but at least `chunk` */
	HETPART_CHUNK_FACTORING = 2 /* R/(2p) items for p chunks in a row, but at least `chunk` */
} hetpart_chunk_rule;

/* Items that are handed out in chunks, for a farm that the caller implements. Set the first four
 * members; the others must be 0 at first. */
typedef struct hetpart_chunks {
	hetpart_chunk_rule rule;
	uint64_t nprocs; /* processors that take chunks, >= 1 */
	uint64_t chunk;  /* the size, or the smallest size, >= 1 */
	uint64_t left;   /* items not yet handed out; the caller may lower it between calls */
	uint64_t batch_chunk,
		batch_left; /* FACTORING: size, and how many of the p chunks are left */
} hetpart_chunks;

/* hetpart_chunks_next - subtract the next chunk from the items that are left.
 * chunks  changed; one thread at a time.
 * Returns the size of this chunk by the rule, at most the items left; 0 if no item is left, chunks
 *   is NULL or nprocs is 0. The member chunk counts as 1 if it is 0, and an unknown rule as
 *   FIXED. */
HETPART_API uint64_t hetpart_chunks_next(hetpart_chunks *chunks);

#define HETPART_FARM_CHUNKS_MAX UINT64_C(1000000000)

/* hetpart_farm_create - simulate self-scheduling with known costs: a root hands out chunks on
 * request, first come first served, one message at a time. A chunk whose message takes no time,
 * such as the root's own, does not wait for other messages. [S2]
 * out      receives the plan, NULL on failure: items for each processor and when it ends.
 * items    0 .. HETPART_ITEMS_MAX.
 * workers  nprocs entries, not kept; they make their first requests in this order.
 * nprocs   >= 1.
 * rule     see hetpart_chunk_rule.
 * chunk    >= 1: the size, or the smallest size.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer or a computing cost is NULL, nprocs or chunk is 0,
 *   rule is unknown, a callback returned a negative time or NaN; HETPART_ERANGE: more than
 *   HETPART_ITEMS_MAX items or HETPART_FARM_CHUNKS_MAX chunks, or a chunk of infinite time;
 *   HETPART_ENOMEM. Safe from any number of threads. */
HETPART_API hetpart_status hetpart_farm_create(hetpart_plan **out, uint64_t items,
					       const hetpart_worker *workers, size_t nprocs,
					       hetpart_chunk_rule rule, uint64_t chunk,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* One chunk of a farm, in the unit of the costs. */
typedef struct hetpart_chunk {
	size_t proc;
	uint64_t items;
	double sent;    /* when its message begins */
	double arrived; /* when its message ends and the computation begins */
	double done;    /* when the computation ends */
} hetpart_chunk;

/* Called for each chunk, in the order in which the root hands them out. *chunk is valid only during
 * the call. */
typedef void hetpart_farm_watch(void *ctx, const hetpart_chunk *chunk);

/* hetpart_farm_trace - call hetpart_farm_create(), and report every chunk. Other arguments and
 * results are the same.
 * watch  called once for each chunk, even if the call fails later; NULL: not called.
 * ctx    passed to watch. */
HETPART_API hetpart_status hetpart_farm_trace(hetpart_plan **out, uint64_t items,
					      const hetpart_worker *workers, size_t nprocs,
					      hetpart_chunk_rule rule, uint64_t chunk,
					      hetpart_farm_watch *watch, void *ctx,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_farm_trace_within - call hetpart_farm_trace() within limits.
 * limits  NULL for defaults.
 * Returns the same as hetpart_farm_trace(), and HETPART_EINVAL if struct_size or the time limit is
 *   invalid; HETPART_ETIME, HETPART_ECANCEL: stopped before all items were handed out. */
HETPART_API hetpart_status hetpart_farm_trace_within(hetpart_plan **out, uint64_t items,
						     const hetpart_worker *workers, size_t nprocs,
						     hetpart_chunk_rule rule, uint64_t chunk,
						     hetpart_farm_watch *watch, void *ctx,
						     const hetpart_limits *limits,
						     hetpart_err *err) HETPART_MUST_CHECK;

/* ===================================================================== scatter from one root */

/* A root sends every processor its share, one after the other (one port), and keeps the last share
 * for itself. Processor i begins to compute when its message has arrived:
 *     T_i = link_0(n_0) + ... + link_i(n_i) + compute_i(n_i),    makespan = max T_i.
 * Costs also count for 0 items, but an affine cost of 0 items is 0, so a startup only counts from
 * the first item on. [S0] */
typedef struct hetpart_scatter_proc {
	const hetpart_cost *compute; /* time of n items on this processor */
	const hetpart_cost *link;    /* time of the message of n items; NULL: free (a root) */
} hetpart_scatter_proc;

/* The methods to find shares. Exact methods give the smallest makespan of whole shares, up to the
 * rounding of a double. */
typedef enum hetpart_scatter_method {
	HETPART_SCATTER_AUTO = 0,          /* the cheapest exact method for the costs */
	HETPART_SCATTER_DP = 1,            /* [S0] Algorithm 1: any costs, O(p n^2), exact */
	HETPART_SCATTER_DP_INCREASING = 2, /* [S0] Algorithm 2: increasing costs, exact */
	HETPART_SCATTER_WINDOW = 3,   /* increasing compute, affine link costs: O(p n), exact */
	HETPART_SCATTER_MULTIRES = 4, /* increasing costs: finer and finer grids, exact */
	HETPART_SCATTER_LP = 5,       /* affine costs: [S0] linear programme and rounding */
	HETPART_SCATTER_CLOSED = 6,   /* linear costs: [S0] closed form and rounding, O(p log p) */
	HETPART_SCATTER_ALL_AT_ONCE = 7, /* affine costs: [S2] as if messages were sent at once */
	HETPART_SCATTER_TWO_PASS = 8,    /* affine costs: [S2], with the waits of a first pass */
	HETPART_SCATTER_GREEDY = 9,      /* increasing costs: [S2] next item where it ends first */
	HETPART_SCATTER_FILL = 10        /* links get slower in service order: O(p log n), exact */
} hetpart_scatter_method;

/* Start from HETPART_SCATTER_OPTS_INIT, then set what you need. */
typedef struct hetpart_scatter_opts {
	size_t struct_size;            /* sizeof(hetpart_scatter_opts), set by the INIT macro */
	hetpart_scatter_method method; /* HETPART_SCATTER_AUTO by default */
	uint64_t max_mem_bytes;        /* the most memory to use; 0: half of the available */
	double time_limit_s;           /* 0: HETPART_TIME_DEFAULT_S; INFINITY: none */
	hetpart_stop_fn *stop;         /* NULL, or called to ask whether to stop */
	void *stop_ctx;                /* passed to stop */
	const uint64_t *minimums;      /* the least items of each processor, or NULL */
	uint64_t quantum;              /* shares are its multiples; the root also has the rest */
} hetpart_scatter_opts;

/* clang-format off */
#define HETPART_SCATTER_OPTS_INIT { sizeof(hetpart_scatter_opts), HETPART_SCATTER_AUTO, 0, 0, NULL, NULL, NULL, 0 }
/* clang-format on */

/* hetpart_scatter_create - divide items among processors served one after the other by a root.
 * out     receives the plan, NULL on failure; free with hetpart_plan_free(). Its times are the T_i
 *         of hetpart_scatter_proc, for every method.
 * items   0 .. HETPART_ITEMS_MAX.
 * procs   nprocs entries, not kept: in service order, the root last; only the last link may be
 *         NULL.
 * nprocs  >= 1.
 * opts    NULL for defaults. Methods:
 *         AUTO: FILL if the links allow it. For other increasing costs, WINDOW or DP_INCREASING if
 *         p n is small, otherwise MULTIRES. For costs that are not increasing, DP.
 *         hetpart_plan_method() returns the choice.
 *         DP, DP_INCREASING, WINDOW: at most 2^32 - 2 items; memory is 4 p n bytes.
 *         MULTIRES: takes milliseconds for 1e6 items on 16 processors. For 1e9 items on 1000
 *           processors, it takes up to seconds. If links are affine and the root rarely sends, it
 *           takes hundredths of a second. Memory grows with the number of near-optimal plans, up to
 *           max_mem_bytes.
 *         FILL: requires that links, except for the root's, get slower in the order of service. If
 *           links have startups, processors must also get slower in this order, or be equal.
 *         LP: counts every startup even for 0 items, unlike the exact methods. So its real makespan
 *         is a lower bound of the optimum only for linear costs. makespan <= real makespan + sum of
 *         per-item link times + largest per-item compute time.
 *         CLOSED: gives no items to a processor whose link is slower than all the following
 *         processors together [S0].
 *         ALL_AT_ONCE: chooses shares d_i for which startup_i + c_i d_i is the same T for all
 *           processors. Here, startup_i is the sum of both startups, and c_i the time of link and
 *           compute per item. Processors with startup_i >= T get no items.
 *         TWO_PASS: like ALL_AT_ONCE, but each startup includes the time of the earlier messages of
 *         a first pass.
 *         GREEDY: finds the whole shares with the smallest maximum of link_i + compute_i, and
 *         ignores the order of service.
 *         LP, CLOSED, ALL_AT_ONCE and TWO_PASS find real shares and round them by
 *         hetpart_scatter_round().
 *         All methods set hetpart_plan_lower_bound(), except for GREEDY with costs that are not
 *         affine.
 *         If max_mem_bytes, time_limit_s or stop() ends an exact method, the result is the best
 *         plan so far, and hetpart_plan_stopped() returns the reason. If DP, DP_INCREASING or
 *         WINDOW would take too long or too much memory, MULTIRES uses the rest of the time; if
 *         costs are not increasing, DP over blocks of items does, without a lower bound.
 *         minimums and quantum: the exact methods find the best plan that respects them, GREEDY
 *         respects them, the others refuse them. With a quantum > 1, all shares are multiples of
 *         it, and the root also takes items % quantum, which do not count towards its minimum.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: a pointer is NULL, nprocs is 0, struct_size or method is unknown, the method
 *     does not support a cost, the minimums or the quantum, or a callback returned a negative time
 *     or NaN;
 *   HETPART_ERANGE: more items than HETPART_ITEMS_MAX or the method allows, fewer than the sum of
 *     the minimums, or no plan ends in finite time (tables);
 *   HETPART_ENOMEM, HETPART_ETIME, HETPART_ECANCEL: no memory, out of time or stopped before the
 *     first plan.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_scatter_create(hetpart_plan **out, uint64_t items,
						  const hetpart_scatter_proc *procs, size_t nprocs,
						  const hetpart_scatter_opts *opts,
						  hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_scatter_mem_bytes - return the most bytes of memory that hetpart_scatter_create() takes,
 * the plan included.
 * items, nprocs, opts  as for that call; AUTO counts as the method that takes most. MULTIRES and
 *                      AUTO usually take far less; they take this much only if nearly all plans
 *                      are nearly optimal.
 * Returns UINT64_MAX if no machine has that memory, or if that call would refuse the arguments. */
HETPART_API uint64_t hetpart_scatter_mem_bytes(uint64_t items, size_t nprocs,
					       const hetpart_scatter_opts *opts);

/* hetpart_scatter_slack - compute how far CLOSED or LP may be above the best plan of whole shares:
 * the sum of link_j(1) plus the largest compute_i(1) ([S0] guarantee, for linear costs).
 * slack   receives the difference, in time units; infinite beyond the range of a double.
 * procs   nprocs (>= 1) entries as in hetpart_scatter_create().
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, or a callback returned a
 *   negative time or NaN; HETPART_ENOMEM. Safe from any number of threads. */
HETPART_API hetpart_status hetpart_scatter_slack(double *slack, const hetpart_scatter_proc *procs,
						 size_t nprocs,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_scatter_round - round real shares to whole ones by the scheme of [S0]. The share nearest
 * to a whole number is rounded first. The next share is always the one whose rounding best cancels
 * the sum e of the errors so far; the last share n_k becomes n_k - e. No share, and no sum of
 * shares from the first on, changes by a whole item or more, up to the rounding of doubles.
 * shares  receives nprocs entries that sum to items.
 * items   0 .. HETPART_ITEMS_MAX: the sum of the real shares.
 * real    nprocs entries: finite, >= 0, summing to items within 1 + 1e-9 items.
 * nprocs  >= 1.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, a share is negative, NaN or
 *   infinite, or the sum is not items; HETPART_ERANGE: more than HETPART_ITEMS_MAX items;
 *   HETPART_ENOMEM. Safe from any number of threads. */
HETPART_API hetpart_status hetpart_scatter_round(uint64_t *shares, uint64_t items,
						 const double *real, size_t nprocs,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_scatter_order - find the order of service: by decreasing bandwidth, the root last. It is
 * the best order for linear costs and real shares ([S0] Theorem 3), and a heuristic for whole
 * shares, startups and other costs. Links are compared by the time of a message of items/nprocs
 * items.
 * order   receives nprocs indices into procs; the last one is nprocs - 1, the root. Equal links
 *         keep their order.
 * items   0 .. HETPART_ITEMS_MAX.
 * procs   nprocs (>= 1) entries as in hetpart_scatter_create(), not kept.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, or a callback returned a
 *   negative time or NaN; HETPART_ERANGE: more than HETPART_ITEMS_MAX items; HETPART_ENOMEM.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_scatter_order(size_t *order, uint64_t items,
						 const hetpart_scatter_proc *procs, size_t nprocs,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_scatter_root - find the best root. The total time of a candidate has two parts: the time
 * to bring all items to it from where they are stored, and the makespan of a scatter from it in the
 * order of hetpart_scatter_order(). [S0]
 * out         receives the plan of the best root, in its order of service; NULL on failure.
 * root        receives the best root; of several, the first.
 * order       NULL, or receives nprocs indices: plan entry j is processor order[j].
 * total       NULL, or receives the total time of each processor as root; infinite if it has no
 *             plan of finite time.
 * items       0 .. HETPART_ITEMS_MAX.
 * compute     nprocs entries, not kept: time of n items on each processor.
 * link        nprocs * nprocs entries, not kept: link[r * nprocs + i] is the time of the message
 *             from r to i; link[r * nprocs + r] is ignored.
 * from_store  NULL if the items are on every processor. Else nprocs entries: the time to bring
 *             items from the store to this processor; NULL takes no time.
 * nprocs      >= 1.
 * opts        as in hetpart_scatter_create(); the method is used for every candidate.
 * Returns the same as hetpart_scatter_create(); HETPART_ERANGE only if no candidate has a plan.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_scatter_root(hetpart_plan **out, size_t *root, size_t *order,
						double *total, uint64_t items,
						const hetpart_cost *const *compute,
						const hetpart_cost *const *link,
						const hetpart_cost *const *from_store,
						size_t nprocs, const hetpart_scatter_opts *opts,
						hetpart_err *err) HETPART_MUST_CHECK;

/* ================================================= divisible loads on a chain of processors */

/* A chain P_0 - P_1 - ... - P_{m-1}. P_0 holds each load from its release date on. Each processor
 * computes a part of what it has received, and sends the rest to the next one. A load is divided
 * into installments, and an installment into one fraction for each processor; all fractions of a
 * load sum to 1. The rules are constraints (1)-(13) of [S3]. A processor sends an installment on
 * after it has received it completely. It receives nothing while it still sends the previous
 * installment. Messages and computations keep their order. A fraction of 0 makes an empty message,
 * which keeps the order but takes no time and no latency. A load ends when its last installment,
 * which may be empty on some processors, ends on all of them; so loads end in their order. The
 * calls do not keep the pointers. */
typedef struct hetpart_chain {
	size_t struct_size;         /* sizeof(hetpart_chain), set by HETPART_CHAIN_INIT */
	size_t nprocs;              /* m, >= 1 */
	size_t nloads;              /* >= 1 */
	const double *w;            /* nprocs: time of one unit of computation; finite, > 0 */
	const double *z;            /* nprocs - 1: time of one unit of data over link i; >= 0 */
	const double *tau;          /* nprocs: when the processor can begin; >= 0; NULL: at 0 */
	const double *latency;      /* nprocs - 1: startup of each message; >= 0; NULL: 0. Dates
				     * include it, but the methods ignore it. */
	const double *vcomm;        /* nloads: units of data; finite, >= 0 */
	const double *vcomp;        /* nloads: units of computation; finite, > 0 */
	const size_t *installments; /* nloads: number of installments, >= 1; NULL: one each */
	const double *w_load;       /* NULL, or nloads * nprocs, [load][processor]: w for each load;
				     * finite, > 0; w is then not read ([S3] section 5) */
	const double *release;      /* nloads: when P_0 receives the load; finite, >= 0; NULL: 0 */
	const double *weight;       /* nloads: weight in the flow; finite, > 0; NULL: 1 */
} hetpart_chain;

/* clang-format off */
#define HETPART_CHAIN_INIT { sizeof(hetpart_chain), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
/* clang-format on */

/* The methods to find fractions. New ones are added at the end. */
typedef enum hetpart_chain_method {
	HETPART_CHAIN_LP = 0,         /* the optimum for these installments [S3] */
	HETPART_CHAIN_SIMPLE = 1,     /* one installment, fractions by speed */
	HETPART_CHAIN_SINGLEINST = 2, /* one installment, all processors end a load at once */
	HETPART_CHAIN_MULTIINST = 3   /* enough installments to keep every processor busy */
} hetpart_chain_method;

/* The time that LP minimises: affine in the ends of loads ([S3] section 5). */
typedef enum hetpart_objective {
	HETPART_OBJECTIVE_MAKESPAN = 0, /* the end of the last load */
	HETPART_OBJECTIVE_FLOW = 1 /* the sum of weight * (end - release) over all loads; with equal
				    * weights it also minimises the mean end */
} hetpart_objective;

/* Start from HETPART_CHAIN_OPTS_INIT, then set what you need. */
typedef struct hetpart_chain_opts {
	size_t struct_size;          /* sizeof(hetpart_chain_opts), set by the INIT macro */
	hetpart_chain_method method; /* HETPART_CHAIN_LP by default */
	size_t max_installments;     /* MULTIINST: the most for one load; 0: any number */
	double limit_s;              /* 0: HETPART_TIME_DEFAULT_S; INFINITY: none */
	uint64_t max_mem_bytes;      /* the most memory to use; 0: half of the available */
	hetpart_stop_fn *stop;       /* NULL, or called to ask whether to stop */
	void *stop_ctx;              /* passed to stop */
	hetpart_objective objective; /* LP: HETPART_OBJECTIVE_MAKESPAN by default */
} hetpart_chain_opts;

/* clang-format off */
#define HETPART_CHAIN_OPTS_INIT { sizeof(hetpart_chain_opts), HETPART_CHAIN_LP, 0, 0, 0, NULL, NULL, HETPART_OBJECTIVE_MAKESPAN }
/* clang-format on */

/* Fractions and the dates that follow from them; immutable. */
typedef struct hetpart_schedule hetpart_schedule;

/* hetpart_chain_create - divide the loads among the processors of a chain. [S3]
 * out    receives the schedule, NULL on failure; free with hetpart_schedule_free(). Its dates
 *        follow from its fractions by hetpart_chain_replay(), latencies included.
 * chain  see hetpart_chain.
 * opts   NULL for defaults. Methods:
 *        LP: the smallest makespan without latencies, to a precision of about 2e-7, for the numbers
 *        of installments in chain. With objective FLOW: the smallest flow, to a precision of about
 *        2e-7 times the makespan times the sum of the weights.
 *        SIMPLE: fractions proportional to 1/w of the load, one installment.
 *        SINGLEINST: one load after the other, in one installment. For each load, all processors
 *        start as early as they can and end together, as early as possible.
 *        MULTIINST: the first load, and a load that is released after a processor has computed all
 *        before it, like SINGLEINST. Fractions of other installments are proportional to 1/w. Each
 * installment is as large as possible, if all its messages arrive before the previous installment
 * is computed. The last installment that max_installments allows takes the rest like SINGLEINST.
 *        SIMPLE, SINGLEINST and MULTIINST choose their own numbers of installments.
 *        If limit_s, max_mem_bytes or stop() stops LP, it returns its best solution so far, or the
 *        solution of SINGLEINST. MULTIINST then puts the rest of each load into one installment.
 *        hetpart_schedule_stopped() returns the reason.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: a required pointer is NULL, a count is 0, a number is NaN, infinite
 *     or out of its range, struct_size, method or objective is unknown;
 *   HETPART_ERANGE: times beyond the range of a double, or more than 1e8 dates;
 *   HETPART_ENOSOL: MULTIINST without max_installments, if the installments shrink too fast to
 *     reach the whole load;
 *   HETPART_ENOMEM: no memory;
 *   HETPART_EINTERNAL: the LP solver failed;
 *   HETPART_EMISSING: LP needs GLPK, but libglpk.so.40 cannot be loaded.
 * Safe from any number of threads. LP loads GLPK, whose state is per thread. In the calling thread,
 * LP resets the caller's hooks for messages and errors of GLPK, and if GLPK runs out of memory,
 * frees all its objects. */
HETPART_API hetpart_status hetpart_chain_create(hetpart_schedule **out, const hetpart_chain *chain,
						const hetpart_chain_opts *opts,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_chain_mem_bytes - estimate the most bytes of memory that hetpart_chain_create() takes,
 * the schedule included.
 * chain, opts  as for that call; with MULTIINST and no max_installments, the schedule may be
 *              larger.
 * Returns UINT64_MAX if no machine has that memory, or if that call would refuse the arguments. */
HETPART_API uint64_t hetpart_chain_mem_bytes(const hetpart_chain *chain,
					     const hetpart_chain_opts *opts);

/* hetpart_chain_replay - find all dates from given fractions: every message and computation begins
 * as soon as the rules of hetpart_chain allow.
 * out         receives the schedule, NULL on failure; free with hetpart_schedule_free().
 * chain       see hetpart_chain.
 * fractions   nfractions entries, not kept: [load][installment][processor]; each is finite and
 *             >= 0, and the fractions of a load sum to 1 within 1e-6.
 * nfractions  nprocs times the sum of chain->installments.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: as for hetpart_chain_create(), or nfractions is wrong, a fraction is negative,
 *     NaN or infinite, or a load's fractions do not sum to 1;
 *   HETPART_ERANGE: times beyond the range of a double, or more than 1e8 dates; HETPART_ENOMEM.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_chain_replay(hetpart_schedule **out, const hetpart_chain *chain,
						const double *fractions, size_t nfractions,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_schedule_makespan - return when the last computation ends; NaN if schedule is NULL. */
HETPART_API double hetpart_schedule_makespan(const hetpart_schedule *schedule);

/* hetpart_schedule_planned_makespan - return the makespan that the method computed, without
 * latencies. For LP, it is a lower bound for every schedule with these installments, to the
 * precision of the solver. NaN if the schedule is from hetpart_chain_replay(). */
HETPART_API double hetpart_schedule_planned_makespan(const hetpart_schedule *schedule);

/* hetpart_schedule_lower_bound - return a lower bound of the makespan for any number of
 * installments: the time if all processors work from the release date of a load on, and messages
 * take no time. NaN if the schedule is from hetpart_chain_replay() or NULL. */
HETPART_API double hetpart_schedule_lower_bound(const hetpart_schedule *schedule);

/* hetpart_schedule_load_end - return when a load (from 0) ends, see hetpart_chain; NaN if the load
 * does not exist. */
HETPART_API double hetpart_schedule_load_end(const hetpart_schedule *schedule, size_t load);

/* hetpart_schedule_flow - return the sum of weight * (end - release) over all loads; infinite
 * beyond the range of a double, NaN if schedule is NULL. */
HETPART_API double hetpart_schedule_flow(const hetpart_schedule *schedule);

/* hetpart_schedule_planned_flow - return the flow that the method computed, without latencies. For
 * LP with objective FLOW, it is a lower bound for every schedule with these installments, to the
 * precision of the solver. NaN if the schedule is from hetpart_chain_replay(). */
HETPART_API double hetpart_schedule_planned_flow(const hetpart_schedule *schedule);

/* hetpart_schedule_stopped - return what stopped the method early, like hetpart_plan_stopped(). */
HETPART_API hetpart_status hetpart_schedule_stopped(const hetpart_schedule *schedule);

/* hetpart_schedule_method - return the name of the method, static text; "" if schedule is NULL. */
HETPART_API const char *hetpart_schedule_method(const hetpart_schedule *schedule);

/* hetpart_schedule_nprocs, _nloads - return the sizes of the problem; 0 if schedule is NULL. */
HETPART_API size_t hetpart_schedule_nprocs(const hetpart_schedule *schedule);
HETPART_API size_t hetpart_schedule_nloads(const hetpart_schedule *schedule);

/* hetpart_schedule_installments - return the number of installments of a load (from 0); 0 if the
 * load does not exist. */
HETPART_API size_t hetpart_schedule_installments(const hetpart_schedule *schedule, size_t load);

/* hetpart_schedule_fraction - return the fraction of a load that proc computes in this installment.
 * All arguments count from 0; NaN if one of them does not exist. */
HETPART_API double hetpart_schedule_fraction(const hetpart_schedule *schedule, size_t load,
					     size_t installment, size_t proc);

/* hetpart_schedule_fractions - return all fractions [load][installment][processor], which live as
 * long as the schedule; NULL if schedule is NULL. *count receives their number, unless count is
 * NULL. */
HETPART_API const double *hetpart_schedule_fractions(const hetpart_schedule *schedule,
						     size_t *count);

/* hetpart_schedule_comm - store start and end of the message over link, from processor link to
 * processor link + 1.
 * hetpart_schedule_comp - store start and end of the computation on proc.
 * start, end  receive the dates unless they are NULL.
 * Returns false, and stores nothing, if the message or computation does not exist. */
HETPART_API bool hetpart_schedule_comm(const hetpart_schedule *schedule, size_t load,
				       size_t installment, size_t link, double *start, double *end);
HETPART_API bool hetpart_schedule_comp(const hetpart_schedule *schedule, size_t load,
				       size_t installment, size_t proc, double *start, double *end);

/* hetpart_schedule_free - free the schedule; NULL is allowed. */
HETPART_API void hetpart_schedule_free(hetpart_schedule *schedule);

#ifdef __cplusplus
}
#endif

#endif
