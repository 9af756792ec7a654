/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share.h - shares of one cost by speed: real ones of equal time or by a formula, and whole ones
 * near them. Not installed. */
#ifndef SHARE_H
#define SHARE_H

#include "base/part.h"

/* Real shares of equal time into real[], their derivatives by the time into rate[], their time into
 * *t, for an invertible cost at scale 1 and speeds scaled as in ps; capacities kept. */
hetpart_status part_equal_time(const part_procs *ps, uint64_t items, double *real, double *rate,
			       long double *t, hetpart_err *err);

/* The whole part of a real share of processor i, within its capacity, its minimum or more. */
static inline uint64_t whole_part(const part_procs *ps, size_t i, uint64_t items, double real)
{
	uint64_t cap = ps->caps ? min_u64(ps->caps[i], items) : items;
	uint64_t whole = real >= (double)(int64_t)cap ? cap : (uint64_t)(int64_t)max_double(real, 0);

	return ps->mins ? max_u64(whole, ps->mins[i]) : whole;
}

/* Whole shares near the optimum within capacities and minimums, from real ones at one time for all
 * that grow by rate[]: the floors at a later time, where they sum to about items. A start for
 * part_round_exact(). */
void part_initial_rounding(const part_procs *ps, uint64_t items, const double *real,
			   const double *rate, uint64_t *share);

/* Approximate real shares into real[]: N k_i/K within the capacities, [S4] eq (5), Theorem 2.
 * scratch[] has room for a number of each processor; *per_speed receives items for each unit of
 * speed, speeds scaled as in ps. */
hetpart_status part_proportional(const part_procs *ps, uint64_t items, double *real,
				 double *scratch, long double *per_speed, hetpart_err *err);
hetpart_status part_taylor(const part_procs *ps, uint64_t items, double *real, double *scratch,
			   hetpart_err *err);
hetpart_status part_asymptotic(const part_procs *ps, uint64_t items, double *real,
			       double *scratch, hetpart_err *err);

#endif
