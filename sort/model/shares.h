/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shares of a job, by the planner library: how many records each rank reads and writes. */
#ifndef HETSORT_MODEL_SHARES_H
#define HETSORT_MODEL_SHARES_H

#include "comm/rank_env.h"
#include "job_time.h"

#include <hetpart.h>

typedef struct share_arrays share_arrays;

/* A plan, the same on all ranks. To plan again, make a copy, change it, and let it replace the old
 * plan: a plan in use never changes. */
typedef struct share_plan {
	uint64_t records; /* over all ranks */
	bool measured;    /* rates and speeds are measured; else nominal or given */
	double *speed;    /* [size] relative */
	rates *rate;      /* [size] */
	uint64_t *in;     /* [size] records that each rank reads and sorts */
	uint64_t *out;    /* [size] records that it writes */
	uint64_t *before; /* [size] records before splitter i: the sum of out[0] to out[i] */
	bool common;      /* all ranks are in one process and use the arrays of rank 0 */
	share_arrays *speeds, *shares; /* the memory of speed and rate, and of in, out and before */
} share_plan;

/* share_plan_make - make a plan of zeros. Collective. The caller frees it, also on failure. */
status share_plan_make(rank_env *env, share_plan *s);

/* share_plan_copy - make a plan with the speeds and a copy of the shares of the old plan. */
status share_plan_copy(rank_env *env, const share_plan *old, share_plan *s);

/* share_plan_replace - move the shares of its copy s to the old plan. s becomes empty. */
void share_plan_replace(share_plan *old, share_plan *s);

/* share_plan_drop - free a copy that did not replace the old plan. */
void share_plan_drop(share_plan *s);

/* share_plan_free - free a plan with its speeds. */
void share_plan_free(share_plan *s);

/* share_plan_sum_out - set s->before from s->out. */
void share_plan_sum_out(const rank_env *env, share_plan *s);

/* share_plan_check - return ST_PEER if the sum of the shares from rank 0 is not `records`. The size
 * of standard input is unknown, so then only a sum that overflows is wrong. what: "reading" or
 * "writing". */
status share_plan_check(rank_env *env, uint64_t records, const uint64_t *share, bool is_stdin,
			const char *what);

/* shares_status - convert a status of the planner library. Fill e unless st is HETPART_OK. */
status shares_status(hetpart_status st, const hetpart_err *he, err *e);

/* shares_kind - return the method for a share that is sorted or not: only sorting costs n ln n. */
static inline plan_kind shares_kind(plan_kind kind, bool sorting)
{
	return sorting || kind == PLAN_EQUAL ? kind : PLAN_LINEAR;
}

/* shares_by_speed - divide n records among p ranks. If the formula of a method has no solution, as
 * may happen for few records, find the exact shares.
 * kind   the method; PLAN_EQUAL ignores speeds. The cost of a share is n for PLAN_LINEAR; for the
 *        other methods it is n ln n.
 * speed  p entries, finite, > 0.
 * share  receives p entries whose sum is n. */
status shares_by_speed(plan_kind kind, uint64_t n, const double *speed, size_t p, uint64_t *share,
		       err *e);

/* shares_by_costs - find the exact shares with which p ranks of different costs end together.
 * fn    returns the seconds that a rank needs for its records; never less for more records.
 * ctx   p objects of ctx_bytes; fn receives the object of its rank.
 * most  p entries, together at least n: the largest share of each. NULL: no limit. */
status shares_by_costs(uint64_t n, hetpart_cost_fn *fn, void *ctx, size_t ctx_bytes, size_t p,
		       const uint64_t *most, uint64_t *share, err *e);

/* The ranks of a job, to plan with all their resources. */
typedef struct bound_ranks {
	const settings *o;
	size_t p;
	uint64_t records;                    /* of all ranks */
	const rates *rate;                   /* [p] */
	double far;                          /* as in job_load */
	double buffer_bytes;                 /* as in job_load */
	const hetpart_cost *const *before_s; /* [p] costs in seconds of the records to read, */
	const hetpart_cost *const *after_s;  /* and of the records to write; NULL: by the rates */
	bool in_fixed;                       /* keep the shares that the ranks read */
} bound_ranks;

/* shares_bound_s - return the seconds until the last rank has read, plus the seconds from then
 * until the last has written. */
double shares_bound_s(const bound_ranks *b, const uint64_t *in, const uint64_t *out);

/* shares_left_s - return only the second of these times. */
double shares_left_s(const bound_ranks *b, const uint64_t *in, const uint64_t *out);

/* shares_bound - find the shares with the least shares_bound_s().
 * in, out   [p], contain the shares by speed and receive the result. They change only if this saves
 *           a noticeable part of the time. */
status shares_bound(const bound_ranks *b, uint64_t *in, uint64_t *out, err *e);

#endif
