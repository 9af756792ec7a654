/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who reads and who writes how much: the shares of a job, found by the planner library. */
#ifndef HETSORT_MODEL_SHARES_H
#define HETSORT_MODEL_SHARES_H

#include "comm/rank_env.h"
#include "job_time.h"

#include <hetpart.h>

typedef struct share_arrays share_arrays;

/* The same on all ranks. Planning again makes a new plan, which then replaces the old one; a plan
 * in use never changes. */
typedef struct share_plan {
	uint64_t records;              /* over all ranks */
	double *speed;                 /* [size] relative */
	rates *rate;                   /* [size] nominal or measured */
	uint64_t *in;                  /* [size] records that each rank reads and sorts */
	uint64_t *out;                 /* [size] records that it writes */
	uint64_t *before;              /* [size] sums of out: what precedes splitter i */
	bool common;                   /* rank 0 fills it in for all: they are in one process */
	share_arrays *speeds, *shares; /* hold speed and rate, and what follows them */
} share_plan;

/* share_plan_make - make a plan of zeros. Collective. To be freed on failure too. */
status share_plan_make(rank_env *env, share_plan *s);

/* share_plan_copy - make a plan like the old one. Only its shares are copied, its speeds are the
 * old ones. */
status share_plan_copy(rank_env *env, const share_plan *old, share_plan *s);

/* share_plan_replace - old takes over the contents of s, which is empty then. */
void share_plan_replace(share_plan *old, share_plan *s);

/* share_plan_drop - free a copy that was not needed. share_plan_free - free a plan with its speeds.
 */
void share_plan_drop(share_plan *s);
void share_plan_free(share_plan *s);

/* share_plan_sum_out - find what precedes each splitter. s->out is set. */
void share_plan_sum_out(const rank_env *env, share_plan *s);

/* share_plan_check - refuse shares planned by rank 0 whose sum is not `records`. what: reading,
 * writing. ST_PEER if so; the size of standard input is unknown, so there only a sum that overflows
 * is wrong. */
status share_plan_check(rank_env *env, uint64_t records, const uint64_t *share, bool is_stdin,
			const char *what);

/* shares_status - translate a failure of the planner library; fills e unless st is OK. */
status shares_status(hetpart_status st, const hetpart_err *he, err *e);

/* shares_by_speed - divide n records among p ranks.
 * kind     the method; PLAN_EQUAL looks at no speed.
 * sorting  the share is sorted: it costs n ln n, if the method knows of that; else n.
 * speed    p entries, finite, > 0.
 * share    receives p entries whose sum is n.
 * A formula that has no solution for so few records gives way to the exact shares. */
status shares_by_speed(plan_kind kind, bool sorting, uint64_t n, const double *speed, size_t p,
		       uint64_t *share, err *e);

/* shares_by_costs - find the exact shares with which p ranks end together, each by its own cost.
 * fn    seconds of n records on a rank: never less for more of them.
 * ctx   p objects of ctx_bytes; fn receives the one of its rank.
 * most  p entries, together at least n: the largest share of each; NULL: no limit. */
status shares_by_costs(uint64_t n, hetpart_cost_fn *fn, void *ctx, size_t ctx_bytes, size_t p,
		       const uint64_t *most, uint64_t *share, err *e);

/* The ranks of a job, of which links or disks may be known. */
typedef struct bound_ranks {
	const settings *o;
	size_t p;
	const rates *rate;                   /* [p] */
	double cpus;                         /* that share the work of a rank, at these rates */
	const hetpart_cost *const *before_s; /* [p] seconds of the work for what a rank reads, */
	const hetpart_cost *const *after_s;  /* and writes; NULL: by the rates */
	bool in_fixed;                       /* what each reads is not to be changed */
} bound_ranks;

/* shares_bound_known - is there a rank whose link or disk is known? */
bool shares_bound_known(const rates *rate, size_t p);

/* shares_bound_s - return the seconds until the last rank has read, plus those until the last has
 * written. */
double shares_bound_s(const bound_ranks *b, const uint64_t *in, const uint64_t *out);

/* shares_bound - find the shares with the least shares_bound_s().
 * in, out   [p], hold the shares by speed alone, and keep them if no link and no disk takes longer
 *           than the slowest rank's work; the time never becomes longer. */
status shares_bound(const bound_ranks *b, uint64_t *in, uint64_t *out, err *e);

#endif
