/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who reads and who writes how much: the same on all ranks. Planning anew makes a new plan,
 * which then replaces the old one; a plan that is in use never changes. */
#ifndef HETSORT_MODEL_SHARE_PLAN_H
#define HETSORT_MODEL_SHARE_PLAN_H

#include "rates.h"
#include "comm/rank_env.h"

typedef struct share_arrays share_arrays;

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

/* share_plan_make - a plan of zeros. Collective. To be freed on failure too. */
status share_plan_make(rank_env *env, share_plan *s);

/* share_plan_copy - a plan like old one; only its shares are copied, its speeds are old's. */
status share_plan_copy(rank_env *env, const share_plan *old, share_plan *s);

/* share_plan_replace - old takes over what s has, s is empty then. */
void share_plan_replace(share_plan *old, share_plan *s);

/* share_plan_drop - frees a copy that was not needed. share_plan_free - a plan with its speeds. */
void share_plan_drop(share_plan *s);
void share_plan_free(share_plan *s);

/* share_plan_sum_out - s->out is set: what precedes each splitter. */
void share_plan_sum_out(const rank_env *env, share_plan *s);

/* share_plan_check - are these shares, which rank 0 has planned, those of `records`? what: reading,
 * writing. ST_PEER if not; the size of standard input is unknown, so only a sum that overflows is
 * wrong there. */
status share_plan_check(rank_env *env, uint64_t records, const uint64_t *share, bool is_stdin,
			const char *what);

#endif
