/* SPDX-License-Identifier: GPL-3.0-or-later */
/* part.h - what all planners share: errors, checked sizes, options, limits, costs, plans, and the
 * time of n items on processor i. Not installed. Names with external linkage begin with part_,
 * because a static library cannot hide them. */
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

/* Compare numbers that are not NaN: fmin() and fmax() treat NaN apart, so compilers make calls of
 * them. */
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

/* Compare by key, and equal keys by processor: for qsort() and heaps. */
static inline int part_compare(long double a, size_t a_proc, long double b, size_t b_proc)
{
	if (a != b)
		return a < b ? -1 : 1;
	return (a_proc > b_proc) - (a_proc < b_proc);
}

/* Bisection over [lo, hi]. If a condition holds up to some number, find the last number for which
 * it holds; lo if it never does, which is not tested:
 *     part_bisection s = { lo, hi, 0 };
 *     while (bisect_last_step(&s))
 *             bisect_last_narrow(&s, holds(s.mid));
 *     use(s.lo);
 * If a condition holds from some number on, bisect_first_step() and bisect_first_narrow() find the
 * first number for which it holds; hi if it never does, which is not tested. */
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

/* Store status and text, cut to fit, unless err is NULL. */
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

/* Allocate n zeroed objects of size bytes. Return NULL if memory is out or the product does not
 * fit; n = 0 gives a valid pointer. */
void *part_calloc(size_t n, size_t size);

/* Let the pointer p point to n zeroed objects. The value is NULL on failure. */
#define part_array(p, n) ((p) = part_calloc(n, sizeof *(p)))

/* Return a * b + c, or UINT64_MAX if that does not fit. */
uint64_t part_mul_add(uint64_t a, uint64_t b, uint64_t c);

/* Return HETPART_EINVAL unless x is finite and > 0, or >= 0. */
hetpart_status part_check_positive(double x, const char *what, hetpart_err *err);
hetpart_status part_check_not_negative(double x, const char *what, hetpart_err *err);

/* Return HETPART_EINVAL unless each of v[0 .. n) is finite and > 0, or >= 0 if zero_allowed; what
 * names one of them. */
hetpart_status part_check_numbers(const double *v, size_t n, bool zero_allowed, const char *what,
				  hetpart_err *err);

/* --------------------------------------------------------------------------------- options */

/* Bytes of a struct up to the end of a member: its size in the first release, if it ended with that
 * member. A later member never lies in what was padding then. */
#define PART_END_OF(type, member) (offsetof(type, member) + sizeof((type *)NULL)->member)

/* Copy the caller's options, any struct that begins with its size_t struct_size, to full. On entry
 * full holds the defaults of its known bytes; they remain if opts is NULL or ends earlier. The
 * size in first is the size in the first release. A caller compiled with a newer header may pass
 * more bytes if the rest is zero; otherwise return HETPART_EINVAL. */
hetpart_status part_opts_copy(void *full, size_t first, size_t known, const void *opts,
			      hetpart_err *err);

/* Copy opts to *full, with defaults for what the caller's version does not have. */
hetpart_status part_opts_read(hetpart_opts *full, const hetpart_opts *opts, hetpart_err *err);

/* ---------------------------------------------------------------------------------- limits */

/* The resources of a planner: time, memory, and the caller's patience. */
typedef struct part_budget {
	double end_s; /* on the monotonic clock */
	uint64_t max_mem;
	hetpart_stop_fn *stop;
	void *stop_ctx;
	uint64_t steps;     /* since the last part_budget_check() */
	hetpart_status why; /* what ended it; HETPART_OK: nothing yet */
} part_budget;

/* Steps of work, each some nanoseconds, between two checks. Steps are counted, so that the callback
 * is called at the same points on every machine. */
#define BUDGET_STRIDE (UINT64_C(1) << 20)

/* Start a budget from the caller's limits; 0 means the default. Return HETPART_EINVAL if the time
 * limit is NaN or negative. */
hetpart_status part_budget_open(part_budget *b, double time_limit_s, uint64_t max_mem_bytes,
				hetpart_stop_fn *stop, void *stop_ctx, hetpart_err *err);

/* Start a budget from limits of any version of the header; NULL means the defaults. */
hetpart_status part_budget_within(part_budget *b, const hetpart_limits *limits, hetpart_err *err);

/* Limits for calls that have none. */
#define PART_NO_LIMITS ((hetpart_limits){ sizeof(hetpart_limits), INFINITY, NULL, NULL })

/* Check the clock and call the callback. Return whether the work must stop; then b->why gives the
 * reason, and keeps it. */
bool part_budget_check(part_budget *b);

static inline bool part_spend(part_budget *b, uint64_t steps)
{
	b->steps += steps;
	return b->steps < BUDGET_STRIDE ? b->why != HETPART_OK : part_budget_check(b);
}

/* Return the seconds left, at least 0. */
double part_budget_left_s(const part_budget *b);

/* Set a part of the time aside by an earlier end. Return the end before, which the caller restores.
 */
double part_budget_reserve(part_budget *b, double part);

/* Return b->why with a message, for a planner that does not have any plan yet. */
hetpart_status part_budget_fail(const part_budget *b, hetpart_err *err);

/* ---------------------------------------------------------------------- optional libraries */

/* A function of a library, and the address of the pointer that will point to it. */
typedef struct part_loaded_call {
	const char *name;
	void *at;
} part_loaded_call;

/* Load the first of files that exists and find n calls in it; files ends with NULL. Programs that
 * never need the library do not pay for it. The calls have the types of its header. Return
 * HETPART_EMISSING if that fails, with a message that begins with needs. Any thread may call it.
 * Release with part_unload(), also after a failure. */
hetpart_status part_load(void **library, const char *const *files, const part_loaded_call *calls,
			 size_t n, const char *needs, hetpart_err *err);

/* Release a library if it was loaded. It stays in the process, so that the next load is fast. */
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

/* Return the time of n items, to the precision of n itself even above 2^53 if the kind allows. */
long double part_cost_fine(const hetpart_cost *cost, uint64_t n);

/* Return the time of a real number of items x >= 0; NaN for callbacks. Entries of tables are joined
 * by lines. */
double part_cost_real(const hetpart_cost *cost, double x);

/* Return whether the cost has an inverse: it is increasing, unbounded, and smooth or piecewise. */
bool part_cost_invertible(const hetpart_cost *cost);

/* Return the largest real x whose time at scale 1 is <= y >= 0, and store its derivative unless
 * slope is NULL. The cost must be invertible and not n ln n, for which see share/approximate.c. The
 * scale is omitted because planners by speed do not need it, and it could overflow. */
double part_unit_inverse(const hetpart_cost *cost, double y, double *slope);

/* Return the derivative at scale 1 of an invertible cost at x > 0, given its time y: this needs
 * neither a logarithm nor a power. */
double part_unit_slope(const hetpart_cost *cost, double x, double y);

/* Spend the steps of one call of a cost. */
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
	double lower; /* no plan of whole items is better; NaN if the method gives no bound */
	bool best;    /* this plan is the lower bound */
	hetpart_status stopped; /* what ended the method early; HETPART_OK: nothing */
	const char *method;     /* static text, or the next member */
	char unpacked_method[PART_METHOD_BYTES]; /* set by hetpart_plan_unpack() */
};

/* Create a plan with all shares and times 0 and real shares NaN. Return NULL if memory is out. */
hetpart_plan *part_plan_new(size_t nprocs, uint64_t items, const char *method);

/* Store the plan in *out if rc is HETPART_OK, otherwise free it. Return rc. */
hetpart_status part_plan_return(hetpart_plan **out, hetpart_plan *plan, hetpart_status rc);

/* Mix v into the hash h by the mixer of splitmix64: the result is the same on every byte order. */
uint64_t part_mix(uint64_t h, uint64_t v);

/* Set the makespan from the times, and the lower bound of a best plan. Return HETPART_EINTERNAL if
 * the shares do not sum to items or a time is NaN or negative. */
hetpart_status part_plan_close(hetpart_plan *plan, hetpart_err *err);

/* --------------------------------------------------------------------------------- processors */

/* The first NaN or negative time of a callback. */
typedef struct part_bad_cost {
	bool seen;
	size_t proc;
	uint64_t items;
	double time;
} part_bad_cost;

/* Processors, each with a time for n items (or blocks of items): cost[i](n) if costs are given,
 * otherwise f(n)/speed. */
typedef struct part_procs {
	size_t n;
	const hetpart_cost *const *costs; /* n entries, or NULL */
	const hetpart_cost *cost;         /* f, when costs is NULL */
	const double *speeds;             /* n entries, when costs is NULL */
	int shift;            /* speeds are divided by 2^shift: near 1 for the fastest */
	long double unit;     /* 2^-shift */
	const uint64_t *caps; /* n entries, or NULL */
	const uint64_t *mins; /* n entries, or NULL */
	uint64_t block;       /* items that count as one, 0 for 1 */
	part_bad_cost *bad;   /* part_time() records an invalid time here */
	part_budget *budget;  /* for part_threshold(); NULL: no limit */
} part_procs;

/* Return the time of n items on processor i, with speeds scaled by 2^-shift. An invalid time is
 * recorded in ps->bad and counts as infinite. */
long double part_time(const part_procs *ps, size_t i, uint64_t n);

/* Set time[i] to the rounded time of n[i] items, for every processor. This is much faster than
 * part_time() if all have one cost. */
void part_times(const part_procs *ps, const uint64_t *n, double *time);

/* Return the most items n in [lo, hi] with part_time() <= limit, or lo if none; for increasing
 * costs. */
uint64_t part_most(const part_procs *ps, size_t i, uint64_t lo, uint64_t hi, long double limit);

/* Return the most of items that processor i may take. */
static inline uint64_t part_cap(const part_procs *ps, size_t i, uint64_t items)
{
	if (!ps->caps)
		return items;
	return min_u64(ps->block > 1 ? ps->caps[i] / ps->block : ps->caps[i], items);
}

/* Return the fewest items that processor i may take. */
static inline uint64_t part_min(const part_procs *ps, size_t i)
{
	if (!ps->mins)
		return 0;
	return ps->block > 1 ? divide_up(ps->mins[i], ps->block) : ps->mins[i];
}

/* Set to[i] to from[i] times unit, a power of two, without long double if double gives the same. */
void part_scale(double *to, const double *from, size_t n, long double unit);

/* Set the plan's times from its shares, in true units, and close the plan. */
hetpart_status part_plan_times(hetpart_plan *plan, const part_procs *ps, hetpart_err *err);

/* Check items and processors, minimums, capacities. Return HETPART_EINVAL or HETPART_ERANGE if they
 * are invalid. */
hetpart_status part_check_items(uint64_t items, size_t nprocs, hetpart_err *err);
hetpart_status part_check_mins(const part_procs *ps, uint64_t items, hetpart_err *err);
hetpart_status part_check_caps(const part_procs *ps, uint64_t items, hetpart_err *err);

#endif
