/* SPDX-License-Identifier: GPL-3.0-or-later */
/* part.h - declarations that all planners share: errors, checked sizes, options, limits, costs,
 * plans, and the time of n items on processor i. Not installed. Names with external linkage begin
 * with part_, because a static library cannot hide them. */
#ifndef PART_H
#define PART_H

#include <hetpart.h>

/* ------------------------------------------------------------------- minimum, maximum, bisection
 */

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Compare numbers that are not NaN. fmin() and fmax() treat NaN specially, so compilers do not
 * inline them. */
static inline double min_double(double a, double b)
{
	return a < b ? a : b;
}

static inline double max_double(double a, double b)
{
	return a > b ? a : b;
}

/* Return a + b, but at most limit; a <= limit. */
static inline uint64_t add_capped(uint64_t a, uint64_t b, uint64_t limit)
{
	return b > limit - a ? limit : a + b;
}

/* Return a/b, rounded up; b > 0. */
static inline uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* Compare by key, then by processor if the keys are equal. For qsort() and heaps. */
static inline int part_compare(long double a, size_t a_proc, long double b, size_t b_proc)
{
	if (a != b)
		return a < b ? -1 : 1;
	return (a_proc > b_proc) - (a_proc < b_proc);
}

/* Bisection over [lo, hi]. For a condition that holds up to some number, find the last number for
 * which it holds. The condition is not tested at lo, which is the result if it holds nowhere
 * else:
 *     part_bisection s = { lo, hi, 0 };
 *     while (bisect_last_step(&s))
 *             bisect_last_narrow(&s, holds(s.mid));
 *     use(s.lo);
 * For a condition that holds from some number on, bisect_first_step() and bisect_first_narrow()
 * find the first number for which it holds. The condition is not tested at hi, which is the result
 * if it holds nowhere else. */
typedef struct part_bisection {
	uint64_t lo, hi, mid;
} part_bisection;

static inline bool bisect_last_step(part_bisection *s)
{
	s->mid = s->hi - (s->hi - s->lo) / 2;
	return s->lo < s->hi;
}

static inline void bisect_last_narrow(part_bisection *s, bool holds)
{
	if (holds)
		s->lo = s->mid;
	else
		s->hi = s->mid - 1;
}

static inline bool bisect_first_step(part_bisection *s)
{
	s->mid = s->lo + (s->hi - s->lo) / 2;
	return s->lo < s->hi;
}

static inline void bisect_first_narrow(part_bisection *s, bool holds)
{
	if (holds)
		s->hi = s->mid;
	else
		s->lo = s->mid + 1;
}

/* ------------------------------------------------------------------ errors and checked sizes */

#if defined(__GNUC__)
#	define PART_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#	define PART_PRINTF(a, b)
#endif

/* Store the status and the text in err unless err is NULL. Text that does not fit is cut off. */
void part_set_error(hetpart_err *err, hetpart_status status, const char *fmt, ...)
	PART_PRINTF(3, 4);

/* Define a public function that returns a member of an object, or `none` if the object is NULL. */
#define PART_GETTER(type, name, object, member, none) \
	type name(const object *x)                    \
	{                                             \
		return x ? x->member : none;          \
	}

/* Store an error; the value is its status. These are macros, so that compilers and analyzers see in
 * every file that the value is not HETPART_OK. */
#define part_fail(err, status, ...) (part_set_error(err, status, __VA_ARGS__), (status))
#define part_no_memory(err, n, what) \
	part_fail(err, HETPART_ENOMEM, "no memory for %zu %s", (size_t)(n), what)
#define part_invalid(err, ...)  part_fail(err, HETPART_EINVAL, __VA_ARGS__)
#define part_is_null(err, name) part_invalid(err, "'%s' is NULL", name)
#define part_no_plan(err)       part_fail(err, HETPART_ERANGE, "no plan ends in finite time")

/* Allocate n zeroed objects of size bytes. Return NULL if memory is out or n * size overflows. For
 * n = 0 the pointer is valid. */
void *part_calloc(size_t n, size_t size);

/* Allocate n zeroed objects and let p point to them. The value is p, NULL on failure. */
#define part_array(p, n) ((p) = part_calloc(n, sizeof *(p)))

/* Return a * b + c, or UINT64_MAX if that does not fit. */
uint64_t part_mul_add(uint64_t a, uint64_t b, uint64_t c);

/* Return HETPART_EINVAL unless x is finite and > 0 (positive) or >= 0 (not negative). */
hetpart_status part_check_positive(double x, const char *what, hetpart_err *err);
hetpart_status part_check_not_negative(double x, const char *what, hetpart_err *err);

/* Return HETPART_EINVAL unless v[0] to v[n - 1] are finite and > 0, or >= 0 if zero_allowed. The
 * message calls a number `what`. */
hetpart_status part_check_numbers(const double *v, size_t n, bool zero_allowed, const char *what,
				  hetpart_err *err);

/* --------------------------------------------------------------------------------- options */

/* Bytes of a struct up to the end of a member. If the struct ended with this member in the first
 * release, this is its smallest valid struct_size. A member added later never lies in what was
 * padding in that release. */
#define PART_END_OF(type, member) (offsetof(type, member) + sizeof((type *)NULL)->member)

/* Copy the caller's options to full; opts is any struct that begins with size_t struct_size. On
 * entry full contains the defaults. Defaults remain for members that opts does not have, for all
 * members if opts is NULL. `first` is the size of the struct in the first release, `known` its size
 * now. A caller compiled with a newer header may pass a larger struct if the additional bytes are
 * zero; otherwise return HETPART_EINVAL. */
hetpart_status part_opts_copy(void *full, size_t first, size_t known, const void *opts,
			      hetpart_err *err);

/* Copy opts to *full, with defaults for members that the caller's version does not have. */
hetpart_status part_opts_read(hetpart_opts *full, const hetpart_opts *opts, hetpart_err *err);

/* ---------------------------------------------------------------------------------- limits */

/* The limits of a planner: time, memory, and a callback by which the caller can stop it. */
typedef struct part_budget {
	double end_s; /* on the monotonic clock */
	uint64_t max_mem;
	hetpart_stop_fn *stop;
	void *stop_ctx;
	uint64_t steps;     /* since the last part_budget_check() */
	hetpart_status why; /* why the planner must stop; HETPART_OK: it may continue */
} part_budget;

/* Steps of work between two checks of the limits; a step takes some nanoseconds. Counting steps
 * makes the calls of the callback happen at the same points on every machine. */
#define BUDGET_STRIDE (UINT64_C(1) << 20)

/* Start a budget with the caller's limits; 0 means the default. Return HETPART_EINVAL if the time
 * limit is NaN or negative. */
hetpart_status part_budget_open(part_budget *b, double time_limit_s, uint64_t max_mem_bytes,
				hetpart_stop_fn *stop, void *stop_ctx, hetpart_err *err);

/* Start a budget with limits of any version of the header; NULL means the defaults. */
hetpart_status part_budget_within(part_budget *b, const hetpart_limits *limits, hetpart_err *err);

/* Limits for calls whose caller cannot set any: no end of time. */
#define PART_NO_LIMITS ((hetpart_limits){ sizeof(hetpart_limits), INFINITY, NULL, NULL })

/* Check the clock and call the callback. Return whether the work must stop; from then on b->why is
 * the reason. */
bool part_budget_check(part_budget *b);

/* Count steps, and check the limits after BUDGET_STRIDE of them. Return whether the work must stop.
 */
static inline bool part_spend(part_budget *b, uint64_t steps)
{
	b->steps += steps;
	return b->steps < BUDGET_STRIDE ? b->why != HETPART_OK : part_budget_check(b);
}

/* Return the seconds left, at least 0. */
double part_budget_left_s(const part_budget *b);

/* Reserve a part (0 to 1) of the remaining time for later work by moving b->end_s earlier. Return
 * the previous end_s, which the caller restores. */
double part_budget_reserve(part_budget *b, double part);

/* Return b->why with a message, for a planner that must stop without a plan. */
hetpart_status part_budget_fail(const part_budget *b, hetpart_err *err);

/* ---------------------------------------------------------------------- optional libraries */

/* The name of a function of a library, and the address of the function pointer to set. */
typedef struct part_loaded_call {
	const char *name;
	void *at;
} part_loaded_call;

/* Load a library at its first use, so that programs that never need it start faster. Load the first
 * of `files` (ends with NULL) that exists, and set the n function pointers of `calls`. Return
 * HETPART_EMISSING on failure, with a message that begins with the text `needs`. Any thread may
 * call this function. Release with part_unload(), also after a failure. */
hetpart_status part_load(void **library, const char *const *files, const part_loaded_call *calls,
			 size_t n, const char *needs, hetpart_err *err);

/* Release a library if it was loaded. Its code stays in the process, so that the next load is
 * fast. */
void part_unload(void **library);

/* ---------------------------------------------------------------------------------------- cost */

typedef enum part_cost_kind {
	COST_AFFINE,
	COST_NLOGN,
	COST_NLOG2N1,
	COST_POWER,
	COST_PIECEWISE,
	COST_TABLE,
	COST_CALLBACK
} part_cost_kind;

struct hetpart_cost {
	part_cost_kind kind;
	bool increasing; /* more items never take less time */
	double scale;
	double startup, per_item; /* affine */
	double exponent;          /* power */
	size_t npoints;           /* piecewise: points, the first at 0; table: entries of y */
	double *x, *y;            /* piecewise: items and times; table: y only */
	double last_slope;        /* piecewise: beyond the last point */
	hetpart_cost_fn *fn;
	void *ctx;
};

/* Return the time of n items. Where the kind of cost allows, n is not rounded to a double above
 * 2^53. */
long double part_cost_fine(const hetpart_cost *cost, uint64_t n);

/* Return the time of a real number of items x >= 0; NaN for callbacks. Tables are interpolated
 * linearly. */
double part_cost_real(const hetpart_cost *cost, double x);

/* Return whether the cost has an inverse: it is increasing, unbounded, and smooth or piecewise. */
bool part_cost_invertible(const hetpart_cost *cost);

/* Return the largest real x whose time at scale 1 is at most y, for y >= 0. Unless slope is NULL,
 * store the derivative of x by y. The cost must be invertible, except n ln n, for which see
 * share/approximate.c. The scale is omitted because planners by speed do not need it, and it could
 * overflow. */
double part_unit_inverse(const hetpart_cost *cost, double y, double *slope);

/* Return the derivative at scale 1 of an invertible cost at x > 0. The caller passes the time y of
 * x, so that no logarithm or power is computed. */
double part_unit_slope(const hetpart_cost *cost, double x, double y);

/* Count one evaluation of a cost as steps. Return whether the work must stop. */
static inline bool part_spend_cost(part_budget *b, const hetpart_cost *cost)
{
	return part_spend(b, cost->kind == COST_CALLBACK ? BUDGET_STRIDE / 256 : 16);
}

/* ---------------------------------------------------------------------------------------- plan */

#define PART_METHOD_BYTES 48 /* longest name of a method with its 0, rounded up to 8 */

struct hetpart_plan {
	size_t nprocs;
	uint64_t items;
	uint64_t *share; /* nprocs, sum is items */
	double *real;    /* nprocs, NaN if the method has none */
	double *time;    /* nprocs */
	double makespan; /* max of time */
	double real_makespan;
	double lower; /* no plan of whole items has a smaller makespan; NaN if no bound is known */
	bool best;    /* no plan is better: part_plan_close() sets lower to the makespan */
	hetpart_status stopped; /* why the method ended early; HETPART_OK: it did not */
	const char *method;     /* static text, or unpacked_method */
	char unpacked_method[PART_METHOD_BYTES]; /* set by hetpart_plan_unpack() */
};

/* Create a plan with all shares and times 0 and real shares NaN. Return NULL if memory is out. */
hetpart_plan *part_plan_new(size_t nprocs, uint64_t items, const char *method);

/* Store the plan in *out if rc is HETPART_OK, otherwise free it. Return rc. */
hetpart_status part_plan_return(hetpart_plan **out, hetpart_plan *plan, hetpart_status rc);

/* Return the hash h with v mixed in, by the mixer of splitmix64. The result does not depend on the
 * byte order of the machine. */
uint64_t part_mix(uint64_t h, uint64_t v);

/* Complete a plan: set the makespan from the times, and the lower bound if the plan is the best.
 * Return HETPART_EINTERNAL if the shares do not sum to items or a time is NaN or negative. */
hetpart_status part_plan_close(hetpart_plan *plan, hetpart_err *err);

/* --------------------------------------------------------------------------------- processors */

/* The first NaN or negative time of a callback. */
typedef struct part_bad_cost {
	bool seen;
	size_t proc;
	uint64_t items;
	double time;
} part_bad_cost;

/* Processors. The time of n items (or n blocks of items) on processor i is costs[i](n) if costs are
 * given, otherwise f(n)/speeds[i]. */
typedef struct part_procs {
	size_t n;
	const hetpart_cost *const *costs; /* n entries, or NULL */
	const hetpart_cost *cost;         /* f, when costs is NULL */
	const double *speeds;             /* n entries, when costs is NULL */
	int shift;                        /* speeds are divided by 2^shift: the fastest is near 1 */
	long double unit;                 /* 2^-shift */
	const uint64_t *caps;             /* n entries, or NULL */
	const uint64_t *mins;             /* n entries, or NULL */
	uint64_t block;                   /* items in a block; 0: n counts single items */
	part_bad_cost *bad;               /* part_time() records an invalid time here */
	part_budget *budget;              /* for part_threshold(); NULL: no limit */
} part_procs;

/* Return the time of n items on processor i, with speeds scaled by 2^-shift. An invalid time is
 * recorded in ps->bad and counts as infinite. */
long double part_time(const part_procs *ps, size_t i, uint64_t n);

/* Set time[i] to the time of n[i] items as a double, for every processor. This is much faster than
 * part_time() if all processors have the cost n ln n. */
void part_times(const part_procs *ps, const uint64_t *n, double *time);

/* Return the largest n in [lo, hi] with part_time() <= limit, or lo if no such n exists. The costs
 * must be increasing. */
uint64_t part_most(const part_procs *ps, size_t i, uint64_t lo, uint64_t hi, long double limit);

/* Return the largest share of processor i, at most items; in blocks if there are blocks. */
static inline uint64_t part_cap(const part_procs *ps, size_t i, uint64_t items)
{
	if (!ps->caps)
		return items;
	return min_u64(ps->block > 1 ? ps->caps[i] / ps->block : ps->caps[i], items);
}

/* Return the smallest share of processor i; in blocks if there are blocks. */
static inline uint64_t part_min(const part_procs *ps, size_t i)
{
	if (!ps->mins)
		return 0;
	return ps->block > 1 ? divide_up(ps->mins[i], ps->block) : ps->mins[i];
}

/* Set to[i] to from[i] * unit, where unit is a power of two. Doubles are used if their result is
 * the same as with long double. */
void part_scale(double *to, const double *from, size_t n, long double unit);

/* Set the plan's times from its shares, without the scaling of speeds, and close the plan. */
hetpart_status part_plan_times(hetpart_plan *plan, const part_procs *ps, hetpart_err *err);

/* Check the numbers of items and processors, the minimums, the capacities. Return HETPART_EINVAL or
 * HETPART_ERANGE if invalid. */
hetpart_status part_check_items(uint64_t items, size_t nprocs, hetpart_err *err);
hetpart_status part_check_mins(const part_procs *ps, uint64_t items, hetpart_err *err);
hetpart_status part_check_caps(const part_procs *ps, uint64_t items, hetpart_err *err);

#endif
