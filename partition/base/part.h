/* SPDX-License-Identifier: GPL-3.0-or-later */
/* part.h - what all planners share: errors, checked sizes, costs, plans, the time of n items on
 * processor i. Not installed. Names with external linkage begin with part_, because a
 * static library cannot hide them. */
#ifndef PART_H
#define PART_H

#include <hetpart.h>

#include "order.h"

/* ------------------------------------------------------------------ errors and checked sizes */

#if defined(__GNUC__)
#	define PART_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#	define PART_PRINTF(a, b)
#endif

/* Store status and text (cut to fit) where err is not NULL. part_fail is also status: a macro, so
 * that compilers and analyzers see in every file that it does not go on as if all were well. */
void part_tell(hetpart_err *err, hetpart_status status, const char *fmt, ...) PART_PRINTF(3, 4);
#define part_fail(err, status, ...) (part_tell(err, status, __VA_ARGS__), (status))

/* n zeroed objects of size bytes (n = 0 gives a valid pointer), NULL when out of memory or when
 * the product does not fit. */
void *part_calloc(size_t n, size_t size);

/* a * b + c, UINT64_MAX where that does not fit. */
uint64_t part_mul_add(uint64_t a, uint64_t b, uint64_t c);

/* HETPART_ENOMEM, with what else the caller can do, unless bytes keep to limit; 0:
 * HETPART_MEM_DEFAULT_BYTES. */
hetpart_status part_check_bytes(uint64_t bytes, uint64_t limit, const char *advice,
				hetpart_err *err);

/* ---------------------------------------------------------------------------------------- cost */

enum cost_kind {
	COST_AFFINE,
	COST_NLOGN,
	COST_NLOG2N1,
	COST_POWER,
	COST_PIECEWISE,
	COST_TABLE,
	COST_CALLBACK
};

struct hetpart_cost {
	enum cost_kind kind;
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

/* Time of n items, to the precision of n itself even above 2^53 where the kind allows. */
long double part_cost_fine(const hetpart_cost *cost, uint64_t n);

/* The same for each of n[0 .. count). */
void part_cost_fine_each(const hetpart_cost *cost, const uint64_t *n, size_t count,
			 long double *time);

/* Time of a real number of items x >= 0; NaN for callbacks; tables are joined by lines. */
double part_cost_real(const hetpart_cost *cost, double x);

/* Whether the cost has an inverse: increasing, smooth or piecewise, unbounded. */
bool part_cost_invertible(const hetpart_cost *cost);

/* Largest real x whose time at scale 1 is <= y >= 0, and its derivative where slope is not NULL,
 * for a cost that has an inverse; n ln n has share/lambert.h. Without the scale, because planners
 * by speed need no scale and must not overflow by one. */
double part_unit_inverse(const hetpart_cost *cost, double y, double *slope);

/* Derivative at scale 1 of an invertible cost at x > 0, where its time is y: no logarithm, no
 * power. */
double part_unit_slope(const hetpart_cost *cost, double x, double y);

/* HETPART_EINVAL unless x is finite and > 0 (or >= 0). */
hetpart_status part_check_positive(double x, const char *what, hetpart_err *err);
hetpart_status part_check_not_negative(double x, const char *what, hetpart_err *err);

/* ---------------------------------------------------------------------------------------- plan */

#define PART_METHOD_BYTES 48 /* longest name of a method, 0 included, to a multiple of 8 */

struct hetpart_plan {
	size_t nprocs;
	uint64_t items;
	uint64_t *share; /* nprocs, sum is items */
	double *real;    /* nprocs, NaN where the method has none */
	double *time;    /* nprocs */
	double makespan; /* max of time */
	double real_makespan;
	double lower; /* no plan of whole items is better; NaN where the method does not say */
	bool best;    /* this plan is the lower bound */
	hetpart_status stopped; /* what ended the method early; HETPART_OK: nothing */
	const char *method;     /* static text, or the next */
	char unpacked_method[PART_METHOD_BYTES]; /* of hetpart_plan_unpack() */
};

/* A plan with all shares 0, times 0, reals NaN; NULL when out of memory. */
hetpart_plan *part_plan_new(size_t nprocs, uint64_t items, const char *method);

/* The mixer of splitmix64: v into the hash h, the same on every byte order. */
uint64_t part_mix(uint64_t h, uint64_t v);

/* Set makespan from the times, and the lower bound of a best plan. HETPART_EINTERNAL if the shares
 * do not sum to items or a time is NaN or negative. */
hetpart_status part_plan_close(hetpart_plan *plan, hetpart_err *err);

/* --------------------------------------------------------------------------------- processors */

/* p processors, each with a time for n items (or blocks of them): cost[i](n) where costs are given,
 * else f(n)/speed. */
struct procs {
	size_t n;
	const hetpart_cost *const *costs; /* n entries, or NULL */
	const hetpart_cost *cost;         /* f, when costs is NULL */
	const double *speeds;             /* n entries, when costs is NULL */
	int shift;             /* speeds are divided by 2^shift: near 1 for the fastest */
	long double unit;      /* 2^-shift */
	const uint64_t *caps;  /* n entries, or NULL */
	const uint64_t *mins;  /* n entries, or NULL */
	uint64_t block;        /* items that count as one, 0 for 1 */
	struct bad_cost *bad;  /* where part_time() notes a callback's misbehaviour */
	struct budget *budget; /* of threshold.c; NULL: nothing ends it */
};

struct bad_cost {
	bool seen;
	size_t proc;
	uint64_t items;
	double time;
};

/* Time of n items on processor i; speeds count as scaled by 2^-shift. NaN and negative times of
 * callbacks are noted in ps->bad and count as infinite. */
long double part_time(const struct procs *ps, size_t i, uint64_t n);

/* The same of n[i] items for every processor, rounded: much faster where all have one cost. */
void part_times(const struct procs *ps, const uint64_t *n, double *time);

/* Most items n in [lo, hi] with part_time() <= limit, for increasing costs; lo if there is none. */
uint64_t part_most(const struct procs *ps, size_t i, uint64_t lo, uint64_t hi, long double limit);

/* Most items processor i may take of items, and least. */
static inline uint64_t part_cap(const struct procs *ps, size_t i, uint64_t items)
{
	if (!ps->caps)
		return items;
	return smaller(ps->block > 1 ? ps->caps[i] / ps->block : ps->caps[i], items);
}

static inline uint64_t part_min(const struct procs *ps, size_t i)
{
	if (!ps->mins)
		return 0;
	return ps->block > 1 ? divide_up(ps->mins[i], ps->block) : ps->mins[i];
}

/* from[] times unit, a power of two, into to[]; without long double where a double does the same.
 */
void part_scale(double *to, const double *from, size_t n, long double unit);

/* Fill in the plan's times from its shares (true units, shift undone), then close it. */
hetpart_status part_plan_times(hetpart_plan *plan, const struct procs *ps, hetpart_err *err);

/* HETPART_EINVAL or HETPART_ERANGE unless items, processors and capacities make sense. */
hetpart_status part_check_items(uint64_t items, size_t nprocs, hetpart_err *err);
hetpart_status part_check_mins(const struct procs *ps, uint64_t items, hetpart_err *err);
hetpart_status part_check_caps(const struct procs *ps, uint64_t items, hetpart_err *err);

/* Bytes of a struct up to the end of a member: its size in the first release, where that is the
 * member it ended with. A later member never lies in what was padding then. */
#define PART_END_OF(type, member) (offsetof(type, member) + sizeof((type *)NULL)->member)

/* Copy the caller's options, any struct that begins with its size_t struct_size, onto full: known
 * bytes of defaults on entry, which stay where opts is NULL or ends before. first: the size in the
 * first release. A caller built against a newer header may hand over more, as long as the rest is
 * zero. HETPART_EINVAL otherwise. */
hetpart_status part_opts_copy(void *full, size_t first, size_t known, const void *opts,
			      hetpart_err *err);

/* HETPART_EINVAL for a limit of time that is NaN or negative. */
hetpart_status part_check_time_limit(double time_limit_s, hetpart_err *err);

/* Copy opts into *full, defaults for what the caller's version lacks. */
hetpart_status part_opts_read(hetpart_opts *full, const hetpart_opts *opts, hetpart_err *err);

#endif
