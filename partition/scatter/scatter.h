/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter.h - declarations that the files of the scatter balancer share: the problem, scaled to
 * times near 1, its costs, and the methods. A root sends each processor its share, one message
 * after another through its only port. For the articles [S0] and [S2] see hetpart.h. Not
 * installed. */
#ifndef SCATTER_H
#define SCATTER_H

#include "base/part.h"

/* --------------------------------------------------------------------- the problem (problem.c) */

/* A cost, with its times multiplied by 2^-shift of the problem ("scaled"). Methods count shares in
 * units: a share of n units is least + n * quantum items. So they need not know minimums or the
 * quantum. */
typedef struct sc_cost {
	const hetpart_cost *cost;
	uint64_t least, quantum;
	bool affine;
	double none, startup, per_item; /* affine: time of 0 units, of n > 0 */
	long double unit;               /* 2^-shift */
	part_bad_cost *bad;             /* as in part_procs */
	part_budget *budget;            /* counts the evaluations of costs that are not affine */
	size_t proc;
} sc_cost;

/* Processors in order of service, the root last: processor i receives its share after processors 0
 * .. i-1. */
typedef struct sc_problem {
	size_t p;
	uint64_t n;           /* units */
	sc_cost *link, *comp; /* p entries each */
	double *due;          /* p + 1 entries: see set_due() in fill.c */
	int shift;            /* the best plan that uses only one processor ends near 2^shift */
	bool comp_increasing, link_increasing, link_affine, affine, linear;
	part_budget budget;
	bool exact;   /* set by a method if no plan of whole shares is better than its plan */
	double lower; /* scaled: no plan ends earlier, as a stopped method has proven; 0: unknown */
	part_bad_cost bad;
	hetpart_plan *plan; /* the methods set share, real, real_makespan, method, stopped */
} sc_problem;

/* Return the items in a share of n units; the link and the computation have the same number. */
static inline uint64_t sc_items(const sc_cost *c, uint64_t n)
{
	return c->least + n * c->quantum;
}

/* Return the scaled time of n units for a cost that is not affine. It is never NaN: a callback's
 * NaN or negative time is recorded, and counts as infinite. */
double part_sc_time(const sc_cost *c, uint64_t n);

/* Return the scaled time of n units. */
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

/* Return the scaled makespan of shares in units. Unless time is NULL, set time[i] to the unscaled
 * end of processor i. */
double part_sc_ends(const sc_problem *sc, const uint64_t *share, double *time);

/* Return HETPART_EINVAL with a message about the cost that gave an invalid time. */
hetpart_status part_sc_bad_cost(const sc_problem *sc, hetpart_err *err);

/* Return whether bytes are within the limit of memory; if not, end the budget. */
bool part_sc_has_mem(sc_problem *sc, uint64_t bytes);

/* ---------------------------------------------------------------------------------- the methods */

/* Set the shares of the plan, in units that sum to n, and the name of its method. An exact method
 * that is stopped returns the best plan that it has found, and sets plan->stopped. */
hetpart_status part_sc_dp(sc_problem *sc, bool increasing, hetpart_err *err);
hetpart_status part_sc_window(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_multires(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_fill(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_lp(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_closed(sc_problem *sc, hetpart_err *err);
hetpart_status part_sc_all_at_once(sc_problem *sc, int passes, hetpart_err *err);
hetpart_status part_sc_greedy(sc_problem *sc, hetpart_err *err);

/* Return the bytes of memory that part_sc_dp() and part_sc_window() use. */
uint64_t part_sc_dp_bytes(uint64_t items, size_t nprocs);

/* Return whether part_sc_fill() accepts the costs. */
bool part_sc_can_fill(const sc_problem *sc);

/* -------------------------------------------------------------------------------- bounds (fill.c)
 */

/* Find the smallest time t by which all units are done if each processor in turn takes as many as
 * it can end by t. It is exact except for the rounding of sums; if the budget ends, it may be
 * larger. Store the shares and return their scaled makespan, which is infinite if t does not exist.
 * Set sc->lower to a time that is too short. Costs must be increasing. */
double part_sc_smallest(sc_problem *sc, uint64_t *share);

/* Set most[i] to an upper bound of the share of processor i, in units, in any plan that ends by the
 * scaled time t. Return false if no such plan exists, except for the rounding of doubles. Costs
 * must be increasing. */
bool part_sc_each_most(const sc_problem *sc, double t, uint64_t *most);

/* -------------------------------------------------------------------- real shares (real_shares.c)
 */

/* Return the smallest scaled makespan of real shares if affine costs had no startups, or NaN for
 * other costs. The result is reduced a little, so that it is a lower bound in spite of rounding.
 * Store the real shares in real[], p entries. */
double part_sc_lower(const sc_problem *sc, double *real);

/* Round real[], whose sum is about items, to whole shares whose sum is items. */
hetpart_status part_sc_round(uint64_t *share, uint64_t items, const double *real, size_t p,
			     hetpart_err *err);

/* -------------------------------------------------------------------------- relaxation (relax.c)
 */

/* A relaxation has a curve for each processor i: the most units that i and those after it can do
 * within a time. Costs are affine and shares are real. Only shares above 0 pay startups. Whole
 * shares can do no more units, and only a few less. The rounding errors of the curves are bounded,
 * and the bounds allow for them: no amount of a better plan is omitted. */
typedef struct sc_relaxation sc_relaxation;

typedef struct sc_interval {
	uint64_t lo, hi; /* lo and hi are included */
} sc_interval;

/* Return by what fraction the curves must extend beyond the latest time that is requested from
 * them. */
double part_sc_relax_tolerance(const sc_problem *sc);

/* Compute the curves up to the scaled time end. Return NULL if memory or the budget is out, a cost
 * is not affine, or a processor does any number of items in almost no time. */
sc_relaxation *part_sc_relax(sc_problem *sc, double end);
void part_sc_relax_free(sc_relaxation *rx);

/* Set time to a lower bound of the time by which all units are done, and real[] to the shares.
 * Return false if the units are not done by the end of the curves. */
bool part_sc_relax_plan(sc_relaxation *rx, double *time, double *real);

/* The amount before processor i is the sum of the shares from i on, which the root has not sent yet
 * when it serves i. Set amounts[i] to the range of amounts before i in plans of whole shares that
 * end by upper less the tolerance. The range contains few others. Return false if there are
 * none. */
bool part_sc_relax_amounts(sc_relaxation *rx, double upper, sc_interval *amounts);

#endif
