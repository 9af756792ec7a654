/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetpart.h - libhetpart: how many items each processor of a heterogeneous machine should take, so
 * that all of them finish together. Pure computation: no MPI, no threads, no printing, no global
 * state. Time limits read the monotonic clock. Only the wisdom calls open a file, which the caller
 * names.
 *
 * Every call that can fail returns a hetpart_status. Its last argument is an optional hetpart_err,
 * which receives a message that a person can act on; it may be NULL. Results leave through
 * out-parameters, which are NULL or unchanged on failure. Several threads may read an object at
 * the same time; while a call changes an object, only one thread may use it.
 *
 * Source tags in square brackets: [S4] Cerin, Dubacq, Roch: data partitioning for heterogeneous
 * parallel sorting; [S0] Genaud, Giersch, Vivien: load-balancing scatter operations for grid
 * computing; [S2] David, Genaud, Giersch, Schwarz, Violard: source code transformation strategies
 * to load-balance grid applications; [S3] Gallet, Robert, Vivien: scheduling multiple divisible
 * loads on a linear processor network. */
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
#define HETPART_VERSION_MINOR 2
#define HETPART_VERSION_PATCH 0
#define HETPART_VERSION       "0.2.0"

/* hetpart_version - return the version of the library that is linked, as "major.minor.patch".
 * Static text, never NULL; compare it with HETPART_VERSION, the version of this header. */
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
	HETPART_EFORMAT = 5,   /* a file is damaged or not of this kind */
	HETPART_ESTALE = 6,    /* a file is valid, but of another machine or too old */
	HETPART_ENOSOL = 7,    /* the method has no solution for these values */
	HETPART_EINTERNAL = 8, /* a fault of the library itself: please report it */
	HETPART_EPEER = 9,     /* another rank failed (used by callers that run over ranks) */
	HETPART_ETIME = 10,    /* the caller's time limit ended the call without a result */
	HETPART_ECANCEL = 11,  /* the caller's callback stopped the call without a result */
	HETPART_EMISSING = 12  /* a library that the method needs is not installed */
} hetpart_status;

/* hetpart_status_text - describe a status in a few words.
 * Static text, never NULL; "unknown status" for a value that this version does not define. */
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
 *   scale  finite and > 0: every time is multiplied by it; 1 for none.
 *   err    NULL, or receives the reason of a failure.
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
 * gives even the slowest processor at least one item; with hetpart_cost_nlog2n1(), it does not. */
HETPART_API hetpart_status hetpart_cost_nlogn(hetpart_cost **out, double scale,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_cost_nlog2n1 - make the cost n log2(n + 1): like n ln n, but the first item costs 1. */
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

/* hetpart_cost_piecewise - make a cost of straight lines between points. They begin at (0, 0) if
 * the first point has items > 0. Beyond the last point, the last line continues.
 * points   npoints (>= 1) entries, copied: finite, items strictly increasing, time_s >= 0; it may
 *          fall from one point to the next, but not on the last line. A single point needs
 *          items > 0. */
HETPART_API hetpart_status hetpart_cost_piecewise(hetpart_cost **out, const hetpart_point *points,
						  size_t npoints, double scale,
						  hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_cost_table - make a cost of values[n] for n items. More than nvalues - 1 items are not
 * possible; their time is infinite.
 * values   nvalues (>= 1) entries, copied: >= 0, not NaN; infinite means "not this number". */
HETPART_API hetpart_status hetpart_cost_table(hetpart_cost **out, const double *values,
					      size_t nvalues, double scale,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* Return the time of items, which must depend only on the arguments, be >= 0 and not NaN. A planner
 * that receives NaN or a negative time ends with HETPART_EINVAL. */
typedef double hetpart_cost_fn(void *ctx, uint64_t items);

/* hetpart_cost_callback - make a cost of any function.
 * fn          called as fn(ctx, items), many times, in any order.
 * ctx         passed to fn; must live as long as the cost. If several threads share the cost, all
 *             of them call fn.
 * increasing  true: the caller promises that more items never take less time. */
HETPART_API hetpart_status hetpart_cost_callback(hetpart_cost **out, hetpart_cost_fn *fn, void *ctx,
						 bool increasing, double scale,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_cost_eval - return the time of items in time units; NaN if cost is NULL. */
HETPART_API double hetpart_cost_eval(const hetpart_cost *cost, uint64_t items);

/* hetpart_cost_increasing - return whether more items never take less time; false if cost is
 * NULL. */
HETPART_API bool hetpart_cost_increasing(const hetpart_cost *cost);

/* hetpart_cost_is_affine - return whether the cost is startup + per_item n (n >= 1). Only then,
 * store both, scale included, unless startup or per_item is NULL. */
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

/* hetpart_plan_shares - return all shares, nprocs entries that live as long as the plan; NULL for
 * NULL. */
HETPART_API const uint64_t *hetpart_plan_shares(const hetpart_plan *plan);

/* hetpart_plan_first - return the number of the first item (from 0) of processor proc, if items are
 * in the order of processors: the sum of the shares before. Return the number of all items for proc
 * beyond the last, and 0 if plan is NULL. Takes O(proc) time: for many, use the next call. */
HETPART_API uint64_t hetpart_plan_first(const hetpart_plan *plan, size_t proc);

/* hetpart_plan_offsets - store the first items of all processors.
 * first  receives nprocs + 1 numbers: processor i has the items first[i] .. first[i + 1] - 1.
 * Stores nothing if a pointer is NULL. */
HETPART_API void hetpart_plan_offsets(const hetpart_plan *plan, uint64_t *first);

/* hetpart_plan_real_shares, hetpart_plan_times - return the results of the next two calls for all
 * processors: nprocs entries that live as long as the plan; NULL for NULL. */
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

/* hetpart_plan_real_makespan - return the makespan before rounding, a lower bound for an exact
 * method; NaN if the method does not compute it. */
HETPART_API double hetpart_plan_real_makespan(const hetpart_plan *plan);

/* hetpart_plan_lower_bound - return a makespan that no plan of whole items can beat, as the method
 * proves; NaN if the method proves none. Makespan minus lower bound is a certified gap. It is 0 for
 * exact shares and the exact scatter methods. With capacities, the bound is for plans that keep
 * them. */
HETPART_API double hetpart_plan_lower_bound(const hetpart_plan *plan);

/* hetpart_plan_stopped - return HETPART_OK if the method was completed. Otherwise this is the best
 * plan that was found until it was stopped, by HETPART_ETIME (the time limit), HETPART_ENOMEM
 * (max_mem_bytes) or HETPART_ECANCEL (the caller's callback). hetpart_plan_lower_bound() then shows
 * how far the plan may be from the best. Return HETPART_EINVAL if plan is NULL. */
HETPART_API hetpart_status hetpart_plan_stopped(const hetpart_plan *plan);

/* hetpart_plan_method - return the name of the method that made the plan, which lives as long as
 * the plan; "" if plan is NULL. */
HETPART_API const char *hetpart_plan_method(const hetpart_plan *plan);

/* hetpart_plan_hash - return a number that is the same for all plans with the same shares, on every
 * machine. Ranks compare it to check that their plans agree. 0 if plan is NULL. */
HETPART_API uint64_t hetpart_plan_hash(const hetpart_plan *plan);

/* hetpart_plan_print - explain the plan in text, one line for each processor (the first 64).
 * buf   receives at most size - 1 characters and a terminating 0; may be NULL when size is 0.
 * Returns the length of the whole text without the 0; nothing is lost if it is < size. */
HETPART_API size_t hetpart_plan_print(const hetpart_plan *plan, char *buf, size_t size);

/* hetpart_plan_pack - write the plan as bytes that are the same on every machine, with a checksum,
 * for files and messages.
 * buf   receives them if size is large enough; may be NULL when size is 0.
 * Returns their number, 24 for each processor and a little more; 0 for NULL. */
HETPART_API size_t hetpart_plan_pack(const hetpart_plan *plan, void *buf, size_t size);

/* hetpart_plan_unpack - make the plan from such bytes; safe on any bytes.
 * out    receives the plan, NULL on failure; free with hetpart_plan_free().
 * bytes  size bytes, not kept.
 * err    NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL; HETPART_EFORMAT: damaged, or something
 *   else; HETPART_ENOMEM. */
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
	HETPART_METHOD_BITSET = 5,       /* the same over sums of sets; any costs */
	HETPART_METHOD_DP = 6            /* dynamic programme; any costs */
} hetpart_method;

#define HETPART_MEM_DEFAULT_BYTES (UINT64_C(1) << 30)

/* The limits of planners whose options leave them at 0: these seconds, and half of the available
 * memory (HETPART_MEM_DEFAULT_BYTES if the system does not report it). At a limit, planners return
 * the best plan so far, see hetpart_plan_stopped(); it may then differ from call to call. */
#define HETPART_TIME_DEFAULT_S 10.0

/* Return whether to stop a planner: 0 to continue, anything else to stop it like a limit does. The
 * planner calls this in its thread after about every million steps, independently of the clock. */
typedef int hetpart_stop_fn(void *ctx);

/* Only the limits, for calls without other options; start from HETPART_LIMITS_INIT. */
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
	uint64_t quantum;           /* EXACT, THRESHOLD, DP: all shares but one are multiples */
	uint64_t max_mem_bytes;     /* BITSET, DP; 0: HETPART_MEM_DEFAULT_BYTES */
	double time_limit_s;        /* BITSET, DP; 0: HETPART_TIME_DEFAULT_S; INFINITY: none */
	hetpart_stop_fn *stop;      /* NULL, or called to ask whether to stop */
	void *stop_ctx;             /* passed to stop */
	const uint64_t *minimums;   /* the least items of each processor, or NULL */
} hetpart_opts;

/* clang-format off */
#define HETPART_OPTS_INIT { sizeof(hetpart_opts), HETPART_METHOD_EXACT, NULL, 0, 0, 0, NULL, NULL, NULL }
/* clang-format on */

/* =============================================================== shares without communication */

/* hetpart_share_create - divide items among processors of known speed: processor i takes
 * f(n)/speed[i] for n items. Shares are whole and sum to items. The largest time is the smallest
 * possible (EXACT, THRESHOLD, BITSET, DP) or near it (the other methods).
 * out     receives the plan, NULL on failure; free with hetpart_plan_free().
 * items   0 .. HETPART_ITEMS_MAX; with 0, every share is 0.
 * speeds  nprocs entries, not kept: finite, > 0; only their ratios matter.
 * nprocs  >= 1.
 * cost    f, the time of n items at speed 1; not kept.
 * opts    NULL for defaults. Methods:
 *         EXACT (the default) chooses by the cost. Linear costs use D'Hondt's rule, n ln n GSL's
 *           Lambert W and Newton's method, powers [S4] Theorem 1. Other smooth or piecewise f have
 *           equal times before rounding. Any other increasing f uses bisection, and a cost that is
 *           not increasing uses BITSET.
 *         TAYLOR, ASYMPTOTIC: n ln n, without capacities. PROPORTIONAL, THRESHOLD, BITSET, DP.
 *         capacities, minimums: an exact plan is the best that keeps them; real shares ignore
 *           minimums.
 *         quantum > 1: the plan is the best in which all shares but one are multiples of it. One
 *           processor also has the rest. Only multiples count for minimums.
 *         At the end of time_limit_s, or when stop() stops it, BITSET returns the best plan so far
 *         with a lower bound. DP, and BITSET before its first plan, return the plan of THRESHOLD if
 *         costs are increasing, else the best plan of large blocks. hetpart_plan_stopped() returns
 *         the reason.
 * err     NULL, or receives the reason of a failure.
 * With EXACT, ties go to the faster processor, then to the first. The order of the processors and
 * the scale of the speeds never change the makespan beyond rounding. n ln n has f(1) = 0: with more
 * items than processors, even the slowest processor gets at least one.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: out, speeds or cost is NULL, nprocs is 0, a speed is zero, negative, NaN or
 *     infinite, struct_size or method is unknown, the method does not fit the cost, the capacities
 *     or the quantum, the cost is free, or a callback returned a negative time or NaN;
 *   HETPART_ERANGE: more than HETPART_ITEMS_MAX items, or more than the capacities hold (which are
 *     never exceeded silently), or fewer than the minimums take, or more than a table of costs has,
 *     or no plan ends in finite time;
 *   HETPART_ENOSOL: TAYLOR with fewer than 3 items or no more items than processors, ASYMPTOTIC if
 *     a processor gets fewer than e items;
 *   HETPART_ENOMEM: no memory, or BITSET or DP needs more than max_mem_bytes;
 *   HETPART_EMISSING: EXACT or ASYMPTOTIC for n ln n, if GSL 2.5 to 2.8 is missing;
 *   HETPART_ETIME, HETPART_ECANCEL: out of time or stopped before the first plan.
 * Safe from any number of threads. Memory is O(nprocs), about 100 bytes for each, except for BITSET
 * and DP: see hetpart_share_unrelated_mem_bytes(). [S4] sections 2 and 3. */
HETPART_API hetpart_status hetpart_share_create(hetpart_plan **out, uint64_t items,
						const double *speeds, size_t nprocs,
						const hetpart_cost *cost, const hetpart_opts *opts,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_share_unrelated_create - divide items like hetpart_share_create(), with a cost for each
 * processor.
 * out     receives the plan, NULL on failure; free with hetpart_plan_free().
 * items   0 .. HETPART_ITEMS_MAX.
 * costs   nprocs entries, not kept: any costs; the same one may occur more than once.
 * nprocs  >= 1.
 * opts    NULL for defaults. method: EXACT (THRESHOLD if every cost is increasing, otherwise
 *         BITSET, with a quantum DP), THRESHOLD (any number of items), BITSET (exact, up to about
 *         1e5 items), DP ([S4] section 3.2: the slow reference). capacities, minimums, quantum and
 *         limits are the same.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: out, costs or an entry of it is NULL, nprocs is 0, struct_size or method is
 *     unknown, the method needs speeds, THRESHOLD with a cost that is not increasing, BITSET with a
 *     quantum, or a callback returned a negative time or NaN;
 *   HETPART_ERANGE: more than HETPART_ITEMS_MAX items, or more than capacities or tables hold, or
 *     fewer than the minimums take;
 *   HETPART_ENOMEM: no memory, or the method needs more than max_mem_bytes;
 *   HETPART_ETIME, HETPART_ECANCEL: out of time or stopped before the first plan.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_share_unrelated_create(hetpart_plan **out, uint64_t items,
							  const hetpart_cost *const *costs,
							  size_t nprocs, const hetpart_opts *opts,
							  hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_share_unrelated_mem_bytes - return the most memory that the call takes in bytes, the plan
 * included.
 * items, nprocs, opts  as for the call; EXACT counts as BITSET or DP.
 * Returns UINT64_MAX if no machine has that memory, or if the call would refuse the arguments. */
HETPART_API uint64_t hetpart_share_unrelated_mem_bytes(uint64_t items, size_t nprocs,
						       const hetpart_opts *opts);

/* hetpart_share_weights - divide a row of items of unequal weight into one contiguous part for each
 * processor, in the order of processors; a part may be empty. Processor i takes the sum of its
 * weights divided by speeds[i], and the largest such time is the smallest possible.
 * hetpart_plan_first() returns where parts begin.
 * out      receives the plan, NULL on failure; free with hetpart_plan_free().
 * weights  items entries, not kept: finite, >= 0.
 * items    0 .. HETPART_ITEMS_MAX.
 * speeds   nprocs entries, not kept: finite, > 0.
 * nprocs   >= 1.
 * err      NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, a weight or speed is out of
 *   its range; HETPART_ERANGE: too many items, or times beyond the range of a double;
 *   HETPART_ENOMEM. Safe from any number of threads. Memory is 16 bytes per item. */
HETPART_API hetpart_status hetpart_share_weights(hetpart_plan **out, const double *weights,
						 uint64_t items, const double *speeds,
						 size_t nprocs,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_share_round - round real shares to whole ones. Each keeps its whole part, and each
 * remaining item goes to the smallest f(n_i + 1)/k_i. This is the best rounding of shares with
 * equal times [S4]; for other shares, it is the best that keeps the whole parts.
 * out     receives the plan, NULL on failure; free with hetpart_plan_free().
 * items   0 .. HETPART_ITEMS_MAX: the sum of the shares.
 * real    nprocs entries, not kept: finite, >= 0, summing to items within 1 + 1e-9 items.
 * speeds  nprocs entries, not kept: finite, > 0.
 * nprocs  >= 1.
 * cost    f, the time of n items at speed 1; increasing; not kept.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, a share or speed is out of
 *   its range, the sum is not items, the cost is free or not increasing; HETPART_ERANGE: more than
 *   HETPART_ITEMS_MAX items, or more than a table of costs has; HETPART_ENOMEM.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_share_round(hetpart_plan **out, uint64_t items,
					       const double *real, const double *speeds,
					       size_t nprocs, const hetpart_cost *cost,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* =============================================================== learning a cost from jobs */

/* The knowledge of earlier jobs about one unknown cost f: observations (items, cost). Here, cost is
 * the time of a share multiplied by the speed of its processor. Observations are pooled in cells
 * whose borders are a factor 1.1 apart, with eight parts each, so the model always has the same
 * size (118 kB). A model that several threads change needs the caller's lock. [S4] section 3.3. */
typedef struct hetpart_model hetpart_model;

/* hetpart_model_create - make a model without observations; its cost is f(n) = n.
 * out  receives the model, NULL on failure; free with hetpart_model_free().
 * err  NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: out is NULL; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_model_create(hetpart_model **out,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_add - add observations; all of them, or none on failure.
 * model     changed.
 * observed  count entries, not kept: items is 0 (ignored) or 1 .. 2^63; time_s is
 *           the time times the speed, finite, >= 0.
 * count     0 is valid.
 * err       NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL or an observation out of its range. */
HETPART_API hetpart_status hetpart_model_add(hetpart_model *model, const hetpart_point *observed,
					     size_t count, hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_decay - reduce the weight of all observations so far. Call it before adding those
 * of a new job if the machine may change. Weights below 1e-9 of one observation are forgotten.
 * model   changed.
 * factor  > 0, <= 1: every weight is multiplied by it. With 0.95, about 20 jobs are remembered.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: model is NULL or factor out of its range. */
HETPART_API hetpart_status hetpart_model_decay(hetpart_model *model, double factor,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_merge - add all observations of another model, with their weights.
 * into  changed. from  unchanged; may be into itself.
 * err   NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL. */
HETPART_API hetpart_status hetpart_model_merge(hetpart_model *into, const hetpart_model *from,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_weight - return the number of observations in the model, after decay; 0 for
 * NULL. */
HETPART_API double hetpart_model_weight(const hetpart_model *model);

/* hetpart_model_points - store the corners of the fitted cost, increasing in items and in time.
 * points  receives at most room of them; may be NULL when room is 0.
 * Returns their number, at most 960; 0 for a model without observations, and for NULL. */
HETPART_API size_t hetpart_model_points(const hetpart_model *model, hetpart_point *points,
					size_t room);

/* hetpart_model_cost - make the fitted cost. The means of the cells are smoothed by power laws and
 * straight lines on segments of cells; all divisions into segments are averaged with the weight
 * that the data give them. The result is made to rise by pooling adjacent violators, and joined by
 * lines from (0, 0). A certain jump is a step, half way between the observations on its two sides.
 * Once these are 2 % apart, it is on the safe side: a few items too few cost little, and one too
 * many costs the jump. Beyond the last corner, the cost continues with the last slope or the mean
 * cost of an item, whichever is larger. Without observations, f(n) = n.
 * out    receives the cost, independent of the model, NULL on failure; free with
 *        hetpart_cost_free().
 * model  unchanged.
 * err    NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_model_cost(hetpart_cost **out, const hetpart_model *model,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_model_plan - call hetpart_share_create() with the fitted cost; arguments and results are
 * the same.
 * Returns also HETPART_EINVAL if model is NULL. */
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
 * Keys of later versions are skipped. Names have 1 to 63 letters, digits, '.', '_', ':' or '-'; the
 * host is a line of 1 to 127 printable characters by which the caller recognizes the machine: its
 * name, processor and cores, for instance. Wisdom that several threads change needs the caller's
 * lock. */
typedef struct hetpart_wisdom hetpart_wisdom;

/* hetpart_wisdom_create - make wisdom without contents.
 * out   receives it, NULL on failure; free with hetpart_wisdom_free().
 * host  the machine it is about, copied.
 * err   NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL or host is invalid; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_wisdom_create(hetpart_wisdom **out, const char *host,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_host - return the machine it is about; lives as long as the wisdom; "" for
 * NULL. */
HETPART_API const char *hetpart_wisdom_host(const hetpart_wisdom *wisdom);

/* hetpart_wisdom_time - return when it was made, in seconds since 1970; 0 if not known, and for
 * NULL. */
HETPART_API uint64_t hetpart_wisdom_time(const hetpart_wisdom *wisdom);

/* hetpart_wisdom_set_time - set when it was made, because the library does not read the calendar.
 * time_s  seconds since 1970, below 1e19; 0 for not known.
 * Returns HETPART_OK; HETPART_EINVAL: wisdom is NULL or time_s too large. */
HETPART_API hetpart_status hetpart_wisdom_set_time(hetpart_wisdom *wisdom, uint64_t time_s,
						   hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_model - find the model of a name, or make it.
 * wisdom  changed if the model is new.
 * name    copied.
 * out     receives the model, NULL on failure; it belongs to the wisdom: change it, never free it.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL or name is invalid; HETPART_ENOMEM: no
 *   memory, or 4096 models already. */
HETPART_API hetpart_status hetpart_wisdom_model(hetpart_wisdom *wisdom, const char *name,
						hetpart_model **out,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_set - store a number under a name, instead of an earlier one.
 * value  finite.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, name is invalid or value not finite;
 *   HETPART_ENOMEM: no memory, or 4096 numbers already. */
HETPART_API hetpart_status hetpart_wisdom_set(hetpart_wisdom *wisdom, const char *name,
					      double value, hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_get - return whether a number of that name exists. If so, store it in *value,
 * unless value is NULL. */
HETPART_API bool hetpart_wisdom_get(const hetpart_wisdom *wisdom, const char *name, double *value);

/* hetpart_wisdom_model_name, hetpart_wisdom_number_name - return the names, from index 0; NULL
 * after the last. They live until the wisdom changes. */
HETPART_API const char *hetpart_wisdom_model_name(const hetpart_wisdom *wisdom, size_t index);
HETPART_API const char *hetpart_wisdom_number_name(const hetpart_wisdom *wisdom, size_t index);

/* hetpart_wisdom_merge - add other wisdom of the same machine. Models are merged with their
 * weights; of two numbers, the later one is kept.
 * into  changed; on HETPART_ENOMEM, a part may have been added.
 * from  unchanged, not into itself.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL or both are the same; HETPART_ESTALE: of
 * another
 *   machine, nothing changed; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_wisdom_merge(hetpart_wisdom *into, const hetpart_wisdom *from,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_print - write the text of the file.
 * buf  receives at most size - 1 characters and a terminating 0; may be NULL when size is 0.
 * Returns the length of the whole text without the 0; 0 for NULL. */
HETPART_API size_t hetpart_wisdom_print(const hetpart_wisdom *wisdom, char *buf, size_t size);

/* hetpart_wisdom_parse - make wisdom from text in memory; safe on any bytes.
 * out       receives it, NULL on failure; free with hetpart_wisdom_free().
 * text      bytes characters, need not end in 0; not kept.
 * host      the machine it must be about; NULL accepts any.
 * oldest_s  the time before which it is too old, seconds since 1970; 0 accepts any.
 * err       NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: out or text is NULL; HETPART_EFORMAT: damaged, err names the
 *   line; HETPART_ESTALE: valid, but of another machine, too old, or in another version of the
 *   format: begin with new wisdom and replace the file; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_wisdom_parse(hetpart_wisdom **out, const char *text,
						size_t bytes, const char *host, uint64_t oldest_s,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_load - read a file of at most 16 MiB like hetpart_wisdom_parse().
 * Returns the same, and HETPART_EIO: the file cannot be opened or read, or is not a plain file. */
HETPART_API hetpart_status hetpart_wisdom_load(hetpart_wisdom **out, const char *path,
					       const char *host, uint64_t oldest_s,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_save - write the text to a file next to path, sync it, and rename it to path.
 * Readers see the old file or the new one; of several writers, the last one wins. The directory
 * must be writable.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL; HETPART_EIO: it cannot be written, and
 * path
 *   is unchanged; HETPART_ERANGE: longer than 16 MiB; HETPART_ENOMEM. */
HETPART_API hetpart_status hetpart_wisdom_save(const hetpart_wisdom *wisdom, const char *path,
					       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_wisdom_free - free the wisdom with its models; NULL is allowed. */
HETPART_API void hetpart_wisdom_free(hetpart_wisdom *wisdom);

/* ================================================== process emulation and self-scheduling */

/* hetpart_emulate_create - divide equal processes among nodes of different rating, for programs
 * that give every process the same amount of work. Each next process goes to the node where
 * (m_i + 1)/r_i is smallest, which is optimal for every number of processes. The plan's
 * shares are processes, its times m_i/r_i; a slow node may get none. [S2]
 * out        receives the plan, NULL on failure; free with hetpart_plan_free().
 * ratings    nprocs entries, not kept: finite, > 0.
 * nprocs     >= 1.
 * processes  0 .. HETPART_ITEMS_MAX.
 * err        NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0 or a rating is out of its
 *   range; HETPART_ERANGE: too many processes; HETPART_ENOMEM.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_emulate_create(hetpart_plan **out, const double *ratings,
						  size_t nprocs, uint64_t processes,
						  hetpart_err *err) HETPART_MUST_CHECK;

#define HETPART_EMULATE_MAX UINT64_C(1000000000)

/* hetpart_emulate_best - divide the best number of processes up to most: the smallest that comes
 * nearest to the ideal speed. Takes time in proportion to most.
 * most  1 .. HETPART_EMULATE_MAX; the other arguments as above.
 * Returns as above; HETPART_ERANGE: most is out of its range. */
HETPART_API hetpart_status hetpart_emulate_best(hetpart_plan **out, const double *ratings,
						size_t nprocs, uint64_t most,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_emulate_best_within - call hetpart_emulate_best() within limits. At a limit, the result
 * is the best of the numbers tried so far, and hetpart_plan_stopped() returns the reason.
 * limits  NULL for defaults.
 * Returns the same; HETPART_EINVAL also: struct_size or the time limit is invalid. */
HETPART_API hetpart_status hetpart_emulate_best_within(hetpart_plan **out, const double *ratings,
						       size_t nprocs, uint64_t most,
						       const hetpart_limits *limits,
						       hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_emulate_efficiency - return the speed of an emulation divided by the speed of the ideal
 * division: M/((sum r) max(m_i/r_i)). 1 is perfect.
 * ratings  the ratings from which the plan was made.
 * Returns NaN if a pointer is NULL. */
HETPART_API double hetpart_emulate_efficiency(const hetpart_plan *plan, const double *ratings);

/* One processor of a farm; the costs are not kept. */
typedef struct hetpart_worker {
	const hetpart_cost *compute; /* time to compute n items */
	const hetpart_cost *link;    /* time of the root to send n items; NULL: nothing to send */
} hetpart_worker;

/* The size of the next chunk, when R items are left for p processors. */
typedef enum hetpart_chunk_rule {
	HETPART_CHUNK_FIXED = 0,    /* chunk items */
	HETPART_CHUNK_GUIDED = 1,   /* R/p, at least chunk */
	HETPART_CHUNK_FACTORING = 2 /* p chunks of R/(2p) each, then again, at least chunk */
} hetpart_chunk_rule;

/* Items that are handed out in chunks, for a farm that the caller implements. Set the first four
 * members; the others must be 0 at first. */
typedef struct hetpart_chunks {
	hetpart_chunk_rule rule;
	uint64_t nprocs; /* processors that take chunks, >= 1 */
	uint64_t chunk;  /* the size, or the smallest size, >= 1 */
	uint64_t left;   /* items not yet handed out; the caller may lower it between calls */
	uint64_t batch_chunk, batch_left; /* FACTORING: size and number of the chunks to come */
} hetpart_chunks;

/* hetpart_chunks_next - take the next chunk off the items that are left.
 * chunks  changed; one thread at a time.
 * Returns its size by the rule, at most the items left; 0 if none is left, chunks is NULL or nprocs
 *   is 0. A chunk of 0 counts as 1, an unknown rule as FIXED. */
HETPART_API uint64_t hetpart_chunks_next(hetpart_chunks *chunks);

#define HETPART_FARM_CHUNKS_MAX UINT64_C(1000000000)

/* hetpart_farm_create - simulate self-scheduling with exact costs: a root hands out chunks on
 * request, first come first served, one message at a time. A chunk whose link takes no time, such
 * as the root's own, does not wait for the port. [S2]
 * out      receives the plan, NULL on failure: items for each processor and when it ends.
 * items    0 .. HETPART_ITEMS_MAX.
 * workers  nprocs entries, not kept; they first ask in this order.
 * nprocs   >= 1.
 * rule     see above.
 * chunk    >= 1: the size, or the smallest size.
 * err      NULL, or receives the reason of a failure.
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
	double arrived; /* when it ends and the computation begins */
	double done;
} hetpart_chunk;

/* Called for each chunk, in the order in which they are handed out; chunk is valid during the
 * call. */
typedef void hetpart_farm_watch(void *ctx, const hetpart_chunk *chunk);

/* hetpart_farm_trace - call hetpart_farm_create(), and report every chunk. Other arguments and
 * results are the same.
 * watch  called once for each chunk, also of a farm that fails later; NULL: not called.
 * ctx    passed to watch. */
HETPART_API hetpart_status hetpart_farm_trace(hetpart_plan **out, uint64_t items,
					      const hetpart_worker *workers, size_t nprocs,
					      hetpart_chunk_rule rule, uint64_t chunk,
					      hetpart_farm_watch *watch, void *ctx,
					      hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_farm_trace_within - call hetpart_farm_trace() within limits.
 * limits  NULL for defaults.
 * Returns the same; HETPART_EINVAL also: struct_size or the time limit is invalid;
 *   HETPART_ETIME, HETPART_ECANCEL: stopped before all items were handed out. */
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
 * Costs also count for 0 items; an affine startup is paid from the first item on. [S0] */
typedef struct hetpart_scatter_proc {
	const hetpart_cost *compute; /* time of n items on this processor */
	const hetpart_cost *link;    /* time of the message of n items; NULL: free (a root) */
} hetpart_scatter_proc;

/* The methods to find shares. Exact methods give the smallest makespan of whole shares, to the
 * rounding of a double. */
typedef enum hetpart_scatter_method {
	HETPART_SCATTER_AUTO = 0,          /* the cheapest exact method for the costs */
	HETPART_SCATTER_DP = 1,            /* [S0] Algorithm 1: any costs, O(p n^2), exact */
	HETPART_SCATTER_DP_INCREASING = 2, /* [S0] Algorithm 2: increasing costs, exact */
	HETPART_SCATTER_WINDOW = 3,   /* increasing compute, affine link costs: O(p n), exact */
	HETPART_SCATTER_MULTIRES = 4, /* increasing costs: finer and finer grids, exact */
	HETPART_SCATTER_LP = 5,       /* affine costs: [S0] linear programme and rounding */
	HETPART_SCATTER_CLOSED = 6,   /* linear costs: [S0] closed form and rounding, O(p log p) */
	HETPART_SCATTER_ALL_AT_ONCE = 7, /* affine costs: [S2] as if all were sent at once */
	HETPART_SCATTER_TWO_PASS = 8,    /* affine costs: [S2], again with the waits of pass one */
	HETPART_SCATTER_GREEDY = 9, /* increasing costs: [S2] next item where it ends soonest */
	HETPART_SCATTER_FILL = 10   /* links that get slower along the order: O(p log n), exact */
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
	uint64_t quantum;              /* shares are multiples; the root also has the rest */
} hetpart_scatter_opts;

/* clang-format off */
#define HETPART_SCATTER_OPTS_INIT { sizeof(hetpart_scatter_opts), HETPART_SCATTER_AUTO, 0, 0, NULL, NULL, NULL, 0 }
/* clang-format on */

/* hetpart_scatter_create - divide items among processors served one after the other by a root.
 * out     receives the plan, NULL on failure; free with hetpart_plan_free(). Its times are the T_i
 *         above, whatever the method.
 * items   0 .. HETPART_ITEMS_MAX.
 * procs   nprocs entries, not kept: in service order, the root last; only the last link may be
 *         NULL.
 * nprocs  >= 1.
 * opts    NULL for defaults. Methods:
 *         AUTO: FILL if it fits. For other increasing costs, WINDOW or DP_INCREASING if p n is
 *         small,
 *           otherwise MULTIRES. For other costs, DP. hetpart_plan_method() returns the choice.
 *         DP, DP_INCREASING, WINDOW: at most 2^32 - 2 items; memory is 4 p n bytes.
 *         MULTIRES: takes milliseconds for 1e6 items on 16 processors. For 1e9 items on 1000
 *           processors, it takes hundredths of a second if links are affine and the root's port is
 *           mostly idle, otherwise up to seconds. Memory grows with the number of near-optimal
 *           plans, up to max_mem_bytes.
 *         FILL: links, except for the root's, get slower in the order of service. If they have
 *           startups, processors get slower, too, or are equal.
 *         LP: pays every startup even for 0 items, but the exact methods do not. So its real
 *         makespan
 *           bounds the optimum from below only for linear costs. makespan <= real makespan + sum of
 *           per-item link times + largest per-item compute time.
 *         CLOSED: drops processors whose link is slower than all the following together [S0].
 *         ALL_AT_ONCE: chooses d_i so that startup_i + c_i d_i are equal. Here, c is link + compute
 *           per item, with both startups added; processors with startup >= T get nothing.
 *         TWO_PASS: like ALL_AT_ONCE, with each startup raised by the sends before it in pass one.
 *         GREEDY: the whole shares of smallest max link_i + compute_i, without the order of
 *         service. LP, CLOSED, ALL_AT_ONCE, TWO_PASS find real shares and round them by
 *         hetpart_scatter_round(). All methods set hetpart_plan_lower_bound(), except for GREEDY
 *         with costs that are not affine.
 *         If max_mem_bytes, time_limit_s or stop() ends an exact method, the result is the best
 *         plan so far, and hetpart_plan_stopped() returns the reason. A table leaves the rest of
 *         the time to MULTIRES; if costs are not increasing, to tables of whole blocks, which have
 *         no bound. minimums and quantum: the exact methods find the best plan that keeps them,
 *         GREEDY keeps them, the others refuse them. With a quantum > 1, all shares are multiples
 *         of it, and the root, the last, has items % quantum more. Only multiples count for
 *         minimums.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: a pointer is NULL, nprocs is 0, struct_size or method is unknown, a cost does
 *     not fit the method, or the method does not support minimums or a quantum, or a callback
 *     returned a negative time or NaN;
 *   HETPART_ERANGE: more items than HETPART_ITEMS_MAX or the method allows, or fewer than the
 *     minimums take, or no plan ends in finite time (tables);
 *   HETPART_ENOMEM, HETPART_ETIME, HETPART_ECANCEL: no memory, out of time or stopped before the
 *     first plan.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_scatter_create(hetpart_plan **out, uint64_t items,
						  const hetpart_scatter_proc *procs, size_t nprocs,
						  const hetpart_scatter_opts *opts,
						  hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_scatter_mem_bytes - return the most memory that the call takes in bytes, the plan
 * included.
 * items, nprocs, opts  as for the call; AUTO counts as the method that takes most. MULTIRES and
 *                      AUTO need far less than this figure unless nearly all plans are nearly
 *                      optimal.
 * Returns UINT64_MAX if no machine has that memory, or if the call would refuse the arguments. */
HETPART_API uint64_t hetpart_scatter_mem_bytes(uint64_t items, size_t nprocs,
					       const hetpart_scatter_opts *opts);

/* hetpart_scatter_slack - compute how far CLOSED or LP may be above the best plan of whole shares:
 * the sum of link_j(1) plus the largest compute_i(1) ([S0] guarantee, for linear costs).
 * slack   receives it, in time units; infinite beyond the range of a double.
 * procs   nprocs (>= 1) entries as in hetpart_scatter_create().
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, or a callback returned a
 *   negative time or NaN; HETPART_ENOMEM. Safe from any number of threads. */
HETPART_API hetpart_status hetpart_scatter_slack(double *slack, const hetpart_scatter_proc *procs,
						 size_t nprocs,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_scatter_round - round real shares to whole ones by the scheme of [S0]. The share nearest
 * to a whole number is first, then always the one whose rounding against the running error e is
 * smallest; the last one becomes n_k - e. No share and no sum of leading shares moves by a whole
 * item or more, up to the rounding of doubles.
 * shares  receives nprocs entries that sum to items.
 * items   0 .. HETPART_ITEMS_MAX: the sum of the real shares.
 * real    nprocs entries: finite, >= 0, summing to items within 1 + 1e-9 items.
 * nprocs  >= 1.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, a share is negative, NaN or
 *   infinite, or the sum is not items; HETPART_ERANGE: more than HETPART_ITEMS_MAX items;
 *   HETPART_ENOMEM. Safe from any number of threads. */
HETPART_API hetpart_status hetpart_scatter_round(uint64_t *shares, uint64_t items,
						 const double *real, size_t nprocs,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_scatter_order - find the order of service: by decreasing bandwidth, the root last. It is
 * the best order for linear costs and real shares ([S0] Theorem 3). For whole shares, startups and
 * other costs, it is a heuristic, which uses the time of a message of items/nprocs.
 * order   receives nprocs indices into procs; the last one is nprocs - 1, the root. Ties keep
 *         their order.
 * items   0 .. HETPART_ITEMS_MAX.
 * procs   nprocs (>= 1) entries as in hetpart_scatter_create(), not kept.
 * err     NULL, or receives the reason of a failure.
 * Returns HETPART_OK; HETPART_EINVAL: a pointer is NULL, nprocs is 0, or a callback returned a
 *   negative time or NaN; HETPART_ERANGE: more than HETPART_ITEMS_MAX items; HETPART_ENOMEM.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_scatter_order(size_t *order, uint64_t items,
						 const hetpart_scatter_proc *procs, size_t nprocs,
						 hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_scatter_root - find the best root. Each candidate has the time to bring all items from
 * the store to it, plus the makespan of a scatter from it with the others in the order of
 * hetpart_scatter_order(). [S0]
 * out         receives the plan of the best root, in its order of service; NULL on failure.
 * root        receives the best root; the first of equals.
 * order       NULL, or receives nprocs indices: plan entry j is processor order[j].
 * total       NULL, or receives nprocs times, one for each candidate; infinite where no plan ends.
 * items       0 .. HETPART_ITEMS_MAX.
 * compute     nprocs entries, not kept: time of n items on each processor.
 * link        nprocs * nprocs entries, not kept: link[r * nprocs + i] is the message from r to i;
 *             link[r * nprocs + r] is ignored.
 * from_store  NULL (free), or nprocs entries, NULL for free: all items from the store to each.
 * nprocs      >= 1.
 * opts        as in hetpart_scatter_create(); the method is used for every candidate.
 * err         NULL, or receives the reason of a failure.
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

/* A chain P_0 - P_1 - ... - P_{m-1}. P_0 holds all loads at time 0 and passes on what it does not
 * compute, and so does each processor. A load is divided into installments, and an installment into
 * one fraction for each processor; all fractions of a load sum to 1. The rules are constraints
 * (1)-(13) of [S3]: a message leaves after it has arrived completely; a processor receives nothing
 * while it still sends the previous installment; messages and computations keep their order. A
 * fraction of 0 makes an empty message, which keeps the order but takes no time and no latency.
 * The calls do not keep the pointers. */
typedef struct hetpart_chain {
	size_t struct_size;         /* sizeof(hetpart_chain), set by HETPART_CHAIN_INIT */
	size_t nprocs;              /* m, >= 1 */
	size_t nloads;              /* >= 1 */
	const double *w;            /* nprocs: time of one unit of computation; finite, > 0 */
	const double *z;            /* nprocs - 1: time of one unit of data over link i; >= 0 */
	const double *tau;          /* nprocs: when it can begin; >= 0; NULL: at 0 */
	const double *latency;      /* nprocs - 1: startup of each message; >= 0; NULL: 0. Dates
				     * include it, but the methods plan without it. */
	const double *vcomm;        /* nloads: units of data; finite, >= 0 */
	const double *vcomp;        /* nloads: units of computation; finite, > 0 */
	const size_t *installments; /* nloads: number, >= 1; NULL: one each */
} hetpart_chain;

/* clang-format off */
#define HETPART_CHAIN_INIT { sizeof(hetpart_chain), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
/* clang-format on */

/* The methods to find fractions. New ones are added at the end. */
typedef enum hetpart_chain_method {
	HETPART_CHAIN_LP = 0,         /* the optimum for these installments [S3] */
	HETPART_CHAIN_SIMPLE = 1,     /* one installment, fractions by speed */
	HETPART_CHAIN_SINGLEINST = 2, /* one installment, each load ends everywhere at once */
	HETPART_CHAIN_MULTIINST = 3   /* enough installments to keep every processor busy */
} hetpart_chain_method;

/* Start from HETPART_CHAIN_OPTS_INIT, then set what you need. */
typedef struct hetpart_chain_opts {
	size_t struct_size;          /* sizeof(hetpart_chain_opts), set by the INIT macro */
	hetpart_chain_method method; /* HETPART_CHAIN_LP by default */
	size_t max_installments;     /* MULTIINST: most for one load; 0: any number */
	double limit_s;              /* 0: HETPART_TIME_DEFAULT_S; INFINITY: none */
	uint64_t max_mem_bytes;      /* the most memory to use; 0: half of the available */
	hetpart_stop_fn *stop;       /* NULL, or called to ask whether to stop */
	void *stop_ctx;              /* passed to stop */
} hetpart_chain_opts;

/* clang-format off */
#define HETPART_CHAIN_OPTS_INIT { sizeof(hetpart_chain_opts), HETPART_CHAIN_LP, 0, 0, 0, NULL, NULL }
/* clang-format on */

/* Fractions and the dates that follow from them; immutable. */
typedef struct hetpart_schedule hetpart_schedule;

/* hetpart_chain_create - divide the loads among the processors of a chain. [S3]
 * out    receives the schedule, NULL on failure; free with hetpart_schedule_free(). Its dates are
 *        the same as by hetpart_chain_replay() of its fractions, latencies included.
 * chain  see hetpart_chain.
 * opts   NULL for defaults. Methods:
 *        LP: the smallest makespan without latencies, to about the solver's 1e-7, for the numbers
 *        of
 *          installments in chain.
 *        SIMPLE: fractions proportional to 1/w, one installment.
 *        SINGLEINST: load after load in one installment. Each processor works from the earliest
 *        time
 *          to a common end, the smallest at which nothing is left.
 *        MULTIINST: the first load like SINGLEINST. Then installments with fractions proportional
 *        to
 *          1/w, each the largest whose messages all arrive before the previous one is computed. The
 *          last one that max_installments allows takes the rest like SINGLEINST.
 *        SIMPLE, SINGLEINST and MULTIINST choose their own numbers of installments.
 *        At the end of limit_s or max_mem_bytes, or when stop() stops it, LP returns its best
 *        solution, at first the solution of SINGLEINST. MULTIINST does the rest of each load in one
 *        installment. hetpart_schedule_stopped() returns the reason.
 * err    NULL, or receives the reason of a failure.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: a required pointer is NULL, a count is 0, a number is NaN, infinite
 *     or out of its range, struct_size or method is unknown;
 *   HETPART_ERANGE: times beyond the range of a double, or more than 1e8 dates;
 *   HETPART_ENOSOL: MULTIINST without max_installments, if the installments shrink too fast to
 *     reach the whole load;
 *   HETPART_ENOMEM: no memory;
 *   HETPART_EINTERNAL: the LP solver failed;
 *   HETPART_EMISSING: LP without GLPK: libglpk.so.40 cannot be loaded.
 * Safe from any number of threads. LP loads GLPK, whose state is per thread. The caller's hooks
 * for its messages and errors are reset; when GLPK is out of memory, its objects are freed. */
HETPART_API hetpart_status hetpart_chain_create(hetpart_schedule **out, const hetpart_chain *chain,
						const hetpart_chain_opts *opts,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_chain_mem_bytes - estimate the most memory that the call takes in bytes, the schedule
 * included.
 * chain, opts  as for the call; with MULTIINST and no max_installments, the schedule may be larger.
 * Returns UINT64_MAX if no machine has that memory, or if the call would refuse the arguments. */
HETPART_API uint64_t hetpart_chain_mem_bytes(const hetpart_chain *chain,
					     const hetpart_chain_opts *opts);

/* hetpart_chain_replay - find all dates only from the fractions: every message and computation
 * begins as soon as the rules allow. Rejects fractions that are not a schedule.
 * out         receives the schedule, NULL on failure; free with hetpart_schedule_free().
 * chain       see hetpart_chain.
 * fractions   nfractions entries, not kept: [load][installment][processor]; each is finite and
 *             >= 0, and the fractions of a load sum to 1 within 1e-6.
 * nfractions  nprocs times the sum of chain->installments.
 * err         NULL, or receives the reason of a failure.
 * Returns HETPART_OK;
 *   HETPART_EINVAL: as for hetpart_chain_create(), or nfractions is not that product, a fraction is
 *     negative, NaN or infinite, or a load's fractions do not sum to 1;
 *   HETPART_ERANGE: times beyond the range of a double, or more than 1e8 dates; HETPART_ENOMEM.
 * Safe from any number of threads. */
HETPART_API hetpart_status hetpart_chain_replay(hetpart_schedule **out, const hetpart_chain *chain,
						const double *fractions, size_t nfractions,
						hetpart_err *err) HETPART_MUST_CHECK;

/* hetpart_schedule_makespan - return when the last computation ends; NaN if schedule is NULL. */
HETPART_API double hetpart_schedule_makespan(const hetpart_schedule *schedule);

/* hetpart_schedule_planned_makespan - return the makespan as the method computed it, without
 * latencies. For LP it is the value of the programme: to the solver's precision, a lower bound for
 * every schedule with these installments. NaN for a replay. */
HETPART_API double hetpart_schedule_planned_makespan(const hetpart_schedule *schedule);

/* hetpart_schedule_lower_bound - return a makespan that no schedule of these loads can beat, with
 * any number of installments: all processors work all the time, and messages take none. NaN for a
 * replay, and if schedule is NULL. */
HETPART_API double hetpart_schedule_lower_bound(const hetpart_schedule *schedule);

/* hetpart_schedule_stopped - return what ended the method early, like hetpart_plan_stopped(). */
HETPART_API hetpart_status hetpart_schedule_stopped(const hetpart_schedule *schedule);

/* hetpart_schedule_method - return the name of the method, static text; "" if schedule is NULL. */
HETPART_API const char *hetpart_schedule_method(const hetpart_schedule *schedule);

/* hetpart_schedule_nprocs, _nloads - return the sizes of the problem; 0 if schedule is NULL. */
HETPART_API size_t hetpart_schedule_nprocs(const hetpart_schedule *schedule);
HETPART_API size_t hetpart_schedule_nloads(const hetpart_schedule *schedule);

/* hetpart_schedule_installments - return the number of installments of a load (from 0); 0 if the
 * load does not exist. */
HETPART_API size_t hetpart_schedule_installments(const hetpart_schedule *schedule, size_t load);

/* hetpart_schedule_fraction - return the fraction of a load that proc computes of the installment;
 * all count from 0; NaN if one of them does not exist. */
HETPART_API double hetpart_schedule_fraction(const hetpart_schedule *schedule, size_t load,
					     size_t installment, size_t proc);

/* hetpart_schedule_fractions - return all fractions [load][installment][processor], which live as
 * long as the schedule; NULL for NULL. *count receives their number, unless count is NULL. */
HETPART_API const double *hetpart_schedule_fractions(const hetpart_schedule *schedule,
						     size_t *count);

/* hetpart_schedule_comm - store start and end of the message over link (from proc link to link +
 * 1). hetpart_schedule_comp - store start and end of the computation on proc.
 * start, end  receive the dates unless they are NULL.
 * Returns true; false, and stores nothing, if the message or computation does not exist. */
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
