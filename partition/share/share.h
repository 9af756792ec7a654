/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share.h - declarations for the files of share/: Lambert's W, classes of speed, real shares, and a
 * heap that finds the processor that is free next. Not installed. */
#ifndef SHARE_H
#define SHARE_H

#include <gsl/gsl_sf_lambert.h>
#include <math.h>

#include "base/part.h"

/* ----------------------------------------------------------- Lambert's W, in approximate.c */

/* The main branch of Lambert's W: W e^W = y. So n ln n = y has the solution n = y/W(y). */
typedef struct part_lambert {
	void *library;
	__typeof__(gsl_sf_lambert_W0_e) *w0_e;
} part_lambert;

/* Load GSL, which computes W. Return HETPART_EMISSING if it is not installed. Release with
 * part_lambert_close(), also after a failure. */
hetpart_status part_lambert_open(part_lambert *l, hetpart_err *err);
void part_lambert_close(part_lambert *l);

/* Return W(y); return 0 unless y is above 0, and W(1e308) above 1e308. Costs 0.1 us. */
double part_lambert_w(const part_lambert *l, double y);

/* Return W(y), y > 0, by one step of Newton's method for w + ln w = ln y, which squares the
 * relative error. Start from w = W(z), y at most e times as large as z. This is five times as fast
 * as GSL. */
static inline double part_lambert_near(double w, double y)
{
	return w * (1 + log(y / w)) / (1 + w);
}

/* ------------------------------------------------------ classes of speed, in approximate.c */

/* A class: processors of nearly the same speed. */
typedef struct part_class {
	double k;     /* mean speed */
	double count; /* processors */
	double x;     /* share of a processor of speed k at the time that was found */
	double slope; /* derivative of the share by the speed */
	double y;     /* speed k times the last time that was tried */
	double w;     /* Lambert's W of y, only for the cost n ln n */
} part_class;

typedef struct part_classes {
	const hetpart_cost *cost;
	part_lambert gsl; /* for n ln n */
	part_class *of;
	size_t n;
	uint64_t first; /* leading bits of the slowest speed */
	int shift;
	double t; /* the time that was found, for a cost of scale 1 */
} part_classes;

/* Put n processors of speeds k[] >= 0 into classes, and find the time at which their shares sum to
 * target. The cost must be convex and invertible. Return HETPART_OK, HETPART_ENOMEM or
 * HETPART_EMISSING. Release with part_classes_free(), also after a failure. */
hetpart_status part_classes_solve(part_classes *c, const hetpart_cost *cost, const double *k,
				  size_t n, double target, hetpart_err *err);
void part_classes_free(part_classes *c);

/* Estimate the shares of n processors of speeds k[] at the time c->t. Each is at least `least`. */
void part_classes_shares(const part_classes *c, const double *k, size_t n, double least,
			 double *share);

/* ---------------------------------------------------------------------------------- real shares */

/* Find real shares with equal times within the capacities, for an invertible cost. Store the shares
 * in real[], their derivatives by the time in rate[], and their time in *t. Times are for a cost of
 * scale 1 and speeds scaled as in ps. */
hetpart_status part_equal_time(const part_procs *ps, uint64_t items, double *real, double *rate,
			       long double *t, hetpart_err *err);

/* Set real[] to approximate real shares: to N k_i/K within the capacities (K: the sum of speeds),
 * by [S4] eq (5), and by Theorem 2. The scratch has a number for each processor. Store in
 * *per_speed the items per unit of speed, with speeds scaled as in ps. */
hetpart_status part_proportional(const part_procs *ps, uint64_t items, double *real,
				 double *scratch, long double *per_speed, hetpart_err *err);
hetpart_status part_taylor(const part_procs *ps, uint64_t items, double *real, double *scratch,
			   hetpart_err *err);
hetpart_status part_asymptotic(const part_procs *ps, uint64_t items, double *real, double *scratch,
			       hetpart_err *err);

/* -------------------------------------------- the heap of processors by when they are free */

typedef struct part_turn {
	double key; /* when the processor is free */
	size_t proc;
	uint64_t count; /* items that the processor has received, for the caller */
} part_turn;

/* Restore the heap of n turns below index at. The smallest key is on top, then the first
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
