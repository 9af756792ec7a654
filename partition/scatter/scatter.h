/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter.h - what the files of the scatter balancer share: the problem in units near 1, the time
 * of a message or a computation, and the methods. Not installed. [S0], [S2] */
#ifndef SCATTER_H
#define SCATTER_H

#include "base/part.h"

/* --------------------------------------------------------------------- the problem (problem.c) */

/* A cost, with its times multiplied by 2^-shift of the problem. The methods count units, so that
 * they need not know minimums or a quantum: n units are least + n * quantum items. */
typedef struct sc_cost {
	const hetpart_cost *cost;
	uint64_t least, quantum;
	bool affine;
	double none, startup, per_item; /* affine: time of no unit; of n: startup + n * per_item */
	long double unit;               /* 2^-shift */
	part_bad_cost *bad;             /* as in part_procs */
	part_budget *budget;            /* pays for the costs that are not affine */
	size_t proc;
} sc_cost;

/* Processors in service order, the root last: processor i is sent its share after 0 .. i-1. */
typedef struct sc_problem {
	size_t p;
	uint64_t n;           /* units */
	sc_cost *link, *comp; /* p entries each */
	double *due;          /* p + 1 entries: see set_due() in fill.c */
	int shift;            /* a plan that gives all to one processor ends near 2^shift */
	bool comp_increasing, link_increasing, link_affine, affine, linear;
	part_budget budget;
	bool exact;   /* set by a method whose plan is the best of whole shares */
	double lower; /* scaled: what a stopped method has proven; 0: nothing */
	part_bad_cost bad;
	hetpart_plan *plan; /* the methods set share, real, real_makespan, method, stopped */
} sc_problem;

/* Return the items of n units, which are the same for the link and the computation. */
static inline uint64_t sc_items(const sc_cost *c, uint64_t n)
{
	return c->least + n * c->quantum;
}

/* Return the scaled time of n units for a cost that is not affine. It is never NaN: a callback's
 * NaN or negative time is recorded, and counts as infinite. */
double part_sc_time(const sc_cost *c, uint64_t n);

static inline double sc_time(const sc_cost *c, uint64_t n)
{
	if (c->affine)
		return n ? c->startup + c->per_item * (double)n : c->none;
	return part_sc_time(c, n);
}

/* Check the arguments and set everything except the plan. Free with part_sc_free(), also after a
 * failure. */
hetpart_status part_sc_init(sc_problem *sc, uint64_t items, const hetpart_scatter_proc *procs,
			    size_t nprocs, const hetpart_scatter_opts *opts, hetpart_err *err);
void part_sc_free(sc_problem *sc);

/* Return the scaled makespan of shares in units. Unless time is NULL, it receives the unscaled end
 * of each processor. */
double part_sc_ends(const sc_problem *sc, const uint64_t *share, double *time);

/* Return HETPART_EINVAL with a message about the cost that gave an invalid time. */
hetpart_status part_sc_bad_cost(const sc_problem *sc, hetpart_err *err);

/* Return whether bytes are within the limit; if not, end the budget. */
bool part_sc_has_mem(sc_problem *sc, uint64_t bytes);

/* ---------------------------------------------------------------------------------- the methods */

/* Set share (in units, sum n) and method of the plan. An exact method that is stopped gives its
 * best plan and sets plan->stopped. */
hetpart_status part_sc_dp(sc_problem *sc, bool increasing, hetpart_err *err);
hetpart_status part_sc_window(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_multires(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_fill(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_lp(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_closed(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_all_at_once(sc_problem *sc, int passes, hetpart_err *err);
hetpart_status part_sc_greedy(sc_problem *sc, hetpart_err *err);

/* Return the memory of part_sc_dp() and part_sc_window(). */
uint64_t part_sc_dp_bytes(uint64_t items, size_t nprocs);

/* Return whether part_sc_fill() accepts the costs. */
bool part_sc_can_fill(const sc_problem *sc);

/* -------------------------------------------------------------------------------- bounds (fill.c)
 */

/* Find the smallest t by which all units are taken if each processor takes in turn as many as it
 * can, and store the shares. It is exact to the rounding of the sums. Return their scaled
 * makespan, infinite if none exists, and set sc->lower to a time that is too short. If the budget
 * ends, t is larger. Costs must be increasing. */
double part_sc_smallest(sc_problem *sc, uint64_t *share);

/* Set most[], p entries, to the most units that each processor takes in any plan that ends by t,
 * scaled. Return false if there is no such plan, to the rounding of doubles. Costs must be
 * increasing. */
bool part_sc_each_most(const sc_problem *sc, double t, uint64_t *most);

/* -------------------------------------------------------------------- real shares (real_shares.c)
 */

/* Return the makespan of real shares for the linear parts of affine costs, or NaN for other costs.
 * It is slightly less, so that rounding cannot exceed the truth. The array real has room for p
 * entries. */
double part_sc_lower(const sc_problem *sc, double *real);

/* Round real[], which sums to about items, to share[]. */
hetpart_status part_sc_round(uint64_t *share, uint64_t items, const double *real, size_t p,
			     hetpart_err *err);

/* -------------------------------------------------------------------------- relaxation (relax.c)
 */

/* How many units the processors from each on can do by each time, for affine costs and real
 * shares. Only shares above 0 pay startups. Whole shares can do no more, and little less. The
 * rounding of these curves is known and added, so that no amount of a better plan is omitted. */
typedef struct sc_relaxation sc_relaxation;

typedef struct sc_interval {
	uint64_t lo, hi; /* both included */
} sc_interval;

/* Return by how much, relatively, the curves must extend beyond the time that is requested. */
double part_sc_relax_tolerance(const sc_problem *sc);

/* Compute the curves up to time end, scaled. Return NULL if memory or the budget is out, costs are
 * not affine, or a processor takes any number of items in almost no time. */
sc_relaxation *part_sc_relax(sc_problem *sc, double end);
void part_sc_relax_free(sc_relaxation *rx);

/* Find the time by which all units are done, a lower bound, and the real shares. Return false if
 * they are not done by the end of the curves. */
bool part_sc_relax_plan(sc_relaxation *rx, double *time, double *real);

/* Find all amounts before each processor that can be part of a plan of whole shares, and few more.
 * The plan ends by upper less the tolerance. Return false as above. */
bool part_sc_relax_amounts(sc_relaxation *rx, double upper, sc_interval *amounts);

#endif
