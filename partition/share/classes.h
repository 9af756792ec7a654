/* SPDX-License-Identifier: GPL-3.0-or-later */
/* classes.h - processors of nearly the same speed taken together, so that their equal time is found
 * without looking at each. Not installed. */
#ifndef CLASSES_H
#define CLASSES_H

#include "base/part.h"
#include "lambert.h"

struct class
{
	double k;     /* mean speed */
	double count; /* processors */
	double x;     /* share of a processor of speed k at the time found */
	double slope; /* its derivative by the speed */
	double y, w;  /* speed times the last time looked at and, for n ln n, its Lambert's W */
};

struct classes {
	const hetpart_cost *cost;
	struct lambert gsl; /* for n ln n */
	struct class *of;
	size_t n;
	uint64_t first; /* the slowest class, as its speeds' leading bits say it */
	int shift;
	double t; /* the time found, at scale 1 */
};

/* Classes of n speeds >= 0, and the time at which their shares sum to target, for a convex cost
 * that is invertible. Release with part_classes_free(), after a failure too. HETPART_ENOMEM,
 * HETPART_EMISSING. */
hetpart_status part_classes_solve(struct classes *c, const hetpart_cost *cost, const double *k,
				  size_t n, double target, hetpart_err *err);
void part_classes_free(struct classes *c);

/* About the shares of n processors of these speeds at that time, least or more. */
void part_classes_shares(const struct classes *c, const double *k, size_t n, double least,
			 double *share);

#endif
