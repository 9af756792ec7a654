/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share.h - shared by the files of share/: Lambert's W, classes of speed, real shares, and the
 * heap of the processor that is free next. Not installed. */
#ifndef SHARE_H
#define SHARE_H

#include <gsl/gsl_sf_lambert.h>
#include <math.h>

#include "base/part.h"

/* ----------------------------------------------------------- Lambert's W, in approximate.c */

/* W on its main branch, W e^W = y: n ln n = y has the solution n = y/W(y). */
typedef struct part_lambert {
	void *library;
	__typeof__(gsl_sf_lambert_W0_e) *w0_e;
} part_lambert;

/* Load GSL, which computes W. Return HETPART_EMISSING if it is not installed. Release with
 * part_lambert_close(), also after a failure. */
hetpart_status part_lambert_open(part_lambert *l, hetpart_err *err);
void part_lambert_close(part_lambert *l);

/* Return W(y); 0 if y is not above 0, and W(1e308) for more than that. Costs 0.1 us. */
double part_lambert_w(const part_lambert *l, double y);

/* Return W(y), y > 0, by one step of Newton's method for w + ln w = ln y, which squares the
 * relative error. Start from w, the W of a neighbour whose y is up to e times as large. Five times
 * as fast as GSL. */
static inline double part_lambert_near(double w, double y)
{
	return w * (1 + log(y / w)) / (1 + w);
}

/* ------------------------------------------------------ classes of speed, in approximate.c */

/* Processors of nearly the same speed. */
typedef struct part_class {
	double k;     /* mean speed */
	double count; /* processors */
	double x;     /* share of a processor of speed k at the time found */
	double slope; /* its derivative by the speed */
	double y;     /* speed times the time last tried */
	double w;     /* Lambert's W of y, only for the cost n ln n */
} part_class;

typedef struct part_classes {
	const hetpart_cost *cost;
	part_lambert gsl; /* for n ln n */
	part_class *of;
	size_t n;
	uint64_t first; /* leading bits of the slowest speed */
	int shift;
	double t; /* the time found, at scale 1 */
} part_classes;

/* Put n speeds >= 0 into classes and find the time at which their shares sum to target, for a
 * convex invertible cost. Return HETPART_OK, HETPART_ENOMEM or HETPART_EMISSING. Release with
 * part_classes_free(), also after a failure. */
hetpart_status part_classes_solve(part_classes *c, const hetpart_cost *cost, const double *k,
				  size_t n, double target, hetpart_err *err);
void part_classes_free(part_classes *c);

/* Set share[] to about the shares of n processors of these speeds at that time, but at least least.
 */
void part_classes_shares(const part_classes *c, const double *k, size_t n, double least,
			 double *share);

/* ------------------------------------------------------------------------------------ real shares
 */

/* Find real shares of equal time, within the capacities, for an invertible cost at scale 1 and
 * speeds scaled as in ps. Store them in real[], their derivatives by the time in rate[], and their
 * time in *t. */
hetpart_status part_equal_time(const part_procs *ps, uint64_t items, double *real, double *rate,
			       long double *t, hetpart_err *err);

/* Set real[] to approximate real shares: N k_i/K within the capacities, [S4] eq (5), and Theorem
 * 2. The scratch has room for a number of each processor. Store in *per_speed the items for each
 * unit of speed, with speeds scaled as in ps. */
hetpart_status part_proportional(const part_procs *ps, uint64_t items, double *real,
				 double *scratch, long double *per_speed, hetpart_err *err);
hetpart_status part_taylor(const part_procs *ps, uint64_t items, double *real, double *scratch,
			   hetpart_err *err);
hetpart_status part_asymptotic(const part_procs *ps, uint64_t items, double *real, double *scratch,
			       hetpart_err *err);

/* ------------------------------------------------------- the heap of whoever is free next */

typedef struct part_turn {
	double key; /* when it is free */
	size_t proc;
	uint64_t count; /* what it has received; for the caller */
} part_turn;

/* Restore the heap of n turns below at; the smallest key is on top, of equal ones the first
 * processor. */
static inline void part_turn_sift(part_turn *heap, size_t n, size_t at)
{
	const part_turn moving = heap[at];
	size_t kid;
	while ((kid = 2 * at + 1) < n) {
		if (kid + 1 < n && part_compare(heap[kid + 1].key, heap[kid + 1].proc,
						heap[kid].key, heap[kid].proc) < 0)
			kid++;
		if (part_compare(heap[kid].key, heap[kid].proc, moving.key, moving.proc) >= 0)
			break;
		heap[at] = heap[kid];
		at = kid;
	}
	heap[at] = moving;
}

#endif
