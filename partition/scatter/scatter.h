/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter.h - what the files of the scatter balancer share: the problem in units near 1, the time
 * of a message or a computation, and the methods. Not installed. [S0], [S2] */
#ifndef SCATTER_H
#define SCATTER_H

#include "base/part.h"

/* One cost, its times multiplied by 2^-shift of the problem. The methods count units, which are
 * items unless there are minimums or a quantum: n units are least + n * quantum items, so that
 * methods know nothing of either. */
struct sc_cost {
	const hetpart_cost *cost;
	uint64_t least, quantum;
	bool affine;
	double none, startup, per_item; /* affine: time of no unit; of n: startup + n * per_item */
	long double unit;               /* 2^-shift */
	part_bad_cost *bad;             /* as in part_procs */
	part_budget *budget;            /* pays for the costs that are not affine */
	size_t proc;
};

/* Processors in service order, the root last: processor i is sent its share after 0 .. i-1. */
struct scatter {
	size_t p;
	uint64_t n;                  /* units */
	struct sc_cost *link, *comp; /* p entries each */
	double *due;                 /* p + 1 entries: see part_sc_due() */
	int shift;                   /* a plan that gives all to one processor ends near 2^shift */
	bool comp_increasing, link_increasing, link_affine, affine, linear;
	part_budget budget;
	bool exact;   /* set by a method whose plan is the best of whole shares */
	double lower; /* scaled: what a method that was stopped has proven; 0: nothing */
	part_bad_cost bad;
	hetpart_plan *plan; /* the methods set share, and real, real_makespan, method, stopped */
};

/* Items of n units; the link's and the computation's are the same. */
static inline uint64_t sc_items(const struct sc_cost *c, uint64_t n)
{
	return c->least + n * c->quantum;
}

/* Scaled time of n units, never NaN: a callback's NaN or negative time is noted, and infinite. */
double part_sc_other(const struct sc_cost *c, uint64_t n);

static inline double sc_time(const struct sc_cost *c, uint64_t n)
{
	if (c->affine)
		return n ? c->startup + c->per_item * (double)n : c->none;
	return part_sc_other(c, n);
}

/* The caller's options, defaults for what his version lacks. */
hetpart_status part_sc_opts(hetpart_scatter_opts *full, const hetpart_scatter_opts *opts,
			    hetpart_err *err);

/* Check the arguments and fill in all but the plan. Free with part_sc_free() even if it fails. */
hetpart_status part_sc_init(struct scatter *sc, uint64_t items, const hetpart_scatter_proc *procs,
			    size_t nprocs, const hetpart_scatter_opts *opts, hetpart_err *err);
void part_sc_free(struct scatter *sc);

/* Scaled makespan of shares in units; where time is not NULL, the unscaled end of each processor.
 */
double part_sc_ends(const struct scatter *sc, const uint64_t *share, double *time);

/* HETPART_EINVAL: tell which cost misbehaved. */
hetpart_status part_sc_bad_cost(const struct scatter *sc, hetpart_err *err);

/* Whether bytes keep to the limit; if not, the budget is at its end. */
bool part_sc_has_mem(struct scatter *sc, uint64_t bytes);

/* The methods. Each sets share (in units, sum n) and method of the plan. An exact one that is
 * stopped gives the best it has and says so in plan->stopped. */
hetpart_status part_sc_dp(struct scatter *sc, bool increasing, hetpart_err *err);
hetpart_status part_sc_window(struct scatter *sc, hetpart_err *err);
hetpart_status part_sc_multires(struct scatter *sc, hetpart_err *err);
hetpart_status part_sc_fill(struct scatter *sc, hetpart_err *err);
hetpart_status part_sc_lp(struct scatter *sc, hetpart_err *err);
hetpart_status part_sc_closed(struct scatter *sc, hetpart_err *err);
hetpart_status part_sc_all_at_once(struct scatter *sc, int passes, hetpart_err *err);
hetpart_status part_sc_greedy(struct scatter *sc, hetpart_err *err);

/* Memory of the three dynamic programmes. */
uint64_t part_sc_dp_bytes(uint64_t items, size_t nprocs);

/* Whether part_sc_fill() takes the costs. */
bool part_sc_can_fill(const struct scatter *sc);

/* Times that one processor keeps: the port is free from port on, and wanted again at due; all is
 * done at end. */
struct sc_span {
	double port, due, end;
};

/* Most units, up to cap, that processor i takes within its times; 0 if there are none. */
uint64_t part_sc_most(const struct scatter *sc, size_t i, const struct sc_span *in, uint64_t cap);

/* sc->due: when each processor's message must begin at the latest, so that those from it on end by
 * t with no unit each. False where that is before 0. */
bool part_sc_due(const struct scatter *sc, double t);

/* Whether all items go by t, and the shares with which they do. */
typedef bool sc_fits_fn(const struct scatter *sc, double t, uint64_t *share);

/* Each processor takes as many items as it can in turn. */
sc_fits_fn part_sc_fits;

/* Find the smallest t, to the rounding of the sums, for which fits() holds, and its shares. Returns
 * their scaled makespan, infinite if there is none, and sets sc->lower to a time for which fits()
 * does not hold. The end of the budget leaves a larger t. Costs must be increasing. */
double part_sc_smallest(struct scatter *sc, sc_fits_fn *fits, uint64_t *share);

/* Set most[], p entries, to the most units that each processor takes in any plan that ends by t,
 * scaled. False if there is no such plan, but for the rounding of doubles. Costs must be
 * increasing.
 */
bool part_sc_each_most(const struct scatter *sc, double t, uint64_t *most);

/* The makespan of real shares for the linear parts of affine costs, a little smaller, so that no
 * rounding makes it more than the truth; NaN for other costs. real is room for p entries. */
double part_sc_lower(const struct scatter *sc, double *real);

/* Scaled makespan of the plan's real shares; all: every processor pays
 * the startups, even for no items. */
double part_sc_real_ends(const struct scatter *sc, bool all);

/* The rounding scheme: share[] from real[], which sums to about items. */
hetpart_status part_sc_round(uint64_t *share, uint64_t items, const double *real, size_t p,
			     hetpart_err *err);

#endif
